/* SPDX-License-Identifier: Apache-2.0
 * hf_metadata.c - the reading side. The bytes are untrusted: what is decompressed is bounded,
 * and broken metadata is treated like absent metadata. */
#include "hf_metadata.h"

#include <stdlib.h>

#include "base/log.h"
#include "data/base64.h"
#include "data/gzip.h"
#include "data/json.h"
#include "export/hf_parts.h"
#include "export/hf_task.h"

enum { MOST_OURS = 4096 }; /* keys */

static const char suffix[] = ":compressed";

bool hf_tokenizer_asked(bool in, bool out, HfTokenizer *how, Err *err)
{
    *how = in ? HF_TOKENIZER_IN : out ? HF_TOKENIZER_OUT : HF_TOKENIZER_SMALL;
    return !(in && out) || fail(err, EF_USAGE, "--include-tokenizer or --no-include-tokenizer, not "
                                "both");
}

bool hf_is_ours(Str key)
{
    return str_starts(key, "hf_") || str_starts(key, "feature_engineering");
}

Str hf_metadata_get(const HfMetadata *m, const char *key)
{
    for (int i = m->n - 1; i >= 0; i--)
        if (str_is(m->item[i].key, key)) return m->item[i].value;
    return (Str){ 0 };
}

static bool hf_metadata_damaged(HfMetadata *m, const char *why)
{
    m->state = HF_DAMAGED, m->why = why;
    return false;
}

/* ---- plain values ---- */

static Str str_behind(Str s, size_t n)
{
    return (Str){ s.p + n, s.n - n };
}

/* The base64 of a value that is compressed; p NULL: it is plain. Cuts the suffix off the key. */
static Str compressed_part(OnnxPair *pair, bool flagged)
{
    Str value = pair->value;
    if (str_ends(pair->key, suffix)) return pair->key.n -= sizeof suffix - 1, value;
    if (str_starts(value, "gzip:")) return str_behind(value, 5);
    return flagged && str_starts(value, "H4sI") ? value : (Str){ 0 };
}

static bool hf_metadata_inflate(Arena *arena, Str compressed, size_t most, Str *out, Err *err)
{
    Str gzip;
    Buf plain = { 0 };
    if (!base64_read(arena, compressed, &gzip))
        return fail(err, EF_BAD_MODEL, "found broken base64");
    if (!gzip_unpack(&plain, gzip, most, err)) return buf_free(&plain), false;
    *out = (Str){ str_dup(arena, buf_view(&plain)), plain.n };
    buf_free(&plain);
    return true;
}

static bool make_plain(Arena *arena, HfMetadata *m)
{
    bool flagged = str_is(hf_metadata_get(m, "hf_metadata_compressed"), "true");
    size_t left = HF_MOST_TEXT;
    for (int i = 0; i < m->n; i++) {
        Err err = { 0 };
        OnnxPair *pair = &m->item[i];
        Str compressed = compressed_part(pair, flagged);
        if (compressed.p && !hf_metadata_inflate(arena, compressed, left, &pair->value, &err))
            return hf_metadata_damaged(m, str_format(arena, "%.*s: %s", (int)MIN(pair->key.n, 80),
                                                     pair->key.p, err.message));
        if (pair->value.n > left)
            return hf_metadata_damaged(
                m, str_format(arena, "found more than %d bytes of metadata", HF_MOST_TEXT));
        left -= pair->value.n;
    }
    return true;
}

/* ---- checks ---- */

static int hf_metadata_by_key(const void *a, const void *b)
{
    const OnnxPair *x = a, *y = b;
    return str_cmp(&x->key, &y->key);
}

const char *hf_checksum(Arena *arena, const OnnxPair *item, int n)
{
    OnnxPair *sorted = ARRAY(arena, OnnxPair, n + 1);
    uint8_t sum[32];
    Sha256 hash;
    memcpy(sorted, item, (size_t)n * sizeof *item);
    qsort(sorted, (size_t)n, sizeof *sorted, hf_metadata_by_key);
    sha256_start(&hash);
    for (int i = 0; i < n; i++) {
        if (str_is(sorted[i].key, "hf_checksum")) continue;
        sha256_add(&hash, sorted[i].key.p, sorted[i].key.n);
        sha256_add(&hash, "", 1);
        sha256_add(&hash, sorted[i].value.p, sorted[i].value.n);
        sha256_add(&hash, "", 1);
    }
    sha256_end(&hash, sum);
    char *text = str_format(arena, "sha256:%064d", 0);
    for (int i = 0; i < 32; i++) snprintf(text + 7 + 2 * i, 3, "%02x", sum[i]);
    return text;
}

/* "2.0": ours; 1.x was the same with fewer keys; what is newer may mean something else. */
static bool check_version(Arena *arena, HfMetadata *m)
{
    Str version = hf_metadata_get(m, "hf_metadata_version");
    const char *dot = version.n ? memchr(version.p, '.', version.n) : NULL;
    int64_t major = 0, minor = 0;
    if (!version.p) return hf_metadata_damaged(m, "hf_metadata_version is missing");
    bool form = dot && str_int((Str){ version.p, (size_t)(dot - version.p) }, &major) &&
                str_int((Str){ dot + 1, (size_t)(version.p + version.n - dot - 1) }, &minor);
    if (form && (major == 1 || (major == 2 && minor == 0))) return true;
    m->state = HF_REFUSED;
    m->why = str_format(arena, "hf_metadata_version: found \"%.*s\", wanted 1.x or 2.0",
                        (int)MIN(version.n, 40), version.p);
    return false;
}

