/* SPDX-License-Identifier: Apache-2.0
 * pattern.c - find, match, gmatch and gsub with Lua 5.4's patterns, on a matcher of our own that
 * counts every character it looks at: ("a"):rep(9999):find((".-"):rep(20) .. "b") ends with an
 * error at the limit. Also string.rep, whose loop over empty strings has no end. */
#include <ctype.h>

#include "vm.h"

enum { MOST_CAPTURES = 32, MOST_DEPTH = 200, OPEN = -1, POSITION = -2 };

typedef struct PatternMatch {
    lua_State *L;
    const char *subject, *end, *pattern_end;
    int level, depth;            /* captures so far; calls of match_here inside each other */
    struct {
        const char *at;
        ptrdiff_t length;        /* or OPEN, POSITION */
    } capture[MOST_CAPTURES];
} PatternMatch;

static const char *match_here(PatternMatch *, const char *s, const char *p);

/* ---- single characters ---- */
static bool class_has(int c, int class)
{
    bool is;
    switch (tolower(class)) {
    case 'a': is = isalpha(c); break;
    case 'c': is = iscntrl(c); break;
    case 'd': is = isdigit(c); break;
    case 'g': is = isgraph(c); break;
    case 'l': is = islower(c); break;
    case 'p': is = ispunct(c); break;
    case 's': is = isspace(c); break;
    case 'u': is = isupper(c); break;
    case 'w': is = isalnum(c); break;
    case 'x': is = isxdigit(c); break;
    default: return class == c;
    }
    return isupper(class) ? !is : is;
}

/* p behind one item: "x", "%d", "[...]". */
static const char *item_end(const PatternMatch *m, const char *p)
{
    int c = *p++;
    if (c == '%') {
        if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (c != '[') return p;
    if (p < m->pattern_end && *p == '^') p++;
    do { /* a ] that comes first is a member */
        if (p == m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == '%') p++;
        if (p > m->pattern_end) luaL_error(m->L, "malformed pattern (missing ']')");
    } while (p == m->pattern_end || *p != ']');
    return p + 1;
}

/* The set from '[' at p to ']' at last. */
static bool set_has(int c, const char *p, const char *last)
{
    bool wanted = true;
    if (p[1] == '^') wanted = false, p++;
    while (++p < last) {
        if (*p == '%') {
            if (class_has(c, (unsigned char)*++p)) return wanted;
        } else if (p[1] == '-' && p + 2 < last) {
            if ((unsigned char)*p <= c && c <= (unsigned char)p[2]) return wanted;
            p += 2;
        } else if ((unsigned char)*p == c) {
            return wanted;
        }
    }
    return !wanted;
}

static bool pattern_item_has(const PatternMatch *m, const char *s, const char *p,
                             const char *behind)
{
    vm_charge(m->L, *p == '[' ? behind - p : 1);
    if (s >= m->end) return false;
    int c = (unsigned char)*s;
    switch (*p) {
    case '.': return true;
    case '%': return class_has(c, (unsigned char)p[1]);
    case '[': return set_has(c, p, behind - 1);
    default: return (unsigned char)*p == c;
    }
}

/* ---- repetition ---- */
static const char *match_most(PatternMatch *m, const char *s, const char *p, const char *behind)
{
    ptrdiff_t n = 0;
    while (pattern_item_has(m, s + n, p, behind)) n++;
    for (; n >= 0; n--) {
        const char *to = match_here(m, s + n, behind + 1);
        if (to) return to;
    }
    return NULL;
}

static const char *match_least(PatternMatch *m, const char *s, const char *p, const char *behind)
{
    for (;; s++) {
        const char *to = match_here(m, s, behind + 1);
        if (to) return to;
        if (!pattern_item_has(m, s, p, behind)) return NULL;
    }
}

/* ---- captures ---- */
static const char *open_capture(PatternMatch *m, const char *s, const char *p, int length)
{
    if (m->level >= MOST_CAPTURES) luaL_error(m->L, "too many captures");
    m->capture[m->level].at = s;
    m->capture[m->level].length = length;
    m->level++;
    const char *to = match_here(m, s, p);
    if (!to) m->level--;
    return to;
}

static const char *close_capture(PatternMatch *m, const char *s, const char *p)
{
    int k = m->level - 1;
    while (k >= 0 && m->capture[k].length != OPEN) k--;
    if (k < 0) luaL_error(m->L, "invalid pattern capture");
    m->capture[k].length = s - m->capture[k].at;
    const char *to = match_here(m, s, p);
    if (!to) m->capture[k].length = OPEN;
    return to;
}

/* %1 .. %9 */
static const char *match_again(PatternMatch *m, const char *s, int digit)
{
    int k = digit - '1';
    if (k < 0 || k >= m->level || m->capture[k].length == OPEN)
        luaL_error(m->L, "invalid capture index %%%d", k + 1);
    ptrdiff_t n = m->capture[k].length;
    vm_charge(m->L, 1 + n / 8);
    return n >= 0 && m->end - s >= n && memcmp(m->capture[k].at, s, (size_t)n) == 0 ? s + n : NULL;
}

/* %bxy with p at x */
static const char *match_balance(const PatternMatch *m, const char *s, const char *p)
{
    if (p + 1 >= m->pattern_end)
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->end || *s != *p) return NULL;
    for (int64_t deep = 1; ++s < m->end;) {
        vm_charge(m->L, 1);
        if (*s == p[1]) {
            if (--deep == 0) return s + 1;
        } else if (*s == *p) {
            deep++;
        }
    }
    return NULL;
}

