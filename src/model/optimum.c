/* SPDX-License-Identifier: Apache-2.0
 * optimum.c - the checks of a folder, in the order in which Optimum meets them: files, config.json,
 * the session, what prepares the inputs, names of inputs and outputs; then our own run. */
#include "model/optimum.h"

#include <dirent.h>

#include "data/json.h"
#include "export/files.h"
#include "export/hf_metadata.h"
#include "export/hf_task.h"

enum { MOST_CONFIG = 16 << 20, MOST_FILES = 256, MOST_DEPTH = 8, MOST_GRAPHS = 3 };

/* A class of Optimum. inputs: those that its forward() hands on, with a space around each; NULL:
 * it takes whatever there is. outputs: all of them are asked for by name. */
typedef struct OrtClass {
    const char *task, *part; /* part: of the name in `architectures`, or NULL */
    const char *name, *inputs, *outputs[4];
    bool pair;               /* encoder and decoder are files of their own */
} OrtClass;

typedef struct Checking {
    Arena *arena;
    const char *folder;
    OptimumReport *report;
    const char *onnx[MOST_FILES]; /* below the folder, in the order of their names */
    int n_onnx;
    const char *chosen[MOST_GRAPHS]; /* of those, what the class opens */
    int n_chosen;
    Value config;
    OnnxFile file;          /* the first one chosen */
    const char *task;       /* by metadata, or by config.json: Hugging Face's word */
    const OrtClass *class;
} Checking;

static const char *const optional_files[OPTIMUM_FILES - MOST_GRAPHS - 1] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt",
    "vocab.json", "merges.txt", "preprocessor_config.json", "processor_config.json",
    "generation_config.json", "model_quantized.onnx", "ort_config.json", "export_metadata.json",
};

#define TEXT " input_ids attention_mask token_type_ids "
#define SOUND " input_values input_features attention_mask "
#define PICTURE " pixel_values "
#define PREFIX "ORTModelFor"
static const OrtClass classes[] = {
    { "feature-extraction", NULL, PREFIX "FeatureExtraction",
      TEXT "pixel_values input_features input_values ", { "last_hidden_state" }, false },
    { "fill-mask", NULL, PREFIX "MaskedLM", TEXT, { "logits" }, false },
    { "text-classification", NULL, PREFIX "SequenceClassification", TEXT, { "logits" }, false },
    { "token-classification", NULL, PREFIX "TokenClassification", TEXT, { "logits" }, false },
    { "question-answering", NULL, PREFIX "QuestionAnswering", TEXT,
      { "start_logits", "end_logits" }, false },
    { "multiple-choice", NULL, PREFIX "MultipleChoice", TEXT, { "logits" }, false },
    { "image-classification", NULL, PREFIX "ImageClassification", PICTURE, { "logits" }, false },
    { "image-segmentation", "SemanticSegmentation", PREFIX "SemanticSegmentation", PICTURE,
      { "logits" }, false },
    { "zero-shot-image-classification", NULL, PREFIX "ZeroShotImageClassification",
      " input_ids pixel_values attention_mask ",
      { "logits_per_image", "logits_per_text", "text_embeds", "image_embeds" }, false },
    { "image-to-image", NULL, PREFIX "ImageToImage", PICTURE, { "reconstruction" }, false },
    { "audio-classification", NULL, PREFIX "AudioClassification", SOUND, { "logits" }, false },
    { "audio-frame-classification", NULL, PREFIX "AudioFrameClassification", " input_values ",
      { "logits" }, false },
    { "audio-xvector", NULL, PREFIX "AudioXVector", " input_values ", { "logits", "embeddings" },
      false },
    { "automatic-speech-recognition", "CTC", PREFIX "CTC", " input_values input_features ",
      { "logits" }, false },
    { "automatic-speech-recognition", NULL, PREFIX "SpeechSeq2Seq", NULL, { 0 }, true },
    { "text-generation", NULL, PREFIX "CausalLM", NULL, { "logits" }, false },
    { "text2text-generation", NULL, PREFIX "Seq2SeqLM", NULL, { 0 }, true },
    { "translation", NULL, PREFIX "Seq2SeqLM", NULL, { 0 }, true },
    { "summarization", NULL, PREFIX "Seq2SeqLM", NULL, { 0 }, true },
    { "image-text-to-text", "EncoderDecoder", PREFIX "Vision2Seq", NULL, { 0 }, true },
};
/* For every other task, and for graphs whose inputs those classes do not hand on. */
static const OrtClass any_class = { "", NULL, PREFIX "CustomTasks", NULL, { 0 }, false };

