/* SPDX-License-Identifier: Apache-2.0
 * test_text_tokenizer.c - replays what the reference made of some thousand texts (cases.jsonl,
 * written by tools/oracle/tokenizer.py; another file of that form may be given), and the errors of
 * loading. */
#define GOLDEN "tests/golden/text/"
#include "text_replay.h"

/* ---- loading ---- */
/* In these texts ' stands for ". */
#define PARAMETERS                                                                                 \
    "'unk_token':'[UNK]','continuing_subword_prefix':'##','max_input_chars_per_word':9"
#define MODEL "'model':{'type':'WordPiece'," PARAMETERS ",'vocab':{'a':0,'[UNK]':1}}}"
#define TOKEN(content)                                                                             \
    "'added_tokens':[{'id':9,'content':'" content "','single_word':false,'lstrip':false,"          \
    "'rstrip':false,'normalized':true,'special':false}],"
#define BERT_POST "{'type':'BertProcessing','sep':['a',0],'cls':['a',0]}"
#define SINGLE(piece)                                                                              \
    "'post_processor':{'type':'TemplateProcessing','single':[" piece "],'pair':[],"                \
    "'special_tokens':{}},"

static Str quoted(Arena *arena, const char *json)
{
    char *copy = str_dup(arena, str_of(json));
    for (char *p = copy; *p; p++)
        if (*p == '\'') *p = '"';
    return str_of(copy);
}

static const struct {
    const char *json;
    ef_code code;
    const char *says;
} refused[] = {
    { "[]", EF_BAD_MODEL, "tokenizer.json: found a list, wanted an object" },
    { "{", EF_BAD_REQUEST, "tokenizer.json: line 1" },
    { "{}", EF_BAD_MODEL, "found no \"model\"" },
    { "{'version':'2.0'," MODEL, EF_UNSUPPORTED, "version" },
    { "{'pre_tokenizer':{'type':'Meta'}," MODEL, EF_UNSUPPORTED,
      "tokenizer.json: pre_tokenizer type \"Meta\" is not supported" },
    { "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Mnt'}]}," MODEL, EF_UNSUPPORTED,
      "tokenizer.json: normalizer type \"Mnt\" is not supported" },
    { "{'normalizer':{'type':'BertNormalizer','clean_text':1}," MODEL, EF_BAD_MODEL,
      "BertNormalizer: found a number as \"clean_text\", wanted" },
    { "{'normalizer':[]," MODEL, EF_BAD_MODEL, "normalizer: found a list" },
    { "{'post_processor':{'type':'Roberta'}," MODEL, EF_UNSUPPORTED,
      "post_processor type \"Roberta\" is not supported" },
    { "{'post_processor':{'type':'Sequence','processors':[" BERT_POST "," BERT_POST "]}," MODEL,
      EF_UNSUPPORTED, "found two that add special tokens" },
    { "{'decoder':{'type':'Morse'}," MODEL, EF_UNSUPPORTED,
      "decoder type \"Morse\" is not supported" },
    { "{'decoder':{'type':'Metaspace','replacement':'__'}," MODEL, EF_BAD_MODEL,
      "wanted a character" },
    { "{'padding':{'strategy':'Some'}," MODEL, EF_BAD_MODEL, "padding: found no \"strategy\"" },
    { "{'post_processor':{'type':'BertProcessing','sep':['x',7],'cls':['y',0]}," MODEL,
      EF_BAD_MODEL, "found token id 7, wanted one below 2" },
    { "{" SINGLE("{'SpecialToken':{'id':'x','type_id':0}}") MODEL, EF_BAD_MODEL,
      "special token \"x\"" },
    { "{" SINGLE("{'Sequence':{'id':'B','type_id':0}}") MODEL, EF_BAD_MODEL,
      "wants a second text" },
    { "{" SINGLE("{'Sequence':{'id':'C','type_id':0}}") MODEL, EF_BAD_MODEL, "wanted A or B" },
    { "{" SINGLE("{'Other':{}}") MODEL, EF_BAD_MODEL, "a piece of neither kind" },
    { "{'model':{'type':'Other'}}", EF_UNSUPPORTED, "model type \"Other\" is not supported" },
    { "{'model':{'type':'BPE'}}", EF_BAD_MODEL, "found no \"vocab\"" },
    { "{'model':{'type':'BPE','vocab':{}}}", EF_BAD_MODEL, "found no \"merges\"" },
    { "{'model':{'vocab':{'a':0},'merges':['a b']}}", EF_BAD_MODEL, "merges: \"a\" and \"b\"" },
    { "{'model':{'vocab':{'a':0,'aa':1},'merges':['a  a']}}", EF_BAD_MODEL, "no pair of tokens" },
    { "{'model':{'vocab':{},'merges':[],'dropout':0.5}}", EF_UNSUPPORTED, "\"dropout\"" },
    { "{'model':{'type':'Unigram','vocab':[['a',0.0]],'unk_id':1}}", EF_BAD_MODEL,
      "found unk_id 1, wanted one below 1" },
    { "{'model':{'type':'Unigram','vocab':[['a']],'unk_id':0}}", EF_BAD_MODEL, "item 0 is not" },
    { "{'model':{'vocab':{}}}", EF_BAD_MODEL, "no \"type\"" },
    { "{'model':{" PARAMETERS ",'vocab':{'a':-1}}}", EF_BAD_MODEL, "found id -1 for \"a\"" },
    { "{'model':{" PARAMETERS ",'vocab':{'a':4000000000}}}", EF_BAD_MODEL, "found id 4000000000" },
    { "{'model':{" PARAMETERS ",'vocab':{'a':'b'}}}", EF_BAD_MODEL, "found a string as the id" },
    { "{'truncation':{'max_length':5,'strategy':'Nearest'}," MODEL, EF_BAD_MODEL, "truncation" },
    { "{'truncation':{'max_length':5,'strategy':'OnlyFirst','stride':5000000000}," MODEL,
      EF_BAD_MODEL, "truncation: found 5000000000 as \"stride\", wanted 0 to 2147483647" },
    { "{'padding':{'strategy':'BatchLongest','direction':'Right','pad_id':4294967296,"
      "'pad_type_id':0,'pad_token':'x'}," MODEL, EF_BAD_MODEL,
      "padding: found 4294967296 as \"pad_id\", wanted 0" },
    { "{'added_tokens':[{'content':'x'}]," MODEL, EF_BAD_MODEL, "added_tokens: found no" },
    { "{'added_tokens':{}," MODEL, EF_BAD_MODEL, "added_tokens: found" },
    { "{" TOKEN("\\u0301") "'normalizer':{'type':'StripAccents'}," MODEL, EF_UNSUPPORTED,
      "empty once normalized" },
};