/* %f[set] with p at [ */
static bool match_frontier(const PatternMatch *m, const char *s, const char *p, const char *behind)
{
    int before = s == m->subject ? 0 : (unsigned char)s[-1];
    int here = s < m->end ? (unsigned char)*s : 0;
    vm_charge(m->L, 2 * (behind - p));
    return !set_has(before, p, behind - 1) && set_has(here, p, behind - 1);
}

/* ---- the matcher ---- */
/* What begins with % and is no single character: the rest of the match in *to, p moved on where the
 * match goes on, or false: it is one. */
static bool match_special(PatternMatch *m, const char **s, const char **p)
{
    const char *behind;
    switch ((*p)[1]) {
    case 'b':
        *s = match_balance(m, *s, *p + 2);
        *p += 4;
        return true;
    case 'f':
        *p += 2;
        if (*p >= m->pattern_end || **p != '[')
            luaL_error(m->L, "missing '[' after '%%f' in pattern");
        behind = item_end(m, *p);
        if (!match_frontier(m, *s, *p, behind)) *s = NULL;
        *p = behind;
        return true;
    default:
        if (!isdigit((unsigned char)(*p)[1])) return false;
        *s = match_again(m, *s, (unsigned char)(*p)[1]);
        *p += 2;
        return true;
    }
}

/* One item and what stands behind it; *s and *p move on where a loop can do the rest, else
 * *done. */
static const char *match_item(PatternMatch *m, const char **s, const char **p, bool *done)
{
    const char *behind = item_end(m, *p);
    int sign = behind < m->pattern_end ? *behind : 0;
    *done = true;
    if (sign == '*') return match_most(m, *s, *p, behind);
    if (sign == '-') return match_least(m, *s, *p, behind);
    bool has = pattern_item_has(m, *s, *p, behind);
    if (sign == '+') return has ? match_most(m, *s + 1, *p, behind) : NULL;
    if (sign == '?' && has) {
        const char *to = match_here(m, *s + 1, behind + 1);
        if (to) return to;
    }
    if (sign != '?' && !has) return NULL;
    *done = false;
    *s += sign != '?';
    *p = behind + (sign == '?');
    return NULL;
}

static const char *match_on(PatternMatch *m, const char *s, const char *p)
{
    while (s && p < m->pattern_end) {
        vm_charge(m->L, 1);
        bool pair = p + 1 < m->pattern_end;
        if (*p == '(' && pair && p[1] == ')') return open_capture(m, s, p + 2, POSITION);
        if (*p == '(') return open_capture(m, s, p + 1, OPEN);
        if (*p == ')') return close_capture(m, s, p + 1);
        if (*p == '$' && !pair) return s == m->end ? s : NULL;
        if (*p == '%' && pair && match_special(m, &s, &p)) continue;
        bool done;
        const char *to = match_item(m, &s, &p, &done);
        if (done) return to;
    }
    return s;
}

