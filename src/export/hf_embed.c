/* SPDX-License-Identifier: Apache-2.0
 * hf_embed.c - the writing side: a model folder to properties, and properties into an .onnx. */
#include "base/thread.h"
#include "data/base64.h"
#include "data/gzip.h"
#include "data/json.h"
#include "export/hf_parts.h"
#include "export/hf_task.h"
#include "export/modules.h"
#include "text/text.h"

enum { MOST_JSON = 16 << 20, MOST_TOKENIZER = 1 << 28, COMPRESS_ABOVE = 10240, MOST_PAIRS = 32 };

typedef struct Maker {
    Arena *arena;
    const HfSource *from;
    HfFiles files;
    OnnxPair *item;
    int n;
} Maker;

/* ---- the folder ---- */

static const char *hf_embed_find_file(const Maker *m, const char *name)
{
    const char *const folders[] = { m->from->folder, m->from->encoder };
    for (size_t i = 0; i < COUNT(folders); i++) {
        const char *path = folders[i] ? path_join(m->arena, folders[i], str_of(name)) : NULL;
        if (path && file_is(path)) return path;
    }
    return NULL;
}

/* An object, if the file is there. */
static bool hf_embed_read_object_at(Maker *m, const char *path, Value *out, Err *err)
{
    Str text;
    *out = value_null();
    if (!path) return true;
    if (!file_read(m->arena, path, MOST_JSON, &text, err)) return false;
    if (!json_parse(m->arena, text, out, err)) return within(err, "%s", path);
    return out->kind == V_MAP || fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", path,
                                      value_kind_name(out->kind));
}

static bool hf_embed_read_object(Maker *m, const char *name, Value *out, Err *err)
{
    return hf_embed_read_object_at(m, hf_embed_find_file(m, name), out, err);
}

bool hf_read_config(Arena *arena, const HfSource *from, Value *config, Err *err)
{
    Maker m = { .arena = arena, .from = from };
    if (hf_embed_find_file(&m, "config.json"))
        return hf_embed_read_object(&m, "config.json", config, err);
    return fail(err, EF_NOT_FOUND, "%s/config.json: not found, and metadata needs it: it says what "
                "the model is", from->folder);
}

/* Those of the folder, or of the tokenizer that is taken instead. */
static bool read_tokenizer_files(Maker *m, Err *err)
{
    HfFiles *f = &m->files;
    const char *own = m->from->tokenizer_from;
    if (!own) {
        f->tokenizer = hf_embed_find_file(m, "tokenizer.json") != NULL;
        return hf_embed_read_object(m, "tokenizer_config.json", &f->tokenizer_config, err) &&
               hf_embed_read_object(m, "special_tokens_map.json", &f->specials, err);
    }
    TokenizerFiles t;
    if (!tokenizer_find(m->arena, own, &t, err)) return within(err, "--tokenizer");
    f->tokenizer = tokenizer_is_json(t.vocab);
    return hf_embed_read_object_at(m, t.config, &f->tokenizer_config, err) &&
           hf_embed_read_object_at(m, t.specials, &f->specials, err);
}

static bool read_files(Maker *m, Err *err)
{
    HfFiles *f = &m->files;
    return hf_read_config(m->arena, m->from, &f->config, err) && read_tokenizer_files(m, err) &&
           hf_embed_read_object(m, "preprocessor_config.json", &f->preprocessor, err) &&
           hf_embed_read_object(m, "processor_config.json", &f->processor, err);
}

/* ---- properties ---- */

static void hf_embed_add_pair(Maker *m, const char *key, Str value)
{
    assert(m->n < MOST_PAIRS);
    m->item[m->n++] = (OnnxPair){ str_of(key), value };
}

static void add_json(Maker *m, const char *key, const Value *v)
{
    Buf b = { 0 };
    if (v->kind == V_NULL) return;
    json_write(&b, v);
    hf_embed_add_pair(m, key, (Str){ str_dup(m->arena, buf_view(&b)), b.n });
    buf_free(&b);
}

/* The keys a reader of schema 2.0 may count on, and where families keep them. */
static const struct ConfigKey {
    const char *key, *others[3];
} config_keys[] = {
    { "architectures" },
    { "model_type" },
    { "hidden_size", { "dim", "d_model", "n_embd" } },
    { "num_attention_heads", { "n_heads", "n_head", "encoder_attention_heads" } },
    { "num_hidden_layers", { "n_layers", "n_layer", "encoder_layers" } },
    { "vocab_size" },
    { "id2label" },
    { "label2id" },
};

