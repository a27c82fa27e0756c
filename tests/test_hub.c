/* SPDX-License-Identifier: Apache-2.0
 * Names on the Hub, the environment, the cache's paths and links, digests, unfinished downloads, and
 * which files a model needs. The network is in tests/cli/hub.sh. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "folder.h"
#include "hub/cache.h"
#include "hub/digest.h"
#include "hub/partial.h"
#include "hub/settings.h"
#include "hub/wanted.h"

static Arena arena;
static char work[] = "/tmp/encoderfile-hub-XXXXXX";
#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static void test_ids(void)
{
    HubId id;
    Err err;
    TEST("names");
    CHECK(hub_id_parse(STR("org/name"), &id, &err) && str_is(id.repo, "org/name") && str_is(id.revision, "main") && !id.file.n);
    CHECK(hub_id_parse(STR("a-b.C_1/x.y@refs/pr/1:onnx/model.onnx"), &id, &err) && str_is(id.repo, "a-b.C_1/x.y") &&
          str_is(id.revision, "refs/pr/1") && str_is(id.file, "onnx/model.onnx"));
    CHECK(hub_id_parse(STR("gpt2:a@b"), &id, &err) && str_is(id.repo, "gpt2") && str_is(id.file, "a@b"));
    static const char *const bad[] = { "", "/", "a/", "/a", "a/b/c", "a b/c", "-a/b", "a/b-", ".a/b", "a/b.", "a--b/c", "a/b..c",
                                       "a/b.git", "a/b@", "a/b@../x", "a/b@/x", "a/b@x y", "a/b:", "a/b:../x", "a/b:/x",
                                       "a/b:x\ny", "~/a", "a/b@x:", "\xc3\xa4/b", "a\\b/c", "a/b@-:x\\y" };
    for (size_t i = 0; i < COUNT(bad); i++)
        if (!CHECK(!hub_id_parse(str_of(bad[i]), &id, &err))) printf("  was: %s\n", bad[i]);
    TEST("what a user types");
    CHECK(strcmp(hub_name(&arena, "nowhere-here/name@v1"), "hf:nowhere-here/name@v1") == 0);
    CHECK(strcmp(hub_name(&arena, "tests/nothing"), "tests/nothing") == 0); /* tests is a folder */
    CHECK(strcmp(hub_name(&arena, "tests/check.h"), "tests/check.h") == 0);
    CHECK(strcmp(hub_name(&arena, "name"), "name") == 0 && strcmp(hub_name(&arena, "hf:name"), "hf:name") == 0);
    CHECK(str_is(hub_repo_at(&arena, "/c/models--a--b-c/snapshots/x/y"), "a/b-c") && str_is(hub_repo_at(&arena, "models--b/snapshots/x"), "b"));
    CHECK(!hub_repo_at(&arena, "/c/a--b/snapshots/x").n && !hub_repo_at(&arena, "models--a--b").n && !hub_repo_at(&arena, "x").n &&
          !hub_repo_at(&arena, "models--/snapshots/x").n);
    CHECK(strcmp(hub_name(&arena, "./a/b"), "./a/b") == 0 && strcmp(hub_name(&arena, "a/b.onnx/c"), "a/b.onnx/c") == 0);
}

static HubSettings settings(void)
{
    HubSettings s;
    Err err = { 0 };
    if (!CHECK(hub_settings_read(&arena, &s, &err))) printf("  %s\n", err.message);
    return s;
}

static void test_settings(void)
{
    static const char *const names[] = { "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_ENDPOINT", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
        "HF_HUB_DOWNLOAD_TIMEOUT" };
    HubSettings s;
    Err err;
    TEST("environment");
    for (size_t i = 0; i < COUNT(names); i++) unsetenv(names[i]);
    setenv("HOME", work, 1);
    s = settings();
    CHECK(strcmp(s.cache, str_format(&arena, "%s/.cache/huggingface/hub", work)) == 0 && !s.offline && !s.token.n);
    CHECK(strcmp(s.site, "https://huggingface.co") == 0 && s.endpoint.tls && s.seconds == 10);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    CHECK(strcmp(settings().cache, "/xdg/huggingface/hub") == 0);
    setenv("HF_HOME", "~/hf", 1);
    CHECK(strcmp(settings().cache, str_format(&arena, "%s/hf/hub", work)) == 0);
    const char *file = str_format(&arena, "%s/hf/token", work);
    CHECK(dir_make_parents(file, &err) && file_write(&arena, file, STR(" of-file \n"), &err));
    CHECK(str_is(settings().token, "of-file"));
    setenv("HF_TOKEN", "a\r\nX: y", 1); /* would be a header of its own */
    CHECK(str_is(settings().token, "of-file"));
    setenv("HF_TOKEN", " own\n", 1);
    CHECK(str_is(settings().token, "own"));
    setenv("HF_HUB_CACHE", "/cache", 1);
    setenv("HF_HUB_OFFLINE", "Yes", 1);
    setenv("HF_ENDPOINT", "https://mirror.test/hub/", 1);
    setenv("HF_HUB_DOWNLOAD_TIMEOUT", "33", 1);
    s = settings();
    CHECK(strcmp(s.cache, "/cache") == 0 && s.offline && strcmp(s.site, "https://mirror.test/hub") == 0 && s.seconds == 33);
    setenv("HF_ENDPOINT", "https://me:secret@mirror.test", 1);
    CHECK(!hub_settings_read(&arena, &s, &err) && says(&err, "HF_ENDPOINT: found a name or password before mirror.test") &&
          !strstr(err.message, "secret"));
    setenv("HF_ENDPOINT", "http://mirror.test", 1);
    CHECK(!hub_settings_read(&arena, &s, &err) && says(&err, "HF_ENDPOINT: http://mirror.test: found plain http"));
    for (size_t i = 0; i < COUNT(names); i++) unsetenv(names[i]);
}

