/* SPDX-License-Identifier: Apache-2.0
 * feed.c - see feed.h. */
#include "model/feed.h"

const char *const shape_sources[] = { [SHAPE_SIDECAR] = "sidecar", [SHAPE_GRAPH] = "graph",
                                      [SHAPE_SESSION] = "session", NULL };

/* ---- which inputs, which shapes ---- */
static bool is_graph_input(const Graph *g, Str name)
{
    for (int i = 0; i < g->n_input; i++)
        if (str_eq(g->value[g->input[i]].name, name)) return true;
    return false;
}

/* A file that does not even say how many dims there are: those of the role. */
static void shape_by_role(FeedInput *in)
{
    in->rank = in->role == ROLE_BOX ? 3 : in->role == ROLE_ROW ? 4 : 2;
    for (int i = 0; i < in->rank; i++) in->dim[i] = -1;
    if (in->role == ROLE_BOX) in->dim[2] = BOX_SIDES;
    in->from = SHAPE_SESSION;
}

static FeedInput feed_input(const OnnxValue *v, const DeclaredShape *declared)
{
    FeedInput in = { .name = v->name, .type = v->type, .role = graph_role(v->name), .rank = v->rank,
                     .from = declared->said ? SHAPE_SIDECAR : SHAPE_GRAPH };
    if (v->rank < 0) shape_by_role(&in);
    for (int i = 0; i < v->rank; i++) {
        in.dim[i] = v->dim[i] > 0 ? v->dim[i] : -1;
        if (declared->said && declared->dim[i] > 0) in.dim[i] = declared->dim[i];
        if (in.dim[i] < 0) in.symbol[i] = v->symbol[i];
    }
    return in;
}

static const char *processor_of(const Model *m)
{
    if (m->image) return m->tokenizer ? "processor" : "image_processor";
    if (m->audio) return "feature_extractor";
    return "tokenizer";
}

static const char *kind_of_processor(const Model *m)
{
    return m->image ? m->image->name : m->audio ? m->audio->name : tokenizer_kind(m->tokenizer);
}

void feed_of(Arena *arena, const Model *m, Feed *out)
{
    const OnnxGraph *file = &m->graph->model->graph;
    DeclaredShape *declared = ARRAY(arena, DeclaredShape, file->n_in + 1);
    *out = (Feed){ .processor = processor_of(m), .kind = kind_of_processor(m),
                   .input = ARRAY(arena, FeedInput, file->n_in + 1) };
    if (m->weights) source_declared_shapes(m->weights, file, declared);
    for (int i = 0; i < file->n_in; i++)
        if (is_graph_input(m->graph, file->in[i].name)) out->input[out->n++] = feed_input(&file->in[i], &declared[i]);
}

/* ---- rows ---- */
typedef struct FeedRows {
    const Prepared *row;
    size_t n, items;             /* items: of those rows */
    int64_t length;              /* tokens of the longest, or as the shape fixes it */
} FeedRows;

static bool prepare_rows(Arena *arena, const Model *m, const FeedItems *in, FeedRows *out, Err *err)
{
    static const InputOptions none;
    const InputOptions *options = in->options ? in->options : &none;
    const size_t n = in->n;
    InputModel model = model_input(m);
    Arena work = { .local = true };
    PreparedRows *each = ARRAY(arena, PreparedRows, n);
    bool ok = true;
    *out = (FeedRows){ .items = n };
    for (size_t i = 0; ok && i < n; i++) {
        each[i] = (PreparedRows){ NEW(arena, Prepared), 0 };
        ok = m->preparer->prepare(&(PrepareCall){ &model, options, arena, &work }, &in->item[i], &each[i], err) ||
             within(err, "inputs[%zu]", i);
        arena_reset(&work, 1 << 20);
        out->n += each[i].n;
    }
    arena_free(&work);
    Prepared *all = ARRAY(arena, Prepared, out->n + 1), *to = all;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t k = 0; k < each[i].n; k++) *to++ = each[i].row[k];
    out->row = all;
    return ok;
}

