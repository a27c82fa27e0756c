/* SPDX-License-Identifier: Apache-2.0
 * test_export_hf.c - metadata inside an .onnx and the detection of tasks: numbers are those of the checklist
 * that the exporter was specified by. */
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "export/export.h"
#include "export/hf_parts.h"
#include "export/hf_task.h"
#include "folder.h"

static Value parse(Arena *arena, const char *json)
{
    Err err = { 0 };
    Value v = { 0 };
    CHECK(json_parse(arena, str_of(json), &v, &err));
    return v;
}

static Str field(Str *line, char end)
{
    const char *p = memchr(line->p, end, line->n);
    Str out = { line->p, p ? (size_t)(p - line->p) : line->n };
    *line = (Str){ line->p + out.n + (p != NULL), line->n - out.n - (p != NULL) };
    return out;
}

/* {"architectures": [name], "model_type": type, key: {} ...} */
static Value config_of(Arena *arena, Str name, Str type, Str keys)
{
    Value list = value_list(arena, 1), v = value_map(arena, 32);
    list.list.items[0] = value_of_str(name);
    value_add(&v, "architectures", list);
    value_add(&v, "model_type", value_of_str(type));
    while (keys.n) value_add(&v, str_dup(arena, field(&keys, ',')), value_map(arena, 0));
    return v;
}

/* Every class of transformers' auto-class tables (tools/oracle/tasks.py). */
static void every_class(void)
{
    Arena arena = { 0 };
    Err err;
    Str file;
    int lines = 0, right = 0;
    TEST("2.18 tasks of every class");
    CHECK(file_read(&arena, "tests/golden/tasks.tsv", 1 << 20, &file, &err));
    for (; file.n; lines++) {
        Str line = field(&file, '\n'), name = field(&line, '\t'), type = field(&line, '\t');
        Value config = config_of(&arena, name, type, field(&line, '\t'));
        const char *task = hf_task_detect(&config, NULL);
        bool ok = false;
        CHECK(hf_task_known(str_of(task)) == task || strcmp(hf_task_known(str_of(task)), task) == 0);
        for (Str wanted = line; wanted.n && !ok;) ok = str_is(field(&wanted, ','), task);
        right += ok;
        if (!ok && getenv("VERBOSE")) printf("%.*s: %.*s, not %s\n", STR_ARG(name), STR_ARG(line), task);
    }
    printf("tasks: %d of %d classes, %.2f %%\n", right, lines, 100.0 * right / lines);
    CHECK(lines > 1000 && right >= 0.95 * lines);
    arena_free(&arena);
}

/* The fallbacks, in their order. */
static void fallbacks(void)
{
    static const struct {
        const char *config, *task;
        HfTaskFrom from;
    } rows[] = {
        { "{\"task\": \"ner\", \"architectures\": [\"BertModel\"]}", "token-classification",
          HF_TASK_NAMED },
        { "{\"architectures\": [\"BertForTokenClassification\"]}", "token-classification",
          HF_TASK_CLASS },
        { "{\"architectures\": [\"BertModel\", \"BertForMaskedLM\"]}", "feature-extraction",
          HF_TASK_CLASS },
        { "{\"architectures\": [\"Odd\"], \"task_specific_params\": {\"translation_en_to_de\": {}}}",
          "translation", HF_TASK_PARAMS },
        { "{\"model_type\": \"gpt2\", \"id2label\": {\"0\": \"a\"}}", "text-generation",
          HF_TASK_TYPE },
        { "{\"model_type\": \"optional\", \"num_labels\": 3}", "text-classification",
          HF_TASK_LABELS },
        { "{\"id2label\": {\"0\": \"O\", \"1\": \"B-PER\"}}", "token-classification",
          HF_TASK_LABELS },
        { "{\"id2label\": {\"0\": \"cat\"}, \"image_size\": 224}", "image-classification",
          HF_TASK_LABELS },
        { "{\"id2label\": {\"0\": \"dog\"}, \"sampling_rate\": 16000}", "audio-classification",
          HF_TASK_LABELS },
        { "{}", "feature-extraction", HF_TASK_DEFAULT },
        { "{\"architectures\": 3, \"task\": [], \"model_type\": 1, \"id2label\": 7}",
          "feature-extraction", HF_TASK_DEFAULT },
        { "{\"architectures\": [\" \"]}", "feature-extraction", HF_TASK_DEFAULT },
        { "{\"architectures\": [\"\"], \"task_specific_params\": {}}", "feature-extraction",
          HF_TASK_DEFAULT },
        { "[]", "feature-extraction", HF_TASK_DEFAULT },
    };
    Arena arena = { 0 };
    TEST("2.3 and its fallbacks");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Value config = parse(&arena, rows[i].config);
        HfTaskFrom from;
        const char *task = hf_task_detect(&config, &from);
        if (!CHECK(strcmp(task, rows[i].task) == 0 && from == rows[i].from))
            printf("  %s: %s by %s\n", rows[i].config, task, hf_task_from_name(from));
    }
    CHECK(strcmp(hf_task_known(STR("sentiment-analysis")), "text-classification") == 0);
    CHECK(!hf_task_known(STR("ner ")) && !hf_task_known((Str){ 0 }));
    arena_free(&arena);
}

