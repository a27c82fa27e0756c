/* SPDX-License-Identifier: Apache-2.0
 * test_arrow_import.c - columns by Arrow's C Data Interface: nested ones, slices, dictionaries, and numbers that lie.
 * Whole tables are compared in tests/python/test_arrow.py. */
#include "check.h"
#include "data/arrow_import.h"
#include "data/json.h"

static Arena arena;
static Err err;

static void let_go_schema(struct ArrowSchema *s) { s->release = NULL; }
static void let_go_array(struct ArrowArray *a) { a->release = NULL; }
#define SCHEMA(...) &(struct ArrowSchema){ .release = let_go_schema, __VA_ARGS__ }
#define ARRAY_OF(...) &(struct ArrowArray){ .release = let_go_array, __VA_ARGS__ }
#define BUFFERS(n, ...) .n_buffers = n, .buffers = (const void *[]){ __VA_ARGS__ }
#define SCHEMAS(n, ...) .n_children = n, .children = (struct ArrowSchema *[]){ __VA_ARGS__ }
#define ARRAYS(n, ...) .n_children = n, .children = (struct ArrowArray *[]){ __VA_ARGS__ }

/* Rows of a column as JSON; NULL: it was refused. skip: of the batch. */
static const char *rows_of(struct ArrowSchema *type, struct ArrowArray *values, int64_t skip)
{
    struct ArrowSchema all = { .format = "+s", SCHEMAS(1, type), .release = let_go_schema };
    struct ArrowArray batch = { .length = values->length - skip, .offset = skip, BUFFERS(1, NULL), ARRAYS(1, values),
                                .release = let_go_array };
    ArrowFields fields;
    ArrowColumn column;
    const char *what;
    Buf text = { .arena = &arena };
    err = (Err){ 0 };
    if (!arrow_import_struct(&all, &err)) return NULL;
    arrow_import_fields(&arena, &all, &fields);
    if (!arrow_can_read(&fields.field[0], &what)) return fail(&err, EF_UNSUPPORTED, "%s", what), NULL;
    if (!arrow_import_batch(&batch, 1, &err)) return NULL;
    if (!arrow_import_column(&arena, &fields.field[0], &batch, 0, &column, &err)) return NULL;
    for (int64_t row = 0; row < batch.length; row++) {
        Value v = arrow_value(&arena, &column, row);
        json_write(&text, &v);
        buf_char(&text, ' ');
    }
    return str_dup(&arena, buf_view(&text));
}

static void holds(const char *name, struct ArrowSchema *type, struct ArrowArray *values, int64_t skip, const char *json)
{
    TEST(name);
    const char *found = rows_of(type, values, skip);
    CHECK((found && strcmp(found, json) == 0) || printf("  found %s\n", found ? found : err.message) < 0);
}

static void lies(const char *says, struct ArrowSchema *type, struct ArrowArray *values)
{
    TEST(says);
    CHECK(!rows_of(type, values, 0) && (strstr(err.message, says) || printf("  %s\n", err.message) < 0));
}

static const int32_t numbers[] = { 1, 2, 3, 4, 5, 6 }, offsets[] = { 0, 2, 3, 6 }, far[] = { 0, 2, 3, 7 }, back[] = { 0, 3, 2, 6 };
static const int8_t indexes[] = { 1, 0, 1, 2 };
static const uint8_t bits[] = { 5 };
static const int32_t ends[] = { 0, 1, 3, 6 };
static const char letters[] = "abbccc";

