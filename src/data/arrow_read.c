/* SPDX-License-Identifier: Apache-2.0
 * arrow_read.c - messages of a stream or a file, their schema, and arrays out of their bodies. Nothing is
 * believed: offsets, lengths, indexes and the depth of nesting are checked before a value can be asked for. */
#include "arrow_kinds.h"
#include "arrow_form.h"
#include "flat.h"
#include "unpack.h"

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY, HEADER_BATCH };
enum { META_MOST = 64 << 20, FIELDS_MOST = 1 << 16, DEPTH_MOST = 32, BLOCK = 1 << 20 };
enum { UNION_MOST = 128 }; /* a byte says which */
#define BODY_MOST ((int64_t)1 << 31) /* bytes of a batch */
#define LENGTH_MOST ((int64_t)1 << 40)
#define KEPT_MOST (4 * (size_t)META_MOST) /* bytes of a schema, here: its columns may all point to the same metadata */

typedef struct ArrowMessage {
    int kind;
    FlatTable header;
    Str body;
} ArrowMessage;

struct ArrowStore {
    Arena arena;             /* this, too */
    uint64_t until;          /* batches that may view it, from the first on */
    ArrowStore *next;
};

typedef struct ArrowReader {
    BatchReader all;
    Arena *arena;
    BatchPull *pull;         /* NULL: of a file */
    void *context;
    Str file;
    FlatVector block[2];     /* of a file's footer: dictionaries, batches */
    uint32_t next[2];
    ArrowFields schema;
    int fields;              /* of the schema, with all children */
    size_t kept;             /* bytes of its names and metadata */
    bool *wanted;            /* [schema.n] */
    ArrowValues *values;     /* of each dictionary that has come */
    int dictionaries;
    uint64_t versions;       /* of all of them, so far */
    ArrowStore *replaced;    /* of values that were */
    uint64_t released;       /* batches */
    bool ended, joined;      /* the stream; another one may follow, or did */
    uint64_t bytes;          /* of the stream, so far */
    Buf meta;                /* of the message at hand */
    bool broken;             /* its flatbuffer */
    int version;             /* of it */
    uint64_t messages, batches;
} ArrowReader;

/* ---- bytes ---- */
static bool arrow_cut_short(const ArrowReader *r, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "Arrow: cut short in message %llu, behind batch %llu",
                (unsigned long long)r->messages + 1, (unsigned long long)r->batches);
}

/* Up to n bytes; fewer only at the end. */
static bool pull_bytes(ArrowReader *r, void *to, size_t n, size_t *got, Err *err)
{
    size_t now = 1;
    for (*got = 0; *got < n && now; *got += now)
        if (!r->pull(r->context, (char *)to + *got, n - *got, &now, err)) return false;
    r->bytes += *got;
    return true;
}

/* In blocks: what a head says of its length is believed as far as bytes come. */
static bool pull_whole(ArrowReader *r, Buf *to, size_t n, Err *err)
{
    for (size_t done = 0, got; done < n; done += got) {
        size_t block = MIN(n - done, (size_t)BLOCK);
        buf_reserve(to, block);
        if (!pull_bytes(r, to->p + to->n, block, &got, err)) return false;
        to->n += got;
        if (got < block) return arrow_cut_short(r, err);
    }
    return true;
}

static uint32_t word_at(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* ---- messages ---- */
static bool refuse_arrow(const char *what, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "Arrow: %s", what);
}

static bool open_message(ArrowReader *r, Str meta, ArrowMessage *m, int64_t *body, Err *err)
{
    FlatTable root = flat_root(meta, &r->broken);
    m->kind = (int)flat_int(&root, 1, 1, 0);
    r->version = (int)flat_int(&root, 0, 2, 0);
    *body = flat_int(&root, 3, 8, 0);
    bool there = flat_table(&root, 2, &m->header);
    if (!there || r->broken || !m->kind) return refuse_arrow("found a message that is no Arrow message", err);
    if (*body < 0 || *body > BODY_MOST)
        return fail(err, EF_TOO_LARGE, "Arrow: message %llu: found a body of %lld bytes, wanted at most 2 GiB: send "
                    "smaller batches", (unsigned long long)r->messages + 1, (long long)*body);
    return true;
}