/* ---- metadata ---- */
static char work[] = "/tmp/ef-hf-XXXXXX";
#define BUS "examples/bus-ner"

static const char *in_work(Arena *arena, const char *name)
{
    return str_format(arena, "%s/%s", work, name);
}

static Str map_file(const char *path, Mapping *map)
{
    Err err;
    CHECK(file_map(path, map, &err));
    return (Str){ (const char *)map->p, map->n };
}

/* A model without metadata, by our own exporter. */
static const char *plain_model(Arena *arena)
{
    Err err = { 0 };
    Export e = { .model = BUS, .output = in_work(arena, "plain.onnx"), .no_config = true,
                 .no_metadata = true };
    if (!CHECK(export_open(&e, &err) && export_build(&e, &err) && export_write(&e, &err)))
        printf("  %s\n", err.message);
    export_close(&e);
    return in_work(arena, "plain.onnx");
}

static HfMetadata embedded(Arena *arena, HfSource source, const char *to)
{
    Err err = { 0 };
    HfMetadata m = { 0 };
    HfEmbed e = { .onnx = in_work(arena, "plain.onnx"), .to = in_work(arena, to), .source = source };
    if (!CHECK(hf_metadata_embed(arena, &e, &err) && hf_metadata_open(arena, e.to, &m, &err)))
        printf("  %s\n", err.message);
    return m;
}

static void schema(void)
{
    static const char *const keys[] = { "architectures", "model_type", "hidden_size",
                                        "num_attention_heads", "num_hidden_layers", "vocab_size",
                                        "num_labels", "id2label", "label2id",
                                        "task_specific_params" };
    Arena arena = { 0 };
    Err err;
    Str file;
    HfMetadata m = embedded(&arena, (HfSource){ .folder = BUS }, "a.onnx");
    TEST("2.5 five properties");
    CHECK(m.state == HF_GOOD && m.checked);
    CHECK(str_is(hf_metadata_get(&m, "hf_metadata_version"), "2.0"));
    CHECK(str_is(hf_metadata_get(&m, "hf_pipeline_task"), "token-classification"));
    CHECK(str_ends(hf_metadata_get(&m, "hf_export_timestamp"), "Z"));
    TEST("2.1 model_config");
    Value v = hf_metadata_value(&arena, &m), own = { 0 };
    const Value *config = value_get(&v, "model_config");
    for (size_t i = 0; i < COUNT(keys); i++) CHECK(value_get(config, keys[i]) != NULL);
    CHECK(file_read(&arena, BUS "/config.json", 1 << 20, &file, &err) &&
          json_parse(&arena, file, &own, &err));
    for (size_t i = 0; i < own.map.n; i++) { /* all of it, and equal */
        Buf a = { 0 }, b = { 0 };
        json_write(&a, &own.map.items[i].value);
        const Value *same = value_get(config, str_dup(&arena, own.map.items[i].key));
        if (CHECK(same != NULL)) json_write(&b, same);
        CHECK(str_eq(buf_view(&a), buf_view(&b)));
        buf_free(&a), buf_free(&b);
    }
    TEST("2.2 processor_config");
    const Value *processor = value_get(&v, "processor_config");
    CHECK(str_is(value_str(value_get(processor, "processor_type"), STR("")), "AutoTokenizer"));
    CHECK(value_int(value_get(processor, "model_max_length"), 0) == 128);
    CHECK(str_is(value_str(value_get(value_get(processor, "special_tokens"), "cls_token"), STR("")),
                 "[CLS]"));
    TEST("2.6 the rest of schema 2.0");
    CHECK(str_starts(hf_metadata_get(&m, "hf_exporter_version"), "encoderfile-"));
    CHECK(value_int(value_get(value_get(&v, "export_config"), "opset_version"), 0) == 18);
    CHECK(value_bool(value_get(value_get(&v, "export_config"), "hierarchy_tags_enabled"), false));
    const Value *pipeline = value_get(&v, "pipeline_config");
    CHECK(value_get(pipeline, "batch_size") && value_get(pipeline, "batch_size")->kind == V_NULL);
    CHECK(value_get(pipeline, "num_threads") && value_get(pipeline, "num_threads")->kind == V_NULL);
    CHECK(!hf_metadata_get(&m, "hf_tokenizer").p);
    TEST("2.13 size");
    CHECK(m.stored < 100 << 10);
    arena_free(&arena);
}

