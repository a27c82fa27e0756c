/* SPDX-License-Identifier: Apache-2.0
 * tei_embed.c - vectors as text-embeddings-inference gives them: of length 1 by default, as bare lists. */
#include "parts.h"

#include "data/number.h"

static const Field token_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text, token ids or a list of these" },
    KIND_TRUNCATION,
    KIND_PROMPT,
    { 0 },
};
static const Field embed_rows[] = {
    { "inputs", 0, F_ANY, .required = true, .help = "a text, token ids or a list of these" },
    KIND_TRUNCATION,
    KIND_PROMPT,
    { "normalize", 0, F_BOOL, .help = "scale vectors to length 1; default: true" },
    { "dimensions", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 20,
      .help = "keep the first N components of a vector; default: all" },
    { 0 },
};

static bool tei_embed_read_texts(const Session *s, Job *job, const Value *request, const Field *rows)
{
    kind_truncation(job, request);
    return schema_check(request, rows, &job->work.err) &&
           kind_inputs(s, job, "inputs", value_get(request, "inputs")) &&
           kind_prompt(s, job, request);
}

static Value list_frame(const Session *s, Job *job, Value *rows, size_t n)
{
    (void)s, (void)job;
    return (Value){ .kind = V_LIST, .list = { rows, n } };
}

/* ---- /embed ---- */
static bool read_embed(const Session *s, Job *job, const Value *request)
{
    if (!tei_embed_read_texts(s, job, request, embed_rows)) return false;
    job->work.options.normalize = value_bool(value_get(request, "normalize"), true) ? NORMALIZE_YES
                                                                               : NORMALIZE_NO;
    return kind_dimensions(s, job, value_get(request, "dimensions"));
}

static void embed_row(const Session *s, const Job *job, Arena *arena, size_t r, Value *out)
{
    *out = task_vector(arena, &job->work.options, kind_vector(s, job, arena, r), work_result(&job->work, r)->width);
}

static Value embed_request(Arena *arena, const Site *site)
{
    Value all = kind_schema_with(arena, embed_rows, "inputs", kind_inputs_schema(arena, site));
    kind_narrow(&all, "dimensions", "maximum", config_vector_size(site->config));
    kind_schema_prompt(arena, site, &all);
    return all;
}

static Value embed_reply(Arena *arena, const Site *site)
{
    (void)site;
    return kind_schema(arena, "{\"type\":\"array\",\"items\":{\"type\":\"array\","
                              "\"items\":{\"type\":\"number\"}},"
                              "\"description\":\"a vector for each input\"}");
}

const JobKind kind_tei_embed = {
    .name = "embed",
    .family = &family_tei,
    .keep = KEEP_VECTOR,
    .values = MOST_IDS,
    .read = read_embed,
    .item = embed_row,
    .frame = list_frame,
    .needs = CAN_EMBED | CAN_MATCH,
    .request = embed_request,
    .reply = embed_reply,
};

/* ---- /embed_all ---- */
static bool read_tokens(const Session *s, Job *job, const Value *request)
{
    return tei_embed_read_texts(s, job, request, token_rows);
}

static void tokens_row(const Session *s, const Job *job, Arena *arena, size_t r, Value *out)
{
    (void)s;
    size_t width = (size_t)work_result(&job->work, r)->width;
    *out = value_list(arena, (size_t)work_result(&job->work, r)->tokens);
    for (size_t i = 0; i < out->list.n; i++)
        out->list.items[i] = value_of_f32(work_result(&job->work, r)->data + i * width, width);
}

static Value tokens_request(Arena *arena, const Site *site)
{
    Value all = kind_schema_with(arena, token_rows, "inputs", kind_inputs_schema(arena, site));
    kind_schema_prompt(arena, site, &all);
    return all;
}

static Value tokens_reply(Arena *arena, const Site *site)
{
    return kind_schema_list(arena, embed_reply(arena, site));
}

const JobKind kind_tei_embed_all = {
    .name = "embed_all",
    .family = &family_tei,
    .keep = KEEP_TOKENS,
    .values = MOST_IDS,
    .read = read_tokens,
    .item = tokens_row,
    .frame = list_frame,
    .needs = CAN_EMBED,
    .request = tokens_request,
    .reply = tokens_reply,
};

/* ---- /embed_sparse ---- */
static const Field sparse_value[] = {
    { "index", 0, F_U32, .required = true, .help = "of a token of the vocabulary" },
    { "value", 0, F_F32, .required = true, .help = "its weight in the text, above 0" },
    { 0 },
};

static void sparse_row(const Session *s, const Job *job, Arena *arena, size_t r, Value *out)
{
    const float *x = kind_vector(s, job, arena, r);
    size_t n = 0;
    for (int64_t i = 0; i < work_result(&job->work, r)->width; i++) n += x[i] > 0;
    *out = value_list(arena, n);
    n = 0;
    for (int64_t i = 0; i < work_result(&job->work, r)->width; i++) {
        if (!(x[i] > 0)) continue;
        Value *one = &out->list.items[n++];
        *one = value_map(arena, 2);
        value_add(one, "index", value_of_int(i));
        value_add(one, "value", value_of_float(number_widen(x[i])));
    }
}

