/* SPDX-License-Identifier: Apache-2.0
 * bio.c - see bio.h. */
#include "bio.h"

/* ---- words ---- */

static bool space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool punctuation(char c)
{
    static const bool is[256] = { ['.'] = 1, [','] = 1, [';'] = 1, [':'] = 1, ['!'] = 1, ['?'] = 1, ['"'] = 1,
                                  ['\''] = 1, ['('] = 1, [')'] = 1, ['['] = 1, [']'] = 1, ['{'] = 1, ['}'] = 1 };
    return is[(unsigned char)c];
}

/* The next word from *at on; empty at the end, or where there is punctuation alone. */
static Str next_word(Str text, size_t *at)
{
    while (*at < text.n && space(text.p[*at])) (*at)++;
    size_t from = *at, to;
    while (*at < text.n && !space(text.p[*at])) (*at)++;
    to = *at;
    while (from < to && punctuation(text.p[from])) from++;
    while (to > from && punctuation(text.p[to - 1])) to--;
    return (Str){ text.p + from, to - from };
}

BioTokens bio_tokens(Arena *arena, const Value *result)
{
    const Value *tokens = value_get(result, "tokens");
    BioTokens out = { 0 };
    if (!tokens || tokens->kind != V_LIST) return out;
    out = (BioTokens){ ARRAY(arena, BioToken, tokens->list.n), tokens->list.n };
    for (size_t i = 0; i < out.n; i++) {
        const Value *token = &tokens->list.items[i], *info = value_get(token, "token_info");
        out.item[i] = (BioToken){ value_int(value_get(info, "start"), -1), value_int(value_get(info, "end"), -1),
                                  value_str(value_get(token, "label"), STR("")),
                                  (float)value_float(value_get(token, "score"), 0) };
    }
    return out;
}

/* The first token that overlaps the word, from *at on, so one walk serves all words; NULL: none does. The token may
 * begin before the word: in byte-level BPE it includes the space. */
static const BioToken *token_of(const BioTokens *tokens, size_t *at, int64_t from, int64_t to)
{
    for (; *at < tokens->n; (*at)++) {
        BioToken *token = &tokens->item[*at];
        if (token->start >= to) break;
        if (token->end <= from) continue;
        if (tokens->tell && !token->label.p) tokens->tell(tokens->context, token);
        return token;
    }
    return NULL;
}

BioSpans bio_words(Arena *arena, Str text, BioTokens tokens)
{
    BioSpans out = { arena_raw(arena, (text.n / 2 + 1) * sizeof(BioSpan)), 0 };
    for (size_t at = 0, next = 0; at < text.n;) {
        Str word = next_word(text, &at);
        if (!word.n) continue;
        int64_t from = word.p - text.p, to = from + (int64_t)word.n;
        const BioToken *first = token_of(&tokens, &next, from, to);
        out.item[out.n++] = (BioSpan){ word, first ? first->label : (Str){ 0 }, from, to, first ? first->score : 0 };
    }
    return out;
}

/* ---- entities ---- */

typedef struct Mark {       /* a label, taken apart */
    char letter;            /* 'B', 'I', or 0: the label has no such letter */
    Str type;               /* empty: outside */
} Mark;

bool bio_outside(Str label)
{
    return label.n == 1 && label.p[0] == 'O';
}

/* Other tagging schemes: S- and U- (a single word) count as B-, E-, L- and M- as I-. */
static Mark mark_of(Str label)
{
    if (label.n == 0 || bio_outside(label)) return (Mark){ 0 };
    if (label.n <= 2 || label.p[1] != '-') return (Mark){ 0, label };
    const Str type = { label.p + 2, label.n - 2 };
    switch (label.p[0]) {
    case 'B': case 'S': case 'U': return (Mark){ 'B', type };
    case 'I': case 'E': case 'L': case 'M': return (Mark){ 'I', type };
    default: return (Mark){ 0, label };
    }
}

