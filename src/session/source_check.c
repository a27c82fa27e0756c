/* SPDX-License-Identifier: Apache-2.0
 * source_check.c - does config.json, the graph and the wanted task fit together? Asked before
 * anything is written, and again by whoever opens a folder. */
#include "export/hf_task.h"
#include "session/source.h"

/* Model families that are no encoders, by config.json's model_type. */
typedef struct Family {
    const char *model_type, *name, *kind;
} Family;
#define DECODER "a decoder"
#define BOTH "an encoder-decoder"
static const Family families[] = {
    { "xlnet", "XLNet", "a permutation language model" },
    { "transfo-xl", "Transformer-XL", "a decoder with memory" },
    { "gpt2", "GPT-2", DECODER },
    { "gpt_neo", "GPT-Neo", DECODER },
    { "gpt_neox", "GPT-NeoX", DECODER },
    { "gptj", "GPT-J", DECODER },
    { "gpt_bigcode", "GPT-BigCode", DECODER },
    { "openai-gpt", "OpenAI GPT", DECODER },
    { "opt", "OPT", DECODER },
    { "bloom", "BLOOM", DECODER },
    { "ctrl", "CTRL", DECODER },
    { "codegen", "CodeGen", DECODER },
    { "falcon", "Falcon", DECODER },
    { "llama", "Llama", DECODER },
    { "mistral", "Mistral", DECODER },
    { "mixtral", "Mixtral", DECODER },
    { "gemma", "Gemma", DECODER },
    { "gemma2", "Gemma 2", DECODER },
    { "phi", "Phi", DECODER },
    { "phi3", "Phi-3", DECODER },
    { "qwen2", "Qwen2", DECODER },
    { "qwen3", "Qwen3", DECODER },
    { "mpt", "MPT", DECODER },
    { "stablelm", "StableLM", DECODER },
    { "bart", "BART", BOTH },
    { "mbart", "mBART", BOTH },
    { "t5", "T5", BOTH },
    { "mt5", "mT5", BOTH },
    { "umt5", "umT5", BOTH },
    { "longt5", "LongT5", BOTH },
    { "pegasus", "PEGASUS", BOTH },
    { "bigbird_pegasus", "BigBird-PEGASUS", BOTH },
    { "marian", "Marian", BOTH },
    { "m2m_100", "M2M-100", BOTH },
    { "led", "LED", BOTH },
    { "blenderbot", "Blenderbot", BOTH },
    { "blenderbot-small", "Blenderbot Small", BOTH },
    { "prophetnet", "ProphetNet", BOTH },
    { "fsmt", "FSMT", BOTH },
    { "whisper", "Whisper", BOTH },
    { "encoder-decoder", "EncoderDecoderModel", BOTH },
};
static const char *const generators[] = { "ForCausalLM", "LMHeadModel",
                                          "ForConditionalGeneration" };

bool source_family(const ModelConfig *c, Err *err)
{
    if (str_ends(c->architecture, "EncoderModel"))
        return true; /* T5EncoderModel: the encoder half alone */
    for (size_t i = 0; i < COUNT(families); i++)
        if (str_is(c->model_type, families[i].model_type))
            return fail(err, EF_UNSUPPORTED,
                        "%s is not supported: it is %s (model_type \"%s\"), wanted an encoder",
                        families[i].name, families[i].kind, families[i].model_type);
    for (size_t i = 0; i < COUNT(generators); i++)
        if (str_ends(c->architecture, generators[i]))
            return fail(err, EF_UNSUPPORTED,
                        "%.*s is not supported: it generates text, wanted an encoder",
                        STR_ARG(c->architecture));
    if (value_bool(value_get(c->root, "is_encoder_decoder"), false))
        return fail(err, EF_UNSUPPORTED,
                    "%.*s is not supported: config.json says is_encoder_decoder, wanted an encoder",
                    STR_ARG(c->model_type));
    if (value_bool(value_get(c->root, "is_decoder"), false))
        return fail(err, EF_UNSUPPORTED,
                    "%.*s is not supported: config.json says is_decoder, wanted an encoder",
                    STR_ARG(c->model_type));
    return true;
}

static bool fits(const Task *task, Str architecture)
{
    for (size_t i = 0; i < COUNT(task->architectures) && task->architectures[i]; i++)
        if (str_ends(architecture, task->architectures[i])) return true;
    return false;
}

/* The first task whose architectures have this one; NULL: an architecture nobody knows. */
static const Task *task_of(Str architecture)
{
    size_t n;
    const Task *const *all = task_all(&n);
    for (size_t i = 0; i < n; i++)
        if (fits(all[i], architecture)) return all[i];
    return NULL;
}

static bool unknown_task(Str name, Err *err)
{
    const char *names[16];
    Buf list = { 0 };
    size_t n;
    const Task *const *all = task_all(&n);
    for (size_t i = 0; i < n; i++)
        buf_printf(&list, "%s%s", i ? ", " : "", names[i] = all[i]->name);
    const char *near = str_nearest(name, names, n);
    fail(err, EF_INVALID_INPUT, "Invalid model type: found `%.*s`, wanted one of %.*s%s%s%s",
         STR_ARG(name), STR_ARG(buf_view(&list)), near ? " (did you mean " : "", near ? near : "",
         near ? "?)" : "");
    buf_free(&list);
    return false;
}

