/* SPDX-License-Identifier: Apache-2.0
 * token_classification.c - a label for every token: names, places, parts of speech. */
#include <math.h>

#include "data/number.h"
#include "parts.h"
#include "task/bio.h"
#include "task/overlaps.h"

static const Field request[] = {
    PART_INPUTS, PART_METADATA(2), PART_PAGES(20), PART_OFFSETS, PART_TRUNCATE,
    { "aggregation", 0, F_STR, .words = part_grouping_words,
      .help = "the reply lists entities: tokens as they are (none), neighbours of one type "
              "(simple), or whole words by their first token, the mean or the best of their tokens" },
    { "extract", 0, F_BOOL,
      .help = "the reply has the text of each entity type, by whole words and the B- and I- of "
              "their first tokens; of a pair, those of its first text" },
    { "stride", 0, F_U32, .nullable = true, .least = 0, .most = INT32_MAX,
      .help = "a text that does not fit the model is not cut: it is read in windows, which share so "
              "many tokens" },
    { "return_tokens", 0, F_BOOL,
      .help = "the reply lists tokens; true unless entities were asked for" },
    { 0 },
};

static const Field token[] = {
    { "token_info", 1, F_MSG, .required = true, .msg = part_token_info, .msg_name = "TokenInfo" },
    { "scores", 2, F_F32, .repeated = true, .required = true, .help = "probability of each label" },
    { "label", 3, F_STR, .required = true, .help = "the most probable one" },
    { "score", 4, F_F32, .required = true, .help = "its probability" },
    { 0 },
};
static const Field result[] = {
    { "tokens", 1, F_MSG, .repeated = true, .msg = token, .msg_name = "TokenClassification",
      .help = "tokens of the text, without special ones; not where entities were asked for" },
    { "entities", 0, F_MSG, .repeated = true, .msg = part_entity, .msg_name = "Entity",
      .help = "by the aggregation that was asked for" },
    { "extracted", 0, F_NULL_STR_MAP,
      .help = "entity type to its first text, null where there is none; only if asked for" },
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "TokenClassificationResult");

/* ---- in tables ---- */
static const Field entity_columns[] = {
    { "label", 1, F_STR, .required = true }, { "text", 2, F_STR, .required = true },
    { "start", 3, F_I32, .required = true }, { "end", 4, F_I32, .required = true },
    { "score", 5, F_F32, .required = true }, { 0 },
};
static const Field token_columns[] = {
    { "token", 1, F_STR, .required = true }, { "id", 2, F_I32, .required = true },
    { "start", 3, F_I32, .required = true }, { "end", 4, F_I32, .required = true },
    { "label", 5, F_STR, .required = true }, { "score", 6, F_F32, .required = true }, { 0 },
};
#define TABLE_ENTITIES { "entities", 1, F_MSG, .repeated = true, .msg = entity_columns }
#define TABLE_TOKENS { "tokens", 2, F_MSG, .repeated = true, .msg = token_columns }
#define TABLE_SCORES { "scores", 3, F_F32, .repeated = true } /* tokens x labels */
static const Field table_entities[] = { TABLE_ENTITIES, { 0 } };
static const Field table_tokens[] = { TABLE_TOKENS, { 0 } };
static const Field table_scores[] = { TABLE_TOKENS, TABLE_SCORES, { 0 } };
static const Field table_all[] = { TABLE_ENTITIES, TABLE_TOKENS, TABLE_SCORES, { 0 } };

static Value member_of(const Value *map, const char *key)
{
    const Value *v = value_get(map, key);
    return v ? *v : value_null();
}

static Value told_entities(Arena *arena, const Value *list)
{
    Value out = value_list(arena, list->list.n);
    for (size_t i = 0; i < list->list.n; i++) {
        const Value *e = &list->list.items[i], *group = value_get(e, "entity_group");
        Value one = value_map(arena, 5);
        value_add(&one, "label", group ? *group : member_of(e, "entity"));
        value_add(&one, "text", member_of(e, "word"));
        value_add(&one, "start", member_of(e, "start"));
        value_add(&one, "end", member_of(e, "end"));
        value_add(&one, "score", member_of(e, "score"));
        out.list.items[i] = one;
    }
    return out;
}

