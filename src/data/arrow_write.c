/* SPDX-License-Identifier: Apache-2.0
 * arrow_write.c - messages out of batches: the flatbuffer that describes a body, then its buffers as they lie
 * in memory. A dictionary goes out before the first batch that needs it, and only what is new of it. */
#include "arrow_form.h"
#include "arrow_kinds.h"
#include "arrow_writer.h"
#include "flat.h"

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY, HEADER_BATCH, ALIGN = 8 };

/* ---- the schema ---- */
static size_t put_pairs(Buf *b, const ArrowPair *pair, int n)
{
    size_t list = flat_put_offsets(b, (size_t)n);
    for (int i = 0; i < n; i++) {
        FlatSlot slot[] = { { 0, FLAT_OFFSET }, { 1, FLAT_OFFSET } };
        flat_point(b, list + 4 + 4 * (size_t)i, flat_put_table(b, slot, 2));
        flat_point(b, slot[0].at, flat_put_str(b, pair[i].key));
        flat_point(b, slot[1].at, flat_put_str(b, pair[i].value));
    }
    return list;
}

static size_t put_type(Buf *b, const ArrowField *f)
{
    FlatSlot slot[4];
    int n = 0;
    for (int i = 0; i < 3; i++) {
        int bytes = arrow_kinds[f->kind].param[i].bytes;
        if (bytes) slot[n++] = (FlatSlot){ i, bytes, f->param[i] };
    }
    const bool zone = f->kind == ARROW_TIMESTAMP && f->zone.n, codes = f->kind == ARROW_UNION && f->codes;
    if (zone || codes) slot[n++] = (FlatSlot){ 1, FLAT_OFFSET };
    size_t table = flat_put_table(b, slot, n);
    if (zone) flat_point(b, slot[n - 1].at, flat_put_str(b, f->zone));
    if (codes) flat_point(b, slot[n - 1].at, flat_put_i32(b, f->code, (size_t)f->codes));
    return table;
}

static size_t put_encoding(Buf *b, const ArrowField *f)
{
    FlatSlot slot[] = { { 0, 8, f->dictionary }, { 1, FLAT_OFFSET }, { 2, 1, f->ordered } };
    FlatSlot index[] = { { 0, 4, f->index_bits }, { 1, 1, f->index_signed } };
    size_t table = flat_put_table(b, slot, COUNT(slot));
    flat_point(b, slot[1].at, flat_put_table(b, index, COUNT(index)));
    return table;
}

static size_t put_fields(Buf *b, const ArrowField *f, int n);

static size_t put_arrow_field(Buf *b, const ArrowField *f)
{
    enum { NAME, NULLABLE, KIND, TYPE, ENCODING, CHILDREN, PAIRS };
    FlatSlot slot[7] = { { NAME, FLAT_OFFSET }, { NULLABLE, 1, f->nullable }, { KIND, 1, f->kind },
                         { TYPE, FLAT_OFFSET } };
    int n = 4, encoding = -1, children, pairs = -1;
    if (f->encoded) encoding = n, slot[n++] = (FlatSlot){ ENCODING, FLAT_OFFSET };
    children = n, slot[n++] = (FlatSlot){ CHILDREN, FLAT_OFFSET };
    if (f->pairs) pairs = n, slot[n++] = (FlatSlot){ PAIRS, FLAT_OFFSET };
    size_t table = flat_put_table(b, slot, n);
    flat_point(b, slot[0].at, flat_put_str(b, f->name));
    flat_point(b, slot[3].at, put_type(b, f));
    if (f->encoded) flat_point(b, slot[encoding].at, put_encoding(b, f));
    flat_point(b, slot[children].at, put_fields(b, f->child, f->children));
    if (f->pairs) flat_point(b, slot[pairs].at, put_pairs(b, f->pair, f->pairs));
    return table;
}

static size_t put_fields(Buf *b, const ArrowField *f, int n)
{
    size_t list = flat_put_offsets(b, (size_t)n);
    for (int i = 0; i < n; i++) flat_point(b, list + 4 + 4 * (size_t)i, put_arrow_field(b, &f[i]));
    return list;
}