/* The batch that an input's shape fixes: rows up to it are the last one again. */
static bool fill_batch(Arena *arena, const FeedInput *in, FeedRows *rows, Err *err)
{
    int64_t batch = in->rank ? in->dim[0] : -1;
    if (batch < 0 || in->role == ROLE_ALL || rows->n == (size_t)batch) return true;
    if (rows->n > (size_t)batch)
        return fail(err, EF_INVALID_INPUT, "found %zu inputs, wanted at most %lld: the graph takes no more at once",
                    rows->n, (long long)batch);
    Prepared *all = ARRAY(arena, Prepared, batch);
    for (int64_t i = 0; i < batch; i++) all[i] = rows->row[MIN((size_t)i, rows->n - 1)];
    rows->row = all;
    rows->n = (size_t)batch;
    return true;
}

static bool fix_length(const FeedInput *in, FeedRows *rows, Err *err)
{
    if (!role_of_token(in->role)) return true;
    const int axis = in->role == ROLE_BOX ? in->rank - 2 : in->rank - 1;
    if (axis < 1)
        return fail(err, EF_UNSUPPORTED, "%.*s: found a graph input of %d dims, wanted rows and tokens%s",
                    STR_ARG(in->name), in->rank, in->role == ROLE_BOX ? " and sides" : "");
    int64_t fixed = in->dim[axis];
    if (fixed < 0) return true;
    if (rows->length > fixed)
        return fail(err, EF_INVALID_INPUT, "found %lld tokens, wanted at most %lld: the graph takes no more",
                    (long long)rows->length, (long long)fixed);
    rows->length = fixed;
    return true;
}

/* ---- tensors ---- */
/* Id of the padding: of the tokenizer's token that is called so, else as config.json says. */
static int64_t padding_id(const Model *m)
{
    static const char *const names[] = { "[PAD]", "<pad>" };
    for (size_t i = 0; m->tokenizer && i < COUNT(names); i++) {
        int32_t id = tokenizer_id(m->tokenizer, str_of(names[i]));
        if (id >= 0) return id;
    }
    return m->config.pad_token_id;
}

static int64_t token_number(const Model *m, Role role, const Prepared *row, int64_t token, int side)
{
    const Encoding *e = &row->encoding;
    switch (role) {
    case ROLE_TOKEN: return e->ids[token];
    case ROLE_MASK: return 1;
    case ROLE_POSITION: return token;
    case ROLE_TYPE: return m->flat_types || !e->type_ids ? 0 : e->type_ids[token];
    case ROLE_BOX: return row->boxes ? row->boxes[token * BOX_SIDES + side] : 0;
    default: return 0;
    }
}

static void put_number(const Tensor *t, int64_t at, int64_t number)
{
    if (t->type == T_I32) ((int32_t *)t->data)[at] = (int32_t)number;
    else if (t->type == T_F32) ((float *)t->data)[at] = (float)number;
    else ((int64_t *)t->data)[at] = number;
}

/* [rows, length] or [rows, length, sides]; of multiple choice [items, choices, length], the same numbers. */
static void feed_tokens(Arena *arena, const Model *m, const FeedInput *in, const FeedRows *rows, Tensor *t)
{
    const int sides = in->role == ROLE_BOX ? BOX_SIDES : 1;
    const int64_t padding = in->role == ROLE_TOKEN ? padding_id(m) : 0, length = rows->length;
    bool choices = in->rank == (in->role == ROLE_BOX ? 4 : 3);
    t->type = in->type == T_I32 || in->type == T_F32 ? in->type : T_I64;
    if (choices) t->dim[t->rank++] = (int64_t)rows->items;
    t->dim[t->rank++] = (int64_t)(choices ? rows->n / rows->items : rows->n);
    t->dim[t->rank++] = length;
    if (in->role == ROLE_BOX) t->dim[t->rank++] = sides;
    t->data = arena_alloc(arena, rows->n * (size_t)length * (size_t)sides * sizeof(int64_t));
    for (size_t r = 0; r < rows->n; r++) {
        const Prepared *row = &rows->row[r];
        int64_t n = (int64_t)row->encoding.n, first = m->pad_left ? length - n : 0;
        for (int64_t i = 0; i < length * sides; i++) {
            int64_t token = i / sides - first;
            bool there = token >= 0 && token < n;
            put_number(t, (int64_t)r * length * sides + i,
                       there ? token_number(m, in->role, row, token, (int)(i % sides)) : padding);
        }
    }
}

