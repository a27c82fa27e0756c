/* SPDX-License-Identifier: Apache-2.0
 * processor.c - preprocessor_config.json to an ImageProcessor: a row per class of transformers with
 * its defaults, which the file overrides key by key. */
#include "image.h"

/* Never: the class does not look at do_center_crop. */
typedef enum { CROP_NEVER, CROP_OFF, CROP_ON } CropDefault;

#define MODEL_TYPES 16
typedef struct ImageClass {
    const char *name;
    const char *model_types[MODEL_TYPES]; /* of config.json, where no file names a class */
    int size;              /* an edge; of a square, or the shortest one */
    bool square;           /* a size without a unit is a square's, else the shortest edge */
    bool shortest;         /* the default is the shortest edge */
    Resample resample;
    CropDefault crop;      /* to 224 x 224 */
    const float *mean, *std;
    bool detector;         /* the size has a longest edge too; pads, and tells the model */
    int multiple;          /* of both edges, for detectors */
    bool crop_share;       /* an edge below 384 is cropped out of a larger picture (crop_pct) */
    bool ignores_pad;
} ImageClass;

static const float half[3] = { 0.5f, 0.5f, 0.5f };
static const float imagenet_mean[3] = { 0.485f, 0.456f, 0.406f };
static const float imagenet_std[3] = { 0.229f, 0.224f, 0.225f };
static const float clip_mean[3] = { 0.48145466f, 0.4578275f, 0.40821073f };
static const float clip_std[3] = { 0.26862954f, 0.26130258f, 0.27577711f };

static const ImageClass classes[] = {
    { .name = "ViTImageProcessor", .size = 224, .square = true, .resample = RESAMPLE_BILINEAR,
      .crop = CROP_OFF, .mean = half, .std = half, .model_types = { "vit", "swin", "swinv2",
        "dinat", "ijepa", "vit_mae", "vit_msn", "swiftformer", "clipseg", "mgp-str", "trocr" } },
    { .name = "DeiTImageProcessor", .size = 256, .square = true, .resample = RESAMPLE_BICUBIC,
      .crop = CROP_ON, .mean = half, .std = half, .model_types = { "deit" } },
    { .name = "BeitImageProcessor", .size = 224, .square = true, .resample = RESAMPLE_BICUBIC,
      .crop = CROP_OFF, .mean = half, .std = half, .ignores_pad = true, .model_types = { "beit",
        "data2vec-vision" } },
    { .name = "ConvNextImageProcessor", .size = 384, .shortest = true, .resample = RESAMPLE_BICUBIC,
      .crop = CROP_OFF, .mean = half, .std = half, .crop_share = true, .ignores_pad = true,
      .model_types = { "convnext", "convnextv2", "resnet", "regnet", "cvt" } },
    { .name = "BitImageProcessor", .size = 224, .shortest = true, .resample = RESAMPLE_BICUBIC,
      .crop = CROP_ON, .mean = clip_mean, .std = clip_std, .model_types = { "bit", "dinov2",
        "dinov2_with_registers", "focalnet", "hiera", "pixio" } },
    { .name = "MobileNetV2ImageProcessor", .size = 256, .shortest = true,
      .resample = RESAMPLE_BILINEAR, .crop = CROP_ON, .mean = half, .std = half,
      .ignores_pad = true, .model_types = { "mobilenet_v2" } },
    { .name = "CLIPImageProcessor", .size = 224, .shortest = true, .resample = RESAMPLE_BICUBIC,
      .crop = CROP_ON, .mean = clip_mean, .std = clip_std, .model_types = { "clip",
        "clip_vision_model", "altclip", "git", "groupvit", "metaclip_2", "aimv2", "xclip" } },
    { .name = "SiglipImageProcessor", .size = 224, .resample = RESAMPLE_BICUBIC, .crop = CROP_OFF,
      .mean = half, .std = half, .model_types = { "siglip", "siglip_vision_model" } },
    { .name = "SegformerImageProcessor", .size = 512, .square = true, .resample = RESAMPLE_BILINEAR,
      .crop = CROP_NEVER, .mean = imagenet_mean, .std = imagenet_std, .ignores_pad = true,
      .model_types = { "segformer", "upernet" } },
    { .name = "DetrImageProcessor", .size = 800, .shortest = true, .resample = RESAMPLE_BILINEAR,
      .crop = CROP_NEVER, .mean = imagenet_mean, .std = imagenet_std, .detector = true,
      .multiple = 1, .model_types = { "detr", "table-transformer", "omdet-turbo" } },
    { .name = "YolosImageProcessor", .size = 800, .shortest = true, .resample = RESAMPLE_BILINEAR,
      .crop = CROP_NEVER, .mean = imagenet_mean, .std = imagenet_std, .detector = true,
      .multiple = 16, .model_types = { "yolos" } },
    { .name = "LayoutLMv3ImageProcessor", .size = 224, .square = true,
      .resample = RESAMPLE_BILINEAR, .crop = CROP_NEVER, .mean = half, .std = half,
      .ignores_pad = true, .model_types = { "layoutlmv3", "udop" } },
};
enum { LONGEST = 1333, CROP_EDGE = 224, EDGE_MOST = 1 << 16 };