/* Processors other than tokenizers, by files made here. */
static void processors(void)
{
    static const struct {
        const char *file, *type, *key;
        const char *kind;
    } rows[] = {
        { "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": {\"height\": 224}}",
          "AutoImageProcessor", "size", "image_processor" },
        { "{\"feature_extractor_type\": \"WhisperFeatureExtractor\", \"sampling_rate\": 16000}",
          "AutoFeatureExtractor", "sampling_rate", "feature_extractor" },
    };
    Arena arena = { 0 };
    Err err = { 0 };
    TEST("2.2 processors of images and sound");
    const char *folder = in_work(&arena, "other");
    const char *config = path_join(&arena, folder, STR("config.json"));
    CHECK(dir_make_parents(config, &err) && file_write(&arena, config, STR("{}"), &err));
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *file = path_join(&arena, folder, STR("preprocessor_config.json"));
        CHECK(file_write(&arena, file, str_of(rows[i].file), &err));
        HfMetadata m = embedded(&arena, (HfSource){ .folder = folder }, "other.onnx");
        Value v = hf_metadata_value(&arena, &m);
        const Value *p = value_get(&v, "processor_config");
        CHECK(str_is(value_str(value_get(p, "processor_type"), STR("")), rows[i].type));
        CHECK(value_get(p, rows[i].key) != NULL);
        CHECK(str_is(hf_metadata_get(&m, "feature_engineering.type"), rows[i].kind));
        const Value *c = value_get(&v, "model_config");
        CHECK(value_get(c, "hidden_size") && value_get(c, "hidden_size")->kind == V_NULL);
        CHECK(value_get(c, "task_specific_params")->kind == V_MAP);
        CHECK(str_is(hf_metadata_get(&m, "hf_pipeline_task"), "feature-extraction"));
    }
    arena_free(&arena);
}

/* Text and pictures: both parts are there, each under its own name (CLIP); the newer layout has them
 * in processor_config.json alone. */
static void combined_processors(void)
{
    static const struct {
        const char *file, *text;
    } rows[] = {
        { "preprocessor_config.json", "{\"image_processor_type\": \"CLIPImageProcessor\", "
          "\"crop_size\": 224, \"processor_class\": \"CLIPProcessor\"}" },
        { "processor_config.json", "{\"processor_class\": \"CLIPProcessor\", \"image_processor\": "
          "{\"image_processor_type\": \"CLIPImageProcessor\", \"crop_size\": 224}}" },
    };
    Arena arena = { 0 };
    Err err = { 0 };
    TEST("a processor of several kinds is not empty");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *folder = in_work(&arena, i ? "clip5" : "clip4");
        const char *config = path_join(&arena, folder, STR("config.json"));
        const char *tokens = path_join(&arena, folder, STR("tokenizer_config.json"));
        CHECK(dir_make_parents(config, &err) && file_write(&arena, config, STR("{}"), &err));
        CHECK(file_write(&arena, path_join(&arena, folder, str_of(rows[i].file)),
                         str_of(rows[i].text), &err));
        CHECK(file_write(&arena, tokens, STR("{\"tokenizer_class\": \"CLIPTokenizer\", "
                                             "\"model_max_length\": 77}"), &err));
        HfMetadata m = embedded(&arena, (HfSource){ .folder = folder }, "clip.onnx");
        Value v = hf_metadata_value(&arena, &m);
        const Value *p = value_get(&v, "processor_config");
        const Value *image = value_get(p, "image_processor"), *text = value_get(p, "tokenizer");
        CHECK(str_is(value_str(value_get(p, "processor_type"), STR("")), "AutoProcessor"));
        CHECK(str_is(value_str(value_get(p, "processor_class"), STR("")), "CLIPProcessor"));
        CHECK(value_int(value_get(image, "crop_size"), 0) == 224);
        CHECK(str_is(value_str(value_get(text, "tokenizer_class"), STR("")), "CLIPTokenizer"));
        CHECK(value_int(value_get(text, "max_length"), 0) == 77);
        CHECK(value_get(p, "modalities") && value_get(p, "modalities")->list.n == 2);
    }
    arena_free(&arena);
}

