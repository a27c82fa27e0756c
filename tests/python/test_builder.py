# SPDX-License-Identifier: Apache-2.0
"""Packages from Python, and the program as a server."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import encoderfile_c
from encoderfile_c import BatchLongest, EncoderfileBuilder, Fixed, ModelType, Server, TargetSpec, TokenizerBuildConfig, build, builder
from encoderfile_c._program import find_program

NER = os.path.abspath("examples/bus-ner")


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.tmp = pathlib.Path(holder.name)


class Build(Folder):
    def answers(self, package):
        made = subprocess.run([package, "infer", "bus to Goa"], capture_output=True, check=True)
        self.assertTrue(json.loads(made.stdout))

    def test_build(self):
        report = build(NER, self.tmp / "ner.encoderfile")
        self.assertEqual(report["output"], str(self.tmp / "ner.encoderfile"))
        self.answers(report["output"])
        self.assertNotIn(b"Py_Initialize", (self.tmp / "ner.encoderfile").read_bytes())  # our program, not the interpreter

    def test_yaml(self):
        config = self.tmp / "config.yml"
        config.write_text(f"encoderfile:\n  name: mine\n  model_type: token_classification\n  path: {NER}\n  output_path: {self.tmp}/mine.encoderfile\n")
        self.answers(build(config)["output"])
        self.answers(EncoderfileBuilder.from_config(config).build())
        there = self.tmp / "there"
        there.mkdir()
        other = self.tmp / "other.yml"
        other.write_text(config.read_text().replace(f"{self.tmp}/mine", "mine"))
        self.answers(EncoderfileBuilder.from_config(other).build(workdir=there))
        self.assertTrue((there / "mine.encoderfile").exists())
        config.write_text(config.read_text() + "  base_binary_path: /nowhere/encoderfile\n")
        with self.assertRaisesRegex(encoderfile_c.EncoderfileError, "nowhere"):
            build(config)

    def test_builder(self):
        tokenizer = TokenizerBuildConfig(pad_strategy=BatchLongest(), truncation_side="right", truncation_strategy="longest_first", max_length=64, stride=0)
        made = EncoderfileBuilder(name="ner", version="1.2.0", model_type=ModelType.TokenClassification, path=NER, output_path="ner.encoderfile",
                                  tokenizer=tokenizer, validate_transform=True).build(workdir=self.tmp, version="0.7.1", no_download=True)
        package = self.tmp / "ner.encoderfile"
        self.assertEqual((self.tmp / made).resolve(), package.resolve())
        self.answers(package)
        info = builder.inspect(package)
        self.assertEqual((info.encoderfile_config.name, info.encoderfile_config.version, info.encoderfile_config.model_type), ("ner", "1.2.0", ModelType.TokenClassification))
        self.assertEqual((info.model_config.model_type, info.model_config.id2label[1]), ("bert", "B-SRC"))
        self.assertEqual(builder.read_metadata(package), info)

    def test_refused(self):
        with self.assertRaisesRegex(RuntimeError, "Invalid model type"):
            EncoderfileBuilder(name="a", model_type="poem", path=NER)
        with self.assertRaisesRegex(RuntimeError, "Error building encoderfile: "):
            EncoderfileBuilder(name="a", model_type="embedding", path=str(self.tmp / "nothing")).build(workdir=self.tmp)
        with self.assertRaisesRegex(OSError, "Failed to load config file: "):
            EncoderfileBuilder.from_config(self.tmp / "nothing.yml")
        with self.assertRaisesRegex(TypeError, "Class must be BatchLongest, Fixed, or None. Received: 'str'"):
            TokenizerBuildConfig(pad_strategy="fixed")
        with self.assertRaisesRegex(RuntimeError, "Failed to inspect encoderfile: "):
            builder.inspect(__file__)
        self.assertEqual(TokenizerBuildConfig(pad_strategy=Fixed(n=8)).to_dict(), {"pad_strategy": {"fixed": 8}})

    def test_targets(self):
        target = TargetSpec("x86_64-unknown-linux-gnu")
        self.assertEqual((target.arch, target.os, target.abi, str(target)), ("x86_64", "linux", "gnu", "x86_64-unknown-linux-gnu"))
        self.assertEqual(TargetSpec("aarch64-apple-darwin").os, "darwin")
        with self.assertRaisesRegex(ValueError, "Failed to parse target spec: "):
            TargetSpec("z80")


class Serving(Folder):
    def test_server(self):
        with Server("examples/bus-ner", disable_metrics=None) as server:
            self.assertTrue(server.running)
            self.assertNotEqual(server.port, 0)
            self.assertEqual(server.predict(["bus to Goa"])["model_id"], "bus-ner")
            self.assertIn("/predict", json.dumps(server.request("/openapi.json")))
            self.assertTrue(any("serving" in line for line in server.log))
            pid = server.pid
        self.assertFalse(server.running)
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_again(self):
        server = Server("examples/bus-ner", grpc_port=0)
        self.assertIsNone(server.stop())
        server.start()
        self.assertIs(server.start(), server)
        self.assertGreater(server.grpc_port, 0)
        self.assertEqual(server.stop(), 0)
        server.port = 0
        with server:
            self.assertTrue(server.running)

    def test_what_does_not_start(self):
        with self.assertRaisesRegex(encoderfile_c.UnavailableError, "nothing"):
            Server(str(self.tmp / "nothing")).start()
        with self.assertRaisesRegex(encoderfile_c.UnavailableError, "no-such-flag"):
            Server("examples/bus-ner", no_such_flag=True).start()

    def test_ends_with_its_process(self):
        code = "import encoderfile_c, sys; s = encoderfile_c.Server('examples/bus-ner').start(); print(s.pid, flush=True)"
        made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(100):
            try:
                os.kill(int(made.stdout), 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
        os.kill(int(made.stdout), signal.SIGKILL)
        self.fail("the server outlived its process")

    def test_program(self):
        made = subprocess.run([sys.executable, "-m", "encoderfile_c", "version"], capture_output=True, text=True, check=True)
        self.assertIn("encoderfile", made.stdout)
        self.assertTrue(os.access(find_program(), os.X_OK))


if __name__ == "__main__":
    unittest.main()
