# SPDX-License-Identifier: Apache-2.0
"""unicode.py - asks the reference (Hugging Face `tokenizers`) about every code point and writes what
it says as C tables, plus one hash per primitive and plane for the C test.

    python tools/oracle/unicode.py            # from the root of the repository

writes src/text/unicode_tables.c and tests/golden/text/unicode.txt.

Why not a Unicode library: the reference mixes crates built from different Unicode versions (the
punctuation of BertPreTokenizer is years older than its lower case), so only it can say. Nothing here
is taken from Python's own tables but guesses of combining classes, which the reference confirms.
"""
import sys
import unicodedata

from tokenizers import normalizers as N, pre_tokenizers as P

LAST = 0x110000
BLOCK = 128
DROP, SPACE, CJK, PUNCT, MN, MARK, WORD, DECOMPOSES, LOWERS = (1 << i for i in range(9))
NUMERIC, EXPANDS, NOT_NFC, NOT_NFKC = (1 << i for i in range(9, 13))
PLAIN = DROP | SPACE | CJK | PUNCT | MN | MARK | WORD | NUMERIC  # not derived from mappings
BERT_OFF = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)


def code_points():
    return (c for c in range(LAST) if not 0xD800 <= c < 0xE000)


def bert(**on):
    return N.BertNormalizer(**{**BERT_OFF, **on}).normalize_str


def pieces(pre, text):
    return [piece for piece, _ in pre.pre_tokenize_str(text)]


