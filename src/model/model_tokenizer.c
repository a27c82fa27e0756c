/* SPDX-License-Identifier: Apache-2.0
 * model_tokenizer.c - the tokenizer of a model and how texts are cut: from files, or from a
 * package. A build compiles the tokenizer first and tries the model with the compiled one. A package's
 * tables are used in place; a package of the Rust encoderfile has a tokenizer.json inside. */
#include "data/json.h"
#include "model/model.h"
#include "text/settings.h"

enum { JSON_LIMIT = 256 << 20 };

/* ---- from files ---- */

/* For another task a sentence-transformers folder is opened as a plain model. */
static bool of_sentences(const Model *m)
{
    return task_can(m->task, NULL, CAN_SENTENCE);
}

/* sentence_bert_config.json of the .onnx itself, or NULL. */
static const Value *sentence_inside(const Model *m)
{
    return of_sentences(m) ? value_get(m->sentence, "sentence_bert_config.json") : NULL;
}

static bool compile(Model *m, const Value *root, Err *err)
{
    Buf b = { 0 };
    bool ok = tokenizer_compile(root, &b, err);
    if (ok) m->tokenizer_tables = (Str){ memcpy(arena_raw(&m->arena, b.n), b.p, b.n), b.n };
    buf_free(&b);
    return ok && tokenizer_map(&m->arena, m->tokenizer_tables, &m->tokenizer, err);
}

/* tokenizer_config.json, of the .onnx or a file; V_NULL: none. */
static bool read_config(const ModelSource *s, Arena *tree, Value *config, Err *err)
{
    Str text = s->inside.tokenizer.p ? s->inside.tokenizer_config : (Str){ 0 };
    const char *file = s->inside.tokenizer.p ? NULL : s->tokenizer.config;
    *config = value_null();
    if (file && !file_read(tree, file, JSON_LIMIT, &text, err)) return false;
    return !text.p || json_parse(tree, text, config, err) || within(err, "tokenizer_config.json");
}

/* The tokenizer that the .onnx carries. */
static bool tree_inside(const Model *m, const ModelSource *s, Arena *tree, Value *root, Err *err)
{
    Value config;
    if (!read_config(s, tree, &config, err)) return false;
    if (!json_parse(tree, s->inside.tokenizer, root, err)) return within(err, "hf_tokenizer");
    Sidecar side = { .config = &config };
    settings_apply(tree, root, &side);
    if (value_bool(value_get(sentence_inside(m), "do_lower_case"), false))
        settings_lowercase(tree, root);
    return true;
}

static bool load(Model *m, const ModelSource *s, Arena *tree, Err *err)
{
    Value root;
    TokenizerFiles files = s->tokenizer;
    bool inside = s->inside.tokenizer.p;
    if (!of_sentences(m)) files.sentence = NULL;
    bool ok = inside ? tree_inside(m, s, tree, &root, err) : tokenizer_tree(tree, &files, &root, err);
    if (!ok) return false;
    if (!s->compile) return tokenizer_from_value(&m->arena, &root, &m->tokenizer, err);
    return compile(m, &root, err);
}

/* A pair's type ids are fed if model_input_names lists them; else zeros. Where it is absent they are fed, but for the
 * class that transformers 5 writes for a tokenizer of no class, which has ids and a mask. */
static bool feeds_types(const Value *config)
{
    const Value *names = value_get(config, "model_input_names");
    Str class = value_str(value_get(config, "tokenizer_class"), STR(""));
    if (!names || names->kind != V_LIST) return !str_is(class, "TokenizersBackend");
    for (size_t i = 0; i < names->list.n; i++)
        if (str_is(value_str(&names->list.items[i], STR("")), "token_type_ids")) return true;
    return false;
}

/* As transformers: tokenizer_config.json, else the padding that tokenizer.json itself asks for. */
static bool pads_left(const Value *config, const Tokenizer *tokenizer)
{
    PadOptions own;
    Str side = value_str(value_get(config, "padding_side"), STR(""));
    return side.n ? str_is(side, "left") : tokenizer_padding(tokenizer, &own) && own.left;
}

/* The id of "pad_token": a string, or an object with its content; -1: not said. */
static int pad_token(const Value *config, const Tokenizer *tokenizer)
{
    const Value *pad = value_get(config, "pad_token");
    Str name = value_str(pad && pad->kind == V_MAP ? value_get(pad, "content") : pad, STR(""));
    return name.n ? tokenizer_id(tokenizer, name) : -1;
}

/* [0, 0, 0, 0]: of tokenizer_config.json, or a package's facts. */
static bool read_special_box(const Value *config, const char *key, int32_t *to, Err *err)
{
    const Value *box = value_get(config, key);
    if (!box || box->kind == V_NULL) return true;
    bool fits = box->kind == V_LIST && box->list.n == BOX_SIDES;
    for (size_t i = 0; fits && i < BOX_SIDES; i++) {
        const Value *side = &box->list.items[i];
        fits = side->kind == V_INT && side->i >= 0 && side->i <= BOX_MOST;
        if (fits) to[i] = (int32_t)side->i;
    }
    return fits || fail(err, EF_BAD_MODEL, "%s: wanted four numbers of 0 to %d", key, BOX_MOST);
}

