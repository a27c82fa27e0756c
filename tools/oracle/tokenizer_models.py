# SPDX-License-Identifier: Apache-2.0
"""tokenizer_models.py - what the reference makes of texts with BPE, Unigram and WordLevel models.

    python tools/oracle/tokenizer_models.py                      # from the root of the repository
    python tools/oracle/tokenizer_models.py large LINES FOLDER   # a large comparison, not committed

The first form writes tests/golden/text_models/: small tokenizers in many styles, trained here, and
cases.jsonl for tests/test_text_models (the form of a case: tests/text_replay.h). The second trains
larger ones on the lines of a file, writes them and their cases (all lines, 5,000 damaged or random
ones, pairs, words, windows) to FOLDER/<style>.json and FOLDER/<style>.jsonl.
"""
import json
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders as D, models as M
from tokenizers import normalizers as N, pre_tokenizers as P, processors as R, trainers as T

sys.path.insert(0, os.path.dirname(__file__))
from tokenizer import ADDED_TEXTS, ODD, SENTENCES, damaged, random_texts  # noqa: E402

GOLDEN = "tests/golden/text_models/"
QUIET = {"show_progress": False}


# ---- training ----
def specials(*names):
    return [AddedToken(n, special=True, normalized=False) for n in names]


def bpe(size, alphabet=(), names=(), model=None, **trainer):
    t = Tokenizer(M.BPE(**(model or {})))
    return t, T.BpeTrainer(vocab_size=size, special_tokens=specials(*names),
                           initial_alphabet=list(alphabet), limit_alphabet=400, **trainer, **QUIET)


def unigram(size, names=("<unk>",), **trainer):
    t = Tokenizer(M.Unigram())
    return t, T.UnigramTrainer(vocab_size=size, special_tokens=specials(*names),
                               unk_token="<unk>", **trainer, **QUIET)


def frame(t, left, right, middle=None):
    """left A right [middle B right]"""
    ids = [(n, t.token_to_id(n)) for n in dict.fromkeys([left, right])]
    between = f"{middle} " if middle else ""
    return R.TemplateProcessing(single=f"{left} $A {right}",
                                pair=f"{left} $A {right} {between}$B:1 {right}:1",
                                special_tokens=ids)


def trained(made, texts, normalizer=None, pre=None):
    t, trainer = made
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(texts, trainer)
    return t


# ---- styles: need nothing but white space ----
def plain_bpe(texts, size):
    t = trained(bpe(size, names=["<unk>"], model={"unk_token": "<unk>"}), texts, pre=P.Whitespace())
    t.decoder = D.BPEDecoder(suffix="")
    return t


def prefixed_bpe(texts, size):
    t = trained(bpe(size, names=["[U]"], model={"unk_token": "[U]", "fuse_unk": True,
                                                "continuing_subword_prefix": "##"},
                    continuing_subword_prefix="##"), texts, N.Lowercase(), P.BertPreTokenizer())
    t.decoder = D.WordPiece(prefix="##")
    return t


def suffixed_bpe(texts, size):
    t = trained(bpe(size, names=["<unk>"], model={"unk_token": "<unk>", "fuse_unk": True,
                                                  "end_of_word_suffix": "</w>"},
                    end_of_word_suffix="</w>"), texts, pre=P.WhitespaceSplit())
    t.decoder = D.BPEDecoder(suffix="</w>")
    return t


