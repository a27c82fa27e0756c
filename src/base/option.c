/* SPDX-License-Identifier: Apache-2.0
 * option.c - what a user wrote, checked against its row and stored in the row's field. */
#include "base/option.h"

#include "base/file.h"

enum { KEYS_LIMIT = 1 << 20 };

static const struct {
    const char *name;
    bool number, repeats;
} kinds[] = {
    [TAKES_TEXT] = { "text" },
    [TAKES_PATH] = { "path" },
    [TAKES_COUNT] = { "count", .number = true },
    [TAKES_BYTES] = { "bytes", .number = true },
    [TAKES_PORT] = { "port", .number = true },
    [TAKES_SECONDS] = { "seconds", .number = true },
    [TAKES_MS] = { "milliseconds", .number = true },
    [TAKES_WORD] = { "word" },
    [TAKES_LIST] = { "list", .repeats = true },
    [TAKES_KEYS] = { "keys", .repeats = true },
    [TAKES_KEY_FILE] = { "key-file", .repeats = true },
    [TAKES_NOTHING] = { "flag" },
};

const char *const option_bools[] = { "true", "false", NULL };

const char *option_kind_name(const Option *o)
{
    return kinds[o->argument ? o->kind : TAKES_NOTHING].name;
}

bool option_number(const Option *o)
{
    return kinds[o->kind].number;
}

bool option_repeats(const Option *o)
{
    return kinds[o->kind].repeats;
}

const char *option_variable(Arena *arena, const Option *o)
{
    char *name = str_format(arena, "ENCODERFILE_%s", o->name);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return name;
}

void option_put_number(Buf *b, const Option *o, int64_t n)
{
    static const char *const units[] = { "", " KiB", " MiB", " GiB", " TiB" };
    size_t unit = 0;
    while (o->kind == TAKES_BYTES && n && n % 1024 == 0 && unit + 1 < COUNT(units)) n /= 1024, unit++;
    buf_printf(b, "%lld%s", (long long)n, units[unit]);
}

/* ---- texts ---- */
static const char *add_line(Arena *arena, const char *lines, Str text)
{
    return lines ? str_format(arena, "%s\n%.*s", lines, STR_ARG(text)) : str_dup(arena, text);
}

static Str next_line(Str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    Str line = { rest->p, end ? (size_t)(end - rest->p) : rest->n };
    size_t used = line.n + (end != NULL);
    *rest = (Str){ rest->p + used, rest->n - used };
    return str_trim(line);
}

/* What a client can send behind "Bearer ", and a proxy on the way will not change. */
static bool is_key(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F) return false;
    return true;
}

/* No key at all is an error: a server without keys is open to all. */
static bool add_keys(const char **keys, Arena *arena, const char *called, Str text, bool file,
                     Err *err)
{
    const char *before = *keys;
    if (file && str_starts(text, "\xEF\xBB\xBF")) text.p += 3, text.n -= 3;
    for (int number = 1; text.n; number++) {
        Str line = next_line(&text);
        if (line.n == 0 || (file && line.p[0] == '#')) continue;
        if (!is_key(line))
            return fail(err, EF_USAGE,
                        "%s: line %d: found white space or a control character in a key, wanted "
                        "one key a line without them", called, number);
        *keys = add_line(arena, *keys, line);
    }
    if (*keys != before) return true;
    return fail(err, EF_USAGE, "%s: found no key, wanted one", called);
}

/* Keys in files and in the environment are not seen by who lists processes. */
static bool add_key_file(const char **keys, Arena *arena, const char *called, Str path, Err *err)
{
    const char *file = str_dup(arena, path);
    Str text;
    if (!file_read(arena, file, KEYS_LIMIT, &text, err)) return within(err, "%s", called);
    return add_keys(keys, arena, str_format(arena, "%s: %s", called, file), text, true, err);
}

/* ---- values ---- */
bool option_named(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ' '), at += at != NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ' ' || at[n] == 0)) return true;
    return false;
}

bool option_bool(Str text, bool *out)
{
    static const char *const words[] = { "false", "true", "0", "1", "no", "yes", "off", "on" };
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_is(text, words[i])) return *out = i % 2, true;
    return false;
}

/* The place of a word in a list that ends with NULL, or -1. */
static int word_index(const char *const *words, Str text)
{
    for (int i = 0; words[i]; i++)
        if (str_is(text, words[i])) return i;
    return -1;
}

void option_put_words(Buf *b, const char *const *words, const char *standard)
{
    for (int i = 0; words[i]; i++)
        buf_printf(b, "%s%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i],
                   standard && strcmp(standard, words[i]) == 0 ? " (default)" : "");
}

