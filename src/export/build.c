/* SPDX-License-Identifier: Apache-2.0
 * build.c - nodes, constants and weights of a graph in the making. */
#include "build.h"

#include "export/weights.h"

bool build_ok(const Builder *b)
{
    return !b->failed;
}

void build_fail(Builder *b, ef_code code, const char *format, ...)
{
    if (b->failed) return;
    b->failed = true;
    va_list args;
    va_start(args, format);
    text_print(b->err->message, sizeof b->err->message, format, args);
    va_end(args);
    b->err->code = code;
}

const char *build_path(Builder *b, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = text_print(text, sizeof text, format, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < sizeof text);
    return str_dup(b->arena, (Str){ text, (size_t)n });
}

static bool build_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "encoder.layer.0.output" to "/encoder/layer.0/output": numbers stay with their list. */
static const char *scope_of(Builder *b, const char *path)
{
    char *scope = str_format(b->arena, "%s%s", *path ? "/" : "", path);
    for (char *p = scope; *p; p++)
        if (*p == '.' && !build_is_digit(p[1])) *p = '/';
    return scope;
}

/* A unique name: "name", "name_1", "name_2". */
static const char *build_unique_name(Builder *b, const char *name)
{
    int *count = map_get(&b->names, str_of(name));
    if (!count) {
        map_put(&b->names, b->arena, str_of(name), NEW(b->arena, int));
        return name;
    }
    return str_format(b->arena, "%s_%d", name, ++*count);
}

static void *build_grow(Builder *b, void *old, int used, int *room, size_t size)
{
    if (used < *room) return old;
    int more = MAX(*room * 2, 64);
    void *p = arena_alloc(b->arena, (size_t)more * size);
    if (used) memcpy(p, old, (size_t)used * size);
    *room = more;
    return p;
}

static void put_tag(Builder *b, OnnxNode *n, const char *path)
{
    n->meta = NEW(b->arena, OnnxPair);
    n->meta[0] = (OnnxPair){ STR("hierarchy_tag"), str_of(build_tag(b, path)) };
    n->n_meta = 1;
}

Str build_node(Builder *b, const char *path, const char *op, const Str *in, int n_in)
{
    OnnxGraph *g = &b->graph;
    g->node = build_grow(b, g->node, g->n_node, &b->node_room, sizeof *g->node);
    b->path = build_grow(b, b->path, g->n_node, &b->path_room, sizeof *b->path);
    b->path[g->n_node] = str_dup(b->arena, str_of(path));
    OnnxNode *n = &g->node[g->n_node++];
    const char *name = build_unique_name(b, str_format(b->arena, "%s/%s", scope_of(b, path), op));
    *n = (OnnxNode){ .op = str_of(op), .name = str_of(name), .n_in = n_in };
    n->in = ARRAY(b->arena, Str, n_in + 1);
    memcpy(n->in, in, sizeof *in * (size_t)n_in);
    if (b->tags) put_tag(b, n, path);
    return build_more(b);
}

static OnnxNode *build_last_node(Builder *b)
{
    return &b->graph.node[b->graph.n_node - 1];
}

Str build_more(Builder *b)
{
    enum { MOST = 4 };
    OnnxNode *n = build_last_node(b);
    if (!n->out) n->out = ARRAY(b->arena, Str, MOST);
    assert(n->n_out < MOST);
    Str out = str_of(str_format(b->arena, "%.*s_output_%d", STR_ARG(n->name), n->n_out));
    return n->out[n->n_out++] = out;
}

static OnnxAttr *build_add_attr(Builder *b, const char *name, AttrType type)
{
    enum { MOST = 8 };
    OnnxNode *n = build_last_node(b);
    if (!n->attr) n->attr = ARRAY(b->arena, OnnxAttr, MOST);
    assert(n->n_attr < MOST);
    OnnxAttr *a = &n->attr[n->n_attr++];
    *a = (OnnxAttr){ .name = str_of(name), .type = type };
    return a;
}

void build_attr_int(Builder *b, const char *name, int64_t i)
{
    build_add_attr(b, name, A_INT)->i = i;
}

void build_attr_ints(Builder *b, const char *name, const int64_t *list, size_t n)
{
    OnnxAttr *a = build_add_attr(b, name, A_INTS);
    a->n = n;
    a->ints = ARRAY(b->arena, int64_t, n);
    memcpy(a->ints, list, sizeof *list * n);
}

void build_attr_float(Builder *b, const char *name, float f)
{
    build_add_attr(b, name, A_FLOAT)->f = f;
}

void build_attr_string(Builder *b, const char *name, const char *s)
{
    build_add_attr(b, name, A_STRING)->s = str_of(s);
}