/* "ViTFeatureExtractor", "ViTImageProcessorFast" and "ViTImageProcessorPil" are one class. */
static bool class_is_named(const ImageClass *c, Str name)
{
    static const char old[] = "FeatureExtractor", new[] = "ImageProcessor";
    for (int i = 0; i < 2; i++) {
        if (str_ends(name, "Fast")) name.n -= 4;
        if (str_ends(name, "Pil")) name.n -= 3;
    }
    size_t stem = strlen(c->name) - strlen(new);
    if (name.n < stem || memcmp(name.p, c->name, stem) != 0) return false;
    Str rest = { name.p + stem, name.n - stem };
    return str_is(rest, new) || str_is(rest, old);
}

static const ImageClass *class_of_name(Str name)
{
    for (size_t i = 0; i < COUNT(classes); i++)
        if (class_is_named(&classes[i], name)) return &classes[i];
    return NULL;
}

static const ImageClass *class_of_model(Str type)
{
    for (size_t i = 0; i < COUNT(classes); i++)
        for (size_t k = 0; k < MODEL_TYPES && classes[i].model_types[k]; k++)
            if (str_is(type, classes[i].model_types[k])) return &classes[i];
    return NULL;
}

/* The file that has it wins: its own, then config.json. */
static Str class_name(const Value *file, const Value *config)
{
    static const char *const keys[] = { "image_processor_type", "feature_extractor_type" };
    for (size_t i = 0; i < 2 * COUNT(keys); i++) {
        Str name =
            value_str(value_get(i < COUNT(keys) ? file : config, keys[i % COUNT(keys)]), STR(""));
        if (name.n) return name;
    }
    return STR("");
}

static const ImageClass *class_find(const Value *file, const Value *config, Err *err)
{
    Str name = class_name(file, config), type = value_str(value_get(config, "model_type"), STR(""));
    const ImageClass *found = name.n ? class_of_name(name) : class_of_model(type);
    if (found) return found;
    fail(err, EF_UNSUPPORTED,
         "%s: found \"%.*s\", wanted the image processor of ViT, DeiT, BEiT, ConvNext, "
         "Bit, MobileNetV2, CLIP, SigLIP, Segformer, DETR, YOLOS or LayoutLMv3",
         name.n ? "image_processor_type" : "model_type", STR_ARG(name.n ? name : type));
    return NULL;
}

/* A key that is absent or null has the class's default. */
static const Value *config_get(const Value *file, const char *key)
{
    const Value *v = value_get(file, key);
    return v && v->kind != V_NULL ? v : NULL;
}

static bool config_bool(const Value *file, const char *key, bool otherwise, bool *out, Err *err)
{
    const Value *v = config_get(file, key);
    *out = v && v->kind == V_BOOL ? v->b : otherwise;
    if (!v || v->kind == V_BOOL) return true;
    return fail(err, EF_BAD_MODEL, "%s: found %s, wanted true or false", key,
                value_kind_name(v->kind));
}

static bool config_edge(const Value *v, const char *key, const char *part, int *out, Err *err)
{
    if (!v || v->kind != V_INT)
        return fail(err, EF_BAD_MODEL, "%s%s: found %s, wanted a whole number", key, part,
                    v ? value_kind_name(v->kind) : "nothing");
    if (v->i < 1 || v->i > EDGE_MOST)
        return fail(err, EF_BAD_MODEL, "%s%s: found %lld, wanted 1 to %d", key, part,
                    (long long)v->i, EDGE_MOST);
    *out = (int)v->i;
    return true;
}

