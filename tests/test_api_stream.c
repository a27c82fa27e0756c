/* SPDX-License-Identifier: Apache-2.0
 * test_api_stream.c - ef_map_arrow: batches through the bundled model, by streams made by hand; run it from the root. */
#include <errno.h>

#include "check.h"
#include "encoderfile.h"

static const char model_path[] = "examples/bus-ner";
static ef_error err;

/* ---- a stream made by hand: columns id (int64) and text ---- */
enum { MOST = 8 };
typedef struct Rows {
    const char *text[MOST];      /* NULL: null */
    int64_t n, skip, cut;        /* entries; skip: of the struct; cut: of the columns, before that */
    int fail;                    /* what get_next returns instead */
} Rows;
typedef struct Fake {
    const Rows *rows;
    int n, at;
    const char *format;          /* of the text */
    void (*spoil)(struct ArrowArray *);
    const char *name;            /* of the text */
} Fake;
static int schemas, arrays, streams; /* that are not released */
static const void *last_ids;         /* the buffer of the last batch */

typedef struct Hold {            /* of an array or a schema, and all that it shows */
    struct ArrowArray array[2], *children[2];
    struct ArrowSchema schema[2], *schemas[2];
    const void *buffers[3][4];
    int64_t ids[MOST], offsets64[MOST + 1], sizes[1];
    int32_t offsets[MOST + 1], views[MOST][4];
    uint8_t valid[1];
    char bytes[512];
    int holders;
} Hold;

static void hold_drop(Hold *h)
{
    if (--h->holders == 0) free(h);
}

static void array_end(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children && a->children[i] && a->children[i]->release) a->children[i]->release(a->children[i]);
    a->release = NULL;
    arrays--;
    hold_drop(a->private_data);
}

static void schema_end(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    s->release = NULL;
    schemas--;
    hold_drop(s->private_data);
}

static int fake_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const Fake *f = stream->private_data;
    Hold *h = calloc(1, sizeof *h);
    h->holders = 3, schemas += 3;
    h->schema[0] = (struct ArrowSchema){ .format = "l", .name = "id", .release = schema_end, .private_data = h };
    h->schema[1] = (struct ArrowSchema){ .format = f->format, .name = f->name ? f->name : "text", .flags = ARROW_FLAG_NULLABLE,
                                         .release = schema_end, .private_data = h };
    h->schemas[0] = &h->schema[0], h->schemas[1] = &h->schema[1];
    *out = (struct ArrowSchema){ .format = "+s", .name = "", .n_children = 2, .children = h->schemas, .release = schema_end,
                                 .private_data = h };
    return 0;
}

static void fill_texts(Hold *h, const Fake *f, const Rows *r)
{
    int32_t at = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const char *text = r->text[i] ? r->text[i] : "";
        const int32_t n = (int32_t)strlen(text);
        h->ids[i] = 100 * f->at + i;
        memcpy(h->bytes + at, text, (size_t)n);
        h->views[i][0] = n;
        if (n <= 12) memcpy(&h->views[i][1], text, (size_t)n);
        else memcpy(&h->views[i][1], text, 4), h->views[i][3] = at;
        at += n;
        h->offsets[i + 1] = at, h->offsets64[i + 1] = at;
        if (r->text[i]) h->valid[0] |= (uint8_t)(1 << i);
    }
    h->sizes[0] = at;
}