static void test_cache(void)
{
    HubCache c;
    Err err;
    bool has;
    char link[256];
    const Str commit = STR(COMMIT);
    TEST("cache");
    cache_open(&arena, str_format(&arena, "%s/hub", work), STR("org/name"), &c);
    CHECK(str_ends(str_of(c.folder), "/hub/models--org--name") && str_ends(str_of(c.locks), "/hub/.locks/models--org--name"));
    CHECK(cache_commit(&c, STR("main")).n == 0 && str_eq(cache_commit(&c, commit), commit));
    CHECK(cache_set_commit(&c, STR("refs/pr/1"), commit, &err) && str_eq(cache_commit(&c, STR("refs/pr/1")), commit));
    CHECK(cache_set_commit(&c, STR("main"), STR("../../outside"), &err) && cache_commit(&c, STR("main")).n == 0);
    const char *blob = cache_blob(&c, STR("etag"));
    CHECK(dir_make_parents(blob, &err) && file_write(&arena, blob, STR("bytes"), &err));
    CHECK(cache_link(&c, commit, "a.json", STR("etag"), &err) && cache_link(&c, commit, "1/2/b.json", STR("etag"), &err));
    CHECK(readlink(cache_file(&c, commit, "a.json"), link, sizeof link) == 16 && memcmp(link, "../../blobs/etag", 16) == 0);
    CHECK(readlink(cache_file(&c, commit, "1/2/b.json"), link, sizeof link) == 22 &&
          memcmp(link, "../../../../blobs/etag", 22) == 0);
    CHECK(file_size(cache_file(&c, commit, "1/2/b.json")) == 5);
    CHECK(cache_link(&c, commit, "3/.///4//c.json", STR("etag"), &err) && file_size(cache_file(&c, commit, "3/4/c.json")) == 5);
    CHECK(!cache_lacks(&c, commit, "x.json"));
    cache_note_lack(&c, commit, "x.json");
    CHECK(cache_lacks(&c, commit, "x.json") && file_is(str_format(&arena, "%s/.no_exist/" COMMIT "/x.json", c.folder)));
    TEST("a list of huggingface_hub's");
    CHECK(!cache_tree_has(&c, commit, "a", &has));
    const char *tree = str_format(&arena, "%s/trees/" COMMIT ".json", c.folder);
    CHECK(dir_make_parents(tree, &err) &&
          file_write(&arena, tree, STR("{\"format_version\": 1, \"files\": {\"a\": {\"size\": 1}}}"), &err));
    CHECK(cache_tree_has(&c, commit, "a", &has) && has && cache_tree_has(&c, commit, "b", &has) && !has);
    TEST("locks");
    int one = cache_lock(&c, STR("etag"), "a");
    CHECK(one >= 0 && file_is(str_format(&arena, "%s/etag.lock", c.locks)));
    close(one);
}

static void test_digests(void)
{
    static const struct { const char *bytes, *etag; } rows[] = { /* by git hash-object and sha256sum */
        { "", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" },
        { "hello\n", "ce013625030ba8dba906f756967f9e9ca394464a" },
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "hello\n", "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" },
    };
    Err err;
    TEST("digests");
    for (size_t i = 0; i < COUNT(rows); i++) {
        CHECK(digest_fits(str_of(rows[i].bytes), "x", str_of(rows[i].etag), &err));
        CHECK(!digest_fits(STR("other"), "x", str_of(rows[i].etag), &err) && says(&err, "as the server said"));
    }
    CHECK(digest_fits(STR("other"), "x", STR("an-etag-of-another-kind"), &err) && !digest_known(STR("abc")));
    Sha1 sha; /* FIPS 180-4: a million times "a" */
    uint8_t out[20];
    sha1_start(&sha);
    for (int i = 0; i < 10000; i++)
        sha1_add(&sha, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 100);
    sha1_end(&sha, out);
    CHECK(memcmp(out, "\x34\xaa\x97\x3c\xd4\xc4\xda\xa4\xf6\x1e\xeb\x2b\xdb\xad\x27\x31\x65\x34\x01\x6f", 20) == 0);
}