static bool note(Checking *c, const char *name, CheckState state, const char *detail)
{
    OptimumReport *r = c->report;
    assert(r->n < (int)COUNT(r->check));
    r->check[r->n++] = (Check){ name, state, detail };
    return state != CHECK_FAILED;
}

static bool failed(Checking *c, const char *name, const Err *err)
{
    return note(c, name, CHECK_FAILED, str_dup(c->arena, str_of(err->message)));
}

static const char *in_folder(const Checking *c, const char *name)
{
    return path_join(c->arena, c->folder, str_of(name));
}

static void add_name(Buf *b, Str name)
{
    buf_printf(b, "%s%.*s", b->n ? ", " : "", (int)MIN(name.n, 80), name.p);
}

static const char *optimum_keep(Checking *c, Buf *b)
{
    const char *text = str_dup(c->arena, buf_view(b));
    buf_free(b);
    return text;
}

static bool has_part(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* ---- files ---- */

static void put_sorted(Checking *c, const char *name)
{
    int at = c->n_onnx++;
    for (; at && strcmp(c->onnx[at - 1], name) > 0; at--) c->onnx[at] = c->onnx[at - 1];
    c->onnx[at] = name;
}

/* Every *.onnx below the folder, as Optimum looks for them: also where it is no file. */
static void find_onnx(Checking *c, const char *below, int depth)
{
    DIR *folder = opendir(in_folder(c, below));
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (str_is(str_of(entry->d_name), ".") || str_is(str_of(entry->d_name), "..")) continue;
        const char *name = str_format(c->arena, "%s%s%s", below, *below ? "/" : "", entry->d_name);
        if (str_ends(str_of(name), ".onnx") && c->n_onnx < MOST_FILES) put_sorted(c, name);
        else if (depth < MOST_DEPTH && entry->d_type != DT_LNK && dir_is(in_folder(c, name)))
            find_onnx(c, name, depth + 1);
    }
    if (folder) closedir(folder);
}

static void list_files(Checking *c)
{
    OptimumReport *r = c->report;
    find_onnx(c, "", 0);
    r->missing = value_list(c->arena, 2);
    r->missing.list.n = 0;
    if (!c->n_onnx) r->missing.list.items[r->missing.list.n++] = value_of_str(STR("model.onnx"));
    if (!file_is(in_folder(c, "config.json")))
        r->missing.list.items[r->missing.list.n++] = value_of_str(STR("config.json"));
    r->optional = value_map(c->arena, COUNT(optional_files));
    for (size_t i = 0; i < COUNT(optional_files); i++)
        value_add(&r->optional, optional_files[i],
                  value_of_bool(file_is(in_folder(c, optional_files[i]))));
}

/* At the top of the folder, else below it; NULL: none. */
static const char *usual_onnx(const Checking *c)
{
    const char *deeper = NULL;
    for (int i = 0; i < c->n_onnx; i++) {
        if (strcmp(c->onnx[i], "model.onnx") == 0) return c->onnx[i];
        if (!deeper && str_is(path_name(c->onnx[i]), "model.onnx")) deeper = c->onnx[i];
    }
    return deeper;
}

/* The first whose path has all of these words, and not the other. */
static const char *matching_onnx(const Checking *c, const char *a, const char *b, const char *not)
{
    for (int i = 0; i < c->n_onnx; i++) {
        const char *path = c->onnx[i];
        if (has_part(path, a) && has_part(path, b) && !(not && has_part(path, not))) return path;
    }
    return NULL;
}

