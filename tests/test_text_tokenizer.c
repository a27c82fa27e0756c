/* SPDX-License-Identifier: Apache-2.0
 * test_text_tokenizer.c - replays what the reference made of some thousand texts (cases.jsonl,
 * written by tools/oracle/tokenizer.py; another file of that form may be given), and the errors of
 * loading. */
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "text/text.h"

#define GOLDEN "tests/golden/text/"
#define BERT "../shared/fixtures/dummy/embedding/tokenizer.json"

/* ---- files ---- */
enum { FILE_LIMIT = 1 << 28 };
static Arena keep; /* files and tokenizers */

static struct {
    const char *name;
    Tokenizer *tokenizer;
    bool tried;
} loaded[] = { { "bert" },  { "cased" },     { "strip" }, { "keep" },   { "raw" },
               { "added" }, { "templates" }, { "steps" }, { "nothing" } };

static Tokenizer *tokenizer_named(Str name)
{
    for (size_t i = 0; i < COUNT(loaded); i++) {
        if (!str_is(name, loaded[i].name)) continue;
        Err err;
        Str json;
        bool bert = str_is(name, "bert");
        const char *path = bert ? BERT : str_format(&keep, GOLDEN "%s.json", loaded[i].name);
        if (!loaded[i].tried && file_read(&keep, path, FILE_LIMIT, &json, &err) &&
            !CHECK(tokenizer_load(&keep, json, &loaded[i].tokenizer, &err)))
            printf("  %s\n", err.message);
        if (!loaded[i].tried && !loaded[i].tokenizer && bert) SKIP("no shared fixtures");
        loaded[i].tried = true;
        return loaded[i].tokenizer;
    }
    return NULL;
}

/* ---- one case ---- */
static bool same(const char *what, const Value *want, const Value *row, const int32_t *have,
                 size_t n)
{
    bool ok = want && want->kind == V_LIST && want->list.n == n;
    for (size_t i = 0; ok && i < n; i++) ok = value_int(&want->list.items[i], INT64_MIN) == have[i];
    if (ok) return true;
    Buf text = { 0 };
    json_write(&text, row);
    printf("  %s differ: %.*s\n  have:", what, (int)MIN(text.n, (size_t)2000), text.p);
    for (size_t i = 0; i < n && i < 100; i++) printf(" %d", (int)have[i]);
    printf("\n");
    buf_free(&text);
    return false;
}

static EncodeOptions options_of(const Value *row)
{
    Str strategy = value_str(value_get(row, "strategy"), STR("longest_first"));
    return (EncodeOptions){
        .max_length = (int)value_int(value_get(row, "max"), 0),
        .strategy = str_is(strategy, "only_first")    ? TRUNCATE_ONLY_FIRST
                    : str_is(strategy, "only_second") ? TRUNCATE_ONLY_SECOND
                                                      : TRUNCATE_LONGEST_FIRST,
        .truncate_left = str_is(value_str(value_get(row, "side"), STR("")), "left"),
        .no_special = value_bool(value_get(row, "plain"), false),
    };
}

/* Offsets are pairs, masks are bytes in an Encoding: all become int32 to be compared. */
static bool same_encoding(Arena *arena, const Value *row, const Encoding *e)
{
    int32_t *off = ARRAY(arena, int32_t, 2 * e->n), *mask = ARRAY(arena, int32_t, e->n);
    int32_t *seq = ARRAY(arena, int32_t, e->n);
    for (size_t i = 0; i < e->n; i++) {
        off[2 * i] = e->start[i], off[2 * i + 1] = e->end[i];
        mask[i] = e->special[i], seq[i] = e->sequence[i];
    }
    return same("ids", value_get(row, "ids"), row, e->ids, e->n) &&
           same("offsets", value_get(row, "off"), row, off, 2 * e->n) &&
           same("types", value_get(row, "type"), row, e->type_ids, e->n) &&
           same("special", value_get(row, "mask"), row, mask, e->n) &&
           same("words", value_get(row, "word"), row, e->word, e->n) &&
           same("sequences", value_get(row, "seq"), row, seq, e->n);
}

static bool same_names(const Tokenizer *t, const Value *row)
{
    const Value *names = value_get(row, "names");
    int32_t from = (int32_t)value_int(value_get(row, "from"), 0);
    for (size_t i = 0; i < names->list.n; i++)
        if (!str_eq(tokenizer_token(t, from + (int32_t)i), names->list.items[i].s)) return false;
    return true;
}

