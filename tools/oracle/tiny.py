# SPDX-License-Identifier: Apache-2.0
"""tiny.py - tokenizers trained on a few sentences in many scripts, and models of random weights: for the oracles of question
answering, strides, multiple choice and boxes. Weights are the same in every run; the trainers of tokenizers break ties as they like, so
that folders written again may have other vocabularies."""
import json
import os
import random
import shutil

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders as D, models as M, normalizers as N, pre_tokenizers as P, processors as R
from tokenizers import trainers as T

SCRIPTS = {
    "latin": ["Ada Lovelace was born in London in 1815 and wrote about machines.",
              "The river Thames flows through the city, and the City grew along the river.",
              "Engines, he said, don't think; they repeat what we have taught them!",
              "Zürich, Genève and São Paulo are cities: café, naïve, straße, İstanbul.",
              "In 1969 two people walked on the moon, 384,400 km away (about 1.3 light-seconds).",
              "THE END of the first part was not the end of the second."],
    "cyrillic": ["Анна живёт в Москве и работает в большой библиотеке.", "Река Волга впадает в Каспийское море, а не в Чёрное.",
                 "МОСКВА — столица России; москва упоминается в 1147 году."],
    "greek": ["Η ΟΔΟΣ και η οδος είναι η ίδια λέξη: ΣΟΦΟΣ, σοφος, Σοφός.", "Ο Αριστοτέλης γεννήθηκε στα Στάγειρα."],
    "arabic": ["وُلِدَ ابن سينا في بخارى وعاش في أصفهان.", "تقع القاهرة على ضفاف نهر النيل في مصر."],
    "hindi": ["दिल्ली भारत की राजधानी है और यमुना के किनारे बसी है।", "गंगा नदी हिमालय से निकलती है।"],
    "chinese": ["北京是中国的首都，长城在北京的北边。", "李白是唐代的诗人，他写了很多诗。"],
    "japanese": ["東京は日本の首都で、富士山は静岡県と山梨県にあります。", "カタカナとひらがなと漢字を使います。"],
    "thai": ["กรุงเทพเป็นเมืองหลวงของประเทศไทย", "แม่น้ำเจ้าพระยาไหลผ่านกรุงเทพ"],
    "emoji": ["The 🚌 leaves at 5:30 🙂, the 🚂 at 6; 👩‍🔬 and 👨‍👩‍👧 wait.", "🎉🎉 party 🎈 in 東京 with Анна and محمد!"],
}


def texts():
    return [s for group in SCRIPTS.values() for s in group]


def mixed(names, sentences, seed):
    """A text of so many sentences of these scripts."""
    pick = random.Random(seed)
    return " ".join(pick.choice(SCRIPTS[pick.choice(names)]) for _ in range(sentences))


# ---- tokenizers ----
def template(t, single, pair, names):
    return R.TemplateProcessing(single=single, pair=pair, special_tokens=[(n, t.token_to_id(n)) for n in names])


def wordpiece(names, lower, size=330):
    t = Tokenizer(M.WordPiece(unk_token=names["unk"]))
    t.normalizer = N.BertNormalizer(lowercase=lower)
    t.pre_tokenizer = P.BertPreTokenizer()
    t.decoder = D.WordPiece()
    t.train_from_iterator(texts(), T.WordPieceTrainer(vocab_size=size, special_tokens=list(names.values()),
                                                      limit_alphabet=120, show_progress=False))
    return t


BERT = dict(pad="[PAD]", unk="[UNK]", cls="[CLS]", sep="[SEP]", mask="[MASK]")
ANGLE = dict(cls="<s>", pad="<pad>", sep="</s>", unk="<unk>", mask="<mask>")