def silent_bpe(texts, size):
    """No unknown token: strangers vanish, and offsets move."""
    t = trained(bpe(size), texts[: len(texts) // 3], pre=P.WhitespaceSplit())
    t.decoder = D.Fuse()
    return t


def with_bytes(t):
    """Gives a model the 256 byte tokens, last ids, and byte_fallback."""
    d = json.loads(t.to_str())
    vocab = d["model"]["vocab"]
    for b in range(256):
        name = f"<0x{b:02X}>"
        if isinstance(vocab, list):
            vocab.append([name, -20.0 - b / 7])
        else:
            vocab[name] = max(vocab.values()) + 1
    d["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(d))


def bytes_bpe(texts, size):
    t = trained(bpe(size, names=["<unk>"], model={"unk_token": "<unk>", "fuse_unk": True}),
                texts[: len(texts) // 3], pre=P.Whitespace())
    t = with_bytes(t)
    d = json.loads(t.to_str())
    for b in (0xE0, 0xE1, 0xF0):  # some characters cannot fall back
        d["model"]["vocab"][f"<hole{b}>"] = d["model"]["vocab"].pop(f"<0x{b:02X}>")
    t = Tokenizer.from_str(json.dumps(d))
    t.decoder = D.Sequence([D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
    return t


def ignoring_bpe(texts, size):
    """ignore_merges with words that merging would never make; merges as strings."""
    t = trained(bpe(size, names=["<unk>"], model={"unk_token": "<unk>"}), texts, pre=P.Whitespace())
    d = json.loads(t.to_str())
    d["model"]["ignore_merges"] = True
    d["model"]["merges"] = ["#version: 0.2"] + [" ".join(m) for m in d["model"]["merges"]]
    d["model"]["merges"] = d["model"]["merges"][: len(d["model"]["merges"]) // 2]
    return Tokenizer.from_str(json.dumps(d))


def plain_unigram(texts, size):
    t = trained(unigram(size), texts, pre=P.Whitespace())
    t.decoder = D.WordPiece(prefix="zz", cleanup=True)
    return t


def bytes_unigram(texts, size):
    t = trained(unigram(size), texts[: len(texts) // 3], pre=P.WhitespaceSplit())
    t = with_bytes(t)
    t.decoder = D.Sequence([D.Replace("t", "T"), D.ByteFallback(), D.Fuse()])
    return t


def long_unigram(texts, size):
    """Pieces over white space, round scores: many ways of equal sums."""
    t = trained(unigram(size, max_piece_length=12), texts)
    d = json.loads(t.to_str())
    d["model"]["vocab"] = [[p, round(s, 1) - 0.1 * (i % 3)] for i, (p, s)
                           in enumerate(d["model"]["vocab"])]
    d["model"]["vocab"] += [["aa", -2.3], ["aaa", -3.3], ["xx", -1.1], ["xxx", -2.2]]
    return Tokenizer.from_str(json.dumps(d))


def word_level(texts, size):
    t = Tokenizer(M.WordLevel(unk_token="[UNK]"))
    t.pre_tokenizer = P.BertPreTokenizer()
    t.train_from_iterator(texts, T.WordLevelTrainer(
        vocab_size=size, special_tokens=["[UNK]", "[PAD]", "|"], **QUIET))
    t.decoder = D.CTC(pad_token="[PAD]", word_delimiter_token="|")
    t.post_processor = R.BertProcessing(("[PAD]", 1), ("[UNK]", 0))
    return t


def trimmed(texts, size):
    """Byte-level post-processing where nothing is byte-level: added tokens with spaces."""
    t = trained(bpe(size, names=["<s>", "</s>", "<unk>"], model={"unk_token": "<unk>"}), texts,
                pre=P.WhitespaceSplit())
    t.add_tokens([AddedToken("<l>", lstrip=True), AddedToken("<r>", rstrip=True),
                  AddedToken("<b>", lstrip=True, rstrip=True), AddedToken("  lead")])
    t.post_processor = R.Sequence([R.ByteLevel(trim_offsets=True, add_prefix_space=False),
                                   R.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True,
                                                       add_prefix_space=True)])
    t.decoder = D.ByteLevel()
    return t


# ---- styles of known models ----
def byte_level(texts, size, names, prefix, model=None, normalizer=None, **trainer):
    return trained(bpe(size, P.ByteLevel.alphabet(), names, model, **trainer), texts, normalizer,
                   P.ByteLevel(add_prefix_space=prefix))


def gpt2(texts, size):
    t = byte_level(texts, size, ["<|endoftext|>"], False)
    t.post_processor, t.decoder = R.ByteLevel(trim_offsets=False), D.ByteLevel()
    return t


def roberta(texts, size):
    t = byte_level(texts, size, ["<s>", "<pad>", "</s>", "<unk>"], False)
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = R.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True,
                                           add_prefix_space=False)
    t.decoder = D.ByteLevel()
    return t


def layoutlmv3(texts, size):
    t = byte_level(texts, size, ["<s>", "<pad>", "</s>", "<unk>"], True)
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = R.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True,
                                           add_prefix_space=True)
    t.decoder = D.ByteLevel()
    return t


def modernbert(texts, size):
    t = byte_level(texts, size, ["[UNK]", "[CLS]", "[SEP]", "[PAD]"], False, normalizer=N.NFC(),
                   model={"ignore_merges": False})
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in (2, 3, 4, 8)])
    t.post_processor, t.decoder = frame(t, "[CLS]", "[SEP]"), D.ByteLevel()
    return t


def clip(texts, size):
    t, trainer = bpe(size, P.ByteLevel.alphabet(), ["<|startoftext|>", "<|endoftext|>"],
                     {"unk_token": "<|endoftext|>", "end_of_word_suffix": "</w>",
                      "continuing_subword_prefix": ""}, end_of_word_suffix="</w>")
    t.normalizer = N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()])
    t.pre_tokenizer = P.Sequence([P.Split(Regex(
        r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        P.ByteLevel(add_prefix_space=False)])
    t.train_from_iterator(texts, trainer)
    t.post_processor = R.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0),
                                           trim_offsets=False, add_prefix_space=False)
    t.decoder = D.ByteLevel()
    return t


def llama3(texts, size):
    t, trainer = bpe(size, P.ByteLevel.alphabet(), ["<|begin_of_text|>"], {"ignore_merges": True})
    t.pre_tokenizer = P.Sequence([P.Split(Regex(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), "isolated"),
        P.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(texts, trainer)
    t.post_processor = R.Sequence([R.ByteLevel(trim_offsets=False), R.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
        special_tokens=[("<|begin_of_text|>", 0)])])
    t.decoder = D.ByteLevel()
    return t


def xlm_roberta(texts, size):
    t = trained(unigram(size, ["<s>", "<pad>", "</s>", "<unk>"]), texts,
                N.Sequence([N.NFKC(), N.Replace(Regex(" {2,}"), " ")]),
                P.Sequence([P.WhitespaceSplit(), P.Metaspace(prepend_scheme="always")]))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor, t.decoder = frame(t, "<s>", "</s>", "</s>"), D.Metaspace()
    return t


def camembert(texts, size):
    t = trained(unigram(size, ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<s>", "</s>"]),
                texts, N.NFKC(), P.Metaspace(prepend_scheme="always"))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor, t.decoder = frame(t, "<s>", "</s>", "</s>"), D.Metaspace()
    return t


def albert(texts, size):
    t = trained(unigram(size, ["<pad>", "<unk>", "[CLS]", "[SEP]"]), texts, N.Sequence([
        N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase()]),
        P.Metaspace())
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    t.post_processor, t.decoder = frame(t, "[CLS]", "[SEP]"), D.Metaspace()
    return t


def deberta3(texts, size):
    t = trained(unigram(size, ["[PAD]", "[CLS]", "[SEP]", "<unk>"]), texts,
                N.Sequence([N.Strip(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]),
                P.Sequence([P.Metaspace(prepend_scheme="always")]))
    t.add_special_tokens(["[MASK]"])
    t.post_processor, t.decoder = frame(t, "[CLS]", "[SEP]"), D.Metaspace()
    return t


def llama2(texts, size):
    t = trained(bpe(size, names=["<unk>", "<s>", "</s>"],
                    model={"unk_token": "<unk>", "fuse_unk": True}), texts[: len(texts) // 2],
                N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), P.Split("▁", "merged_with_next"))
    t = with_bytes(t)
    t.pre_tokenizer = None
    t.normalizer = N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])
    t.post_processor = R.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                            special_tokens=[("<s>", 1)])
    t.decoder = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
    return t


def split_bytes(texts, size, pattern, normalizer=None):
    """Byte-level words by a pattern of their own: cl100k, Qwen and their relatives."""
    t, trainer = bpe(size, P.ByteLevel.alphabet(), ["<|endoftext|>"])
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = P.Sequence([P.Split(Regex(pattern), "isolated"),
                                  P.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(texts, trainer)
    t.post_processor, t.decoder = R.ByteLevel(trim_offsets=False), D.ByteLevel()
    return t


def qwen(texts, size):
    return split_bytes(texts, size, r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
                       r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+", N.NFC())


def cl100k(texts, size):
    return split_bytes(texts, size, r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}|"
                       r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")


def o200k(texts, size):
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    ending = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    return split_bytes(texts, size, rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{ending}|"
                       rf"[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{ending}|\p{{N}}{{1,3}}|"
                       r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


# ---- the BERT family ----
def wordpiece(texts, size, normalizer, pre, names=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
              **frames):
    t = Tokenizer(M.WordPiece({}, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizer, pre
    t.train_from_iterator(texts, T.WordPieceTrainer(
        vocab_size=size, limit_alphabet=size // 2, special_tokens=specials(*names), **QUIET))
    t.post_processor = frame(t, **frames) if frames else frame(t, "[CLS]", "[SEP]")
    t.decoder = D.WordPiece(prefix="##")
    return t


def bert_uncased(texts, size):
    return wordpiece(texts, size, N.BertNormalizer(), P.BertPreTokenizer())


def bert_cased(texts, size):
    return wordpiece(texts, size, N.BertNormalizer(lowercase=False, strip_accents=False),
                     P.BertPreTokenizer())


def cjk_first(texts):
    return sorted(texts, key=lambda x: not any("\u3040" <= c < "\ua000" for c in x))


def bert_chinese(texts, size):
    return wordpiece(cjk_first(texts)[: len(texts) // 2], size, N.BertNormalizer(),
                     P.BertPreTokenizer())


def bert_japanese(texts, size):
    """Cut by script where the original asks a dictionary; no spaces around ideographs."""
    return wordpiece(cjk_first(texts)[: len(texts) // 2], size, N.Sequence([
        N.NFKC(), N.BertNormalizer(handle_chinese_chars=False, lowercase=False)]),
        P.Sequence([P.BertPreTokenizer(), P.UnicodeScripts()]))


def electra(texts, size):
    t = wordpiece(texts, size, N.BertNormalizer(strip_accents=True), P.BertPreTokenizer())
    t.add_special_tokens([AddedToken("[unused0]", special=True)])
    return t


def mpnet(texts, size):
    t = wordpiece(texts, size, N.BertNormalizer(), P.BertPreTokenizer(),
                  ["<s>", "<pad>", "</s>", "[UNK]"], left="<s>", right="</s>", middle="</s>")
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    return t


# ---- a charsmap ----
RULES = [("\uff21", "A"), ("\ufb01", "fi"), ("\u2126", "\u03a9"), ("\u3000", " "), ("\u00bd", "1/2"),
         ("e\u0301", "\u00e9"), ("\uff8a\uff9f", "\u30d1"), ("\t", " "), ("\n", " "), ("\u0301", ""),
         ("\u200b", "")]


def charsmap(**rules):
    """What SentencePiece makes of normalization rules: a trie with replacements."""
    import io
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as pb
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(SENTENCES), model_writer=out,
                                             vocab_size=600, hard_vocab_limit=False, minloglevel=2,
                                             **rules)
    return pb.ModelProto.FromString(out.getvalue()).normalizer_spec.precompiled_charsmap


def small_charsmap():
    import tempfile
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as f:
        for old, new in RULES:
            f.write("\t".join(" ".join(f"{ord(c):X}" for c in x) for x in (old, new)) + "\n")
        f.flush()
        return charsmap(normalization_rule_tsv=f.name)


def mapped_unigram(texts, size):
    t = trained(unigram(size, ["<pad>", "</s>", "<unk>"]), texts, N.Sequence([
        N.Precompiled(small_charsmap()), N.Replace(Regex(" {2,}"), " ")]),
        P.Metaspace(prepend_scheme="first"))
    t.post_processor = R.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                            special_tokens=[("</s>", 1)])
    t.decoder = D.Metaspace()
    return t


STYLES = [plain_bpe, prefixed_bpe, suffixed_bpe, silent_bpe, bytes_bpe, ignoring_bpe, plain_unigram,
          bytes_unigram, long_unigram, word_level, trimmed, gpt2, roberta, layoutlmv3, modernbert,
          clip, llama3, xlm_roberta, camembert, albert, deberta3, llama2]
MANY = len(STYLES)  # those with many cases in the goldens; the others differ little from them
STYLES += [bert_uncased, bert_cased, bert_chinese, bert_japanese, electra, mpnet, qwen, cl100k,
           o200k, mapped_unigram]


# ---- cases ----
def flat(e):
    return {"ids": e.ids, "off": [x for o in e.offsets for x in o], "type": e.type_ids,
            "mask": e.special_tokens_mask, "tok": e.tokens,
            "word": [-1 if w is None else w for w in e.word_ids]}


def case(name, t, a, b=None, **options):
    words = isinstance(a, list)
    keys = ("aw", "bw") if words else ("a", "b")
    row = {"t": name, keys[0]: a, **({} if b is None else {keys[1]: b}), "chars": True, **options}
    pad = options.get("pad")
    try:
        t.no_truncation()
        if "max" in options:
            t.enable_truncation(options["max"], stride=options.get("stride", 0),
                                strategy=options.get("strategy", "longest_first"),
                                direction=options.get("side", "right"))
        t.no_padding()
        if pad:
            t.enable_padding(length=pad.get("length"), pad_to_multiple_of=pad.get("multiple"),
                             direction="left" if pad.get("left") else "right", pad_id=pad["id"],
                             pad_type_id=pad["type"], pad_token=pad["token"])
        e = t.encode(a, b, is_pretokenized=words, add_special_tokens=not options.get("plain"))
    except BaseException as error:  # a panic of the reference is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return {**row, "error": str(error)}
    row |= flat(e)
    if pad:
        row["att"] = e.attention_mask
    if "max" in options:
        row["over"] = [flat(o) for o in e.overflowing]
    return row


def decoded(name, t, ids, skip):
    return {"t": name, "d": ids, **({"skip": True} if skip else {}),
            "text": t.decode(ids, skip_special_tokens=skip)}


def windows(name, t, texts, r):
    a, b = r.choice(texts), r.choice(texts)
    o = {"max": r.randint(1, 24), "strategy": r.choice(["longest_first", "only_first",
                                                        "only_second"]),
         "side": r.choice(["left", "right"])}
    if r.random() < 0.6:
        o["stride"] = r.randint(0, max(0, o["max"] - 3))
    if r.random() < 0.2:
        o["plain"] = True
    if r.random() < 0.3:
        o["pad"] = {"id": 0, "type": r.randint(0, 1), "token": "[P]", "left": r.random() < 0.5,
                    **({"length": r.randint(1, 40)} if r.random() < 0.5 else {}),
                    **({"multiple": r.randint(1, 9)} if r.random() < 0.5 else {})}
    if r.random() < 0.3:
        a, b = a.split(), b.split()
    return case(name, t, a, b if r.random() < 0.6 else None, **o)


def cases(name, t, texts, seed, more):
    r = random.Random(seed)
    size = t.get_vocab_size()
    short = [x for x in texts if 0 < len(x) < 300]
    yield from (case(name, t, x) for x in texts)
    yield from (case(name, t, r.choice(texts), r.choice(texts), plain=r.random() < 0.3)
                for _ in range(more))
    yield from (windows(name, t, short, r) for _ in range(more))
    yield from (case(name, t, [w for w in r.choice(short).split(" ")]) for _ in range(more // 2))
    for _ in range(more):
        ids = t.encode(r.choice(short)).ids
        yield decoded(name, t, ids, r.random() < 0.5)
        if ids:
            yield decoded(name, t, [r.randrange(size) for _ in range(r.randint(1, 20))],
                          r.random() < 0.5)


def write(path, rows):
    with open(path, "w") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def save(path, t):
    with open(path, "w") as f:
        json.dump(json.loads(t.to_str()), f, ensure_ascii=False, separators=(",", ":"))
    return Tokenizer.from_file(path)


def chosen(only):
    return [s for s in STYLES if not only or s.__name__ in only]


# ---- folders without tokenizer.json, as transformers loads them ----
def split_files(style, folder):
    """vocab.json and merges.txt of a style above."""
    d = json.loads(style(SENTENCES * 2, 900).to_str())["model"]
    with open(f"{folder}/vocab.json", "w") as f:
        json.dump(d["vocab"], f, ensure_ascii=False, separators=(",", ":"))
    with open(f"{folder}/merges.txt", "w") as f:
        f.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in d["merges"]))


def words_file(folder):
    t = Tokenizer(M.WordPiece({}, unk_token="[UNK]"))
    t.pre_tokenizer = P.BertPreTokenizer()
    t.train_from_iterator(SENTENCES, T.WordPieceTrainer(
        vocab_size=500, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], **QUIET))
    with open(f"{folder}/vocab.txt", "w") as f:
        f.write("".join(k + "\n" for k, _ in sorted(t.get_vocab().items(), key=lambda x: x[1])))


def spm_file(path, **options):
    import sentencepiece
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 3), model_writer=open(path, "wb"), vocab_size=900,
        character_coverage=0.98, normalization_rule_name="identity", minloglevel=2,
        hard_vocab_limit=False, **options)


CONTROLS = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP]",
            "user_defined_symbols": "[MASK]"}
FOLDERS = {  # name: class, how to make it, tokenizer_config.json
    "c_bert": ("BertTokenizer", words_file, {}),
    "c_cased": ("BertTokenizer", words_file, {"do_lower_case": False, "strip_accents": False,
                                              "sep_token": "[MASK]"}),
    "c_mpnet": ("MPNetTokenizer", words_file, {}),
    "c_roberta": ("RobertaTokenizer", lambda d: split_files(roberta, d), {
        "add_prefix_space": True, "mask_token": {
            "__type": "AddedToken", "content": "<mask>", "lstrip": True, "rstrip": False,
            "normalized": True, "single_word": False}}),
    "c_gpt2": ("GPT2Tokenizer", lambda d: split_files(gpt2, d), {}),
    "c_clip": ("CLIPTokenizer", lambda d: split_files(clip, d), {}),
    "c_xlmr": ("XLMRobertaTokenizer", lambda d: spm_file(f"{d}/sentencepiece.bpe.model"), {}),
    "c_camembert": ("CamembertTokenizer", lambda d: spm_file(f"{d}/sentencepiece.bpe.model"), {}),
    "c_albert": ("AlbertTokenizer", lambda d: spm_file(f"{d}/spiece.model", **CONTROLS), {}),
    "c_deberta": ("DebertaV2Tokenizer", lambda d: spm_file(f"{d}/spm.model", **CONTROLS), {
        "do_lower_case": True, "split_by_punct": True}),
    "c_spm": ("TokenizersBackend", lambda d: spm_file(f"{d}/tokenizer.model", model_type="bpe",
                                                      byte_fallback=True), {}),
}


def converted(texts):
    import transformers
    for name, (kind, make, config) in FOLDERS.items():
        folder = GOLDEN + name
        os.makedirs(folder, exist_ok=True)
        make(folder)
        with open(f"{folder}/tokenizer_config.json", "w") as f:
            json.dump({"tokenizer_class": kind, **config}, f)
        t = getattr(transformers, kind).from_pretrained(folder)._tokenizer
        yield from (case(name, t, x) for x in texts)
        yield from (case(name, t, a, b) for a, b in zip(texts[:5], texts[5:]))


def goldens():
    os.makedirs(GOLDEN, exist_ok=True)
    every = SENTENCES + ODD[:60] + random_texts(11, 60) + ADDED_TEXTS[:40]
    every = [x for x in every if len(x) < 400]
    rows = []
    for i, style in enumerate(STYLES):
        path = f"{GOLDEN}{style.__name__}.json"  # training never gives the same twice: kept
        t = Tokenizer.from_file(path) if os.path.exists(path) else save(
            path, style(SENTENCES * 2, 900))
        rows += cases(style.__name__, t, every[i % 9::9 if i < MANY else 27], i,
                      8 if i < MANY else 2)
    rows += converted(every[::9] + ["<mask> a <s> b</s> [MASK] [CLS]x", "a <mask>", "we'll\n x"])
    write(GOLDEN + "cases.jsonl", rows)


def large(source, folder, *only):
    with open(source, encoding="utf-8", newline="\n") as f:
        lines = [line.rstrip("\n") for line in f]
    texts = lines + damaged(lines, 2, 4000) + random_texts(3, 1000)
    for i, style in enumerate(chosen(only)):
        path = f"{folder}/{style.__name__}.json"
        t = save(path, style([x for x in lines if len(x) < 1000], 12000))
        write(f"{folder}/{style.__name__}.jsonl", cases(path, t, texts, i, 1000))


if __name__ == "__main__":
    large(*sys.argv[2:]) if sys.argv[1:2] == ["large"] else goldens()