static bool choose(Checking *c, const char *path)
{
    if (path) c->chosen[c->n_chosen++] = path;
    return path != NULL;
}

/* Encoder, and a decoder that reuses what it computed: merged, or in two files. */
static bool choose_pair(Checking *c)
{
    if (!choose(c, matching_onnx(c, "encoder", "", NULL)))
        return note(c, "model.onnx", CHECK_FAILED, "found no encoder_model.onnx");
    if (choose(c, matching_onnx(c, "decoder", "merged", NULL)) ||
        (choose(c, matching_onnx(c, "decoder", "", "with_past")) &&
         choose(c, matching_onnx(c, "decoder", "with_past", NULL))))
        return note(c, "model.onnx", CHECK_OK, str_format(c->arena, "%s, %s", c->chosen[0],
                                                          c->chosen[1]));
    return note(c, "model.onnx", CHECK_FAILED, "found no decoder_model_merged.onnx, nor "
                "decoder_model.onnx with decoder_with_past_model.onnx");
}

/* model.onnx, at the top or deeper; else the first .onnx there is. */
static bool choose_files(Checking *c)
{
    const char *usual = usual_onnx(c);
    if (!c->n_onnx && (file_is(in_folder(c, "model.safetensors")) ||
                       file_is(in_folder(c, "pytorch_model.bin"))))
        return note(c, "model.onnx", CHECK_FAILED, "not found, nor any other .onnx: Optimum would "
                    "have to export the weights first; `export` does that once");
    if (!c->n_onnx) return note(c, "model.onnx", CHECK_FAILED, "not found, nor any other .onnx");
    if (c->class->pair) return choose_pair(c);
    choose(c, usual ? usual : c->onnx[0]);
    if (!file_is(in_folder(c, c->chosen[0])))
        return note(c, "model.onnx", CHECK_FAILED,
                    str_format(c->arena, "%s: not a file", c->chosen[0]));
    if (usual) return note(c, "model.onnx", CHECK_OK, usual);
    return note(c, "model.onnx", CHECK_WARNING,
                str_format(c->arena, "not found, %s is taken instead%s", c->onnx[0],
                           c->n_onnx > 1 ? " (of several: say which, by file_name)" : ""));
}

/* ---- config.json ---- */

static bool read_object(Checking *c, const char *name, Value *out, Err *err)
{
    Str text;
    if (!file_read(c->arena, in_folder(c, name), MOST_CONFIG, &text, err) ||
        !json_parse(c->arena, text, out, err))
        return false;
    return out->kind == V_MAP || fail(err, EF_BAD_MODEL, "found %s, wanted an object",
                                      value_kind_name(out->kind));
}

/* Without a model_type, the longest one that the folder's path contains counts. */
static Str type_by_path(const Checking *c)
{
    Str path = str_of(c->folder), best = { 0 };
    for (const char *p = optimum_types + 1; *p;) {
        Str word = { p, (size_t)(strchr(p, ' ') - p) };
        if (word.n > best.n && memmem(path.p, path.n, word.p, word.n)) best = word;
        p += word.n + 1;
    }
    return best;
}

static bool check_labels_of(Checking *c)
{
    const Value *labels = value_get(&c->config, "id2label");
    int64_t ignored;
    if (!labels || labels->kind == V_NULL) return true;
    if (labels->kind != V_MAP)
        return note(c, "config.json", CHECK_FAILED,
                    str_format(c->arena, "id2label: found %s, wanted an object",
                               value_kind_name(labels->kind)));
    for (size_t i = 0; i < labels->map.n; i++)
        if (!str_int(labels->map.items[i].key, &ignored))
            return note(c, "config.json", CHECK_FAILED,
                        str_format(c->arena, "id2label: found the key \"%.*s\", wanted numbers",
                                   (int)MIN(labels->map.items[i].key.n, 40),
                                   labels->map.items[i].key.p));
    return true;
}