static Value told_tokens(Arena *arena, const Value *list)
{
    Value out = value_list(arena, list->list.n);
    for (size_t i = 0; i < list->list.n; i++) {
        const Value *t = &list->list.items[i], *info = value_get(t, "token_info");
        Value one = value_map(arena, 6);
        value_add(&one, "token", member_of(info, "token"));
        value_add(&one, "id", member_of(info, "token_id"));
        value_add(&one, "start", member_of(info, "start"));
        value_add(&one, "end", member_of(info, "end"));
        value_add(&one, "label", member_of(t, "label"));
        value_add(&one, "score", member_of(t, "score"));
        out.list.items[i] = one;
    }
    return out;
}

static Value told(Arena *arena, const Value *answer)
{
    const Value *spans = value_get(answer, "spans"), *entities = value_get(answer, "entities");
    const Value *tokens = value_get(answer, "tokens");
    Value out = value_map(arena, 3);
    if (spans) value_add(&out, "entities", *spans);
    else if (entities) value_add(&out, "entities", told_entities(arena, entities));
    if (!tokens) return out;
    value_add(&out, "tokens", told_tokens(arena, tokens));
    value_add(&out, "scores", part_flat(arena, tokens, "scores"));
    return out;
}

/* The same without a result. */
static void fill_entities(const TaskFill *, const ModelConfig *, const TaskOptions *, const TaskRow *, size_t n);

static void ask_entities(TaskOptions *o)
{
    o->spans = o->grouping == GROUP_UNSAID;
}

static void ask_tokens(TaskOptions *o)
{
    o->return_tokens = true;
}

static void ask_all(TaskOptions *o)
{
    ask_entities(o), ask_tokens(o);
}

static const TaskTable tables[] = {
    { "entities", 0, table_entities, told, ask_entities, fill_entities },
    { "tokens", 0, table_tokens, told, ask_tokens },
    { "scores", 0, table_scores, told, ask_tokens },
    { "all", 0, table_all, told, ask_all },
    { 0 },
};

static Value classify_token(Arena *arena, const ModelConfig *config, const TaskRow *row,
                            const Encoding *spans, size_t index)
{
    size_t labels = (size_t)row->width;
    const float *scores = row->scores ? row->scores + index * labels : NULL;
    if (!scores) {
        float *own = ARRAY(arena, float, labels);
        task_softmax(row->data + index * labels, row->width, own);
        scores = own;
    }
    int64_t best = part_best(scores, row->width);
    Value one = value_map(arena, 4);
    value_add(&one, "token_info", part_token(arena, row, spans, index));
    value_add(&one, "scores", value_of_f32(scores, labels));
    value_add(&one, "label", task_label(arena, config, best));
    value_add(&one, "score", value_of_float(number_widen(scores[best])));
    return one;
}

/* ---- tokens of all windows ---- */
typedef struct TokenPlace {
    const TaskRow *row;
    size_t index;
} TokenPlace;

/* Tokens of the text, without `skip` in front and `drop` at the end; returns how many. */
static size_t window_tokens(const TaskRow *row, size_t skip, size_t drop, TokenPlace *out)
{
    const Encoding *e = row->encoding;
    size_t n = 0, left = skip;
    assert(row->tokens == (int64_t)e->n);
    for (size_t i = 0; i < e->n; i++) {
        if (e->special[i]) continue;
        if (left) left--;
        else out[n++] = (TokenPlace){ row, i };
    }
    return n - MIN(n, drop);
}

static int32_t window_start(const Encoding *e)
{
    size_t i = 0;
    while (i < e->n && e->special[i]) i++;
    return i < e->n ? e->start[i] : 0;
}