static Value other_key(const Value *config, const char *const others[3])
{
    for (int i = 0; i < 3 && others[i]; i++)
        if (value_get(config, others[i])) return *value_get(config, others[i]);
    return value_null();
}

/* config.json, whole, with what it leaves unsaid. A null for num_labels would make transformers
 * stumble, so that one gets its value there: as many as are named, else 2. */
static Value full_config(Maker *m)
{
    const Value *config = &m->files.config, *labels = value_get(config, "id2label");
    Value out = value_map(m->arena, config->map.n + COUNT(config_keys) + 2);
    if (config->map.n)
        memcpy(out.map.items, config->map.items, config->map.n * sizeof *config->map.items);
    out.map.n = config->map.n;
    for (size_t i = 0; i < COUNT(config_keys); i++)
        if (!value_get(config, config_keys[i].key))
            value_add(&out, config_keys[i].key, other_key(config, config_keys[i].others));
    size_t named = labels && labels->kind == V_MAP ? labels->map.n : 0;
    if (!value_get(config, "num_labels"))
        value_add(&out, "num_labels", value_of_int(named ? (int64_t)named : 2));
    if (!value_get(config, "task_specific_params"))
        value_add(&out, "task_specific_params", value_map(m->arena, 0));
    return out;
}

static void add_settings(Maker *m)
{
    const HfSource *from = m->from;
    HfDone done = { from->level, from->external };
    Value pipeline = hf_pipeline_config(m->arena, from->model);
    Value export = hf_export_config(m->arena, from->model, done);
    add_json(m, "hf_pipeline_config", &pipeline);
    add_json(m, "hf_export_config", &export);
}

static void hf_embed_add_name(Maker *m)
{
    Str version = value_str(value_get(&m->files.config, "transformers_version"), (Str){ 0 });
    Str name = str_of(m->from->name ? m->from->name : path_real(m->arena, m->from->folder));
    while (name.n > 1 && name.p[name.n - 1] == '/') name.n--;
    if (!m->from->name) name = path_name(str_dup(m->arena, name));
    hf_embed_add_pair(m, "hf_model_name", name);
    if (version.n) hf_embed_add_pair(m, "hf_transformers_version", version);
}

/* tokenizer.json as it is; any other vocabulary as the tokenizer.json that it converts to. */
static bool hf_embed_read_tokenizer(const Maker *m, Arena *arena, Value *out, Err *err)
{
    Str text;
    const char *own = m->from->tokenizer_from;
    TokenizerFiles f = own ? tokenizer_files_at(arena, own) : tokenizer_files(arena, m->from->folder);
    if (!own && !f.vocab && m->from->encoder) f = tokenizer_files(arena, m->from->encoder);
    if (!f.vocab)
        return fail(err, EF_NOT_FOUND, "%s: tokenizer.json not found, nor another vocabulary, so "
                    "no tokenizer can be put in", own ? own : m->from->folder);
    if (!tokenizer_is_json(f.vocab))
        return tokenizer_converted(arena, &f, out, err);
    return file_read(arena, f.vocab, MOST_TOKENIZER, &text, err) &&
           (json_parse(arena, text, out, err) || within(err, "%s", f.vocab));
}

/* Where small is asked for, what is large, missing or not understood stays out. */
static bool add_tokenizer(Maker *m, Err *err)
{
    Value v;
    Err ignored;
    Arena scratch = { 0 };
    bool always = m->from->tokenizer == HF_TOKENIZER_IN;
    bool ok = hf_embed_read_tokenizer(m, &scratch, &v, always ? err : &ignored);
    if (ok) add_json(m, "hf_tokenizer", &v);
    arena_free(&scratch);
    if (ok && !always && m->item[m->n - 1].value.n > HF_SMALL_TOKENIZER) return m->n--, true;
    if (ok) add_json(m, "hf_special_tokens_map", &m->files.specials);
    return ok || !always;
}

static bool add_all(Maker *m, Err *err)
{
    const char *type, *task = m->from->task;
    Value config = full_config(m), processor = hf_processor_config(m->arena, &m->files, &type);
    HfTaskFrom how;
    if (!task) task = hf_task_detect(&m->files.config, &how);
    if (!m->from->task && how > HF_TASK_CLASS) task = "feature-extraction"; /* no guesses */
    bool hears = strcmp(type, "feature_extractor") == 0;
    hf_embed_add_pair(m, "hf_metadata_version", STR("2.0"));
    add_json(m, "hf_model_config", &config);
    add_json(m, "hf_processor_config", &processor);
    hf_embed_add_pair(m, "hf_pipeline_task", str_of(task));
    hf_embed_add_pair(m, "hf_export_timestamp", now_utc(m->arena));
    hf_embed_add_pair(m, "hf_exporter_version", STR("encoderfile-" EF_VERSION));
    add_settings(m);
    add_json(m, "hf_tokenizer_config", &m->files.tokenizer_config);
    add_json(m, hears ? "hf_feature_extractor_config" : "hf_image_processor_config",
             &m->files.preprocessor);
    hf_embed_add_pair(m, "feature_engineering.type", str_of(type));
    hf_embed_add_name(m);
    if (strcmp(task, "sentence-similarity") == 0) {
        Value files = modules_gather(m->arena, m->from->folder);
        add_json(m, "hf_sentence_transformers", &files);
    }
    return m->from->tokenizer == HF_TOKENIZER_OUT || add_tokenizer(m, err);
}