class Asked:
    """Everything the reference said, indexed by code point."""

    def __init__(self):
        self.flags = [0] * LAST
        self.order = [0] * LAST  # rank of the combining class, 0: starter
        self.lower = {}
        self.nfd, self.nfkd = {}, {}
        self.pairs = {}  # (first, second) -> what NFC makes of them
        self.ask_classes()
        self.ask_mappings()
        self.ask_order()
        self.ask_compositions()

    def ask_classes(self):
        clean, cjk = bert(clean_text=True), bert(handle_chinese_chars=True)
        accents = bert(strip_accents=True)
        strip, nfd = N.StripAccents().normalize_str, N.NFD().normalize_str
        words, split, punct = P.Whitespace(), P.WhitespaceSplit(), P.BertPreTokenizer()
        digits, other = P.Digits(), P.Punctuation()
        for c in code_points():
            ch, f = chr(c), 0
            cleaned = clean(ch)
            spaced = pieces(split, "a" + ch + "a") == ["a", "a"]
            f |= DROP * (cleaned == "") | SPACE * spaced
            if cleaned not in ("", " ", ch) or (cleaned == " ") != (spaced and not f & DROP):
                sys.exit(f"clean_text: U+{c:04X} -> {cleaned!r}, space: {spaced}")
            f |= CJK * (cjk(ch) == f" {ch} ")
            f |= MN * (accents(ch) == "" and nfd(ch) == ch) | MARK * (strip(ch) == "")
            f |= PUNCT * (pieces(punct, "a" + ch + "a") == ["a", ch, "a"])
            f |= NUMERIC * (len(pieces(digits, "a" + ch + "a")) == 3)
            if (len(pieces(other, "a" + ch + "a")) == 3) != bool(f & PUNCT):
                sys.exit(f"the two kinds of punctuation differ at U+{c:04X}")
            w = pieces(words, "a" + ch + "a")
            f |= WORD * (w == ["a" + ch + "a"])
            if (w == ["a", "a"]) != spaced:
                sys.exit(f"white space of the two splitters differs at U+{c:04X}")
            self.flags[c] = f

    def ask_mappings(self):
        nfd, lower = N.NFD().normalize_str, N.Lowercase().normalize_str
        nfkd = N.NFKD().normalize_str
        bert_lower, accents = bert(lowercase=True), bert(strip_accents=True)
        for c in code_points():
            ch = chr(c)
            d, low = nfd(ch), lower(ch)
            if low != bert_lower(ch):
                sys.exit(f"the two lower cases differ at U+{c:04X}")
            if low != ch:
                self.lower[c] = [ord(x) for x in low]
                self.flags[c] |= LOWERS
            if nfkd(ch) != d:
                self.nfkd[c] = [ord(x) for x in nfkd(ch)]
                self.flags[c] |= EXPANDS
            if d == ch:
                continue
            if accents(ch) != "".join(x for x in d if not self.flags[ord(x)] & MN):
                sys.exit(f"strip_accents is not NFD without marks at U+{c:04X}")
            if 0xAC00 <= c < 0xAC00 + 11172:  # by arithmetic in C
                s = c - 0xAC00
                t = [0x1100 + s // 588, 0x1161 + s % 588 // 28] + [0x11A7 + s % 28] * (s % 28 > 0)
                if [ord(x) for x in d] != t:
                    sys.exit(f"Hangul U+{c:04X}")
                continue
            self.nfd[c] = [ord(x) for x in d]
            self.flags[c] |= DECOMPOSES

    def ask_order(self):
        """Combining classes by swapping: NFD sorts two marks when the first has the higher one."""
        nfd = N.NFD().normalize_str

        def swaps(x, y):
            return x != y and nfd("a" + chr(x) + chr(y)) == "a" + chr(y) + chr(x)

        marks = [c for c in code_points() if c not in self.nfd and not 0xAC00 <= c < 0xD7A4
                 and (swaps(c, 0x334) or swaps(0x345, c))]
        if 0x334 not in marks or 0x345 not in marks:
            sys.exit("the lowest and the highest class are not marks")
        guess = {}
        for c in marks:
            guess.setdefault(unicodedata.combining(chr(c)), []).append(c)
        classes = sorted(k for k in guess if k)
        lead = [guess[k][0] for k in classes]
        for low, high in zip(lead, lead[1:]):
            if not swaps(high, low):
                sys.exit(f"classes of U+{low:04X} and U+{high:04X} are not in order")
        for c in marks:
            below = sum(swaps(c, x) for x in lead)
            above = sum(swaps(x, c) for x in lead)
            if below + above != len(lead) - 1:
                sys.exit(f"U+{c:04X} fits no class")
            self.order[c] = below + 1

    def ask_compositions(self):
        """Pairs from the code points that NFC leaves whole although NFD takes them apart; and which
        code points may stand as they are when neither they nor the next one are marked."""
        nfc, nfkc = N.NFC().normalize_str, N.NFKC().normalize_str
        for c, parts in self.nfd.items():
            if nfc(chr(c)) != chr(c):
                continue
            first, second = nfc("".join(map(chr, parts[:-1]))), parts[-1]
            if len(first) != 1 or nfc(first + chr(second)) != chr(c):
                sys.exit(f"U+{c:04X} is not made of two")
            self.pairs[ord(first), second] = c
        joins = {second for _, second in self.pairs} | set(range(0x1161, 0x1176))
        joins |= set(range(0x11A8, 0x11C3))
        for c in code_points():
            ch = chr(c)
            unstable = self.order[c] > 0 or c in joins
            self.flags[c] |= NOT_NFC * (unstable or nfc(ch) != ch)
            self.flags[c] |= NOT_NFKC * (unstable or nfkc(ch) != ch)


def rows(items, width=100):
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            yield line
            line = "   "
        line += f" {item},"
    yield line


def array(out, kind, name, items):
    out.append(f"const {kind} {name}[{len(items)}] = {{")
    out.extend(rows(items))
    out.append("};")


def deduplicate(values, size):
    blocks, index = {}, []
    for i in range(0, len(values), size):
        index.append(blocks.setdefault(tuple(values[i:i + size]), len(blocks)))
    return index, [v for block in blocks for v in block]


def mapping_rows(mapping, pool):
    out = []
    for c, to in sorted(mapping.items()):
        out.append(f"{{ 0x{c:x}, {len(pool)}, {len(to)} }}")
        pool += to
    return out


def tables(asked):
    long_lower = {c: to for c, to in asked.lower.items() if len(to) != 1}
    if long_lower != {0x130: [0x69, 0x307]}:
        sys.exit(f"lower case of several characters: {long_lower}")
    records, ids = {}, []
    for c in range(LAST):
        low = asked.lower.get(c, [c])[0] - c
        ids.append(records.setdefault((asked.flags[c], asked.order[c], low), len(records)))
    index, leaves = deduplicate(ids, BLOCK)
    pool = []
    decompositions, expansions = (mapping_rows(m, pool) for m in (asked.nfd, asked.nfkd))
    compositions = [f"{{ 0x{a:x}, 0x{b:x}, 0x{c:x} }}"
                    for (a, b), c in sorted(asked.pairs.items())]
    out = ["/* SPDX-License-Identifier: Apache-2.0",
           " * unicode_tables.c - generated by tools/oracle/unicode.py from the reference's answers.",
           f" * {len(records)} records, {len(leaves) // BLOCK} blocks of {BLOCK}, "
           f"{len(decompositions)} decompositions, {len(expansions)} compatible ones, "
           f"{len(compositions)} pairs. */",
           '#include "unicode.h"', ""]
    if len(records) > 256 or max(index) > 255 or len(pool) > 65535 or max(asked.order) > 63 or \
            max(len(to) for to in asked.nfkd.values()) > 18:
        sys.exit("the tables need wider types")
    array(out, "uint8_t", "unicode_index", [str(i) for i in index])
    array(out, "uint8_t", "unicode_leaves", [str(i) for i in leaves])
    array(out, "UnicodeRecord", "unicode_records", [f"{{ {f}, {o}, {d} }}" for f, o, d in records])
    array(out, "UnicodeDecomposition", "unicode_decompositions", decompositions)
    out.append(f"const size_t unicode_decomposition_count = {len(decompositions)};")
    array(out, "UnicodeDecomposition", "unicode_expansions", expansions)
    out.append(f"const size_t unicode_expansion_count = {len(expansions)};")
    array(out, "UnicodeComposition", "unicode_compositions", compositions)
    out.append(f"const size_t unicode_composition_count = {len(compositions)};")
    array(out, "uint32_t", "unicode_pool", [f"0x{c:x}" for c in pool])
    return "\n".join(out) + "\n"


def fnv(h, values):
    for v in values:
        h = (h ^ v) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def goldens(asked):
    """Hashes of what the reference answers, which the C test must arrive at."""
    nfd, full = N.NFD().normalize_str, N.BertNormalizer().normalize_str
    forms = {form: getattr(N, form.upper())().normalize_str for form in ("nfc", "nfkc", "nfkd")}
    primitives = {
        "flags": lambda c: [asked.flags[c] & PLAIN],
        "order": lambda c: [asked.order[c]],
        "lower": lambda c: asked.lower.get(c, [c]),
        "nfd": lambda c: [ord(x) for x in nfd(chr(c))],
        "bert": lambda c: full("A" + chr(c) + "\u0301\u0323Z").encode(),
        **{name: lambda c, form=form: form(chr(c) + "\u0301\u0323\u09d7" + chr(c)).encode()
           for name, form in forms.items()},
    }
    lines = ["# tools/oracle/unicode.py: FNV-1a 64 of a primitive's answers over one plane"]
    for name, answer in primitives.items():
        for plane in range(17):
            h = 0xCBF29CE484222325
            for c in range(plane << 16, plane + 1 << 16):
                if not 0xD800 <= c < 0xE000:
                    h = fnv(h, answer(c))
            lines.append(f"{name} {plane} {h:016x}")
    return "\n".join(lines) + "\n"


def main():
    asked = Asked()
    with open("src/text/unicode_tables.c", "w") as f:
        f.write(tables(asked))
    with open("tests/golden/text/unicode.txt", "w") as f:
        f.write(goldens(asked))


if __name__ == "__main__":
    main()