static void replay(Arena *arena, const Value *row)
{
    Tokenizer *t = tokenizer_named(value_str(value_get(row, "t"), STR("")));
    if (!t) return;
    if (value_get(row, "names")) {
        CHECK(same_names(t, row));
        return;
    }
    Str first = value_str(value_get(row, "a"), STR("")),
        second = value_str(value_get(row, "b"), STR(""));
    EncodeOptions options = options_of(row);
    Encoding e;
    Err err;
    bool ok =
        tokenizer_encode(t, arena, first, value_get(row, "b") ? &second : NULL, &options, &e, &err);
    if (value_get(row, "error"))
        CHECK(!ok);
    else
        CHECK(ok && same_encoding(arena, row, &e));
}

static void replay_all(const char *path)
{
    Str file;
    if (!CHECK(file_read(&keep, path, FILE_LIMIT, &file, &(Err){ 0 }))) return;
    Arena arena = { 0 };
    for (const char *p = file.p, *end = file.p + file.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        Value row;
        Err err;
        if (!CHECK(eol && json_parse(&arena, (Str){ p, (size_t)(eol - p) }, &row, &err))) break;
        replay(&arena, &row);
        arena_reset(&arena, 1 << 20);
        p = eol + 1;
    }
    arena_free(&arena);
}

/* ---- loading ---- */
/* In these texts ' stands for ". */
#define PARAMETERS                                                                                 \
    "'unk_token':'[UNK]','continuing_subword_prefix':'##','max_input_chars_per_word':9"
#define MODEL "'model':{'type':'WordPiece'," PARAMETERS ",'vocab':{'a':0,'[UNK]':1}}}"
#define TOKEN(content)                                                                             \
    "'added_tokens':[{'id':9,'content':'" content "','single_word':false,'lstrip':false,"          \
    "'rstrip':false,'normalized':true,'special':false}],"
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
    { "{'pre_tokenizer':{'type':'Metaspace'}," MODEL, EF_UNSUPPORTED,
      "tokenizer.json: pre_tokenizer type \"Metaspace\" is not supported" },
    { "{'normalizer':{'type':'Sequence','normalizers':[{'type':'Nmt'}]}," MODEL, EF_UNSUPPORTED,
      "tokenizer.json: normalizer type \"Nmt\" is not supported" },
    { "{'normalizer':{'type':'BertNormalizer','clean_text':1}," MODEL, EF_BAD_MODEL,
      "BertNormalizer: found a number as \"clean_text\", wanted" },
    { "{'normalizer':[]," MODEL, EF_BAD_MODEL, "normalizer: found a list" },
    { "{'post_processor':{'type':'RobertaProcessing'}," MODEL, EF_UNSUPPORTED,
      "post_processor type \"RobertaProcessing\" is not supported" },
    { "{'post_processor':{'type':'BertProcessing','sep':['x',7],'cls':['y',0]}," MODEL,
      EF_BAD_MODEL, "found token id 7, wanted one below 2" },
    { "{" SINGLE("{'SpecialToken':{'id':'x','type_id':0}}") MODEL, EF_BAD_MODEL,
      "special token \"x\"" },
    { "{" SINGLE("{'Sequence':{'id':'B','type_id':0}}") MODEL, EF_BAD_MODEL,
      "wants a second text" },
    { "{" SINGLE("{'Sequence':{'id':'C','type_id':0}}") MODEL, EF_BAD_MODEL, "wanted A or B" },
    { "{" SINGLE("{'Other':{}}") MODEL, EF_BAD_MODEL, "a piece of neither kind" },
    { "{'model':{'type':'BPE'}}", EF_UNSUPPORTED, "model type \"BPE\" is not supported" },
    { "{'model':{'vocab':{},'merges':[]}}", EF_UNSUPPORTED, "model type \"BPE\" is not supported" },
    { "{'model':{'vocab':{}}}", EF_BAD_MODEL, "no \"type\"" },
    { "{'model':{" PARAMETERS ",'vocab':{'a':-1}}}", EF_BAD_MODEL, "found id -1 for \"a\"" },
    { "{'model':{" PARAMETERS ",'vocab':{'a':4000000000}}}", EF_BAD_MODEL, "found id 4000000000" },
    { "{'model':{" PARAMETERS ",'vocab':{'a':'b'}}}", EF_BAD_MODEL, "found a string as the id" },
    { "{'truncation':{'max_length':5,'strategy':'Nearest'}," MODEL, EF_BAD_MODEL, "truncation" },
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
    replay_all(argc > 1 ? argv[1] : GOLDEN "cases.jsonl");
    check_refused();
    check_small();
    check_file_truncation();
    arena_free(&keep);
    return finish();
}
