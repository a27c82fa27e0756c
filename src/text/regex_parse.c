/* SPDX-License-Identifier: Apache-2.0
 * regex_parse.c - a pattern to a tree of nodes, by recursive descent. */
#include "regex_parse.h"

typedef struct Flags { /* of (?imx) */
    bool fold, dot_all, spaced;
} Flags;

typedef struct RegexParser {
    Arena *arena;
    const char *p, *end;
    Flags flags;
    int nesting;
    Err *err;
} RegexParser;

static bool parse_either(RegexParser *, Node **out);

static bool parse_fail(RegexParser *s, const char *what)
{
    return fail(s->err, EF_BAD_MODEL, "regular expression: %s", what);
}

static bool parse_refuse(RegexParser *s, const char *what)
{
    return fail(s->err, EF_UNSUPPORTED, "regular expression: %s is not supported", what);
}

static Node *parse_new_node(RegexParser *s, NodeKind kind)
{
    Node *n = NEW(s->arena, Node);
    n->kind = kind;
    return n;
}

static bool parse_take(RegexParser *s, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n)) return false;
    s->p += n;
    return true;
}

static uint32_t next_code(RegexParser *s) /* there is one */
{
    uint32_t code;
    s->p += utf8_decode(s->p, s->end, &code);
    return code;
}

/* ---- nodes for one character ---- */
static Node *class_node(RegexParser *s, CharClass *set)
{
    Node *n = parse_new_node(s, NODE_CLASS);
    class_finish(set);
    n->set = set;
    return n;
}

static Node *item_node(RegexParser *s, ClassItem item)
{
    CharClass *set = NEW(s->arena, CharClass);
    if (item.kind == ITEM_POSIX && item.low == POSIX_WORD) item.low = POSIX_WORD_ALONE;
    class_add(s->arena, set, item);
    return class_node(s, set);
}

static Node *code_node(RegexParser *s, uint32_t code)
{
    if (s->flags.fold && unicode_fold_next(code) != code) {
        CharClass *set = NEW(s->arena, CharClass);
        set->fold = true;
        class_add(s->arena, set, (ClassItem){ ITEM_RANGE, .low = code, .high = code });
        return class_node(s, set);
    }
    Node *n = parse_new_node(s, NODE_CHAR);
    n->code = code;
    return n;
}

static Node *any_node(RegexParser *s, bool newline)
{
    if (newline) return item_node(s, (ClassItem){ ITEM_RANGE, .low = 0, .high = 0x10ffff });
    return item_node(s, (ClassItem){ ITEM_RANGE, true, '\n', '\n', NULL });
}

/* ---- escapes ---- */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static uint32_t take_digits(RegexParser *s, int base, int most)
{
    uint32_t value = 0;
    for (int i = 0; i < most && s->p < s->end; i++, s->p++) {
        int digit = hex_value(*s->p);
        if (digit < 0 || digit >= base) break;
        value = value * (uint32_t)base + (uint32_t)digit;
    }
    return value;
}

static bool take_property(RegexParser *s, bool negate, ClassItem *out)
{
    if (!parse_take(s, "{")) return parse_fail(s, "\\p without {");
    if (parse_take(s, "^")) negate = !negate;
    const char *close = memchr(s->p, '}', (size_t)(s->end - s->p));
    if (!close) return parse_fail(s, "\\p{ without }");
    Str name = { s->p, (size_t)(close - s->p) };
    s->p = close + 1;
    if (!class_property(name, out))
        return fail(s->err, EF_UNSUPPORTED,
                    "regular expression: property \"%.*s\" is not supported", STR_ARG(name));
    out->negate = negate;
    return true;
}

/* \w and its like, and \p{..}, after the backslash. false without an error: it is none of them. */
static bool take_class_escape(RegexParser *s, ClassItem *out, bool *ok)
{
    static const struct {
        char letter;
        const char *property;
    } rows[] = { { 'w', "Word" }, { 's', "Space" }, { 'd', "Digit" }, { 'h', "XDigit" } };
    *ok = true;
    char c = *s->p, low = (char)(c | 32);
    if (low == 'p') {
        s->p++;
        *ok = take_property(s, c == 'P', out);
        return true;
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].letter != low) continue;
        s->p++;
        class_property(str_of(rows[i].property), out);
        out->negate = c != low;
        return true;
    }
    return false;
}

