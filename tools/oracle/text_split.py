# SPDX-License-Identifier: Apache-2.0
"""text_split.py - what the reference's normalizers and pre-tokenizers make of nasty texts.

    python tools/oracle/text_split.py                      # from the root of the repository
    python tools/oracle/text_split.py compare FILE OUT     # not committed: the lines of FILE

The first form writes tests/golden/text_split/cases.jsonl: a row {"n": normalizer, "p":
pre_tokenizer} opens a configuration, each row after it is a case, {"a": text, "w": pieces, "o":
offsets of each, in bytes}; without a pre-tokenizer the pieces are the characters of the normalized
text, written as one string. Offsets come from a whole tokenizer whose model knows no word. Texts on
which the reference ends the program are left out. tests/test_text_pretokenize replays either form.
"""
import base64
import json
import struct
import sys
import unicodedata

from tokenizers import PreTokenizedString, Tokenizer, pre_tokenizers

from tokenizer import ADDED_TEXTS, ODD, SENTENCES, byte_offsets, damaged, random_texts

GOLDEN = "tests/golden/text_split/cases.jsonl"
UNKNOWN = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
           "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0}}
EMPTY = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
         "post_processor": None, "decoder": None, "model": UNKNOWN}


# ---- a SentencePiece map ----
def charsmap(pairs):
    """The blob of a SentencePiece normalizer: a double-array trie of the keys."""
    strings, values = b"", {}
    for key, to in sorted(pairs.items()):
        values[key.encode()] = len(strings)
        strings += to.encode() + b"\0"
    trie = {}
    for key, value in values.items():
        node = trie
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value
    units, used, low = {}, {0}, 1

    def place(node):
        nonlocal low
        while low in used:
            low += 1
        base = low
        while any(base ^ label in used for label in node):
            base += 1
        used.update(base ^ label for label in node)
        return base

    todo = [(0, 0, trie)]
    while todo:
        at, label, node = todo.pop(0)
        base = place(node)
        units[at] = label | (0 in node) << 8 | (at ^ base) << 10
        for byte, child in node.items():
            if byte:
                todo.append((base ^ byte, byte, child))
            else:
                units[base] = child | 1 << 31
    size = max(units) // 256 * 256 + 512
    array = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    blob = struct.pack("<I", len(array)) + array + strings
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}


SMALL_MAP = {
    "\t": " ", "\n": " ", "\r\n": "#", "\u00a0": " ", "\u3000": " ", "\u200b": "", "\u00ad": "",
    "\x01": "", "ﬁ": "fi", "ﬀ": "ff", "½": "1⁄2", "①": "1", "é": "e\u0301", "e\u0301": "é",
    "a\u0308": "ä", "A\u030a": "Å", "Å": "Å", "K": "K", "Ａ": "A", "ｶ": "カ", "ﾞ": "\u3099",
    "か\u3099": "が", "\u0301": "", "\u1100\u1161": "가", "각": "g", "\u0600": "?", "©": "(c)",
    "\u200d": "", "\ufeff": "", "…": "...", "x": "", "qu": "kw", "ﷺ": "صلى الله عليه وسلم",
    "\u0915": "k", "\u0915\u0301": "K", "豈": "豈", "\U0001d400": "A", "👍": "+1"}


def big_map():
    out = {}
    for c in [*range(0x80, 0xD800), *range(0xE000, 0x10000), *range(0x1D400, 0x1D800)]:
        to = unicodedata.normalize("NFKC", chr(c))
        if to != chr(c):
            out[chr(c)] = to
        parts = unicodedata.normalize("NFD", chr(c))
        if len(parts) > 1 and unicodedata.normalize("NFC", parts) == chr(c):
            out[parts] = chr(c)
    return {**out, **{chr(c): "" for c in range(1, 9)}, "\u200b": " ", "\ufeff": "", "\t": " "}