void build_domain(Builder *b, const char *domain)
{
    build_last_node(b)->domain = str_of(domain);
}

/* ---- initializers ---- */
static OnnxTensor *build_add_init(Builder *b, const char *name, Weight weight)
{
    OnnxGraph *g = &b->graph;
    int room = b->init_room;
    g->init = build_grow(b, g->init, g->n_init, &room, sizeof *g->init);
    b->weight = build_grow(b, b->weight, g->n_init, &b->init_room, sizeof *b->weight);
    b->weight[g->n_init] = weight;
    OnnxTensor *t = &g->init[g->n_init++];
    *t = (OnnxTensor){ .name = str_of(name) };
    map_put(&b->inits, b->arena, t->name, (void *)name);
    return t;
}

static bool has_init(const Builder *b, const char *name)
{
    return map_get(&b->inits, str_of(name)) != NULL;
}

static Str build_constant_of(Builder *b, const char *name, Tensor t)
{
    if (has_init(b, name)) return str_of(name);
    size_t bytes = tensor_bytes(&t);
    const void *data = t.data;
    t.data = memcpy(arena_raw(b->arena, bytes + 1), data, bytes);
    build_add_init(b, name, (Weight){ 0 })->t = t;
    return str_of(name);
}

Str build_float(Builder *b, double value)
{
    float f = (float)value;
    return build_constant_of(b, str_format(b->arena, "float.%.9g", (double)f),
                             (Tensor){ .type = T_F32, .data = &f });
}

Str build_int(Builder *b, int64_t value)
{
    return build_constant_of(b, str_format(b->arena, "int.%lld", (long long)value),
                             (Tensor){ .type = T_I64, .data = &value });
}

Str build_ints(Builder *b, const int64_t *list, size_t n)
{
    Buf text = { 0 };
    buf_puts(&text, "ints");
    for (size_t i = 0; i < n; i++) buf_printf(&text, "%c%lld", i ? ',' : '.', (long long)list[i]);
    const char *name = str_dup(b->arena, buf_view(&text));
    buf_free(&text);
    return build_constant_of(b, name, (Tensor){ .type = T_I64, .rank = 1, .dim = { (int64_t)n },
                                       .data = (void *)list });
}

Str build_indices(Builder *b, const char *name, const int64_t *data, size_t n)
{
    return build_constant_of(b, name, (Tensor){ .type = T_I64, .rank = 1, .dim = { (int64_t)n },
                                       .data = (void *)data });
}

Str build_floats(Builder *b, const char *name, float *data, int64_t rows, int64_t columns)
{
    return build_constant_of(
        b, name, (Tensor){ .type = T_F32, .rank = 2, .dim = { rows, columns }, .data = data });
}

Str build_repeated(Builder *b, double value, int64_t n)
{
    Arena scratch = { 0 };
    float *data = ARRAY(&scratch, float, n);
    for (int64_t i = 0; i < n; i++) data[i] = (float)value;
    const char *name = str_format(b->arena, "float.%.9g.%lld", value, (long long)n);
    Str made = build_constant_of(b, name, (Tensor){ .type = T_F32, .rank = 1, .dim = { n }, .data = data });
    arena_free(&scratch);
    return made;
}

/* ---- weights of the checkpoint ---- */
static const SafeTensor *build_find_weight(Builder *b, const char *prefix, const char *path,
                                           const char *leaf)
{
    const char *name = str_format(b->arena, "%s%s%s%s", prefix, path, *path ? "." : "", leaf);
    return safetensors_find(b->weights, str_of(name));
}

/* Checkpoints name the encoder's own tensors with or without the prefix, whoever saved them. */
static const SafeTensor *find_named(Builder *b, const char *path, const char *leaf)
{
    size_t n = strlen(b->base);
    if (strncmp(path, b->base, n) != 0) return build_find_weight(b, "", path, leaf);
    const SafeTensor *t = build_find_weight(b, b->prefix, path + n, leaf);
    return t ? t : build_find_weight(b, "", path + n, leaf);
}

const SafeTensor *build_find(Builder *b, const char *path, const char *leaf)
{
    const SafeTensor *t = find_named(b, path, leaf);
    if (t) return t;
    if (strcmp(leaf, "weight") == 0) return find_named(b, path, "gamma"); /* files of 2018 */
    if (strcmp(leaf, "bias") == 0) return find_named(b, path, "beta");
    return NULL;
}