static bool refuse_rest(uint64_t at, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "Arrow: byte %llu: found bytes behind the end of the stream, wanted nothing, or "
                "another stream of the same columns", (unsigned long long)at);
}

/* A message, the mark of a stream's end (kind 0), or *more false: the end of all. */
static bool next_of_stream(ArrowReader *r, Arena *arena, ArrowMessage *m, bool *more, Err *err)
{
    const uint64_t at = r->bytes;
    char word[4];
    size_t got;
    int64_t size;
    *m = (ArrowMessage){ 0 };
    if (!pull_bytes(r, word, 4, &got, err)) return false;
    *more = got > 0;
    if (!*more) return true;
    const bool marked = got == 4 && word_at(word) == UINT32_MAX;
    if (marked && !pull_bytes(r, word, 4, &got, err)) return false;
    const uint32_t n = got == 4 ? word_at(word) : 0;
    if (r->ended && !marked && (n || got < 4)) return refuse_rest(at, err);
    if (got < 4) return arrow_cut_short(r, err);
    if (!n) return true;
    if (n > META_MOST) return refuse_arrow("found no message of Arrow, wanted a stream of them", err);
    r->meta.n = 0;
    if (!pull_whole(r, &r->meta, n, err) || !open_message(r, buf_view(&r->meta), m, &size, err)) return false;
    Buf body = { .arena = arena };
    if (!pull_whole(r, &body, (size_t)size, err)) return false;
    m->body = buf_view(&body);
    return true;
}

/* The message that a block of the footer names. */
static bool message_at(ArrowReader *r, const FlatVector *blocks, uint32_t i, ArrowMessage *m, Err *err)
{
    enum { WORDS = 3, HEAD = 8 }; /* of a block: where it is, bytes of the metadata and its head, of the body */
    uint64_t at = (uint64_t)flat_vector_i64(blocks, WORDS * (size_t)i);
    uint64_t meta = (uint32_t)flat_vector_i64(blocks, WORDS * (size_t)i + 1);
    int64_t size;
    if (at > r->file.n || meta < HEAD || meta > r->file.n - at)
        return refuse_arrow("found a footer that leads out of the file", err);
    size_t head = word_at(r->file.p + at) == UINT32_MAX ? HEAD : HEAD / 2;
    if (!open_message(r, (Str){ r->file.p + at + head, meta - head }, m, &size, err)) return false;
    if ((uint64_t)size > r->file.n - at - meta) return arrow_cut_short(r, err);
    m->body = (Str){ r->file.p + at + meta, (size_t)size };
    return true;
}

/* Dictionaries first: batches need them. */
static bool next_of_file(ArrowReader *r, ArrowMessage *m, bool *more, Err *err)
{
    int which = r->next[0] < r->block[0].n ? 0 : 1;
    *more = r->next[which] < r->block[which].n;
    return !*more || message_at(r, &r->block[which], r->next[which]++, m, err);
}

/* ---- the schema ---- */
/* Widths and units that are known. Arrays of others can still be counted. */
static bool has_known_numbers(const ArrowField *f)
{
    const int64_t *p = f->param;
    switch (f->kind) {
    case ARROW_INT: return p[0] == 8 || p[0] == 16 || p[0] == 32 || p[0] == 64;
    case ARROW_FLOAT: case ARROW_INTERVAL: return p[0] >= 0 && p[0] <= 2;
    case ARROW_DECIMAL: return p[2] == 32 || p[2] == 64 || p[2] == 128 || p[2] == 256;
    case ARROW_TIME: return p[1] == 32 || p[1] == 64;
    case ARROW_FIXED_BINARY: case ARROW_FIXED_LIST: return p[0] >= 0 && p[0] <= 1 << 24;
    default: return true;
    }
}

static bool has_its_children(const ArrowField *f)
{
    const ArrowLayout layout = arrow_kinds[f->kind].layout;
    const bool list = layout == LAYOUT_LIST || layout == LAYOUT_LIST_VIEW || f->kind == ARROW_FIXED_LIST;
    if (layout == LAYOUT_UNION) return f->children <= UNION_MOST && (!f->codes || f->codes == f->children);
    if (layout != LAYOUT_RUNS) return f->kind == ARROW_STRUCT || f->children == list;
    const ArrowField *ends = f->child;
    return f->children == 2 && ends->kind == ARROW_INT && ends->param[0] > 8 && ends->param[1] && !ends->encoded;
}

