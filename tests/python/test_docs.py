# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of docs/python.md, in order, in one process and an empty folder that looks like a checkout."""
import importlib.util
import os
import pathlib
import re
import tempfile
import unittest

PAGE = pathlib.Path("docs/python.md")


class Page(unittest.TestCase):
    def test_tour(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
        self.assertGreater(len(blocks), 5)
        root, names = pathlib.Path.cwd(), {"__name__": "page"}
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(root / "examples", pathlib.Path(folder) / "examples")
            os.symlink(root / "tests", pathlib.Path(folder) / "tests")
            os.chdir(folder)
            try:
                for number, block in enumerate(blocks, 1):
                    missing = [name for name in re.findall(r"^import (pyarrow|duckdb)$", block, re.M) if not importlib.util.find_spec(name)]
                    with self.subTest(block=number):
                        if missing:
                            self.skipTest(f"{missing[0]} is not installed")
                        exec(compile(block, f"{PAGE} block {number}", "exec"), names)
            finally:
                os.chdir(root)

    def test_names(self):
        import encoderfile_c
        from encoderfile_c import builder, modelexport

        text = PAGE.read_text("utf-8")
        for name in modelexport.__all__ + ["pipeline", "Server", "build"]:
            if name not in ("ONNXAudioProcessor",):
                self.assertIn(name, text)
        for name in encoderfile_c.__all__:
            with self.subTest(name):
                self.assertTrue(hasattr(encoderfile_c, name))
        self.assertTrue(all(hasattr(builder, name) for name in builder.__all__))


if __name__ == "__main__":
    unittest.main()