static bool check_type(Checking *c, const Value *type)
{
    Str name = value_str(type, (Str){ 0 });
    bool own_code = value_get(value_get(&c->config, "auto_map"), "AutoConfig") != NULL;
    if (optimum_lists(optimum_types, name))
        return note(c, "config.json", CHECK_OK, str_dup(c->arena, name));
    if (own_code)
        return note(c, "config.json", CHECK_FAILED, "auto_map asks for code of the model's own: "
                    "Optimum loads it only with trust_remote_code=True");
    return note(c, "config.json", CHECK_FAILED,
                str_format(c->arena, "model_type: found %s%.*s%s, which transformers 4.57 (the "
                           "newest that Optimum takes) does not know",
                           name.p ? "\"" : value_kind_name(type->kind), (int)MIN(name.n, 40),
                           name.n ? name.p : "", name.p ? "\"" : ""));
}

static bool check_config(Checking *c)
{
    Err err = { 0 };
    if (!file_is(in_folder(c, "config.json")))
        return note(c, "config.json", CHECK_FAILED, "not found: Optimum needs it; export again, "
                    "or `add-config` puts it there");
    if (!read_object(c, "config.json", &c->config, &err)) {
        c->config = value_null();
        return failed(c, "config.json", &err);
    }
    if (!check_labels_of(c)) return false;
    if (value_get(&c->config, "architecture") || value_get(&c->config, "pretrained_cfg"))
        return note(c, "config.json", CHECK_OK, "of timm");
    const Value *said = value_get(&c->config, "model_type");
    if (said) return check_type(c, said);
    Str type = type_by_path(c);
    if (!type.n)
        return note(c, "config.json", CHECK_FAILED,
                    "model_type is missing: no class can be chosen");
    return note(c, "config.json", CHECK_WARNING,
                str_format(c->arena, "model_type is missing: Optimum takes it for %.*s, by the "
                           "folder's name", STR_ARG(type)));
}

static void choose_class(Checking *c)
{
    const Value *list = value_get(&c->config, "architectures");
    bool some = list && list->kind == V_LIST && list->list.n;
    const char *name = some ? str_dup(c->arena, value_str(list->list.items, STR(""))) : "";
    c->task = hf_task_detect(&c->config, NULL);
    c->class = &any_class;
    if (value_get(&c->config, "architecture")) return; /* timm's: no class of its own */
    for (size_t i = 0; i < COUNT(classes); i++)
        if (strcmp(classes[i].task, c->task) == 0 &&
            (!classes[i].part || has_part(name, classes[i].part))) {
            c->class = &classes[i];
            return;
        }
}

/* ---- the session ---- */

static bool check_loads(Checking *c, bool config)
{
    Err err = { 0 };
    for (int i = 0; i < c->n_chosen; i++) {
        OnnxFile other = { 0 }, *file = i ? &other : &c->file;
        bool ok = optimum_graph(c->arena, in_folder(c, c->chosen[i]), file, &err);
        onnx_file_close(&other);
        if (ok) continue;
        within(&err, "%s", c->chosen[i]);
        return failed(c, "loads", &err);
    }
    if (!config) return note(c, "loads", CHECK_FAILED, "not without a config.json that is right");
    return note(c, "loads", CHECK_OK, str_format(c->arena, "%s, %d operations", c->class->name,
                                                 c->file.model.graph.n_node));
}

/* ---- what prepares the inputs ---- */

static const struct ProcessorRow {
    const char *input;      /* that it gives */
    const char *wants;      /* "AutoTokenizer wants a tokenizer" */
    bool words;             /* from the tokenizer's files; else from preprocessor_config.json */
} processor_rows[] = {
    { "input_ids", "AutoTokenizer wants a tokenizer", true },
    { "pixel_values", "AutoImageProcessor wants preprocessor_config.json", false },
    { "input_values", "AutoFeatureExtractor wants preprocessor_config.json", false },
    { "input_features", "AutoFeatureExtractor wants preprocessor_config.json", false },
};

