/* SPDX-License-Identifier: Apache-2.0
 * htp_extract.c - the nodes of a module as a model of their own. What they read and do not make
 * becomes an input, what others read of theirs an output; nodes that depend on constants alone
 * are included. Types come from the file where it tells them, else from shape inference over the
 * whole. */
#include "htp.h"


#include "graph/graph.h"

typedef struct Extract {
    Arena *arena;
    const OnnxModel *from;
    bool *taken;            /* [n_node] */
    Map maker;              /* value to node + 1 */
    Map weight;             /* initializer to its place + 1 */
    Map asked;              /* values that are inputs already */
    bool *kept;             /* [n_init] */
    Buf in, out;            /* of Str */
} Extract;

/* ---- which nodes ---- */
/* Whether c is in the set behind '[' ("a-z]", "!0-9]"); NULL: no set, as no ']' ends it, else where it ends. */
static const char *glob_set(const char *p, char c, bool *in)
{
    const bool other = *p == '!' || *p == '^';
    bool found = false;
    p += other;
    for (const char *first = p; *p && (*p != ']' || p == first); p++) {
        const char low = *p;
        if (p[1] == '-' && p[2] && p[2] != ']') p += 2;
        found = found || (low <= c && c <= *p);
    }
    *in = found != other;
    return *p ? p + 1 : NULL;
}

/* One character against what stands at p, which is no '*'; NULL: another one, else what comes behind. */
static const char *glob_one(const char *p, char c)
{
    bool in;
    const char *behind = *p == '[' ? glob_set(p + 1, c, &in) : NULL;
    if (behind) return in ? behind : NULL;
    if (*p == '?') return p + 1;
    if (*p == '\\' && p[1]) p++;
    return *p == c ? p + 1 : NULL;
}

/* A shell's pattern against the whole text; '/' is a character like others. (fnmatch is 16 KB of the program.) */
static bool glob_matches(const char *p, const char *text)
{
    const char *star = NULL, *from = NULL; /* the last '*', and the text that it has not taken yet */
    while (*text) {
        const char *next = *p && *p != '*' ? glob_one(p, *text) : NULL;
        if (*p == '*') star = ++p, from = text;
        else if (next) p = next, text++;
        else if (star) p = star, text = ++from;
        else return false;
    }
    while (*p == '*') p++;
    return *p == 0;
}

/* The pattern against a tag or its end: "BertLayer.0" finds ".../BertEncoder/BertLayer.0". */
static bool htp_tag_matches(const char *pattern, const char *tag)
{
    if (glob_matches(pattern, tag)) return true;
    if (*pattern == '/') return false;
    for (const char *p = strchr(tag, '/'); p; p = strchr(p + 1, '/'))
        if (glob_matches(pattern, p + 1)) return true;
    return false;
}

bool htp_matches(Arena *arena, Str tag, const char *pattern)
{
    char *text = str_dup(arena, tag);
    for (size_t n = tag.n; n; n--) { /* the module itself, and what it lies in */
        if (n < tag.n && tag.p[n] != '/') continue;
        text[n] = 0;
        if (htp_tag_matches(pattern, text)) return true;
    }
    return false;
}

static int select_nodes(Extract *c, const Htp *h, const char *pattern)
{
    int n = 0;
    for (int i = 0; i < h->graph->n_node; i++) {
        c->taken[i] = h->tag[i].n && htp_matches(c->arena, h->tag[i], pattern);
        n += c->taken[i];
    }
    return n;
}

/* ---- what they read ---- */
typedef void ReadFn(Extract *, Str value);

/* Values that a graph inside a node takes from outside it. */
static void each_outer(Extract *c, const OnnxGraph *g, ReadFn *fn)
{
    Map own = { 0 };
    for (int i = 0; i < g->n_in; i++) map_put(&own, c->arena, g->in[i].name, c);
    for (int i = 0; i < g->n_init; i++) map_put(&own, c->arena, g->init[i].name, c);
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_out; k++) map_put(&own, c->arena, g->node[i].out[k], c);
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_in; k++)
            if (!map_get(&own, g->node[i].in[k])) fn(c, g->node[i].in[k]);
    for (int i = 0; i < g->n_node; i++)
        for (int a = 0; a < g->node[i].n_attr; a++)
            for (size_t k = 0; g->node[i].attr[a].g && k < g->node[i].attr[a].n; k++)
                each_outer(c, &g->node[i].attr[a].g[k], fn);
    for (int i = 0; i < g->n_out; i++)
        if (!map_get(&own, g->out[i].name)) fn(c, g->out[i].name);
}