/* The code point that an escape stands for; after the backslash. */
static bool take_code_escape(RegexParser *s, uint32_t *code)
{
    static const char from[] = "tvnrfae", to[] = "\t\v\n\r\f\a\x1b";
    uint32_t c = next_code(s);
    const char *found = c < 128 && c ? strchr(from, (int)c) : NULL;
    *code = found ? (uint32_t)to[found - from] : c;
    if (c == 'x' && parse_take(s, "{")) {
        *code = take_digits(s, 16, 8);
        if (!parse_take(s, "}")) return parse_fail(s, "\\x{ without }");
    } else if (c == 'x') {
        *code = take_digits(s, 16, 2);
    } else if (c == 'u') {
        *code = take_digits(s, 16, 4);
    } else if (c == '0') {
        *code = take_digits(s, 8, 2);
    } else if (c == 'c' || c == 'C' || c == 'M') {
        return parse_refuse(s, "an escape of a control character");
    }
    return *code < 0x110000 || parse_fail(s, "a code above 0x10ffff");
}

static bool parse_assertion(RegexParser *s, Assertion which, Node **out)
{
    *out = parse_new_node(s, NODE_ASSERT);
    (*out)->mode = (uint8_t)which;
    return true;
}

static Node *line_break(RegexParser *s) /* \R: (?>\r\n|[\n\v\f\r\u0085\u2028\u2029]) */
{
    Node *atomic = parse_new_node(s, NODE_ATOMIC), *either = parse_new_node(s, NODE_EITHER);
    Node *both = parse_new_node(s, NODE_SEQUENCE);
    both->child = code_node(s, '\r');
    both->child->next = code_node(s, '\n');
    CharClass *set = NEW(s->arena, CharClass);
    class_add(s->arena, set, (ClassItem){ ITEM_RANGE, .low = '\n', .high = '\r' });
    class_add(s->arena, set, (ClassItem){ ITEM_RANGE, .low = 0x85, .high = 0x85 });
    class_add(s->arena, set, (ClassItem){ ITEM_RANGE, .low = 0x2028, .high = 0x2029 });
    both->next = class_node(s, set);
    either->child = both;
    atomic->child = either;
    return atomic;
}

static bool parse_escape(RegexParser *s, Node **out)
{
    static const struct {
        char letter;
        Assertion which;
    } anchors[] = { { 'A', ASSERT_START },
                    { 'z', ASSERT_END },
                    { 'Z', ASSERT_LAST_LINE },
                    { 'b', ASSERT_WORD },
                    { 'B', ASSERT_NOT_WORD } };
    if (s->p == s->end) return parse_fail(s, "\\ at the end");
    char c = *s->p;
    for (size_t i = 0; i < COUNT(anchors); i++)
        if (anchors[i].letter == c) return s->p++, parse_assertion(s, anchors[i].which, out);
    if (strchr("XKGkgyY", c)) return parse_refuse(s, "\\X, \\y, \\K, \\G or a back reference");
    if (c >= '1' && c <= '9') return parse_refuse(s, "a back reference");
    if (c == 'R') return s->p++, *out = line_break(s), true;
    if (c == 'N' || c == 'O') return s->p++, *out = any_node(s, c == 'O'), true;
    ClassItem item;
    bool ok;
    if (take_class_escape(s, &item, &ok)) return ok && (*out = item_node(s, item), true);
    uint32_t code;
    if (!take_code_escape(s, &code)) return false;
    *out = code_node(s, code);
    return true;
}

/* ---- classes in brackets ---- */
static bool parse_class(RegexParser *, CharClass **out);

static bool take_posix(RegexParser *s, ClassItem *out, bool *ok)
{
    const char *close = memmem(s->p, (size_t)(s->end - s->p), ":]", 2);
    *ok = true;
    if ((size_t)(s->end - s->p) < 2 || s->p[1] != ':' || !close) return false;
    bool negate = s->p + 2 < close && s->p[2] == '^';
    Str name = { s->p + 2 + negate, (size_t)(close - s->p) - 2 - negate };
    for (size_t i = 0; i < name.n; i++)
        if ((name.p[i] | 32) < 'a' || (name.p[i] | 32) > 'z') return false;
    if (!class_property(name, out)) return *ok = parse_fail(s, "unknown [:class:]"), true;
    if (out->kind == ITEM_POSIX && out->low == POSIX_PUNCT) out->low = POSIX_PUNCT_BRACKETS;
    out->negate = negate;
    s->p = close + 2;
    return true;
}

/* One member: an item that cannot open a range, or a code point. */
static bool take_member(RegexParser *s, ClassItem *item, bool *single)
{
    bool ok;
    *single = false;
    if (*s->p == '[' && take_posix(s, item, &ok)) return ok;
    if (parse_take(s, "[")) {
        CharClass *nested;
        if (!parse_class(s, &nested)) return false;
        *item = (ClassItem){ ITEM_CLASS, .nested = nested };
        return true;
    }
    uint32_t code;
    if (parse_take(s, "\\")) {
        if (s->p == s->end) return parse_fail(s, "\\ at the end");
        if (take_class_escape(s, item, &ok)) return ok;
        if (parse_take(s, "b")) code = '\b';
        else if (!take_code_escape(s, &code)) return false;
    } else {
        code = next_code(s);
    }
    *single = true;
    *item = (ClassItem){ ITEM_RANGE, .low = code, .high = code };
    return true;
}