/* "the type int with the numbers 128 1" */
static const char *numbers_text(Arena *arena, const ArrowField *f)
{
    Buf text = { .arena = arena };
    buf_printf(&text, "the type %s with the numbers", arrow_kind_name(f->kind));
    for (int i = 0; i < 3 && arrow_kinds[f->kind].param[i].bytes; i++)
        buf_printf(&text, " %lld", (long long)f->param[i]);
    return str_dup(arena, buf_view(&text));
}

static void read_encoding(const FlatTable *t, ArrowField *f)
{
    FlatTable encoding, index;
    f->encoded = flat_table(t, 4, &encoding);
    if (!f->encoded) return;
    bool typed = flat_table(&encoding, 1, &index);
    f->dictionary = flat_int(&encoding, 0, 8, 0);
    f->index_bits = typed ? (int)flat_int(&index, 0, 4, 0) : 32;
    f->index_signed = !typed || flat_int(&index, 1, 1, 0);
    f->ordered = flat_int(&encoding, 2, 1, 0);
}

static void read_codes(ArrowReader *r, const FlatTable *type, ArrowField *f)
{
    FlatVector v = flat_vector(type, 1, 4);
    f->codes = (int)MIN(v.n, (uint32_t)FIELDS_MOST);
    f->code = ARRAY(r->arena, int32_t, f->codes);
    for (int i = 0; i < f->codes; i++) f->code[i] = flat_vector_i32(&v, (size_t)i);
}

/* A dictionary's values that are indexes of another (or of itself) could outlive what they were checked against. */
static bool has_dictionary(const ArrowField *f, int n)
{
    for (int i = 0; i < n; i++)
        if (f[i].encoded || has_dictionary(f[i].child, f[i].children)) return true;
    return false;
}

static bool has_room(ArrowReader *r, size_t bytes, Err *err)
{
    if (bytes > KEPT_MOST - r->kept) return refuse_arrow("found too much metadata", err);
    r->kept += bytes;
    return true;
}

static bool keep_text(ArrowReader *r, Str text, Str *out, Err *err)
{
    if (!has_room(r, text.n, err)) return false;
    *out = (Str){ str_dup(r->arena, text), text.n };
    return true;
}

static bool read_pairs(ArrowReader *r, const FlatTable *t, int id, ArrowPair **out, int *n, Err *err)
{
    FlatVector v = flat_vector(t, id, 4);
    if (v.n > FIELDS_MOST) return refuse_arrow("found too much metadata", err);
    if (!has_room(r, v.n * sizeof **out, err)) return false;
    *out = ARRAY(r->arena, ArrowPair, v.n);
    for (*n = 0; *n < (int)v.n; ++*n) {
        FlatTable pair = flat_vector_table(&v, (uint32_t)*n);
        ArrowPair *to = &(*out)[*n];
        if (!keep_text(r, flat_str(&pair, 0), &to->key, err) || !keep_text(r, flat_str(&pair, 1), &to->value, err))
            return false;
    }
    return !r->broken || refuse_arrow("found metadata that leads out of its message", err);
}

static bool read_fields(ArrowReader *r, const FlatVector *v, int depth, ArrowField **out, int *n, Err *err);

