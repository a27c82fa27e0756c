/* SPDX-License-Identifier: Apache-2.0
 * lua_grammar.h - a script out of bytes: each byte picks one of the rows a "$x" may stand for, so
 * that a changed byte is another call or another operand, not a syntax error. Past the end every
 * byte is 0, and the first row of each kind holds no "$" but $v and $e: it ends. "$$" is "$". */
#ifndef LUA_GRAMMAR_H
#define LUA_GRAMMAR_H
#include "base/base.h"

typedef struct Grammar {
    Buf out;
    const uint8_t *p, *end;
    int depth;
} Grammar;
enum { MOST_SCRIPT = 16 << 10, MOST_DEPTH = 12 };

static const char *const statements[] = {
    "$v = $e\n",
    "_, $v = pcall(function() return $e end)\n",
    "_, $v = pcall(function() return $e end)\n",
    "_, $v, $v = xpcall(function(a, b) return $e, $e end, function(m) return $e end, $e, $e)\n",
    "pcall(function() $s$s end)\n",
    "if $e then $s else $s end\n",
    "for i = 1, $d do $s end\n",
    "for a, b in pairs($v) do $s break end\n",
    "pcall(function() for a, b in $e do $s end end)\n",
    "while $e do $s$s end\n",
    "do local a <close> = setmetatable({}, { __close = function() $s end }) $s end\n",
    "$v = coroutine and coroutine.create(function(a, b) $s coroutine.yield($e) $s end)\n",
    "pcall(function() $v[$e] = $e end)\n",
    "function Preprocess(a) $s return $e end\n",
    "function Postprocess(a, b) $s return $e end\n",
    "if $e then return end\n",
};
static const char *const expressions[] = {
    "$v", "$n", "$t", "a", "b",
    "Tensor({ $n, $n, $n })",
    "Tensor({ { $n, $n }, { $n, $n } })",
    "Tensor.full($n, $d, $d)",
    "Tensor.full($n, $d, $d, $d)",
    "Tensor($e)",
    "$v:$m($e)",
    "$v:$m($e, $e)",
    "$v:$m($e, $e, $e)",
    "$v:$m()",
    "Tensor.$m({ $v, $v }, $d)",
    "$l($e)",
    "$l($e, $e)",
    "$l($e, $e, $e)",
    "($t):$w($p)",
    "($t):$w($p, $e)",
    "($t):gsub($p, $e, $e)",
    "($t):format($e, $e)",
    "($e $o $e)",
    "(-$e)",
    "(not $e)",
    "(#$e)",
    "$v[$e]",
    "{ $e, $e }",
    "{ $e, [$e] = $e }",
    "setmetatable({}, { __index = $e, __len = $e, __eq = $e, __lt = $e, __call = $e })",
    "setmetatable({}, { __tostring = $e, __concat = $e, __add = $e, __mode = $t, __gc = $e })",
    "function(a, b) return $e end",
    "function(a, b) $s return $e end",
    "load($t .. $e)",
    "$v($e, $e)",
};
static const char *const values[] = { "v0", "v1", "v2", "v3", "v4", "v5" };
static const char *const numbers[] = {
    "0", "1", "2", "3", "-1", "-2", "0.5", "-0.0", "1e308", "-1e308", "1e-45", "(0/0)", "(1/0)",
    "(-1/0)", "1 << 31", "1 << 62", "math.maxinteger", "math.mininteger", "255", "65", "1e15",
    "3.5", "100", "nil", "true",
};
static const char *const sizes[] = { "1", "2", "3", "0", "4", "7", "-1", "16", "1000", "1 << 28" };
static const char *const texts[] = {
    "''", "'a'", "'abc'", "'a b  c'", "('ab'):rep(20)", "('a'):rep(60)", "'((x)(y))'", "'\\0\\xff'",
    "'h\\u{e9}\\u{1F600}'", "'%d %5.2f %s %q'", "'10'", "'0x1p4'", "'k'", "'return '", "'i4s2z!8'",
    "'%Y-%m'", "'count'",
};
static const char *const patterns[] = {
    "'a'", "'.-b'", "'(a*)(.)%1'", "'%b()'", "'%f[%w]%w+'", "'[^%s%d]+$$'", "'^()a?()'", "'[a-]'",
    "'[]]'", "'%'", "'['", "('a*'):rep(9) .. 'b'", "'(()'", "'%2'", "'[%a-z]'", "'a-b+c?$$'", "$e",
};
static const char *const methods[] = {
    "softmax", "lp_normalize", "layer_norm", "mean_pool", "sum_axis", "map_axis", "fold_axis",
    "argmax", "sum", "mean", "std", "min", "max", "neg", "exp", "sqrt", "log", "abs", "tanh",
    "sigmoid", "pow", "eq", "ne", "lt", "le", "gt", "ge", "where", "clamp", "ndim", "shape",
    "to_table", "index", "slice", "truncate_axis", "reshape", "transpose", "concat", "stack",
    "matmul",
};
static const char *const words[] = { "find", "match", "gmatch", "gsub", "rep", "sub", "byte" };
static const char *const functions[] = {
    "tostring", "tonumber", "type", "select", "next", "pairs", "ipairs", "rawget", "rawset",
    "rawlen", "rawequal", "pcall", "xpcall", "error", "assert", "load", "setmetatable",
    "getmetatable", "collectgarbage", "print", "require", "table.concat", "table.insert",
    "table.remove", "table.move", "table.sort", "table.unpack", "table.pack", "string.format",
    "string.rep", "string.sub", "string.byte", "string.char", "string.pack", "string.unpack",
    "string.packsize", "string.reverse", "string.upper", "string.find", "string.gsub", "utf8.len",
    "utf8.char", "utf8.codes", "utf8.offset", "utf8.codepoint", "math.floor", "math.tointeger",
    "math.random", "math.max", "math.fmod", "math.ult", "coroutine.create", "coroutine.wrap",
    "coroutine.resume", "coroutine.yield", "coroutine.close", "coroutine.status",
    "coroutine.isyieldable", "coroutine.running", "os.time", "os.date", "os.execute", "io.write",
    "io.open", "Tensor", "Tensor.full", "Tensor.new", "Tensor.where",
};
static const char *const operators[] = { "+", "-", "*", "/", "^", "//", "%", "..", "==", "~=", "<",
                                         "<=", "and", "or", "&", "<<", "~" };

