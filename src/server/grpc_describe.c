/* SPDX-License-Identifier: Apache-2.0
 * grpc_describe.c - the rows of the services as protobuf describes itself: a FileDescriptorProto
 * for each package, byte for byte what protoc makes of the same .proto. */
#include <ctype.h>

#include "data/wire.h"
#include "grpc.h"
#include "loop.h"

/* Fields of descriptor.proto */
enum {
    FILE_NAME = 1, FILE_PACKAGE, FILE_DEPENDENCY, FILE_MESSAGE, FILE_ENUM, FILE_SERVICE,
    FILE_SYNTAX = 12,
    MESSAGE_NAME = 1, MESSAGE_FIELD, MESSAGE_NESTED, MESSAGE_ENUM, MESSAGE_OPTIONS = 7,
    MESSAGE_ONEOF, OPTIONS_MAP_ENTRY = 7,
    FIELD_NAME = 1, FIELD_NUMBER = 3, FIELD_LABEL, FIELD_TYPE, FIELD_TYPE_NAME, FIELD_ONEOF = 9,
    FIELD_JSON_NAME, FIELD_OPTIONAL = 17,
    ENUM_NAME = 1, ENUM_VALUE, VALUE_NAME = 1, VALUE_NUMBER,
    SERVICE_NAME = 1, SERVICE_METHOD,
    METHOD_NAME = 1, METHOD_IN, METHOD_OUT, METHOD_OPTIONS, METHOD_MANY_IN, METHOD_MANY_OUT,
    OPTIONS_IDEMPOTENCY = 34,
};
enum { LABEL_ONE = 1, LABEL_MANY = 3, TYPE_MESSAGE = 11, TYPE_ENUM = 14 };
static const int types[] = {
    [F_STR] = 9, [F_BOOL] = 8, [F_I32] = 5, [F_U32] = 13, [F_U64] = 4, [F_F32] = 2, [F_F64] = 1,
    [F_BYTES] = 12, [F_MSG] = TYPE_MESSAGE, [F_STR_MAP] = TYPE_MESSAGE,
    [F_NULL_STR_MAP] = TYPE_MESSAGE, [F_INT_STR_MAP] = TYPE_MESSAGE, [F_ANY] = 9,
};

/* Messages that live in another package than who uses them. */
static const struct Elsewhere { const char *message, *package; } elsewhere[] = {
    { "TokenInfo", "encoderfile.token" },
    { "Page", "encoderfile.page" },
    { "Box", "encoderfile.page" },
    { "ImageInput", "encoderfile.image_types" },
    { "ImageLabels", "encoderfile.image_types" },
    { "ImageLabelScore", "encoderfile.image_types" },
    { "Picture", "encoderfile.picture" },
    { "Sound", "encoderfile.sound" },
};

/* ---- what a file holds ---- */
enum { MOST_MESSAGES = 48, MOST_ENUMS = 8, MOST_FILES = 16, MOST_IMPORTS = 4 };
typedef struct Message {
    const char *name;
    const Field *rows;
} Message;
typedef struct Draft {           /* a file while it is gathered */
    const char *package, *path;
    Message message[MOST_MESSAGES];
    const Field *enumeration[MOST_ENUMS]; /* fields that have one */
    struct Draft *import[MOST_IMPORTS];
    const GrpcService *service[MOST_FILES];
    size_t messages, enums, imports, services;
    GrpcFile *file;
} Draft;
typedef struct Drafts {
    Arena *arena;
    Grpc *grpc;
    Draft *item[MOST_FILES];
    size_t n;
} Drafts;

/* "grpc.health.v1" -> "grpc/health/v1/health.proto": the last word that is no version. */
static const char *path_of(Arena *arena, const char *package)
{
    char *folder = str_dup(arena, str_of(package));
    const char *last = folder;
    for (char *p = folder; *p; p++) {
        if (*p != '.') continue;
        *p = '/';
        if (!(p[1] == 'v' && isdigit((unsigned char)p[2]))) last = p + 1;
    }
    return str_format(arena, "%s/%.*s.proto", folder, (int)strcspn(last, "/"), last);
}

static Draft *draft_of(Drafts *all, Str package)
{
    for (size_t i = 0; i < all->n; i++)
        if (str_is(package, all->item[i]->package)) return all->item[i];
    assert(all->n < MOST_FILES);
    Draft *draft = all->item[all->n++] = NEW(all->arena, Draft);
    draft->package = str_dup(all->arena, package);
    draft->path = path_of(all->arena, draft->package);
    return draft;
}

/* Where a message of that name is: "a.b.Name", or in the same package unless listed. *name loses
 * its package. */