static bool read_field(ArrowReader *r, const FlatTable *t, int depth, ArrowField *f, Err *err)
{
    FlatTable type = *t;
    int64_t kind = (uint8_t)flat_int(t, 2, 1, 0);
    Str name = flat_str(t, 0);
    if (!keep_text(r, name, &f->name, err)) return false;
    f->nullable = flat_int(t, 1, 1, 0);
    if (kind <= 0 || kind >= ARROW_KINDS)
        return fail(err, EF_UNSUPPORTED, "Arrow: column \"%.*s\": found the type number %d, wanted 1 to %d",
                    (int)MIN(name.n, 60), name.p, (int)kind, ARROW_KINDS - 1);
    f->kind = (ArrowKind)kind;
    bool typed = flat_table(t, 3, &type);
    for (int i = 0; i < 3; i++) {
        const ArrowParam *p = &arrow_kinds[kind].param[i];
        if (p->bytes) f->param[i] = typed ? flat_int(&type, i, p->bytes, p->otherwise) : p->otherwise;
    }
    if (kind == ARROW_TIMESTAMP && typed && !keep_text(r, flat_str(&type, 1), &f->zone, err)) return false;
    if (kind == ARROW_UNION && typed) read_codes(r, &type, f);
    if (!read_pairs(r, t, 6, &f->pair, &f->pairs, err)) return false;
    f->uuid = kind == ARROW_FIXED_BINARY && f->param[0] == 16 && arrow_is_extension(f, "arrow.uuid");
    read_encoding(t, f);
    FlatVector children = flat_vector(t, 5, 4);
    if (!read_fields(r, &children, depth + 1, &f->child, &f->children, err)) return false;
    if (!has_known_numbers(f)) f->strange = numbers_text(r->arena, f);
    if (f->encoded && f->index_bits != 8 && f->index_bits != 16 && f->index_bits != 32 && f->index_bits != 64)
        f->strange = str_format(r->arena, "a dictionary whose indexes have %d bits", f->index_bits);
    if (f->encoded && has_dictionary(f->child, f->children)) f->strange = "a dictionary inside of a dictionary";
    return has_its_children(f) || fail(err, EF_INVALID_INPUT, "Arrow: column \"%.*s\": found %d columns inside of the "
                                       "type %s", (int)MIN(name.n, 60), name.p, f->children, arrow_kind_name(f->kind));
}

static bool read_fields(ArrowReader *r, const FlatVector *v, int depth, ArrowField **out, int *n, Err *err)
{
    if (v->n > FIELDS_MOST || (r->fields += (int)v->n) > FIELDS_MOST || (v->n && depth > DEPTH_MOST))
        return refuse_arrow("found too many columns, or columns nested too deep", err);
    *n = (int)v->n;
    *out = ARRAY(r->arena, ArrowField, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        FlatTable t = flat_vector_table(v, i);
        if (!read_field(r, &t, depth, &(*out)[i], err)) return false;
    }
    return !r->broken || refuse_arrow("found a schema that leads out of its message", err);
}

static bool read_schema(ArrowReader *r, const FlatTable *t, Err *err)
{
    if (flat_int(t, 0, 2, 0) != 0) return fail(err, EF_UNSUPPORTED, "Arrow: found big endian, wanted little");
    FlatVector fields = flat_vector(t, 1, 4);
    if (!read_fields(r, &fields, 0, &r->schema.field, &r->schema.n, err)) return false;
    r->wanted = ARRAY(r->arena, bool, r->schema.n);
    return read_pairs(r, t, 2, &r->schema.pair, &r->schema.pairs, err);
}

/* ---- arrays ---- */
typedef struct ArrowBody {
    ArrowReader *r;
    Arena *arena;
    Str bytes;
    FlatVector node, buffer, counts;
    uint32_t nodes, buffers, views; /* taken */
    bool packed, zstd;       /* each buffer is, with ZSTD or LZ4 */
    bool unread;             /* nobody will read what is taken now: it stays as it is */
    int64_t unpacked;        /* bytes of all buffers that were */
} ArrowBody;

static bool damaged_buffer(const ArrowBody *b, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "Arrow: message %llu: found damaged bytes of %s, or not as many as there "
                "should be", (unsigned long long)b->r->messages + 1, b->zstd ? "ZSTD" : "LZ4");
}