static void check_refused(void)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        Arena arena = { 0 };
        Tokenizer *t;
        Err err = { 0 };
        TEST(refused[i].says);
        CHECK(!tokenizer_load(&arena, quoted(&arena, refused[i].json), &t, &err));
        if (!CHECK(says(&err, refused[i].says) && err.code == refused[i].code))
            printf("  code %d\n", (int)err.code);
        arena_free(&arena);
    }
}

static void check_small(void)
{
    TEST("a small tokenizer");
    Arena arena = { 0 };
    Tokenizer *t;
    Err err;
    Encoding e;
    EncodeOptions options;
    Str json = quoted(&arena, "{" TOKEN("zz") MODEL);
    if (!CHECK(tokenizer_load(&arena, json, &t, &err))) return;
    CHECK(tokenizer_size(t) == 3 && tokenizer_id(t, STR("zz")) == 2 &&
          tokenizer_id(t, STR("b")) == -1);
    CHECK(str_is(tokenizer_token(t, 2), "zz") && tokenizer_token(t, 3).n == 0 &&
          tokenizer_token(t, -1).n == 0);
    CHECK(!strcmp(tokenizer_kind(t), "WordPiece") && !tokenizer_truncation(t, &options));
    CHECK(!tokenizer_encode(t, &arena, STR("a\xff"), NULL, NULL, &e, &err) && says(&err, "UTF-8"));
    Str text = STR("\xc3\xa9zz\xe4\xb8\xad");
    CHECK(tokenizer_encode(t, &arena, text, NULL, NULL, &e, &err) && e.n == 3 && !e.truncated);
    CHECK(e.start[1] == 2 && e.end[1] == 4 && e.start[2] == 4 && e.end[2] == 7);
    encoding_to_chars(&e, text, NULL);
    CHECK(e.start[1] == 1 && e.end[1] == 3 && e.start[2] == 3 && e.end[2] == 4);
    options = (EncodeOptions){ .max_length = 2 };
    CHECK(tokenizer_encode(t, &arena, text, NULL, &options, &e, &err) && e.n == 2 && e.truncated);
    arena_free(&arena);
}

static void check_file_truncation(void)
{
    TEST("truncation of the file");
    EncodeOptions options = { 0 };
    Tokenizer *t = tokenizer_named(STR("templates"));
    CHECK(t && tokenizer_truncation(t, &options));
    CHECK(options.max_length == 12 && options.strategy == TRUNCATE_ONLY_FIRST &&
          options.truncate_left);
}

int main(int argc, char **argv)
{
    TEST("reference");
    replay_lines(argc > 1 ? argv[1] : GOLDEN "cases.jsonl", replay);
    check_refused();
    check_small();
    check_file_truncation();
    arena_free(&keep);
    return finish();
}