/* What LayoutLMv3's class has where its config does not say. */
static void default_special_boxes(Model *m, const Value *config)
{
    if (str_starts(value_str(value_get(config, "tokenizer_class"), STR("")), "LayoutLMv3"))
        memset(m->special.behind, 0, sizeof m->special.behind);
}

static bool read_special_boxes(Model *m, const Value *config, Err *err)
{
    default_special_boxes(m, config);
    return read_special_box(config, "cls_token_box", m->special.front, err) &&
           read_special_box(config, "sep_token_box", m->special.behind, err);
}

static Value store_box(Arena *arena, const int32_t *box)
{
    Value list = value_list(arena, BOX_SIDES);
    for (int i = 0; i < BOX_SIDES; i++) list.list.items[i] = value_of_int(box[i]);
    return list;
}

void model_store_boxes(Arena *arena, const Model *m, Value *facts)
{
    value_add(facts, "cls_token_box", store_box(arena, m->special.front));
    value_add(facts, "sep_token_box", store_box(arena, m->special.behind));
}

/* What the files say beside the pipeline; one that cannot be read says nothing. */
static void keep_settings(Model *m, const ModelSource *s, const Value *config, Arena *tree)
{
    Err ignored;
    Str text;
    Value specials = value_null(), *kept = NEW(&m->arena, Value);
    const char *file = s->inside.tokenizer.p ? NULL : s->tokenizer.specials;
    if (file && (!file_read(tree, file, JSON_LIMIT, &text, &ignored) || !json_parse(tree, text, &specials, &ignored)))
        specials = value_null();
    *kept = tokenizer_settings(&m->arena, config, &specials, m->config.model_type);
    m->tokenizer_settings = kept;
}

static bool read_limits(Model *m, const ModelSource *s, Arena *tree, Err *err)
{
    Value config, sentence = value_null();
    const char *file = of_sentences(m) && !s->inside.tokenizer.p ? s->tokenizer.sentence : NULL;
    Str text;
    if (!read_config(s, tree, &config, err) ||
        (file && (!file_read(tree, file, JSON_LIMIT, &text, err) ||
                  !json_parse(tree, text, &sentence, err))))
        return false;
    if (sentence_inside(m)) sentence = *sentence_inside(m);
    keep_settings(m, s, &config, tree);
    m->flat_types = !feeds_types(&config);
    m->pad_left = pads_left(&config, m->tokenizer);
    m->pad_id = pad_token(&config, m->tokenizer);
    if (!read_special_boxes(m, &config, err)) return within(err, "tokenizer_config.json");
    LimitSource limit = { s->yaml_tokenizer, &config, &sentence, m->tokenizer, &m->config,
                          of_sentences(m) ? NULL : m->config_json, &m->limit_from, s->max_length };
    return limit_from_source(&limit, &m->encode, err);
}

bool model_open_tokenizer(Model *m, const ModelSource *s, Err *err)
{
    Arena tree = { .local = true };
    bool ok = load(m, s, &tree, err) && read_limits(m, s, &tree, err);
    arena_free(&tree);
    return ok;
}

/* ---- from a package ---- */

/* In place where the member is aligned, as in a file; a package in memory may need a copy. */
static bool map_tables(Model *m, Str tables, Err *err)
{
    if ((uintptr_t)tables.p % 64)
        tables.p = memcpy(arena_raw(&m->arena, tables.n + 1), tables.p, tables.n);
    return tokenizer_map(&m->arena, tables, &m->tokenizer, err);
}

/* The member holds tokenizer.json inside another object, beside the Rust encoderfile's padding and truncation.
 * */
static bool read_peers(Model *m, Str text, Arena *tree, Err *err)
{
    Value root;
    if (!json_parse(tree, text, &root, err)) return false;
    const Value *inner = value_get(&root, "tokenizer");
    if (!inner) return fail(err, EF_BAD_MODEL, "found no key \"tokenizer\"");
    return tokenizer_from_value(&m->arena, inner, &m->tokenizer, err) &&
           limit_from_package(value_get(&root, "config"), &m->encode, err);
}

static bool packed_tokenizer(Model *m, const Value *facts, Err *err)
{
    Str tables = m->package.member[MEMBER_TOKENS].bytes;
    Str text = m->package.member[MEMBER_TOKENIZER].bytes;
    m->flat_types = !value_bool(value_get(facts, "token_type_ids"), true);
    m->pad_left = str_is(value_str(value_get(facts, "padding_side"), STR("")), "left");
    m->tokenizer_settings = value_get(facts, "tokenizer");
    if (!read_special_boxes(m, facts, err)) return false;
    if (tables.p)
        return (map_tables(m, tables, err) && limit_from_package(facts, &m->encode, err)) ||
               within(err, "%s", member_name(MEMBER_TOKENS));
    if (!text.p) return fail(err, EF_BAD_MODEL, "Missing required artifact: tokenizer");
    Arena tree = { .local = true };
    bool ok = read_peers(m, text, &tree, err);
    arena_free(&tree);
    return ok || within(err, "tokenizer");
}

bool model_packed_tokenizer(Model *m, const Value *facts, const char *other, Err *err)
{
    return packed_tokenizer(m, facts, err) &&
           (!other || tokenizer_open(&m->arena, other, &m->tokenizer, err));
}