static size_t rows_room(const TaskRow *row, size_t n)
{
    size_t room = 0;
    for (size_t i = 0; i < n; i++) room += row[i].encoding->n;
    return room;
}

/* out: rows_room. Neighbouring windows share `stride` tokens. Each token is reported once, by the window in which it
 * has more text around it. Windows cut from the end of the text are listed from the end. */
static size_t tokens_reported(const TaskOptions *options, const TaskRow *row, size_t n, TokenPlace *out)
{
    const size_t stride = (size_t)options->input.stride, half = stride / 2;
    const bool backwards = n > 1 && window_start(row[0].encoding) > window_start(row[1].encoding);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += window_tokens(&row[backwards ? n - 1 - i : i], i ? stride - half : 0, i + 1 < n ? half : 0,
                               out + count);
    return count;
}

static Value tokens_of_rows(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                            const TaskRow *row, size_t n)
{
    TokenPlace *place = ARRAY(arena, TokenPlace, rows_room(row, n));
    const size_t count = tokens_reported(options, row, n, place);
    Value list = value_list(arena, count);
    Encoding spans = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || place[i].row != place[i - 1].row) spans = task_spans(arena, options, place[i].row);
        list.list.items[i] = classify_token(arena, config, place[i].row, &spans, place[i].index);
    }
    return list;
}

/* ---- entities of all windows ---- */
static const float *all_scores(Arena *arena, const TaskRow *row) /* but those of special tokens */
{
    if (row->scores) return row->scores;
    float *own = ARRAY(arena, float, row->tokens * row->width);
    for (int64_t t = 0; t < row->tokens; t++)
        if (!row->encoding->special[t])
            task_softmax(row->data + t * row->width, row->width, own + t * row->width);
    return own;
}

static Value join_entities(Arena *arena, const Value *found, size_t n)
{
    EntityPlace *place = ARRAY(arena, EntityPlace, n);
    for (size_t i = 0; i < n; i++)
        place[i] = (EntityPlace){ value_int(value_get(&found[i], "start"), 0),
                                  value_int(value_get(&found[i], "end"), 0),
                                  (float)value_float(value_get(&found[i], "score"), 0), i };
    Value list = value_list(arena, entities_join(place, n));
    for (size_t i = 0; i < list.list.n; i++) list.list.items[i] = found[place[i].index];
    return list;
}

static Value entities_of_rows(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                              const TaskRow *row, size_t n)
{
    Value *each = ARRAY(arena, Value, n);
    size_t total = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        each[i] = part_entities(arena, config, options, &row[i], all_scores(arena, &row[i]));
        total += each[i].list.n;
    }
    if (n == 1) return each[0];
    Value *found = ARRAY(arena, Value, total);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < each[i].list.n; k++) found[at++] = each[i].list.items[k];
    return join_entities(arena, found, total);
}

/* ---- entities by words ---- */
/* The label that classify_token gives, from logits alone: softmax keeps the order of logits, but equal scores may come
 * of logits that are almost equal, and logits that are no numbers make all scores such. -1: it takes the scores. */
static int64_t best_of_logits(const float *x, int64_t n)
{
    static const float apart = 1e-4f; /* a thousand times what rounds to one score */
    const float top = part_largest(x, n), near = top - apart;
    int64_t below = 0, best = 0;
    for (int64_t i = 0; i < n; i++) {
        below += x[i] <= near;
        best += x[i] > near ? i : 0; /* the index, where there is one */
    }
    return below == n - 1 && isfinite(top) ? best : -1;
}

/* The score of that label, as task_softmax has it. */
static float score_of_best(const float *x, int64_t n, int64_t best)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += expf(x[i] - x[best]);
    return (float)(1 / sum);
}

typedef struct TokenTeller {     /* of labels; a token's own is its TokenPlace */
    Arena *arena;
    const ModelConfig *config;
} TokenTeller;