static const Tensor *own_tensor(const Prepared *row, Str name)
{
    for (int i = 0; i < row->features; i++)
        if (str_is(name, row->feature[i].input)) return &row->feature[i].t;
    return NULL;
}

static bool same_dims(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && a->type == b->type && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

/* The graph's own sizes, where they are fixed. */
static bool fits_shape(const FeedInput *in, const Tensor *t, Err *err)
{
    bool fits = in->rank == t->rank + 1;
    for (int i = 0; fits && i < t->rank; i++) fits = in->dim[i + 1] < 0 || in->dim[i + 1] == t->dim[i];
    if (fits) return true;
    Arena scratch = { .local = true };
    Buf found = { .arena = &scratch }, wanted = { .arena = &scratch };
    for (int i = 0; i < t->rank; i++) buf_printf(&found, "%s%lld", i ? " x " : "", (long long)t->dim[i]);
    for (int i = 1; i < in->rank; i++) buf_printf(&wanted, "%s%lld", i > 1 ? " x " : "", (long long)in->dim[i]);
    fail(err, EF_INVALID_INPUT, "%.*s: the processor makes %.*s, wanted %.*s (-1: any)", STR_ARG(in->name),
         STR_ARG(buf_view(&found)), STR_ARG(buf_view(&wanted)));
    arena_free(&scratch);
    return false;
}

/* The longest of samples, which are one after another; of others, all have the size of the first. */
static const Tensor *largest_own(const FeedInput *in, const FeedRows *rows, Err *err)
{
    const Tensor *most = own_tensor(&rows->row[0], in->name);
    if (!most) return fail(err, EF_UNSUPPORTED, "%.*s: no processor here makes it", STR_ARG(in->name)), NULL;
    for (size_t r = 1; r < rows->n; r++) {
        const Tensor *one = own_tensor(&rows->row[r], in->name);
        bool line = one && one->rank == 1 && most->rank == 1 && one->type == most->type;
        if (!line && (!one || !same_dims(one, most)))
            return fail(err, EF_INVALID_INPUT, "%.*s: found inputs of different sizes, wanted one at a time",
                        STR_ARG(in->name)), NULL;
        if (line && one->dim[0] > most->dim[0]) most = one;
    }
    return most;
}

/* [rows, ...]: what each row brings, one after another; shorter samples end in zeros. */
static bool feed_own(Arena *arena, const FeedInput *in, const FeedRows *rows, Tensor *t, Err *err)
{
    const Tensor *most = largest_own(in, rows, err);
    if (!most || !fits_shape(in, most, err)) return false;
    const size_t bytes = tensor_bytes(most);
    *t = (Tensor){ .type = most->type, .rank = most->rank + 1, .dim = { (int64_t)rows->n } };
    for (int i = 0; i < most->rank; i++) t->dim[i + 1] = most->dim[i];
    t->data = arena_alloc(arena, rows->n * bytes);
    for (size_t r = 0; r < rows->n; r++) {
        const Tensor *one = own_tensor(&rows->row[r], in->name);
        memcpy((char *)t->data + r * bytes, one->data, tensor_bytes(one));
    }
    return true;
}

bool feed_make(Arena *arena, const Model *m, const Feed *feed, const FeedItems *in, Named *out, Err *err)
{
    FeedRows rows;
    if (in->n == 0) return fail(err, EF_INVALID_INPUT, "found no inputs, wanted at least one");
    if (!prepare_rows(arena, m, in, &rows, err)) return false;
    for (size_t r = 0; r < rows.n; r++) rows.length = MAX(rows.length, (int64_t)rows.row[r].encoding.n);
    for (int i = 0; i < feed->n; i++)
        if (!fix_length(&feed->input[i], &rows, err) || !fill_batch(arena, &feed->input[i], &rows, err)) return false;
    for (int i = 0; i < feed->n; i++) {
        out[i] = (Named){ .name = feed->input[i].name };
        if (role_of_token(feed->input[i].role) && rows.length) feed_tokens(arena, m, &feed->input[i], &rows, &out[i].t);
        else if (!feed_own(arena, &feed->input[i], &rows, &out[i].t, err)) return false;
    }
    return true;
}