static const OnnxValue *find_value(const OnnxValue *all, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (str_is(all[i].name, name)) return &all[i];
    return NULL;
}

/* "input_ids 1x128"; a size that is not fixed is "?". */
static const char *shape_text(Checking *c, const OnnxValue *v)
{
    Buf b = { 0 };
    buf_printf(&b, "%.*s ", STR_ARG(v->name));
    for (int i = 0; i < v->rank; i++) {
        if (i) buf_char(&b, 'x');
        if (v->dim[i] == DIM_UNKNOWN) buf_char(&b, '?');
        else buf_printf(&b, "%lld", (long long)v->dim[i]);
    }
    return optimum_keep(c, &b);
}

/* The file that a row is made from, read; NULL: not there, or broken (then *why says so). */
static const char *processor_file(Checking *c, const struct ProcessorRow *row, const char **why)
{
    static const char *const others[] = { "preprocessor_config.json", "processor_config.json" };
    Value ignored;
    Err err = { 0 };
    const char *vocab = row->words ? tokenizer_files(c->arena, c->folder).vocab : NULL;
    const char *name = vocab ? str_dup(c->arena, path_name(vocab)) : NULL;
    for (size_t i = 0; !row->words && i < COUNT(others) && !name; i++)
        if (file_is(in_folder(c, others[i]))) name = others[i];
    *why = name ? NULL : "not found";
    if (!name || !str_ends(str_of(name), ".json") || read_object(c, name, &ignored, &err))
        return name;
    *why = str_format(c->arena, "%s: %s", name, err.message);
    return NULL;
}

static void check_processors(Checking *c)
{
    const OnnxGraph *g = &c->file.model.graph;
    Buf b = { 0 };
    CheckState state = CHECK_OK;
    for (size_t i = 0; i < COUNT(processor_rows); i++) {
        const struct ProcessorRow *row = &processor_rows[i];
        const OnnxValue *v = find_value(g->in, g->n_in, row->input);
        const char *why, *file = v ? processor_file(c, row, &why) : NULL;
        if (!v) continue;
        if (file) buf_printf(&b, "%s%s gives %s", b.n ? "; " : "", file, shape_text(c, v));
        else {
            state = CHECK_WARNING;
            buf_printf(&b, "%sfor %s %s: %s (the model loads without)", b.n ? "; " : "", row->input,
                       row->wants, why);
        }
    }
    if (!b.n) buf_puts(&b, "no input that a tokenizer or a processor gives"), state = CHECK_WARNING;
    note(c, "processors", state, optimum_keep(c, &b));
}

/* ---- names: Optimum feeds inputs and takes outputs by them ---- */

static const char given_inputs[] =
    " input_ids attention_mask token_type_ids bbox pixel_values input_values input_features "
    "global_attention_mask pixel_mask ";

/* Tokens of one number of rows or one length only: what a tokenizer gives rarely fits. */
static bool is_fixed(const OnnxValue *v)
{
    bool tokens = str_is(v->name, "input_ids");
    return tokens && v->rank == 2 && (v->dim[0] != DIM_UNKNOWN || v->dim[1] != DIM_UNKNOWN);
}

/* What stands in the way of the inputs; NULL: nothing. */
static const char *judge_inputs(Checking *c, Buf *names, CheckState *state)
{
    const OnnxGraph *g = &c->file.model.graph;
    const char *why = NULL;
    *state = CHECK_OK;
    for (int i = 0; i < g->n_in; i++) {
        const OnnxValue *v = &g->in[i];
        if (onnx_is_init(g, v->name)) continue;
        add_name(names, v->name);
        if (!c->class->inputs && c->class != &any_class) continue; /* generators make their own */
        if (!optimum_lists(given_inputs, v->name)) {
            *state = CHECK_FAILED;
            return str_format(c->arena, "found the input %.*s, which no tokenizer or processor "
                              "gives", (int)MIN(v->name.n, 80), v->name.p);
        }
        if (c->class->inputs && !optimum_lists(c->class->inputs, v->name))
            *state = CHECK_WARNING,
            why = str_format(c->arena, "%s does not hand on %.*s, ORTModelForCustomTasks does",
                             c->class->name, STR_ARG(v->name));
        else if (is_fixed(v))
            *state = CHECK_WARNING,
            why = str_format(c->arena, "takes %s alone: pad to that", shape_text(c, v));
    }
    return why;
}