static int fake_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    Fake *f = stream->private_data;
    *out = (struct ArrowArray){ 0 };
    if (f->at == f->n) return 0;
    const Rows *r = &f->rows[f->at];
    if (r->fail) return r->fail;
    Hold *h = calloc(1, sizeof *h);
    h->holders = 3, arrays += 3;
    fill_texts(h, f, r);
    h->buffers[0][1] = last_ids = h->ids;
    h->buffers[1][0] = h->valid;
    h->buffers[1][1] = f->format[0] == 'v' ? (void *)h->views : f->format[0] == 'U' ? (void *)h->offsets64 : h->offsets;
    h->buffers[1][2] = h->bytes, h->buffers[1][3] = h->sizes;
    const int64_t n = r->n - r->cut;
    h->array[0] = (struct ArrowArray){ .length = n, .offset = r->cut, .n_buffers = 2, .buffers = h->buffers[0],
                                       .release = array_end, .private_data = h };
    h->array[1] = (struct ArrowArray){ .length = n, .null_count = -1, .offset = r->cut, .n_buffers = f->format[0] == 'v' ? 4 : 3,
                                       .buffers = h->buffers[1], .release = array_end, .private_data = h };
    h->children[0] = &h->array[0], h->children[1] = &h->array[1];
    *out = (struct ArrowArray){ .length = n - r->skip, .offset = r->skip, .n_buffers = 1, .buffers = h->buffers[2], .n_children = 2,
                                .children = h->children, .release = array_end, .private_data = h };
    f->at++;
    if (f->spoil) f->spoil(out);
    return 0;
}

static const char *fake_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the disk is gone";
}

static void fake_end(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
    streams--;
}

static struct ArrowArrayStream fake_stream(Fake *f)
{
    streams++;
    return (struct ArrowArrayStream){ fake_schema, fake_next, fake_error, fake_end, f };
}

static bool nothing_left(void)
{
    return schemas == 0 && arrays == 0 && streams == 0;
}

/* ---- what comes out ---- */
static bool is_null(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *valid = a->buffers[0];
    i += a->offset;
    return valid && !(valid[i >> 3] >> (i & 7) & 1);
}

static Str text_at(const struct ArrowArray *a, int64_t i)
{
    const int32_t *at = a->buffers[1];
    i += a->offset;
    return (Str){ (const char *)a->buffers[2] + at[i], (size_t)(at[i + 1] - at[i]) };
}

static bool same_values(const struct ArrowArray *a, int64_t i, const struct ArrowArray *b, int64_t k)
{
    const int32_t *x = a->buffers[1], *y = b->buffers[1];
    const struct ArrowArray *p = a->children[0], *q = b->children[0];
    if (x[i + 1] - x[i] != y[k + 1] - y[k]) return false;
    for (int32_t e = 0; e < x[i + 1] - x[i]; e++) {
        if (!str_eq(text_at(p->children[0], x[i] + e), text_at(q->children[0], y[k] + e))) return false;
        if (((const int32_t *)p->children[2]->buffers[1])[x[i] + e] != ((const int32_t *)q->children[2]->buffers[1])[y[k] + e]) return false;
        if (((const float *)p->children[4]->buffers[1])[x[i] + e] != ((const float *)q->children[4]->buffers[1])[y[k] + e]) return false;
    }
    return true;
}

/* The entities of a text, as ef_predict finds them, are those of the row. */
static bool same_as_predict(ef_model *m, const char *text, const struct ArrowArray *entities, int64_t row)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    ef_input in[] = { ef_text(text) };
    ef_reply *r = ef_predict(m, in, 1, "{\"aggregation\":\"first\",\"offsets\":\"chars\"}", &err);
    bool ok = r && ef_reply_arrow(r, &schema, &array, &err);
    ef_reply_free(r);
    if (!ok) return false;
    ok = same_values(array.children[0], 0, entities, row);
    array.release(&array), schema.release(&schema);
    return ok;
}

static const Rows three[] = {
    { { "AC sleeper bus from Bangalore to Mumbai tomorrow", NULL, "bus to Goa", "" }, 4 },
    { .n = 0 },
    { { "not this", "nor this", "from Pune", "to M\xc3\xbcnchen tonight", NULL }, 5, .skip = 1, .cut = 1 },
};

static void check_row(ef_model *m, const Rows *r, const struct ArrowArray *batch, int64_t i)
{
    const char *text = r->text[r->cut + r->skip + i];
    const struct ArrowArray *entities = batch->children[1], *error = batch->children[2];
    if (text && *text) {
        CHECK(!is_null(entities, i) && is_null(error, i));
        CHECK(same_as_predict(m, text, entities, i));
    } else {
        CHECK(is_null(entities, i) && !is_null(error, i));
        const Str why = text_at(error, i);
        CHECK(text ? memmem(why.p, why.n, "empty", 5) != NULL
                   : str_is(why, "text: found null, wanted a string or two of them") || printf("  %.*s\n", STR_ARG(why)) < 0);
    }
}