bool source_task(Str name, Str inside, const ModelConfig *c, const Task **out, Err *err)
{
    const Task *natural = task_of(c->architecture);
    bool guess = str_is(name, "auto");
    if (guess) name = (Str){ 0 };
    if (name.n == 0 && task_by_pipeline(inside)) return *out = task_by_pipeline(inside), true;
    if (guess && !natural) natural = task_by_pipeline(str_of(hf_task_detect(c->root, NULL)));
    if (str_starts(name, "image_"))
        return fail(err, EF_UNSUPPORTED,
                    "Invalid model type: %.*s is not supported yet: this version reads text only",
                    STR_ARG(name));
    if (name.n == 0 && !natural)
        return fail(err, EF_INVALID_INPUT,
                    "Invalid model type: config.json's architecture \"%.*s\" does not tell the "
                    "task; say it with --model-type, put it into the .onnx with `metadata embed`, "
                    "or let it be guessed with --force-task-detection",
                    STR_ARG(c->architecture));
    const Task *task = name.n ? task_find(name) : natural;
    if (!task) return unknown_task(name, err);
    /* a checkpoint of a masked language model is what other models are made of */
    bool open = !natural || natural->words;
    if (!open && task != natural && !fits(task, c->architecture))
        return fail(err, EF_INVALID_INPUT,
                    "Invalid model type: found architecture %.*s (%s), wanted one for %s",
                    STR_ARG(c->architecture), natural->name, task->name);
    *out = task;
    return true;
}

static const OnnxValue *find_value(const OnnxValue *values, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (str_is(values[i].name, name)) return &values[i];
    return NULL;
}

static void list_names(Buf *out, const OnnxValue *values, int n)
{
    for (int i = 0; i < n && out->n < 300; i++)
        buf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(values[i].name));
    if (n == 0) buf_puts(out, "none");
}

static bool missing(const char *what, const OnnxValue *values, int n, Err *err)
{
    Buf list = { 0 };
    list_names(&list, values, n);
    fail(err, EF_BAD_MODEL, "%s: found %.*s", what, STR_ARG(buf_view(&list)));
    buf_free(&list);
    return false;
}

static bool shape_fits(const OnnxValue *v, Err *err)
{
    bool integer = v->type == T_I64 || v->type == T_I32;
    if (integer && (v->rank == 2 || v->rank < 0)) return true;
    return fail(err, EF_BAD_MODEL,
                "Input shape mismatch: %.*s: found %s with %d dimensions, wanted int64 "
                "[batch_size, sequence_length]",
                STR_ARG(v->name), dtype_name(v->type), v->rank);
}

bool source_inputs(const OnnxModel *m, Err *err)
{
    static const char *const known[] = { "input_ids", "attention_mask", "token_type_ids",
                                         "position_ids" };
    const OnnxGraph *g = &m->graph;
    if (!find_value(g->in, g->n_in, "input_ids"))
        return missing("Missing input_ids: the model's inputs", g->in, g->n_in, err);
    for (size_t i = 0; i < COUNT(known); i++) {
        const OnnxValue *v = find_value(g->in, g->n_in, known[i]);
        if (v && !shape_fits(v, err)) return false;
    }
    return true;
}

static bool labels_fit(const OnnxValue *v, const ModelConfig *c, Err *err)
{
    int64_t width = v->rank > 0 ? v->dim[v->rank - 1] : DIM_UNKNOWN;
    if (width < 0 || c->num_labels == 0 || width == c->num_labels) return true;
    return fail(
        err, EF_BAD_MODEL,
        "label count mismatch: config.json has %d labels, the model's %.*s have %lld columns",
        c->num_labels, STR_ARG(v->name), (long long)width);
}

bool source_output(const OnnxModel *m, const Task *task, const ModelConfig *c, Str *name, Err *err)
{
    const OnnxGraph *g = &m->graph;
    const OnnxValue *v = NULL;
    for (size_t i = 0; i < COUNT(task->outputs) && task->outputs[i] && !v; i++)
        v = find_value(g->out, g->n_out, task->outputs[i]);
    if (!v) {
        char what[128];
        snprintf(what, sizeof what, "Model must return %s", task->outputs[0]);
        return missing(what, g->out, g->n_out, err);
    }
    bool pooled = v->rank == 2 && task->pool; /* a graph that pools by itself */
    if (v->rank >= 0 && !pooled && v->rank != (task->per_token ? 3 : 2))
        return fail(err, EF_BAD_MODEL,
                    "Model must return tensor of shape %s: %.*s has %d dimensions", task->shape,
                    STR_ARG(v->name), v->rank);
    *name = v->name;
    return !task->labelled || labels_fit(v, c, err);
}