/* "gzip:" and base64, where that is shorter. */
static void hf_embed_compress(Maker *m)
{
    size_t above = m->from->compress_above ? m->from->compress_above : COMPRESS_ABOVE;
    for (int i = 0; i < m->n; i++) {
        Buf gzip = { 0 }, text = { 0 };
        if (m->item[i].value.n <= above) continue;
        gzip_pack(&gzip, m->item[i].value, GZIP_SMALL);
        buf_puts(&text, "gzip:");
        base64_write(&text, buf_view(&gzip));
        if (text.n < m->item[i].value.n)
            m->item[i].value = (Str){ str_dup(m->arena, buf_view(&text)), text.n };
        buf_free(&gzip), buf_free(&text);
    }
}

bool hf_metadata_make(Arena *arena, const HfSource *from, OnnxPair **out, int *n, Err *err)
{
    Maker m = { .arena = arena, .from = from, .item = ARRAY(arena, OnnxPair, MOST_PAIRS) };
    size_t bytes = 0;
    if (!read_files(&m, err) || !add_all(&m, err)) return false;
    for (int i = 0; i < m.n; i++) bytes += m.item[i].value.n;
    if (bytes > HF_MOST_TEXT)
        return fail(err, EF_TOO_LARGE, "metadata: found %zu bytes, wanted at most %d", bytes,
                    HF_MOST_TEXT);
    const char *sum = hf_checksum(arena, m.item, m.n);
    hf_embed_compress(&m);
    hf_embed_add_pair(&m, "hf_checksum", str_of(sum));
    *out = m.item, *n = m.n;
    return true;
}

/* ---- into a file ---- */

bool hf_has_tokenizer(const OnnxPair *item, int n)
{
    for (int i = 0; i < n; i++)
        if (str_is(item[i].key, "hf_tokenizer")) return true;
    return false;
}

/* A file that is no ONNX ends here. */
static bool hf_embed_read_model(Arena *arena, HfEmbed *e, Str file, Err *err)
{
    OnnxModel *model = NEW(arena, OnnxModel);
    if (!onnx_read(arena, file, model, err)) return within(err, "%s", e->onnx);
    e->source.model = model;
    for (int i = 0; i < model->graph.n_init; i++)
        e->source.external |= model->graph.init[i].location.n > 0;
    return true;
}

/* Weights beside the file are named without a folder: a copy elsewhere would not find them. */
static bool stays_beside(Arena *arena, const HfEmbed *e, Err *err)
{
    const char *from = path_real(arena, path_dir(arena, e->onnx));
    const char *to = path_real(arena, path_dir(arena, e->to));
    if (!e->source.external || strcmp(from, to) == 0) return true;
    return fail(err, EF_INVALID_INPUT, "%s: found another folder, wanted %s: the weights of this "
                "model are files beside it", e->to, from);
}

static bool hf_embed_rewrite(Arena *arena, HfEmbed *e, Str file, Err *err)
{
    FileWriter w;
    if (!dir_make_parents(e->to, err) || !writer_open(&w, arena, e->to, 0644, err)) return false;
    bool ok = onnx_props_write(&w, file, hf_is_ours, e->item, e->n, err);
    e->size = w.written;
    if (ok) return writer_commit(&w, err);
    writer_abort(&w);
    return false;
}

bool hf_metadata_embed(Arena *arena, HfEmbed *e, Err *err)
{
    Mapping map;
    if (!e->to) e->to = e->onnx;
    if (!file_map(e->onnx, &map, err)) return false;
    Str file = { (const char *)map.p, map.n };
    bool ok = hf_embed_read_model(arena, e, file, err) && stays_beside(arena, e, err) &&
              hf_metadata_make(arena, &e->source, &e->item, &e->n, err) &&
              hf_embed_rewrite(arena, e, file, err);
    file_unmap(&map);
    e->tokenizer = ok && hf_has_tokenizer(e->item, e->n);
    return ok;
}