static void batches(ef_model *m, const char *format)
{
    TEST(format);
    Fake f = { three, 3, .format = format };
    struct ArrowArrayStream in = fake_stream(&f), out;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    if (!CHECK(ef_map_arrow(m, &in, "{\"keep\": [\"id\"]}", &out, &err))) return;
    CHECK(!in.release && out.release && f.at == 0);
    for (int i = 0; i < 2; i++) { /* as often as it is asked for */
        CHECK(out.get_schema(&out, &schema) == 0 && strcmp(schema.format, "+s") == 0 && schema.n_children == 3);
        CHECK(strcmp(schema.children[0]->name, "id") == 0 && strcmp(schema.children[0]->format, "l") == 0);
        CHECK(strcmp(schema.children[1]->name, "entities") == 0 && strcmp(schema.children[2]->name, "error") == 0);
        schema.release(&schema);
    }
    for (int b = 0; b < 3; b++) {
        if (!CHECK(out.get_next(&out, &batch) == 0 && batch.release && f.at == b + 1)) break;
        CHECK(batch.n_children == 3 && batch.length == three[b].n - three[b].skip - three[b].cut && !out.get_last_error(&out));
        const struct ArrowArray *id = batch.children[0];
        CHECK(id->buffers[1] == last_ids && id->length == batch.length); /* not copied */
        for (int64_t i = 0; i < batch.length; i++) {
            CHECK(((const int64_t *)id->buffers[1])[id->offset + i] == 100 * b + i + three[b].skip + three[b].cut);
            check_row(m, &three[b], &batch, i);
        }
        batch.release(&batch);
    }
    CHECK(out.get_next(&out, &batch) == 0 && !batch.release && out.get_next(&out, &batch) == 0 && !batch.release);
    out.release(&out);
    CHECK(!out.release && nothing_left());
}

/* The text itself is kept, a child is taken out, and all outlives the stream and its end in the middle. */
static void halfway(ef_model *m)
{
    TEST("released halfway");
    Fake f = { three, 3, .format = "u" };
    struct ArrowArrayStream in = fake_stream(&f), out;
    struct ArrowArray batch;
    if (!CHECK(ef_map_arrow(m, &in, "{\"keep\": [\"all\"], \"results\": \"tokens\"}", &out, &err))) return;
    CHECK(out.get_next(&out, &batch) == 0 && batch.n_children == 4);
    out.release(&out);
    CHECK(streams == 0 && schemas == 0 && arrays == 2);
    struct ArrowArray own = *batch.children[1];
    batch.children[1]->release = NULL;
    batch.release(&batch);
    CHECK(arrays == 1 && own.length == 4 && str_is(text_at(&own, 2), "bus to Goa"));
    own.release(&own);
    in = fake_stream(&f);
    CHECK(ef_map_arrow(m, &in, NULL, &in, &err) && in.release); /* into itself, and never asked */
    in.release(&in);
    CHECK(nothing_left());
}

/* As DuckDB 1 does it: what a column of the schema shows dies with the whole, also where the column was taken out. */
static struct Frail {
    char name[4], inner[4], format[4], metadata[4 + 4 + 1 + 4 + 2];
} frail;
static void frail_keep(struct ArrowSchema *s) { s->release = NULL; }
static void frail_end(struct ArrowSchema *s)
{
    s->release = NULL;
    memset(&frail, 0xb1, sizeof frail);
}

