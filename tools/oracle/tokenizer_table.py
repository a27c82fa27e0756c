# SPDX-License-Identifier: Apache-2.0
"""tokenizer_table.py - our tokenizer against the reference, over many tokenizers and much text.

    python tools/oracle/tokenizer_table.py CORPUS FOLDER [NAME...]

CORPUS is a file of lines (tools/oracle/tokenizer_corpus.py). FOLDER has a folder for each tokenizer
found somewhere: with a tokenizer.json, or with files that have none (vocab.txt; vocab.json and
merges.txt; a SentencePiece model) and a tokenizer_config.json whose `tokenizer_class` says how
transformers loads them. Those trained here in known styles are kept in FOLDER/trained.

For every tokenizer: 20,000 lines of the corpus (as many of each script as there are), 5,000
damaged or random ones, 1,000 pairs, 1,000 lists of words, 2,000 texts cut into windows. Ids, tokens,
type ids, offsets, word ids and special tokens must be equal, in the overflow too. Prints a row each;
the exit status is 1 if anything differs. `build/encoderfile tokenize` answers for us.
"""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.dirname(__file__))
from tokenizers import AddedToken, Regex, Tokenizer, decoders as D  # noqa: E402
from tokenizers import normalizers as N, pre_tokenizers as P  # noqa: E402
from tokenizer import ADDED_TEXTS, ODD, SENTENCES, damaged, random_texts  # noqa: E402
import tokenizer_models as models  # noqa: E402

PROGRAM = "build/encoderfile"
LINES, TRAINING, SIZE = 20000, 60000, 12000
EMOJI = ["👩‍👩‍👧‍👦 family", "🏳️‍🌈🏴‍☠️ flags", "👩🏽‍🚀 up 👨🏿‍🔬", "❤️‍🔥", "🤷🏻‍♀️?", "1️⃣2️⃣", "🇯🇵🇰🇷"]


# ---- texts ----
def script(line):
    """Of the first letter beyond ASCII."""
    for c in line:
        if c > "\x7f" and c.isalpha():
            return unicodedata.name(c, "?").split()[0]
    return "ASCII"


def chosen_lines(corpus, count):
    """Round robin over scripts, so that none is left out and none fills the whole."""
    groups = {}
    with open(corpus, encoding="utf-8", newline="\n") as f:
        for line in f:
            line = line.removesuffix("\n")
            group = groups.setdefault(script(line), [])
            if len(group) < count:
                group.append(line)
    lines, turn = [], 0
    while len(lines) < count and any(turn < len(g) for g in groups.values()):
        lines += [g[turn] for g in groups.values() if turn < len(g)]
        turn += 1
    return lines[:count], groups


def long_words(r, count):
    letters = "abcdefghijklmnopqrstuvwxyzäéñßœжщяθλ中文字한글ไทยअनु"
    return ["".join(r.choice(letters[:r.choice((2, 5, 26, len(letters)))])
                    for _ in range(r.randint(90, 3000))) for _ in range(count)]


def texts_of(corpus):
    r = random.Random(5)
    special = ODD + SENTENCES + ADDED_TEXTS + EMOJI + long_words(r, 40) + [""] * 5
    lines, groups = chosen_lines(corpus, LINES - len(special))
    lines += special
    print(f"{len(lines)} lines of {len(groups)} scripts, 5000 fuzzed, pairs, words, windows",
          flush=True)
    return lines, damaged(lines, 2, 4000) + random_texts(3, 1000)


# ---- the two sides ----
def ours(path, flags, rows):
    with tempfile.TemporaryFile("w+", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row) + "\n")
        f.seek(0)
        run = subprocess.run([PROGRAM, "tokenize", "--tokenizer", path, "--jsonl", "--offsets",
                              "chars", *flags], stdin=f, capture_output=True)
    if run.returncode:
        print(f"  {path}: {run.stderr.decode(errors='replace').strip()}")
    return run.stdout.decode().split("\n")[:-1]


def flat(e):
    return {"ids": e.ids, "tokens": e.tokens, "offsets": [list(o) for o in e.offsets],
            "type_ids": e.type_ids, "word_ids": e.word_ids,
            "special_tokens_mask": e.special_tokens_mask}


def theirs(t, row, words):
    pair = isinstance(row, list) and (not words)
    try:
        e = t.encode(*row) if pair else t.encode(row, is_pretokenized=words)
    except BaseException as error:  # a panic of the reference is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return None
    over = [flat(o) for o in e.overflowing]
    return {**flat(e), **({"overflow": over} if over else {})}


