/* SPDX-License-Identifier: Apache-2.0
 * test_transform_limits.c - scripts that would never end, fill the memory or leave the sandbox: each
 * ends with an error within its limits, and the VM's next call works. */
#include <time.h>

#include "check.h"
#include "transform/vm.h"

static const Str every_lib[] = {
    { "coroutine", 9 }, { "table", 5 }, { "io", 2 },   { "os", 2 },
    { "string", 6 },    { "utf8", 4 },  { "math", 4 }, { "package", 7 },
};

enum { MEMORY = 64 << 20 };
static const double seconds = 0.1, slack = 3; /* of CPU time, sanitizers included */
static const double patient = 100;            /* where something else is to end it first */

#define LIMIT "the script went over its "
#define TIME LIMIT "time limit of 0.1 s"
#define SPACE LIMIT "memory limit of 64 MiB"

/* Bodies of Preprocess, run when the text is not "ok". */
static const struct {
    const char *name, *body, *words;
} hostile[] = {
    { "endless loop", "while true do end", TIME },
    { "endless goto", "::a:: goto a", TIME },
    { "endless tail call", "local function f() return f() end f()", TIME },
    { "endless in a table constructor", "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]", "C stack overflow" },
    { "pcall around it", "while true do pcall(function() while true do end end) end", TIME },
    { "pcall inside pcall", "local function f(n) pcall(n > 0 and f or function() while true do end end, n - 1) while true do end end f(50)", TIME },
    { "xpcall with an endless handler", "xpcall(function() while true do end end, function() while true do end end)", TIME },
    { "xpcall handler that fails", "local function h() error('x') end while true do pcall(xpcall, error, h) end", TIME },
    { "close that never ends", "local x <close> = setmetatable({}, {__close = function() while true do end end}) while true do end", TIME },
    { "close in pcall", "while true do pcall(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) error('x') end) end", TIME },
    { "tostring that never ends", "return tostring(setmetatable({}, {__tostring = function() while true do end end}))", TIME },
    { "error object that never ends", "error(setmetatable({}, {__tostring = function() while true do end end}))", "error object is a table" },
    { "coroutine", "coroutine.wrap(function() while true do end end)()", TIME },
    { "coroutine, resumed again and again", "while true do coroutine.resume(coroutine.create(function() while true do end end)) end", TIME },
    { "short coroutines", "local function f(n) for i = 1, 50 do if n > 0 then coroutine.wrap(f)(n - 1) end end end f(100)", "" },
    { "coroutine closed", "while true do local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) coroutine.yield() end) coroutine.resume(c) coroutine.close(c) end", TIME },
    { "coroutine with pcall and yield", "local c = coroutine.wrap(function() while true do pcall(function() coroutine.yield() while true do end end) end end) while true do c() end", TIME },
    { "load", "while true do load('return 1')() end", TIME },
    { "load of an endless reader", "load(function() return ' ' end)", "" },
    { "load of a long text", "local s = ('x = 1 '):rep(2000000) while true do load(s) end", "" },
    { "sort", "local t = {} for i = 1, 300000 do t[i] = -i end while true do table.sort(t) end", TIME },
    { "sort by chance", "local t = {} for i = 1, 100000 do t[i] = i end while true do table.sort(t, function() return true end) end", TIME },
    { "move without end", "table.move({}, 1, math.maxinteger - 1, 2)", "" },
    { "insert at a length that is not there", "table.insert(setmetatable({}, {__len = function() return 1 << 60 end}), 1, 1)", "" },
    { "remove at a length that is not there", "table.remove(setmetatable({}, {__len = function() return 1 << 60 end}), 1)", "" },
    { "concat at a length that is not there", "table.concat(setmetatable({}, {__len = function() return 1 << 60 end, __index = function() return '' end}))", "" },
    { "concat of what C gives", "table.concat(setmetatable({}, {__len = function() return 1 << 60 end, __index = type}))", "" },
    { "pattern", "return ('a'):rep(5000):find(('.-'):rep(30) .. 'b')", "" },
    { "pattern with classes", "return ('a'):rep(3000):match(('a*'):rep(20) .. 'b')", "" },
    { "pattern in gsub", "return (('a'):rep(3000):gsub(('a*'):rep(20) .. 'b', ''))", "" },
    { "pattern in gmatch", "for x in ('a'):rep(3000):gmatch(('a*'):rep(20) .. 'b') do end", "" },
    { "balance", "local s = ('('):rep(1000000) return s:find('%b()x')", "" },
    { "set of a long pattern", "local s = ('a'):rep(1000000) return s:find('[' .. ('b'):rep(100000) .. ']')", "" },
    { "plain find", "local s, p = ('a'):rep(8000000), ('a'):rep(4000000) .. 'b' while true do s:find(p, 1, true) end", TIME },
    { "deep pattern", "return ('a'):rep(1000000):match(('(a'):rep(300))", "too" },
    { "deep brackets", "return load(('('):rep(100000))", "wanted a string" },
    { "deep recursion", "local function f(n) return 1 + f(n + 1) end return f(1)", "stack overflow" },
    { "deep recursion through C", "local function f() return pcall(f) end f() return 3", "wanted a string" },
    { "deep metatables", "local t = {} for i = 1, 1e6 do t = setmetatable({}, {__index = t}) end return t.x", "" },
    { "string.rep", "return ('x'):rep(1 << 40)", "too large" },
    { "string.rep within a number", "return ('x'):rep((1 << 31) - 1)", "" },
    { "string.rep of nothing", "return (''):rep(1 << 60)", NULL },
    { "strings that double", "local s = 'x' while true do s = s .. s end", SPACE },
    { "strings that double, caught", "local s = 'x' while true do pcall(function() s = s .. s end) end", SPACE },
    { "tables that grow", "local t = {} while true do t[#t + 1] = {} end", SPACE },
    { "tables that grow, caught", "local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end", SPACE },
    { "tables that grow in a coroutine", "local t = {} while true do coroutine.resume(coroutine.create(function() while true do t[#t + 1] = {} end end)) end", SPACE },
    { "coroutines that stay", "local t = {} while true do t[#t + 1] = coroutine.create(print) end", SPACE },
    { "concat of much", "local t = {} for i = 1, 100000 do t[i] = ('x'):rep(1000) end return table.concat(t)", "" },
    { "format of much", "local s = ('x'):rep(10000000) return ('%s%s%s'):format(s, s, s)", SPACE },
    { "gsub of much", "return (('x'):rep(1000000):gsub('x', ('y'):rep(1000)))", "" },
    { "garbage", "while true do local s = ('x'):rep(10000000) .. 'y' end", TIME },
    { "comparing", "local a, b = ('x'):rep(16000000) .. 'a', ('x'):rep(16000000) .. 'b' while true do local c = a < b end", TIME },
    { "counting characters", "local s = ('x'):rep(16000000) while true do utf8.len(s) end", TIME },
    { "counting in a coroutine", "coroutine.wrap(function() local s = ('x'):rep(16000000) while true do utf8.len(s) end end)()", TIME },
    { "upper case", "local s = ('x'):rep(16000000) while true do s:upper() end", TIME },
    { "next over nothing", "local t = {} for i = 1, 1000000 do t[i] = 1 end for i = 1, 1000000 do t[i] = nil end while true do next(t) end", TIME },
    { "tensor too large", "return Tensor.full(1, 1 << 27)", SPACE },
    { "tensor far too large", "return Tensor.full(1, 1 << 20, 1 << 20)", "elements" },
    { "tensors that stay", "local t = {} while true do t[#t + 1] = Tensor.full(1, 1000000) end", SPACE },
    { "tensors without end", "local t = Tensor.full(1, 1000000) while true do t = (t:exp() + 1):sqrt() end", TIME },
    { "matmul", "local t = Tensor.full(1, 2000, 2000) return t:matmul(t):matmul(t):matmul(t):matmul(t)", "" },
    { "broadcast", "return Tensor.full(1, 1 << 14, 1) + Tensor.full(1, 1 << 14)", SPACE },
    { "empty but endless", "local t = Tensor.full(1, 1 << 28, 0) while true do t:softmax(2) t:sum_axis(2) end", "" },
    { "concat with itself", "local t = Tensor.full(1, 1000) while true do t = t:concat(t, 1) end", SPACE },
    { "map_axis", "Tensor.full(1, 1 << 20):map_axis(1, function(x) return x end) while true do end", "" },
    { "fold_axis", "while true do Tensor.full(1, 100000):fold_axis(1, 0, function(a) return a end) end", TIME },
    { "fold_axis by C", "while true do Tensor.full(1, 100000):fold_axis(1, 0, math.max) end", TIME },
    { "to_table", "while true do Tensor.full(1, 100000):to_table() end", TIME },
    { "text of a tensor", "while true do tostring(Tensor.full(1, 400)) end", TIME },
    { "print", "while true do print('x') end", TIME },
    { "os.execute", "os.execute('touch /tmp/owned')", "os.execute is not available in a transform" },
    { "os.exit", "os.exit(3)", "os.exit is not available" },
    { "io.open", "io.open('/etc/passwd')", "io.open is not available" },
    { "io.popen", "io.popen('ls')", "io.popen is not available" },
    { "dofile", "dofile('/etc/passwd')", "dofile is not available" },
    { "require", "require('os2')", "cannot load files" },
    { "the metatable of strings", "getmetatable('').__index = nil", "attempt to index a boolean" },
    { "finalizer", "setmetatable({}, {__gc = function() while true do end end})", "__gc is not available" },
    { "finalizer added later", "local m = {} local t = setmetatable({}, m) m.__gc = function() while true do end end t = nil return 'x'", NULL },
    { "weak tables", "local t = setmetatable({}, {__mode = 'k'}) while true do t[{}] = {} end", TIME },
    { "huge format", "while true do local s = ('%99.99f'):format(1e308) end", TIME },
    { "pack", "return string.pack('c2000000000', 'x')", "" },
    { "select", "local function f(...) return select('#', ...) end while true do f(table.unpack({}, 1, 100000)) end", TIME },
    { "unpack", "return table.unpack({}, 1, 1 << 30)", "too many results" },
    { "pcall of nothing", "while true do pcall(pcall) end", TIME },
    { "pcall of a wrapped coroutine", "while true do pcall(coroutine.wrap(function() while true do end end)) end", TIME },
    { "coroutine inside pcall inside coroutine", "local function f() pcall(coroutine.wrap(function() pcall(f) while true do end end)) while true do end end f()", TIME },
    { "coroutines inside each other", "local function f() local _, m = coroutine.resume(coroutine.create(f)) error(m, 0) end f()", "C stack overflow" },
    { "coroutines inside each other, caught", "local function f() pcall(coroutine.wrap(f)) pcall(coroutine.wrap(f)) end f()", "" },
    { "xpcall that swallows", "while true do xpcall(function() while true do end end, print) end", TIME },
    { "metamethods in a ring", "local m = {} m.__index = function(t, k) return m.__add(t, k) end m.__add = function(a, b) return a[b] end local t = setmetatable({}, m) while true do pcall(function() return t.x end) end", TIME },
    { "eq that never ends", "local m = { __eq = function() while true do end end } return setmetatable({}, m) == setmetatable({}, m)", TIME },
    { "concat that never ends", "return setmetatable({}, { __concat = function() while true do end end }) .. 'x'", TIME },
    { "iterator that never ends", "for k in pairs(setmetatable({}, { __pairs = function() return function() return 1 end end })) do end", TIME },
    { "gsub by an endless function", "return (('x'):rep(10):gsub('x', function() while true do end end))", TIME },
    { "gsub by an endless table", "return (('x'):rep(10):gsub('x', setmetatable({}, { __index = function() while true do end end })))", TIME },
    { "gsub between all characters", "return (('x'):rep(1000000):gsub('', ('y'):rep(1000)))", "" },
    { "gmatch of nothing", "while true do for x in ('x'):rep(100000):gmatch('') do end end", TIME },
    { "pattern that looks back", "return ('a'):rep(20000):find('(a*)%1%1b')", "" },
    { "pattern of optional items", "return ('a'):rep(28):find(('a?'):rep(60) .. ('a'):rep(60))", "" },
    { "pattern of frontiers", "return ('ab'):rep(1000000):find('%f[a].-%f[b].-%f[a].-%f[b].-c')", "" },
    { "find from every place", "local s = ('a'):rep(100000) while true do for i = 1, #s do s:find('.-b', i) end end", TIME },
    { "string.rep with a separator", "return ('x'):rep(1 << 30, ('y'):rep(1000))", "too large" },
    { "string.rep of one separator", "return (''):rep(1 << 30, 'y')", "" },
    { "wide format", "return ('%99999d'):format(1)", "invalid conversion" },
    { "precise format", "return ('%.99999f'):format(1)", "invalid conversion" },
    { "format of nothing", "return ('%'):format(1)", "invalid conversion" },
    { "many formats", "local t = {} for i = 1, 1e5 do t[i] = i end while true do ('%99d'):rep(1e5):format(table.unpack(t)) end", "" },
    { "quoted format", "local s = ('\\0'):rep(10000000) return ('%q'):format(s)", "" },
    { "bytes of a long string", "return #{('x'):rep(16000000):byte(1, -1)}", "too long" },
    { "pack of much", "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do string.pack(('s'):rep(1e5), table.unpack(t)) end", "" },
    { "reading a long pack", "local s = ('z'):rep(1000000) while true do pcall(string.unpack, s, s) end", TIME },
    { "upward recursion of load", "local function f(n) return load('return ' .. ('('):rep(n) .. '1' .. (')'):rep(n))() end for i = 1, 1e9 do pcall(f, i) end", "" },
    { "reshape to a large one", "return Tensor({1}):reshape(1 << 27, 1 << 27, 1)", "elements" },
    { "reshape beyond numbers", "return Tensor({1}):reshape(1 << 62, 1 << 62)", "whole numbers" },
    { "stack of many", "local t, all = Tensor.full(1, 100000), {} for i = 1, 1e6 do all[i] = t end return Tensor.stack(all, 1)", "elements" },
    { "concat of many", "local t, all = Tensor.full(1, 100000), {} for i = 1, 1e6 do all[i] = t end return Tensor.concat(all, 1)", "elements" },
    { "concat of empty ones", "local t, all = Tensor.full(1, 0, 1 << 27), {} for i = 1, 1e5 do all[i] = t end while true do Tensor.concat(all, 1) end", TIME },
    { "map_axis by C", "while true do Tensor.full(1, 100000):map_axis(1, Tensor.neg) end", TIME },
    { "map_axis of nothing", "while true do Tensor.full(1, 1 << 20, 0):map_axis(1, Tensor.neg) end", "" },
    { "table deep as Tensor", "local t = {1} for i = 1, 1e5 do t = {t} end return Tensor(t)", "at most 8" },
    { "table within itself as Tensor", "local t = {} t[1] = t return Tensor(t)", "at most 8" },
    { "wide tables as Tensor", "local t = {} for i = 1, 1e5 do t[i] = 1 end while true do Tensor(t) end", TIME },
    { "error with a large message", "error(('x'):rep(10000000))", "xxx" },
    { "error that calls itself", "local function h(m) error(h) end xpcall(error, h)", "error object is a function" },
    { "io.open through require", "require('io').open('/etc/passwd')", "io.open is not available" },
    { "loadstring of bytecode", "assert(load('\\27Lua\\x54\\0\\x19\\x93'))", "binary" },
    { "bytecode by pieces", "local n = 0 assert(load(function() n = n + 1 return n == 1 and '\\27Lua' or nil end))", "binary" },
    { "debug", "debug.sethook()", "global 'debug'" },
    { "debug through the registry", "return package.loaded.debug.getregistry()", "nil value (field 'debug')" },
    { "collectgarbage", "while true do collectgarbage() collectgarbage('stop') collectgarbage('step', 1 << 40) end", TIME },
    { "the metatable of tensors", "getmetatable(Tensor({1})).__index = nil", "attempt to index a boolean" },
    { "the metatable of streams", "getmetatable(io.stderr).__index = nil", "attempt to index a boolean" },
    { "random without end", "while true do math.random(0) end", TIME },
    { "date of a long format", "local f = ('%c'):rep(100000) while true do os.date(f) end", "" },
    { "globals gone", "local g = _G for k in pairs(g) do g[k] = nil end return 'x'", NULL },
    { "error in error", "error(error)", "error object is a function" },
};