static int frail_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    static struct ArrowSchema id, text, list, word, *inner[] = { &list }, *all[] = { &id, &text };
    static const char metadata[] = "\1\0\0\0\1\0\0\0k\2\0\0\0vv"; /* one pair, k: vv */
    (void)stream;
    frail = (struct Frail){ "id", "in", "+l", "" };
    memcpy(frail.metadata, metadata, sizeof frail.metadata);
    word = (struct ArrowSchema){ .format = "u", .name = frail.inner, .release = frail_keep };
    list = (struct ArrowSchema){ .format = "i", .name = frail.inner, .dictionary = &word, .release = frail_keep };
    id = (struct ArrowSchema){ .format = frail.format, .name = frail.name, .metadata = frail.metadata, .n_children = 1,
                               .children = inner, .release = frail_keep };
    text = (struct ArrowSchema){ .format = "u", .name = "text", .release = frail_keep };
    *out = (struct ArrowSchema){ .format = "+s", .n_children = 2, .children = all, .release = frail_end };
    return 0;
}

static void frail_input(ef_model *m)
{
    TEST("a schema whose columns do not outlive it");
    Fake f = { three, 3, .format = "u" };
    struct ArrowArrayStream in = fake_stream(&f), out;
    struct ArrowSchema schema;
    in.get_schema = frail_schema;
    if (!CHECK(ef_map_arrow(m, &in, "{\"keep\": \"id\"}", &out, &err) && out.get_schema(&out, &schema) == 0)) return;
    out.release(&out);
    struct ArrowSchema id = *schema.children[0];
    schema.children[0]->release = NULL;
    schema.release(&schema);
    CHECK(strcmp(id.name, "id") == 0 && strcmp(id.format, "+l") == 0 && memcmp(id.metadata, "\1\0\0\0\1\0\0\0k\2\0\0\0vv", 15) == 0);
    CHECK(id.n_children == 1 && strcmp(id.children[0]->name, "in") == 0 && strcmp(id.children[0]->dictionary->format, "u") == 0);
    id.release(&id);
    CHECK(!id.release && nothing_left());
}

static void broken_input(ef_model *m)
{
    TEST("an input that breaks");
    const Rows rows[] = { { { "bus to Goa" }, 1 }, { .fail = EIO } };
    Fake f = { rows, 2, .format = "u" };
    struct ArrowArrayStream in = fake_stream(&f), out;
    struct ArrowArray batch;
    if (!CHECK(ef_map_arrow(m, &in, NULL, &out, &err))) return;
    CHECK(out.get_next(&out, &batch) == 0 && batch.n_children == 2);
    batch.release(&batch);
    CHECK(out.get_next(&out, &batch) == EIO && !batch.release && strstr(out.get_last_error(&out), "the disk is gone"));
    CHECK(out.get_next(&out, &batch) == EIO && !batch.release);
    out.release(&out);
    CHECK(nothing_left());
}

/* ---- lies ---- */
static void lie_length(struct ArrowArray *a) { a->children[1]->length = -1; }
static void lie_rows(struct ArrowArray *a) { a->length = 5; }
static void lie_negative(struct ArrowArray *a) { a->length = -3; }
static void lie_offset(struct ArrowArray *a) { a->offset = INT64_MAX; }
static void lie_children(struct ArrowArray *a) { a->n_children = 1; a->children[1]->release(a->children[1]); }
static void lie_released(struct ArrowArray *a) { a->children[0]->release(a->children[0]); }
static void lie_offsets(struct ArrowArray *a) { a->children[1]->buffers[1] = NULL; }
static void lie_bytes(struct ArrowArray *a) { a->children[1]->buffers[2] = NULL; }
static void lie_buffers(struct ArrowArray *a) { a->children[1]->n_buffers = 1; }
static void lie_valid(struct ArrowArray *a) { a->children[1]->null_count = 2; a->children[1]->buffers[0] = NULL; }
static void lie_order(struct ArrowArray *a) { ((int32_t *)(uintptr_t)a->children[1]->buffers[1])[1] = -7; }
static void lie_null_rows(struct ArrowArray *a) { a->null_count = -1; a->buffers[0] = a->children[1]->buffers[0]; }
static void lie_view(struct ArrowArray *a) { ((int32_t *)(uintptr_t)a->children[1]->buffers[1])[2] = 3; }

