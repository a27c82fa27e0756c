/* SPDX-License-Identifier: Apache-2.0
 * regex_known.c - the patterns of tokenizer.json: strings, well-known expressions matched by hand,
 * all others by the machine.
 *
 * The known ones split text into runs: letters, numbers, other, white space, with a space or one
 * other character before some, and English endings ('s, 're). They never backtrack by more than the
 * last space of a run, which belongs to the word behind it. */
#include "members.h"
#include "pieces.h"
#include "regex.h"

typedef enum { KIND_OTHER, KIND_LETTER, KIND_NUMBER, KIND_SPACE } CharKind;

/* O other, L letter, N number, S white space */
#define O KIND_OTHER
#define L KIND_LETTER
#define N KIND_NUMBER
#define S KIND_SPACE
static const uint8_t ascii_kinds[128] = {
    O, O, O, O, O, O, O, O, O, S, S, S, S, S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, N, N, N, N, N, N, N, N, N, N, O, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
};
#undef O
#undef L
#undef N
#undef S

static CharKind kind_of(uint32_t code)
{
    const ClassRecord *record = class_of(code);
    if (record->category >= CATEGORY_LL && record->category <= CATEGORY_LU) return KIND_LETTER;
    if (record->category >= CATEGORY_ND && record->category <= CATEGORY_NO) return KIND_NUMBER;
    return record->posix & POSIX_SPACE ? KIND_SPACE : KIND_OTHER;
}

static inline CharKind kind_at(Str text, size_t i, size_t *next)
{
    unsigned char byte = (unsigned char)text.p[i];
    if (byte < 0x80) return *next = i + 1, (CharKind)ascii_kinds[byte];
    uint32_t code;
    *next = i + (size_t)utf8_take(text.p + i, &code);
    return kind_of(code);
}

static size_t run_end(Str text, size_t i, CharKind kind, size_t most)
{
    size_t next;
    while (most-- && i < text.n && kind_at(text, i, &next) == kind) i = next;
    return i;
}

static bool is_line(char c)
{
    return c == '\r' || c == '\n';
}

/* Bytes of 's, 't, 're, 've, 'm, 'll or 'd at byte i; 0: none of them. */
static size_t known_contraction(Str text, size_t i, bool fold)
{
    static const char *const two[] = { "re", "ve", "ll" };
    size_t left = text.n - i;
    if (left < 2 || text.p[i] != '\'') return 0;
    const char *p = text.p + i + 1;
    char low[2] = { p[0], left > 2 ? p[1] : '\0' };
    if (fold && left > 2 && !memcmp(p, "\xc5\xbf", 2)) return 3; /* a long s */
    for (int k = 0; fold && k < 2; k++)
        if (low[k] >= 'A' && low[k] <= 'Z') low[k] = (char)(low[k] + 32);
    if (low[0] == 's' || low[0] == 't' || low[0] == 'm' || low[0] == 'd') return 2;
    for (int k = 0; k < 3; k++)
        if (!memcmp(low, two[k], 2)) return 3;
    return 0;
}

/* \s+(?!\S)|\s+ : a run of spaces, without its last one where a word follows. */
static size_t known_spaces(Str text, size_t i)
{
    size_t first = i, last = i, next;
    while (i < text.n && kind_at(text, i, &next) == KIND_SPACE) last = i, i = next;
    return i == text.n || last == first ? i : last;
}

size_t gpt2_match(Str text, size_t i)
{
    size_t next, end = known_contraction(text, i, false);
    if (end) return i + end;
    CharKind kind = kind_at(text, i, &next);
    if (text.p[i] == ' ' && next < text.n) {
        size_t behind;
        CharKind word = kind_at(text, next, &behind);
        if (word != KIND_SPACE) return run_end(text, behind, word, SIZE_MAX);
    }
    return kind == KIND_SPACE ? known_spaces(text, i) : run_end(text, next, kind, SIZE_MAX);
}

/* Other characters with the line ends behind them. */
static size_t known_symbols(Str text, size_t i)
{
    i = run_end(text, i, KIND_OTHER, SIZE_MAX);
    while (i < text.n && is_line(text.p[i])) i++;
    return i;
}

/* The end of the last line end in a run of white space; i: there is none. */
static size_t last_line(Str text, size_t i)
{
    size_t found = i, next;
    for (size_t k = i; k < text.n && kind_at(text, k, &next) == KIND_SPACE; k = next)
        if (is_line(text.p[k])) found = next;
    return found;
}