static void each_read(Extract *c, const OnnxNode *n, ReadFn *fn)
{
    for (int i = 0; i < n->n_in; i++) fn(c, n->in[i]);
    for (int a = 0; a < n->n_attr; a++)
        for (size_t k = 0; n->attr[a].g && k < n->attr[a].n; k++)
            each_outer(c, &n->attr[a].g[k], fn);
}

/* ---- what hangs on constants alone ---- */
static bool htp_extract_constant_node(const Extract *c, const bool *constant, const OnnxNode *n)
{
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i].n || map_get(&c->weight, n->in[i])) continue;
        intptr_t maker = (intptr_t)map_get(&c->maker, n->in[i]);
        if (!maker || !constant[maker - 1]) return false;
    }
    for (int a = 0; a < n->n_attr; a++)
        if (n->attr[a].g) return false; /* reads who knows what */
    return true;
}

/* Backwards, so that a constant's own constants come too. */
static void take_constants(Extract *c)
{
    const OnnxGraph *g = &c->from->graph;
    bool *constant = ARRAY(c->arena, bool, g->n_node + 1);
    for (int i = 0; i < g->n_node; i++)
        constant[i] = htp_extract_constant_node(c, constant, &g->node[i]);
    for (int i = g->n_node - 1; i >= 0; i--) {
        if (!c->taken[i]) continue;
        for (int k = 0; k < g->node[i].n_in; k++) {
            intptr_t maker = (intptr_t)map_get(&c->maker, g->node[i].in[k]);
            if (maker && constant[maker - 1]) c->taken[maker - 1] = true;
        }
    }
}

/* ---- the edge of the cut ---- */
static void note_input(Extract *c, Str value)
{
    if (!value.n || map_get(&c->asked, value)) return;
    intptr_t maker = (intptr_t)map_get(&c->maker, value);
    intptr_t weight = (intptr_t)map_get(&c->weight, value);
    if (maker && c->taken[maker - 1]) return;
    if (!maker && weight) {
        c->kept[weight - 1] = true;
        return;
    }
    map_put(&c->asked, c->arena, value, c);
    buf_add(&c->in, &value, sizeof value);
}

static void note_output(Extract *c, Str value)
{
    intptr_t maker = value.n ? (intptr_t)map_get(&c->maker, value) : 0;
    if (!maker || !c->taken[maker - 1] || map_get(&c->asked, value)) return;
    map_put(&c->asked, c->arena, value, c);
    buf_add(&c->out, &value, sizeof value);
}

/* A module whose results are not read elsewhere still has outputs. */
static void note_ends(Extract *c)
{
    const OnnxGraph *g = &c->from->graph;
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; c->taken[i] && k < g->node[i].n_out; k++) note_output(c, g->node[i].out[k]);
}

static void find_edge(Extract *c)
{
    const OnnxGraph *g = &c->from->graph;
    for (int i = 0; i < g->n_node; i++)
        if (c->taken[i]) each_read(c, &g->node[i], note_input);
    for (int i = 0; i < g->n_node; i++)
        if (!c->taken[i]) each_read(c, &g->node[i], note_output);
    for (int i = 0; i < g->n_out; i++) note_output(c, g->out[i].name);
    if (!c->out.n) note_ends(c);
}

/* ---- types ---- */
typedef struct Types {
    Arena *arena;
    Map said;               /* OnnxValue * of the file */
    const Graph *graph;     /* NULL: not one we can read */
    const Tensor *t;        /* [n_value] of it */
    Map index;              /* value to number + 1 */
} Types;

static void htp_extract_note_said(Types *t, const OnnxValue *v, int n)
{
    for (int i = 0; i < n; i++)
        if (v[i].type != T_NONE) map_put(&t->said, t->arena, v[i].name, (void *)(uintptr_t)&v[i]);
}

/* Sizes by inference with 2 where a dim is open: types and ranks, not sizes, are kept of it. */
static const Tensor *infer_plain(Arena *arena, const Graph *g)
{
    Err ignored = { 0 };
    Inferred in = graph_inferred(g, arena);
    for (int i = 0; i < g->n_input; i++) {
        Tensor *t = &in.t[g->input[i]];
        *t = g->value[g->input[i]].t;
        t->data = NULL;
        if (t->type == T_NONE || t->rank < 0) return NULL;
        for (int k = 0; k < t->rank; k++)
            if (t->dim[k] < 0) t->dim[k] = 2;
    }
    if (!graph_infer(g, arena, &in, &ignored)) return NULL;
    for (int v = 0; v < g->n_value; v++)
        for (int k = 0; k < in.t[v].rank && !g->value[v].constant; k++)
            in.t[v].dim[k] = DIM_UNKNOWN;
    return in.t;
}