# ---- configurations ----
def normalizers(full_map):
    def one(kind, **members):
        return {"type": kind, **members}

    def replace(pattern, content, kind="Regex"):
        return one("Replace", pattern={kind: pattern}, content=content)

    def sequence(*items):
        return one("Sequence", normalizers=list(items))

    nfc, nfd, nfkc, nfkd = (one(form) for form in ("NFC", "NFD", "NFKC", "NFKD"))
    lower, accents, nmt = one("Lowercase"), one("StripAccents"), one("Nmt")
    strip = one("Strip", strip_left=True, strip_right=True)
    small = charsmap(big_map() if full_map else SMALL_MAP)
    yield from (nfc, nfd, nfkc, nfkd, lower, accents, nmt, strip, one("ByteLevel"), small)
    yield from (one("Prepend", prepend=p) for p in ("▁", "ab▁c", ""))
    yield replace(" ", "▁", "String")
    yield replace("qu", "", "String")
    yield replace("", "-", "String")
    for pattern, content in (
            (r"\s+", " "), (r" {2,}", "▁"), (r"[^\w\s]", ""), (r"(?i)[aeiou]", "*"), (r"$", "<"),
            (r"(?<=a)b|(?<![b-d])c", "BC"), (r"\p{M}+", "\u0301"), (r"``|''", "\""), (r"\n", " "),
            (r"^\s+|\s+$", ""), (r"(.)(?=\p{Lu})", "x"), (r"x*", "-")):
        yield replace(pattern, content)
    yield sequence(nfkc, lower)
    yield sequence(nmt, nfkc, replace(r" {2,}", " "))
    yield sequence(nfd, accents, nfc)
    yield sequence(lower, nfkd, accents)
    yield sequence(small, replace(r" {2,}", "▁"), strip)
    yield sequence(strip, one("Prepend", prepend="▁"), one("ByteLevel"))
    yield sequence(replace("``", "\"", "String"), nfkd, accents, lower, small)
    yield sequence(nfc, replace(r"\s+", " "), lower)


PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
              r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
            r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "tiktoken": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}|"
                r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
             r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
             r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
             r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "clip": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|"
            r"[^\s\p{L}\p{N}]+",
    "clip plain": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "deepseek": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"
                r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "cjk": r"[一-龥぀-ゟ゠-ヿ]+", "digits": r"\p{N}{1,3}", "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "words": r"\b\w+\b", "lines": r"^.*$", "lazy": r"\w+?|\W{2,3}?", "possessive": r"\w*+\d?|\s++",
    "behind": r"(?<=[.!?…])\s+|(?<!\p{L})-", "scripts": r"\p{Han}+|\p{Hiragana}+|\p{Latin}+|\P{L}",
    "sets": r"[\w&&[^\d_]]+|[[:punct:]]+|[^[:^space:]]", "empty": r"", "optional": r"a?",
    "groups": r"(?:(?:ab|a)*(?:b|c)?)+|(?>\w+)\s|(a|b|)*x", "atoms": r"(?>a+)b|\R|\h+|\H",
    "flags": r"(?i)strase|É[[:upper:]]|(?-i:K)k|(?m:a.b)",
    "properties": r"\p{Lu}\p{Ll}*|\p{^Alpha}|\p{Cyrillic}+|\p{Other_Number}|\p{Zs}",
    "anchors": r"\A\s|\s\z|\Z|\B.", "digits from the right": r"\d{1,3}(?=(?:\d{3})*\b)",
    "escapes": r"\x{e9}|\u4e2d|\t|\x41|[\n\]\-]",
}
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def splitters(all_of_them):
    def one(kind, **members):
        return {"type": kind, **members}

    def split(pattern, behavior, invert, kind="Regex"):
        return one("Split", pattern={kind: pattern}, behavior=behavior, invert=invert)

    def sequence(*items):
        return one("Sequence", pretokenizers=list(items))

    byte_level = [one("ByteLevel", add_prefix_space=p, trim_offsets=True, use_regex=r)
                  for p in (False, True) for r in (True, False)]
    yield from byte_level
    yield from (one(kind) for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit",
                                       "UnicodeScripts"))
    meta = [one("Metaspace", replacement=r, prepend_scheme=s, split=cut)
            for r in "▁_" for s in ("always", "never", "first") for cut in (True, False)]
    yield from meta
    yield from (one("Punctuation", behavior=b) for b in BEHAVIORS)
    yield from (one("Digits", individual_digits=d) for d in (False, True))
    yield from (one("CharDelimiterSplit", delimiter=d) for d in (" ", "é", "|"))
    yield from (one("FixedLength", length=n) for n in (1, 3, 7))
    for i, pattern in enumerate(PATTERNS.values()):
        wanted = BEHAVIORS if all_of_them else ["Isolated", BEHAVIORS[i % 5]]
        for k, behavior in enumerate(dict.fromkeys(wanted)):
            yield split(pattern, behavior, bool((i + k) % 3 == 2))
    yield from (split("'", b, v, "String") for b in BEHAVIORS for v in (False, True))
    yield from (split(p, "MergedWithNext", False, "String") for p in (" ", "", "中", "aa"))
    yield sequence(split(PATTERNS["cl100k"], "Isolated", False), byte_level[1])
    yield sequence(one("WhitespaceSplit"), meta[0])
    yield sequence(one("Digits", individual_digits=True), one("Punctuation", behavior="Isolated"),
                   byte_level[0])
    yield sequence(split(PATTERNS["digits"], "Isolated", False),
                   split(PATTERNS["cjk"], "Isolated", False),
                   split(PATTERNS["deepseek"], "Isolated", False), byte_level[1])
    yield sequence(meta[4], one("UnicodeScripts"), meta[0])


