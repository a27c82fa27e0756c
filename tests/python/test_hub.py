# SPDX-License-Identifier: Apache-2.0
"""Models by their name, from a Hub on this machine (tests/hub/server.py): the program downloads, the package opens what is in the cache."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from encoderfile_c import AutoTokenizer, ORTModelForTokenClassification, SentenceTransformer, UnavailableError, pipeline
from encoderfile_c._source import source
from encoderfile_c.modelexport import ConfigurationCopier


class Hub(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        tmp = pathlib.Path(cls.holder.name)
        shutil.copytree("examples/bus-ner", tmp / "models/ner", ignore=shutil.ignore_patterns("*.py", "*.md", "*.yml"))
        cls.server = subprocess.Popen([sys.executable, "tests/hub/server.py", tmp / "models", tmp / "log"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = cls.server.stdout.readline().split()[1]
        cls.tmp, cls.log = tmp, tmp / "log"
        cls.environment = mock.patch.dict(os.environ, {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": str(tmp / "hf"), "HF_HUB_OFFLINE": "0"})
        cls.environment.start()

    @classmethod
    def tearDownClass(cls):
        cls.environment.stop()
        cls.server.stdin.close()
        cls.server.wait(10)
        cls.server.stdout.close()
        cls.holder.cleanup()

    def test_names(self):
        self.assertEqual(pipeline("ner", "acme/ner", aggregation_strategy="simple")("bus to Goa")[-1]["entity_group"], "DEST")
        asked = len(self.log.read_text().splitlines())
        self.assertGreater(asked, 2)
        self.assertEqual(AutoTokenizer.from_pretrained("acme/ner")("Goa")["input_ids"][0], 2)
        self.assertTrue(ORTModelForTokenClassification.from_pretrained("acme/ner").config.id2label)
        self.assertEqual(SentenceTransformer("acme/ner").encode("Goa").ndim, 1)
        ConfigurationCopier().copy_model_config("acme/ner", self.tmp / "copied")
        self.assertTrue((self.tmp / "copied/config.json").is_file())
        self.assertEqual(len(self.log.read_text().splitlines()), asked)  # once is enough

    def test_revision(self):
        self.assertTrue(os.path.isdir(source("other/ner", "main")))

    def test_missing(self):
        with self.assertRaises((UnavailableError, FileNotFoundError)):
            pipeline("ner", "acme/nothing-of-that-name")

    def test_paths_are_not_asked_for(self):
        before = self.log.read_text()
        with self.assertRaises(FileNotFoundError):
            pipeline("ner", "examples/no-such-model")
        self.assertEqual(self.log.read_text(), before)


if __name__ == "__main__":
    unittest.main()