static Transform *load(Arena *arena, const char *body, double time)
{
    Transform *t = NULL;
    Err err = { 0 };
    char *script = str_format(arena, "function Preprocess(text)\n if text == 'ok' then return text "
                                     "end\n %s\nend", body);
    TransformLimits limits = { .memory = MEMORY, .seconds = time };
    bool ok = transform_load(arena, str_of(script), every_lib, COUNT(every_lib), &limits, &t, &err);
    if (!CHECK(ok)) printf("  %s: %s\n", body, err.message);
    return t;
}

/* Of this thread: a busy machine does not make a script look slow. */
static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_one(const char *body, const char *words)
{
    Arena arena = { 0 };
    bool short_time = words && (!*words || strcmp(words, TIME) == 0);
    double time = short_time ? seconds : patient;
    Transform *t = load(&arena, body, time);
    TransformVm *vm = t ? transform_vm(t) : NULL;
    Str out;
    Err err = { 0 };
    double began = cpu_seconds();
    bool ok = t && transform_pre(vm, &arena, STR("x"), &out, &err);
    double took = cpu_seconds() - began;
    if (!words && !ok) printf("  %s\n", err.message);
    CHECK(words ? !ok && err.code == EF_INTERNAL && says(&err, words) : ok);
    if (words && !*words) CHECK(says(&err, "over its ")); /* whichever limit comes first */
    if (!CHECK(took < seconds + slack)) printf("  took %.2f s\n", took);
    CHECK(t && transform_pre(vm, &arena, STR("ok"), &out, &err) && str_is(out, "ok"));
    CHECK(vm && vm->used < MEMORY / 2);
    transform_vm_free(vm);
    arena_free(&arena);
}