/* A buffer's length, or -1: it is stored; then its bytes. A length that so few bytes cannot have takes no memory. */
static bool unpack_buffer(ArrowBody *b, Str *buffer, Err *err)
{
    enum { HEAD = 8, LZ4_MOST = 255, ZSTD_MOST = 1 << 15, LITTLE = 1 << 10 };
    if (buffer->n < HEAD) return refuse_arrow("found a packed buffer without its length", err);
    const int64_t n = (int64_t)((uint64_t)word_at(buffer->p) | (uint64_t)word_at(buffer->p + 4) << 32);
    const Str packed = { buffer->p + HEAD, buffer->n - HEAD };
    if (n == -1) return *buffer = packed, true;
    if (n < 0 || n > BODY_MOST - b->unpacked)
        return fail(err, EF_TOO_LARGE, "Arrow: message %llu: found a packed body of more than 2 GiB, wanted smaller "
                    "batches", (unsigned long long)b->r->messages + 1);
    if ((uint64_t)n > packed.n * (b->zstd ? ZSTD_MOST : LZ4_MOST) + LITTLE) return damaged_buffer(b, err);
    void *to = arena_try(b->arena, (size_t)n + 1, 1, (size_t)BODY_MOST + 1, err);
    if (!to) return false;
    b->unpacked += n;
    *buffer = (Str){ to, (size_t)n };
    return (b->zstd ? unpack_zstd : unpack_lz4_frame)(packed, to, (size_t)n) || damaged_buffer(b, err);
}

static bool take_buffer(ArrowBody *b, Str *out, Err *err)
{
    if (b->buffers >= b->buffer.n) return refuse_arrow("found fewer buffers than the columns have", err);
    size_t place = 2 * (size_t)b->buffers++;
    uint64_t at = (uint64_t)flat_vector_i64(&b->buffer, place), n = (uint64_t)flat_vector_i64(&b->buffer, place + 1);
    if (n && (at > b->bytes.n || n > b->bytes.n - at)) return refuse_arrow("found a buffer outside of its batch", err);
    *out = (Str){ n ? b->bytes.p + at : "", n };
    return !b->packed || b->unread || n == 0 || unpack_buffer(b, out, err);
}

static bool take_more(ArrowBody *b, ArrowColumn *a, Err *err)
{
    a->n_more = b->views < b->counts.n ? flat_vector_i64(&b->counts, b->views++) : 0;
    if (a->n_more < 0 || a->n_more > b->buffer.n - b->buffers)
        return refuse_arrow("found fewer buffers than the columns have", err);
    a->more = ARRAY(b->arena, Str, a->n_more);
    for (int64_t i = 0; i < a->n_more; i++)
        if (!take_buffer(b, &a->more[i], err)) return false;
    return true;
}

static const ArrowValues *find_values(const ArrowReader *r, int64_t id)
{
    for (int i = 0; i < r->dictionaries; i++)
        if (r->values[i].id == id) return &r->values[i];
    return NULL;
}

/* As they are now: a later message may bring others. */
static const ArrowValues *values_now(ArrowBody *b, int64_t id)
{
    const ArrowValues *now = find_values(b->r, id);
    if (!now) return NULL;
    ArrowValues *copy = NEW(b->arena, ArrowValues);
    *copy = *now;
    return copy;
}

/* The array of a field, depth first, with its buffers as they stand. */
static bool take_array(ArrowBody *b, const ArrowField *f, ArrowColumn *a, Err *err)
{
    ArrowLayout layout = f->encoded ? LAYOUT_FIXED : arrow_kinds[f->kind].layout;
    if (b->nodes >= b->node.n) return refuse_arrow("found fewer arrays than the columns have", err);
    size_t place = 2 * (size_t)b->nodes++;
    *a = (ArrowColumn){ .field = f, .length = flat_vector_i64(&b->node, place),
                       .nulls = flat_vector_i64(&b->node, place + 1) };
    if (a->length < 0 || a->length > LENGTH_MOST) return refuse_arrow("found an array of no possible length", err);
    if (f->encoded) a->values = values_now(b, f->dictionary);
    const bool bare = layout == LAYOUT_NONE || layout == LAYOUT_RUNS, codes = layout == LAYOUT_UNION;
    const bool valid = !bare && (!codes || b->r->version < VERSION_5);
    const bool offsets = layout == LAYOUT_BYTES || layout == LAYOUT_LIST || layout == LAYOUT_LIST_VIEW ||
                         (codes && f->param[0]);
    const bool data = !bare && !codes && layout != LAYOUT_LIST && layout != LAYOUT_CHILDREN;
    if (valid && !take_buffer(b, &a->valid, err)) return false;
    if (codes && !take_buffer(b, &a->data, err)) return false;
    if ((offsets && !take_buffer(b, &a->offsets, err)) || (data && !take_buffer(b, &a->data, err))) return false;
    if (layout == LAYOUT_VIEWS && !take_more(b, a, err)) return false;
    if (a->nulls == 0) a->valid = (Str){ 0 };
    if (f->encoded) return true;
    a->child = ARRAY(b->arena, ArrowColumn, f->children);
    for (int i = 0; i < f->children; i++)
        if (!take_array(b, &f->child[i], &a->child[i], err)) return false;
    return true;
}