static void test_partial(void)
{
    const char *path = str_format(&arena, "%s/x.ef.incomplete", work), *final = str_format(&arena, "%s/x", work);
    const uint64_t size = 2 * (uint64_t)PARTIAL_PIECE + 3;
    Partial p;
    Err err;
    TEST("unfinished downloads");
    CHECK(partial_open(&arena, path, size, &p, &err) && p.pieces == 3 && partial_bytes(&p) == 0);
    CHECK(partial_take(&p) == 0 && partial_take(&p) == 1 && partial_take(&p) == 2 && partial_take(&p) == -1);
    CHECK(partial_to(&p, 2) == size - 1 && partial_from(&p, 1) == PARTIAL_PIECE);
    CHECK(partial_add(&p, 2, STR("end"), &err) && partial_add(&p, 0, STR("begin"), &err) && partial_add(&p, 0, STR("ning"), &err));
    partial_close(&p);
    CHECK(partial_open(&arena, path, size, &p, &err) && partial_bytes(&p) == 12 && partial_from(&p, 0) == 9);
    CHECK(partial_take(&p) == 0 && partial_take(&p) == 1 && partial_take(&p) == -1);
    partial_close(&p);
    CHECK(partial_open(&arena, path, size + 1, &p, &err) && partial_bytes(&p) == 0); /* another size: anew */
    partial_close(&p);
    CHECK(partial_open(&arena, path, size, &p, &err) && partial_bytes(&p) == 0);
    Str zeros = { ARRAY(&arena, char, PARTIAL_PIECE), PARTIAL_PIECE };
    CHECK(partial_add(&p, 0, zeros, &err) && partial_add(&p, 1, zeros, &err) && partial_add(&p, 2, STR("end"), &err));
    CHECK(partial_finish(&p, final, &err) && file_size(final) == size && !file_is(path));
}

/* ---- which files ---- */
typedef struct Repo {
    const char *const *has;      /* ends with NULL */
    const char *folder;
    Buf got;                     /* those of them that were wanted */
    int lacks;
} Repo;

static HubHas repo_has(void *context, const char *name)
{
    const Repo *r = context;
    for (size_t i = 0; r->has[i]; i++)
        if (strcmp(r->has[i], name) == 0) return HAS;
    return HAS_NOT;
}

static bool repo_get(void *context, const WantedFile *file, size_t n, Err *err)
{
    Repo *r = context;
    for (size_t i = 0; i < n; i++) {
        if (repo_has(r, file[i].name) == HAS) buf_printf(&r->got, "%s ", file[i].name);
        else if (file[i].must) return fail(err, EF_NOT_FOUND, "no %s", file[i].name);
        else r->lacks++;
    }
    return true;
}

/* What is wanted of a repository, in order; or the error. */
static const char *wanted(const char *const *has, const char *file, HubUse use)
{
    Repo r = { .has = has, .folder = work };
    WantedFrom from = { .has = repo_has, .get = repo_get, .context = &r, .snapshot = work, .file = str_of(file), .use = use };
    Err err;
    if (!wanted_gather(&arena, &from, &err)) buf_printf(&r.got, "error: %s", err.message);
    const char *text = str_dup(&arena, buf_view(&r.got));
    buf_free(&r.got);
    return text;
}
#define WANTED(file, use, ...) wanted((const char *const[]){ __VA_ARGS__, NULL }, file, use)