static const char *show_dims(char out[128], int rank, const int64_t *dim)
{
    size_t at = 0;
    out[at++] = '[';
    for (int i = 0; i < rank && at < 100; i++) {
        if (i) out[at++] = ',';
        if (dim[i] < 0) out[at++] = '?';
        else at += (size_t)snprintf(out + at, 24, "%lld", (long long)dim[i]);
    }
    memcpy(out + at, "]", 2);
    return out;
}

/* A tensor that ends like the wanted one tells what stands before the names. */
static bool refuse_missing(Builder *b, const char *path, const char *leaf, const char *wanted)
{
    const size_t base = strlen(b->base);
    const char *own = strncmp(path, b->base, base) == 0 ? path + base : path;
    const char *end = str_format(b->arena, ".%s%s%s", own, *own ? "." : "", leaf);
    for (int i = 0; i < b->weights->n; i++) {
        const Str name = b->weights->item[i].name;
        if (!str_ends(name, end)) continue;
        build_fail(b, EF_BAD_MODEL, "%s: not in the checkpoint, found \"%.*s\": a prefix that only "
                   "some names have, or an unknown one, is not taken off (model., module. and "
                   "_orig_mod. are, where all names have it)", end + 1, (int)MIN(name.n, 100), name.p);
        return false;
    }
    const bool head = base && strncmp(path, b->base, base) != 0;
    build_fail(b, EF_BAD_MODEL, "%s%s%s: not in the checkpoint, wanted %s%s%s%s", path, *path ? "." : "",
               leaf, wanted, head ? ": weights of the encoder alone, without the head of " : "",
               head ? b->root_class : "", head ? "; --task embedding does without" : "");
    return false;
}

static bool build_weight_fits(Builder *b, const SafeTensor *t, const char *path, const char *leaf,
                              int rank, const int64_t *dim)
{
    char wanted[128], found[128];
    show_dims(wanted, rank, dim);
    if (!t) return refuse_missing(b, path, leaf, wanted);
    bool same = t->rank == rank;
    for (int i = 0; same && i < rank; i++) same = dim[i] < 0 || dim[i] == t->dim[i];
    if (!same)
        build_fail(b, EF_BAD_MODEL, "%.*s: found %s, wanted %s", STR_ARG(t->name),
                   show_dims(found, t->rank, t->dim), wanted);
    else if (!weights_is_real(t))
        build_fail(b, EF_UNSUPPORTED, "%.*s: found %s, wanted F32, F16, BF16 or F64", STR_ARG(t->name),
                   safetype_name(t->type));
    return build_ok(b);
}

/* Matrices may be stored in half the bytes; they are widened where they are first read. */
static Str add_weight(Builder *b, const char *path, const char *name, Weight w)
{
    Tensor t = { .type = T_F32, .rank = w.from->rank };
    for (int i = 0; i < t.rank; i++) t.dim[i] = w.from->dim[w.transposed ? 1 - i : i];
    bool half = t.rank > 1 && (b->stored == T_F16 || b->stored == T_BF16);
    if (half) t.type = b->stored;
    build_add_init(b, name, w)->t = t;
    if (!half) return str_of(name);
    Str wide = NODE(b, path, "Cast", str_of(name));
    build_attr_int(b, "to", T_F32);
    map_put(&b->inits, b->arena, str_of(name), (void *)str_dup(b->arena, wide));
    return wide;
}

/* The value that stands for an initializer: itself, or what it was widened to. */
static Str known_weight(const Builder *b, const char *name)
{
    const char *value = map_get(&b->inits, str_of(name));
    return str_of(value ? value : name);
}

Str build_weight(Builder *b, const char *path, const char *leaf, int rank, const int64_t *dim)
{
    const char *name = str_format(b->arena, "%s%s%s", path, *path ? "." : "", leaf);
    const SafeTensor *t = build_find(b, path, leaf);
    if (!build_weight_fits(b, t, path, leaf, rank, dim) || has_init(b, name))
        return known_weight(b, name);
    return add_weight(b, path, name, (Weight){ .from = t });
}

/* torch's parametrizations spell it otherwise since 2023; a checkpoint may also hold the product. */
Str build_normed(Builder *b, const char *path, const int64_t dim[3])
{
    static const char *const spelled[][2] = {
        { "parametrizations.weight.original0", "parametrizations.weight.original1" },
        { "weight_g", "weight_v" },
    };
    const char *name = str_format(b->arena, "%s.weight", path);
    for (size_t i = 0; i < COUNT(spelled); i++) {
        const SafeTensor *length = build_find(b, path, spelled[i][0]);
        const SafeTensor *way = build_find(b, path, spelled[i][1]);
        if (!length && !way) continue;
        bool fits = build_weight_fits(b, length, path, spelled[i][0], 3, (int64_t[]){ 1, 1, dim[2] }) &&
                    build_weight_fits(b, way, path, spelled[i][1], 3, dim);
        if (!fits || has_init(b, name)) return known_weight(b, name);
        return add_weight(b, path, name, (Weight){ .from = way, .length = length });
    }
    return build_weight(b, path, "weight", 3, dim);
}

