/* SPDX-License-Identifier: Apache-2.0
 * test_transform.c - scripts that check themselves (tests/golden/transform), our patterns and table
 * functions against Lua's own, the two functions of a transform, its member of a package, the dry
 * run of a build. */
#include "base/file.h"
#include "check.h"
#include "transform/vm.h"

static Arena arena;

static Str golden(const char *name)
{
    Str text = { 0 };
    Err err = { 0 };
    char *path = str_format(&arena, "tests/golden/transform/%s", name);
    if (!CHECK(file_read(&arena, path, 1 << 20, &text, &err))) printf("  %s\n", err.message);
    return text;
}

static const Str every_lib[] = {
    { "coroutine", 9 }, { "table", 5 }, { "io", 2 },   { "os", 2 },
    { "string", 6 },    { "utf8", 4 },  { "math", 4 }, { "package", 7 },
};

static Transform *load(Str script, const Str *lib, size_t n)
{
    Err err = { 0 };
    Transform *t = NULL;
    TransformLimits patient = { .seconds = 300 }; /* for sanitizers on a busy machine */
    bool ok = transform_load(&arena, script, lib, n, &patient, &t, &err);
    if (!ok) printf("  %s\n", err.message);
    return ok ? t : NULL;
}

static Transform *load_text(const char *script)
{
    return load(str_of(script), NULL, 0);
}

static bool refuses(const char *script, const char *words)
{
    Err err = { 0 };
    Transform *t;
    return !transform_load(&arena, str_of(script), NULL, 0, NULL, &t, &err) && says(&err, words);
}

/* ---- scripts that check themselves ---- */
/* Its Preprocess says how many cases it had: none may get lost. */
static void test_counted(const char *name, const char *cases)
{
    Transform *t = load(golden(name), NULL, 0);
    Str out = { 0 };
    Err err = { 0 };
    TransformVm *vm = t ? transform_vm(t) : NULL;
    CHECK(vm && transform_pre(vm, &arena, STR(""), &out, &err));
    if (!CHECK(str_is(out, cases))) printf("  %.*s cases\n", STR_ARG(out));
    transform_vm_free(vm);
}

static void test_scripts(void)
{
    TEST("scripts");
    CHECK(load(golden("tensor.lua"), NULL, 0));
    test_counted("numpy.lua", "331");
    test_counted("original.lua", "103");
    Transform *t = load(golden("language.lua"), every_lib, COUNT(every_lib));
    if (!CHECK(t && t->pre && !t->post)) return;
    Str a = { 0 }, b = { 0 };
    Err err = { 0 };
    TransformVm *vm = transform_vm(t);
    CHECK(transform_pre(vm, &arena, STR(""), &a, &err) && a.n > 0);
    CHECK(transform_pre(vm, &arena, STR(""), &b, &err) && str_eq(a, b));
    transform_vm_free(vm);
}

/* ---- the same script in Lua as it is ---- */
static Str plain_lua(Str script)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    Str out = { 0 };
    if (CHECK(luaL_loadbuffer(L, script.p, script.n, "=transform") == LUA_OK &&
              lua_pcall(L, 0, 0, 0) == LUA_OK && lua_getglobal(L, "Preprocess") &&
              lua_pcall(L, 0, 1, 0) == LUA_OK)) {
        out.p = lua_tolstring(L, -1, &out.n);
        out.p = str_dup(&arena, out);
    } else {
        printf("  %s\n", lua_tostring(L, -1));
    }
    lua_close(L);
    return out;
}

static void test_against_lua(void)
{
    TEST("against Lua");
    Str script = golden("compare.lua"), ours = { 0 }, theirs = plain_lua(script);
    Transform *t = load(script, NULL, 0);
    Err err = { 0 };
    if (!CHECK(t)) return;
    TransformVm *vm = transform_vm(t);
    if (!CHECK(transform_pre(vm, &arena, STR(""), &ours, &err))) printf("  %s\n", err.message);
    transform_vm_free(vm);
    CHECK(ours.n > 100000 && theirs.n > 100000);
    const char *a = ours.p, *b = theirs.p;
    int line = 1, wrong = 0;
    for (; a && b && *a && *b && wrong < 5; line++) {
        size_t na = strcspn(a, "\n"), nb = strcspn(b, "\n");
        if (na != nb || memcmp(a, b, na) != 0) {
            printf("  line %d: ours %.*s theirs %.*s\n", line, (int)na, a, (int)nb, b);
            wrong++;
        }
        a += na + (a[na] != 0);
        b += nb + (b[nb] != 0);
    }
    CHECK(wrong == 0 && ours.n == theirs.n);
}

