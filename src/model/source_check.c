/* SPDX-License-Identifier: Apache-2.0
 * source_check.c - whether config.json, the graph and the wanted task fit together. Checked before a
 * build writes anything, and whenever a folder is opened. */
#include "audio/audio.h"
#include "export/arch.h"
#include "export/hf_task.h"
#include "model/source.h"

/* Model families that are no encoders, by config.json's model_type: their checkpoints cannot be
 * exported here. What others exported of them (a BART that classifies, the encoder of a T5) runs as
 * well as any graph. */
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
    { "encoder-decoder", "EncoderDecoderModel", BOTH },
};
static const char *const generators[] = { "ForCausalLM", "LMHeadModel",
                                          "ForConditionalGeneration" };
#define ELSEWHERE "wanted an encoder; one of its graphs, exported to ONNX elsewhere, may run"

bool source_family(const ModelConfig *c, Err *err)
{
    for (size_t i = 0; i < COUNT(families); i++)
        if (str_is(c->model_type, families[i].model_type))
            return fail(err, EF_UNSUPPORTED,
                        "%s is not supported as a checkpoint: it is %s (model_type \"%s\"), "
                        ELSEWHERE, families[i].name, families[i].kind, families[i].model_type);
    for (size_t i = 0; i < COUNT(generators); i++)
        if (str_ends(c->architecture, generators[i]))
            return fail(err, EF_UNSUPPORTED,
                        "%.*s is not supported as a checkpoint: it generates text, " ELSEWHERE,
                        STR_ARG(c->architecture));
    const Arch *arch = arch_find(c->model_type);
    if (arch && arch->write) return true; /* of pictures: DETR calls itself an encoder-decoder */
    static const char *const flags[] = { "is_encoder_decoder", "is_decoder" };
    for (size_t i = 0; i < COUNT(flags); i++)
        if (value_bool(value_get(c->root, flags[i]), false))
            return fail(err, EF_UNSUPPORTED,
                        "%.*s is not supported as a checkpoint: config.json says %s, " ELSEWHERE,
                        STR_ARG(c->model_type), flags[i]);
    return true;
}

static const OnnxValue *find_value(const OnnxValue *values, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (str_is(values[i].name, name)) return &values[i];
    return NULL;
}

/* ---- the task ---- */

/* Letters of the longest ending of the task's that the class has; 0: none. */
static size_t class_fits(const Task *task, Str architecture)
{
    size_t most = 0;
    for (size_t i = 0; i < COUNT(task->architectures) && task->architectures[i]; i++)
        if (str_ends(architecture, task->architectures[i])) most = MAX(most, strlen(task->architectures[i]));
    return most;
}

/* The first task that has this architecture, of those that name most of it; NULL: none has. */
static const Task *task_of_class(Str architecture)
{
    size_t n;
    const Task *const *all = task_all(&n), *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (class_fits(all[i], architecture) > (best ? class_fits(best, architecture) : 0)) best = all[i];
    return best;
}

/* An output that a task reads; NULL: the graph does not have it. */
static const OnnxValue *task_output(const OnnxModel *m, const Task *task, int index)
{
    const char *const *names = task->outputs[index];
    const OnnxValue *v = NULL;
    for (size_t i = 0; i < TASK_OUTPUT_NAMES && names[i] && !v; i++)
        v = find_value(m->graph.out, m->graph.n_out, names[i]);
    return v;
}

static int64_t output_width(const OnnxValue *v)
{
    return v && v->rank > 0 ? v->dim[v->rank - 1] : DIM_UNKNOWN;
}

static bool refuse_task(Str name, Err *err)
{
    char near[TASK_NAME_ROOM];
    Buf list = { 0 };
    task_list(&list);
    if (task_name(name) || task_name_reads(name))
        fail(err, EF_UNSUPPORTED, "Invalid model type: %.*s is not supported: wanted one of %.*s",
             STR_ARG(name), STR_ARG(buf_view(&list)));
    else {
        bool found = task_name_near(name, near);
        fail(err, EF_INVALID_INPUT, "Invalid model type: found `%.*s`, wanted one of %.*s%s%s%s",
             STR_ARG(name), STR_ARG(buf_view(&list)), found ? " (did you mean " : "",
             found ? near : "", found ? "?)" : "");
    }
    buf_free(&list);
    return false;
}

