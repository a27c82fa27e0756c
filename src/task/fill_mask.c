/* SPDX-License-Identifier: Apache-2.0
 * fill_mask.c - the words that a masked language model would put in place of each mask of a text.
 * Shapes as transformers' fill-mask pipeline gives them, in one list for each mask. */
#include <stdlib.h>

#include "data/number.h"
#include "parts.h"

static const Field request[] = {
    PART_INPUTS,
    PART_METADATA(3), PART_PAGES(20),
    PART_TRUNCATE,
    { "top_k", 0, F_U32, .least = 1, .most = 1 << 18,
      .help = "how many words for each mask; default: 5" },
    { 0 },
};

static const Field word[] = {
    { "score", 1, F_F32, .required = true, .help = "probability" },
    { "token", 2, F_U32, .required = true, .help = "its number in the vocabulary" },
    { "token_str", 3, F_STR, .required = true },
    { "sequence", 4, F_STR, .required = true, .help = "the text with the mask replaced" },
    { 0 },
};
static const Field mask[] = {
    { "words", 1, F_MSG, .repeated = true, .required = true, .msg = word, .msg_name = "MaskWord" },
    { 0 },
};
static const Field result[] = {
    { "masks", 1, F_MSG, .repeated = true, .required = true, .msg = mask, .msg_name = "Mask",
      .help = "one for each mask of the text, in their order" },
    PART_TRUNCATED,
    { 0 },
};
static const Field reply[] = PART_REPLY(result, "FillMaskResult");

static const Field fill_columns[] = {
    { "mask", 1, F_I32, .required = true }, { "token", 2, F_STR, .required = true },
    { "id", 3, F_I32, .required = true }, { "score", 4, F_F32, .required = true }, { 0 },
};
static const Field table[] = { { "fills", 1, F_MSG, .repeated = true, .msg = fill_columns }, { 0 } };

static Value fill_told(Arena *arena, const Value *w, size_t place)
{
    Value one = value_map(arena, 4);
    value_add(&one, "mask", value_of_int((int64_t)place));
    value_add(&one, "token", *value_get(w, "token_str"));
    value_add(&one, "id", *value_get(w, "token"));
    value_add(&one, "score", *value_get(w, "score"));
    return one;
}

/* All words of all masks. */
static Value fills_told(Arena *arena, const Value *answer)
{
    const Value *masks = value_get(answer, "masks");
    size_t n = 0;
    for (size_t i = 0; i < masks->list.n; i++) n += value_get(&masks->list.items[i], "words")->list.n;
    Value out = value_map(arena, 1), list = value_list(arena, n);
    n = 0;
    for (size_t i = 0; i < masks->list.n; i++) {
        const Value *words = value_get(&masks->list.items[i], "words");
        for (size_t k = 0; k < words->list.n; k++)
            list.list.items[n++] = fill_told(arena, &words->list.items[k], i);
    }
    value_add(&out, "fills", list);
    return out;
}
static const TaskTable tables[] = { { .rows = table, .shape = fills_told }, { 0 } };

/* tokenizer.json does not say which token is the mask; these are what models call it. */
static const char *const mask_names[] = { "[MASK]", "<mask>", "<MASK>", "[mask]" };

const char *task_mask_name(const Tokenizer *tokenizer)
{
    for (size_t i = 0; i < COUNT(mask_names); i++)
        if (tokenizer_id(tokenizer, str_of(mask_names[i])) >= 0) return mask_names[i];
    return NULL;
}

static bool is_mask(const Tokenizer *tokenizer, const Encoding *e, size_t token)
{
    const char *name = task_mask_name(tokenizer);
    return name && str_is(tokenizer_token(tokenizer, e->ids[token]), name);
}

/* ---- the best words ---- */
typedef struct Word {
    float score;
    int32_t id;
} Word;

static int by_score(const void *a, const void *b)
{
    const Word *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->id - y->id;
}

/* A word that is no token by itself stands for its first one, as transformers takes it. */
static int32_t target_id(Arena *arena, const Tokenizer *tokenizer, Str target)
{
    EncodeOptions how = { .no_special = true };
    Encoding e;
    Err err;
    int32_t id = tokenizer_id(tokenizer, target);
    if (id >= 0 || !tokenizer_encode(tokenizer, arena, target, NULL, &how, &e, &err)) return id;
    return e.n ? e.ids[0] : -1;
}

