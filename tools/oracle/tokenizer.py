# SPDX-License-Identifier: Apache-2.0
"""tokenizer.py - what the reference (Hugging Face `tokenizers`) makes of many texts, for C tests.

    python tools/oracle/tokenizer.py                      # from the root of the repository
    python tools/oracle/tokenizer.py compare FILE OUT     # a large comparison, not committed

The first form writes tests/golden/text/*.json (small tokenizers, trained here) and cases.jsonl: one
case a line, {"t": tokenizer, "a": text, "b": second text or absent, options, "ids", "off", "type",
"mask", "word", "seq"} or {"error": ...}. Offsets are bytes. "names": what id_to_token says of ids.
The second asks bert-base-uncased about the lines of FILE and 5,000 damaged or random ones, writing
OUT in the same form; tests/test_text_tokenizer replays either.
"""
import json
import random
import sys

from tokenizers import Tokenizer, models, normalizers as N, pre_tokenizers as P, processors
from tokenizers import trainers

GOLDEN = "tests/golden/text/"
BERT = "../shared/fixtures/dummy/embedding/tokenizer.json"

SENTENCES = """The quick brown fox jumps over the lazy dog.
Ada Lovelace was born in London, wasn't she?
Embeddings/tokenizers: state-of-the-art (2024) — "unbelievable", isn't it?!
El niño comió piñas y jalapeños en Málaga. ¿Qué pasó?
Ça va très bien, garçon! Où est l'œuvre de Noël?
Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy.
Größe, Straße, Ärger, Übermut; ẞ groß geschrieben.
İstanbul'da IĞDIR ılık şehir; ISPARTA.
Ελληνικά: Το γρήγορο ΚΑΦΕ σκυλί, Ὀδυσσεύς καὶ ᾍδης.
Съешь же ещё этих мягких французских булок, да выпей чаю. Йод, Ёлка.
Ґанок, їжак, Європа. Љубазни фењерџија чађавог лица.
Հայերեն տեքստ և բառեր։
שָׁלוֹם עולם, עִבְרִית עם ניקוד.
مرحبا بالعالم، اللُّغَةُ العَرَبِيَّة ١٢٣.
یہ اردو ہے۔ فارسی: می‌خواهم بروم.
हिन्दी में लिखा हुआ वाक्य। क़लम, ज़मीन, फ़िल्म।
বাংলা ভাষা ড় ঢ় য় কো।
தமிழ் மொழி கொடு நௌ.
తెలుగు భాష. ಕನ್ನಡ ಭಾಷೆ ಕೋ. മലയാളം കൊ.
සිංහල භාෂාව කෝ ෞ.
ภาษาไทยไม่มีช่องว่าง กำลังน้ำ
ພາສາລາວ ນ້ຳ. ខ្មែរ ភាសា។ မြန်မာဘာသာ ဦး
བོད་སྐད་ གྷ ཱི ཷ ྲྀ།
ქართული ენა ᲥᲐᲠᲗᲣᲚᲘ.
አማርኛ ቋንቋ። ᏣᎳᎩ ꭰꭱ.
中文分词测试，北京大学生前来应聘。
漢字仮名交じり文、カタカナ、ﾊﾝｶｸ、がぎぐげご、パピプ。
한국어 문장입니다. 각 값 뷁 가힣 ᄀᆞᆷ 각.
𠀀𠀁 CJK 扩展B 𪜀 鿿 㐀 豈 﨎 丽.
👩‍👩‍👧‍👦 👍🏽 🇩🇪🇫🇷 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☺︎ #️⃣ 1️⃣
Math: ∀x∈ℝ, x²≥0; ½ ¼ ℌ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﬁ ﬀ Å Å K K Ω Ω
Việt Nam: đường phố Hà Nội, nghiêng ngả, ặ ề ỗ ợ.
e-mail: Foo.Bar+tag@example.co.uk http://example.com/a_b?c=d&e=f#g
C++ vs C#; snake_case camelCase $100.00 50% 3,14 1.000.000 a*b^c~d`e|f<g>h=i+j
tabs\tand\nnewlines\r\nand\x0bvertical\x0cform feeds
Don't stop-believin' it's o'clock ’tis “quoted” ‘single’ …ellipsis… – — ― ‐ ‑
«guillemets» ‹x› „low“ ‚q‘ 「日本」 『二重』 、。！？：；（）【】〈〉《》〜・
unaffable unwanted runnings antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis
""".strip("\n").split("\n")