/* Why the task asked for does not fit config.json's class; NULL: it fits. Exporters keep the class of
 * the checkpoint: a graph with hidden states has no head, whatever class is named, and the graph of a
 * "masked language model" may be a classifier, unless its output is as wide as the vocabulary. */
static const char *class_against(const Task *task, const ModelConfig *c, const OnnxModel *onnx)
{
    const Task *own = task_of_class(c->architecture);
    TaskAxis axis = task->shape->last;
    if (!own || own == task || class_fits(task, c->architecture)) return NULL;
    const OnnxValue *out = onnx ? task_output(onnx, task, 0) : NULL;
    if (axis == AXIS_HIDDEN) return out || !onnx ? NULL : "the graph gives no hidden states";
    if (!onnx) return axis == AXIS_LABELS ? "the checkpoint has no classifier weights"
                                          : "the checkpoint has no weights of that head";
    int64_t width = output_width(out);
    bool words = own->shape->last == AXIS_WORDS;
    if (words && width != c->vocab_size && width >= 0) return NULL;
    return words ? "its numbers are about words of the vocabulary" : "it has another head, or none";
}

static bool task_by_hand(Str name, const ModelConfig *c, const OnnxModel *onnx, const Task **out,
                         Err *err)
{
    const Task *task = *out = task_find(name), *own = task_of_class(c->architecture);
    const char *against = task ? class_against(task, c, onnx) : NULL;
    if (!task) return refuse_task(name, err);
    if (!against) return true;
    return fail(err, EF_INVALID_INPUT,
                "Invalid model type: found architecture %.*s (%s), wanted one for %s: %s",
                STR_ARG(c->architecture), own->name, task->name, against);
}

static const OnnxValue *sound_input(const OnnxGraph *g)
{
    const OnnxValue *samples = find_value(g->in, g->n_in, "input_values");
    if (!samples) samples = find_value(g->in, g->n_in, "input_features");
    for (int i = 0; !samples && i < g->n_in; i++) /* one that carries state hears */
        if (graph_role(g->in[i].name) == ROLE_STATE) samples = find_value(g->in, g->n_in, "input");
    return samples;
}

/* What is read, CAN_SEE and CAN_READ, or CAN_HEAR: by the graph, or (NULL) by config.json and the files beside a
 * checkpoint. */
static TaskCan source_reads(const ModelSource *s, const ModelConfig *c, const OnnxModel *onnx)
{
    bool sees = s->preprocessor || s->processor, reads = s->tokenizer.vocab && file_is(s->tokenizer.vocab);
    bool hears = audio_model_type(c->model_type);
    if (onnx) {
        const OnnxGraph *g = &onnx->graph;
        sees = find_value(g->in, g->n_in, "pixel_values"), reads = find_value(g->in, g->n_in, "input_ids");
        hears = sound_input(g) && !sees && !reads;
    }
    return hears ? CAN_HEAR : (sees ? CAN_SEE : 0) | (reads || !sees ? CAN_READ : 0);
}

/* The task of vectors, of a model that reads this. */
static const Task *task_of_vectors(TaskCan reads)
{
    return task_that_can(reads & CAN_HEAR ? CAN_EMBED_SOUND : reads & CAN_READ ? CAN_EMBED : CAN_EMBED_PICTURE);
}

/* Whether it can be what a model is for that reads this and whose graph is this one (NULL: any). Of a graph with
 * two towers and no image processor beside it, the half that reads texts runs. */
static bool task_suits(const ModelSource *s, const Task *task, TaskCan reads, const OnnxModel *onnx)
{
    bool outputs = !onnx || (task_output(onnx, task, 0) &&
                             (!task->text_output || find_value(onnx->graph.out, onnx->graph.n_out, task->text_output)));
    if (task->text_output) return outputs && reads == (CAN_SEE | CAN_READ) && (s->preprocessor || s->processor);
    return outputs && task_can(task, NULL, reads & CAN_READ ? CAN_READ : reads);
}