/* height and width; as a pair too. */
static bool config_area(const Value *v, const char *key, const char *const names[2], int *height,
                        int *width, Err *err)
{
    bool pair = v->kind == V_LIST;
    if (pair && v->list.n != 2)
        return fail(err, EF_BAD_MODEL, "%s: found %zu numbers, wanted height and width", key,
                    v->list.n);
    return config_edge(pair ? &v->list.items[0] : value_get(v, names[0]), key, pair ? "[0]" : "",
                       height, err) &&
           config_edge(pair ? &v->list.items[1] : value_get(v, names[1]), key, pair ? "[1]" : "",
                       width, err);
}
static const char *const exact[] = { "height", "width" }, *const within_most[] = { "max_height",
                                                                                   "max_width" };

/* Number alone: an edge of a square, or the shortest one; with max_size for detectors. */
static bool size_of_number(const ImageClass *c, const Value *file, const Value *v,
                           ImageProcessor *out, Err *err)
{
    int edge;
    if (!config_edge(v, "size", "", &edge, err)) return false;
    out->height = out->width = out->shortest = edge;
    out->size = c->square ? SIZE_EXACT : c->detector ? SIZE_BETWEEN : SIZE_SHORTEST;
    const Value *longest = config_get(file, "max_size");
    out->longest = LONGEST;
    return !c->detector || !longest || config_edge(longest, "max_size", "", &out->longest, err);
}

static bool size_of_map(const Value *v, ImageProcessor *out, Err *err)
{
    const Value *shortest = config_get(v, "shortest_edge"),
                *longest = config_get(v, "longest_edge");
    if (shortest) {
        out->size = longest ? SIZE_BETWEEN : SIZE_SHORTEST;
        return config_edge(shortest, "size", ".shortest_edge", &out->shortest, err) &&
               (!longest || config_edge(longest, "size", ".longest_edge", &out->longest, err));
    }
    bool most = config_get(v, within_most[0]) != NULL;
    out->size = most ? SIZE_WITHIN : SIZE_EXACT;
    return config_area(v, "size", most ? within_most : exact, &out->height, &out->width, err) ||
           within(err, "wanted height and width, shortest_edge, or max_height and max_width");
}

static bool processor_size(const ImageClass *c, const Value *file, ImageProcessor *out, Err *err)
{
    const Value *v = config_get(file, "size");
    Value edge = value_of_int(c->size);
    bool resize;
    if (!config_bool(file, "do_resize", true, &resize, err)) return false;
    if (!v && !c->shortest && !c->square) { /* SigLIP: a square, though a number would be an edge */
        out->size = SIZE_EXACT;
        out->height = out->width = c->size;
    } else if (!v || v->kind == V_INT) {
        if (!size_of_number(c, v ? file : NULL, v ? v : &edge, out, err)) return false;
    } else if (v->kind == V_LIST) {
        out->size = SIZE_EXACT;
        if (!config_area(v, "size", exact, &out->height, &out->width, err)) return false;
    } else if (!size_of_map(v, out, err)) {
        return false;
    }
    out->multiple = c->multiple && out->size == SIZE_BETWEEN ? c->multiple : 1;
    if (c->detector && out->size == SIZE_SHORTEST)
        return fail(err, EF_BAD_MODEL, "size: found shortest_edge alone, wanted longest_edge too");
    if (!resize) out->size = SIZE_KEEP;
    return true;
}

/* ConvNext: below 384 the shortest edge is made longer by 1 / crop_pct, and the middle cut out. */
static bool processor_crop_share(const Value *file, ImageProcessor *out, Err *err)
{
    enum { WARPED = 384 };
    if (out->size == SIZE_KEEP) return true;
    if (out->size != SIZE_SHORTEST)
        return fail(err, EF_BAD_MODEL, "size: wanted shortest_edge for %s", out->name);
    int edge = out->shortest;
    double share = value_float(config_get(file, "crop_pct"), 224.0 / 256);
    if (!(share > 0.01 && share <= 1))
        return fail(err, EF_BAD_MODEL, "crop_pct: found %g, wanted 0.01 to 1", share);
    if (out->crop && (out->crop_height != edge || out->crop_width != edge))
        return fail(err, EF_UNSUPPORTED, "crop_size: found %d x %d, wanted %d x %d as size says",
                    out->crop_height, out->crop_width, edge, edge);
    if (edge >= WARPED) {
        out->size = SIZE_EXACT;
        out->height = out->width = edge;
        return true;
    }
    out->shortest = (int)(edge / share);
    out->crop = true;
    out->crop_height = out->crop_width = edge;
    return true;
}

/* crop_size and pad_size: a number is a square. */
static bool config_square(const Value *v, const char *key, int *height, int *width, Err *err)
{
    if (v->kind == V_LIST || v->kind == V_MAP)
        return config_area(v, key, exact, height, width, err);
    if (!config_edge(v, key, "", height, err)) return false;
    *width = *height;
    return true;
}

