/* SPDX-License-Identifier: Apache-2.0
 * hf_processor.c - how a model's inputs are prepared, with the few keys that a pipeline needs:
 * from tokenizer_config.json and special_tokens_map.json, or from preprocessor_config.json. */
#include "export/hf_parts.h"

static const char *const image_keys[] = {
    "image_processor_type", "do_resize", "size", "resample", "do_center_crop", "crop_size",
    "do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std",
};
static const char *const audio_keys[] = {
    "feature_extractor_type", "sampling_rate", "padding_value", "do_normalize",
    "return_attention_mask", "feature_size", "num_mel_bins", "hop_length", "win_length",
    "fft_length",
};
static const char *const special_keys[] = { "unk_token", "sep_token", "pad_token", "cls_token",
                                            "mask_token", "bos_token", "eos_token",
                                            "additional_special_tokens" };

static const Value *hf_processor_member(const Value *map, const char *key)
{
    const Value *v = value_get(map, key);
    return v && v->kind != V_NULL ? v : NULL;
}

static void copy_keys(Value *out, const Value *from, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hf_processor_member(from, keys[i]))
            value_add(out, keys[i], *hf_processor_member(from, keys[i]));
}

/* A token is its text, or an object with the text in "content". */
static Value token_text(const Value *v)
{
    const Value *content = v->kind == V_MAP ? hf_processor_member(v, "content") : NULL;
    return content ? *content : *v;
}

static Value hf_processor_special_tokens(Arena *arena, const HfFiles *f)
{
    Value out = value_map(arena, COUNT(special_keys));
    for (size_t i = 0; i < COUNT(special_keys); i++) {
        const Value *v = hf_processor_member(&f->specials, special_keys[i]);
        if (!v) v = hf_processor_member(&f->tokenizer_config, special_keys[i]);
        if (v) value_add(&out, special_keys[i], token_text(v));
    }
    return out;
}

/* The tokenizer's limit; 1e30 and its like mean "none", then the position table counts. */
static Value hf_processor_longest(const HfFiles *f)
{
    enum { NO_LIMIT = 1 << 24 };
    double n = value_float(hf_processor_member(&f->tokenizer_config, "model_max_length"), 0);
    if (n < 1 || n > NO_LIMIT)
        n = value_float(hf_processor_member(&f->config, "max_position_embeddings"), 0);
    return n >= 1 && n <= NO_LIMIT ? value_of_int((int64_t)n) : value_null();
}

static Value hf_processor_tokenizer(Arena *arena, const HfFiles *f)
{
    Value out = value_map(arena, 9);
    const Value *lower = hf_processor_member(&f->tokenizer_config, "do_lower_case");
    Str class_name = value_str(hf_processor_member(&f->tokenizer_config, "tokenizer_class"),
                               STR("PreTrainedTokenizerFast"));
    value_add(&out, "processor_type", value_of_text("AutoTokenizer"));
    value_add(&out, "tokenizer_class", value_of_str(class_name));
    value_add(&out, "tokenizer_kwargs", value_map(arena, 0));
    value_add(&out, "do_lower_case", lower ? *lower : value_null());
    value_add(&out, "max_length", hf_processor_longest(f));
    value_add(&out, "padding", value_of_text("max_length"));
    value_add(&out, "truncation", value_of_bool(true));
    value_add(&out, "model_max_length", hf_processor_longest(f));
    value_add(&out, "special_tokens", hf_processor_special_tokens(arena, f));
    return out;
}

static Value hf_processor_described(Arena *arena, const Value *from, const char *type,
                                    const char *const *keys, size_t n)
{
    Value out = value_map(arena, n + 1);
    value_add(&out, "processor_type", value_of_text(type));
    copy_keys(&out, from, keys, n);
    return out;
}

/* Old files name any of them "feature_extractor_type"; only sound has a sampling rate. */
static bool hf_processor_is_audio(const Value *preprocessor)
{
    return hf_processor_member(preprocessor, "sampling_rate") ||
           hf_processor_member(preprocessor, "num_mel_bins");
}

static Value hf_processor_preprocessor(Arena *arena, const Value *from)
{
    if (hf_processor_is_audio(from))
        return hf_processor_described(arena, from, "AutoFeatureExtractor", audio_keys,
                                      COUNT(audio_keys));
    return hf_processor_described(arena, from, "AutoImageProcessor", image_keys, COUNT(image_keys));
}

/* preprocessor_config.json; newer folders have it as a part of processor_config.json, which then
 * counts. NULL: neither. */
static const Value *preprocessor_of(const HfFiles *f)
{
    static const char *const parts[] = { "image_processor", "feature_extractor" };
    for (size_t i = 0; i < COUNT(parts); i++) {
        const Value *part = value_get(&f->processor, parts[i]);
        if (part && part->kind == V_MAP) return part;
    }
    return f->preprocessor.kind == V_MAP ? &f->preprocessor : NULL;
}

/* Several in one, as CLIP and LayoutLMv3 have it: each under its own name. */
static Value hf_processor_combined(Arena *arena, const HfFiles *f, bool reads, const Value *other)
{
    Value out = value_map(arena, 5), list = value_list(arena, 2);
    const Value *const files[] = { &f->processor, &f->preprocessor, &f->tokenizer_config };
    bool sound = other && hf_processor_is_audio(other);
    list.list.n = 0;
    value_add(&out, "processor_type", value_of_text("AutoProcessor"));
    for (size_t i = 0; i < COUNT(files); i++)
        if (hf_processor_member(files[i], "processor_class") && !value_get(&out, "processor_class"))
            value_add(&out, "processor_class", *hf_processor_member(files[i], "processor_class"));
    if (reads) list.list.items[list.list.n++] = value_of_text("text");
    if (other) list.list.items[list.list.n++] = value_of_text(sound ? "audio" : "image");
    value_add(&out, "modalities", list);
    if (reads) value_add(&out, "tokenizer", hf_processor_tokenizer(arena, f));
    const char *key = sound ? "feature_extractor" : "image_processor";
    if (other) value_add(&out, key, hf_processor_preprocessor(arena, other));
    return out;
}

Value hf_processor_config(Arena *arena, const HfFiles *f, const char **type)
{
    const Value *other = preprocessor_of(f);
    bool reads = f->tokenizer || f->tokenizer_config.kind == V_MAP;
    *type = other ? hf_processor_is_audio(other) ? "feature_extractor" : "image_processor"
            : reads ? "tokenizer" : "unknown";
    if (reads && !other) return hf_processor_tokenizer(arena, f);
    if (other && !reads && f->processor.kind != V_MAP)
        return hf_processor_preprocessor(arena, other);
    return hf_processor_combined(arena, f, reads, other);
}