/* The task of the class whose items are what is read, and whose outputs the graph has; of several the one
 * that names most of the class. A graph with hidden states only is an embedding whatever known class is
 * named: exporters keep the class of the checkpoint. */
static const Task *task_by_class(const ModelSource *s, const ModelConfig *c, const OnnxModel *onnx)
{
    const TaskCan reads = source_reads(s, c, onnx);
    const Task *plain = task_of_vectors(reads);
    const Task *own = task_of_class(c->architecture);
    size_t n;
    const Task *const *all = task_all(&n), *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (class_fits(all[i], c->architecture) > (best ? class_fits(best, c->architecture) : 0) &&
            task_suits(s, all[i], reads, onnx))
            best = all[i];
    if (best) return best;
    return own && onnx && task_output(onnx, plain, 0) ? plain : own;
}

/* The one family whose class is named like those of question answering, but scores the cells of a
 * table. */
static bool refuse_tables(const Task *task, const ModelConfig *c, Err *err)
{
    if (!task_can(task, NULL, CAN_ANSWER) || !str_starts(c->architecture, "Tapas")) return true;
    return fail(err, EF_UNSUPPORTED,
                "TAPAS is not supported: found architecture %.*s, which answers questions about "
                "tables (table-question-answering), wanted one that answers them from a text",
                STR_ARG(c->architecture));
}

static bool task_without_hand(const ModelSource *s, const ModelConfig *c, const OnnxModel *onnx,
                              const Task **out, Err *err)
{
    const TaskCan reads = source_reads(s, c, onnx);
    *out = s->modules ? task_that_can(CAN_SENTENCE) : task_find(s->inside.task);
    /* "feature-extraction" is a task of texts, and what exporters write for every model without a head */
    if (*out && task_can(*out, NULL, CAN_EMBED) && !(reads & CAN_READ)) *out = task_of_vectors(reads);
    if (!*out) *out = task_by_class(s, c, onnx);
    if (!*out && s->task.n) *out = task_find(str_of(hf_task_detect(c->root, NULL)));
    return *out || fail(err, EF_INVALID_INPUT,
                        "Invalid model type: config.json's architecture \"%.*s\" does not tell the "
                        "task; say it with --task (in the YAML: model_type), put it into the .onnx "
                        "with `metadata embed`, or let it be guessed with --force-task-detection",
                        STR_ARG(c->architecture));
}

const Task *source_variant(const Task *task, const ModelConfig *c, const OnnxModel *onnx)
{
    const Task *v = task->variant;
    bool fits = v && (onnx ? task_output(onnx, v, 1) != NULL : class_fits(v, c->architecture));
    return fits ? v : task;
}

/* Whether the model reads boxes: by the graph, or (NULL) by its family. */
static bool source_reads_boxes(const ModelConfig *c, const OnnxModel *onnx)
{
    if (onnx) return find_value(onnx->graph.in, onnx->graph.n_in, "bbox");
    return str_starts(c->model_type, "layoutlm") || str_is(c->model_type, "lilt");
}

/* Classes and exporters have one name for both: a model that answers from texts, and from pages. */
static const Task *task_of_page(const Task *task, const ModelConfig *c, const OnnxModel *onnx)
{
    bool page = task_can(task, NULL, CAN_ANSWER) && source_reads_boxes(c, onnx);
    return page ? task_that_can(CAN_ANSWER_PAGE) : task;
}

static bool source_any_task(const ModelSource *s, const ModelConfig *c, const OnnxModel *onnx,
                            const Task **out, Err *err)
{
    bool by_hand = s->task.n && !str_is(s->task, "auto");
    if (!(by_hand ? task_by_hand(s->task, c, onnx, out, err) : task_without_hand(s, c, onnx, out, err)))
        return false;
    *out = task_of_page(*out, c, onnx);
    return refuse_tables(*out, c, err);
}