/* Of "O" only the label: nobody asks for its score. */
static void tell_token(void *teller, BioToken *of)
{
    const TokenTeller *t = teller;
    const TokenPlace *place = of->own;
    const int64_t width = place->row->width, at = (int64_t)place->index * width;
    const float *logits = place->row->data + at, *scores = place->row->scores ? place->row->scores + at : NULL;
    int64_t best = scores ? -1 : best_of_logits(logits, width);
    if (best >= 0) {
        of->label = task_label(t->arena, t->config, best).s;
        if (!bio_outside(of->label)) of->score = score_of_best(logits, width, best);
        return;
    }
    if (!scores) {
        float *own = ARRAY(t->arena, float, width);
        task_softmax(logits, width, own);
        scores = own;
    }
    best = part_best(scores, width);
    of->label = task_label(t->arena, t->config, best).s;
    of->score = scores[best];
}

/* Words are found by bytes, and in one text: tokens of a second one are not among them. */
static BioSpans spans_of_rows(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                              const TaskRow *row, size_t n)
{
    const size_t room = rows_room(row, n);
    TokenPlace *place = arena_raw(arena, room * sizeof *place);
    TokenTeller teller = { arena, config };
    BioTokens tokens = { arena_raw(arena, room * sizeof(BioToken)), 0, tell_token, &teller };
    const size_t count = tokens_reported(options, row, n, place);
    for (size_t i = 0; i < count; i++) {
        const Encoding *e = place[i].row->encoding;
        const size_t k = place[i].index;
        if (place[i].row->second && e->sequence[k] != 0) continue;
        tokens.item[tokens.n++] = (BioToken){ .start = e->start[k], .end = e->end[k], .own = &place[i] };
    }
    return bio_entities(arena, row->first, tokens);
}

static Value extract(Arena *arena, const ModelConfig *config, const BioSpans *found)
{
    return bio_extract(arena, config, found, &(BioOptions){ 0 });
}

/* Characters before a byte, for bytes that come in order: each is looked at once. */
typedef struct CharCount {
    Str text;
    int64_t bytes, chars;
} CharCount;

static int64_t chars_before(CharCount *c, int64_t byte)
{
    const Str rest = { c->text.p + c->bytes, c->text.n - (size_t)c->bytes };
    if (byte < c->bytes) return bio_chars(c->text, byte);
    c->chars += bio_chars(rest, byte - c->bytes);
    c->bytes = byte;
    return c->chars;
}

static Value told_spans(Arena *arena, const TaskOptions *options, Str text, const BioSpans *found)
{
    Value out = value_list(arena, found->n);
    CharCount count = { text, 0, 0 };
    for (size_t i = 0; i < found->n; i++) {
        const BioSpan *s = &found->item[i];
        Value one = value_map(arena, 5);
        value_add(&one, "label", value_of_str(s->label));
        value_add(&one, "text", value_of_str(s->text));
        value_add(&one, "start", value_of_int(options->chars ? chars_before(&count, s->start) : s->start));
        value_add(&one, "end", value_of_int(options->chars ? chars_before(&count, s->end) : s->end));
        value_add(&one, "score", value_of_float((double)s->score));
        out.list.items[i] = one;
    }
    return out;
}

/* ---- straight into a table ---- */
enum { ENTITY_LABEL, ENTITY_TEXT, ENTITY_START, ENTITY_END, ENTITY_SCORE }; /* of entity_columns */

/* What does not lie in the item's text lives as long as the table. */
static Str lasting_text(const TaskFill *fill, Str text, Str part)
{
    const bool inside = part.p >= text.p && part.p + part.n <= text.p + text.n;
    return inside ? part : (Str){ str_dup(fill->arena, part), part.n };
}

