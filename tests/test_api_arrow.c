/* SPDX-License-Identifier: Apache-2.0
 * test_api_arrow.c - ef_reply_arrow: replies by Arrow's C Data Interface, on the bundled model; run it from the root. */
#include "check.h"
#include "encoderfile.h"

static const char model_path[] = "examples/bus-ner";
static ef_error err;

static int32_t offset_at(const struct ArrowArray *a, int64_t i)
{
    return ((const int32_t *)a->buffers[1])[i];
}

static bool text_is(const struct ArrowArray *a, int64_t i, const char *want)
{
    const int32_t from = offset_at(a, i), to = offset_at(a, i + 1);
    return (size_t)(to - from) == strlen(want) && memcmp((const char *)a->buffers[2] + from, want, strlen(want)) == 0;
}

static ef_reply *ask(ef_model *m, const char *params)
{
    ef_input in[] = { ef_text("AC sleeper bus from Bangalore to Mumbai tomorrow"), ef_text("hello"), ef_text("from Pune") };
    ef_reply *r = ef_predict(m, in, 3, params, &err);
    CHECK(r != NULL);
    return r;
}

/* [{label, text, start, end, score}] of each input; the reply is gone before they are read. */
static void entities(ef_model *m)
{
    TEST("entities");
    struct ArrowSchema schema;
    struct ArrowArray array;
    ef_reply *r = ask(m, "{\"aggregation\":\"first\"}");
    if (!CHECK(ef_reply_arrow(r, &schema, &array, &err))) return;
    ef_reply_free(r);
    CHECK(strcmp(schema.format, "+s") == 0 && schema.n_children == 1 && array.length == 3 && array.n_children == 1);
    const struct ArrowSchema *list = schema.children[0], *item = list->children[0];
    CHECK(strcmp(list->name, "entities") == 0 && strcmp(list->format, "+l") == 0 && list->flags == ARROW_FLAG_NULLABLE);
    CHECK(strcmp(item->format, "+s") == 0 && item->flags == 0 && item->n_children == 5);
    CHECK(strcmp(item->children[0]->format, "u") == 0 && strcmp(item->children[2]->format, "i") == 0);
    CHECK(strcmp(item->children[4]->format, "f") == 0 && strcmp(item->children[4]->name, "score") == 0);
    const struct ArrowArray *a = array.children[0], *found = a->children[0];
    CHECK(a->length == 3 && a->n_buffers == 2 && !a->buffers[0] && offset_at(a, 0) == 0);
    CHECK(offset_at(a, 1) == 5 && offset_at(a, 2) == 5 && offset_at(a, 3) == 6 && found->length == 6);
    CHECK(text_is(found->children[0], 2, "SRC") && text_is(found->children[1], 2, "bangalore"));
    CHECK(((const int32_t *)found->children[2]->buffers[1])[2] == 20 && ((const float *)found->children[4]->buffers[1])[2] > 0.9f);
    array.release(&array), schema.release(&schema);
    CHECK(!array.release && !schema.release);
}

/* A child that is taken out lives on its own. */
static void child_taken(ef_model *m)
{
    TEST("a child that is taken out");
    struct ArrowSchema schema;
    struct ArrowArray array;
    ef_reply *r = ask(m, NULL);
    if (!CHECK(ef_reply_arrow(r, &schema, &array, &err))) return;
    CHECK(strcmp(schema.children[0]->name, "tokens") == 0 && schema.children[0]->children[0]->n_children == 6);
    struct ArrowArray own = *array.children[0];
    array.children[0]->release = NULL;
    array.release(&array), schema.release(&schema);
    ef_reply_free(r);
    CHECK(own.length == 3 && text_is(own.children[0]->children[0], 0, "ac"));
    own.release(&own);
    CHECK(!own.release);
}

static void of_pipeline(ef_model *m)
{
    TEST("of a pipeline");
    struct ArrowSchema schema;
    struct ArrowArray array;
    ef_input in[] = { ef_text("from Pune") };
    ef_reply *r = ef_run(m, NULL, in, 1, NULL, &err);
    CHECK(r && !ef_reply_arrow(r, &schema, &array, &err) && err.code == EF_UNSUPPORTED && says(&err, "pipeline"));
    ef_reply_free(r);
}

static void vectors(void)
{
    TEST("vectors");
    struct ArrowSchema schema;
    struct ArrowArray array;
    ef_options o = { .struct_size = sizeof o, .task = "sentence_embedding" };
    ef_model *m = ef_open("tests/golden/sentence/mean", &o, &err);
    if (!CHECK(m != NULL)) return;
    ef_reply *r = ask(m, NULL);
    const ef_tensor *t = ef_reply_tensor(r, 1);
    CHECK(ef_reply_arrow(r, &schema, &array, &err) && strcmp(schema.children[0]->name, "embedding") == 0);
    const struct ArrowArray *a = array.children[0];
    CHECK(t->dim[t->rank - 1] == offset_at(a, 2) - offset_at(a, 1));
    CHECK(memcmp((const float *)a->children[0]->buffers[1] + offset_at(a, 1), t->data, (size_t)t->dim[t->rank - 1] * sizeof(float)) == 0);
    array.release(&array), schema.release(&schema);
    ef_reply_free(r);
    ef_close(m);
}

int main(void)
{
    ef_model *m = ef_open(model_path, NULL, &err);
    if (!CHECK(m != NULL)) return finish();
    entities(m);
    child_taken(m);
    of_pipeline(m);
    vectors();
    ef_close(m);
    return finish();
}