ODD = [
    "", " ", "  \t\n ", "\u00a0\u2003\u3000", "\u200b\u200c\u200d\ufeff", "\x00", "a\x00b",
    "\ufffd", "a\ufffdb",
    "\x01\x02\x7f\x80\x9f", "\u00ad soft\u00adhyphen", "\u2028line\u2029para",
    "\u202eright\u202c left", "\u180e\u1680",
    "a" * 99, "a" * 100, "a" * 101, "é" * 100, "é" * 101, "e\u0301" * 100, "e\u0301" * 101,
    "ab" * 200, "中" * 60,
    "!" * 40, "...---...", "?!?!", "(((a)))", "a,b;c:d", "'''", "``quoted''", "-", "--", "_",
    "__init__", "$", "^~`|<=>+",
    "\u0301", "\u0301a", " \u0301 ", "a\u0301\u0323\u0302", "a\u0323\u0301", "\u00e4\u0323",
    "\u1e69", "s\u0323\u0307",
    "s\u0307\u0323", "\u0344", "a\u0344\u0323b", "\u0f73\u0f71\u0f72", "\u0f71\u0f72\u0f74\u0f80",
    "\u302e\u302f\u0301 x",
    "\uac00\u11a8", "\u1100\u1161\u11a8", "\ud55c\uae00", "\u0130", "\u0130\u0307", "I\u0307",
    "\u1e9e", "\u01c5", "\u03a3\u03c2",
    "\u212b\u2126\u212a", "\u1d15e\u1d160", "\U0001d15e\U0001d160", "\U00011938", "\u0958\u09dc",
    "\ufb1d\ufb2a", "\u2adc",
    "\U00016129", "\U0001d162\U0001d165\x0e\u093c x", "\U0001e900\U00010400\U00010570",
    "\U00010d50", "\u1c89", "\ua7da", "\u19da",
    "\u061c", "\u070f\u06dd",
    "\U000e0001\U000e0041", "\ue000\uf8ff", "\U000f0000", "\u0378\u0380", "\U0003fffd",
    "\U0010ffff", "\U0010fffd",
    "\u2a6de", "\U0002a6de\U0002a6df", "\U0002b920", "\U0002b820", "\U0002ceb0", "\U0002fa1d",
    "\U00030000",
    "[CLS]", "[SEP] [MASK]", "a[MASK]b", " [MASK] ", "[mask]", "[ MASK ]", "[[MASK]]", "[MAS",
    "[UNK][UNK]", "##ing", "## a",
    "[PAD]x", "x[PAD]", "[CLS]\u0301", "\u0301[SEP]", "[MASK]\u00a0[MASK]", "é[MASK]é", "中[SEP]文",
]

ADDED_TEXTS = [
    "foo", "Foo", "FOO bar", "foobar", "foo bar foo", "xfoo", "foox", "foo_", "foo.", "foo-bar",
    "Яfoo", "fooЯ", "foo\u0301",
    "<l>", "a <l> b", "a   <l>   b", "<l> <l>", "  <l>", "<r>", "a <r>  b", "<r>   ", "<r> <l> x",
    "<b>", "x  <b>  y", "<b><b>",
    "<b> <b>", "\u3000<b>\u00a0x", "<w>", "a<w>b", "a <w> b", ".<w>.", "_<w>", "<w>1", "<w><w>",
    "é<w>", "<w>\u0301", "\u0301<w>",
    "new york", "New York", "NEW YORK", "new  york", "new yorker", "new york city",
    "in New York City now", "newyork",
    "ÀÉ", "àé", "ae", "AE", "a\u0300e\u0301", "xÀÉx", "日本", "x日本x", " 日 本 ", "日本語", "<s>", "<s",
    "<s>x", "<S>",
    "<sp> x", "<sp>x", "aa", "aaa", "aaaa", "aaaaa", "ab", "abc", "abcd", "abcde", "xabcd",
    "[MASK]", "[MASK] [MASK]", "x[MASK]y",
    "tab\there", "<t>\t<t>", " lead", "x lead", "xlead lead", "foo<l>foo <r> foo<b>foo", "FOO<L>",
    "<l><r><b><w>", "e\u0301", "é",
]