int main(void)
{
    struct ArrowSchema *ints = SCHEMA(.format = "i", .name = "item"), *texts = SCHEMA(.format = "u", .name = "t");
    struct ArrowSchema *list = SCHEMA(.format = "+l", .name = "l", SCHEMAS(1, ints)), *fixed = SCHEMA(.format = "+w:2", .name = "w", SCHEMAS(1, ints));
    struct ArrowSchema *both = SCHEMA(.format = "+s", .name = "s", SCHEMAS(2, texts, ints));
    struct ArrowSchema *words = SCHEMA(.format = "c", .name = "d", .dictionary = texts);
    struct ArrowArray *six = ARRAY_OF(.length = 6, BUFFERS(2, NULL, numbers));
    struct ArrowArray *four = ARRAY_OF(.length = 4, .offset = 2, BUFFERS(2, NULL, numbers));
    struct ArrowArray *three = ARRAY_OF(.length = 3, BUFFERS(3, NULL, ends, letters));
    holds("lists", list, ARRAY_OF(.length = 3, BUFFERS(2, NULL, offsets), ARRAYS(1, six)), 0, "[1,2] [3] [4,5,6] ");
    holds("a slice of lists", list, ARRAY_OF(.length = 2, .offset = 1, BUFFERS(2, NULL, offsets), ARRAYS(1, six)), 1, "[4,5,6] ");
    holds("nulls", list, ARRAY_OF(.length = 3, .null_count = 1, BUFFERS(2, bits, offsets), ARRAYS(1, six)), 0, "[1,2] null [4,5,6] ");
    holds("fixed lists", fixed, ARRAY_OF(.length = 1, .offset = 1, BUFFERS(1, NULL), ARRAYS(1, four)), 0, "[5,6] ");
    holds("structs", both, ARRAY_OF(.length = 2, .offset = 1, BUFFERS(1, NULL), ARRAYS(2, three, four)), 0,
          "{\"t\":\"bb\",\"item\":4} {\"t\":\"ccc\",\"item\":5} ");
    holds("a slice of structs", both, ARRAY_OF(.length = 2, .offset = 1, BUFFERS(1, NULL), ARRAYS(2, three, four)), 1, "{\"t\":\"ccc\",\"item\":5} ");
    holds("a dictionary", words, ARRAY_OF(.length = 4, BUFFERS(2, NULL, indexes), .dictionary = three), 1, "\"a\" \"bb\" \"ccc\" ");
    holds("nothing", list, ARRAY_OF(.length = 0, BUFFERS(2, NULL, NULL), ARRAYS(1, six)), 0, "");
    lies("found 6 entries, wanted 7", list, ARRAY_OF(.length = 3, BUFFERS(2, NULL, far), ARRAYS(1, six)));
    lies("found the offset 2 behind 3", list, ARRAY_OF(.length = 3, BUFFERS(2, NULL, back), ARRAYS(1, six)));
    lies("found no buffer of offsets", list, ARRAY_OF(.length = 3, BUFFERS(2, NULL, NULL), ARRAYS(1, six)));
    lies("found 0 columns inside, wanted 1", list, ARRAY_OF(.length = 3, BUFFERS(2, NULL, offsets)));
    lies("found 6 entries for 4 lists of 2", fixed, ARRAY_OF(.length = 4, BUFFERS(1, NULL), ARRAYS(1, six)));
    lies("\"t\": found 3 entries, wanted 4", both, ARRAY_OF(.length = 4, BUFFERS(1, NULL), ARRAYS(2, three, four)));
    lies("found no buffer of values", both, ARRAY_OF(.length = 3, BUFFERS(1, NULL), ARRAYS(2, three, ARRAY_OF(.length = 3, BUFFERS(2, NULL, NULL)))));
    lies("found no column inside", both, ARRAY_OF(.length = 3, BUFFERS(1, NULL), ARRAYS(2, three, NULL)));
    lies("found no dictionary", words, ARRAY_OF(.length = 4, BUFFERS(2, NULL, indexes)));
    lies("found the index 2 in a dictionary of 2", words, ARRAY_OF(.length = 4, BUFFERS(2, NULL, indexes), .dictionary = ARRAY_OF(.length = 2, BUFFERS(3, NULL, ends, letters))));
    lies("found 1 buffers, wanted 2", ints, ARRAY_OF(.length = 1, BUFFERS(1, NULL)));
    lies("the type \"+xy\"", SCHEMA(.format = "+xy", .name = "x"), six);
    lies("the type \"+w:-1\"", SCHEMA(.format = "+w:-1", .name = "x", SCHEMAS(1, ints)), six);
    lies("nested in an unknown way", SCHEMA(.format = "+l", .name = "x"), six);
    lies("no integers", SCHEMA(.format = "u", .name = "x", .dictionary = texts), six);
    lies("the type union", SCHEMA(.format = "+ud:0,1", .name = "x", SCHEMAS(2, ints, texts)), six);
    arena_free(&arena);
    return finish();
}