/* Instructions are counted whatever the clock says, and at load as well. */
static void test_instructions(void)
{
    TEST("instructions");
    Arena arena = { 0 };
    Transform *t;
    Err err = { 0 };
    TransformLimits limits = { .instructions = 100000, .seconds = 100 };
    CHECK(!transform_load(&arena, STR("while true do end"), NULL, 0, &limits, &t, &err) &&
          says(&err, "transform:1: the script went over its limit of 100000 instructions"));
    CHECK(!transform_load(&arena, STR("local s = ('a'):rep(1000) s:find(('a*'):rep(9) .. 'b')"),
                          NULL, 0, &limits, &t, &err) && says(&err, "100000 instructions"));
    CHECK(transform_load(&arena, STR("for i = 1, 10000 do end"), NULL, 0, &limits, &t, &err));
    limits = (TransformLimits){ .memory = 1 << 16 };
    CHECK(!transform_load(&arena, STR("x = ('x'):rep(100000)"), NULL, 0, &limits, &t, &err) &&
          says(&err, "memory limit"));
    arena_free(&arena);
}

int main(void)
{
    for (size_t i = 0; i < COUNT(hostile); i++) {
        TEST(hostile[i].name);
        test_one(hostile[i].body, hostile[i].words);
    }
    test_instructions();
    return finish();
}