def random_texts(seed, count):
    """Random mixtures of scripts, marks, spaces and specials: the corners nobody thinks of."""
    r = random.Random(seed)
    marks = [0x300, 0x301, 0x302, 0x307, 0x308, 0x323, 0x327, 0x328, 0x334, 0x338, 0x345, 0x35C,
             0x591, 0x5B0, 0x64B,
             0x670, 0x93C, 0x94D, 0xE48, 0xF71, 0xF72, 0xF74, 0x302A, 0x302E, 0x3099, 0x1D165,
             0x1D16E, 0x1E8D0, 0x10A0D]
    ranges = [(0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF),
              (0x5D0, 0x5EA), (0x620, 0x6FF),
              (0x900, 0x97F), (0xE00, 0xE7F), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x3040, 0x30FF),
              (0x4E00, 0x4E80),
              (0xAC00, 0xAD00), (0xF900, 0xFAFF), (0x1F600, 0x1F64F), (0x1D15E, 0x1D164),
              (0x0, 0x1F), (0x80, 0x9F)]
    out = []
    for _ in range(count):
        parts = []
        for _ in range(r.randint(1, 6)):
            low, high = r.choice(ranges)
            parts += [chr(r.randint(low, high)) for _ in range(r.randint(1, 5))]
            parts += [chr(r.choice(marks)) for _ in range(r.choice((0, 0, 0, 1, 2, 4)))]
            parts += r.choice(["", " ", " ", "  ", "\u3000", "[MASK]"])
        out.append("".join(parts))
    return out


def damaged(lines, seed, count):
    """Real lines with characters cut out, doubled, swapped and replaced by any code point."""
    r, out = random.Random(seed), []
    for _ in range(count):
        s = list(r.choice(lines)[:200])
        for _ in range(r.randint(1, 12)):
            i = r.randint(0, len(s))
            c = r.choice([chr(r.randint(0, 0xD7FF)), chr(r.randint(0xE000, 0x10FFFF)),
                          chr(r.randint(0x300, 0x36F)),
                          chr(r.randint(0, 0x3FF)), " ", "[MASK]", "[SEP]"])
            s[i:i + r.randint(0, 2)] = r.choice([[c], [c, c], [c] + s[i:i + 1]])
        out.append("".join(s))
    return out


# ---- the small tokenizers ----
def wordpiece(normalizer, texts, size=420, **model):
    t = Tokenizer(models.WordPiece({}, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizer, P.BertPreTokenizer()
    t.train_from_iterator(texts, trainers.WordPieceTrainer(
        vocab_size=size, limit_alphabet=260, show_progress=False,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return json.loads(t.to_str())


def with_added(d):
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    rows = [("foo", "n"), ("<l>", "l"), ("<r>", "r"), ("<b>", "lr"), ("<w>", "w"),
            ("New York", "n"), ("New York City", "n"),
            ("ÀÉ", "n"), ("日本", ""), ("<s>", "s"), ("<sp> ", ""), ("aa", ""), ("aaaa", ""),
            ("ab", "n"), ("abcd", "nw"),
            ("<t>", "lrn"), (" lead", "s"), ("e\u0301", ""), ("the", "n"), ("<W>", "wlrn"),
            ("foo", "nw")]
    for content, on in rows:
        t = dict(id=1000, content=content)
        t.update({f: f[0] in on for f in flags})
        t["special"] = "s" in on
        t["single_word"] = "w" in on
        d["added_tokens"].append(t)
    d["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    return d


def with_templates(d):
    def special(name, kind):
        return {"SpecialToken": {"id": name, "type_id": kind}}

    def text(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}}
    d["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [special("[CLS]", 3), text("A", 1), special("<two>", 0), text("A", 2)],
        "pair": [special("<two>", 1), text("B", 5), special("[SEP]", 0), text("A", 0),
                 special("[SEP]", 4)],
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]},
            "<two>": {"id": "<two>", "ids": [4, 0], "tokens": ["[MASK]", "[PAD]"]}}}
    d["truncation"] = {"direction": "Left", "max_length": 12, "strategy": "OnlyFirst", "stride": 0}
    return d


def with_steps(d):
    """Other normalizers and pre-tokenizers, another prefix, short words, no type."""
    d["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Replace", "pattern": {"String": "ß"}, "content": "ss"}, {"type": "NFD"},
        {"type": "Lowercase"},
        {"type": "Replace", "pattern": {"String": "qu"}, "content": ""}, {"type": "StripAccents"}]}
    d["pre_tokenizer"] = {"type": "Sequence",
                          "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Whitespace"}]}
    d["model"]["max_input_chars_per_word"] = 8
    d["model"]["continuing_subword_prefix"] = "@"
    d["model"]["vocab"] = {(k.replace("##", "@", 1) if k.startswith("##") else k): v for k,
                           v in d["model"]["vocab"].items()}
    del d["model"]["type"]
    d["post_processor"] = None
    return d


def with_nothing(d):
    d["normalizer"] = d["pre_tokenizer"] = d["post_processor"] = None
    return d


