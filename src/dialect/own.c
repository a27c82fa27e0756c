/* SPDX-License-Identifier: Apache-2.0
 * own.c - our own clients and those of the Rust encoderfile: /predict (predict.c), /model, and the
 * gRPC service of the model's task, which has the name, messages and field numbers of its .proto.
 * As there, a server has the service of its model's task only. */
#include <ctype.h>
#include <stdlib.h>

#include "data/json.h"
#include "parts.h"
#include "task/head.h"

/* ---- /model ---- */
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

static Value number_or_null(int n)
{
    return n ? value_of_int(n) : value_null();
}

static void add_vector(const Site *site, Value *page)
{
    const ModelConfig *config = site->config;
    value_add(page, "max_length", number_or_null(site->max_length));
    if (!site->pooling) return;
    value_add(page, "pooling", value_of_text(site->pooling));
    bool normalized = head_normalizes(config->head);
    value_add(page, "normalized", config->graph_pools ? value_null() : value_of_bool(normalized));
    value_add(page, "dimensions", number_or_null(config_vector_size(config)));
}

static void model_render(Arena *arena, const Site *site, Buf *out)
{
    bool labels = task_labels(site->task, site->config);
    Value page = value_map(arena, COUNT(model_schema));
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_type", value_of_text(site->task->name));
    value_add(&page, "id2label", labels ? kind_label_map(arena, site) : value_null());
    add_vector(site, &page);
    json_write(out, &page);
}

static Value model_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, model_schema);
}

/* ---- gRPC: what model is this ---- */
static const Field nothing[] = { { 0 } };

/* ModelType, by number. */
typedef struct TypeWord {
    const char *word, *name;
    int number;
} TypeWord;

static int by_number(const void *a, const void *b)
{
    return ((const TypeWord *)a)->number - ((const TypeWord *)b)->number;
}

static const char *upper(Arena *arena, const char *word)
{
    char *out = str_dup(arena, str_of(word));
    for (char *p = out; *p; p++) *p = (char)toupper((unsigned char)*p);
    return out;
}

static TypeWord *type_list(Arena *arena, size_t *n)
{
    static const TypeWord others[] = { { "unspecified", "MODEL_TYPE_UNSPECIFIED", 0 } };
    size_t count;
    const Task *const *task = task_all(&count);
    TypeWord *list = ARRAY(arena, TypeWord, count + COUNT(others));
    memcpy(list, others, sizeof others);
    *n = COUNT(others);
    for (size_t i = 0; i < count; i++)
        list[(*n)++] = (TypeWord){ task[i]->name, upper(arena, task[i]->name), task[i]->number };
    qsort(list, *n, sizeof *list, by_number);
    return list;
}

static const Field *metadata_reply(Arena *arena)
{
    size_t n;
    const TypeWord *type = type_list(arena, &n);
    const char **word = ARRAY(arena, const char *, n + 1), **name = ARRAY(arena, const char *, n);
    int *number = ARRAY(arena, int, n);
    for (size_t i = 0; i < n; i++)
        word[i] = type[i].word, name[i] = type[i].name, number[i] = type[i].number;
    ProtoEnum *types = NEW(arena, ProtoEnum);
    *types = (ProtoEnum){ "ModelType", name, number };
    Field *rows = ARRAY(arena, Field, 4);
    rows[0] = (Field){ "model_id", 1, F_STR };
    rows[1] = (Field){ "model_type", 2, F_STR, .words = word, .proto_enum = types };
    rows[2] = (Field){ "id2label", 3, F_INT_STR_MAP };
    return rows;
}

static Value metadata_page(Arena *arena, const Site *site)
{
    Value page = value_map(arena, 3);
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_type", value_of_int(site->task->number));
    value_add(&page, "id2label", kind_label_map(arena, site));
    return page;
}

/* ---- gRPC: the task's service ---- */
/* "token_classification" -> "TokenClassification" + ending */
static const char *camel(Arena *arena, const char *task, const char *ending)
{
    char *out = str_format(arena, "%s%s", task, ending), *to = out;
    bool upper = true;
    for (const char *p = out; *p; p++) {
        if (*p == '_') {
            upper = true;
            continue;
        }
        *to++ = upper ? (char)toupper((unsigned char)*p) : *p;
        upper = false;
    }
    *to = 0;
    return out;
}

static const GrpcService *task_service(Arena *arena, const Site *site)
{
    const Task *task = site->task;
    const char *in = camel(arena, task->name, "Request");
    const char *out = camel(arena, task->name, "Response");
    GrpcMethod *row = ARRAY(arena, GrpcMethod, 4);
    row[0] = (GrpcMethod){ .name = "Predict", .in = in, .out = out, .kind = &kind_predict,
                           .form = { task->request, task->reply } };
    row[1] = row[0];
    row[1].name = "PredictStream";
    row[1].many_in = row[1].many_out = true;
    row[2] = (GrpcMethod){ .name = "GetModelMetadata",
                           .in = "encoderfile.metadata.GetModelMetadataRequest",
                           .out = "encoderfile.metadata.GetModelMetadataResponse",
                           .form = { nothing, metadata_reply(arena) }, .page = metadata_page };
    GrpcService *service = ARRAY(arena, GrpcService, 2);
    *service = (GrpcService){ .package = str_format(arena, "encoderfile.%s", task->name),
                              .name = camel(arena, task->name, "Inference"), .method = row };
    return service;
}

/* ---- the family ---- */
static const Route routes[] = {
    { "GET", "/model", "model", "Name, task and labels of the model", ROUTE_PAGE(model) },
    { "POST", "/predict", "predict", "Runs the model on texts", .job = &kind_predict_any,
      .line = &kind_predict },
    { "POST", "/predict/multipart", "predict_multipart", "Runs the model on pictures or sounds that come as files",
      .job = &kind_predict_files },
    { 0 },
};
const Family family_own = { .name = "encoderfile", .route = routes, .services = task_service };