static Draft *home_of(Drafts *all, Draft *from, const char **name)
{
    const char *dot = strrchr(*name, '.');
    Str package = dot ? (Str){ *name, (size_t)(dot - *name) } : str_of(from->package);
    for (size_t i = 0; i < COUNT(elsewhere); i++)
        if (strcmp(*name, elsewhere[i].message) == 0) package = str_of(elsewhere[i].package);
    if (dot) *name = dot + 1;
    return draft_of(all, package);
}

static void add_import(Draft *draft, Draft *other)
{
    if (draft == other) return;
    for (size_t i = 0; i < draft->imports; i++)
        if (draft->import[i] == other) return;
    assert(draft->imports < MOST_IMPORTS);
    draft->import[draft->imports++] = other;
}

static bool is_nested(const ProtoEnum *e)
{
    return strchr(e->name, '.') != NULL;
}

static void add_enum(Draft *draft, const Field *f)
{
    if (is_nested(f->proto_enum)) return; /* in its message */
    for (size_t i = 0; i < draft->enums; i++)
        if (draft->enumeration[i]->proto_enum == f->proto_enum) return;
    assert(draft->enums < MOST_ENUMS);
    draft->enumeration[draft->enums++] = f;
}

static bool is_entry(const Field *f)
{
    return f->kind == F_MSG && f->repeated && str_ends(str_of(f->msg_name), "Entry");
}

static void add_message(Drafts *all, Draft *from, const char *name, const Field *rows)
{
    Draft *draft = home_of(all, from, &name);
    add_import(from, draft);
    for (size_t i = 0; i < draft->messages; i++)
        if (strcmp(draft->message[i].name, name) == 0) return;
    assert(draft->messages < MOST_MESSAGES);
    draft->message[draft->messages++] = (Message){ name, rows };
    for (const Field *f = rows; f->name; f++) {
        if (f->number && f->proto_enum) add_enum(draft, f);
        if (!f->number || f->kind != F_MSG) continue;
        if (is_entry(f)) add_message(all, draft, f->msg[1].msg_name, f->msg[1].msg);
        else add_message(all, draft, f->msg_name, f->msg);
    }
}

static const Field *in_rows(const GrpcMethod *m)
{
    return m->in_rows ? m->in_rows : m->form.request;
}

static void add_service(Drafts *all, const GrpcService *service)
{
    Draft *draft = draft_of(all, str_of(service->package));
    draft->service[draft->services++] = service;
    for (const GrpcMethod *m = service->method; m->name; m++) {
        add_message(all, draft, m->in, in_rows(m));
        add_message(all, draft, m->out, m->form.reply);
    }
}

/* ---- writing ---- */
static void grpc_describe_put_text(Buf *b, int field, const char *text)
{
    wire_put_bytes(b, field, str_of(text));
}

/* A message inside of another: its bytes are in `inner`, which is freed. */
static void put_inner(Buf *b, int field, Buf *inner)
{
    wire_put_bytes(b, field, buf_view(inner));
    buf_free(inner);
}

/* "max_input_length" -> "maxInputLength" */
static const char *json_name(Arena *arena, const char *name)
{
    char *out = str_dup(arena, str_of(name)), *to = out;
    for (const char *p = out; *p; p++) {
        if (*p == '_' && p[1]) *to++ = (char)toupper((unsigned char)*++p);
        else if (*p != '_') *to++ = *p;
    }
    *to = 0;
    return out;
}

/* The name that protoc gives to the entries of a map. */
static const char *entry_name(Arena *arena, const char *field)
{
    char *name = str_format(arena, "%sEntry", json_name(arena, field));
    name[0] = (char)toupper((unsigned char)name[0]);
    return name;
}

static bool is_map(const Field *f)
{
    return f->kind == F_STR_MAP || f->kind == F_NULL_STR_MAP || f->kind == F_INT_STR_MAP;
}

/* NULL: the type needs no name. */
static const char *type_name(Drafts *all, Draft *draft, const char *message, const Field *f)
{
    Arena *arena = all->arena;
    const char *name = f->msg_name;
    if (f->proto_enum) return str_format(arena, ".%s.%s", draft->package, f->proto_enum->name);
    if (is_map(f) || is_entry(f))
        return str_format(arena, ".%s.%s.%s", draft->package, message, entry_name(arena, f->name));
    if (f->kind != F_MSG) return NULL;
    Draft *home = home_of(all, draft, &name);
    return str_format(arena, ".%s.%s", home->package, name);
}