/* ---- batches ---- */
static bool open_body(ArrowReader *r, Arena *arena, const FlatTable *t, Str bytes, ArrowBody *b, Err *err)
{
    enum { ZSTD = 1 };   /* 0 is LZ4 */
    FlatTable compression;
    *b = (ArrowBody){ .r = r, .arena = arena, .bytes = bytes, .node = flat_vector(t, 1, 16),
                      .buffer = flat_vector(t, 2, 16), .counts = flat_vector(t, 4, 8) };
    if (r->broken) return refuse_arrow("found a batch that leads out of its message", err);
    b->packed = flat_table(t, 3, &compression);
    const int64_t codec = b->packed ? flat_int(&compression, 0, 1, 0) : 0;
    const int64_t method = b->packed ? flat_int(&compression, 1, 1, 0) : 0;
    b->zstd = codec == ZSTD;
    if (codec >= 0 && codec <= ZSTD && method == 0) return true;
    return fail(err, EF_UNSUPPORTED, "Arrow: found a body that is packed in an unknown way, wanted LZ4 or ZSTD");
}

static bool read_batch(ArrowReader *r, Arena *arena, const ArrowMessage *m, ArrowBatch *out, Err *err)
{
    ArrowBody b;
    if (!open_body(r, arena, &m->header, m->body, &b, err)) return false;
    *out = (ArrowBatch){ .rows = flat_int(&m->header, 0, 8, 0), .column = ARRAY(arena, ArrowColumn, r->schema.n),
                         .end = r->pull ? 0 : (size_t)(m->body.p + m->body.n - r->file.p) };
    if (out->rows < 0 || out->rows > LENGTH_MOST) return refuse_arrow("found a batch of no possible length", err);
    for (int i = 0; i < r->schema.n; i++) {
        ArrowColumn *a = &out->column[i];
        b.unread = !r->wanted[i];
        if (!take_array(&b, &r->schema.field[i], a, err)) return false;
        if (a->length != out->rows) return refuse_arrow("found a column of another length than its batch", err);
        if (r->wanted[i] && !arrow_check(a, out->rows, err)) return false;
    }
    r->batches++;
    return true;
}

static const ArrowField *field_of_dictionary(const ArrowField *f, int n, int64_t id)
{
    const ArrowField *found = NULL;
    for (int i = 0; i < n && !found; i++)
        found = f[i].encoded && f[i].dictionary == id ? &f[i] : field_of_dictionary(f[i].child, f[i].children, id);
    return found;
}

/* The first values of a dictionary stay with the reader; those that replace them go when others do. */
static Arena *arena_of_values(ArrowReader *r, const ArrowValues *v)
{
    return v->store ? &v->store->arena : r->arena;
}

static ArrowStore *new_store(void)
{
    Arena arena = { 0 };
    ArrowStore *s = NEW(&arena, ArrowStore);
    s->arena = arena;
    return s;
}

static void drop_replaced(ArrowReader *r, bool all)
{
    for (ArrowStore **at = &r->replaced; *at;) {
        ArrowStore *s = *at;
        if (!all && s->until > r->released) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        Arena arena = s->arena;
        arena_free(&arena);
    }
}

/* Batches that came before may still view them. */
static void replace_values(ArrowReader *r, ArrowValues *v)
{
    if (!v->store) return;
    v->store->until = r->batches;
    v->store->next = r->replaced;
    r->replaced = v->store;
    v->store = NULL;
}

static ArrowValues *place_of_values(ArrowReader *r, int64_t id, bool more)
{
    ArrowValues *there = (ArrowValues *)find_values(r, id);
    if (there && more) return there;
    if (there) replace_values(r, there);
    if (!r->values) r->values = ARRAY(r->arena, ArrowValues, r->fields);
    ArrowValues *v = there ? there : &r->values[r->dictionaries++];
    *v = (ArrowValues){ .id = id, .store = there || r->joined ? new_store() : NULL, .version = ++r->versions };
    return v;
}

