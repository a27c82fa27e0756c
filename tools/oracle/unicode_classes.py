# SPDX-License-Identifier: Apache-2.0
"""unicode_classes.py - asks the reference what its regular expressions, its UnicodeScripts and its
grapheme clusters (which Precompiled walks over) think of every code point, and writes C tables.

    python tools/oracle/unicode_classes.py    # from the root of the repository

writes src/text/unicode_tables_classes.c and tests/golden/text/unicode_classes.txt (a hash per plane).
Like unicode.py it takes nothing from Python's tables but candidates, which the reference confirms.
"""
import struct
import sys

from tokenizers import Regex, normalizers as N, pre_tokenizers as P

from unicode import LAST, array, code_points, deduplicate, fnv

CATEGORIES = ("Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl "
              "Zp Zs").split()
POSIX = {name: rf"\p{{{name}}}" for name in "Alpha Lower Upper Punct Space".split()}
POSIX["Word"] = r"[\w]"
POSIX |= {name: rf"\p{{{name}}}" for name in "Graph Print Blank XDigit".split()}
POSIX["Word alone"], POSIX["Punct in brackets"] = r"\w", "[[:punct:]]"
SCRIPTS = """Common Inherited Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari
Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar
Georgian Hangul Ethiopic Cherokee Canadian_Aboriginal Ogham Runic Khmer Mongolian Hiragana Katakana
Bopomofo Han Yi Old_Italic Gothic Deseret Tagalog Hanunoo Buhid Tagbanwa Limbu Tai_Le Linear_B
Ugaritic Shavian Osmanya Cypriot Braille Buginese Coptic New_Tai_Lue Glagolitic Tifinagh
Syloti_Nagri Old_Persian Kharoshthi Balinese Cuneiform Phoenician Phags_Pa Nko Sundanese Lepcha
Ol_Chiki Vai Saurashtra Kayah_Li Rejang Lycian Carian Lydian Cham Tai_Tham Tai_Viet Avestan
Egyptian_Hieroglyphs Samaritan Lisu Bamum Javanese Meetei_Mayek Imperial_Aramaic Old_South_Arabian
Inscriptional_Parthian Inscriptional_Pahlavi Old_Turkic Kaithi Batak Brahmi Mandaic Chakma
Meroitic_Cursive Meroitic_Hieroglyphs Miao Sharada Sora_Sompeng Takri Caucasian_Albanian Bassa_Vah
Duployan Elbasan Grantha Pahawh_Hmong Khojki Linear_A Mahajani Manichaean Mende_Kikakui Modi Mro
Old_North_Arabian Nabataean Palmyrene Pau_Cin_Hau Old_Permic Psalter_Pahlavi Siddham Khudawadi
Tirhuta Warang_Citi Ahom Anatolian_Hieroglyphs Hatran Multani Old_Hungarian SignWriting Adlam
Bhaiksuki Marchen Newa Osage Tangut Masaram_Gondi Nushu Soyombo Zanabazar_Square Dogra Gunjala_Gondi
Makasar Medefaidrin Hanifi_Rohingya Sogdian Old_Sogdian Elymaic Nandinagari Nyiakeng_Puachue_Hmong
Wancho Chorasmian Dives_Akuru Khitan_Small_Script Yezidi Cypro_Minoan Old_Uyghur Tangsa Toto
Vithkuqi Kawi Nag_Mundari Garay Gurung_Khema Kirat_Rai Ol_Onal Sunuwar Todhri Tulu_Tigalari
""".split()
ALL = list(code_points())
BLOCK = 256
CHUNK = 0x4000
CHUNKS = [ALL[i:i + CHUNK] for i in range(0, len(ALL), CHUNK)]


def members(pattern):
    """Code points that match a pattern of one character."""
    split = P.Split(Regex(pattern), "removed", invert=True)
    for chunk in CHUNKS:
        for _, (start, end) in split.pre_tokenize_str("".join(map(chr, chunk))):
            yield from chunk[start:end]