/* ---- loading ---- */
static void test_loading(void)
{
    TEST("loading");
    Transform *t = load_text("  function Postprocess(x) return x end \n");
    CHECK(t && t->post && !t->pre && str_is(t->script, "function Postprocess(x) return x end"));
    t = load_text("");
    CHECK(t && !t->post && !t->pre);
    CHECK(refuses("function Postprocess(x", "transform:1: ')' expected near <eof>"));
    CHECK(refuses("Postprocess = 3", "`Postprocess` is a number, wanted a function"));
    CHECK(refuses("x = 1\nlocal x = nil + 1", "transform:2: attempt to perform arithmetic"));
    CHECK(refuses("\033Lua", "binary"));
    CHECK(refuses("error({})", "error object is a table"));
    CHECK(refuses("error()", "error object is a nil"));
    CHECK(refuses("error(setmetatable({}, {__tostring = function() while true do end end}))",
                  "error object is a table"));
    CHECK(refuses("error('\\xff\\xfe')", "??"));
    CHECK(refuses("local function inner() error('boom') end\nfunction outer() inner() end\nouter()",
                  "transform:1: boom"));
    CHECK(refuses("local function inner() error('boom') end\nfunction outer() inner() end\nouter()",
                  "in function 'outer' at line 2"));
    Err err = { 0 };
    Str wrong[] = { STR("strin") }, debug[] = { STR("debug") };
    CHECK(!transform_load(&arena, STR(""), wrong, 1, NULL, &t, &err) &&
          says(&err, "Unknown Lua stdlib: strin (did you mean string?)"));
    CHECK(!transform_load(&arena, STR(""), debug, 1, NULL, &t, &err) && says(&err, "debug"));
    CHECK(load(STR("assert(string == nil and table == nil and pcall)"), every_lib, 0));
    CHECK(load(STR("assert(os == nil and io == nil and coroutine == nil and math)"), NULL, 0));
}

static void test_member(void)
{
    TEST("member");
    Buf b = { 0 };
    Err err = { 0 };
    Transform *t = load(STR("x = 1"), every_lib, COUNT(every_lib)), *again;
    transform_write(&b, t);
    CHECK(transform_read(&arena, buf_view(&b), &again, &err));
    CHECK(str_eq(again->script, t->script) && again->libs == t->libs && again->n_lib == 8);
    b.n = 0;
    transform_write(&b, load_text("x = 1"));
    CHECK(transform_read(&arena, buf_view(&b), &again, &err) && !again->lib);
    CHECK(b.n == 9 && memcmp(b.p, "\x08\x01\x12\x05x = 1", 9) == 0);
    CHECK(transform_read(&arena, STR("\x08\x01\x12\x01x\x1a\x06\x0a\x04math"), &again, &err) ==
          false && says(&err, "syntax error"));
    CHECK(!transform_read(&arena, STR("\x12\x01"), &again, &err));
    CHECK(!transform_read(&arena, STR("\x08\x02"), &again, &err) && says(&err, "found type 2"));
    CHECK(!transform_read(&arena, STR("\x08\x01\x1a\x03\x0a\x01q"), &again, &err) &&
          says(&err, "Unknown Lua stdlib: q"));
    buf_free(&b);
}

/* ---- Postprocess ---- */
static const float first_row[] = { 1, 2, 3, 4 }, second_row[] = { 5, 6 };
static const float *const ragged[] = { first_row, second_row };
static const int64_t ragged_tokens[] = { 2, 1 }, single_tokens[] = { 1, 1 };
static const TransformRows per_token = { 2, ragged, ragged_tokens, 2 };
static const TransformRows per_row = { 2, ragged, single_tokens, 2 };

static bool post(const char *task_name, const char *script, TransformResult *out, Err *err)
{
    const Task *task = task_find(str_of(task_name));
    Transform *t = load_text(script);
    TransformVm *vm = t ? transform_vm(t) : NULL;
    bool ok = t && transform_post(vm, task, task->shape->per == PER_TOKEN ? &per_token : &per_row, &arena, out,
                                  err);
    transform_vm_free(vm);
    return ok;
}

