/* SPDX-License-Identifier: Apache-2.0
 * convert_styles.c - what the tokenizer classes of transformers put around their vocabularies. */
#include "convert.h"

#define BERT_PARTS                                                                                 \
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"                             \
    "\"handle_chinese_chars\":$chinese,\"strip_accents\":$strip,\"lowercase\":$lower},"            \
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"                                           \
    "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}"
#define BYTE_LEVEL(prefix)                                                                         \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":" prefix ",\"trim_offsets\":true,"               \
    "\"use_regex\":true}"
#define BYTE_PARTS                                                                                 \
    "\"normalizer\":null,\"pre_tokenizer\":" BYTE_LEVEL("$prefix") ",\"decoder\":" BYTE_LEVEL(     \
        "true")
#define METASPACE                                                                                  \
    "{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\",\"prepend_scheme\":\"$scheme\","     \
    "\"split\":true}"
#define SPLIT_META                                                                                 \
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"}"   \
    "," METASPACE "]},\"decoder\":" METASPACE
#define REPLACE(from, to)                                                                          \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" from "\"},\"content\":\"" to "\"}"

#define SPECIAL(name, type) "{\"SpecialToken\":{\"id\":" name ",\"type_id\":" #type "}}"
#define TEXT(name, type) "{\"Sequence\":{\"id\":\"" name "\",\"type_id\":" #type "}}"
#define NAMED(name, id) name ":{\"id\":" name ",\"ids\":[" id "],\"tokens\":[" name "]}"
#define TEMPLATE(single, pair, specials)                                                           \
    "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"pair\":[" pair                     \
    "],\"special_tokens\":{" specials "}}"
#define BERT_FRAME                                                                                 \
    TEMPLATE(SPECIAL("$cls", 0) "," TEXT("A", 0) "," SPECIAL("$sep", 0),                           \
             SPECIAL("$cls", 0) "," TEXT("A", 0) "," SPECIAL("$sep", 0) "," TEXT(                  \
                 "B", 1) "," SPECIAL("$sep", 1),                                                   \
             NAMED("$cls", "#cls") "," NAMED("$sep", "#sep"))
#define BOS_EOS_FRAME                                                                              \
    TEMPLATE(SPECIAL("$bos", 0) "," TEXT("A", 0) "," SPECIAL("$eos", 0),                           \
             SPECIAL("$bos", 0) "," TEXT("A", 0) "," SPECIAL("$eos", 0) "," SPECIAL(               \
                 "$eos", 0) "," TEXT("B", 0) "," SPECIAL("$eos", 0),                               \
             NAMED("$bos", "#bos") "," NAMED("$eos", "#eos"))
#define ROBERTA_FRAME(sep, sep_id, cls, cls_id, trim, prefix)                                      \
    "{\"type\":\"RobertaProcessing\",\"sep\":[" sep "," sep_id "],\"cls\":[" cls "," cls_id        \
    "],\"trim_offsets\":" trim ",\"add_prefix_space\":" prefix "}"

