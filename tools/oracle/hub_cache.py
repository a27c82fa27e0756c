#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cache of models, written by one program and read by the other: what `encoderfile` downloads opens with
huggingface_hub's snapshot_download(local_files_only=True), and the other way round. The Hub is tests/hub/server.py.

usage: hub_cache.py ENCODERFILE MODEL_FOLDER
"""
import os
import shutil
import subprocess
import sys
import tempfile

program, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
root = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
work = tempfile.mkdtemp()
failed = 0


def check(what, ok):
    global failed
    failed += not ok
    print("%s: %s" % ("ok" if ok else "FAILED", what))


def start_hub():
    os.makedirs(os.path.join(work, "models"))
    shutil.copytree(source, os.path.join(work, "models", "ner"))
    server = subprocess.Popen([sys.executable, os.path.join(root, "tests/hub/server.py"), os.path.join(work, "models"),
                               os.path.join(work, "log")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    os.environ["HF_ENDPOINT"] = "http://127.0.0.1:" + server.stdout.readline().split()[1]
    return server


def ours(cache, name, **more):
    """Opens a model by its name; returns the requests that it took, or None."""
    environment = dict(os.environ, HF_HUB_CACHE=cache, **more)
    environment.pop("HF_HUB_OFFLINE", None) if "HF_HUB_OFFLINE" not in more else None
    open(os.path.join(work, "log"), "w").close()
    run = subprocess.run([program, "inspect", name], env=environment, capture_output=True, text=True)
    if run.returncode:
        print(run.stderr)
        return None
    with open(os.path.join(work, "log")) as log:
        return log.read().splitlines()


def same(folder, names):
    for name in names:
        with open(os.path.join(folder, name), "rb") as one, open(os.path.join(source, name), "rb") as other:
            if one.read() != other.read():
                return False
    return True


needed = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
server = start_hub()
os.environ.pop("HF_HUB_OFFLINE", None)
os.environ["HF_HUB_DISABLE_XET"] = "1"
import huggingface_hub  # noqa: E402: reads HF_ENDPOINT when it is imported
from huggingface_hub import constants, hf_hub_download, scan_cache_dir, snapshot_download, try_to_load_from_cache  # noqa: E402

print("huggingface_hub", huggingface_hub.__version__)
cache = os.path.join(work, "ours")
check("encoderfile downloads", bool(ours(cache, "ok/ner")))
folder = snapshot_download("ok/ner", cache_dir=cache, local_files_only=True)
check("snapshot_download(local_files_only) finds it", same(folder, needed))
check("hf_hub_download(local_files_only) finds a file",
      os.path.realpath(hf_hub_download("ok/ner", "model.safetensors", cache_dir=cache, local_files_only=True))
      == os.path.realpath(os.path.join(folder, "model.safetensors")))
absent = try_to_load_from_cache("ok/ner", "modules.json", cache_dir=cache)
check("a file that the commit lacks is known to", absent is not None and not isinstance(absent, str))
info = scan_cache_dir(cache)
check("scan_cache_dir: one repository, no warnings", len(info.repos) == 1 and not info.warnings)
open(os.path.join(work, "log"), "w").close()
snapshot_download("ok/ner", cache_dir=cache, allow_patterns=needed)
with open(os.path.join(work, "log")) as log:
    check("snapshot_download downloads none of it again", " GET /ok/" not in log.read())

cache = os.path.join(work, "theirs")
folder = snapshot_download("ok/ner", cache_dir=cache)
check("encoderfile reads what snapshot_download wrote, offline", ours(cache, "ok/ner", HF_HUB_OFFLINE="1") == [])
asked = ours(cache, "ok/ner")
check("and asks for no file", asked is not None and not any("/resolve/" in line for line in asked))
cache = os.path.join(work, "files")
for name in needed:
    hf_hub_download("ok/ner", name, cache_dir=cache)
asked = ours(cache, "ok/ner")
check("files one by one: the rest is fetched, once", asked is not None
      and sum(" GET /ok/" in line for line in asked) == len([f for f in os.listdir(source) if f == "special_tokens_map.json"])
      and ours(cache, "ok/ner") == [])
cache = os.path.join(work, "partial")
hf_hub_download("ok/ner", "config.json", cache_dir=cache)
check("a snapshot with one file is completed", bool(ours(cache, "ok/ner"))
      and same(snapshot_download("ok/ner", cache_dir=cache, local_files_only=True), needed))
server.stdin.close()
server.wait()
shutil.rmtree(work)
print("%d failed" % failed)
sys.exit(failed > 0)