static ArrowColumn *next_part(ArrowReader *r, ArrowValues *v)
{
    if (v->parts == v->room) {
        ArrowColumn *more = ARRAY(arena_of_values(r, v), ArrowColumn, v->room = v->room ? 2 * v->room : 1);
        if (v->parts) memcpy(more, v->part, (size_t)v->parts * sizeof *more);
        v->part = more;
    }
    return &v->part[v->parts++];
}

static bool read_dictionary(ArrowReader *r, const ArrowMessage *m, Err *err)
{
    ArrowBody b;
    FlatTable data;
    int64_t id = flat_int(&m->header, 0, 8, 0);
    const ArrowField *of = field_of_dictionary(r->schema.field, r->schema.n, id);
    if (!of || !flat_table(&m->header, 1, &data)) return refuse_arrow("found a dictionary that no column has", err);
    const char *what;
    if (!arrow_can_read(of, &what)) return true; /* no column that is wanted has it */
    ArrowValues *values = place_of_values(r, id, flat_int(&m->header, 2, 1, 0));
    Arena *arena = arena_of_values(r, values);
    drop_replaced(r, false);
    /* What a stream pulled would go with the batch. */
    const Str body = r->pull ? (Str){ str_dup(arena, m->body), m->body.n } : m->body;
    if (!open_body(r, arena, &data, body, &b, err)) return false;
    ArrowField *plain = NEW(arena, ArrowField);
    *plain = *of, plain->encoded = false;
    ArrowColumn a;
    if (!take_array(&b, plain, &a, err) || !arrow_check(&a, 0, err)) return false;
    *next_part(r, values) = a;
    values->length += a.length;
    values->most = MAX(values->most, arrow_entry_most(&a));
    return true;
}

/* ---- streams one behind the other ---- */
static bool same_fields(const ArrowField *a, const ArrowField *b, int n);

static bool same_field(const ArrowField *a, const ArrowField *b)
{
    const bool encoding = a->encoded == b->encoded && a->dictionary == b->dictionary && a->ordered == b->ordered &&
                          a->index_bits == b->index_bits && a->index_signed == b->index_signed;
    return encoding && str_eq(a->name, b->name) && a->kind == b->kind && a->nullable == b->nullable &&
           memcmp(a->param, b->param, sizeof a->param) == 0 && str_eq(a->zone, b->zone) && a->codes == b->codes &&
           (!a->codes || memcmp(a->code, b->code, (size_t)a->codes * sizeof *a->code) == 0) &&
           a->children == b->children && same_fields(a->child, b->child, a->children);
}

static bool same_fields(const ArrowField *a, const ArrowField *b, int n)
{
    for (int i = 0; i < n; i++)
        if (!same_field(&a[i], &b[i])) return false;
    return true;
}

static bool refuse_field(uint64_t at, int i, const ArrowField *found, const ArrowField *wanted, Err *err)
{
    enum { NAME_MOST = 60 };
    const bool alike = str_eq(found->name, wanted->name) && found->kind == wanted->kind &&
                       found->nullable == wanted->nullable;
    return fail(err, EF_INVALID_INPUT, "Arrow: byte %llu: another stream: found column %d as \"%.*s\" (%s%s), wanted "
                "\"%.*s\" (%s%s) as in the first%s", (unsigned long long)at, i + 1,
                (int)MIN(found->name.n, NAME_MOST), found->name.p, arrow_kind_name(found->kind),
                found->nullable ? "" : " not null", (int)MIN(wanted->name.n, NAME_MOST), wanted->name.p,
                arrow_kind_name(wanted->kind), wanted->nullable ? "" : " not null",
                alike ? ", where its type has other details" : "");
}