def ask_regex():
    category, posix = [0] * LAST, [0] * LAST
    for i, name in enumerate(CATEGORIES):
        for c in members(rf"\p{{{name}}}") if i else ():
            if category[c]:
                sys.exit(f"U+{c:04X} has two categories")
            category[c] = i
    for i, pattern in enumerate(POSIX.values()):
        for c in members(pattern):
            posix[c] |= 1 << i
    for short, name in (("\\s", "Space"), (r"[\s]", "Space"), (r"[^\W]", "Word"), (r"\h", "XDigit"),
                        (r"\p{Word}", "Word alone"), ("[[:word:]]", "Word")):
        if set(members(short)) != {c for c in ALL if posix[c] >> list(POSIX).index(name) & 1}:
            sys.exit(f"{short} is not {name}")
    for short, want in ((r"\d", {"Nd"}), (r"\p{L}", {"Ll", "Lm", "Lo", "Lt", "Lu"}),
                        (r"[[:cntrl:]]", {"Cc"}), (r"\p{Cn}", {"Cn"}),
                        (r"\p{S}", {"Sc", "Sk", "Sm", "So"}),
                        (r"\p{C}", {"Cn", "Cc", "Cf", "Co", "Cs"})):
        if set(members(short)) != {c for c in ALL if CATEGORIES[category[c]] in want}:
            sys.exit(f"{short} is not {want}")
    return category, posix


def ask_scripts():
    """0: the reference knows no script (Unknown)."""
    script = [0] * LAST
    for i, name in enumerate(SCRIPTS):
        for c in members(rf"\p{{{name}}}"):
            if script[c]:
                sys.exit(f"U+{c:04X} has two scripts")
            script[c] = i + 1
    return script


def ask_old_scripts():
    """Numbers of what UnicodeScripts keeps together; 0: goes with anything."""
    split, old, lead = P.UnicodeScripts().pre_tokenize_str, [0] * LAST, [ord("a")]

    def together(x, y):
        return len(split(chr(x) + chr(y))) == 1

    last = 0
    for c in ALL:
        if together(0x61, c) and together(0x44F, c):
            continue
        if not last or not together(lead[last - 1], c):
            found = [i for i, x in enumerate(lead) if together(x, c)]
            if not found:
                lead.append(c)
            last = (found or [len(lead) - 1])[0] + 1
        old[c] = last
    return old


# ---- grapheme clusters ----
GRAPHEME = ("AFTER PREPEND PASSIVE PICTURE LEAD_NEXT VOWEL_NEXT TAIL_NEXT LEADS VOWELS TAILS "
            "CONSONANT LINKER BETWEEN").split()


def counter():
    """Every byte maps to x: a cluster below 6 bytes becomes one x, a longer one an x a character."""
    units = [0] * 1024
    units[0] = 256 << 10
    for b in range(1, 256):
        units[256 + b] = (256 + b ^ 512) << 10 | 1 << 8 | b
    blob = struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + b"x\0"
    normalize = N.Precompiled(blob).normalize_str
    return lambda text: len(normalize(text))


def ask_graphemes():
    """What joins what, by texts whose count of clusters tells."""
    count, out = counter(), [0] * LAST
    mark, ka, virama, zwj = "\u0301", "\u0915", "\u094d", "\u200d"
    tests = [  # the text, the count when it joins
        (lambda c: "a" + c, 1), (lambda c: c + "a", 1),
        (lambda c: c + mark + mark, 3),
        (lambda c: "\xa9" + zwj + c, 3),
        (lambda c: "\u1100" + c + mark, 3), (lambda c: "\u1161" + c + mark, 3),
        (lambda c: "\u11a8" + c + mark, 3), (lambda c: c + "\u1100" + mark, 3),
        (lambda c: c + "\u1161" + mark, 3), (lambda c: c + "\u11a8" + mark, 3),
        (lambda c: c + virama + ka + mark, 4), (lambda c: ka + c + ka + mark, 4),
        (lambda c: ka + virama + c + ka + mark, 5)]
    for c in ALL:
        if c == 0:  # ends a key: it cannot be counted, and is a control
            continue
        ch = chr(c)
        bits = sum((count(text(ch)) == joined) << i for i, (text, joined) in enumerate(tests))
        out[c] = clean(bits | (c < 128 and count(ch + mark + mark) == 1) << 2, ch)
    return out


