/* SPDX-License-Identifier: Apache-2.0
 * test_export_vision.c - small checkpoints of models of pictures (tests/golden/export_vision, written by
 * tools/oracle/export_vision.py) exported at several opsets and run: PyTorch's answers. */
#include <dirent.h>

#include "export/arch.h"
#include "exported_ends.h"

#define PICTURES "tests/golden/export_vision"

static char work[] = "/tmp/ef-pictures-XXXXXX";

static void check_exported(Exported *c, const Export *e, Err *err)
{
    Str first = c->model.graph.in[0].name;
    bool texts = c->n_in > 1 && !str_is(c->in[1].name, "pixel_mask");
    double plain = run_plain(c, err), rows = texts ? 0 : run_rows(c, err);
    if (!CHECK(plain <= 1e-5 && rows <= 1e-5))
        printf("  %s, opset %d: %g, %g %s\n", c->dir, e->opset, plain, rows, err->message);
    CHECK(texts || str_is(first, "pixel_values"));
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
    if (export_case_open(&c, &e, &err)) check_exported(&c, &e, &err);
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
        if ((*a)->write && !(*a)->hears && !CHECK(dir_is(str_format(&arena, PICTURES "/%s", (*a)->model_type))))
            printf("  %s\n", (*a)->model_type);
    arena_free(&arena);
}

/* ---- folders that are wrong ---- */
static const WrongConfig wrong[] = { /* of "vit" */
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
    TEST("wrong");
    check_wrong_configs(PICTURES "/vit", work, wrong, COUNT(wrong));
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
