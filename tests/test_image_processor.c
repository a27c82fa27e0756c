/* SPDX-License-Identifier: Apache-2.0
 * test_image_processor.c - preprocessor_config.json: pixel_values of noise, to the bit, against
 * transformers' Pillow and torchvision backends (tests/golden/images/processors.json, written by
 * tools/oracle/pictures.py); which file and which class; values that make no sense. */
#include "data/json.h"
#include "picture_case.h"

static void golden_pair(const Value *v, int pair[2])
{
    for (int i = 0; i < 2; i++)
        pair[i] =
            v && v->kind == V_LIST && v->list.n == 2 ? (int)value_int(&v->list.items[i], 0) : 0;
}

static void check_case(Arena *arena, ImageProcessor *p, const Value *c)
{
    int picture[2], size[2], live[2];
    golden_pair(value_get(c, "picture"), picture);
    golden_pair(value_get(c, "size"), size);
    golden_pair(value_get(c, "live"), live);
    Picture from = picture_noise(arena, picture[0], picture[1]);
    for (int torchvision = 0; torchvision < 2; torchvision++) {
        PixelTensor t;
        Err err = { 0 };
        Str want = value_str(value_get(c, torchvision ? "torchvision" : "pillow"), STR(""));
        p->torchvision = torchvision;
        bool ok = image_prepare(arena, p, &from, &t, &err);
        bool good =
            value_get(c, "error")
                ? CHECK(!ok && err.code == EF_INVALID_INPUT)
                : CHECK(ok && t.width == size[0] && t.height == size[1] &&
                        t.picture_width == picture[0] &&
                        digest_is(t.values, (size_t)size[0] * (size_t)size[1] * 3 * sizeof(float),
                                  want));
        if (ok && p->pixel_mask) good &= CHECK(t.live_width == live[0] && t.live_height == live[1]);
        if (!good)
            printf("  %s, %dx%d, torchvision %d: %s\n", p->name, picture[0], picture[1],
                   torchvision, err.message);
    }
}

static void test_golden(void)
{
    TEST("golden");
    Arena arena = { 0 };
    Str text;
    Value rows;
    Err err = { 0 };
    if (!CHECK(file_read(&arena, GOLDEN "processors.json", GOLDEN_MOST, &text, &err)) ||
        !CHECK(json_parse(&arena, text, &rows, &err)))
        return;
    for (size_t i = 0; i < rows.list.n; i++) {
        const Value *row = &rows.list.items[i], *cases = value_get(row, "cases");
        ImageProcessor p;
        if (!CHECK(image_processor_open(&(ImageConfigs){ .preprocessor = value_get(row, "config") },
                                        &p, &err)))
            printf("  row %zu: %s\n", i, err.message);
        else
            for (size_t k = 0; k < cases->list.n; k++) {
                Arena local = { 0 };
                check_case(&local, &p, &cases->list.items[k]);
                arena_free(&local);
            }
    }
    arena_free(&arena);
}

/* ---- which file, which class ---- */
static bool open_texts(const char *preprocessor, const char *processor, const char *config,
                       ImageProcessor *p, Err *err)
{
    static Arena arena; /* names outlive the call: they are the rows' own */
    const char *texts[3] = { preprocessor, processor, config };
    Value v[3];
    for (int i = 0; i < 3; i++)
        if (texts[i] && !CHECK(json_parse(&arena, str_of(texts[i]), &v[i], err))) return false;
    ImageConfigs c = { preprocessor ? &v[0] : NULL, processor ? &v[1] : NULL,
                       config ? &v[2] : NULL };
    bool ok = image_processor_open(&c, p, err);
    arena_free(&arena);
    return ok;
}

static void class_is(const char *preprocessor, const char *processor, const char *config,
                     const char *name)
{
    ImageProcessor p;
    Err err = { 0 };
    if (!CHECK(open_texts(preprocessor, processor, config, &p, &err) && !strcmp(p.name, name)))
        printf("  wanted %s: %s\n", name, err.message);
}

static void test_classes(void)
{
    TEST("classes");
    class_is("{\"image_processor_type\": \"ViTImageProcessorFast\"}", NULL, NULL,
             "ViTImageProcessor");
    class_is("{\"image_processor_type\": \"CLIPImageProcessorPil\"}", NULL, NULL,
             "CLIPImageProcessor");
    class_is("{\"feature_extractor_type\": \"DetrFeatureExtractor\"}", NULL, NULL,
             "DetrImageProcessor");
    class_is("{\"image_processor_type\": \"BitImageProcessor\", \"feature_extractor_type\": "
             "\"ViTFeatureExtractor\"}",
             NULL, NULL, "BitImageProcessor");
    class_is("{}", NULL, "{\"model_type\": \"swin\"}", "ViTImageProcessor");
    class_is("{}", NULL, "{\"model_type\": \"dinov2_with_registers\"}", "BitImageProcessor");
    class_is("{}", NULL, "{\"model_type\": \"resnet\"}", "ConvNextImageProcessor");
    class_is("{}", NULL,
             "{\"model_type\": \"vit\", \"image_processor_type\": \"BeitImageProcessor\"}",
             "BeitImageProcessor");
    class_is("{\"image_processor_type\": \"ViTImageProcessor\"}",
             "{\"image_processor\": {\"image_processor_type\": \"SiglipImageProcessor\"}}", NULL,
             "SiglipImageProcessor");
    class_is("{\"image_processor_type\": \"ViTImageProcessor\"}",
             "{\"processor_class\": \"CLIPProcessor\"}", NULL, "ViTImageProcessor");
}