def configurations(everything):
    ns, ps = list(normalizers(everything)), list(splitters(everything))
    yield from ((n, None) for n in ns)
    yield from ((None, p) for p in ps)
    for i in range(0, len(ns), 1 if everything else 4):  # both together
        yield ns[i], ps[(7 * i + 3) % len(ps)]


# ---- cases ----
def answers(normalizer, pre_tokenizer):
    """text -> (pieces, their byte offsets), or None where the reference ends the program."""
    whole = {**EMPTY, "normalizer": normalizer,
             "pre_tokenizer": pre_tokenizer or {"type": "FixedLength", "length": 1}}
    t = Tokenizer.from_str(json.dumps(whole))
    whole_piece = pre_tokenizers.FixedLength(length=1 << 30)

    def pieces(text):
        split = PreTokenizedString(text)
        if t.normalizer:
            split.normalize(t.normalizer.normalize)
        whole_piece.pre_tokenize(split)  # the pipeline cuts here, which moves where a piece starts
        t.pre_tokenizer.pre_tokenize(split)
        return [piece for piece, _, _ in split.get_splits("original", "char")]

    def answer(text):
        try:
            e = t.encode(text)
            w = pieces(text) if pre_tokenizer else t.normalizer.normalize_str(text)
        except BaseException as error:
            if "panic" not in type(error).__name__.lower():
                raise
            return None
        return w, [x for o in byte_offsets(text, e.offsets) for x in o]
    return answer


def rows(texts, everything):
    for n, p in configurations(everything):
        yield {"n": n, "p": p}
        answer = answers(n, p)
        for text in texts(n, p):
            found = answer(text)
            if found:
                yield {"a": text, "w": found[0], "o": found[1]}


ENDINGS = [
    "\u1100\u11a8\u0301 \u1161\u1100\u0301 \uac01\u1161\u0301",
    "It's we're I'M you'LL they'd 'ſ 'S'T's 've'Re", "don't 's 're'",
    "a  b   c\n\n d \r\n\r\n e\t\tf ", "x\n", "\n\nx", " \n \n ", "   ", "1234567 12 ٣٤٥٦ ½²",
    "HTTPServer aBcD ǅABC", "'", "''s", " 's", "<|startoftext|>a cat<|endoftext|>",
    "foo/bar//baz\n\n/", "a\r\nb\rc\x85d\u2028e", "\r\n\u0301x",
    "e\u0301e\u0301\u0301 a\u0308\u0323", "\u0600a\u0600\u0301 ©\u200d© ©\u200d", "\x01ab", "x x",
    "क\u094dक\u0301 क\u0301\u094dक\u0301", "가\u0301 가\u0301 각ᆨ\u0301", "ab▁c_d ▁ _", "▁▁a", " a",
    "a ", "aab aaab", "abcabx ab x", "Straſe STRASE strase ÉA x² ½x éa kK Kk",
]


def goldens():
    every = SENTENCES + ODD + ENDINGS + random_texts(7, 60) + ADDED_TEXTS[::6]
    turn = iter(range(10 ** 6))

    def texts(n, p):  # all the texts for a few, every sixth for the others
        offset = next(turn)
        return ENDINGS + ([] if len(json.dumps([n, p])) > 20000 else every[offset % 6::6])
    write(GOLDEN, rows(texts, False))


def compare(source, out):
    with open(source, encoding="utf-8", errors="ignore") as f:
        lines = [line.rstrip("\n") for line in f]
    texts = lines + damaged(lines, 2, 4000) + random_texts(3, 1000) + ODD + ENDINGS
    write(out, rows(lambda n, p: texts, True))


def write(path, found):
    with open(path, "w") as f:
        for row in found:
            f.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    compare(*sys.argv[2:4]) if sys.argv[1:2] == ["compare"] else goldens()