static const struct Kind {
    char letter;
    const char *const *row;
    size_t n;
} kinds[] = {
    { 's', statements, COUNT(statements) }, { 'e', expressions, COUNT(expressions) },
    { 'v', values, COUNT(values) },         { 'n', numbers, COUNT(numbers) },
    { 'd', sizes, COUNT(sizes) },           { 't', texts, COUNT(texts) },
    { 'p', patterns, COUNT(patterns) },     { 'm', methods, COUNT(methods) },
    { 'w', words, COUNT(words) },           { 'l', functions, COUNT(functions) },
    { 'o', operators, COUNT(operators) },
};

static void grammar_put(Grammar *g, const char *text);

static void grammar_pick(Grammar *g, char letter)
{
    const struct Kind *kind = kinds;
    while (kind->letter != letter) kind++;
    unsigned byte = g->p < g->end ? *g->p++ : 0;
    bool full = g->depth >= MOST_DEPTH || g->out.n > MOST_SCRIPT;
    g->depth++;
    grammar_put(g, kind->row[full ? 0 : byte % kind->n]);
    g->depth--;
}

static void grammar_put(Grammar *g, const char *text)
{
    for (; *text; text++) {
        if (*text == '$' && *++text != '$') grammar_pick(g, *text);
        else buf_char(&g->out, *text);
    }
}

/* The script of these bytes; the buffer is the caller's to free. */
static inline Buf grammar_script(const uint8_t *data, size_t size)
{
    Grammar g = { .p = data, .end = data + size };
    buf_puts(&g.out, "local v0, v1, v2, v3, v4, v5, _ = Tensor({ { 1, 2 }, { 3, 4 } }), "
                     "Tensor({ 5, 6 }), 'text', { 1, 2, 3 }, function(a, b) return a end\n");
    while (g.p < g.end && g.out.n < MOST_SCRIPT) grammar_pick(&g, 's');
    return g.out;
}
#endif