static void lies(ef_model *m)
{
    static const struct { void (*spoil)(struct ArrowArray *); const char *says, *format; } lie[] = {
        { lie_length, "found -1 entries" },   { lie_rows, "wanted 5" },           { lie_negative, "found -3 entries" },
        { lie_offset, "entries from" },       { lie_children, "found 1 columns" }, { lie_released, "column 0 was released" },
        { lie_offsets, "buffer of offsets" }, { lie_bytes, "buffer of bytes" },   { lie_buffers, "found 1 buffers" },
        { lie_valid, "buffer of validity" },  { lie_order, "found the offset" },  { lie_null_rows, "null as a whole" },
        { lie_view, "shows nothing", "vu" },
    };
    for (size_t i = 0; i < COUNT(lie); i++) {
        TEST(lie[i].says);
        Fake f = { three, 3, .format = lie[i].format ? lie[i].format : "u", .spoil = lie[i].spoil };
        struct ArrowArrayStream in = fake_stream(&f), out;
        struct ArrowArray batch;
        if (!CHECK(ef_map_arrow(m, &in, "{\"keep\":\"id\"}", &out, &err))) return;
        CHECK(out.get_next(&out, &batch) == EINVAL && !batch.release);
        CHECK(strstr(out.get_last_error(&out), lie[i].says) || printf("  %s\n", out.get_last_error(&out)) < 0);
        out.release(&out);
        CHECK(nothing_left());
    }
}

static int bare_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    fake_schema(stream, out);
    out->format = "l";
    return 0;
}

static void schema_says(ef_model *m, const char *options, Fake f, int code, const char *words)
{
    TEST(words);
    struct ArrowArrayStream in = fake_stream(&f), out;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    if (f.format[0] == '+') in.get_schema = bare_schema;
    if (!CHECK(ef_map_arrow(m, &in, options, &out, &err))) return;
    CHECK(out.get_next(&out, &batch) == code && !batch.release && out.get_schema(&out, &schema) == code && !schema.release);
    CHECK(strstr(out.get_last_error(&out), words) || printf("  %s\n", out.get_last_error(&out)) < 0);
    out.release(&out);
    CHECK(nothing_left() && f.at == 0);
}

static void refused(ef_model *m, const char *options, ef_code code, const char *words)
{
    TEST(words);
    Fake f = { three, 3, .format = "u" };
    struct ArrowArrayStream in = fake_stream(&f), out;
    CHECK(!ef_map_arrow(m, &in, options, &out, &err) && err.code == code && says(&err, words));
    CHECK(in.release && streams == 1); /* as it was */
    if (in.release) in.release(&in);
    CHECK(nothing_left());
}

/* ---- more rows than one part has ---- */
enum { MANY = 3000 };
static int many_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    static int32_t offsets[MANY + 1];
    static char bytes[MANY * 16];
    static const void *text[3] = { NULL, offsets, bytes }, *ids[2], *none[1];
    int *left = stream->private_data;
    *out = (struct ArrowArray){ 0 };
    if (!(*left)--) return 0;
    for (int i = 0; i < MANY; i++) { /* some are empty */
        const int n = i % 1000 == 999 ? 0 : snprintf(bytes + offsets[i], 16, "bus to Goa %d", i % 7);
        offsets[i + 1] = offsets[i] + n;
    }
    Hold *h = calloc(1, sizeof *h);
    h->holders = 3, arrays += 3;
    h->array[0] = (struct ArrowArray){ .length = MANY, .n_buffers = 2, .buffers = ids, .release = array_end, .private_data = h };
    h->array[1] = h->array[0];
    h->array[1].n_buffers = 3, h->array[1].buffers = text;
    h->children[0] = &h->array[0], h->children[1] = &h->array[1];
    *out = (struct ArrowArray){ .length = MANY, .n_buffers = 1, .buffers = none, .n_children = 2, .children = h->children,
                                .release = array_end, .private_data = h };
    return 0;
}
static int many_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    Fake f = { .format = "u" };
    return fake_schema(&(struct ArrowArrayStream){ .private_data = &f }, out) + (stream == NULL);
}

