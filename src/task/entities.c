/* SPDX-License-Identifier: Apache-2.0
 * entities.c - tokens with scores to entities, as transformers' token-classification pipeline
 * groups them: tokens to words (first, average, max), neighbours of one type to one entity, "O"
 * left out. An unknown token ([UNK]) is a word by itself, with the text it stands for. */
#include <math.h>

#include "data/number.h"
#include "parts.h"

const char *const part_grouping_words[] = { "none", "simple", "first", "average", "max", NULL };

const Field part_entity[] = {
    { "entity", 0, F_STR, .help = "the token's label; without aggregation" },
    { "entity_group", 0, F_STR, .help = "the type: the label without B- or I-" },
    { "score", 0, F_F32, .required = true, .nullable = true },
    { "index", 0, F_U32, .help = "of the token, special ones counted; without aggregation" },
    { "word", 0, F_STR, .required = true },
    { "start", 0, F_U32, .required = true, .help = "where it begins in its text" },
    { "end", 0, F_U32, .required = true, .help = "first position after it" },
    { "sequence", 0, F_U32, .help = "of a pair: 0 in the first text, 1 in the second" },
    { "first_word", 0, F_U32, .help = "of words with boxes: the index of its first word" },
    { "last_word", 0, F_U32, .help = "and of its last" },
    { "box", 0, F_U32, .repeated = true, .help = "around its words: left, top, right, bottom" },
    { 0 },
};

typedef struct EntitySpan { /* a token, a word, or an entity */
    const float *scores;
    int64_t label;
    float score;
    Str word;
    size_t token;            /* the first one of it */
    int32_t first_word, last_word; /* of words with boxes */
    int32_t start, end;      /* in the unit of the request */
    uint8_t sequence;
    bool subword;
} EntitySpan;

typedef struct Grouping {
    Arena *arena;
    const ModelConfig *config;
    const TaskRow *row;
    int64_t labels;
} Grouping;

/* ---- tokens ---- */
static bool unknown(Str token)
{
    return str_is(token, "[UNK]") || str_is(token, "<unk>");
}

/* WordPiece marks its subwords, so they are longer than their text. Others mark beginnings with a
 * space that lies before the token or is its first character. */
static bool is_subword(const TaskRow *row, Str text, Str token, int32_t start, Str part)
{
    if (strcmp(tokenizer_kind(row->tokenizer), "WordPiece") == 0)
        return utf8_length(token) != utf8_length(part);
    return start > 0 && text.p[start - 1] != ' ' && ((size_t)start >= text.n || text.p[start] != ' ');
}

static EntitySpan token_item(const Grouping *g, const Encoding *spans, const float *scores, size_t i)
{
    const Encoding *e = g->row->encoding; /* in bytes */
    Str text = e->sequence[i] && g->row->second ? *g->row->second : g->row->first;
    Str part = { text.p + e->start[i], (size_t)(e->end[i] - e->start[i]) };
    Str token = tokenizer_token(g->row->tokenizer, e->ids[i]);
    EntitySpan item = { .scores = scores + (int64_t)i * g->labels, .token = i, .word = token,
                  .start = spans->start[i], .end = spans->end[i], .sequence = e->sequence[i],
                  .first_word = e->word[i], .last_word = e->word[i] };
    if (unknown(token)) item.word = part;
    if (g->row->words) item.subword = i > 0 && e->word[i] == e->word[i - 1];
    else if (!unknown(token)) item.subword = is_subword(g->row, text, token, e->start[i], part);
    item.label = part_best(item.scores, g->labels);
    item.score = item.scores[item.label];
    return item;
}

static size_t token_items(const Grouping *g, const Encoding *spans, const float *scores, EntitySpan *out)
{
    size_t n = 0;
    for (size_t i = 0; i < spans->n; i++)
        if (!spans->special[i]) out[n++] = token_item(g, spans, scores, i);
    return n;
}

/* ---- words ---- */
static Str entities_join(const Grouping *g, const EntitySpan *item, size_t n)
{
    Str *words = ARRAY(g->arena, Str, n);
    for (size_t i = 0; i < n; i++) words[i] = item[i].word;
    return tokenizer_join(g->row->tokenizer, words, n, g->arena);
}

static const float *mean_scores(const Grouping *g, const EntitySpan *item, size_t n)
{
    float *out = ARRAY(g->arena, float, g->labels);
    for (int64_t l = 0; l < g->labels; l++) {
        float sum = 0;
        for (size_t i = 0; i < n; i++) sum += item[i].scores[l];
        out[l] = sum / (float)n;
    }
    return out;
}

static const float *best_scores(const EntitySpan *item, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (item[i].score > item[best].score) best = i;
    return item[best].scores;
}

