/* SPDX-License-Identifier: Apache-2.0
 * model_image.c - how a model's pictures are prepared: preprocessor_config.json or the image_processor
 * of processor_config.json, from files or from a package, which keeps that object as it was. */
#include "data/json.h"
#include "model/model.h"

enum { CONFIG_LIMIT = 4 << 20 };

bool model_reads_pictures(const Model *m)
{
    return m->task && item_form_needs(m->task->items, ITEM_PICTURE);
}

bool model_reads_texts(const Model *m, Err *err)
{
    return m->tokenizer ||
           fail(err, EF_UNSUPPORTED, "found a model for %s, which reads no texts: it has no tokenizer", m->task->name);
}

/* Keeps the processor, and for a build the object that said it. */
static bool image_set(Model *m, const ImageConfigs *files, Err *err)
{
    ImageProcessor *image = NEW(&m->arena, ImageProcessor);
    if (!image_processor_open(files, image, err)) return false;
    const Value *inner = value_get(files->processor, "image_processor");
    const Value *said = inner && inner->kind == V_MAP ? inner : files->preprocessor;
    Value none = value_map(&m->arena, 0);
    Buf text = { .arena = &m->arena };
    json_write(&text, said ? said : &none);
    m->image_text = buf_view(&text);
    m->image = image;
    return true;
}

bool model_json_file(Model *m, const char *path, const Value **out, Err *err)
{
    Str text;
    Value *root = NEW(&m->arena, Value);
    *out = NULL;
    if (!path) return true;
    if (!file_read(&m->arena, path, CONFIG_LIMIT, &text, err)) return false;
    if (!json_parse(&m->arena, text, root, err)) return within(err, "%.*s", STR_ARG(path_name(path)));
    *out = root;
    return true;
}

bool model_open_image(Model *m, const ModelSource *s, Err *err)
{
    ImageConfigs files = { .config = m->config.root };
    if (!s->preprocessor && !s->processor)
        return fail(err, EF_NOT_FOUND, "preprocessor_config.json not found: Could not locate image "
                    "preprocessing beside \"%s\"", s->weights);
    if (!model_json_file(m, s->preprocessor, &files.preprocessor, err) ||
        !model_json_file(m, s->processor, &files.processor, err))
        return false;
    return image_set(m, &files, err) ||
           within(err, "%.*s", STR_ARG(path_name(s->preprocessor ? s->preprocessor : s->processor)));
}

bool model_has_patches(const Model *m)
{
    for (int i = 0; i < m->graph->n_output; i++)
        if (str_is(m->graph->value[m->graph->output[i]].name, "last_hidden_state")) return true;
    return false;
}

bool model_packed_image(Model *m, Err *err)
{
    Str text = m->package.member[MEMBER_IMAGE].bytes;
    Value *root = NEW(&m->arena, Value);
    if (!text.p) return fail(err, EF_BAD_MODEL, "Missing required artifact: %s", member_name(MEMBER_IMAGE));
    return (json_parse(&m->arena, text, root, err) &&
            image_set(m, &(ImageConfigs){ .preprocessor = root, .config = m->config.root }, err)) ||
           within(err, "%s", member_name(MEMBER_IMAGE));
}

/* A graph may take a pixel_mask though the processor's class has none, and the other way round. */
void model_image_inputs(Model *m, const OnnxModel *onnx)
{
    if (!m->image) return;
    ImageProcessor *image = NEW(&m->arena, ImageProcessor);
    *image = *m->image;
    image->pixel_mask = false;
    for (int i = 0; i < onnx->graph.n_in; i++) image->pixel_mask |= str_is(onnx->graph.in[i].name, "pixel_mask");
    m->image = image;
}

static void describe_pictures(const ImageProcessor *image, Buf *b)
{
    int height, width;
    buf_puts(b, "pictures");
    if (image_fixed_size(image, &height, &width)) buf_printf(b, ", resized to %d x %d", width, height);
    buf_printf(b, " (%s)", image->name);
}

void model_describe_input(const Model *m, Buf *b)
{
    if (m->audio) return model_describe_sounds(m, b);
    if (m->text_graph) {
        describe_pictures(m->image, b);
        buf_puts(b, " and ");
    }
    if (!m->tokenizer) return describe_pictures(m->image, b);
    buf_printf(b, "%s of up to %d tokens (%s)", model_reads_boxes(m) ? "pages, words with boxes," : "texts",
               m->encode.max_length, tokenizer_kind(m->tokenizer));
    if (!m->image || m->text_graph) return;
    buf_puts(b, ", and their ");
    describe_pictures(m->image, b);
}
