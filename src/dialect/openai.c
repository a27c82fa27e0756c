/* SPDX-License-Identifier: Apache-2.0
 * openai.c - OpenAI's clients. POST /v1/embeddings: vectors of length 1, as numbers or as base64
 * (which is what OpenAI's own client asks for); GET /v1/models. */
#include "parts.h"

#include "data/json.h"

static const char *const formats[] = { "float", "base64", NULL };
static const Field rows[] = {
    { "input", 0, F_ANY, .required = true, .help = "a text, token ids or a list of these" },
    { "model", 0, F_STR, .nullable = true, .help = "not looked at: there is one" },
    { "encoding_format", 0, F_STR, .words = formats, .help = "default: float" },
    { "dimensions", 0, F_U32, .nullable = true, .least = 1, .most = 1 << 20,
      .help = "keep the first N components of a vector; default: all" },
    { "user", 0, F_STR, .nullable = true, .help = "not looked at" },
    { 0 },
};

/* As Jina's and Voyage's servers: {"image": base64 or a data URI}, {"text": ...}. Alone, a string is a
 * picture where the model reads nothing else, and a text where it reads both. */
static const ItemForm *input_form(const Site *site)
{
    return site_can(site, CAN_MATCH) ? &item_texts_or_pictures : site->items;
}

static bool read_pictures(const Session *s, Job *job, const Value *input)
{
    Items items;
    job->work.called = "input";
    if (!items_read_called(&job->work.arena, input_form(site_of(s)), "input", input,
                           session_options(s)->max_inputs, &items, &job->work.err))
        return false;
    job->work.item = items.item;
    job->work.n = items.n;
    return true;
}

static bool read_embed(const Session *s, Job *job, const Value *request)
{
    const Value *input = value_get(request, "input");
    if (!schema_check(request, rows, &job->work.err) ||
        !(site_can(site_of(s), CAN_SEE) ? read_pictures(s, job, input) : kind_inputs(s, job, "input", input)))
        return false;
    Str format = value_str(value_get(request, "encoding_format"), STR("float"));
    job->work.options.normalize = NORMALIZE_YES;
    job->work.options.base64 = str_is(format, "base64");
    return kind_dimensions(s, job, value_get(request, "dimensions"));
}

static void embed_row(const Session *s, const Job *job, Arena *arena, size_t r, Value *out)
{
    const float *x = kind_vector(s, job, arena, r);
    *out = value_map(arena, 3);
    value_add(out, "object", value_of_str(STR("embedding")));
    value_add(out, "embedding", task_vector(arena, &job->work.options, x, work_result(&job->work, r)->width));
    value_add(out, "index", value_of_int((int64_t)r));
}

static Value embed_frame(const Session *s, Job *job, Value *list, size_t n)
{
    Value reply = value_map(&job->work.arena, 4), usage = value_map(&job->work.arena, 2);
    value_add(&usage, "prompt_tokens", value_of_int(job->work.tokens));
    value_add(&usage, "total_tokens", value_of_int(job->work.tokens));
    value_add(&reply, "object", value_of_str(STR("list")));
    value_add(&reply, "data", (Value){ .kind = V_LIST, .list = { list, n } });
    value_add(&reply, "model", value_of_str(session_model(s)->name));
    value_add(&reply, "usage", usage);
    return reply;
}

/* ---- schemas ---- */
static const Field embedding[] = {
    { "object", 0, F_STR, .required = true },
    { "embedding", 0, F_F32, .repeated = true, .required = true, .or_base64 = true },
    { "index", 0, F_U32, .required = true },
    { 0 },
};
static const Field usage_rows[] = {
    { "prompt_tokens", 0, F_U32, .required = true },
    { "total_tokens", 0, F_U32, .required = true },
    { 0 },
};
static const Field reply_rows[] = {
    { "object", 0, F_STR, .required = true },
    { "data", 0, F_MSG, .repeated = true, .required = true, .msg = embedding },
    { "model", 0, F_STR, .required = true },
    { "usage", 0, F_MSG, .required = true, .msg = usage_rows },
    { 0 },
};

static Value embed_request(Arena *arena, const Site *site)
{
    Value input = site_can(site, CAN_SEE) ? items_describe(arena, input_form(site), site->max_inputs)
                                          : kind_inputs_schema(arena, site);
    Value all = kind_schema_with(arena, rows, "input", input);
    kind_narrow(&all, "dimensions", "maximum", config_vector_size(site->config));
    return all;
}

static Value embed_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, reply_rows);
}

const JobKind kind_openai_embed = {
    .name = "embeddings",
    .family = &family_openai,
    .keep = KEEP_VECTOR,
    .values = MOST_IDS,
    .read = read_embed,
    .item = embed_row,
    .frame = embed_frame,
    .needs = CAN_EMBED | CAN_EMBED_PICTURE,
    .request = embed_request,
    .reply = embed_reply,
};

/* ---- /v1/models ---- */
static const Field card_schema[] = {
    { "id", 0, F_STR, .required = true },
    { "object", 0, F_STR, .required = true },
    { "created", 0, F_U32, .required = true, .help = "Unix time of this server's start" },
    { "owned_by", 0, F_STR, .required = true },
    { 0 },
};
static const Field cards_schema[] = {
    { "object", 0, F_STR, .required = true },
    { "data", 0, F_MSG, .repeated = true, .required = true, .msg = card_schema,
      .msg_name = "Model" },
    { 0 },
};

static Value card(Arena *arena, const Site *site)
{
    Value page = value_map(arena, 4);
    value_add(&page, "id", value_of_str(site->model_id));
    value_add(&page, "object", value_of_text("model"));
    value_add(&page, "created", value_of_int(site->started));
    value_add(&page, "owned_by", value_of_text("encoderfile"));
    return page;
}

static void model_card_render(Arena *arena, const Site *site, Buf *out)
{
    Value page = card(arena, site);
    json_write(out, &page);
}

static void models_render(Arena *arena, const Site *site, Buf *out)
{
    Value page = value_map(arena, 2), list = value_list(arena, 1);
    list.list.items[0] = card(arena, site);
    value_add(&page, "object", value_of_text("list"));
    value_add(&page, "data", list);
    json_write(out, &page);
}

static Value model_card_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, card_schema);
}

static Value models_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, cards_schema);
}

/* ---- the family ---- */
static const Route routes[] = {
    { "GET", "/v1/models", "models", "The model, in a list", ROUTE_PAGE(models) },
    { "GET", "/v1/models/{model}", "model_card", "The model", ROUTE_PAGE(model_card) },
    { "POST", "/v1/embeddings", "embeddings", "Texts to vectors, as OpenAI does",
      .job = &kind_openai_embed },
    { "POST", "/embeddings", "embeddings_root", "The same as /v1/embeddings",
      .same_as = "/v1/embeddings" },
    { 0 },
};
const Family family_openai = { .name = "OpenAI", .route = routes };