/* Of a oneof: its own, then those that `optional` is made of. -1: none. */
static int oneof_index(const Field *rows, const Field *field)
{
    int n = 0;
    const char *last = NULL;
    bool optional = !field->oneof && field->nullable && !field->repeated && !is_map(field);
    for (const Field *f = rows; f->name; f++) {
        if (!f->number || !f->oneof) continue;
        if (!last || strcmp(last, f->oneof) != 0) n++, last = f->oneof;
        if (f == field) return n - 1;
    }
    for (const Field *f = rows; optional && f != field; f++)
        n += f->number && !f->oneof && f->nullable && !f->repeated && !is_map(f);
    return optional ? n : -1;
}

static void put_field(Drafts *all, Draft *draft, const Message *m, const Field *f, Buf *out)
{
    Buf b = { 0 };
    const char *type = type_name(all, draft, m->name, f);
    int oneof = oneof_index(m->rows, f);
    grpc_describe_put_text(&b, FIELD_NAME, f->name);
    wire_put_int(&b, FIELD_NUMBER, f->number);
    wire_put_int(&b, FIELD_LABEL, f->repeated || is_map(f) ? LABEL_MANY : LABEL_ONE);
    wire_put_int(&b, FIELD_TYPE, f->proto_enum ? TYPE_ENUM : types[f->kind]);
    if (type) grpc_describe_put_text(&b, FIELD_TYPE_NAME, type);
    if (oneof >= 0) wire_put_int(&b, FIELD_ONEOF, oneof);
    grpc_describe_put_text(&b, FIELD_JSON_NAME, json_name(all->arena, f->name));
    if (oneof >= 0 && !f->oneof) wire_put_int(&b, FIELD_OPTIONAL, 1);
    put_inner(out, MESSAGE_FIELD, &b);
}

static void put_enum(const Field *f, int field, Buf *out)
{
    const ProtoEnum *e = f->proto_enum;
    const char *dot = strrchr(e->name, '.');
    Buf b = { 0 };
    grpc_describe_put_text(&b, ENUM_NAME, dot ? dot + 1 : e->name);
    for (int i = 0; f->words[i]; i++) {
        Buf value = { 0 };
        grpc_describe_put_text(&value, VALUE_NAME, e->names[i]);
        wire_put_int(&value, VALUE_NUMBER, e->numbers ? e->numbers[i] : i);
        put_inner(&b, ENUM_VALUE, &value);
    }
    put_inner(out, field, &b);
}

static void put_entry(Drafts *all, Draft *draft, const Field *f, Buf *out)
{
    static const Field by_text[] = { { "key", 1, F_STR }, { "value", 2, F_STR }, { 0 } };
    static const Field by_number[] = { { "key", 1, F_U32 }, { "value", 2, F_STR }, { 0 } };
    const Field *rows = f->kind == F_INT_STR_MAP ? by_number : by_text;
    Message entry = { entry_name(all->arena, f->name), is_entry(f) ? f->msg : rows };
    Buf b = { 0 }, options = { 0 };
    grpc_describe_put_text(&b, MESSAGE_NAME, entry.name);
    for (const Field *row = entry.rows; row->name; row++) put_field(all, draft, &entry, row, &b);
    wire_put_int(&options, OPTIONS_MAP_ENTRY, 1);
    put_inner(&b, MESSAGE_OPTIONS, &options);
    put_inner(out, MESSAGE_NESTED, &b);
}

static void put_oneofs(const Field *rows, Buf *out)
{
    const char *last = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (const Field *f = rows; f->name; f++) {
            Buf b = { 0 };
            bool own = f->oneof && (!last || strcmp(last, f->oneof) != 0);
            bool synthetic = !f->oneof && oneof_index(rows, f) >= 0;
            if (!f->number || (pass ? !synthetic : !own)) continue;
            if (own) last = f->oneof;
            else buf_char(&b, '_');
            buf_puts(&b, own ? f->oneof : f->name);
            Buf name = b, decl = { 0 };
            wire_put_bytes(&decl, 1, buf_view(&name));
            buf_free(&name);
            put_inner(out, MESSAGE_ONEOF, &decl);
        }
}

static void put_message(Drafts *all, Draft *draft, const Message *m, Buf *out)
{
    Buf b = { 0 };
    grpc_describe_put_text(&b, MESSAGE_NAME, m->name);
    for (const Field *f = m->rows; f->name; f++)
        if (f->number) put_field(all, draft, m, f, &b);
    for (const Field *f = m->rows; f->name; f++)
        if (f->number && (is_map(f) || is_entry(f))) put_entry(all, draft, f, &b);
    for (const Field *f = m->rows; f->name; f++)
        if (f->number && f->proto_enum && is_nested(f->proto_enum)) put_enum(f, MESSAGE_ENUM, &b);
    put_oneofs(m->rows, &b);
    put_inner(out, FILE_MESSAGE, &b);
}