static void infer_types(Types *t, const OnnxModel *m)
{
    Err ignored = { 0 };
    Graph *g;
    Symbols symbols;
    if (!graph_from_onnx(t->arena, m, &g, &ignored)) return;
    bool named = graph_symbols(g, t->arena, &symbols, &ignored) && symbols.known;
    t->t = named ? symbols.t : infer_plain(t->arena, g);
    t->graph = t->t ? g : NULL;
    for (int v = 0; t->graph && v < g->n_value; v++)
        map_put(&t->index, t->arena, g->value[v].name, (void *)(intptr_t)(v + 1));
}

static void htp_extract_put_dim(OnnxValue *v, int k, int64_t dim)
{
    v->dim[k] = dim >= 0 ? dim : DIM_UNKNOWN;
    if (dim == DIM_BATCH) v->symbol[k] = STR("batch_size");
    if (dim == DIM_SEQUENCE) v->symbol[k] = STR("sequence_length");
}

static bool htp_extract_type_of(const Types *t, Str name, OnnxValue *v, Err *err)
{
    const OnnxValue *said = map_get(&t->said, name);
    intptr_t at = (intptr_t)map_get(&t->index, name);
    const Tensor *found = at ? &t->t[at - 1] : NULL;
    if (said) return *v = *said, true;
    if (!found || found->type == T_NONE)
        return fail(err, EF_UNSUPPORTED, "the type of '%.*s' is not known: neither the file nor "
                    "shape inference tells it", (int)MIN(name.n, 120), name.p);
    *v = (OnnxValue){ .name = name, .type = found->type, .rank = found->rank };
    for (int k = 0; k < found->rank; k++) htp_extract_put_dim(v, k, found->dim[k]);
    return true;
}

static bool type_all(const Types *t, const Buf *names_of, OnnxValue **out, int *n, Err *err)
{
    const Str *name = (const Str *)(const void *)names_of->p;
    *n = (int)(names_of->n / sizeof *name);
    *out = ARRAY(t->arena, OnnxValue, *n + 1);
    for (int i = 0; i < *n; i++)
        if (!htp_extract_type_of(t, name[i], &(*out)[i], err)) return false;
    return true;
}

/* ---- the new model ---- */
static bool htp_extract_assemble(Extract *c, OnnxModel *to, Err *err)
{
    const OnnxGraph *g = &c->from->graph;
    Types t = { .arena = c->arena };
    htp_extract_note_said(&t, g->info, g->n_info);
    htp_extract_note_said(&t, g->in, g->n_in);
    htp_extract_note_said(&t, g->out, g->n_out);
    infer_types(&t, c->from);
    *to = *c->from;
    to->n_meta = 0;
    to->graph = (OnnxGraph){ .name = g->name };
    to->graph.node = ARRAY(c->arena, OnnxNode, g->n_node + 1);
    to->graph.init = ARRAY(c->arena, OnnxTensor, g->n_init + 1);
    for (int i = 0; i < g->n_node; i++)
        if (c->taken[i]) to->graph.node[to->graph.n_node++] = g->node[i];
    for (int i = 0; i < g->n_init; i++)
        if (c->kept[i]) to->graph.init[to->graph.n_init++] = g->init[i];
    to->ir_version = MAX(to->ir_version, 4); /* before, every weight had to be an input too */
    return type_all(&t, &c->in, &to->graph.in, &to->graph.n_in, err) &&
           type_all(&t, &c->out, &to->graph.out, &to->graph.n_out, err);
}

static bool cut_out(Extract *c, const Htp *h, const char *pattern, OnnxModel *to, Err *err)
{
    const OnnxGraph *g = &c->from->graph;
    for (int i = 0; i < g->n_init; i++)
        map_put(&c->weight, c->arena, g->init[i].name, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < g->n_node; i++)
        for (int k = 0; k < g->node[i].n_out; k++)
            if (g->node[i].out[k].n)
                map_put(&c->maker, c->arena, g->node[i].out[k], (void *)(intptr_t)(i + 1));
    if (!select_nodes(c, h, pattern))
        return fail(err, EF_NOT_FOUND, "--tag: no node has a tag that \"%s\" names; `analyze "
                    "--output-format csv` lists them", pattern);
    take_constants(c);
    find_edge(c);
    return htp_extract_assemble(c, to, err);
}

bool htp_extract(Arena *arena, const OnnxModel *m, const Htp *h, const char *pattern, OnnxModel *to,
                 Err *err)
{
    Extract c = { .arena = arena, .from = m };
    c.taken = ARRAY(arena, bool, m->graph.n_node + 1);
    c.kept = ARRAY(arena, bool, m->graph.n_init + 1);
    bool ok = cut_out(&c, h, pattern, to, err);
    buf_free(&c.in), buf_free(&c.out);
    return ok;
}