static void bad(const char *preprocessor, const char *config, ef_code code, const char *words)
{
    ImageProcessor p;
    Err err = { 0 };
    CHECK(!open_texts(preprocessor, NULL, config, &p, &err) && err.code == code &&
          says(&err, words));
}
#define VIT(more) "{\"image_processor_type\": \"ViTImageProcessor\", " more "}"

static void test_bad(void)
{
    TEST("values that make no sense");
    bad(NULL, "{\"model_type\": \"vit\"}", EF_BAD_MODEL, "found no preprocessor_config.json");
    bad("[]", NULL, EF_BAD_MODEL, "preprocessor_config.json: found a list, wanted an object");
    bad("{}", NULL, EF_UNSUPPORTED, "model_type: found \"\"");
    bad("{\"image_processor_type\": \"DPTImageProcessor\"}", NULL, EF_UNSUPPORTED,
        "image_processor_type: found \"DPTImageProcessor\", wanted the image processor of ViT");
    bad(VIT("\"size\": 0"), NULL, EF_BAD_MODEL, "size: found 0, wanted 1 to 65536");
    bad(VIT("\"size\": \"224\""), NULL, EF_BAD_MODEL, "size: found");
    bad(VIT("\"size\": [1, 2, 3]"), NULL, EF_BAD_MODEL,
        "size: found 3 numbers, wanted height and width");
    bad(VIT("\"size\": {\"longest_edge\": 7}"), NULL, EF_BAD_MODEL,
        "wanted height and width, shortest_edge");
    bad(VIT("\"size\": {\"height\": 224}"), NULL, EF_BAD_MODEL, "size");
    bad(VIT("\"size\": {\"height\": 1e300, \"width\": 2}"), NULL, EF_BAD_MODEL, "size");
    bad(VIT("\"resample\": 6"), NULL, EF_BAD_MODEL, "resample: found 6, wanted 0 to 5");
    bad(VIT("\"resample\": \"bicubic\""), NULL, EF_BAD_MODEL,
        "resample: found a string, wanted 0 to 5");
    bad(VIT("\"image_mean\": [0.5]"), NULL, EF_BAD_MODEL, "image_mean: found 1 numbers, wanted 3");
    bad(VIT("\"image_std\": [1, 0, 1]"), NULL, EF_BAD_MODEL, "image_std: found 0");
    bad(VIT("\"image_std\": true"), NULL, EF_BAD_MODEL, "image_std: found a boolean");
    bad(VIT("\"rescale_factor\": \"1\""), NULL, EF_BAD_MODEL,
        "rescale_factor: found a string, wanted a number");
    bad(VIT("\"do_resize\": 1"), NULL, EF_BAD_MODEL,
        "do_resize: found a number, wanted true or false");
    bad(VIT("\"crop_size\": -3"), NULL, EF_BAD_MODEL, "crop_size: found -3");
    bad("{\"image_processor_type\": \"DetrImageProcessor\", \"size\": {\"shortest_edge\": 8}}",
        NULL, EF_BAD_MODEL, "longest_edge");
    bad("{\"image_processor_type\": \"ConvNextImageProcessor\", \"size\": {\"height\": 8, "
        "\"width\": 8}}",
        NULL, EF_BAD_MODEL, "shortest_edge");
}

static void prepare_refused(const char *config, int width, int height, ef_code code,
                            const char *words)
{
    Arena arena = { 0 };
    ImageProcessor p;
    PixelTensor t;
    Err err = { 0 };
    Picture from = picture_noise(&arena, width, height);
    CHECK(open_texts(config, NULL, NULL, &p, &err) && !image_prepare(&arena, &p, &from, &t, &err) &&
          err.code == code && says(&err, words));
    arena_free(&arena);
}

/* Pictures that a processor cannot use. */
static void test_thin(void)
{
    TEST("thin pictures");
    prepare_refused("{\"image_processor_type\": \"DetrImageProcessor\"}", 1, 60000,
                    EF_INVALID_INPUT, "picture of 1 x 60000 pixels: would be resized to 0 x 1333");
    prepare_refused("{\"image_processor_type\": \"YolosImageProcessor\", \"size\": "
                    "{\"shortest_edge\": 8, \"longest_edge\": 90}}",
                    50, 50, EF_INVALID_INPUT, "would be resized to 0 x 0");
    prepare_refused("{\"image_processor_type\": \"CLIPImageProcessor\", \"do_center_crop\": false}",
                    1, 60000, EF_TOO_LARGE,
                    "resized to 224 x 13440000, wanted at most 16777216 in all");
    prepare_refused(
        "{\"image_processor_type\": \"ViTImageProcessor\", \"do_resize\": false, \"do_pad\": true, "
        "\"pad_size\": {\"height\": 4, \"width\": 9}}",
        5, 5, EF_INVALID_INPUT, "picture resized to 5 x 5 pixels: wanted at most 9 x 4");
    Arena arena = { 0 };
    ImageProcessor p;
    PixelTensor t;
    Err err = { 0 };
    Picture from = picture_noise(&arena, 60000, 1);
    CHECK(open_texts("{\"image_processor_type\": \"CLIPImageProcessor\"}", NULL, NULL, &p, &err) &&
          image_prepare(&arena, &p, &from, &t, &err) && t.width == 224 && t.height == 224 &&
          t.picture_width == 60000);
    arena_free(&arena);
}

int main(void)
{
    test_golden();
    test_classes();
    test_bad();
    test_thin();
    return finish();
}
