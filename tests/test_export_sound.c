/* SPDX-License-Identifier: Apache-2.0
 * test_export_sound.c - small checkpoints of models of sounds (tests/golden/export_sound, written by
 * tools/oracle/export_sound.py) exported at several opsets and run: PyTorch's answers. */
#include <dirent.h>

#include "export/arch.h"
#include "exported_ends.h"

#define SOUNDS "tests/golden/export_sound"
#define FOREIGN "tests/golden/sound_graphs"

static char work[] = "/tmp/ef-sounds-XXXXXX";

static bool told(const OnnxModel *m, const char *key, const char *value)
{
    for (int i = 0; i < m->n_meta; i++)
        if (str_is(m->meta[i].key, key)) return memmem(m->meta[i].value.p, m->meta[i].value.n, value,
                                                       strlen(value)) != NULL;
    return false;
}

/* Nothing of an attention or of a norm over time is left to the generic operators. */
static void check_fused(Exported *c, Err *err)
{
    static const char *const left[] = { "Softmax", "InstanceNormalization", "Conv", "Erf" };
    Graph *g;
    if (!CHECK(graph_from_onnx(&c->arena, &c->model, &g, err) && graph_optimize(g, false, err))) return;
    graph_remove_dead(g);
    for (size_t k = 0; k < COUNT(left); k++) {
        int found = 0;
        for (int i = 0; i < g->n_node; i++) found += g->node[i]->op && graph_is(g->node[i], left[k]);
        if (!CHECK(found == 0)) printf("  %s: %d times %s is left\n", c->dir, found, left[k]);
    }
}

static void check_exported(Exported *c, const Export *e, Err *err)
{
    double plain = run_plain(c, err), rows = run_rows(c, err);
    if (!CHECK(plain <= 1e-5 && rows <= 1e-5))
        printf("  %s, opset %d: %g, %g %s\n", c->dir, e->opset, plain, rows, err->message);
    check_fused(c, err);
    CHECK(e->tagged == (e->clean ? 0 : e->nodes));
    CHECK(file_is(path_join(&c->arena, e->target, STR("preprocessor_config.json"))));
    CHECK(told(&c->model, "hf_feature_extractor_config", "sampling_rate"));
    CHECK(told(&c->model, "hf_pipeline_task", e->task_name));
}

static void sound_answers(const char *name, int opset, bool clean)
{
    Exported c = { 0 };
    Err err = { 0 };
    c.dir = str_format(&c.arena, SOUNDS "/%s", name);
    Export e = { .model = c.dir, .opset = opset, .clean = clean };
    e.output = str_format(&c.arena, "%s/%s-%d", work, name, opset);
    if (export_case_open(&c, &e, &err)) check_exported(&c, &e, &err);
    file_unmap(&c.file);
    export_close(&e);
    arena_free(&c.arena);
}

static void every_sound(void)
{
    int seen = 0;
    DIR *folder = opendir(SOUNDS);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        TEST(entry->d_name);
        seen++;
        sound_answers(entry->d_name, 18, false);
        sound_answers(entry->d_name, 20, true);
        sound_answers(entry->d_name, 14, false);
    }
    if (folder) closedir(folder);
    CHECK(seen >= 12);
}

/* As torch writes them: a norm over time between Reshapes, dims computed from shapes. */
static void foreign_graph(const char *name)
{
    Exported c = { 0 };
    Err err = { 0 };
    TEST(name);
    c.dir = str_format(&c.arena, FOREIGN "/%s", name);
    bool ok = file_map(path_join(&c.arena, c.dir, STR("model.onnx")), &c.file, &err) &&
              onnx_read(&c.arena, (Str){ (const char *)c.file.p, c.file.n }, &c.model, &err) && load_ends(&c);
    if (CHECK(ok)) {
        CHECK(run_plain(&c, &err) <= 1e-5 && run_rows(&c, &err) <= 1e-5);
        check_fused(&c, &err);
    }
    file_unmap(&c.file);
    arena_free(&c.arena);
}