static size_t put_schema(Buf *b, const ArrowFields *all)
{
    FlatSlot slot[] = { { 1, FLAT_OFFSET }, { 2, FLAT_OFFSET } };
    size_t table = flat_put_table(b, slot, all->pairs ? 2 : 1);
    flat_point(b, slot[0].at, put_fields(b, all->field, all->n));
    if (all->pairs) flat_point(b, slot[1].at, put_pairs(b, all->pair, all->pairs));
    return table;
}

/* ---- messages ---- */
/* Room for what stands in front, and the table; the header is to be pointed to from *header. */
static void begin_message(Buf *b, int kind, int64_t body, size_t *header)
{
    FlatSlot slot[] = { { 0, 2, VERSION_5 }, { 1, 1, kind }, { 2, FLAT_OFFSET }, { 3, 8, body } };
    size_t begin = b->n;
    buf_add(b, "\xff\xff\xff\xff\0\0\0\0\0\0\0\0", 12); /* mark, length, root */
    size_t table = flat_put_table(b, slot, COUNT(slot));
    flat_point(b, begin + 8, table);
    *header = slot[2].at;
}

static void end_message(Buf *b, size_t begin)
{
    flat_align(b, ALIGN);
    uint32_t n = (uint32_t)(b->n - begin - 8);
    for (int i = 0; i < 4; i++) b->p[begin + 4 + (size_t)i] = (char)(n >> (8 * i));
}

void arrow_write_schema(Buf *b, const ArrowFields *all)
{
    size_t header, begin = b->n;
    assert(begin % ALIGN == 0);
    begin_message(b, HEADER_SCHEMA, 0, &header);
    flat_point(b, header, put_schema(b, all));
    end_message(b, begin);
}

/* ---- bodies ---- */
typedef struct ArrowParts {  /* of a body, in the order of the columns */
    Arena *arena;
    Buf nodes, buffers, counts; /* i64 */
    Buf bytes;               /* Str: the buffers themselves */
    int64_t size;
} ArrowParts;

static void add_number(Buf *b, int64_t number)
{
    buf_add(b, &number, sizeof number);
}

static void add_buffer(ArrowParts *p, Str bytes)
{
    add_number(&p->buffers, p->size), add_number(&p->buffers, (int64_t)bytes.n);
    buf_add(&p->bytes, &bytes, sizeof bytes);
    p->size += (int64_t)ROUND_UP(bytes.n, (size_t)ALIGN);
}

static void add_column(ArrowParts *p, const ArrowColumn *c)
{
    const ArrowField *f = c->field;
    const ArrowLayout layout = f->encoded ? LAYOUT_FIXED : arrow_kinds[f->kind].layout;
    add_number(&p->nodes, c->length);
    const bool bare = layout == LAYOUT_NONE || layout == LAYOUT_RUNS, codes = layout == LAYOUT_UNION;
    add_number(&p->nodes, layout == LAYOUT_NONE ? c->length : c->valid.n ? c->nulls : 0);
    if (!bare && !codes) add_buffer(p, c->valid);
    if (codes) add_buffer(p, c->data);
    if (layout == LAYOUT_BYTES || layout == LAYOUT_LIST || layout == LAYOUT_LIST_VIEW || (codes && f->param[0]))
        add_buffer(p, c->offsets);
    if (!bare && !codes && layout != LAYOUT_LIST && layout != LAYOUT_CHILDREN) add_buffer(p, c->data);
    if (layout == LAYOUT_VIEWS) add_number(&p->counts, c->n_more);
    for (int64_t i = 0; layout == LAYOUT_VIEWS && i < c->n_more; i++) add_buffer(p, c->more[i]);
    for (int i = 0; !f->encoded && i < f->children; i++) add_column(p, &c->child[i]);
}

static const int64_t *numbers_of(const Buf *b, size_t *n)
{
    *n = b->n / sizeof(int64_t);
    return (const int64_t *)(void *)b->p;
}