static bool labels_fit(Checking *c, const OnnxValue *v)
{
    const Value *labels = value_get(&c->config, "id2label");
    int64_t width = v->rank > 0 ? v->dim[v->rank - 1] : DIM_UNKNOWN;
    bool told = labels && labels->kind == V_MAP && labels->map.n && width >= 0;
    bool counts = has_part(c->task, "-classification") && str_is(v->name, "logits");
    if (!told || !counts || (int64_t)labels->map.n == width) return true;
    return note(c, "labels", CHECK_FAILED,
                str_format(c->arena, "config.json has %zu labels, the graph gives %lld",
                           labels->map.n, (long long)width));
}

static void check_pipeline(Checking *c)
{
    const OnnxGraph *g = &c->file.model.graph;
    const OrtClass *class = c->class;
    Buf in = { 0 }, out = { 0 };
    CheckState state;
    const char *why = judge_inputs(c, &in, &state), *gets = optimum_keep(c, &in), *lacks = NULL;
    for (int i = 0; i < g->n_out; i++) add_name(&out, g->out[i].name);
    const char *gives = optimum_keep(c, &out);
    for (size_t i = 0; i < COUNT(class->outputs) && class->outputs[i]; i++) {
        const OnnxValue *v = find_value(g->out, g->n_out, class->outputs[i]);
        if (!v && !lacks) lacks = class->outputs[i];
        if (v) labels_fit(c, v);
    }
    if (state == CHECK_FAILED) note(c, "pipeline", state, why);
    else if (lacks && find_value(g->out, g->n_out, "sentence_embedding"))
        note(c, "pipeline", CHECK_WARNING,
             str_format(c->arena, "%s wants %s; ORTModelForCustomTasks gives %s", class->name,
                        lacks, gives));
    else if (lacks)
        note(c, "pipeline", CHECK_FAILED,
             str_format(c->arena, "outputs: found %s, wanted %s for %s", gives, lacks, c->task));
    else if (why) note(c, "pipeline", state, why);
    else note(c, "pipeline", CHECK_OK, str_format(c->arena, "%s: %s -> %s", c->task, gets, gives));
}

/* ---- metadata, and a text that runs through this program ---- */

static void check_metadata(Checking *c)
{
    HfMetadata m;
    Err err = { 0 };
    const char *first;
    if (!hf_metadata_open(c->arena, in_folder(c, c->chosen[0]), &m, &err) || m.state == HF_NONE)
        return;
    if (hf_metadata_problems(c->arena, &m, &first, 1)) {
        note(c, "metadata", CHECK_WARNING, first);
        return;
    }
    const char *known = hf_task_known(hf_metadata_get(&m, "hf_pipeline_task"));
    if (known) c->task = known;
    note(c, "metadata", CHECK_OK, str_format(c->arena, "%d keys, task %s", m.n, c->task));
}

/* A file of an unusual name, where Optimum takes that; else the folder, as `infer` takes it. */
static const char *own_path(const Checking *c)
{
    bool usual = !c->n_chosen || c->class->pair || str_is(path_name(c->chosen[0]), "model.onnx");
    return usual ? c->folder : in_folder(c, c->chosen[0]);
}

/* Our task for it; without config.json, as the folder's other files tell. */
static bool open_own(Checking *c, Model **m, Err *err)
{
    const Task *task = task_find(str_of(c->task));
    Err as_others = { 0 }; /* without a task said, as every command opens it: modules and all */
    if (model_open(own_path(c), m, &as_others)) return true;
    if (c->config.kind != V_MAP) return *err = as_others, false;
    if (!task) return fail(err, EF_UNSUPPORTED, "no task of this program does %s", c->task);
    return model_open_with(own_path(c), &(ModelOpen){ .task = str_of(task->name) }, m, err);
}