static Value sparse_reply(Arena *arena, const Site *site)
{
    (void)site;
    return kind_schema_list(arena, kind_schema_list(arena, schema_describe(arena, sparse_value)));
}

const JobKind kind_tei_sparse = {
    .name = "embed_sparse",
    .family = &family_tei,
    .keep = KEEP_VECTOR,
    .values = MOST_IDS,
    .read = read_tokens,
    .item = sparse_row,
    .frame = list_frame,
    .needs = CAN_SPARSE,
    .request = tokens_request,
    .reply = sparse_reply,
};

/* ---- /similarity ---- */
static const Field similarity_inputs[] = {
    { "source_sentence", 0, F_STR, .required = true },
    { "sentences", 0, F_STR, .repeated = true, .required = true },
    { 0 },
};
static const Field similarity_parameters[] = { KIND_TRUNCATION, KIND_PROMPT, { 0 } };
static const Field similarity_rows[] = {
    { "inputs", 0, F_MSG, .required = true, .msg = similarity_inputs },
    { "parameters", 0, F_MSG, .nullable = true, .msg = similarity_parameters },
    { 0 },
};

/* Of a model that reads both, each may be a text or a picture. */
static bool read_similarity_of_both(const Session *s, Job *job, const Value *inputs)
{
    const Value *sentences = value_get(inputs, "sentences");
    size_t most = session_options(s)->max_inputs - 1;
    Items source, others;
    Arena *arena = &job->work.arena;
    Err *err = &job->work.err;
    if (!items_read_called(arena, &item_texts_or_pictures, "inputs.source_sentence",
                           value_get(inputs, "source_sentence"), 1, &source, err) ||
        !items_read_called(arena, &item_texts_or_pictures, "inputs.sentences", sentences, most, &others, err))
        return false;
    job_items(job, others.n + 1);
    job->work.item[0] = source.item[0];
    memcpy(job->work.item + 1, others.item, others.n * sizeof *others.item);
    return true;
}

static bool read_similarity(const Session *s, Job *job, const Value *request)
{
    const Value *both = value_get(request, "inputs");
    if (site_can(site_of(s), CAN_MATCH) && both && both->kind == V_MAP)
        return read_similarity_of_both(s, job, both);
    if (!schema_check(request, similarity_rows, &job->work.err)) return false;
    kind_truncation(job, value_get(request, "parameters"));
    const Value *inputs = value_get(request, "inputs");
    const Value *sentences = value_get(inputs, "sentences");
    if (sentences->list.n == 0)
        return fail(&job->work.err, EF_EMPTY, "inputs.sentences: found an empty list, wanted at "
                    "least one");
    job_items(job, sentences->list.n + 1);
    job->work.item[0].first = value_get(inputs, "source_sentence")->s;
    for (size_t i = 1; i < job->work.n; i++) job->work.item[i].first = sentences->list.items[i - 1].s;
    if (!kind_count(s, job, "inputs.sentences", job->work.n)) return false;
    if (job->work.item[0].first.n == 0)
        return fail(&job->work.err, EF_EMPTY, "inputs.source_sentence: found an empty text");
    for (size_t i = 1; i < job->work.n; i++)
        if (!kind_text(job, "inputs.sentences", i - 1, job->work.item[i].first)) return false;
    return kind_prompt(s, job, value_get(request, "parameters"));
}

static Value finish_similarity(const Session *s, Job *job)
{
    Arena *arena = &job->work.arena;
    float *out = ARRAY(arena, float, job->work.n);
    const float *source = kind_vector(s, job, arena, 0);
    for (size_t i = 1; i < job->work.n; i++)
        out[i - 1] = task_cosine(source, kind_vector(s, job, arena, i), work_result(&job->work, 0)->width);
    return value_of_f32(out, job->work.n - 1);
}

static Value similarity_request(Arena *arena, const Site *site)
{
    Value inputs = kind_schema(
        arena,
        str_format(arena,
                   "{\"type\":\"object\",\"required\":[\"source_sentence\",\"sentences\"],"
                   "\"properties\":{\"source_sentence\":{\"type\":\"string\",\"minLength\":1},"
                   "\"sentences\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,"
                   "\"items\":{\"type\":\"string\",\"minLength\":1}}}}",
                   site->max_inputs - 1));
    Value all = kind_schema_with(arena, similarity_rows, "inputs", inputs);
    kind_schema_prompt(arena, site,
                       (Value *)value_get(value_get(&all, "properties"), "parameters"));
    return all;
}

static Value similarity_reply(Arena *arena, const Site *site)
{
    (void)site;
    return kind_schema(arena, "{\"type\":\"array\",\"items\":{\"type\":\"number\"},"
                              "\"description\":\"cosine of each sentence with the source\"}");
}

const JobKind kind_tei_similarity = {
    .name = "similarity",
    .family = &family_tei,
    .keep = KEEP_VECTOR,
    .read = read_similarity,
    .finish = finish_similarity,
    .needs = CAN_EMBED | CAN_MATCH,
    .request = similarity_request,
    .reply = similarity_reply,
};