static const Style
    styles[] = {
        { .classes = " BertTokenizer DistilBertTokenizer ElectraTokenizer LayoutLMTokenizer "
                     "MobileBertTokenizer ConvBertTokenizer SqueezeBertTokenizer ",
          .file = "vocab.txt",
          .kind = FROM_WORDS,
          .tokens = { NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]" },
          .parts = BERT_PARTS,
          .processor = BERT_FRAME },
        { .classes = " MPNetTokenizer ",
          .kind = FROM_WORDS,
          .tokens = { "<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>" },
          .parts = BERT_PARTS,
          .processor = ROBERTA_FRAME("$sep", "#sep", "$cls", "#cls", "true", "false"),
          .eager_mask = true },
        { .classes = " RobertaTokenizer LongformerTokenizer ",
          .file = "<s>",
          .kind = FROM_MERGES,
          .tokens = { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" },
          .parts = BYTE_PARTS,
          .processor = ROBERTA_FRAME("$sep", "#sep", "$cls", "#cls", "$trim", "$prefix") },
        { .classes = " CLIPTokenizer ",
          .file = "<|startoftext|>",
          .kind = FROM_MERGES,
          .tokens = { "<|startoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, "<|endoftext|>",
                      NULL, NULL },
          .parts = "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},"
                   "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" \"},"
                   "{\"type\":\"Lowercase\"}]},\"pre_tokenizer\":{\"type\":\"Sequence\","
                   "\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
                   "\"<\\\\|startoftext\\\\|>|<\\\\|endoftext\\\\|>|'s|'t|'re|'ve|'m|'ll|'d|"
                   "[\\\\p{L}]+|[\\\\p{N}]|[^\\\\s\\\\p{L}\\\\p{N}]+\"},\"behavior\":\"Removed\","
                   "\"invert\":true}," BYTE_LEVEL("false") "]},\"decoder\":" BYTE_LEVEL("true"),
          .processor = ROBERTA_FRAME("$eos", "#eos", "$bos", "#bos", "false", "false") },
        { .classes = " GPT2Tokenizer ",
          .file = "vocab.json",
          .kind = FROM_MERGES,
          .tokens = { "<|endoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, NULL, NULL, NULL },
          .parts = BYTE_PARTS,
          .processor = TEMPLATE(TEXT("A", 0), TEXT("A", 0) "," TEXT("B", 1), "") },
        { .classes = " XLMRobertaTokenizer ",
          .file = "sentencepiece.bpe.model",
          .kind = FROM_SENTENCEPIECE,
          .tokens = { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" },
          .parts = "\"normalizer\":$charsmap," SPLIT_META,
          .processor = BOS_EOS_FRAME },
        { .classes = " CamembertTokenizer ",
          .kind = FROM_SENTENCEPIECE,
          .tokens = { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" },
          .parts = "\"normalizer\":$charsmap," SPLIT_META,
          .processor = BOS_EOS_FRAME,
          .eager_mask = true },
        { .classes = " AlbertTokenizer ",
          .file = "spiece.model",
          .kind = FROM_SENTENCEPIECE,
          .tokens = { "[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]" },
          .parts = "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" REPLACE(
              "``", "\\\"") "," REPLACE("''",
                                        "\\\"") "$accents$lowercase$also_charsmap]}," SPLIT_META,
          .processor = BERT_FRAME },
        { .classes = " DebertaV2Tokenizer ",
          .file = "spm.model",
          .kind = FROM_SENTENCEPIECE,
          .tokens = { "[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]" },
          .parts = "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[$first_lowercase"
                   "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s{2,}|[\\\\n\\\\r\\\\t]\"},"
                   "\"content\":\" \"},{\"type\":\"NFC\"},{\"type\":\"Strip\",\"strip_left\":false,"
                   "\"strip_right\":true}]},\"pre_tokenizer\":{\"type\":\"Sequence\","
                   "\"pretokenizers\":[$punctuation" METASPACE "]},\"decoder\":" METASPACE,
          .processor = BERT_FRAME },
        { .file = "", /* any other model */
          .kind = FROM_SENTENCEPIECE,
          .tokens = { NULL },
          .parts =
              "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[$charsmap_first" REPLACE(
                  " ", "\xe2\x96\x81") "]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":"
                                       "[" REPLACE("\xe2\x96\x81", " ") "$bytes]}",
          .processor = "null" },
    };

static bool has_class(const Style *style, Str name)
{
    char word[64];
    if (str_ends(name, "Fast")) name.n -= 4;
    if (!style->classes || !name.n || name.n + 3 > sizeof word) return false;
    word[0] = word[name.n + 1] = ' ', word[name.n + 2] = 0;
    memcpy(word + 1, name.p, name.n);
    return strstr(style->classes, word);
}

const Style *convert_class(Str tokenizer_class)
{
    for (size_t i = 0; i < COUNT(styles); i++)
        if (has_class(&styles[i], tokenizer_class)) return &styles[i];
    return NULL;
}

const Style *convert_style(Str tokenizer_class, Str file, ConvertKind kind)
{
    for (size_t i = 0; i < COUNT(styles); i++)
        if (styles[i].kind == kind && has_class(&styles[i], tokenizer_class)) return &styles[i];
    for (size_t i = 0; i < COUNT(styles); i++)
        if (styles[i].kind == kind && styles[i].file &&
            (!styles[i].file[0] || str_is(file, styles[i].file)))
            return &styles[i];
    return NULL;
}