static void again(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Mapping before, after, both;
    OnnxPair *all;
    int n = 0, ours = 0, foreign = 0;
    TEST("2.7 embedding again");
    Str plain = map_file(in_work(&arena, "plain.onnx"), &before);
    /* a key of somebody else, and an old one of ours */
    OnnxPair extra[] = { { STR("author"), STR("somebody") }, { STR("hf_hub_id"), STR("old/name") } };
    FileWriter w;
    CHECK(writer_open(&w, &arena, in_work(&arena, "two.onnx"), 0644, &err) &&
          onnx_props_write(&w, plain, hf_is_ours, extra, 2, &err) && writer_commit(&w, &err));
    for (int round = 0; round < 3; round++) {
        HfEmbed e = { .onnx = in_work(&arena, "two.onnx"), .source = { .folder = BUS } };
        CHECK(hf_metadata_embed(&arena, &e, &err));
    }
    Str file = map_file(in_work(&arena, "two.onnx"), &after);
    CHECK(onnx_props(&arena, file, &all, &n, &err));
    for (int i = 0; i < n; i++) {
        ours += str_is(all[i].key, "hf_model_config");
        foreign += str_is(all[i].key, "author");
        CHECK(!str_is(all[i].key, "hf_hub_id"));
    }
    CHECK(ours == 1 && foreign == 1);
    CHECK(file.n > plain.n && memcmp(file.p, plain.p, plain.n) == 0); /* the graph: the same bytes */
    TEST("embedding is the same each time");
    Str other = map_file(in_work(&arena, "a.onnx"), &both);
    HfMetadata a, b;
    CHECK(hf_metadata_read(&arena, file, &a, &err) && hf_metadata_read(&arena, other, &b, &err));
    CHECK(a.n == b.n);
    for (int i = 0; i < a.n; i++) {
        bool time = str_is(a.item[i].key, "hf_export_timestamp") || str_is(a.item[i].key, "hf_checksum");
        CHECK(time || str_eq(a.item[i].value, b.item[i].value));
    }
    file_unmap(&before), file_unmap(&after), file_unmap(&both);
    arena_free(&arena);
}

static void compressed(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Mapping map;
    OnnxPair *all;
    Str text;
    int n = 0, packed = 0;
    TEST("2.12 compression");
    HfMetadata m = embedded(&arena, (HfSource){ .folder = BUS, .tokenizer = HF_TOKENIZER_IN }, "tok.onnx");
    CHECK(m.state == HF_GOOD && hf_metadata_get(&m, "hf_tokenizer").n > 10240);
    Str file = map_file(in_work(&arena, "tok.onnx"), &map);
    CHECK(onnx_props(&arena, file, &all, &n, &err));
    for (int i = 0; i < n; i++) {
        packed += str_starts(all[i].value, "gzip:");
        CHECK(all[i].value.n <= 10240 || str_starts(all[i].value, "gzip:"));
    }
    CHECK(packed == 1);
    Value a, b;
    Buf x = { 0 }, y = { 0 };
    CHECK(file_read(&arena, BUS "/tokenizer.json", 1 << 20, &text, &err) &&
          json_parse(&arena, text, &a, &err) &&
          json_parse(&arena, hf_metadata_get(&m, "hf_tokenizer"), &b, &err));
    json_write(&x, &a), json_write(&y, &b);
    CHECK(str_eq(buf_view(&x), buf_view(&y)));
    CHECK(str_eq(buf_view(&x), hf_metadata_get(&m, "hf_tokenizer"))); /* compact */
    HfSource never = { .folder = BUS, .tokenizer = HF_TOKENIZER_IN, .compress_above = SIZE_MAX };
    HfMetadata open = embedded(&arena, never, "open.onnx");
    CHECK(open.state == HF_GOOD && open.stored > m.stored);
    buf_free(&x), buf_free(&y);
    file_unmap(&map);
    arena_free(&arena);
}