static void put_method(Drafts *all, Draft *draft, const GrpcMethod *m, Buf *out)
{
    const char *in = m->in, *reply = m->out;
    Draft *in_home = home_of(all, draft, &in), *out_home = home_of(all, draft, &reply);
    Buf b = { 0 }, options = { 0 };
    grpc_describe_put_text(&b, METHOD_NAME, m->name);
    grpc_describe_put_text(&b, METHOD_IN, str_format(all->arena, ".%s.%s", in_home->package, in));
    grpc_describe_put_text(&b, METHOD_OUT, str_format(all->arena, ".%s.%s", out_home->package, reply));
    if (m->idempotent) {
        enum { IDEMPOTENT = 2 };
        wire_put_int(&options, OPTIONS_IDEMPOTENCY, IDEMPOTENT);
        put_inner(&b, METHOD_OPTIONS, &options);
    }
    if (m->many_in) wire_put_int(&b, METHOD_MANY_IN, 1);
    if (m->many_out) wire_put_int(&b, METHOD_MANY_OUT, 1);
    put_inner(out, SERVICE_METHOD, &b);
}

static void put_service(Drafts *all, Draft *draft, const GrpcService *s, Buf *out)
{
    Buf b = { 0 };
    grpc_describe_put_text(&b, SERVICE_NAME, s->name);
    for (const GrpcMethod *m = s->method; m->name; m++) put_method(all, draft, m, &b);
    put_inner(out, FILE_SERVICE, &b);
}

static Str write_file(Drafts *all, Draft *draft)
{
    Buf b = { 0 };
    grpc_describe_put_text(&b, FILE_NAME, draft->path);
    grpc_describe_put_text(&b, FILE_PACKAGE, draft->package);
    for (size_t i = 0; i < draft->imports; i++)
        grpc_describe_put_text(&b, FILE_DEPENDENCY, draft->import[i]->path);
    for (size_t i = 0; i < draft->messages; i++) put_message(all, draft, &draft->message[i], &b);
    for (size_t i = 0; i < draft->enums; i++) put_enum(draft->enumeration[i], FILE_ENUM, &b);
    for (size_t i = 0; i < draft->services; i++) put_service(all, draft, draft->service[i], &b);
    grpc_describe_put_text(&b, FILE_SYNTAX, "proto3");
    Str bytes = { str_dup(all->arena, buf_view(&b)), b.n };
    buf_free(&b);
    return bytes;
}

/* ---- names ---- */
static void name_symbol(Drafts *all, Draft *draft, const char *name, const char *inner)
{
    const char *full = str_format(all->arena, "%s.%s%s%s", draft->package, name, inner ? "." : "",
                                  inner ? inner : "");
    map_put(&all->grpc->symbols, all->arena, str_of(full), draft->file);
}

static void name_symbols(Drafts *all, Draft *draft)
{
    for (size_t i = 0; i < draft->messages; i++) {
        const Message *m = &draft->message[i];
        name_symbol(all, draft, m->name, NULL);
        for (const Field *f = m->rows; f->name; f++) {
            if (!f->number) continue;
            name_symbol(all, draft, m->name, f->name);
            if (f->proto_enum) name_symbol(all, draft, f->proto_enum->name, NULL);
        }
    }
    for (size_t i = 0; i < draft->services; i++) {
        const GrpcService *s = draft->service[i];
        name_symbol(all, draft, s->name, NULL);
        for (const GrpcMethod *m = s->method; m->name; m++)
            name_symbol(all, draft, s->name, m->name);
    }
}

void grpc_describe(Arena *arena, Grpc *grpc)
{
    Drafts all = { .arena = arena, .grpc = grpc };
    for (size_t i = 0; i < grpc->services; i++) add_service(&all, grpc->service[i]);
    grpc->file = ARRAY(arena, GrpcFile, all.n);
    grpc->files = all.n;
    for (size_t i = 0; i < all.n; i++) all.item[i]->file = &grpc->file[i];
    for (size_t i = 0; i < all.n; i++) {
        Draft *draft = all.item[i];
        grpc->file[i] = (GrpcFile){ draft->package, draft->path, .bytes = write_file(&all, draft) };
        for (size_t k = 0; k < draft->imports; k++)
            grpc->file[i].import[k] = draft->import[k]->file;
        name_symbols(&all, draft);
    }
}
