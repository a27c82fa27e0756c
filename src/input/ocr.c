/* SPDX-License-Identifier: Apache-2.0
 * ocr.c - see ocr.h. The page goes to the program as PNM, which says no resolution, as the PNG does that
 * pytesseract writes; so both read the same pixels. A table looks like
 *
 *     level page_num block_num par_num line_num word_num left top width height conf text
 *     5     1        1         1       1        1        64   36  92    25     96.1 Invoice
 *
 * with tabs between. */
#include "input/ocr.h"

#include "base/child.h"
#include "input/items.h"

/* ---- the table ---- */
enum { LEFT, TOP, WIDTH, HEIGHT, TEXT, COLUMNS };
static const char *const column_names[COLUMNS] = { "left", "top", "width", "height", "text" };

typedef struct OcrTable {
    int place[COLUMNS];          /* of each column in a line */
    int width, height;           /* of the page */
    Str *word;
    int32_t *box;
    size_t n;
} OcrTable;

static Str cut_at(Str *rest, char end)
{
    const char *found = memchr(rest->p, end, rest->n);
    Str part = { rest->p, found ? (size_t)(found - rest->p) : rest->n };
    size_t skip = found ? part.n + 1 : part.n;
    rest->p += skip, rest->n -= skip;
    return part;
}

static bool table_head(OcrTable *t, Str line, Err *err)
{
    for (int c = 0; c < COLUMNS; c++) t->place[c] = -1;
    for (int at = 0; line.n; at++) {
        Str name = cut_at(&line, '\t');
        for (int c = 0; c < COLUMNS; c++)
            if (str_is(name, column_names[c])) t->place[c] = at;
    }
    for (int c = 0; c < COLUMNS; c++)
        if (t->place[c] < 0)
            return fail(err, EF_UNAVAILABLE, "found no column \"%s\" in its first line, wanted the table of "
                        "`tesseract IMAGE stdout tsv`", column_names[c]);
    return true;
}

static void table_cells(const OcrTable *t, Str line, Str cell[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) cell[c] = (Str){ "", 0 };
    for (int at = 0; line.n; at++) {
        Str one = cut_at(&line, '\t');
        for (int c = 0; c < COLUMNS; c++)
            if (t->place[c] == at) cell[c] = one;
    }
}

static bool is_blank(Str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!strchr(" \t\r\n\v\f", text.p[i])) return false;
    return true;
}

/* In thousandths of the page, cut off as the processors do. */
static int32_t thousandths(int64_t pixels, int side)
{
    return (int32_t)(BOX_MOST * ((double)pixels / side));
}

/* How many of its bytes a message may have: none of what is no text. */
static int quoted_bytes(Str cell)
{
    cell.n = MIN(cell.n, (size_t)20);
    return utf8_valid(cell) ? (int)cell.n : 0;
}

static bool table_box(const OcrTable *t, const Str cell[COLUMNS], int32_t *box, Err *err)
{
    int64_t at[TEXT];
    for (int c = 0; c < TEXT; c++)
        if (!str_int(cell[c], &at[c]) || at[c] < 0 || at[c] > INT32_MAX)
            return fail(err, EF_UNAVAILABLE, "%s: found \"%.*s\", wanted a number of pixels", column_names[c],
                        quoted_bytes(cell[c]), cell[c].p);
    const int64_t right = at[LEFT] + at[WIDTH], bottom = at[TOP] + at[HEIGHT];
    if (right > t->width || bottom > t->height)
        return fail(err, EF_UNAVAILABLE, "found a word that ends at %lld, %lld, wanted one inside the page of %d x %d",
                    (long long)right, (long long)bottom, t->width, t->height);
    box[0] = thousandths(at[LEFT], t->width), box[1] = thousandths(at[TOP], t->height);
    box[2] = thousandths(right, t->width), box[3] = thousandths(bottom, t->height);
    return true;
}

static bool table_line(OcrTable *t, Str line, Err *err)
{
    Str cell[COLUMNS];
    if (line.n && line.p[line.n - 1] == '\r') line.n--;
    table_cells(t, line, cell);
    if (is_blank(cell[TEXT])) return true;
    if (t->n == PAGE_WORDS_MOST) return fail(err, EF_TOO_LARGE, "found more than %d words", PAGE_WORDS_MOST);
    if (!utf8_valid(cell[TEXT])) return fail(err, EF_UNAVAILABLE, "found text that is not UTF-8");
    if (!table_box(t, cell, t->box + t->n * BOX_SIDES, err)) return false;
    t->word[t->n++] = cell[TEXT];
    return true;
}

bool ocr_table(Arena *arena, Str table, int width, int height, Item *out, Err *err)
{
    OcrTable t = { .width = width, .height = height };
    size_t lines = 1, number = 1;
    for (size_t i = 0; i < table.n; i++) lines += table.p[i] == '\n';
    lines = MIN(lines, (size_t)PAGE_WORDS_MOST);
    t.word = ARRAY(arena, Str, lines);
    t.box = ARRAY(arena, int32_t, lines * BOX_SIDES);
    if (!table_head(&t, cut_at(&table, '\n'), err)) return false;
    while (table.n) {
        number++;
        if (!table_line(&t, cut_at(&table, '\n'), err)) return within(err, "line %zu", number);
    }
    *out = (Item){ .second = out->second, .picture = out->picture, .list = t.word, .n = t.n, .boxes = t.box };
    item_join_words(arena, out); /* copies them */
    return true;
}

/* ---- the program ---- */
bool ocr_read(Arena *arena, Arena *scratch, const char *program, double seconds, const Picture *page, Item *out,
              Err *err)
{
    const char *const argv[] = { program, "stdin", "stdout", "-c", "tessedit_create_tsv=1", NULL };
    Str head = str_of(str_format(scratch, "P6\n%d %d\n255\n", page->width, page->height));
    ChildCall call = { .argv = argv, .seconds = seconds > 0 ? seconds : OCR_SECONDS, .memory = OCR_MEMORY,
                       .in = { head, { (const char *)page->rgb, (size_t)page->width * (size_t)page->height * 3 } },
                       .out = arena_raw(scratch, OCR_TEXT), .room = OCR_TEXT };
    size_t n;
    if (!child_run(&call, &n, err)) return within(err, "the words of the page");
    return ocr_table(arena, (Str){ call.out, n }, page->width, page->height, out, err) ||
           within(err, "the words of the page: " OCR_PROGRAM);
}
