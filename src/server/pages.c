/* SPDX-License-Identifier: Apache-2.0
 * pages.c - pages that depend on the model only: rendered once, at start. */
#include "data/json.h"
#include "routes.h"

static Value text(const char *s)
{
    return value_of_str(str_of(s));
}

/* ---- ours ---- */
void alive_render(Arena *arena, const Site *site, Buf *out)
{
    (void)arena, (void)site;
    buf_puts(out, "\"OK!\"");
}

Value alive_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 2);
    value_add(&schema, "type", text("string"));
    value_add(&schema, "const", text("OK!"));
    return schema;
}

static const Field model_schema[] = {
    { "model_id", 1, F_STR, .required = true, .help = "name of the model" },
    { "model_type", 2, F_STR, .required = true, .help = "its task" },
    { "id2label", 3, F_INT_STR_MAP, .required = true, .nullable = true, .help = "null: no labels" },
    { "max_length", 0, F_U32, .nullable = true, .help = "tokens of a text; null: no limit" },
    { "pooling", 0, F_STR, .help = "of a text's vector: mean, cls, ...; graph: by the graph itself" },
    { "normalized", 0, F_BOOL, .nullable = true, .help = "it has length 1; null: not known" },
    { "dimensions", 0, F_U32, .nullable = true, .help = "numbers of it; null: not known" },
    { 0 },
};

static Value label_map(Arena *arena, const ModelConfig *config)
{
    Value map = value_map(arena, (size_t)config->num_labels);
    for (int i = 0; i < config->num_labels; i++)
        value_add(&map, str_format(arena, "%d", i), value_of_str(config->labels[i]));
    return map;
}

static Value number_or_null(int n)
{
    return n ? value_of_int(n) : value_null();
}

static void add_vector(Arena *arena, const Site *site, Value *page)
{
    const Model *model = session_model(site->session);
    const VectorHead *head = site->config->head;
    const char *pooling = model_pooling(model, arena);
    value_add(page, "max_length", number_or_null(model->encode.max_length));
    if (!pooling) return;
    value_add(page, "pooling", text(pooling));
    value_add(page, "normalized", site->config->graph_pools ? value_null()
                                                            : value_of_bool(head_normalizes(head)));
    value_add(page, "dimensions", number_or_null(config_vector_size(site->config)));
}

void model_render(Arena *arena, const Site *site, Buf *out)
{
    bool labels = task_labels(site->task, site->config);
    Value page = value_map(arena, COUNT(model_schema));
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_type", text(site->task->name));
    value_add(&page, "id2label", labels ? label_map(arena, site->config) : value_null());
    add_vector(arena, site, &page);
    json_write(out, &page);
}

Value model_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, model_schema);
}

static const Field route_schema[] = {
    { "method", 0, F_STR, .required = true },
    { "path", 0, F_STR, .required = true },
    { "summary", 0, F_STR, .required = true },
    { 0 },
};
static const Field index_schema[] = {
    { "model_id", 0, F_STR, .required = true },
    { "model_type", 0, F_STR, .required = true },
    { "routes", 0, F_MSG, .repeated = true, .required = true, .msg = route_schema,
      .msg_name = "Route" },
    { 0 },
};

void index_render(Arena *arena, const Site *site, Buf *out)
{
    size_t n;
    const Route *row = route_all(&n);
    Value page = value_map(arena, 3), routes = value_list(arena, n);
    routes.list.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (row[i].media || !route_applies(&row[i], site)) continue;
        Value *one = &routes.list.items[routes.list.n++];
        *one = value_map(arena, 3);
        value_add(one, "method", text(row[i].method));
        value_add(one, "path", text(row[i].path));
        value_add(one, "summary", text(row[i].summary));
    }
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_type", text(site->task->name));
    value_add(&page, "routes", routes);
    json_write(out, &page);
}

Value index_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, index_schema);
}