def tokenizers(texts):
    bert = N.BertNormalizer
    return {
        "cased": wordpiece(bert(lowercase=False), texts),
        "strip": wordpiece(bert(lowercase=False, strip_accents=True), texts),
        "keep": wordpiece(bert(lowercase=True, strip_accents=False), texts),
        "raw": wordpiece(bert(clean_text=False, handle_chinese_chars=False), texts),
        "added": with_added(wordpiece(bert(), texts)),
        "templates": with_templates(wordpiece(bert(), texts)),
        "steps": with_steps(wordpiece(bert(), texts)),
        "nothing": with_nothing(wordpiece(bert(), texts)),
    }


# ---- cases ----
def byte_offsets(text, pairs):
    at = [0]
    for ch in text:
        at.append(at[-1] + len(ch.encode()))
    return [[at[s], at[e]] for s, e in pairs]


def case(name, t, a, b=None, **options):
    row = {"t": name, "a": a, **({} if b is None else {"b": b}), **options}
    if "max" in options:
        t.enable_truncation(options["max"], strategy=options.get("strategy", "longest_first"),
                            direction=options.get("side", "right"))
    else:
        t.no_truncation()
    try:
        e = t.encode(a, b, add_special_tokens=not options.get("plain", False))
    except Exception as error:
        return {**row, "error": str(error)}
    sequences = [0] * len(e.ids) if b is None else [s or 0 for s in e.sequence_ids]
    special = e.special_tokens_mask
    offsets = [(0, 0) if special[i] else byte_offsets(b if sequences[i] else a, [o])[0] for i,
               o in enumerate(e.offsets)]
    return {**row, "ids": e.ids, "off": [x for o in offsets for x in o], "type": e.type_ids,
            "mask": special,
            "word": [-1 if w is None else w for w in e.word_ids],
            "seq": [0 if m else s for m, s in zip(special, sequences)]}


def truncations(name, t):
    texts = [("the quick brown fox jumps over", None), ("", None),
             ("the quick brown fox", "jumps over the lazy dog today"),
             ("a", "the quick brown fox jumps over the lazy dog"),
             ("the quick brown fox jumps over the lazy dog", "a"),
             ("the fox", ""), ("", "the dog"), ("one two three", "four five six")]
    for a, b in texts:
        for limit in range(1, 21):
            for strategy in ("longest_first", "only_first", "only_second"):
                side = "left" if (limit + len(strategy)) % 2 else "right"
                plain = {"plain": True} if limit % 5 == 0 else {}
                yield case(name, t, a, b, max=limit, strategy=strategy, side=side, **plain)
                if strategy == "longest_first":
                    yield case(name, t, a, b, max=limit, strategy=strategy,
                               side="left" if side == "right" else "right", **plain)


def names(name, t, ids):
    return {"t": name, "from": ids[0], "names": [t.id_to_token(i) or "" for i in ids]}


def golden_cases(small, bert):
    every = SENTENCES + ODD + random_texts(1, 220) + ADDED_TEXTS
    yield from (case("bert", bert, text) for text in every)
    yield names("bert", bert, range(990, 1110))
    for i, (name, t) in enumerate(small.items()):
        texts = every[i % 2::2] if name != "added" else ADDED_TEXTS + every[::3]
        yield from (case(name, t, text) for text in texts)
        yield names(name, t, range(t.get_vocab_size()))
        mixed = list(zip(every[i::9], every[i + 4::9]))
        yield from (case(name, t, a, b, **({"plain": True} if k % 3 == 0 else {})) for k,
                    (a, b) in enumerate(mixed))
    yield from truncations("bert", bert)
    yield from truncations("templates", small["templates"])


def write(path, rows):
    with open(path, "w") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def goldens():
    small = {}
    for name, d in tokenizers(SENTENCES * 3).items():
        with open(f"{GOLDEN}{name}.json", "w") as f:
            json.dump(d, f, ensure_ascii=False, separators=(",", ":"))
        small[name] = Tokenizer.from_str(json.dumps(d))
    write(GOLDEN + "cases.jsonl", golden_cases(small, Tokenizer.from_file(BERT)))


def compare(source, out):
    with open(source, encoding="utf-8", errors="ignore") as f:
        lines = [line.rstrip("\n") for line in f]
    t = Tokenizer.from_file(BERT)
    texts = lines + damaged(lines, 2, 4000) + random_texts(3, 1000)
    pairs = zip(texts[::50], texts[1::50])
    write(out, [case("bert", t, x) for x in texts] + [case("bert", t, a, b, max=64) for a,
                                                      b in pairs])


if __name__ == "__main__":
    compare(*sys.argv[2:4]) if sys.argv[1:2] == ["compare"] else goldens()