bool source_task(const ModelSource *s, const ModelConfig *c, const OnnxModel *onnx, const Task **out,
                 Err *err)
{
    if (!source_any_task(s, c, onnx, out, err)) return false;
    *out = source_variant(*out, c, onnx);
    return true;
}

/* ---- the graph ---- */

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

/* choices: the inputs are those of multiple choice, [batch_size, num_choices, sequence_length]. */
static bool shape_fits(const OnnxValue *v, bool choices, Err *err)
{
    bool integer = v->type == T_I64 || v->type == T_I32;
    int rank = choices || graph_role(v->name) == ROLE_BOX ? 3 : 2;
    if (integer && (v->rank == rank || v->rank < 0)) return true;
    return fail(err, EF_BAD_MODEL,
                "Input shape mismatch: %.*s: found %s with %d dimensions, wanted int64 "
                "[batch_size, %ssequence_length]",
                STR_ARG(v->name), dtype_name(v->type), v->rank, choices ? "num_choices, " : "");
}

static bool sound_fits(const OnnxValue *v, Err *err)
{
    bool floats = v->type == T_F32 || v->type == T_F16 || v->type == T_F64;
    return (floats && (v->rank == 2 || v->rank == 3 || v->rank < 0)) ||
           fail(err, EF_BAD_MODEL, "Input shape mismatch: %.*s: found %s with %d dimensions, wanted float "
                "[batch_size, samples], or features in place of samples", STR_ARG(v->name), dtype_name(v->type),
                v->rank);
}

static bool pixels_fit(const OnnxValue *v, Err *err)
{
    bool floats = v->type == T_F32 || v->type == T_F16 || v->type == T_F64;
    return (floats && (v->rank == 4 || v->rank < 0)) ||
           fail(err, EF_BAD_MODEL, "Input shape mismatch: %.*s: found %s with %d dimensions, wanted float "
                "[batch_size, num_channels, height, width]", STR_ARG(v->name), dtype_name(v->type), v->rank);
}

bool source_inputs(const OnnxModel *m, Err *err)
{
    const OnnxGraph *g = &m->graph;
    const OnnxValue *ids = find_value(g->in, g->n_in, "input_ids");
    const OnnxValue *pixels = find_value(g->in, g->n_in, "pixel_values");
    if (pixels && !pixels_fit(pixels, err)) return false;
    if (!ids && pixels) return true;
    if (!ids && sound_input(g)) return sound_fits(sound_input(g), err);
    if (!ids) return missing("Missing input_ids: the model's inputs", g->in, g->n_in, err);
    for (int i = 0; i < g->n_in; i++)
        if (role_of_token(graph_role(g->in[i].name)) && !shape_fits(&g->in[i], ids->rank == 3, err))
            return false;
    return true;
}

bool source_sees_pages(const OnnxModel *m)
{
    const OnnxGraph *g = &m->graph;
    return find_value(g->in, g->n_in, "bbox") && find_value(g->in, g->n_in, "pixel_values");
}

/* What an input that the items do not give says about the graph; the first row that fits. */
static const struct Need {
    const char *start, *why;
} needs[] = {
    { "past_", "the cache of a decoder: export it without past" },
    { "use_cache", "the cache of a decoder: export it without past" },
    { "decoder_", "what the decoder has said so far: wanted the encoder, or a classifier" },
    { "encoder_", "what an encoder gave: this is the decoder, wanted the encoder" },
    { "pixel_values", "an image" },
    { "input_features", "audio" },
    { "input_values", "audio" },
    { "bbox", "places on a page" },
    { "input_ids", "a text" },
    { "attention_mask", "a text" },
    { "", "something that no text gives" },
};

/* Whether items of this form give it; form NULL: items of any text's form. */
static bool form_gives(const ItemForm *form, Str name)
{
    Role role = graph_role(name);
    bool seen = form && item_form_needs(form, ITEM_PICTURE);
    if (form && item_form_has(form, ITEM_SOUND))
        return str_is(name, "input_values") || str_is(name, "input_features") || str_is(name, "input") ||
               role == ROLE_STATE || role == ROLE_ALL;
    if (str_is(name, "pixel_values") || str_is(name, "pixel_mask")) return seen;
    if (seen && !item_form_has(form, ITEM_BOXES)) return false; /* pictures alone */
    return role_of_token(role) && (role != ROLE_BOX || !form || item_form_has(form, ITEM_BOXES));
}