def differences(t, path, rows, flags=(), words=False):
    """How many answers are not equal; what the reference refuses, we refuse."""
    wanted = [theirs(t, row, words) for row in rows]
    good = [i for i, w in enumerate(wanted) if w is not None]
    answers = ours(path, flags, [rows[i] for i in good])
    wrong = abs(len(good) - len(answers))
    for i, line in zip(good, answers):
        if json.loads(line) != wanted[i]:
            wrong += 1
            if wrong <= 2:
                print(f"  differs: {rows[i]!r:.300}")
    return wrong


# ---- tokenizers ----
def mapped(texts, size, names, frame, normalizers=(), pre=None):
    t = models.trained(models.unigram(size, names), texts,
                       N.Sequence([N.Precompiled(models.charsmap(
                           normalization_rule_name="nmt_nfkc")), *normalizers]),
                       pre or P.Sequence([P.WhitespaceSplit(), P.Metaspace()]))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor, t.decoder = models.frame(t, *frame), D.Metaspace()
    return t


def xlm_roberta_mapped(texts, size):
    return mapped(texts, size, ["<s>", "<pad>", "</s>", "<unk>"], ("<s>", "</s>", "</s>"))


def t5_mapped(texts, size):
    t = mapped(texts, size, ["<pad>", "</s>", "<unk>"], ("</s>", "</s>"),
               [N.Replace(Regex(" {2,}"), " ")], P.Metaspace(prepend_scheme="first"))
    t.add_tokens([AddedToken(f"<extra_id_{i}>", special=True) for i in range(100)])
    return t


def albert_mapped(texts, size):
    return mapped(texts, size, ["<pad>", "<unk>", "[CLS]", "[SEP]"], ("[CLS]", "[SEP]"),
                  [N.NFKD(), N.StripAccents(), N.Lowercase()])


STYLES = [*models.STYLES, xlm_roberta_mapped, t5_mapped, albert_mapped]


def reference(path):
    if os.path.isfile(path):
        return Tokenizer.from_file(path)
    import transformers
    with open(f"{path}/tokenizer_config.json") as f:
        kind = json.load(f)["tokenizer_class"]
    return getattr(transformers, kind).from_pretrained(path)._tokenizer


def found(folder):
    for name in sorted(os.listdir(folder)):
        path = f"{folder}/{name}"
        if name != "trained" and os.path.isdir(path):
            json_path = f"{path}/tokenizer.json"
            yield name, json_path if os.path.exists(json_path) else path


def trained(folder, corpus, only):
    os.makedirs(f"{folder}/trained", exist_ok=True)
    texts = None
    for style in STYLES:
        path = f"{folder}/trained/{style.__name__}.json"
        if only and style.__name__ not in only:
            continue
        if not os.path.exists(path):
            texts = texts or [x for x in chosen_lines(corpus, TRAINING)[0] if len(x) < 1000]
            style(texts, SIZE).save(path)
        yield f"{style.__name__} *", path


def check(t, path, lines, fuzzed, seed):
    r = random.Random(seed)
    short = [x for x in lines if 0 < len(x) < 300]
    t.no_padding()
    t.no_truncation()
    counts = [differences(t, path, lines), differences(t, path, fuzzed),
              differences(t, path, [[r.choice(lines), r.choice(lines)] for _ in range(1000)]),
              differences(t, path, [r.choice(short).split(" ") for _ in range(1000)], ["--words"],
                          True)]
    for length, stride in ((16, 0), (32, 9)):
        t.enable_truncation(length, stride=stride)
        flags = ["--max-length", str(length), "--stride", str(stride)]
        counts.append(differences(t, path, r.sample(short, 500), flags) + differences(
            t, path, [[r.choice(short), r.choice(short)] for _ in range(500)], flags))
    return [*counts[:4], counts[4] + counts[5]]


def main(corpus, folder, *only):
    lines, fuzzed = texts_of(corpus)
    total, count = 0, 0
    print(f"{'tokenizer':20} {'model':10} {'tokens':>7}  differences: "
          f"{'lines':>6} {'fuzzed':>6} {'pairs':>6} {'words':>6} {'windows':>7}")
    for name, path in itertools.chain(found(folder), trained(folder, corpus, only)):
        if only and name.removesuffix(" *") not in only:
            continue
        t = reference(path)
        row = check(t, path, lines, fuzzed, name)
        print(f"{name:20} {type(t.model).__name__:10} {t.get_vocab_size():7}               "
              f"{row[0]:6} {row[1]:6} {row[2]:6} {row[3]:6} {row[4]:7}", flush=True)
        total, count = total + sum(row), count + 1
    print(f"{count} tokenizers (*: trained here), {total} differences")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