static bool take_range(RegexParser *s, ClassItem *item)
{
    if (s->end - s->p < 2 || s->p[0] != '-' || s->p[1] == ']') return true;
    const char *dash = s->p++;
    ClassItem last;
    bool single;
    if (!take_member(s, &last, &single)) return false;
    if (!single) return s->p = dash, true; /* a-\w: the dash is a member */
    item->high = last.low;
    return item->low <= item->high || parse_fail(s, "an empty range");
}

/* Members up to && or the closing bracket. */
static bool take_members(RegexParser *s, CharClass *set)
{
    bool first = true;
    for (; s->p < s->end; first = false) {
        if (*s->p == ']' && !first) return true;
        if (s->end - s->p > 1 && s->p[0] == '&' && s->p[1] == '&') return true;
        ClassItem item;
        bool single;
        if (!take_member(s, &item, &single) || (single && !take_range(s, &item))) return false;
        class_add(s->arena, set, item);
    }
    return parse_fail(s, "[ without ]");
}

static bool parse_class(RegexParser *s, CharClass **out) /* after the bracket */
{
    if (++s->nesting > NESTING_LIMIT) return parse_refuse(s, "nesting that deep");
    CharClass *set = *out = NEW(s->arena, CharClass), *part = set;
    set->negate = parse_take(s, "^");
    if (!take_members(s, set)) return false;
    while (parse_take(s, "&&")) {
        CharClass *both = NEW(s->arena, CharClass);
        if (!take_members(s, both)) return false;
        part->both = both;
        part = both;
    }
    s->p++;
    s->nesting--;
    return true;
}

/* ---- groups ---- */
static bool close_group(RegexParser *s, Node **out)
{
    if (!parse_either(s, out)) return false;
    return parse_take(s, ")") || parse_fail(s, "( without )");
}

static bool parse_look(RegexParser *s, bool behind, bool negative, Node **out)
{
    Node *look = *out = parse_new_node(s, NODE_LOOK);
    look->behind = behind;
    look->mode = negative;
    return close_group(s, &look->child);
}

/* (?imx-imx: or (?imx-imx); the latter reaches to the end of the group around it. */
static bool parse_flags(RegexParser *s, Node **out)
{
    Flags flags = s->flags, before = s->flags;
    bool on = true;
    for (; s->p < s->end && *s->p != ':' && *s->p != ')'; s->p++) {
        if (*s->p == '-') on = false;
        else if (*s->p == 'i') flags.fold = on;
        else if (*s->p == 'm') flags.dot_all = on;
        else if (*s->p == 'x') flags.spaced = on;
        else return parse_refuse(s, "a group of this kind");
    }
    if (s->p == s->end) return parse_fail(s, "( without )");
    bool group = *s->p++ == ':';
    s->flags = flags;
    bool ok = group ? close_group(s, out) : parse_either(s, out);
    s->flags = before;
    return ok;
}

static bool parse_group(RegexParser *s, Node **out) /* after the parenthesis */
{
    Flags before = s->flags;
    bool ok;
    if (!parse_take(s, "?")) {
        if (s->p < s->end && *s->p == '*') return parse_refuse(s, "a callout");
        ok = close_group(s, out);
    } else if (parse_take(s, ":")) {
        ok = close_group(s, out);
    } else if (parse_take(s, "=")) {
        ok = parse_look(s, false, false, out);
    } else if (parse_take(s, "!")) {
        ok = parse_look(s, false, true, out);
    } else if (parse_take(s, "<=")) {
        ok = parse_look(s, true, false, out);
    } else if (parse_take(s, "<!")) {
        ok = parse_look(s, true, true, out);
    } else if (parse_take(s, ">")) {
        *out = parse_new_node(s, NODE_ATOMIC);
        ok = close_group(s, &(*out)->child);
    } else if (parse_take(s, "#")) {
        const char *close = memchr(s->p, ')', (size_t)(s->end - s->p));
        *out = parse_new_node(s, NODE_EMPTY);
        ok = close ? (s->p = close + 1, true) : parse_fail(s, "( without )");
    } else if (parse_take(s, "<") ||
               parse_take(s, "'")) { /* a named group: the name is of no use here */
        char quote = s->p[-1] == '<' ? '>' : '\'';
        const char *close = memchr(s->p, quote, (size_t)(s->end - s->p));
        ok = close ? (s->p = close + 1, close_group(s, out)) : parse_fail(s, "a name without end");
    } else {
        return parse_flags(s, out);
    }
    s->flags = before;
    return ok;
}