def clean(bits, ch):
    """Some tests say the same of what another one tells: keep what is meant."""
    def bit(name):
        return bits >> GRAPHEME.index(name) & 1
    after = bit("AFTER")
    kept = after | bit("PREPEND") << 1
    if not after:
        kept |= bit("PASSIVE") << 2 | bit("PICTURE") << 3
    if 0x1100 <= ord(ch) <= 0x11FF or 0xA960 <= ord(ch) <= 0xA97F or 0xAC00 <= ord(ch) <= 0xD7FF:
        kept |= bits & (0x3F << 4)
    if not after:
        kept |= bit("CONSONANT") << 10
    else:
        kept |= bit("LINKER") << 11 | bit("BETWEEN") << 12
    return kept


# ---- case ----
def ask_folds():
    """Cycles of characters that (?i) takes for one another: each with the next of its cycle."""
    candidates = [c for c in ALL if len({chr(c), chr(c).lower(), chr(c).upper(), chr(c).casefold(),
                                         chr(c).title()}) > 1]
    text, out = " ".join(map(chr, candidates)), {}
    for i, c in enumerate(candidates):
        split = P.Split(Regex(f"(?i:{chr(c)})"), "removed", invert=True)
        same = sorted(ord(piece) for piece, _ in split.pre_tokenize_str(text) if len(piece) == 1)
        if c not in same:
            sys.exit(f"U+{c:04X} does not match itself")
        if len(same) > 1:
            out[c] = same[(same.index(c) + 1) % len(same)]
    if any(out[out[c]] != c and out[out[out[c]]] != c and out[out[out[out[c]]]] != c for c in out):
        sys.exit("case is not cyclic")
    return out


# ---- writing ----
def two_stage(out, name, kind, rows_of, values):
    records, ids = {}, []
    for value in values:
        ids.append(records.setdefault(value, len(records)))
    index, leaves = deduplicate(ids, BLOCK)
    if len(records) > 256 or max(index) > 255:
        sys.exit(f"{name} needs wider types: {len(records)} records, {max(index)} blocks")
    array(out, "uint8_t", f"{name}_index", [str(i) for i in index])
    array(out, "uint8_t", f"{name}_leaves", [str(i) for i in leaves])
    array(out, kind, f"{name}_records", [rows_of(r) for r in records])


def tables(category, posix, script, old, graphemes, folds):
    out = ["/* SPDX-License-Identifier: Apache-2.0",
           " * unicode_tables_classes.c - generated by tools/oracle/unicode_classes.py from the",
           " * reference's answers. */", '#include "unicode_classes.h"', ""]
    two_stage(out, "class", "ClassRecord", lambda r: f"{{ {r[0]}, {r[1]} }}",
              list(zip(category, posix)))
    two_stage(out, "script", "ScriptRecord", lambda r: f"{{ {r[0]}, {r[1]} }}",
              list(zip(script, old)))
    two_stage(out, "grapheme", "uint16_t", str, graphemes)
    array(out, "UnicodeFold", "unicode_folds",
          [f"{{ 0x{c:x}, 0x{to:x} }}" for c, to in sorted(folds.items())])
    out.append(f"const size_t unicode_fold_count = {len(folds)};")
    array(out, "char *const", "script_names", [f'"{name}"' for name in ["Unknown"] + SCRIPTS])
    out.append(f"const size_t script_count = {len(SCRIPTS) + 1};")
    return "\n".join(out) + "\n"


def goldens(columns):
    lines = ["# tools/oracle/unicode_classes.py: FNV-1a 64 of a primitive's answers over one plane"]
    for name, column in columns.items():
        for plane in range(17):
            codes = (c for c in range(plane << 16, plane + 1 << 16) if not 0xD800 <= c < 0xE000)
            value = fnv(0xCBF29CE484222325, (column[c] for c in codes))
            lines.append(f"{name} {plane} {value:016x}")
    return "\n".join(lines) + "\n"


def main():
    category, posix = ask_regex()
    script, old = ask_scripts(), ask_old_scripts()
    graphemes, folds = ask_graphemes(), ask_folds()
    source = tables(category, posix, script, old, graphemes, folds)
    with open("src/text/unicode_tables_classes.c", "w") as f:
        f.write(source)
    with open("tests/golden/text/unicode_classes.txt", "w") as f:
        f.write(goldens({"category": category, "posix": posix, "script": script, "old": old,
                         "grapheme": graphemes, "fold": [folds.get(c, c) for c in range(LAST)]}))


if __name__ == "__main__":
    main()