static size_t put_batch(Buf *b, int64_t rows, const ArrowParts *p)
{
    FlatSlot slot[] = { { 0, 8, rows }, { 1, FLAT_OFFSET }, { 2, FLAT_OFFSET }, { 4, FLAT_OFFSET } };
    size_t n, table = flat_put_table(b, slot, p->counts.n ? 4 : 3);
    const int64_t *numbers = numbers_of(&p->nodes, &n);
    flat_point(b, slot[1].at, flat_put_i64(b, numbers, n / 2, 2));
    numbers = numbers_of(&p->buffers, &n);
    flat_point(b, slot[2].at, flat_put_i64(b, numbers, n / 2, 2));
    numbers = numbers_of(&p->counts, &n);
    if (n) flat_point(b, slot[3].at, flat_put_i64(b, numbers, n, 1));
    return table;
}

static bool put_bytes(ArrowWriter *w, Str bytes, Err *err)
{
    w->at += (int64_t)bytes.n;
    return bytes.n == 0 || w->out.put(w->out.context, bytes, err);
}

void arrow_note_block(Arena *arena, ArrowBlocks *to, int64_t at, int64_t meta, int64_t body)
{
    if (to->n == to->room) {
        to->room = to->room ? 2 * to->room : 16;
        void *more = ARRAY(arena, int64_t, 3 * to->room);
        if (to->n) memcpy(more, to->item, to->n * sizeof *to->item);
        to->item = more;
    }
    int64_t *item = to->item[to->n++];
    item[0] = at, item[1] = meta, item[2] = body;
}

static bool put_message(ArrowWriter *w, ArrowBlocks *to, const ArrowParts *p, Err *err)
{
    const Str *part = (const Str *)(void *)p->bytes.p;
    end_message(&w->meta, 0);
    if (w->file) arrow_note_block(w->arena, to, w->at, (int64_t)w->meta.n, p->size);
    bool ok = put_bytes(w, buf_view(&w->meta), err);
    for (size_t i = 0; ok && i < p->bytes.n / sizeof(Str); i++)
        ok = put_bytes(w, part[i], err) && put_bytes(w, (Str){ "\0\0\0\0\0\0\0", -part[i].n % ALIGN }, err);
    w->meta.n = 0;
    return ok;
}

static ArrowParts new_parts(Arena *arena)
{
    return (ArrowParts){ .nodes.arena = arena, .buffers.arena = arena, .counts.arena = arena, .bytes.arena = arena };
}

/* ---- dictionaries ---- */
static bool write_values(ArrowWriter *w, int64_t id, const ArrowColumn *values, bool more, Err *err)
{
    Arena arena = { 0 };
    ArrowParts p = new_parts(&arena);
    size_t header;
    FlatSlot slot[] = { { 0, 8, id }, { 1, FLAT_OFFSET }, { 2, 1, more } };
    add_column(&p, values);
    begin_message(&w->meta, HEADER_DICTIONARY, p.size, &header);
    flat_point(&w->meta, header, flat_put_table(&w->meta, slot, COUNT(slot)));
    flat_point(&w->meta, slot[1].at, put_batch(&w->meta, values->length, &p));
    bool ok = put_message(w, &w->dictionaries, &p, err);
    arena_free(&arena);
    return ok;
}

ArrowSent *arrow_sent_of(ArrowWriter *w, int64_t id)
{
    for (int i = 0; i < w->n_sent; i++)
        if (w->sent[i].id == id) return &w->sent[i];
    w->sent[w->n_sent] = (ArrowSent){ .id = id };
    return &w->sent[w->n_sent++];
}

static bool write_dictionary(ArrowWriter *w, const ArrowField *f, const ArrowValues *v, Err *err)
{
    ArrowSent *s = arrow_sent_of(w, f->dictionary);
    if (!v) return true; /* no entry is there */
    if (s->parts && s->version != v->version) {
        if (w->file)
            return fail(err, EF_UNSUPPORTED, "column \"%.*s\": found a dictionary that changes, which an Arrow file "
                        "cannot have: write a stream (.arrows)", (int)MIN(f->name.n, 60), f->name.p);
        s->parts = 0;
    }
    s->version = v->version;
    for (; s->parts < v->parts; s->parts++)
        if (!write_values(w, f->dictionary, &v->part[s->parts], s->parts > 0, err)) return false;
    return true;
}