/* ---- text-embeddings-inference: /info ---- */
static const Field info_schema[] = {
    { "model_id", 0, F_STR, .required = true },
    { "model_sha", 0, F_STR, .required = true, .nullable = true },
    { "model_dtype", 0, F_STR, .required = true },
    { "served_model_name", 0, F_STR, .required = true },
    { "model_type", 0, F_ANY, .required = true,
      .help = "embedding, classifier or reranker, with its pooling or labels" },
    { "max_concurrent_requests", 0, F_U32, .required = true },
    { "max_input_length", 0, F_U32, .required = true, .help = "tokens; 0: no limit" },
    { "max_batch_tokens", 0, F_U32, .required = true },
    { "max_batch_requests", 0, F_U32, .required = true, .nullable = true },
    { "max_client_batch_size", 0, F_U32, .required = true },
    { "auto_truncate", 0, F_BOOL, .required = true },
    { "tokenization_workers", 0, F_U32, .required = true },
    { "version", 0, F_STR, .required = true },
    { "sha", 0, F_STR, .required = true, .nullable = true },
    { "docker_label", 0, F_STR, .required = true, .nullable = true },
    { 0 },
};

static const char *type_name(const Site *site)
{
    static const struct {
        TaskCan can;
        const char *name;
    } types[] = { { CAN_RANK, "reranker" },
                  { CAN_CLASSIFY, "classifier" },
                  { CAN_TAG, "token_classifier" },
                  { CAN_EMBED | CAN_SPARSE, "embedding" } };
    for (size_t i = 0; i < COUNT(types); i++)
        if (site_can(site, types[i].can)) return types[i].name;
    return site->task->name;
}

static Value label_numbers(Arena *arena, const ModelConfig *config)
{
    Value map = value_map(arena, (size_t)config->num_labels);
    for (int i = 0; i < config->num_labels; i++)
        value_add(&map, str_dup(arena, config->labels[i]), value_of_int(i));
    return map;
}

static Value type_of(Arena *arena, const Site *site)
{
    Value outer = value_map(arena, 1), inner = value_map(arena, 2);
    if (task_labels(site->task, site->config)) {
        value_add(&inner, "id2label", label_map(arena, site->config));
        value_add(&inner, "label2id", label_numbers(arena, site->config));
    } else if (site_can(site, CAN_EMBED | CAN_SPARSE)) {
        const char *own = model_pooling(session_model(site->session), arena);
        bool last = own && strcmp(own, "lasttoken") == 0; /* TEI's word */
        bool sparse = site_can(site, CAN_SPARSE);
        value_add(&inner, "pooling", text(sparse ? "splade" : last ? "last_token" : own));
    }
    value_add(&outer, type_name(site), inner);
    return outer;
}

static const char *type_of_numbers(const Model *model)
{
    Str precision = str_of(model->precision);
    if (str_is(precision, "bf16")) return "bfloat16";
    return str_is(precision, "int8") ? "int8" : "float32";
}

Value info_page(Arena *arena, const Site *site)
{
    const Model *model = session_model(site->session);
    const SessionOptions *o = session_options(site->session);
    Value page = value_map(arena, COUNT(info_schema));
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_sha", value_null());
    value_add(&page, "model_dtype", text(type_of_numbers(model)));
    value_add(&page, "served_model_name", value_of_str(site->model_id));
    value_add(&page, "model_type", type_of(arena, site));
    value_add(&page, "max_concurrent_requests", value_of_int(o->queue_jobs));
    value_add(&page, "max_input_length", value_of_int(model->encode.max_length));
    value_add(&page, "max_batch_tokens", value_of_int(o->batch_tokens));
    value_add(&page, "max_batch_requests", value_null());
    value_add(&page, "max_client_batch_size", value_of_int((int64_t)o->max_inputs));
    value_add(&page, "auto_truncate", value_of_bool(true));
    value_add(&page, "tokenization_workers", value_of_int(MAX(o->threads, 2)));
    value_add(&page, "version", text(EF_VERSION));
    value_add(&page, "sha", value_null());
    value_add(&page, "docker_label", value_null());
    return page;
}

void info_render(Arena *arena, const Site *site, Buf *out)
{
    Value page = info_page(arena, site);
    json_write(out, &page);
}

Value info_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, info_schema);
}

/* ---- OpenAI: /v1/models ---- */
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
    value_add(&page, "object", text("model"));
    value_add(&page, "created", value_of_int(site->started));
    value_add(&page, "owned_by", text("encoderfile"));
    return page;
}

void model_card_render(Arena *arena, const Site *site, Buf *out)
{
    Value page = card(arena, site);
    json_write(out, &page);
}

void models_render(Arena *arena, const Site *site, Buf *out)
{
    Value page = value_map(arena, 2), list = value_list(arena, 1);
    list.list.items[0] = card(arena, site);
    value_add(&page, "object", text("list"));
    value_add(&page, "data", list);
    json_write(out, &page);
}

Value model_card_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, card_schema);
}

Value models_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, cards_schema);
}