static bool processor_crop(const ImageClass *c, const Value *file, ImageProcessor *out, Err *err)
{
    out->crop_height = out->crop_width = CROP_EDGE;
    if (c->crop == CROP_NEVER) return true;
    const Value *size = config_get(file, "crop_size");
    if (!config_bool(file, "do_center_crop", c->crop == CROP_ON, &out->crop, err)) return false;
    if (size && !config_square(size, "crop_size", &out->crop_height, &out->crop_width, err))
        return false;
    return !c->crop_share || processor_crop_share(file, out, err);
}

static bool processor_pad(const ImageClass *c, const Value *file, ImageProcessor *out, Err *err)
{
    bool pad, old;
    const Value *size = config_get(file, "pad_size");
    if (!config_bool(file, "pad_and_return_pixel_mask", c->detector, &old, err)) return false;
    if (!config_bool(file, "do_pad", old, &pad, err)) return false;
    if (!pad || c->ignores_pad) return true;
    out->pixel_mask = c->detector;
    return !size || config_square(size, "pad_size", &out->pad_height, &out->pad_width, err);
}

static bool config_channels(const Value *file, const char *key, const float *otherwise,
                            float out[3], Err *err)
{
    const Value *v = config_get(file, key);
    memcpy(out, otherwise, 3 * sizeof *out);
    if (!v) return true;
    bool list = v->kind == V_LIST;
    if (list && v->list.n != 3)
        return fail(err, EF_BAD_MODEL, "%s: found %zu numbers, wanted 3", key, v->list.n);
    for (int i = 0; i < 3; i++) {
        const Value *one = list ? &v->list.items[i] : v;
        if (one->kind != V_INT && one->kind != V_FLOAT)
            return fail(err, EF_BAD_MODEL, "%s: found %s, wanted numbers", key,
                        value_kind_name(one->kind));
        out[i] = (float)value_float(one, 0);
    }
    return true;
}

static bool processor_numbers(const ImageClass *c, const Value *file, ImageProcessor *out, Err *err)
{
    const Value *factor = config_get(file, "rescale_factor");
    out->rescale_factor = value_float(factor, 1.0 / 255);
    if (!config_bool(file, "do_rescale", true, &out->rescale, err) ||
        !config_bool(file, "do_normalize", true, &out->normalize, err) ||
        !config_channels(file, "image_mean", c->mean, out->mean, err) ||
        !config_channels(file, "image_std", c->std, out->std, err))
        return false;
    if (factor && factor->kind != V_INT && factor->kind != V_FLOAT)
        return fail(err, EF_BAD_MODEL, "rescale_factor: found %s, wanted a number",
                    value_kind_name(factor->kind));
    for (int i = 0; i < 3; i++)
        if (out->std[i] == 0)
            return fail(err, EF_BAD_MODEL, "image_std: found 0, wanted another number");
    return true;
}

static bool processor_resample(const ImageClass *c, const Value *file, ImageProcessor *out,
                               Err *err)
{
    const Value *v = config_get(file, "resample");
    int64_t number = v ? value_int(v, -1) : (int64_t)c->resample;
    if (v && v->kind != V_INT)
        return fail(err, EF_BAD_MODEL, "resample: found %s, wanted 0 to 5",
                    value_kind_name(v->kind));
    if (number < RESAMPLE_NEAREST || number > RESAMPLE_HAMMING)
        return fail(err, EF_BAD_MODEL, "resample: found %lld, wanted 0 to 5", (long long)number);
    out->resample = (Resample)number;
    return true;
}

static bool processor_fill(const ImageClass *c, const Value *file, ImageProcessor *out, Err *err)
{
    *out = (ImageProcessor){ .name = c->name };
    return processor_size(c, file, out, err) && processor_resample(c, file, out, err) &&
           processor_crop(c, file, out, err) && processor_numbers(c, file, out, err) &&
           processor_pad(c, file, out, err);
}

bool image_processor_open(const ImageConfigs *configs, ImageProcessor *out, Err *err)
{
    const Value *file = config_get(configs->processor, "image_processor");
    const char *name = file ? "processor_config.json" : "preprocessor_config.json";
    if (!file) file = configs->preprocessor;
    if (!file)
        return fail(err, EF_BAD_MODEL,
                    "found no preprocessor_config.json, which a model of pictures needs");
    if (file->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", name,
                    value_kind_name(file->kind));
    const ImageClass *c = class_find(file, configs->config, err);
    return (c && processor_fill(c, file, out, err)) || within(err, "%s", name);
}