/* Its schema must be the first one's; its dictionaries are its own. */
static bool join_stream(ArrowReader *r, Arena *arena, const FlatTable *schema, uint64_t at, Err *err)
{
    ArrowReader other = *r;
    other.arena = arena, other.fields = 0, other.kept = 0;
    if (!read_schema(&other, schema, err)) return false;
    if (r->broken) return refuse_arrow("found a schema that leads out of its message", err);
    if (other.schema.n != r->schema.n)
        return fail(err, EF_INVALID_INPUT, "Arrow: byte %llu: another stream: found %d columns, wanted %d as in the "
                    "first", (unsigned long long)at, other.schema.n, r->schema.n);
    for (int i = 0; i < r->schema.n; i++)
        if (!same_field(&other.schema.field[i], &r->schema.field[i]))
            return refuse_field(at, i, &other.schema.field[i], &r->schema.field[i], err);
    for (int i = 0; i < r->dictionaries; i++) replace_values(r, &r->values[i]);
    r->dictionaries = 0;
    r->ended = false, r->joined = true;
    return true;
}

static bool arrow_next(BatchReader *reader, Arena *arena, ArrowBatch *out, bool *more, Err *err)
{
    ArrowReader *r = (ArrowReader *)reader;
    const uint64_t at = r->bytes;
    ArrowMessage m;
    r->all.unready = false;
    if (r->pull ? !next_of_stream(r, arena, &m, more, err) : !next_of_file(r, &m, more, err)) return false;
    if (!*more) return true;
    r->all.unready = m.kind != HEADER_BATCH;
    if (!m.kind) return r->ended = true;
    r->messages++;
    if (r->ended) return m.kind == HEADER_SCHEMA ? join_stream(r, arena, &m.header, at, err) : refuse_rest(at, err);
    if (m.kind == HEADER_BATCH) return read_batch(r, arena, &m, out, err);
    if (m.kind == HEADER_SCHEMA)
        return refuse_arrow("found a second schema, wanted batches of the first: a stream has one", err);
    if (m.kind != HEADER_DICTIONARY) return refuse_arrow("found another message than a batch", err);
    return read_dictionary(r, &m, err);
}

/* ---- opening ---- */
static void arrow_want(BatchReader *r, int column)
{
    ((ArrowReader *)r)->wanted[column] = true;
}

static void arrow_release(BatchReader *reader)
{
    ArrowReader *r = (ArrowReader *)reader;
    r->released++;
    drop_replaced(r, false);
}

static void arrow_close(BatchReader *reader)
{
    ArrowReader *r = (ArrowReader *)reader;
    for (int i = 0; i < r->dictionaries; i++) replace_values(r, &r->values[i]);
    drop_replaced(r, true);
    buf_free(&r->meta);
}

static ArrowReader *new_reader(Arena *arena, BatchReader **out)
{
    ArrowReader *r = NEW(arena, ArrowReader);
    *r = (ArrowReader){ .all = { &r->schema, arrow_want, arrow_next, arrow_close, .release = arrow_release },
                        .arena = arena };
    *out = &r->all;
    return r;
}

bool arrow_open_stream(Arena *arena, BatchPull *pull, void *context, BatchReader **out, Err *err)
{
    ArrowMessage m;
    bool more;
    ArrowReader *r = new_reader(arena, out);
    r->pull = pull, r->context = context;
    if (!next_of_stream(r, arena, &m, &more, err)) return false;
    if (!more || m.kind != HEADER_SCHEMA) return refuse_arrow("found no schema at the beginning", err);
    r->messages++;
    return read_schema(r, &m.header, err);
}

bool arrow_open_file(Arena *arena, Str file, BatchReader **out, Err *err)
{
    enum { TAIL = 10, HEAD = 8 };
    FlatTable schema;
    ArrowReader *r = new_reader(arena, out);
    r->file = file;
    if (file.n < HEAD + TAIL || !str_starts(file, "ARROW1") || !str_ends(file, "ARROW1"))
        return refuse_arrow("found a file without its end, wanted ARROW1 there: it was not written whole", err);
    size_t n = word_at(file.p + file.n - TAIL);
    if (n > file.n - HEAD - TAIL) return refuse_arrow("found a footer that is larger than the file", err);
    FlatTable footer = flat_root((Str){ file.p + file.n - TAIL - n, n }, &r->broken);
    for (int i = 0; i < 2; i++) r->block[i] = flat_vector(&footer, 2 + i, 24);
    if (!flat_table(&footer, 1, &schema) || r->broken) return refuse_arrow("found a footer that is none", err);
    return read_schema(r, &schema, err);
}