Str build_table(Builder *b, const char *path, int64_t rows, int64_t columns)
{
    build_torch_module(b, path, "Embedding");
    return build_weight(b, path, "weight", 2, (int64_t[]){ rows, columns });
}

Str build_matrix(Builder *b, const char *path, int64_t out, int64_t in)
{
    const char *name = str_format(b->arena, "%s.weight.T", path);
    const SafeTensor *t = build_find(b, path, "weight");
    if (!build_weight_fits(b, t, path, "weight", 2, (int64_t[]){ out, in }) || has_init(b, name))
        return known_weight(b, name);
    return add_weight(b, path, name, (Weight){ .from = t, .transposed = true });
}

/* ---- what the graph takes and gives ---- */
enum { MOST_IO = 8 };

static const char *const plain[] = { "batch_size", "sequence_length" };
static const char *const taken[] = { "batch_size", "num_channels", "height", "width" };
static const char *const masked[] = { "batch_size", "height", "width" };
static const char *const mapped[] = { "batch_size", "channels", "map_height", "map_width" };
static const char *const heard[] = { "batch_size", "sequence_length", "sequence_length" };
static const char *const chosen[] = { "batch_size", "num_choices", "sequence_length" };

static OnnxValue build_value_info(const Builder *b, DType type, const char *name, int rank,
                                  const int64_t *dim, const char *const *symbols)
{
    OnnxValue v = { .name = str_of(name), .type = type, .rank = rank };
    for (int i = 0; i < rank; i++) {
        v.dim[i] = dim[i];
        if (dim[i] != DIM_UNKNOWN) continue;
        int64_t fixed = 0;
        if (strcmp(symbols[i], plain[0]) == 0) fixed = b->batch;
        else if (strcmp(symbols[i], plain[1]) == 0) fixed = b->length;
        if (fixed) v.dim[i] = fixed;
        else v.symbol[i] = str_of(symbols[i]);
    }
    return v;
}

static void build_add_input(Builder *b, OnnxValue v)
{
    OnnxGraph *g = &b->graph;
    if (!g->in) g->in = ARRAY(b->arena, OnnxValue, MOST_IO);
    assert(g->n_in < MOST_IO);
    g->in[g->n_in++] = v;
}

void build_input(Builder *b, const char *name, int rank, const int64_t *dim)
{
    bool choices = rank == 3 && dim[2] == DIM_UNKNOWN;
    build_add_input(b, build_value_info(b, T_I64, name, rank, dim, choices ? chosen : plain));
}

void build_picture(Builder *b, const char *name, const int64_t dim[4])
{
    build_add_input(b, build_value_info(b, T_F32, name, 4, dim, taken));
}

void build_sound(Builder *b, const char *name, int rank, const int64_t *dim)
{
    build_add_input(b, build_value_info(b, T_F32, name, rank, dim, heard));
}

void build_output_axis(Builder *b, int axis, const char *symbol)
{
    if (!build_ok(b)) return;
    b->graph.out[b->graph.n_out - 1].symbol[axis] = str_of(symbol);
}

void build_picture_mask(Builder *b, const char *name)
{
    const int64_t dim[] = { DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN };
    build_add_input(b, build_value_info(b, T_I64, name, 3, dim, masked));
}

void build_output(Builder *b, Str value, const char *name, int rank, const int64_t *dim)
{
    OnnxGraph *g = &b->graph;
    if (!build_ok(b)) return; /* its sizes mean nothing */
    if (!g->out) g->out = ARRAY(b->arena, OnnxValue, MOST_IO);
    assert(g->n_out < MOST_IO);
    bool choices = g->n_in && g->in[0].rank == 3 && g->in[0].type == T_I64;
    const char *const *symbols = rank == 4 ? mapped : choices ? chosen : plain;
    g->out[g->n_out++] = build_value_info(b, T_F32, name, rank, dim, symbols);
    for (int i = 0; i < g->n_node; i++) {
        OnnxNode *n = &g->node[i];
        for (int k = 0; k < n->n_in; k++)
            if (str_eq(n->in[k], value)) n->in[k] = str_of(name);
        for (int k = 0; k < n->n_out; k++)
            if (str_eq(n->out[k], value)) n->out[k] = str_of(name);
    }
}