static void many(ef_model *m)
{
    TEST("many rows");
    int left = 1;
    struct ArrowArrayStream in = { many_schema, many_next, fake_error, fake_end, &left }, out;
    struct ArrowArray batch;
    streams++;
    if (!CHECK(ef_map_arrow(m, &in, "{}", &out, &err) && out.get_next(&out, &batch) == 0)) return;
    int wrong = 0;
    CHECK(batch.length == MANY && batch.children[0]->length == MANY);
    for (int i = 0; i < MANY; i++) wrong += is_null(batch.children[0], i) != (i % 1000 == 999);
    CHECK(wrong == 0 && same_as_predict(m, "bus to Goa 3", batch.children[0], 2999 / 7 * 7 - 7 + 3));
    batch.release(&batch);
    CHECK(out.get_next(&out, &batch) == 0 && !batch.release);
    out.release(&out);
    CHECK(nothing_left());
}

static void vectors(void)
{
    TEST("vectors");
    ef_options o = { .struct_size = sizeof o, .task = "sentence_embedding" };
    ef_model *m = ef_open("tests/golden/sentence/mean", &o, &err);
    if (!CHECK(m != NULL)) return;
    const Rows rows[] = { { { "the cat", NULL, "a dog sat" }, 3 } };
    Fake f = { rows, 1, .format = "U" };
    struct ArrowArrayStream in = fake_stream(&f), out;
    struct ArrowArray batch;
    ef_input one[] = { ef_text("a dog sat") };
    ef_reply *r = ef_predict(m, one, 1, NULL, &err);
    if (CHECK(r && ef_map_arrow(m, &in, NULL, &out, &err) && out.get_next(&out, &batch) == 0)) {
        const struct ArrowArray *a = batch.children[0];
        const int32_t *at = a->buffers[1];
        const ef_tensor *t = ef_reply_tensor(r, 0);
        const size_t n = (size_t)t->dim[t->rank - 1];
        CHECK(is_null(a, 1) && at[1] == at[2] && (size_t)(at[3] - at[2]) == n);
        CHECK(memcmp((const float *)a->children[0]->buffers[1] + at[2], t->data, n * sizeof(float)) == 0);
        batch.release(&batch), out.release(&out);
    }
    ef_reply_free(r);
    ef_close(m);
    CHECK(nothing_left());
}

int main(void)
{
    ef_model *m = ef_open(model_path, NULL, &err);
    if (!CHECK(m != NULL)) return finish();
    batches(m, "u"), batches(m, "U"), batches(m, "vu");
    halfway(m);
    frail_input(m);
    broken_input(m);
    lies(m);
    schema_says(m, "{\"column\":\"txt\"}", (Fake){ three, 3, .format = "u" }, EINVAL, "did you mean \"text\"?");
    schema_says(m, "{\"keep\":[\"idd\"]}", (Fake){ three, 3, .format = "u" }, EINVAL, "did you mean \"id\"?");
    schema_says(m, "{\"keep\":[\"id\",\"id\"]}", (Fake){ three, 3, .format = "u" }, EINVAL, "there twice");
    schema_says(m, "{\"column\":\"error\",\"keep\":[\"error\"]}", (Fake){ three, 3, .format = "u", .name = "error" }, EINVAL, "there twice");
    schema_says(m, NULL, (Fake){ three, 3, .format = "+s" }, EINVAL, "wanted a struct");
    schema_says(m, NULL, (Fake){ three, 3, .format = "g" }, EINVAL, "column \"text\": found the type float, wanted texts, or lists of two");
    refused(m, "{\"colum\":\"x\"}", EF_INVALID_INPUT, "did you mean \"column\"?");
    refused(m, "{\"keep\":7}", EF_INVALID_INPUT, "keep: found");
    refused(m, "{\"results\":\"words\"}", EF_USAGE, "wanted one of");
    refused(m, "[]", EF_USAGE, "wanted an object");
    refused(m, "{\"aggregation\":\"none of these\"}", EF_INVALID_INPUT, "aggregation");
    many(m);
    vectors();
    ef_close(m);
    return finish();
}