def bert_tokenizer(lower=True):
    t = wordpiece(BERT, lower)
    t.post_processor = template(t, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", ["[CLS]", "[SEP]"])
    return t


def mpnet_tokenizer():
    t = wordpiece(dict(ANGLE, unk="[UNK]"), True)
    t.post_processor = template(t, "<s>:0 $A:0 </s>:0", "<s>:0 $A:0 </s>:0 </s>:0 $B:1 </s>:1", ["<s>", "</s>"])
    return t


def bytes_tokenizer(prefix=False):
    t = Tokenizer(M.BPE())
    t.pre_tokenizer = P.ByteLevel(add_prefix_space=prefix)
    t.decoder = D.ByteLevel()
    t.train_from_iterator(texts(), T.BpeTrainer(vocab_size=380, special_tokens=list(ANGLE.values()), show_progress=False,
                                                initial_alphabet=sorted(P.ByteLevel.alphabet())))
    t.post_processor = R.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")), True, prefix)
    return t


def unigram(names, size=300):
    t = Tokenizer(M.Unigram())
    t.normalizer = N.Sequence([N.NFKC(), N.Replace(" {2,}", " ")])
    t.pre_tokenizer = P.Metaspace()
    t.decoder = D.Metaspace()
    t.train_from_iterator(texts(), T.UnigramTrainer(vocab_size=size, special_tokens=list(names.values()),
                                                    unk_token=names["unk"], show_progress=False))
    return t


def xlmr_tokenizer():
    t = unigram(ANGLE)
    t.post_processor = template(t, "<s> $A </s>", "<s> $A </s> </s> $B </s>", ["<s>", "</s>"])
    return t


def deberta_tokenizer():
    t = unigram(BERT)
    t.post_processor = template(t, "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", ["[CLS]", "[SEP]"])
    return t


def fast(kind, tokenizer, names, limit, **more):
    """One of transformers' classes around a tokenizer; `names` gives it the special tokens."""
    words = {key + "_token": name for key, name in names.items()}
    return kind(tokenizer_object=tokenizer, model_max_length=limit, **words, **more)


# ---- models ----
def randomize(model, seed, head, scale):
    """Weights large enough that tokens differ, and a last layer so large that their scores do."""
    pick = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            p.add_(torch.randn(p.shape, generator=pick) * (scale if head in name else 0.25))
    return model.eval()


def save(folder, model, tokenizer):
    """Only what is needed to open it again; the tokenizer on one line."""
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    path = os.path.join(folder, "tokenizer.json")
    with open(path) as f:
        tree = json.load(f)
    with open(path, "w") as f:
        json.dump(tree, f, ensure_ascii=False, separators=(",", ":"))
    for name in ("vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model", "spm.model"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    os.chmod(os.path.join(folder, "model.safetensors"), 0o644)


def load(folder, kind):
    return kind.from_pretrained(folder, torch_dtype=torch.float32).eval(), tf.AutoTokenizer.from_pretrained(folder)


def pair_of(out, head, limit, seed, scale, **more):
    """(name, model, tokenizer): a BERT (WordPiece, type ids) and a RoBERTa (byte-level BPE, none) with this head and limit of
    tokens, written to folders of `out` and read again; the tokenizers are those of question_answering.py."""
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, **more)
    configs = [("bert", "Bert", tf.BertConfig(max_position_embeddings=limit, **sizes)),
               ("roberta", "Roberta", tf.RobertaConfig(max_position_embeddings=limit + 2, type_vocab_size=1, pad_token_id=1, **sizes))]
    for i, (name, family, config) in enumerate(configs):
        kind = getattr(tf, f"{family}For{head}")
        tokenizer = tf.AutoTokenizer.from_pretrained("tests/golden/question_answering/" + name)
        tokenizer.model_max_length = limit
        config.vocab_size = len(tokenizer)
        folder = os.path.join(out, name)
        torch.manual_seed(i)
        save(folder, randomize(kind(config), seed + i, "classifier", scale), tokenizer)
        yield name, *load(folder, kind)


def write_lines(path, rows):
    with open(path, "w") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
