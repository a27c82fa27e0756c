/* SPDX-License-Identifier: Apache-2.0
 * model_head.c - how the opened model makes one vector of a text, and so which output of the graph
 * is taken. The first source present wins: the user (--pooling, --normalize, the YAML), modules.json
 * or a package's facts, a graph's own pooled `sentence_embedding`; else it is the mean, marked as assumed.
 * With a head, the output of token vectors is taken even if the graph has a pooled one: rows then stay
 * ragged, and a prompt can be left out. */
#include "base/log.h"
#include "export/modules.h"
#include "model/model.h"

/* Those whose rows are vectors of tokens; all the others have no head. */
bool model_makes_vectors(const Model *m)
{
    return m->task && task_can(m->task, NULL, CAN_EMBED);
}

static bool has_script(const Model *m) /* that pools, or changes the tokens' vectors */
{
    return m->transform && m->transform->post;
}

/* The result is one vector a text, pooled by head, graph or script. */
static bool pools(const Model *m)
{
    return task_can(m->task, NULL, CAN_SENTENCE);
}

static const OnnxValue *find_output(const OnnxModel *onnx, const char *name, int rank)
{
    for (int i = 0; i < onnx->graph.n_out; i++) {
        const OnnxValue *v = &onnx->graph.out[i];
        if (str_is(v->name, name) && (v->rank == rank || v->rank < 0)) return v;
    }
    return NULL;
}

static const OnnxValue *pooled_output(const OnnxModel *onnx)
{
    return find_output(onnx, "sentence_embedding", 2);
}

static const OnnxValue *token_output(const OnnxModel *onnx)
{
    const OnnxValue *v = find_output(onnx, "last_hidden_state", 3);
    return v ? v : find_output(onnx, "token_embeddings", 3);
}

/* ---- what is told ---- */

/* Older exports did not copy the weights of dense layers: the graph has them. */
static bool head_of_modules(Model *m, const ModelSource *s, const OnnxModel *onnx,
                            VectorHead **head, Err *err)
{
    Modules modules;
    ModulesAt at = { s->modules, m->sentence, onnx };
    if (modules_read(&m->arena, &at, &modules, err) &&
        modules_head(&m->arena, &modules, head, err))
        return true;
    *head = NULL;
    return err->code == EF_NOT_FOUND && pooled_output(onnx);
}

static VectorHead *head_of_mean(Arena *arena)
{
    VectorHead *head = NEW(arena, VectorHead);
    head->way[POOL_MEAN] = head->assumed = true;
    return head;
}

/* The user's wishes replace the ways of pooling and the final Normalize; dense layers stay. */
static bool change_head(const HeadWish *wish, VectorHead *head, Err *err)
{
    if (wish->pooling != POOL_OWN) {
        memset(head->way, 0, sizeof head->way);
        head->way[wish->pooling] = true;
        head->assumed = false;
    }
    if (wish->normalize == NORMALIZE_NO && head_normalizes(head)) head->n--;
    if (wish->normalize == NORMALIZE_YES && !head_normalizes(head)) {
        if (head->n == HEAD_STEPS) return fail(err, EF_UNSUPPORTED, "normalize: too many modules");
        head->step[head->n++] = (HeadStep){ 0 };
    }
    return true;
}

/* ---- which output ---- */
static bool wishes(const HeadWish *wish)
{
    return wish->pooling != POOL_OWN || wish->normalize != NORMALIZE_OWN;
}

bool model_takes_no_wish(const Model *m, const HeadWish *wish, Err *err)
{
    return !wishes(wish) ||
           fail(err, EF_INVALID_INPUT, "pooling, normalize: found a model for %s, wanted one for "
                "sentence_embedding or embedding: only vectors are pooled", m->task->name);
}

static bool choose_output(const Model *m, const OnnxModel *onnx, const HeadWish *wish, bool told,
                          Str *name, Err *err)
{
    const OnnxValue *tokens = token_output(onnx), *pooled = pooled_output(onnx), *other;
    bool rows = told || has_script(m) || wishes(wish) || !pooled;
    if (pools(m) && tokens && rows) return *name = tokens->name, true;
    if (pools(m) && pooled) return *name = pooled->name, true;
    if (!source_output(onnx, m->task, &m->config, 0, &other, err)) return false;
    *name = other->name;
    return true;
}

static const OnnxValue *named_output(const OnnxModel *onnx, Str name)
{
    for (int i = 0; i < onnx->graph.n_out; i++)
        if (str_eq(onnx->graph.out[i].name, name)) return &onnx->graph.out[i];
    return NULL;
}