static EntitySpan word_item(const Grouping *g, TaskGrouping how, const EntitySpan *item, size_t n)
{
    EntitySpan word = item[0];
    if (how == GROUP_AVERAGE) word.scores = mean_scores(g, item, n);
    if (how == GROUP_MAX) word.scores = best_scores(item, n);
    word.label = part_best(word.scores, g->labels);
    word.score = word.scores[word.label];
    word.word = entities_join(g, item, n);
    word.end = item[n - 1].end;
    word.last_word = item[n - 1].last_word;
    return word;
}

/* In place: a word is never more items than its tokens. */
static size_t to_words(const Grouping *g, TaskGrouping how, EntitySpan *item, size_t n)
{
    size_t words = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && item[to].subword; to++) continue;
        item[words++] = word_item(g, how, item + from, to - from);
    }
    return words;
}

/* ---- entities ---- */
static Str label_of(const Grouping *g, const EntitySpan *item)
{
    return task_label(g->arena, g->config, item->label).s;
}

static Str type_of(Str label)
{
    bool marked = str_starts(label, "B-") || str_starts(label, "I-");
    return marked ? (Str){ label.p + 2, label.n - 2 } : label;
}

static bool goes_on(const Grouping *g, const EntitySpan *before, const EntitySpan *item)
{
    Str label = label_of(g, item);
    return !str_starts(label, "B-") && before->sequence == item->sequence &&
           str_eq(type_of(label), type_of(label_of(g, before)));
}

/* "B-PER" and "X-PER" both are PER: what stands behind the first dash. */
static Str group_name(Str label)
{
    const char *dash = memchr(label.p, '-', label.n);
    return dash ? (Str){ dash + 1, label.n - (size_t)(dash + 1 - label.p) } : label;
}

/* Around the boxes of its words, which may stand in several lines. */
static Value entity_box(const Grouping *g, const EntitySpan *item)
{
    const int32_t *box = g->row->boxes + (size_t)item->first_word * BOX_SIDES;
    int32_t around[BOX_SIDES] = { box[0], box[1], box[2], box[3] };
    for (int32_t w = item->first_word; w <= item->last_word; w++, box += BOX_SIDES)
        for (int k = 0; k < BOX_SIDES; k++)
            around[k] = k < BOX_SIDES / 2 ? MIN(around[k], box[k]) : MAX(around[k], box[k]);
    Value list = value_list(g->arena, BOX_SIDES);
    for (int k = 0; k < BOX_SIDES; k++) list.list.items[k] = value_of_int(around[k]);
    return list;
}

static Value entities_tell(const Grouping *g, const EntitySpan *item, const char *key, Str name)
{
    Value one = value_map(g->arena, 10);
    bool single = strcmp(key, "entity") == 0;
    value_add(&one, key, value_of_str(name));
    value_add(&one, "score", value_of_float(number_widen(item->score)));
    if (single) value_add(&one, "index", value_of_int((int64_t)item->token));
    value_add(&one, "word", value_of_str(item->word));
    value_add(&one, "start", value_of_int(item->start));
    value_add(&one, "end", value_of_int(item->end));
    if (g->row->second) value_add(&one, "sequence", value_of_int(item->sequence));
    if (g->row->words) {
        value_add(&one, "first_word", value_of_int(item->first_word));
        value_add(&one, "last_word", value_of_int(item->last_word));
        value_add(&one, "box", entity_box(g, item));
    }
    return one;
}

static EntitySpan entity_item(const Grouping *g, const EntitySpan *item, size_t n)
{
    EntitySpan entity = item[0];
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += item[i].score;
    entity.score = sum / (float)n;
    entity.word = entities_join(g, item, n);
    entity.end = item[n - 1].end;
    entity.last_word = item[n - 1].last_word;
    return entity;
}

static bool is_ignored(const TaskOptions *options, Str name)
{
    const Value *labels = options->ignored;
    for (size_t i = 0; labels && i < labels->list.n; i++)
        if (str_eq(name, labels->list.items[i].s)) return true;
    return !labels && str_is(name, "O");
}

Value part_entities(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                    const TaskRow *row, const float *scores)
{
    Grouping g = { arena, config, row, row->width };
    Encoding spans = task_spans(arena, options, row);
    EntitySpan *item = ARRAY(arena, EntitySpan, spans.n);
    size_t n = token_items(&g, &spans, scores, item);
    Value list = value_list(arena, n);
    list.list.n = 0;
    if (options->grouping > GROUP_SIMPLE) n = to_words(&g, options->grouping, item, n);
    for (size_t from = 0, to; from < n; from = to) {
        bool alone = options->grouping == GROUP_NONE;
        for (to = from + 1; to < n && !alone && goes_on(&g, &item[to - 1], &item[to]); to++)
            continue;
        Str label = label_of(&g, &item[from]), name = alone ? label : group_name(label);
        if (is_ignored(options, name)) continue;
        EntitySpan entity = alone ? item[from] : entity_item(&g, item + from, to - from);
        list.list.items[list.list.n++] = entities_tell(&g, &entity, alone ? "entity" : "entity_group", name);
    }
    return list;
}