/* Properties by hand over the same graph. */
static HfMetadata with_props(const OnnxPair *item, int n)
{
    static Arena arena; /* what is read lives until the end */
    Err err = { 0 };
    Mapping map;
    FileWriter w;
    HfMetadata m = { 0 };
    Str plain = map_file(in_work(&arena, "plain.onnx"), &map);
    const char *path = in_work(&arena, "props.onnx");
    CHECK(writer_open(&w, &arena, path, 0644, &err) &&
          onnx_props_write(&w, plain, hf_is_ours, item, n, &err) && writer_commit(&w, &err));
    CHECK(hf_metadata_open(&arena, path, &m, &err));
    file_unmap(&map);
    return m;
}
#define PROPS(...)                                                                                \
    with_props((const OnnxPair[]){ __VA_ARGS__ },                                                 \
               (int)(sizeof((const OnnxPair[]){ __VA_ARGS__ }) / sizeof(OnnxPair)))
#define PAIR(k, v) { { k, sizeof(k) - 1 }, { v, sizeof(v) - 1 } }
/* python: base64(gzip.compress(b'{"a": 1}', mtime=0)) */
#define PACKED "H4sIAAAAAAACA6tWSlSyUjCsBQCXjqH7CAAAAA=="

static void versions(void)
{
    static const struct {
        const char *version;
        HfState state;
    } rows[] = {
        { "2.0", HF_GOOD },    { "1.0", HF_GOOD },   { "1.7", HF_GOOD },   { "2.9", HF_REFUSED },
        { "3.0", HF_REFUSED }, { "2", HF_REFUSED },  { "", HF_REFUSED },   { "2.x", HF_REFUSED },
        { "0.9", HF_REFUSED }, { "2.0.1", HF_REFUSED },
    };
    TEST("2.16 versions");
    for (size_t i = 0; i < COUNT(rows); i++) {
        OnnxPair pair = { STR("hf_metadata_version"), str_of(rows[i].version) };
        HfMetadata m = with_props(&pair, 1);
        if (!CHECK(m.state == rows[i].state && (m.state == HF_GOOD) == !m.why))
            printf("  \"%s\": %d\n", rows[i].version, m.state);
    }
    TEST("2.14 a file of before");
    CHECK(with_props(NULL, 0).state == HF_NONE);
    OnnxPair other = PAIR("author", "me");
    CHECK(with_props(&other, 1).state == HF_NONE);
    TEST("version missing");
    CHECK(PROPS(PAIR("hf_model_config", "{}")).state == HF_DAMAGED);
}

#define VERSION PAIR("hf_metadata_version", "2.0")
static void spellings(void)
{
    TEST("2.12 the other spellings of compression");
    HfMetadata m = PROPS(VERSION, PAIR("hf_model_config", "gzip:" PACKED));
    CHECK(m.state == HF_GOOD && str_is(hf_metadata_get(&m, "hf_model_config"), "{\"a\": 1}"));
    m = PROPS(VERSION, PAIR("hf_model_config:compressed", PACKED));
    CHECK(m.state == HF_GOOD && str_is(hf_metadata_get(&m, "hf_model_config"), "{\"a\": 1}"));
    m = PROPS(VERSION, PAIR("hf_metadata_compressed", "true"), PAIR("hf_model_config", PACKED));
    CHECK(m.state == HF_GOOD && str_is(hf_metadata_get(&m, "hf_model_config"), "{\"a\": 1}"));
    CHECK(str_is(hf_metadata_get(&m, "hf_metadata_version"), "2.0"));
}