/* The words of an entity with one space between; a single one stays a view. */
static void bio_join(Arena *arena, const BioSpan *word, size_t n, BioSpan *entity)
{
    Buf b = { .arena = arena };
    float sum = 0;
    if (n == 1) return;
    for (size_t i = 0; i < n; i++) {
        if (i) buf_char(&b, ' ');
        buf_str(&b, word[i].text);
        sum += word[i].score;
    }
    entity->score = sum / (float)n;
    entity->text = buf_view(&b);
    entity->end = word[n - 1].end;
}

/* How many words from this one on are one entity; 0: none begins here. */
static size_t entity_words(const BioSpan *word, size_t n)
{
    Mark first = mark_of(word->label);
    size_t count = 1;
    if (!first.type.n || first.letter == 'I') return 0;
    for (; count < n; count++) {
        Mark next = mark_of(word[count].label);
        if (next.letter == 'B' || !str_eq(next.type, first.type)) break;
    }
    return count;
}

BioSpans bio_entities(Arena *arena, Str text, BioTokens tokens)
{
    BioSpans words = bio_words(arena, text, tokens);
    BioSpans out = { arena_raw(arena, (words.n + 1) * sizeof(BioSpan)), 0 };
    for (size_t i = 0, n; i < words.n; i += MAX(n, 1)) {
        const BioSpan *word = &words.item[i];
        n = entity_words(word, words.n - i);
        if (!n) continue;
        BioSpan *e = &out.item[out.n++];
        *e = (BioSpan){ word->text, mark_of(word->label).type, word->start, word->end, word->score };
        bio_join(arena, word, n, e);
    }
    return out;
}

/* ---- told ---- */

/* Those of the labels, each once. */
static Value types_of(Arena *arena, const ModelConfig *config, const BioSpans *found)
{
    size_t labels = config->labels ? (size_t)config->num_labels : 0;
    Value out = value_map(arena, labels + found->n);
    for (size_t i = 0; i < labels + found->n; i++) {
        Str type = i < labels ? mark_of(config->labels[i]).type : found->item[i - labels].label;
        const char *key = str_dup(arena, type);
        if (type.n && !value_get(&out, key)) value_add(&out, key, value_null());
    }
    return out;
}

static Value every_text(Arena *arena, Str type, const BioSpans *found)
{
    Value list = value_list(arena, found->n);
    Map seen = { 0 };
    list.list.n = 0;
    for (size_t i = 0; i < found->n; i++) {
        BioSpan *s = &found->item[i];
        if (!str_eq(s->label, type) || map_get(&seen, s->text)) continue;
        map_put(&seen, arena, s->text, s);
        list.list.items[list.list.n++] = value_of_str(s->text);
    }
    return list;
}

Value bio_extract(Arena *arena, const ModelConfig *config, const BioSpans *found,
                  const BioOptions *options)
{
    Value out = types_of(arena, config, found);
    for (size_t i = 0; i < out.map.n; i++) {
        Value texts = every_text(arena, out.map.items[i].key, found);
        if (options->all) out.map.items[i].value = texts;
        else if (texts.list.n) out.map.items[i].value = texts.list.items[0];
    }
    return out;
}

int64_t bio_chars(Str text, int64_t bytes)
{
    int64_t n = 0;
    for (int64_t i = 0; i < bytes; i++) n += (text.p[i] & 0xc0) != 0x80;
    return n;
}

Value bio_detail(Arena *arena, const ModelConfig *config, Str text, const BioSpans *found,
                 const BioOptions *options)
{
    Value out = value_map(arena, 3), list = value_list(arena, found->n);
    for (size_t i = 0; i < found->n; i++) {
        const BioSpan *s = &found->item[i];
        Value one = value_map(arena, 4);
        int64_t start = options->chars ? bio_chars(text, s->start) : s->start;
        int64_t end = options->chars ? bio_chars(text, s->end) : s->end;
        value_add(&one, "text", value_of_str(s->text));
        value_add(&one, "label", value_of_str(s->label));
        value_add(&one, "start", value_of_int(start));
        value_add(&one, "end", value_of_int(end));
        list.list.items[i] = one;
    }
    value_add(&out, "query", value_of_str(text));
    value_add(&out, "entities", bio_extract(arena, config, found, options));
    value_add(&out, "raw_entities", list);
    return out;
}