static void check_run(Checking *c)
{
    Err err = { 0 }, ignored;
    OptimumReport *r = c->report;
    Model *m = NULL;
    r->tried = true;
    r->runs = open_own(c, &m, &err) && model_dry_run(m, &err);
    if (r->runs) {
        r->task = m->task->name;
        note(c, "runs", CHECK_OK, str_format(c->arena, "and answers, as %s", r->task));
    } else if (c->n_chosen && task_find(str_of(c->task)) &&
               !tokenizer_files(c->arena, c->folder).vocab &&
               model_open_bare(in_folder(c, c->chosen[0]), &m, &ignored)) {
        note(c, "runs", CHECK_WARNING, "the graph alone: there is no tokenizer");
    } else {
        failed(c, "runs", &err);
    }
    model_close(m);
}

/* ---- all of it ---- */

static void note_size(Checking *c, const char *name)
{
    OptimumReport *r = c->report;
    const char *path = in_folder(c, name);
    assert(r->n_file < COUNT(r->file));
    if (file_is(path)) r->file[r->n_file++] = (ExportFile){ name, file_size(path), FILE_READ };
}

static void note_sizes(Checking *c)
{
    for (int i = 0; i < c->n_chosen; i++) note_size(c, c->chosen[i]);
    note_size(c, "config.json");
    for (size_t i = 0; i < COUNT(optional_files); i++) note_size(c, optional_files[i]);
}

bool optimum_check(Arena *arena, const char *folder, bool run, OptimumReport *r, Err *err)
{
    Checking c = { .arena = arena, .folder = folder, .report = r };
    *r = (OptimumReport){ .folder = folder };
    if (!dir_is(folder)) return fail(err, EF_NOT_FOUND, "%s: no such folder", folder);
    list_files(&c);
    bool config = check_config(&c);
    choose_class(&c);
    r->class_name = c.class->name;
    r->loads = choose_files(&c) && check_loads(&c, config);
    if (r->loads) {
        check_processors(&c);
        check_pipeline(&c);
        check_metadata(&c);
    }
    note_sizes(&c);
    r->compatible = r->loads;
    for (int i = 0; i < r->n; i++) r->compatible &= r->check[i].state != CHECK_FAILED;
    onnx_file_close(&c.file);
    if (run) check_run(&c);
    return true;
}

/* ---- the report ---- */

const char *const check_states[] = { "ok", "warning", "failed" };

static Value check_json(Arena *arena, const Check *check)
{
    Value one = value_map(arena, 3);
    value_add(&one, "name", value_of_str(str_of(check->name)));
    value_add(&one, "state", value_of_str(str_of(check_states[check->state])));
    value_add(&one, "detail", value_of_str(str_of(check->detail)));
    return one;
}

Value optimum_json(Arena *arena, const OptimumReport *r, double seconds)
{
    Value v = value_map(arena, 12), list = value_list(arena, (size_t)r->n);
    Value optimum = value_map(arena, 2), program = value_map(arena, 2);
    for (int i = 0; i < r->n; i++) list.list.items[i] = check_json(arena, &r->check[i]);
    value_add(&optimum, "loads", value_of_bool(r->loads));
    value_add(&optimum, "class", value_of_str(str_of(r->class_name)));
    value_add(&program, "runs", value_of_bool(r->runs));
    value_add(&program, "task", r->task ? value_of_str(str_of(r->task)) : value_null());
    value_add(&v, "path", value_of_str(str_of(r->folder)));
    value_add(&v, "compatible", value_of_bool(r->compatible));
    value_add(&v, "optimum", optimum);
    value_add(&v, "program", program);
    value_add(&v, "missing", r->missing);
    value_add(&v, "checks", list);
    value_add(&v, "optional", r->optional);
    files_report(arena, r->file, r->n_file, &v);
    value_add(&v, "seconds", value_of_float(seconds));
    return v;
}
