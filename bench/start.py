# SPDX-License-Identifier: Apache-2.0
"""start.py - from process start to first ids: a package whose tokenizer has 250,002 pieces.

    python bench/start.py build/encoderfile FOLDER [REPEAT]     # needs torch, transformers, sentencepiece

Makes (once, in FOLDER) a Unigram tokenizer in the style of XLM-R with SentencePiece's own nmt_nfkc map and
a tiny model for it, exports and builds them, and times whole runs of `PACKAGE tokenize TEXT`: wall and CPU
time, least and median, beside what the original takes to load the same tokenizer.json; and resident memory.
"""
import json
import os
import random
import resource
import subprocess
import sys
import time

TEXT = "what is the best way to learn how to play the piano as an adult"


def pieces(count):
    r = random.Random(1)
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
    seen = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", "\u2581", *"abcdefghijklmnopqrstuvwxyz"])
    while len(seen) < count - 1:
        word = "".join(r.choice(syllables) for _ in range(r.randint(1, 5)))
        seen[word if r.random() < 0.5 else "\u2581" + word] = None
    return [*seen, "<mask>"]


def make(folder):
    import sentencepiece
    import transformers
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    data = os.path.join(os.path.dirname(sentencepiece.__file__), "package_data/nmt_nfkc.bin")
    names = pieces(250002)
    t = Tokenizer(models.Unigram([(p, -i / 1e4) for i, p in enumerate(names)], unk_id=3))
    t.normalizer = normalizers.Precompiled(open(data, "rb").read())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    t.add_special_tokens([*names[:4], AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    config = transformers.XLMRobertaConfig(vocab_size=len(names), hidden_size=32, num_hidden_layers=1,
                                           num_attention_heads=2, intermediate_size=64,
                                           max_position_embeddings=514)
    transformers.XLMRobertaModel(config).save_pretrained(folder)
    t.save(os.path.join(folder, "tokenizer.json"))


def timed(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def memory(pid):
    lines = [line.split() for line in open(f"/proc/{pid}/smaps_rollup")]
    return {f[0][:-1]: int(f[1]) for f in lines if f[0] in ("Rss:", "Anonymous:")}


def load(path):
    """What the original needs, in a process of its own."""
    from tokenizers import Tokenizer
    before, start = memory("self"), time.process_time()
    t = Tokenizer.from_file(path)
    seconds, after = time.process_time() - start, memory("self")
    print(json.dumps({"seconds": seconds, "memory": {k: after[k] - before[k] for k in after},
                      "ids": t.encode(TEXT).ids}))


def main():
    if sys.argv[1] == "--load":
        return load(sys.argv[2])
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    repeat = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    source, package = folder + "/source", folder + "/start.encoderfile"
    if not os.path.exists(source + "/tokenizer.json"):
        os.makedirs(source, exist_ok=True)
        make(source)
    subprocess.run([program, "export", source, folder + "/onnx"], stdout=subprocess.DEVNULL, check=True)
    with open(folder + "/c.yml", "w") as f:
        f.write(f"encoderfile:\n  name: start\n  path: {folder}/onnx\n  model_type: embedding\n")
    subprocess.run([program, "build", "-f", folder + "/c.yml", "-o", package], stdout=subprocess.DEVNULL,
                   check=True)
    wall, cpu = zip(*(timed([package, "tokenize", TEXT]) for _ in range(repeat)))
    for name, values in (("wall", wall), ("cpu", cpu)):
        print(f"{name}: least {min(values) * 1e3:.2f} ms, median {sorted(values)[repeat // 2] * 1e3:.2f} ms")
    with subprocess.Popen([package, "tokenize", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdin.write(TEXT.encode() + b"\n")
        p.stdin.flush()
        p.stdout.readline()
        print("resident after one text, KB:", memory(p.pid))
    theirs = json.loads(subprocess.run([sys.executable, __file__, "--load", source + "/tokenizer.json"],
                                       capture_output=True, check=True).stdout)
    print(f"tokenizers: cpu {theirs['seconds'] * 1e3:.0f} ms to load, KB:", theirs["memory"])
    ours = json.loads(subprocess.run([package, "tokenize", TEXT], capture_output=True, check=True).stdout)
    print("same ids:", ours["ids"] == theirs["ids"])


if __name__ == "__main__":
    main()
