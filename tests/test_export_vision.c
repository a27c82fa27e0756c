/* SPDX-License-Identifier: Apache-2.0
 * test_export_vision.c - small checkpoints of models of pictures (tests/golden/export_vision, written by
 * tools/oracle/export_vision.py) exported at several opsets and run: PyTorch's answers. */
#include <dirent.h>
#include <unistd.h>

#include "export/arch.h"
#include "export_case.h"
#include "folder.h"

#define PICTURES "tests/golden/export_vision"
enum { MOST_ENDS = 8 };

static char work[] = "/tmp/ef-pictures-XXXXXX";

typedef struct Exported {
    Arena arena;
    Mapping file;
    OnnxModel model;
    const char *dir;
    Named in[MOST_ENDS], want[MOST_ENDS];
    int n_in, n_want;
} Exported;

/* <dir>/<name>.npy as a tensor: float or int64. */
static bool load_named(Exported *c, Str name, Named *out)
{
    Npy a;
    if (!CHECK(load_npy(&c->arena, c->dir, str_format(&c->arena, "%.*s.npy", STR_ARG(name)), &a)))
        return false;
    void *data = memcpy(arena_raw(&c->arena, a.bytes + 1), a.data, a.bytes);
    *out = (Named){ name, { .type = a.kind == 'f' ? T_F32 : T_I64, .rank = a.rank, .data = data } };
    memcpy(out->t.dim, a.dim, sizeof *a.dim * (size_t)a.rank);
    return true;
}

static bool load_ends(Exported *c)
{
    const OnnxGraph *g = &c->model.graph;
    bool ok = g->n_in <= MOST_ENDS && g->n_out <= MOST_ENDS;
    for (int i = 0; ok && i < g->n_in; i++) ok = load_named(c, g->in[i].name, &c->in[c->n_in++]);
    for (int i = 0; ok && i < g->n_out; i++) ok = load_named(c, g->out[i].name, &c->want[c->n_want++]);
    return ok;
}

static double distance(const float *got, const float *want, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)got[i] - want[i]));
    return most;
}

/* By ONNX's own rules: every output. */
static double run_plain(Exported *c, Err *err)
{
    Graph *g;
    Named out[MOST_ENDS];
    double most = 0;
    if (!graph_from_onnx(&c->arena, &c->model, &g, err) ||
        !engine_run_generic(g, NULL, c->in, (size_t)c->n_in, &c->arena, out, err))
        return INFINITY;
    for (int i = 0; i < c->n_want; i++) {
        const Tensor *a = &out[i].t, *b = &c->want[i].t;
        bool same = a->rank == b->rank && memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) == 0;
        most = fmax(most, same ? distance(a->data, b->data, tensor_count(b)) : INFINITY);
    }
    return most;
}

/* As served: passes, plans, pictures of a batch together; the first output. */
static double run_rows(Exported *c, Err *err)
{
    enum { MOST_ROWS = 4 };
    Graph *g;
    Engine *e;
    Feature f[MOST_ROWS];
    RowInputs own[MOST_ROWS];
    RowOutput out[MOST_ROWS];
    static const int32_t start[MOST_ROWS + 1];
    const Tensor *pixels = &c->in[0].t, *want = &c->want[0].t;
    int B = (int)pixels->dim[0];
    int64_t size = tensor_count(pixels) / B, answer = tensor_count(want) / B;
    if (!graph_from_onnx(&c->arena, &c->model, &g, err) || !graph_optimize(g, false, err) ||
        !engine_new(&c->arena, g, &c->want[0].name, 1, &e, err) || B > MOST_ROWS)
        return INFINITY;
    for (int r = 0; r < B; r++) {
        f[r] = (Feature){ "pixel_values", { .type = T_F32, .rank = pixels->rank - 1 } };
        memcpy(f[r].t.dim, pixels->dim + 1, sizeof *pixels->dim * (size_t)(pixels->rank - 1));
        f[r].t.data = (float *)pixels->data + r * size;
        own[r] = (RowInputs){ &f[r], 1 };
    }
    Runner *runner = runner_new(e, NULL);
    double most = runner_run(runner, &(Batch){ .B = B, .start = start, .own = own }, out, err) ? 0 : INFINITY;
    for (int r = 0; most < INFINITY && r < B; r++)
        most = fmax(most, out[r].tokens * out[r].width != answer
                              ? INFINITY
                              : distance(out[r].data, (const float *)want->data + r * answer, answer));
    runner_free(runner);
    return most;
}