static int last_dim(const OnnxValue *v)
{
    int64_t n = v && v->rank > 0 ? v->dim[v->rank - 1] : 0;
    return n > 0 && n <= HEAD_MOST_WIDTH ? (int)n : 0;
}

/* The graph pools, or a script does: then there is no head. */
static bool without_head(Model *m, const HeadWish *wish, const OnnxValue *v, Err *err)
{
    bool script = has_script(m);
    m->config.head = NULL;
    m->config.graph_pools = !script;
    m->config.vector_size = last_dim(v);
    return !wishes(wish) ||
           fail(err, EF_INVALID_INPUT, "pooling, normalize: found %s, wanted a graph whose output "
                "has a vector for each token",
                script ? "a Postprocess script" : "a graph that pools");
}

static bool settle_head(Model *m, const OnnxModel *onnx, const HeadWish *wish, VectorHead *head,
                        Str output, Err *err)
{
    const OnnxValue *v = named_output(onnx, output);
    bool pooled = v && (v == pooled_output(onnx) || v->rank == 2);
    if (pools(m) && (pooled || has_script(m))) return without_head(m, wish, v, err);
    if (!head) head = head_of_mean(&m->arena);
    if (!change_head(wish, head, err)) return false;
    int width = last_dim(v) ? last_dim(v) : m->config.hidden_size;
    m->config.head = head;
    m->config.vector_size = (int)head_width(head, POOL_OWN, width);
    return !width || head_fits(head, width, err);
}

bool model_output(Model *m, const ModelSource *s, const OnnxModel *onnx, Str *output, Err *err)
{
    VectorHead *head = NULL;
    if ((s->modules || m->sentence) && !head_of_modules(m, s, onnx, &head, err)) return false;
    if (!choose_output(m, onnx, &s->wish, head, output, err))
        return within(err, "%.*s", STR_ARG(path_name(s->weights)));
    return settle_head(m, onnx, &s->wish, head, *output, err);
}

bool model_packed_output(Model *m, const Value *facts, const HeadWish *wish, const OnnxModel *onnx,
                         Str *output, Err *err)
{
    VectorHead *head = NULL;
    const Value *told = value_get(facts, "head");
    if (told && !head_load(&m->arena, told, m->package.member[MEMBER_HEAD].bytes, &head, err))
        return false;
    return choose_output(m, onnx, wish, head, output, err) &&
           settle_head(m, onnx, wish, head, *output, err);
}

/* ---- what the user says ---- */
bool head_wish(Str pooling, Str normalize, HeadWish *wish, Err *err)
{
    bool yes = str_is(normalize, "true");
    if (normalize.n && !yes && !str_is(normalize, "false"))
        return fail(err, EF_INVALID_INPUT, "normalize: found \"%.*s\", wanted true or false",
                    (int)MIN(normalize.n, 40), normalize.p);
    if (normalize.n) wish->normalize = yes ? NORMALIZE_YES : NORMALIZE_NO;
    if (pooling.n == 0 || head_pooling_find(pooling, &wish->pooling)) return true;
    return fail(err, EF_INVALID_INPUT, "pooling: found \"%.*s\", wanted mean, cls, max, last, "
                "weightedmean or mean_sqrt_len_tokens", (int)MIN(pooling.n, 40), pooling.p);
}

const char *model_pooling(const Model *m, Arena *arena)
{
    Buf b = { 0 };
    if (!model_makes_vectors(m)) return NULL;
    if (!m->config.head && m->config.graph_pools) return "graph";
    if (!m->config.head && has_script(m)) return "script";
    head_ways(m->config.head, &b);
    const char *words = str_dup(arena, buf_view(&b));
    buf_free(&b);
    return words;
}

void model_describe_head(const Model *m, Buf *out)
{
    const VectorHead *head = m->config.head;
    if (!model_makes_vectors(m) || (!pools(m) && (!head || head->assumed))) return;
    buf_puts(out, "pooling: ");
    if (head) head_describe(head, out);
    else buf_puts(out, m->config.graph_pools ? "by the graph" : "by the script");
    if (m->encode.max_length) buf_printf(out, ", max %d tokens", m->encode.max_length);
    else buf_puts(out, ", no limit of tokens");
}

void model_log_head(const Model *m)
{
    Buf line = { 0 };
    model_describe_head(m, &line);
    if (line.n) log_info("%.*s", STR_ARG(buf_view(&line)));
    buf_free(&line);
}

void model_log_assumed(const Model *m)
{
    if (m->task && pools(m) && m->config.head && m->config.head->assumed) model_log_head(m);
}