static bool input_fits(Str name, const ItemForm *form, Err *err)
{
    size_t row = 0;
    if (form_gives(form, name)) return true;
    while (!str_starts(name, needs[row].start)) row++;
    return fail(err, EF_UNSUPPORTED, "the graph needs the input %.*s, %s", (int)MIN(name.n, 60),
                name.p, needs[row].why);
}

bool source_needs(const Graph *g, const ItemForm *form, Err *err)
{
    for (int i = 0; i < g->n_input; i++)
        if (!input_fits(g->value[g->input[i]].name, form, err)) return false;
    return true;
}

/* Old files list weights as inputs too. */
static bool is_weight(const OnnxGraph *g, Str name)
{
    for (int i = 0; i < g->n_init; i++)
        if (str_eq(g->init[i].name, name)) return true;
    return false;
}

/* Why the output is missing: the graph needs other inputs than texts, or has another head. */
static bool refuse_output(const OnnxModel *m, const Task *task, const char *const names[4], Err *err)
{
    const OnnxGraph *g = &m->graph;
    bool file = item_form_needs(task->items, ITEM_PICTURE) || item_form_has(task->items, ITEM_SOUND);
    const ItemForm *form = file ? task->items : NULL;
    char what[160] = "Model must return ";
    for (int i = 0; i < g->n_in; i++)
        if (!is_weight(g, g->in[i].name) && !input_fits(g->in[i].name, form, err)) return false;
    for (size_t i = 0; i < TASK_OUTPUT_NAMES && names[i]; i++)
        snprintf(what + strlen(what), sizeof what - strlen(what), "%s%s", i ? " or " : "", names[i]);
    return missing(what, g->out, g->n_out, err);
}

/* RoBERTa's and BART's tables begin behind the padding: 514 rows hold 512 tokens. */
static int64_t table_holds(const GraphValue *v)
{
    static const char *const tables[] = { "position_embeddings.weight", "position_embedding.weight",
                                          "embed_positions.weight", "wpe.weight" };
    int64_t rows = v->constant && v->t.rank == 2 ? v->t.dim[0] : 0;
    bool behind = rows > 4 && ((rows - 2) & (rows - 3)) == 0;
    for (size_t i = 0; rows && i < COUNT(tables); i++)
        if (str_ends(v->name, tables[i])) return behind ? rows - 2 : rows;
    return 0;
}

int64_t source_positions(const Graph *g)
{
    Arena scratch = { .local = true };
    const int *uses = graph_uses(g, &scratch);
    int64_t most = 0;
    for (int i = 0; i < g->n_value && !most; i++)
        if (uses[i]) most = table_holds(&g->value[i]);
    arena_free(&scratch);
    return most;
}

static bool labels_fit(const OnnxValue *v, const TaskShape *shape, const ModelConfig *c, Err *err)
{
    int64_t width = shape_labels(shape, v->rank - 1, v->dim + 1);
    if (width < 0 || c->num_labels == 0 || width == c->num_labels) return true;
    return fail(
        err, EF_BAD_MODEL,
        "label count mismatch: config.json has %d labels, the model's %.*s have %lld columns",
        c->num_labels, STR_ARG(v->name), (long long)width);
}

bool source_output(const OnnxModel *m, const Task *task, const ModelConfig *c, int index,
                   const OnnxValue **out, Err *err)
{
    const OnnxValue *v = *out = task_output(m, task, index);
    if (!v) return refuse_output(m, task, task->outputs[index], err);
    if (v->rank >= 0 && !task_fits_rank(task, index, v->rank))
        return fail(err, EF_BAD_MODEL,
                    "Model must return tensor of shape %s: %.*s has %d dimensions",
                    task->shape->text, STR_ARG(v->name), v->rank);
    return index > 0 || labels_fit(v, task->shape, c, err);
}