static size_t candidates(Arena *arena, const TaskOptions *options, const TaskRow *row,
                         const float *scores, Word *out)
{
    const Value *targets = options->targets;
    size_t n = 0;
    if (!targets || targets->kind != V_LIST) {
        for (int64_t i = 0; i < row->width; i++) out[n++] = (Word){ scores[i], (int32_t)i };
        return n;
    }
    bool *taken = ARRAY(arena, bool, row->width);
    for (size_t i = 0; i < targets->list.n; i++) {
        int32_t id = target_id(arena, row->tokenizer, targets->list.items[i].s);
        if (id < 0 || id >= row->width || taken[id]) continue;
        taken[id] = true;
        out[n++] = (Word){ scores[id], id };
    }
    return n;
}

static Str decode(Arena *arena, const TaskRow *row, const int32_t *ids, size_t n, bool skip)
{
    Str text = STR("");
    Err err;
    tokenizer_decode(row->tokenizer, ids, n, skip, arena, &text, &err);
    return text;
}

/* Of a text with one mask the special tokens are left out, as the pipeline does. */
static Value fill_mask_tell(Arena *arena, const TaskRow *row, size_t token, Word best, bool alone)
{
    const Encoding *e = row->encoding;
    int32_t *ids = ARRAY(arena, int32_t, e->n);
    memcpy(ids, e->ids, e->n * sizeof *ids);
    ids[token] = best.id;
    Value one = value_map(arena, 4);
    value_add(&one, "score", value_of_float(number_widen(best.score)));
    value_add(&one, "token", value_of_int(best.id));
    value_add(&one, "token_str", value_of_str(decode(arena, row, &best.id, 1, false)));
    value_add(&one, "sequence", value_of_str(decode(arena, row, ids, e->n, alone)));
    return one;
}

static Value words_of(Arena *arena, const TaskOptions *options, const TaskRow *row,
                      const float *logits, size_t token, bool alone)
{
    enum { FEW = 5 };
    float *scores = ARRAY(arena, float, row->width);
    Word *list = ARRAY(arena, Word, row->width);
    task_softmax(logits, row->width, scores);
    size_t n = candidates(arena, options, row, scores, list);
    qsort(list, n, sizeof *list, by_score);
    Value words = value_list(arena, MIN(n, (size_t)(options->top_k ? options->top_k : FEW)));
    for (size_t i = 0; i < words.list.n; i++)
        words.list.items[i] = fill_mask_tell(arena, row, token, list[i], alone);
    Value one = value_map(arena, 1);
    value_add(&one, "words", words);
    return one;
}

static void fill_mask_finish(Arena *arena, const ModelConfig *config, const TaskOptions *options,
                             const TaskRow *row, size_t n_rows, Value *out)
{
    (void)n_rows; /* one an item */
    (void)config;
    const Encoding *e = row->encoding;
    size_t n = 0, at = 0;
    bool all = row->tokens == (int64_t)e->n; /* else the masks' alone */
    for (size_t i = 0; i < e->n; i++) n += is_mask(row->tokenizer, e, i);
    Value masks = value_list(arena, n);
    for (size_t i = 0; i < e->n; i++) {
        if (!is_mask(row->tokenizer, e, i)) continue;
        const float *logits = row->data + (all ? i : at) * (size_t)row->width;
        masks.list.items[at++] = words_of(arena, options, row, logits, i, n == 1);
    }
    *out = part_result(arena, row, 1);
    value_add(out, "masks", masks);
    part_close(out, row);
}

static const TaskSample samples[] = {
    { NULL, { "Paris is the capital of {mask}.", "She put the {mask} on the table." } },
};

const Task task_fill_mask = {
    .name = "fill_mask",
    .many = "masked words",
    .names = { { "fill-mask", { "masked-lm", "masked-language-modeling", "mlm" } } },
    .number = 1001,
    .can = CAN_FILL | CAN_SPARSE,
    .outputs = { { "logits" } },
    .shape = &shape_token_words,
    .architectures = { "ForMaskedLM" },
    .mcp_instructions = "This tool will suggest words for the masks of an input text sequence.",
    .mcp_description = "Suggests words for the masks of input text sequences.",
    .lua = PART_LUA_HEAD
           "---Postprocess the logits of every word at every place\n"
           "---Must return 3D tensor of shape [batch_size, seq_len, vocab_size]\n"
           "---@input Tensor 3D tensor of shape [batch_size, seq_len, vocab_size]\n" PART_LUA_SAME,
    .samples = samples,
    .request = request,
    .result = result,
    .reply = reply,
    .tables = tables,
    .pool = part_sparse,
    .wants = is_mask,
    .items = &item_texts,
    .preparer = &prepare_text,
    .finish = fill_mask_finish,
};
