/* SPDX-License-Identifier: Apache-2.0
 * normalize_precompiled.c - Precompiled: the map of a SentencePiece model, a double-array trie of
 * byte strings whose values point into a block of replacements.
 *
 * It is applied as the reference does, which is odd: a grapheme cluster below six bytes is replaced
 * as a whole by what the shortest prefix of it maps to; otherwise its characters are looked up one
 * by one. Spans are counted (see Aligner), so a character removed at the very start shifts those of
 * all others. */
#include "data/base64.h"
#include "normalize.h"
#include "unicode_classes.h"

typedef struct Charsmap {
    const uint32_t *units;
    size_t count;
    Str strings;     /* each ends with a zero byte */
    bool ascii[128]; /* the trie has nothing for it, and no cluster opens with it */
} Charsmap;

/* ---- loading ---- */
/* What the shortest prefix of `key` maps to; false: nothing. */
static bool charsmap_find(const Charsmap *map, Str key, Str *out)
{
    if (map->count == 0) return false;
    uint32_t unit = map->units[0];
    size_t node = (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
    for (size_t i = 0; i < key.n && key.p[i]; i++) {
        unsigned char byte = (unsigned char)key.p[i];
        node ^= byte;
        if (node >= map->count) return false;
        unit = map->units[node];
        if ((unit & 0x800000ff) != byte) return false;
        node ^= (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
        if (!(unit & 0x100)) continue;
        size_t value = node < map->count ? map->units[node] & 0x7fffffff : SIZE_MAX;
        if (value > map->strings.n) return false;
        const char *p = map->strings.p + value;
        *out = (Str){ p, strnlen(p, map->strings.n - value) };
        return out->n == 0 || (p[0] & 0xc0) != 0x80; /* inside a character: a broken map */
    }
    return false;
}

static bool charsmap_read(Str blob, Charsmap *map, Err *err)
{
    uint32_t size;
    if (blob.n < sizeof size) return fail(err, EF_BAD_MODEL, "Precompiled: the map is too short");
    memcpy(&size, blob.p, sizeof size);
    size_t count = size / sizeof(uint32_t), units = count * sizeof(uint32_t);
    if (units > blob.n - sizeof size)
        return fail(err, EF_BAD_MODEL, "Precompiled: found a map of %zu bytes, wanted %u and more",
                    blob.n, (unsigned)size);
    map->strings = (Str){ blob.p + sizeof size + units, blob.n - sizeof size - units };
    if (!utf8_valid(map->strings))
        return fail(err, EF_BAD_MODEL, "Precompiled: a replacement is not valid UTF-8");
    map->count = count;
    map->units = (const uint32_t *)(blob.p + sizeof size); /* blobs are aligned */
    for (int c = 0; c < 128; c++) {
        char byte = (char)c;
        Str found;
        map->ascii[c] = c != '\r' && !charsmap_find(map, (Str){ &byte, 1 }, &found);
    }
    return true;
}

bool precompiled_blob(Arena *arena, const Value *v, Str *out, Err *err)
{
    Str text;
    const Value *mapped = value_get(v, "precompiled_charsmap");
    if (mapped && mapped->kind == V_F32) /* never parsed: from compile.c */
        return *out = (Str){ (const char *)mapped->f32.p, mapped->f32.n * sizeof(float) }, true;
    if (!member_str(v, "Precompiled", "precompiled_charsmap", &text, err)) return false;
    return base64_read(arena, text, out) ||
           fail(err, EF_BAD_MODEL, "Precompiled: the map is not valid base64");
}

bool precompiled_load(Arena *arena, const Value *v, Normalizer *out, Err *err)
{
    Str blob;
    Charsmap *map = NEW(arena, Charsmap);
    out->data = map;
    return precompiled_blob(arena, v, &blob, err) && charsmap_read(blob, map, err);
}

/* ---- grapheme clusters ---- */
typedef struct Cluster { /* what its characters so far mean for the next one */
    uint16_t before;     /* flags of the last one */
    bool picture;        /* a picture and marks */
    bool joiner;         /* ... and a joiner: another picture may follow */
    bool consonant;      /* of a conjunct, ... */
    bool linker;         /* ... with a linker: another consonant may follow */
    uint32_t last;
} Cluster;

static Cluster cluster_after(const Cluster *c, uint32_t code, uint16_t flags)
{
    bool mark = flags & GRAPHEME_AFTER, joiner = code == 0x200d;
    Cluster next = { .before = flags, .last = code };
    next.picture = flags & GRAPHEME_PICTURE || (c && c->picture && mark && !joiner);
    next.joiner = c && c->picture && joiner;
    bool goes_on = c && c->consonant && (flags & (GRAPHEME_LINKER | GRAPHEME_BETWEEN));
    next.consonant = flags & GRAPHEME_CONSONANT || goes_on;
    next.linker = goes_on && (c->linker || flags & GRAPHEME_LINKER);
    return next;
}

static bool cluster_takes(const Cluster *c, uint32_t code, uint16_t flags)
{
    if (c->last == '\r') return code == '\n';
    if (flags & GRAPHEME_AFTER) return c->before & (GRAPHEME_PASSIVE | GRAPHEME_AFTER);
    bool lead = c->before & GRAPHEME_BEFORE_L, tail = c->before & GRAPHEME_BEFORE_T;
    bool vowel = tail && c->before & GRAPHEME_BEFORE_V;
    return (c->before & GRAPHEME_PREPEND && flags & GRAPHEME_PASSIVE) ||
           (lead && flags & GRAPHEME_AFTER_L) || (vowel && flags & GRAPHEME_AFTER_V) ||
           (tail && flags & GRAPHEME_AFTER_T) || (c->joiner && flags & GRAPHEME_PICTURE) ||
           (c->linker && flags & GRAPHEME_CONSONANT);
}

static size_t cluster_end(Str text, size_t i)
{
    uint32_t code;
    i += (size_t)utf8_take(text.p + i, &code);
    Cluster cluster = cluster_after(NULL, code, grapheme_of(code));
    while (i < text.n) {
        size_t length = (size_t)utf8_take(text.p + i, &code);
        uint16_t flags = grapheme_of(code);
        if (!cluster_takes(&cluster, code, flags)) break;
        cluster = cluster_after(&cluster, code, flags);
        i += length;
    }
    return i;
}

/* ---- running ---- */
enum { WHOLE = 6 }; /* bytes that a cluster must stay below to be looked up as a whole */

typedef struct CharsmapWriter { /* one character is pending: a removal after it counts with it */
    Aligner align;
    bool waits;
    uint32_t code;
    int change;
} CharsmapWriter;

static void precompiled_write_code(CharsmapWriter *w, uint32_t code, int change)
{
    if (w->waits) align_add(&w->align, w->code, w->change);
    w->code = code, w->change = change, w->waits = true;
}

static int precompiled_count_chars(Str text)
{
    int n = 0;
    for (size_t i = 0; i < text.n; i++) n += (text.p[i] & 0xc0) != 0x80;
    return n;
}

static void precompiled_replace(CharsmapWriter *w, Str old, Str new)
{
    int had = precompiled_count_chars(old), has = precompiled_count_chars(new);
    uint32_t code;
    int k = 0;
    for (size_t i = 0; i < new.n; k++) {
        i += (size_t)utf8_take(new.p + i, &code);
        precompiled_write_code(w, code, k >= had);
    }
    if (has < had && w->waits) w->change += has - had;
}

static void write_chars(const Charsmap *map, CharsmapWriter *w, Str text)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t code;
        Str part = { text.p + i, (size_t)utf8_take(text.p + i, &code) }, to;
        if (charsmap_find(map, part, &to)) precompiled_replace(w, part, to);
        else precompiled_write_code(w, code, 0);
        i += part.n;
    }
}