static bool not_a_word(const char *const *words, const char *called, Str text, Err *err)
{
    Buf known = { 0 };
    option_put_words(&known, words, NULL);
    fail(err, EF_USAGE, "%s: found \"%.*s\", wanted %.*s", called, STR_ARG(text),
         STR_ARG(buf_view(&known)));
    buf_free(&known);
    return false;
}

/* Where a text is wanted, an empty one is refused: --api-key "$UNSET" must not be a server that is
 * open to all. Rows without a field take it: a command may have a use for "". */
static bool check_text(const Option *o, const char *called, Str text, Err *err)
{
    if (!o->size || str_trim(text).n) return true;
    if (o->kind == TAKES_KEYS)
        return fail(err, EF_USAGE, "%s: found nothing, wanted a key: a server without keys is open "
                    "to all", called);
    return fail(err, EF_USAGE, "%s: found nothing, wanted a value", called);
}

bool option_check(const Option *o, const char *called, Str text, Err *err)
{
    int64_t n = 0;
    bool on;
    if (!o->argument)
        return option_bool(text, &on) ||
               fail(err, EF_USAGE, "%s: found \"%.*s\", wanted true or false", called,
                    STR_ARG(text));
    const char *const *words = o->may ? o->may : o->kind == TAKES_WORD ? o->words : NULL;
    if (words) return word_index(words, text) >= 0 || not_a_word(words, called, text, err);
    if (!option_number(o)) return check_text(o, called, text, err);
    if (str_int(text, &n) && n >= o->least && n <= o->most) return true;
    return fail(err, EF_USAGE, "%s: found \"%.*s\", wanted a number from %lld to %lld", called,
                STR_ARG(text), (long long)o->least, (long long)o->most);
}

int64_t option_int(const Option *o, Str text)
{
    int64_t n = 0;
    if (o->kind == TAKES_WORD) return word_index(o->words, text);
    str_int(text, &n);
    return n;
}

/* Any width: int, enum, int64_t or size_t. */
static void store_integer(const Option *o, void *field, int64_t n)
{
    int narrow = (int)n;
    assert(o->size == sizeof narrow || o->size == sizeof n);
    memcpy(field, o->size == sizeof n ? (void *)&n : (void *)&narrow, o->size);
}

static void store_text(const Option *o, void *field, Arena *arena, Str text)
{
    Str own = { str_dup(arena, text), text.n };
    assert(o->size == sizeof own || o->size == sizeof own.p);
    memcpy(field, o->size == sizeof own ? (void *)&own : (void *)&own.p, o->size);
}

static void store_word(const Option *o, void *field, Str text)
{
    int64_t index = option_int(o, text);
    if (o->size == sizeof(char *)) *(const char **)field = o->words[index];
    else store_integer(o, field, index);
}

/* Checks the text; *value is what it means. */
static bool option_means(const Option *o, const char *called, Str text, Str *value, Err *err)
{
    bool on;
    *value = text;
    if (!o->stands || !option_bool(text, &on)) return option_check(o, called, text, err);
    *value = on ? str_of(o->stands) : (Str){ 0 };
    return true;
}

bool option_set(const Option *o, void *settings, Arena *arena, const char *called, Str given,
                Err *err)
{
    void *field = (char *)settings + o->offset;
    const char **string = field;
    Str text;
    if (!option_means(o, called, given, &text, err)) return false;
    if (!text.p) return true;
    if (!o->argument && !o->stands) return option_bool(text, field);
    switch (o->kind) {
    case TAKES_TEXT:
    case TAKES_PATH: store_text(o, field, arena, text); break;
    case TAKES_WORD: store_word(o, field, text); break;
    case TAKES_LIST: *string = add_line(arena, *string, text); break;
    case TAKES_KEYS: return add_keys(string, arena, called, text, false, err);
    case TAKES_KEY_FILE: return add_key_file(string, arena, called, text, err);
    case TAKES_SECONDS: *(double *)field = (double)option_int(o, text); break;
    case TAKES_MS: *(double *)field = (double)option_int(o, text) / 1000; break;
    default: store_integer(o, field, option_int(o, text));
    }
    return true;
}

void option_defaults(const Option *rows, void *settings, Arena *arena)
{
    Err err = { 0 };
    for (const Option *o = rows; o->name; o++) {
        if (!o->standard || !o->size) continue;
        bool ok = option_set(o, settings, arena, o->name, str_of(o->standard), &err);
        assert(ok && "the default of a row lies within its limits");
        (void)ok;
    }
}