static bool gives(const char *task, const char *script, const float *wanted, int64_t stride,
                  int64_t width)
{
    Err err = { 0 };
    TransformResult r;
    if (!post(task, script, &r, &err)) return printf("  %s\n", err.message), false;
    return r.stride == stride && r.width == width &&
           memcmp(r.data, wanted, (size_t)(2 * stride) * sizeof *wanted) == 0;
}

static bool breaks(const char *task, const char *script, const char *words)
{
    Err err = { 0 };
    TransformResult r;
    return !post(task, script, &r, &err) && err.code == EF_INTERNAL && says(&err, words);
}

#define POST(body) "function Postprocess(t, mask) " body " end"

/* The dry run of a build: passes, or says the words. */
static bool checks(const char *task, int labels, const char *script, const char *words)
{
    Transform *t = load_text(script);
    Err err = { 0 };
    ModelConfig config = { .num_labels = labels, .vocab_size = 50 };
    bool ok = t && transform_check(t, task_find(str_of(task)), &config, &err);
    if (!words) return ok || (printf("  %s\n", err.message), false);
    return !ok && err.code == EF_INVALID_INPUT && says(&err, "Transform validation failed: ") &&
           says(&err, words);
}

static void test_post(void)
{
    TEST("Postprocess");
    CHECK(gives("embedding", POST("return t"), (float[]){ 1, 2, 3, 4, 5, 6, 0, 0 }, 4, 2));
    CHECK(gives("embedding", POST("return t:truncate_axis(3, 1)"), (float[]){ 1, 3, 5, 0 }, 2, 1));
    CHECK(gives("embedding", POST("return t:concat(mask:reshape(2, 2, 1), 3)"),
                (float[]){ 1, 2, 1, 3, 4, 1, 5, 6, 1, 0, 0, 0 }, 6, 3));
    CHECK(gives("sentence_embedding", POST("return t:mean_pool(mask)"), (float[]){ 2, 3, 5, 6 }, 2,
                2));
    CHECK(gives("sentence_embedding", POST("return {{1}, {2}}"), (float[]){ 1, 2 }, 1, 1));
    CHECK(gives("sequence_classification", POST("assert(mask == nil) return t * 2"),
                (float[]){ 2, 4, 10, 12 }, 2, 2));
    CHECK(gives("token_classification", POST("return -t"),
                (float[]){ -1, -2, -3, -4, -5, -6, -0.0f, -0.0f }, 4, 2));
    CHECK(breaks("embedding", POST("return t:sum_axis(3)"),
                 "Error postprocessing embeddings: Transform must return tensor of rank 3. Got "
                 "tensor of shape [2, 2]."));
    CHECK(breaks("embedding", POST("return t:truncate_axis(2, 1)"),
                 "Transform must preserve batch and seq dims [2, 2, *]. Got shape [2, 1, 2]"));
    CHECK(breaks("embedding", POST("return t:truncate_axis(3, 0)"),
                 "Transform returned a tensor with last dimension 0. Shape: [2, 2, 0]"));
    CHECK(breaks("sentence_embedding", POST("return t"), "rank 2"));
    CHECK(breaks("sentence_embedding", POST("return t:mean_pool(mask):truncate_axis(1, 1)"),
                 "batch size [2, *]"));
    CHECK(breaks("sequence_classification", POST("return t:truncate_axis(2, 1)"),
                 "Error postprocessing sequence classifications: "));
    CHECK(breaks("token_classification", POST("return t:truncate_axis(3, 1)"),
                 "Error postprocessing token classifications: "));
    CHECK(breaks("embedding", POST("return 3"), "Unknown type: number"));
    CHECK(breaks("embedding", POST(""), "Unknown type: nil"));
    CHECK(breaks("embedding", POST("return t + nil"), "Expected either number or Tensor."));
    CHECK(breaks("embedding", "\n\nfunction Postprocess(t)\n  error('boom')\nend",
                 "transform:2: boom; in a function at line 2"));
    CHECK(breaks("embedding", "x = 1", "Could not find `Postprocess`"));
}

/* What the Rust encoderfile asks of every task: the same numbers back, no other type, no other shape. */
static const struct {
    const char *task, *words, *identity;
    int64_t stride;
} of_task[] = {
    { "embedding", "Error postprocessing embeddings", "return t", 4 },
    { "sentence_embedding", "Error postprocessing embeddings", "return t:sum_axis(2)", 2 },
    { "sequence_classification", "Error postprocessing sequence classifications", "return t", 2 },
    { "token_classification", "Error postprocessing token classifications", "return t", 4 },
};