static void every_row(void)
{
    Arena arena = { 0 };
    TEST("every architecture");
    for (const Arch *const *a = architectures; *a; a++)
        if ((*a)->hears && !CHECK(dir_is(str_format(&arena, SOUNDS "/%s", (*a)->model_type))))
            printf("  %s\n", (*a)->model_type);
    arena_free(&arena);
}

/* Which head, and what the frames' axis is called: as Optimum has it. */
static const struct {
    const char *folder, *task, *head, *output, *axis;
} named[] = {
    { "wav2vec2", NULL, "automatic-speech-recognition", "logits",
      "( ( ( sequence_length - 10 ) // 5 + 1 - 3 ) // 2 + 1 - 2 ) // 2 + 1" },
    { "wav2vec2", "feature-extraction", "feature-extraction", "last_hidden_state",
      "( ( ( sequence_length - 10 ) // 5 + 1 - 3 ) // 2 + 1 - 2 ) // 2 + 1" },
    { "wav2vec2-labels", NULL, "audio-classification", "logits", "" },
    { "wav2vec2-labels", "audio-classification", "audio-classification", "logits", "" },
    { "whisper", NULL, "feature-extraction", "last_hidden_state", "" },
    { "whisper-labels", NULL, "audio-classification", "logits", "" },
    { "audio-spectrogram-transformer", "audio-classification", "audio-classification", "logits", "" },
};

static void heads_by_name(void)
{
    TEST("heads");
    for (size_t i = 0; i < COUNT(named); i++) {
        Exported c = { 0 };
        Err err = { 0 };
        Export e = { .model = str_format(&c.arena, SOUNDS "/%s", named[i].folder), .task = named[i].task };
        e.output = str_format(&c.arena, "%s/head-%zu", work, i);
        bool ok = export_all(&e, &err) && file_map(e.onnx, &c.file, &err) &&
                  onnx_read(&c.arena, (Str){ (const char *)c.file.p, c.file.n }, &c.model, &err);
        if (CHECK(ok)) {
            const OnnxValue *out = &c.model.graph.out[0];
            CHECK(strcmp(e.task_name, named[i].head) == 0 && str_is(out->name, named[i].output));
            if (!CHECK(str_is(out->symbol[1], named[i].axis))) printf("  %.*s\n", STR_ARG(out->symbol[1]));
        }
        file_unmap(&c.file);
        export_close(&e);
        arena_free(&c.arena);
    }
}

/* ---- folders that are wrong ---- */
static const WrongConfig wrong[] = { /* of "wav2vec2" */
    { "\"conv_kernel\": [\n    10,", "\"conv_kernel\": [\n", "conv_kernel: found 2 numbers, wanted 3" },
    { "\"conv_dim\": [\n    8,", "\"conv_dim\": [\n    0,", "conv_dim: found a number out of range" },
    { "\"num_conv_pos_embeddings\": 6", "\"num_conv_pos_embeddings\": 7",
      "original0: found [1,1,6], wanted [1,1,7]" },
    { "\"num_conv_pos_embedding_groups\": 4", "\"num_conv_pos_embedding_groups\": 3",
      "found 3, which does not divide a hidden size of 8" },
    { "\"feat_extract_norm\": \"group\"", "\"feat_extract_norm\": \"batch\"", "wanted group or layer" },
    { "\"add_adapter\": false", "\"add_adapter\": true", "add_adapter: found true" },
    { "\"adapter_attn_dim\": null", "\"adapter_attn_dim\": 16", "adapter_attn_dim: found a number" },
    { "\"feat_extract_activation\": \"gelu\"", "\"feat_extract_activation\": \"mish\"", "found \"mish\"" },
    { "Wav2Vec2ForCTC", "Wav2Vec2ForMaskedLM", "wav2vec2: no export for fill-mask yet" },
};

static void wrong_folders(void)
{
    TEST("wrong");
    check_wrong_configs(SOUNDS "/wav2vec2", work, wrong, COUNT(wrong));
}

int main(void)
{
    if (!CHECK(mkdtemp(work))) return finish();
    every_sound();
    every_row();
    foreign_graph("wav2vec2-torchscript");
    heads_by_name();
    wrong_folders();
    remove_tree(work);
    return finish();
}