static void damage(void)
{
    TEST("2.15, 2.21 damage");
    HfMetadata m = PROPS(VERSION, PAIR("hf_model_config", "gzip:!!!!"));
    CHECK(m.state == HF_DAMAGED && strstr(m.why, "base64"));
    m = PROPS(VERSION, PAIR("hf_model_config", "gzip:AAAA"));
    CHECK(m.state == HF_DAMAGED && strstr(m.why, "gzip"));
    m = PROPS(VERSION, PAIR("hf_model_config", "{"));
    CHECK(m.state == HF_DAMAGED && strstr(m.why, "hf_model_config"));
    m = PROPS(VERSION, PAIR("hf_processor_config", "[1]"));
    CHECK(m.state == HF_DAMAGED && strstr(m.why, "wanted an object"));
    m = PROPS(VERSION, PAIR("hf_checksum", "sha256:00"));
    CHECK(m.state == HF_DAMAGED && strstr(m.why, "hf_checksum"));
}

/* One byte of the metadata changed: found by the checksum (or before it), never more. */
static void flipped(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Mapping before, map;
    size_t bad = 0, changed = 0;
    TEST("2.15 every byte changed");
    Str plain = map_file(in_work(&arena, "plain.onnx"), &before);
    Str file = map_file(in_work(&arena, "a.onnx"), &map);
    char *copy = str_dup(&arena, file);
    for (size_t i = plain.n; i < file.n; i++, changed++) {
        Arena scratch = { 0 };
        HfMetadata m;
        copy[i] ^= 0x20;
        bool read = hf_metadata_read(&scratch, (Str){ copy, file.n }, &m, &err);
        bad += read && m.state == HF_GOOD && m.checked;
        copy[i] ^= 0x20;
        arena_free(&scratch);
    }
    CHECK(changed > 2000 && bad == 0);
    file_unmap(&before), file_unmap(&map);
    arena_free(&arena);
}

static void problems(void)
{
    Arena arena = { 0 };
    const char *out[16];
    TEST("2.20 what validate says");
    HfMetadata m = PROPS(VERSION, PAIR("hf_pipeline_task", "cooking"));
    CHECK(hf_metadata_problems(&arena, &m, out, 16) == 4);
    m = (HfMetadata){ 0 };
    CHECK(hf_metadata_problems(&arena, &m, out, 16) == 1);
    m = embedded(&arena, (HfSource){ .folder = BUS }, "b.onnx");
    CHECK(hf_metadata_problems(&arena, &m, out, 16) == 0);
    arena_free(&arena);
}

static void refusals(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    HfMetadata m;
    TEST("refusals");
    HfEmbed e = { .onnx = BUS "/config.json", .source = { .folder = BUS } };
    CHECK(!hf_metadata_embed(&arena, &e, &err) && says(&err, "config.json"));
    CHECK(!hf_metadata_open(&arena, BUS "/config.json", &m, &err) && says(&err, "config.json"));
    CHECK(!hf_metadata_open(&arena, "no/such.onnx", &m, &err) && says(&err, "no/such.onnx"));
    e = (HfEmbed){ .onnx = in_work(&arena, "plain.onnx"), .source = { .folder = work } };
    CHECK(!hf_metadata_embed(&arena, &e, &err) && says(&err, "config.json: not found"));
    e.source = (HfSource){ .folder = "tests/golden/export/bert", .tokenizer = HF_TOKENIZER_IN };
    CHECK(!hf_metadata_embed(&arena, &e, &err) && says(&err, "tokenizer.json not found"));
    e.source = (HfSource){ .folder = BUS };
    e.to = in_work(&arena, "plain.onnx/x.onnx");
    CHECK(!hf_metadata_embed(&arena, &e, &err));
    CHECK(hf_metadata_open(&arena, in_work(&arena, "plain.onnx"), &m, &err) && m.state == HF_NONE);
    arena_free(&arena);
}

int main(void)
{
    Arena arena = { 0 };
    every_class();
    fallbacks();
    if (!mkdtemp(work)) return 1;
    plain_model(&arena);
    schema();
    processors();
    combined_processors();
    again();
    compressed();
    versions();
    spellings();
    damage();
    flipped();
    problems();
    refusals();
    remove_tree(work);
    arena_free(&arena);
    return finish();
}