/* ---- repeats ---- */
static int32_t parse_take_number(RegexParser *s) /* -1: none */
{
    if (s->p == s->end || *s->p < '0' || *s->p > '9') return -1;
    uint32_t value = take_digits(s, 10, 6);
    return (int32_t)MIN(value, (uint32_t)REPEAT_LIMIT + 1);
}

/* {n}, {n,}, {n,m}, {,m}; anything else is text. */
static bool take_interval(RegexParser *s, Node *repeat, bool *fixed)
{
    const char *start = s->p;
    s->p++;
    repeat->least = parse_take_number(s);
    *fixed = repeat->least >= 0 && s->p < s->end && *s->p == '}';
    if (*fixed) {
        repeat->most = repeat->least;
    } else if (parse_take(s, ",")) {
        repeat->most = parse_take_number(s);
        if (repeat->least < 0 && repeat->most < 0) return s->p = start, false;
        repeat->least = MAX(repeat->least, 0);
    } else {
        return s->p = start, false;
    }
    if (!parse_take(s, "}")) return s->p = start, false;
    return true;
}

/* The quantifiers behind a node, each around what is before it. */
static bool take_repeats(RegexParser *s, Node **out)
{
    for (int depth = 0; s->p < s->end; depth++) {
        if (depth > NESTING_LIMIT) return parse_refuse(s, "nesting that deep");
        Node *repeat = parse_new_node(s, NODE_REPEAT);
        bool interval = *s->p == '{', fixed = false;
        if (interval && !take_interval(s, repeat, &fixed)) return true;
        if (!interval) {
            if (!strchr("*+?", *s->p) || !*s->p) return true;
            repeat->least = *s->p == '+';
            repeat->most = *s->p == '?' ? 1 : -1;
            s->p++;
        }
        if (repeat->least > REPEAT_LIMIT || repeat->most > REPEAT_LIMIT)
            return parse_refuse(s, "a repeat of more than 1000");
        if (repeat->most >= 0 && repeat->most < repeat->least)
            return parse_refuse(s, "an interval whose end is before its start");
        repeat->mode = GREEDY;
        if (!fixed && parse_take(s, "?")) repeat->mode = LAZY;
        else if (!interval && parse_take(s, "+")) repeat->mode = POSSESSIVE;
        repeat->child = *out;
        *out = repeat;
    }
    return true;
}

/* ---- the whole ---- */
static bool parse_atom(RegexParser *s, Node **out)
{
    char c = *s->p;
    if (c == '(') return s->p++, parse_group(s, out);
    if (c == '\\') return s->p++, parse_escape(s, out);
    if (c == '.') return s->p++, *out = any_node(s, s->flags.dot_all), true;
    if (c == '^') return s->p++, parse_assertion(s, ASSERT_LINE_START, out);
    if (c == '$') return s->p++, parse_assertion(s, ASSERT_LINE_END, out);
    if (c == '*' || c == '+' || c == '?') return parse_fail(s, "a repeat of nothing");
    if (c != '[') return *out = code_node(s, next_code(s)), true;
    s->p++;
    CharClass *set;
    if (!parse_class(s, &set)) return false;
    set->fold = s->flags.fold;
    *out = class_node(s, set);
    return true;
}

static void skip_spaced(RegexParser *s)
{
    for (; s->flags.spaced && s->p < s->end; s->p++) {
        if (*s->p == '#')
            while (s->p < s->end && *s->p != '\n') s->p++;
        if (s->p == s->end || !strchr(" \t\n\r\f\v", *s->p) || !*s->p) return;
    }
}

static bool parse_sequence(RegexParser *s, Node **out)
{
    Node *sequence = *out = parse_new_node(s, NODE_SEQUENCE), **tail = &sequence->child;
    for (;;) {
        skip_spaced(s);
        if (s->p == s->end || *s->p == '|' || *s->p == ')') return true;
        Node *atom = NULL;
        if (!parse_atom(s, &atom)) return false;
        skip_spaced(s);
        if (!take_repeats(s, &atom)) return false;
        *tail = atom;
        tail = &atom->next;
    }
}

static bool parse_either(RegexParser *s, Node **out)
{
    if (++s->nesting > NESTING_LIMIT) return parse_refuse(s, "nesting that deep");
    Node *first;
    if (!parse_sequence(s, &first)) return false;
    *out = first;
    if (s->p < s->end && *s->p == '|') {
        *out = parse_new_node(s, NODE_EITHER);
        (*out)->child = first;
        for (Node *last = first; parse_take(s, "|"); last = last->next)
            if (!parse_sequence(s, &last->next)) return false;
    }
    s->nesting--;
    return true;
}

bool regex_parse(Arena *arena, Str pattern, Node **out, Err *err)
{
    RegexParser s = { arena, pattern.p, pattern.p + pattern.n, .err = err };
    if (!parse_either(&s, out)) return false;
    return s.p == s.end || parse_fail(&s, ") without (");
}