static void fill_spans(const TaskFill *fill, const TaskOptions *options, Str text, const BioSpans *found)
{
    ColumnMaker *to = fill->to[0].member;
    CharCount count = { text, 0, 0 };
    column_put_list(&fill->to[0], found->n);
    for (size_t i = 0; i < found->n; i++) {
        const BioSpan *s = &found->item[i];
        column_put_str(&to[ENTITY_LABEL], s->label);
        column_put_str(&to[ENTITY_TEXT], lasting_text(fill, text, s->text));
        column_put_int(&to[ENTITY_START], options->chars ? chars_before(&count, s->start) : s->start);
        column_put_int(&to[ENTITY_END], options->chars ? chars_before(&count, s->end) : s->end);
        column_put_f32(&to[ENTITY_SCORE], s->score);
    }
}

/* Of --aggregation. */
static void fill_groups(const TaskFill *fill, const Value *list)
{
    ColumnMaker *to = fill->to[0].member;
    column_put_list(&fill->to[0], list->list.n);
    for (size_t i = 0; i < list->list.n; i++) {
        const Value *e = &list->list.items[i], *group = value_get(e, "entity_group");
        column_put_str(&to[ENTITY_LABEL], value_str(group ? group : value_get(e, "entity"), STR("")));
        column_put_str(&to[ENTITY_TEXT], value_str(value_get(e, "word"), STR("")));
        column_put_int(&to[ENTITY_START], value_int(value_get(e, "start"), 0));
        column_put_int(&to[ENTITY_END], value_int(value_get(e, "end"), 0));
        column_put_f32(&to[ENTITY_SCORE], (float)value_float(value_get(e, "score"), 0));
    }
}

static void fill_entities(const TaskFill *fill, const ModelConfig *config, const TaskOptions *options,
                          const TaskRow *row, size_t n)
{
    if (options->spans) {
        const BioSpans found = spans_of_rows(fill->scratch, config, options, row, n);
        return fill_spans(fill, options, row->first, &found);
    }
    const Value list = entities_of_rows(fill->arena, config, options, row, n);
    fill_groups(fill, &list);
}

static void token_classification_finish(Arena *arena, const ModelConfig *config,
                                        const TaskOptions *options, const TaskRow *row, size_t n_rows,
                                        Value *out)
{
    bool entities = options->grouping != GROUP_UNSAID;
    BioSpans found = { 0 };
    *out = part_result(arena, row, 4);
    if (options->return_tokens || (!entities && !options->extract && !options->spans))
        value_add(out, "tokens", tokens_of_rows(arena, config, options, row, n_rows));
    if (entities)
        value_add(out, "entities", entities_of_rows(arena, config, options, row, n_rows));
    if (options->extract || options->spans) found = spans_of_rows(arena, config, options, row, n_rows);
    if (options->extract) value_add(out, "extracted", extract(arena, config, &found));
    if (options->spans) value_add(out, "spans", told_spans(arena, options, row->first, &found));
    part_close(out, row);
}

static const TaskSample samples[] = {
    { "B-SRC", { "AC sleeper bus from Bangalore to Mumbai tomorrow",
                 "VRL Non-AC from Chennai to Hyderabad next Friday" } },
    { NULL, { "My name is Sarah and I live in London.",
              "Angela Merkel met Emmanuel Macron in Paris." } },
};

const Task task_token_classification = {
    .name = "token_classification",
    .many = "token classifications",
    .names = { { "token-classification", { "ner", "named-entity-recognition" } } },
    .number = 3,
    .can = CAN_TAG,
    .outputs = { { "logits" } },
    .shape = &shape_token_labels,
    .architectures = { "ForTokenClassification" },
    .mcp_instructions = "This tool will classify each token of an input text sequence.",
    .mcp_description = "Performs token classification of input text sequences.",
    .lua = PART_LUA_HEAD
           "---Postprocess token classification logits\n"
           "---Must return 3D tensor of shape [batch_size, seq_len, n_labels]\n"
           "---@input Tensor 3D tensor of shape [batch_size, seq_len, n_labels]\n" PART_LUA_SAME,
    .samples = samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .items = &item_texts,
    .preparer = &prepare_text,
    .finish = token_classification_finish,
};