/* The end of a match of p at s, or NULL. */
static const char *match_here(PatternMatch *m, const char *s, const char *p)
{
    if (++m->depth > MOST_DEPTH) luaL_error(m->L, "pattern too complex");
    const char *to = match_on(m, s, p);
    m->depth--;
    return to;
}

/* ---- results ---- */
static void push_capture(const PatternMatch *m, int k, const char *s, const char *to)
{
    if (k >= m->level) {
        if (k) luaL_error(m->L, "invalid capture index %%%d", k + 1);
        lua_pushlstring(m->L, s, (size_t)(to - s));
    } else if (m->capture[k].length == OPEN) {
        luaL_error(m->L, "unfinished capture");
    } else if (m->capture[k].length == POSITION) {
        lua_pushinteger(m->L, m->capture[k].at - m->subject + 1);
    } else {
        lua_pushlstring(m->L, m->capture[k].at, (size_t)m->capture[k].length);
    }
}

/* All captures; the whole match where there are none and s is given. */
static int push_captures(const PatternMatch *m, const char *s, const char *to)
{
    int n = m->level == 0 && s ? 1 : m->level;
    luaL_checkstack(m->L, n, "too many captures");
    for (int k = 0; k < n; k++) push_capture(m, k, s, to);
    return n;
}

static PatternMatch match_of(lua_State *L, Str subject, Str pattern)
{
    return (PatternMatch){ .L = L, .subject = subject.p, .end = subject.p + subject.n,
                    .pattern_end = pattern.p + pattern.n };
}

static const char *match_at(PatternMatch *m, const char *s, const char *p)
{
    m->level = m->depth = 0;
    return match_here(m, s, p);
}

static Str check_str(lua_State *L, int index)
{
    Str s;
    s.p = luaL_checklstring(L, index, &s.n);
    return s;
}

/* `init` of find, match and gmatch as an offset; above n: behind the end. */
static size_t start_of(lua_State *L, int index, size_t n)
{
    lua_Integer i = luaL_optinteger(L, index, 1);
    if (i > 0) return (size_t)i - 1;
    if (i == 0 || i < -(lua_Integer)n) return 0;
    return n - (size_t)-i;
}

static bool pattern_is_plain(Str pattern)
{
    for (size_t i = 0; i < pattern.n; i++)
        if (pattern.p[i] && strchr("^$*+?.([%-", pattern.p[i])) return false;
    return true;
}

/* ---- find and match ---- */
static int find_plain(lua_State *L, Str subject, Str pattern, size_t from)
{
    vm_charge(L, (int64_t)((subject.n - from) / 8));
    const char *at = memmem(subject.p + from, subject.n - from, pattern.p, pattern.n);
    if (!at) return lua_pushnil(L), 1;
    lua_pushinteger(L, at - subject.p + 1);
    lua_pushinteger(L, at - subject.p + (lua_Integer)pattern.n);
    return 2;
}

static int pattern_search(lua_State *L, bool find)
{
    Str subject = check_str(L, 1), pattern = check_str(L, 2);
    size_t from = start_of(L, 3, subject.n);
    if (from > subject.n) return lua_pushnil(L), 1;
    if (find && (lua_toboolean(L, 4) || pattern_is_plain(pattern)))
        return find_plain(L, subject, pattern, from);
    PatternMatch m = match_of(L, subject, pattern);
    bool anchored = pattern.n && *pattern.p == '^';
    const char *s = subject.p + from;
    do {
        const char *to = match_at(&m, s, pattern.p + anchored);
        if (!to) continue;
        if (!find) return push_captures(&m, s, to);
        lua_pushinteger(L, s - subject.p + 1);
        lua_pushinteger(L, to - subject.p);
        return push_captures(&m, NULL, NULL) + 2;
    } while (s++ < m.end && !anchored);
    return lua_pushnil(L), 1;
}

static int pattern_find(lua_State *L)
{
    return pattern_search(L, true);
}

static int pattern_match(lua_State *L)
{
    return pattern_search(L, false);
}