static void check_exported(Exported *c, const Export *e, Err *err)
{
    Str first = c->model.graph.in[0].name;
    double plain = run_plain(c, err), rows = c->n_in == 1 ? run_rows(c, err) : 0;
    if (!CHECK(plain <= 1e-5 && rows <= 1e-5))
        printf("  %s, opset %d: %g, %g %s\n", c->dir, e->opset, plain, rows, err->message);
    CHECK(c->n_in > 1 || str_is(first, "pixel_values"));
    CHECK(e->tagged == (e->clean ? 0 : e->nodes));
    CHECK(file_is(path_join(&c->arena, e->target, STR("preprocessor_config.json"))));
    bool told = false;
    for (int i = 0; i < c->model.n_meta; i++)
        told |= str_is(c->model.meta[i].key, "hf_image_processor_config");
    CHECK(told);
}

static void picture_answers(const char *name, int opset, bool clean)
{
    Exported c = { 0 };
    Err err = { 0 };
    c.dir = str_format(&c.arena, PICTURES "/%s", name);
    Export e = { .model = c.dir, .opset = opset, .clean = clean };
    e.output = str_format(&c.arena, "%s/%s-%d", work, name, opset);
    bool ok = export_all(&e, &err) && file_map(e.onnx, &c.file, &err) &&
              onnx_read(&c.arena, (Str){ (const char *)c.file.p, c.file.n }, &c.model, &err);
    if (!CHECK(ok)) printf("  %s, opset %d: %s\n", name, opset, err.message);
    else if (load_ends(&c)) check_exported(&c, &e, &err);
    file_unmap(&c.file);
    export_close(&e);
    arena_free(&c.arena);
}

static void every_picture(void)
{
    int seen = 0;
    DIR *folder = opendir(PICTURES);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        TEST(entry->d_name);
        seen++;
        picture_answers(entry->d_name, 18, false);
        picture_answers(entry->d_name, 20, true);
        if (!strstr(entry->d_name, "registers")) picture_answers(entry->d_name, 14, false);
    }
    if (folder) closedir(folder);
    CHECK(seen >= 3);
}

static void every_row(void)
{
    Arena arena = { 0 };
    TEST("every architecture");
    for (const Arch *const *a = architectures; *a; a++)
        if ((*a)->write && !CHECK(dir_is(str_format(&arena, PICTURES "/%s", (*a)->model_type))))
            printf("  %s\n", (*a)->model_type);
    arena_free(&arena);
}

/* ---- folders that are wrong ---- */
static const struct {
    const char *from, *to, *says; /* in config.json of "vit" */
} wrong[] = {
    { "\"image_size\": 16", "\"image_size\": 24", "position_embeddings: found [1,17,16], wanted [1,37,16]" },
    { "\"image_size\": 16", "\"image_size\": [16, 16, 3]", "image_size: found a list of another length" },
    { "\"image_size\": 16", "\"image_size\": 2", "patch_size: found 4, wanted at most image_size" },
    { "\"image_size\": 16", "\"image_size\": -1", "image_size: found a number out of range" },
    { "\"patch_size\": 4", "\"patch_size\": \"4\"", "patch_size: found a string" },
    { "\"num_channels\": 3", "\"num_channels\": 1", "wanted [16,1,4,4]" },
    { "ViTForImageClassification", "ViTForMaskedLM", "vit: no export for fill-mask yet" },
};

static void wrong_folders(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Str config, weights;
    TEST("wrong");
    const char *folder = path_join(&arena, work, STR("wrong"));
    const char *to = path_join(&arena, folder, STR("config.json"));
    CHECK(file_read(&arena, PICTURES "/vit/config.json", 1 << 20, &config, &err) && dir_make_parents(to, &err));
    CHECK(file_read(&arena, PICTURES "/vit/model.safetensors", 1 << 20, &weights, &err));
    CHECK(file_write(&arena, path_join(&arena, folder, STR("model.safetensors")), weights, &err));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const char *at = memmem(config.p, config.n, wrong[i].from, strlen(wrong[i].from));
        if (!CHECK(at)) continue;
        const char *text = str_format(&arena, "%.*s%s%s", (int)(at - config.p), config.p, wrong[i].to,
                                      str_dup(&arena, config) + (at - config.p) + strlen(wrong[i].from));
        Export e = { .model = folder, .output = str_format(&arena, "%s/never", work) };
        CHECK(file_write(&arena, to, str_of(text), &err));
        if (!CHECK(!export_all(&e, &err) && says(&err, wrong[i].says))) printf("  %s\n", err.message);
        CHECK(!dir_is(e.output));
        export_close(&e);
    }
    arena_free(&arena);
}

int main(void)
{
    if (!CHECK(mkdtemp(work))) return finish();
    every_picture();
    every_row();
    wrong_folders();
    remove_tree(work);
    return finish();
}