static bool check_sum(Arena *arena, HfMetadata *m)
{
    Str stored = hf_metadata_get(m, "hf_checksum");
    if (!stored.p) return true;
    m->checked = str_is(stored, hf_checksum(arena, m->item, m->n));
    return m->checked ||
           hf_metadata_damaged(m, "hf_checksum does not fit: the metadata was changed");
}

static bool check_object(Arena *arena, HfMetadata *m, const char *key)
{
    Err err = { 0 };
    Value v;
    Str text = hf_metadata_get(m, key);
    if (!text.p) return true;
    if (!json_parse(arena, text, &v, &err))
        return hf_metadata_damaged(m, str_format(arena, "%s: %s", key, err.message));
    return v.kind == V_MAP ||
           hf_metadata_damaged(m, str_format(arena, "%s: found %s, wanted an object", key,
                                             value_kind_name(v.kind)));
}

/* ---- entry points ---- */

static bool take_ours(Arena *arena, const OnnxPair *all, int n, HfMetadata *m)
{
    m->item = ARRAY(arena, OnnxPair, MIN(n, MOST_OURS) + 1);
    for (int i = 0; i < n; i++) {
        if (!hf_is_ours(all[i].key)) continue;
        if (m->n == MOST_OURS) return hf_metadata_damaged(m, "found more than 4096 hf_ keys");
        m->stored += all[i].key.n + all[i].value.n;
        if (m->stored > HF_MOST_TEXT)
            return hf_metadata_damaged(m, "found more than 64 MiB of metadata");
        m->item[m->n++] = (OnnxPair){ { str_dup(arena, all[i].key), all[i].key.n },
                                      { str_dup(arena, all[i].value), all[i].value.n } };
    }
    return m->n > 0;
}

void hf_metadata_pairs(Arena *arena, const OnnxPair *all, int n, HfMetadata *m)
{
    *m = (HfMetadata){ 0 };
    if (!take_ours(arena, all, n, m) || !make_plain(arena, m)) return;
    bool good = check_version(arena, m) && check_sum(arena, m) &&
                check_object(arena, m, "hf_model_config") &&
                check_object(arena, m, "hf_processor_config");
    if (good) m->state = HF_GOOD;
}

bool hf_metadata_read(Arena *arena, Str file, HfMetadata *m, Err *err)
{
    OnnxPair *all;
    int n;
    *m = (HfMetadata){ 0 };
    if (!onnx_props(arena, file, &all, &n, err)) return false;
    hf_metadata_pairs(arena, all, n, m);
    return true;
}

bool hf_metadata_open(Arena *arena, const char *path, HfMetadata *m, Err *err)
{
    Mapping file;
    *m = (HfMetadata){ 0 };
    if (!file_map(path, &file, err)) return false;
    bool ok = hf_metadata_read(arena, (Str){ (const char *)file.p, file.n }, m, err);
    file_unmap(&file);
    return ok || within(err, "%s", path);
}

bool hf_metadata_usable(Arena *arena, const char *path, HfMetadata *m, Err *err)
{
    if (!hf_metadata_open(arena, path, m, err)) return false;
    if (m->state == HF_GOOD) return true;
    if (m->why) log_warn("%s: %s", path, m->why);
    return fail(err, EF_NOT_FOUND, "%s: no usable metadata; `metadata embed` puts it in", path);
}

static bool is_json(Str text)
{
    return text.n && (text.p[0] == '{' || text.p[0] == '[');
}

Value hf_metadata_value(Arena *arena, const HfMetadata *m)
{
    Value out = value_map(arena, (size_t)m->n);
    for (int i = 0; i < m->n; i++) {
        Err ignored;
        Value v;
        Str key = m->item[i].key, text = m->item[i].value;
        if (!is_json(text) || !json_parse(arena, text, &v, &ignored)) v = value_of_str(text);
        if (str_starts(key, "hf_")) key = str_behind(key, 3);
        value_add(&out, str_dup(arena, key), v);
    }
    return out;
}

int hf_metadata_problems(Arena *arena, const HfMetadata *m, const char **out, int most)
{
    static const char *const needed[] = { "hf_metadata_version", "hf_model_config",
                                          "hf_processor_config", "hf_pipeline_task",
                                          "hf_export_timestamp" };
    int n = 0;
    if (m->state == HF_NONE && n < most) out[n++] = "no hf_ keys: there is no metadata";
    if (m->state == HF_NONE) return n;
    if (m->why && n < most) out[n++] = m->why;
    for (size_t i = 0; i < COUNT(needed) && n < most; i++)
        if (!hf_metadata_get(m, needed[i]).p && !(m->why && strstr(m->why, needed[i])))
            out[n++] = str_format(arena, "%s is missing", needed[i]);
    Str task = hf_metadata_get(m, "hf_pipeline_task");
    if (task.p && !hf_task_known(task) && n < most)
        out[n++] = str_format(arena, "hf_pipeline_task: found \"%.*s\", which is no known task",
                              (int)MIN(task.n, 80), task.p);
    return n;
}