static void test_each_task(void)
{
    TEST("each task");
    for (size_t i = 0; i < COUNT(of_task); i++) {
        const char *task = of_task[i].task;
        static const float tokens[] = { 1, 2, 3, 4, 5, 6, 0, 0 }, pooled[] = { 4, 6, 5, 6 };
        static const float flat[] = { 1, 2, 5, 6 };
        const float *wanted = of_task[i].stride == 4 ? tokens
                              : strstr(of_task[i].identity, "sum") ? pooled : flat;
        const char *script = str_format(&arena, POST("%s"), of_task[i].identity);
        CHECK(gives(task, script, wanted, of_task[i].stride, 2));
        CHECK(checks(task, 2, script, NULL));
        CHECK(breaks(task, POST("return 1"), "Unknown type: number"));
        CHECK(checks(task, 2, POST("return 1"), "Unknown type: number"));
        const char *less = strstr(of_task[i].identity, "sum") ? POST("return t")
                                                              : POST("return t:sum_axis(1)");
        CHECK(breaks(task, less, of_task[i].words));
        CHECK(checks(task, 2, less, "Transform "));
        CHECK(checks(task, 2, "", "Could not find `Postprocess` function"));
    }
}

/* A library is there where it was asked for, and only there. */
static void test_libraries(void)
{
    TEST("libraries");
    static const char *const uses[][2] = {
        { "coroutine", "local _, t = coroutine.resume(coroutine.create(function() return "
                       "Tensor({1}) end)) assert(#t == 1)" },
        { "io", "io.stderr:write('x')" },
        { "utf8", "for _, c in utf8.codes('h') do assert(c == 104) end" },
        { "os", "assert(os.time() > 0)" },
        { "package", "assert(package.path)" },
        { "table", "table.insert({}, 1)" },
        { "string", "string.upper('x')" },
        { "math", "assert(math.pi > 3)" },
    };
    for (size_t i = 0; i < COUNT(uses); i++) {
        Str lib = str_of(uses[i][0]), script = str_of(uses[i][1]);
        Transform *t;
        Err err = { 0 };
        CHECK(load(script, &lib, 1));
        Str other = i == 0 ? STR("math") : STR("coroutine");
        CHECK(!transform_load(&arena, script, &other, 1, NULL, &t, &err) &&
              says(&err, str_format(&arena, "(global '%s')", uses[i][0])));
    }
}

/* Nothing of one call is there in the next. */
static void test_fresh(void)
{
    TEST("fresh globals");
    const char *script =
        "local seen = (seen or 0) + 1; count = (count or 0) + 1\n"
        "function Preprocess(text)\n"
        "  local s = count .. tostring(string.x) .. tostring(math.x) .. tostring(Tensor.x)\n"
        "  count = count + 1; string.x = 1; math.x = 1; Tensor.x = 1; _G.y = 1\n"
        "  string.rep = nil; pcall = nil; Preprocess = nil\n"
        "  return s .. text\n"
        "end";
    Transform *t = load_text(script);
    TransformVm *vm = transform_vm(t);
    for (int i = 0; i < 3; i++) {
        Str out = { 0 };
        Err err = { 0 };
        CHECK(transform_pre(vm, &arena, STR("!"), &out, &err) && str_is(out, "1nilnilnil!"));
    }
    transform_vm_free(vm);
}

static bool prepares(const char *script, const char *text, const char *wanted)
{
    Transform *t = load_text(script);
    TransformVm *vm = transform_vm(t);
    Str out = { 0 };
    Err err = { 0 };
    bool ok = transform_pre(vm, &arena, str_of(text), &out, &err);
    ok = ok ? str_is(out, wanted) : strstr(err.message, wanted) != NULL;
    if (!ok) printf("  gave \"%.*s\" %s\n", STR_ARG(out), err.message);
    transform_vm_free(vm);
    return ok;
}

static void test_pre(void)
{
    TEST("Preprocess");
    CHECK(prepares("function Preprocess(s) return s:upper() end", "abc", "ABC"));
    CHECK(prepares("function Preprocess(s) return (s:gsub('%s+', ' ')) end", "a \n b", "a b"));
    CHECK(prepares("function Preprocess(s) return 3 end", "abc",
                   "Preprocess returned a number, wanted a string"));
    CHECK(prepares("function Preprocess(s) return '\\xff' end", "abc", "not UTF-8"));
    CHECK(prepares("function Preprocess(s) error('no') end", "abc", "Error in `Preprocess`: "));
}