/* The end of a run of ASCII that stays, without a last one that something may join. */
static size_t precompiled_plain_end(const Charsmap *map, Str text, size_t i)
{
    size_t start = i;
    while (i < text.n && !(text.p[i] & 0x80) && map->ascii[(unsigned char)text.p[i]]) i++;
    return i < text.n && i > start ? i - 1 : i;
}

/* All of it stays. What is in step with the source is copied, but for the last character. */
static void write_plain(CharsmapWriter *w, Source in, size_t from, size_t to)
{
    if (w->waits) align_add(&w->align, w->code, w->change);
    w->waits = false;
    if (w->align.next == from && to - from > 1) {
        text_add(w->align.out, source_part(in, from, to - 1));
        w->align.last = source_span(&in, to - 2, 1);
        w->align.next = from = to - 1;
        w->align.used = true;
    }
    for (; from < to; from++) precompiled_write_code(w, (unsigned char)in.text.p[from], 0);
}

void precompiled_run(const Normalizer *self, Source in, Text *out)
{
    const Charsmap *map = self->data;
    CharsmapWriter w = { .align = { .in = in, .out = out } };
    size_t from = out->n;
    for (size_t i = 0; i < in.text.n && text_may_grow(out, from, in.text.n);) {
        size_t end = precompiled_plain_end(map, in.text, i);
        if (end > i) {
            write_plain(&w, in, i, end);
            i = end;
            continue;
        }
        end = cluster_end(in.text, i);
        Str cluster = { in.text.p + i, end - i }, to;
        if (cluster.n < WHOLE && charsmap_find(map, cluster, &to))
            precompiled_replace(&w, cluster, to);
        else write_chars(map, &w, cluster);
        i = end;
    }
    if (w.waits) align_add(&w.align, w.code, w.change);
    if (w.align.next < in.text.n) out->drifted = true;
}

/* Letters, digits and the space stay what they are. */
bool precompiled_apart(const Normalizer *self)
{
    static const char kept[] = " 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const Charsmap *map = self->data;
    for (const char *c = kept; *c; c++)
        if (!map->ascii[(unsigned char)*c]) return false;
    return true;
}