static bool write_dictionaries(ArrowWriter *w, const ArrowColumn *c, int n, Err *err)
{
    bool ok = true;
    for (int i = 0; ok && i < n; i++) {
        const ArrowField *f = c[i].field;
        ok = f->encoded ? write_dictionary(w, f, c[i].values, err)
                        : write_dictionaries(w, c[i].child, f->children, err);
    }
    return ok;
}

/* ---- the writer ---- */
static bool arrow_add(BatchWriter *writer, const ArrowBatch *batch, Err *err)
{
    ArrowWriter *w = (ArrowWriter *)writer;
    Arena arena = { 0 };
    ArrowParts p = new_parts(&arena);
    size_t header;
    bool ok = write_dictionaries(w, batch->column, w->fields->n, err);
    for (int i = 0; ok && i < w->fields->n; i++) add_column(&p, &batch->column[i]);
    if (ok) {
        begin_message(&w->meta, HEADER_BATCH, p.size, &header);
        flat_point(&w->meta, header, put_batch(&w->meta, batch->rows, &p));
        ok = put_message(w, &w->batches, &p, err);
    }
    arena_free(&arena);
    return ok;
}

static void put_blocks(Buf *b, size_t slot, const ArrowBlocks *all)
{
    flat_point(b, slot, flat_put_i64(b, all->item ? all->item[0] : NULL, all->n, 3));
}

static bool arrow_end(BatchWriter *writer, Err *err)
{
    ArrowWriter *w = (ArrowWriter *)writer;
    Buf *b = &w->meta;
    if (!put_bytes(w, (Str){ "\xff\xff\xff\xff\0\0\0\0", 8 }, err)) return false;
    if (!w->file) return true;
    FlatSlot slot[] = { { 0, 2, VERSION_5 }, { 1, FLAT_OFFSET }, { 2, FLAT_OFFSET }, { 3, FLAT_OFFSET } };
    b->n = 0;
    buf_add(b, "\0\0\0\0", 4);
    flat_point(b, 0, flat_put_table(b, slot, COUNT(slot)));
    flat_point(b, slot[1].at, put_schema(b, w->fields));
    put_blocks(b, slot[2].at, &w->dictionaries);
    put_blocks(b, slot[3].at, &w->batches);
    uint32_t n = (uint32_t)b->n;
    for (int i = 0; i < 4; i++) buf_char(b, (char)(n >> (8 * i)));
    buf_puts(b, "ARROW1");
    return put_bytes(w, buf_view(b), err);
}

static void arrow_close(BatchWriter *w)
{
    buf_free(&((ArrowWriter *)w)->meta);
}

static int count_encoded(const ArrowField *f, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += f[i].encoded + count_encoded(f[i].child, f[i].children);
    return count;
}

static ArrowWriter *new_writer(Arena *arena, const ArrowFields *fields, const BatchOut *out, BatchWriter **writer)
{
    ArrowWriter *w = NEW(arena, ArrowWriter);
    *w = (ArrowWriter){ .all = { arrow_add, arrow_end, arrow_close }, .arena = arena, .fields = fields, .out = *out };
    w->sent = ARRAY(arena, ArrowSent, count_encoded(fields->field, fields->n));
    *writer = &w->all;
    return w;
}

static bool put_front(ArrowWriter *w, Err *err)
{
    if (w->file) buf_add(&w->meta, "ARROW1\0\0", 8);
    arrow_write_schema(&w->meta, w->fields);
    bool ok = put_bytes(w, buf_view(&w->meta), err);
    w->meta.n = 0;
    return ok;
}

bool arrow_create_stream(Arena *arena, const ArrowFields *fields, const BatchOut *out, BatchWriter **w, Err *err)
{
    return put_front(new_writer(arena, fields, out, w), err);
}

bool arrow_create_file(Arena *arena, const ArrowFields *fields, const BatchOut *out, BatchWriter **writer, Err *err)
{
    ArrowWriter *w = new_writer(arena, fields, out, writer);
    w->file = true;
    return put_front(w, err);
}