static void test_wanted(void)
{
    Err err;
    TEST("which files");
    const char *index = str_format(&arena, "%s/model.safetensors.index.json", work), *modules = str_format(&arena, "%s/modules.json", work);
    CHECK(file_write(&arena, index, STR("{\"weight_map\": {\"a\": \"m-2\", \"b\": \"m-1\", \"c\": \"m-2\"}}"), &err));
    CHECK(file_write(&arena, modules, STR("[{\"path\": \"0_T\"}, {\"path\": \"1_P/\"}, {\"path\": \"../x\"}, {\"path\": \"\"}]"), &err));
    CHECK(strcmp(WANTED(NULL, HUB_MODEL, "model.safetensors", "pytorch_model.bin", "onnx/model.onnx", "config.json", "README.md"),
                 "config.json model.safetensors ") == 0);
    CHECK(strcmp(WANTED(NULL, HUB_MODEL, "pytorch_model.bin", "onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1"),
                 "onnx/model.onnx_data onnx/model.onnx_data_1 onnx/model.onnx ") == 0);
    CHECK(strcmp(WANTED(NULL, HUB_MODEL, "model.safetensors.index.json", "m-1", "m-2"), "model.safetensors.index.json m-2 m-1 ") == 0);
    CHECK(strstr(WANTED(NULL, HUB_MODEL, "model.safetensors.index.json", "m-1"), "error: no m-2"));
    CHECK(strstr(WANTED(NULL, HUB_MODEL, "config.json"), "error: found no weights"));
    CHECK(strstr(WANTED(NULL, HUB_MODEL, "config.json", "adapter_config.json"), "an adapter alone"));
    CHECK(strcmp(WANTED(NULL, HUB_TOKENIZER, "vocab.txt", "model.safetensors"), "vocab.txt ") == 0);
    CHECK(strcmp(WANTED("x/q.onnx", HUB_MODEL, "config.json", "x/q.onnx", "x/q.onnx.data", "model.safetensors"),
                 "config.json x/q.onnx.data x/q.onnx ") == 0);
    CHECK(strcmp(WANTED("p.encoderfile", HUB_MODEL, "config.json", "p.encoderfile"), "p.encoderfile ") == 0);
    CHECK(strstr(WANTED("q.onnx", HUB_MODEL, "config.json"), "error: found no file q.onnx"));
    CHECK(strcmp(WANTED(NULL, HUB_MODEL, "modules.json", "0_T/config.json", "0_T/pytorch_model.bin", "1_P/config.json", "vocab.txt",
                        "1_P/model.safetensors"),
                 "vocab.txt modules.json 0_T/config.json 0_T/pytorch_model.bin 1_P/config.json 1_P/model.safetensors ") == 0);
    CHECK(strcmp(WANTED(NULL, HUB_MODEL, "modules.json", "model.safetensors", "1_P/pytorch_model.bin"),
                 "modules.json 1_P/pytorch_model.bin model.safetensors ") == 0);
    CHECK(file_write(&arena, index, STR("{\"weight_map\": {\"a\": \"../m\"}}"), &err));
    CHECK(strstr(WANTED(NULL, HUB_MODEL, "model.safetensors.index.json"), "wanted the name of a file"));
    CHECK(file_write(&arena, index, STR("[]"), &err));
    CHECK(strstr(WANTED(NULL, HUB_MODEL, "model.safetensors.index.json"), "no \"weight_map\""));
}

/* In C only "hf:" is a name. */
static void test_api(void)
{
    char here[4096];
    ef_error err;
    TEST("C API");
    const char *hub = str_format(&arena, "%s/api", work), *snapshots = str_format(&arena, "%s/models--me--bus/snapshots/", hub);
    const char *ref = str_format(&arena, "%s/models--me--bus/refs/main", hub);
    CHECK(getcwd(here, sizeof here) && dir_make_parents(ref, &err) && file_write(&arena, ref, STR(COMMIT), &err));
    CHECK(dir_make_parents(str_format(&arena, "%s" COMMIT, snapshots), &err) &&
          symlink(str_format(&arena, "%s/examples/bus-ner", here), str_format(&arena, "%s" COMMIT, snapshots)) == 0);
    setenv("HF_HUB_CACHE", hub, 1);
    setenv("HF_HUB_OFFLINE", "1", 1);
    ef_model *m = ef_open("hf:me/bus", NULL, &err);
    if (CHECK(m)) CHECK(strcmp(ef_describe(m)->name, "bus") == 0);
    ef_close(m);
    CHECK(!ef_open("me/bus", NULL, &err) && err.code == EF_NOT_FOUND && says(&err, "me/bus: No such file"));
    CHECK(!ef_open("hf:me/other", NULL, &err) && err.code == EF_NOT_FOUND && says(&err, "HF_HUB_OFFLINE is set"));
    ef_tokenizer *t = ef_tokenizer_open("hf:me/bus", &err);
    CHECK(t && ef_token_count(t) > 100);
    ef_tokenizer_close(t);
    char *report = ef_verify("hf:me/bus", "{\"texts\": [\"Pune to Goa\"]}", &err);
    if (!CHECK(report)) printf("  %s\n", err.message);
    ef_string_free(report);
}

int main(void)
{
    if (!CHECK(mkdtemp(work))) return finish();
    test_ids();
    test_settings();
    test_cache();
    test_digests();
    test_partial();
    test_wanted();
    test_api();
    remove_tree(work);
    arena_free(&arena);
    return finish();
}