/* cl100k and its relatives, which differ in how many digits go together. */
static size_t gpt4_match(Str text, size_t i, size_t digits)
{
    size_t next, behind, end = known_contraction(text, i, true);
    if (end) return i + end;
    CharKind kind = kind_at(text, i, &next);
    if (kind == KIND_LETTER) return run_end(text, next, KIND_LETTER, SIZE_MAX);
    if (kind == KIND_NUMBER) return run_end(text, next, KIND_NUMBER, digits - 1);
    CharKind word = next < text.n ? kind_at(text, next, &behind) : KIND_SPACE;
    if (word == KIND_LETTER && !is_line(text.p[i]))
        return run_end(text, behind, KIND_LETTER, SIZE_MAX);
    if (kind == KIND_OTHER) return known_symbols(text, next);
    if (text.p[i] == ' ' && word == KIND_OTHER) return known_symbols(text, behind);
    end = last_line(text, i);
    return end > i ? end : known_spaces(text, i);
}

static size_t cl100k_match(Str text, size_t i)
{
    return gpt4_match(text, i, 3);
}

static size_t qwen_match(Str text, size_t i)
{
    return gpt4_match(text, i, 1);
}

static size_t clip_match(Str text, size_t i) /* leaves white space out */
{
    static const char *const marks[] = { "<|startoftext|>", "<|endoftext|>" };
    size_t next, end = known_contraction(text, i, false);
    for (int k = 0; k < 2; k++)
        if (str_starts((Str){ text.p + i, text.n - i }, marks[k])) return i + strlen(marks[k]);
    if (end) return i + end;
    CharKind kind = kind_at(text, i, &next);
    if (kind == KIND_SPACE) return i;
    return kind == KIND_NUMBER ? next : run_end(text, next, kind, SIZE_MAX);
}

static size_t clip_plain_match(Str text, size_t i) /* without its own special tokens */
{
    size_t next, end = known_contraction(text, i, false);
    if (end) return i + end;
    CharKind kind = kind_at(text, i, &next);
    if (kind == KIND_SPACE) return i;
    return kind == KIND_NUMBER ? next : run_end(text, next, kind, SIZE_MAX);
}

#define ENDINGS "'s|'t|'re|'ve|'m|'ll|'d"
#define GPT4(digits)                                                                               \
    "(?i:" ENDINGS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                                       \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CLIP ENDINGS "|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"
static const struct {
    const char *pattern;
    KnownMatch *match;
} known[] = {
    { ENDINGS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", gpt2_match },
    { GPT4("\\p{N}{1,3}"), cl100k_match }, /* GPT-4, Llama 3 */
    { GPT4("\\p{N}"), qwen_match },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++"
      "[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
      cl100k_match },
    { "<\\|startoftext\\|>|<\\|endoftext\\|>|" CLIP, clip_match },
    { CLIP, clip_plain_match },
};

/* ---- patterns ---- */
bool pattern_load(Arena *arena, const Value *v, const char *where, Pattern *out, Err *err)
{
    Str text;
    bool regex = value_get(v, "Regex");
    if (!member_str(v, where, regex ? "Regex" : "String", &text, err)) return false;
    text = (Str){ str_dup(arena, text), text.n };
    for (size_t i = 0; regex && i < COUNT(known); i++)
        if (str_is(text, known[i].pattern)) out->known = known[i].match;
    if (out->known) return true;
    if (!regex && text.n) return out->string = text, true;
    out->blanks = regex && str_is(text, " {2,}");
    return regex_compile(arena, text, &out->regex, err) || within(err, "%s", where);
}

static bool known_find(const Pattern *pattern, RegexSearch *s, Range *hit)
{
    Str text = s->text;
    if (pattern->string.n) {
        Str needle = pattern->string;
        const char *p = memmem(text.p + s->at, text.n - s->at, needle.p, needle.n);
        if (!p) return false;
        *hit = (Range){ (size_t)(p - text.p), (size_t)(p - text.p) + needle.n };
        return true;
    }
    if (!pattern->known) return regex_find(&pattern->regex, s, s->at, hit);
    for (size_t i = s->at, end; i < text.n; kind_at(text, i, &i))
        if ((end = pattern->known(text, i)) > i) return *hit = (Range){ i, end }, true;
    return false;
}

bool pattern_next(const Pattern *pattern, RegexSearch *s, Range *hit)
{
    if (s->text.n == 0) return false;
    while (s->at <= s->text.n) {
        if (!known_find(pattern, s, hit)) return false;
        bool again = hit->from == hit->to && s->matched && s->last == hit->to;
        if (!again) {
            s->at = s->last = hit->to;
            s->matched = true;
            return true;
        }
        uint32_t code;
        s->at += s->at < s->text.n ? (size_t)utf8_take(s->text.p + s->at, &code) : 1;
    }
    return false;
}