/* ---- the dry run ---- */
static void test_dry_run(void)
{
    TEST("dry run");
    size_t count;
    const Task *const *tasks = task_all(&count);
    for (size_t i = 0; i < count; i++) {
        const char *script = tasks[i]->lua;
        if (script) CHECK(checks(tasks[i]->name, 3, script, NULL));
        else CHECK(checks(tasks[i]->name, 3, POST("return t"), tasks[i]->no_lua));
    }
    CHECK(checks("embedding", 0, POST("return t:lp_normalize(2, 3)"), NULL));
    CHECK(checks("sentence_embedding", 0,
                 POST("return t:mean_pool(mask):layer_norm(2, 1e-5):truncate_axis(2, 64)"
                      ":lp_normalize(2, 2)"), NULL));
    CHECK(checks("sequence_classification", 2, POST("return t:softmax(2)"), NULL));
    CHECK(checks("embedding", 0, "x = 1", "Could not find `Postprocess` function"));
    CHECK(checks("embedding", 0, POST("return t:softmax(4)"),
                 "Failed to run postprocessing on dummy hidden states"));
    CHECK(checks("embedding", 0, POST("return t:softmax(4)"), "Axis out of range."));
    CHECK(checks("embedding", 0, POST("return mask"), "Got tensor of shape [32, 128]."));
    CHECK(checks("token_classification", 0, POST("return t"), "`num_labels`"));
    CHECK(checks("token_classification", 2, POST("return t:truncate_axis(3, 1)"),
                 "got shape [32, 128, 1]"));
    CHECK(checks("fill_mask", 0, POST("assert(t:shape(3) == 50 and #mask == 16) return t"), NULL));
    CHECK(checks("fill_mask", 0, POST("return t:truncate_axis(3, 1)"),
                 "Error postprocessing masked words: Transform must return Tensor of shape"));
    CHECK(checks("sparse_embedding", 0, POST("return t:sum_axis(2)"), NULL));
    CHECK(checks("sparse_embedding", 0, POST("return t:sum_axis(2):concat(t:sum_axis(2), 2)"),
                 "Expected shape [2, 50], got shape [2, 100]"));
    CHECK(checks("embedding", 0, "function Preprocess(s) return s .. '!' end", NULL));
    CHECK(checks("embedding", 0, "function Preprocess(s) return '' end", "empty text"));
    CHECK(checks("embedding", 0, "function Preprocess(s) return os.execute('ls') end",
                 "attempt to index a nil value (global 'os')"));
}

static const struct {
    const char *file, *task;
} examples[] = {
    { "l2_normalize", "embedding" },        { "matryoshka", "sentence_embedding" },
    { "cls_pooling", "sentence_embedding" }, { "temperature", "sequence_classification" },
    { "threshold", "token_classification" },
};

static void test_examples(void)
{
    TEST("examples");
    for (size_t i = 0; i < COUNT(examples); i++) {
        Str text = { 0 };
        Err err = { 0 };
        char *path = str_format(&arena, "examples/transforms/%s.lua", examples[i].file);
        CHECK(file_read(&arena, path, 1 << 20, &text, &err));
        CHECK(checks(examples[i].task, 3, str_dup(&arena, text), NULL));
    }
}

/* ---- shared VMs ---- */
static void test_pool(void)
{
    TEST("pool");
    Transform *t = load_text("function Preprocess(s) return s end");
    TransformPool *pool = transform_pool(t);
    TransformVm *a = transform_take(pool, NULL), *b = transform_take(pool, NULL);
    CHECK(a && b && a != b);
    transform_give(pool, a);
    CHECK(transform_take(pool, NULL) == a);
    transform_give(pool, a);
    transform_give(pool, b);
    transform_pool_free(pool);
    transform_pool_free(NULL);
    transform_vm_free(NULL);
}

int main(void)
{
    test_scripts();
    test_against_lua();
    test_loading();
    test_member();
    test_post();
    test_each_task();
    test_libraries();
    test_fresh();
    test_pre();
    test_dry_run();
    test_examples();
    test_pool();
    arena_free(&arena);
    return finish();
}