/* ---- gmatch: upvalues are subject, pattern, next offset, end of the last match (-1: none) ---- */
static int next_match(lua_State *L)
{
    Str subject = check_str(L, lua_upvalueindex(1)), pattern = check_str(L, lua_upvalueindex(2));
    size_t from = (size_t)lua_tointeger(L, lua_upvalueindex(3));
    lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
    PatternMatch m = match_of(L, subject, pattern);
    for (; from <= subject.n; from++) {
        const char *s = subject.p + from, *to = match_at(&m, s, pattern.p);
        if (!to || to - subject.p == last) continue;
        lua_pushinteger(L, to - subject.p);
        lua_copy(L, -1, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        return push_captures(&m, s, to);
    }
    lua_pushinteger(L, (lua_Integer)subject.n + 1);
    lua_replace(L, lua_upvalueindex(3));
    return 0;
}

static int pattern_gmatch(lua_State *L)
{
    Str subject = check_str(L, 1);
    check_str(L, 2);
    size_t from = MIN(start_of(L, 3, subject.n), subject.n + 1);
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)from);
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

/* ---- gsub ---- */
/* The replacement text at 3, with %0 .. %9 filled in. */
static void gsub_add_text(const PatternMatch *m, luaL_Buffer *b, const char *s, const char *to)
{
    Str text;
    text.p = lua_tolstring(m->L, 3, &text.n);
    for (size_t i = 0; i < text.n; i++) {
        vm_charge(m->L, 1);
        if (text.p[i] != '%') {
            luaL_addchar(b, text.p[i]);
            continue;
        }
        int c = ++i < text.n ? (unsigned char)text.p[i] : 0;
        if (c == '%') luaL_addchar(b, '%');
        else if (c == '0') luaL_addlstring(b, s, (size_t)(to - s));
        else if (isdigit(c)) push_capture(m, c - '1', s, to), luaL_addvalue(b);
        else luaL_error(m->L, "invalid use of '%%' in replacement string");
    }
}

/* What takes the place of s .. to. */
static void add_value(const PatternMatch *m, luaL_Buffer *b, const char *s, const char *to)
{
    lua_State *L = m->L;
    int kind = lua_type(L, 3);
    if (kind == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, to), 1);
    } else if (kind == LUA_TTABLE) {
        push_capture(m, 0, s, to);
        lua_gettable(L, 3);
    } else {
        gsub_add_text(m, b, s, to);
        return;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(to - s));
        return;
    }
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    luaL_addvalue(b);
}

static int pattern_gsub(lua_State *L)
{
    Str subject = check_str(L, 1), pattern = check_str(L, 2);
    int kind = lua_type(L, 3);
    luaL_argexpected(L, kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION ||
                     kind == LUA_TTABLE, 3, "string/function/table");
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)subject.n + 1), n = 0;
    PatternMatch m = match_of(L, subject, pattern);
    bool anchored = pattern.n && *pattern.p == '^';
    const char *s = subject.p, *last = NULL;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    while (n < most) {
        const char *to = match_at(&m, s, pattern.p + anchored);
        if (to && to != last) {
            n++;
            add_value(&m, &b, s, to);
            s = last = to;
        } else if (s < m.end) {
            luaL_addchar(&b, *s++);
        } else {
            break;
        }
        if (anchored) break;
    }
    luaL_addlstring(&b, s, (size_t)(m.end - s));
    luaL_pushresult(&b);
    lua_pushinteger(L, n);
    return 2;
}

/* ---- rep ---- */
static int pattern_rep(lua_State *L)
{
    Str s = check_str(L, 1), between;
    lua_Integer n = luaL_checkinteger(L, 2);
    between.p = luaL_optlstring(L, 3, "", &between.n);
    if (n <= 0 || s.n + between.n == 0) return lua_pushliteral(L, ""), 1;
    if ((size_t)n > (size_t)INT32_MAX / (s.n + between.n))
        return luaL_error(L, "resulting string too large");
    luaL_Buffer b;
    vm_charge(L, n);
    luaL_buffinitsize(L, &b, (size_t)n * (s.n + between.n));
    while (n-- > 0) {
        luaL_addlstring(&b, s.p, s.n);
        if (n > 0) luaL_addlstring(&b, between.p, between.n);
    }
    luaL_pushresult(&b);
    return 1;
}

void pattern_open(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "find", pattern_find }, { "match", pattern_match }, { "gmatch", pattern_gmatch },
        { "gsub", pattern_gsub }, { "rep", pattern_rep },     { 0 },
    };
    luaL_setfuncs(L, functions, 0);
}
