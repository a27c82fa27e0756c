/* SPDX-License-Identifier: Apache-2.0
 * parquet_schema.c - elements to columns. Writers name the parts of a list differently, and old ones leave
 * some out: what is repeated tells. */
#include "parquet_schema.h"

enum { ELEMENTS_MOST = 1 << 16, WIDTH_MOST = 1 << 16 };
enum { CONVERTED_INTERVAL = 21, UUID_WIDTH = 16 };

/* ---- elements ---- */
/* What old writers say instead of a logical type, by its number. */
static const ParquetLogical converted_types[] = {
    { MEANS_STRING }, { MEANS_MAP }, { MEANS_MAP }, { MEANS_LIST }, { MEANS_ENUM }, { MEANS_DECIMAL }, { MEANS_DATE },
    { MEANS_TIME, .unit = PARQUET_MS, .utc = true }, { MEANS_TIME, .unit = PARQUET_US, .utc = true },
    { MEANS_TIMESTAMP, .unit = PARQUET_MS, .utc = true }, { MEANS_TIMESTAMP, .unit = PARQUET_US, .utc = true },
    { MEANS_INTEGER, 8 }, { MEANS_INTEGER, 16 }, { MEANS_INTEGER, 32 }, { MEANS_INTEGER, 64 },
    { MEANS_INTEGER, 8, true }, { MEANS_INTEGER, 16, true }, { MEANS_INTEGER, 32, true }, { MEANS_INTEGER, 64, true },
    { MEANS_JSON }, { MEANS_BSON }, { MEANS_NOTHING },
};

static ParquetUnit schema_unit(Thrift *t, const ThriftField *f)
{
    int unit = 0;
    if (!thrift_struct(t, f)) return 0;
    for (ThriftField u = { 0 }; thrift_next(t, &u); thrift_skip(t, &u)) unit = u.id;
    return (ParquetUnit)unit;
}

/* The struct inside of the union: its fields mean what the kind says. */
static void schema_logical_of(Thrift *t, ParquetLogical *l)
{
    const bool time = l->means == MEANS_TIME || l->means == MEANS_TIMESTAMP;
    for (ThriftField f = { 0 }; thrift_next(t, &f);) {
        if (time && f.id == 1) l->utc = thrift_int(t, &f);
        else if (time && f.id == 2) l->unit = schema_unit(t, &f);
        else if (l->means == MEANS_DECIMAL && f.id == 1) l->scale = (int)thrift_int(t, &f);
        else if (l->means == MEANS_DECIMAL && f.id == 2) l->precision = (int)thrift_int(t, &f);
        else if (l->means == MEANS_INTEGER && f.id == 1) l->bits = (int)thrift_int(t, &f);
        else if (l->means == MEANS_INTEGER && f.id == 2) l->is_signed = thrift_int(t, &f);
        else thrift_skip(t, &f);
    }
}

static void schema_logical(Thrift *t, const ThriftField *f, ParquetLogical *l, Str *bytes)
{
    const uint8_t *from = t->in.p;
    if (!thrift_struct(t, f)) return;
    for (ThriftField u = { 0 }; thrift_next(t, &u);) {
        l->means = (ParquetMeaning)u.id;
        if (thrift_struct(t, &u)) schema_logical_of(t, l);
    }
    *bytes = (Str){ (const char *)from, (size_t)(t->in.p - from) };
}

typedef struct ParquetElements {
    Arena *arena;
    Thrift *t;
    ThriftField item;
    uint32_t left;           /* elements of the list that no group has been promised */
    int leaves, n;
    Err *err;
} ParquetElements;

static bool schema_refuse(ParquetElements *e, const char *what)
{
    return fail(e->err, EF_INVALID_INPUT, "Parquet: found a schema %s", what);
}

typedef struct ParquetElement { /* as it stands */
    int64_t type, width, children, converted, repetition;
    ParquetLogical logical;
    Str name, bytes;         /* bytes: of the logical type */
    int scale, precision;
} ParquetElement;

static void schema_element(Thrift *t, const ThriftField *item, ParquetElement *e)
{
    *e = (ParquetElement){ .type = PARQUET_GROUP, .converted = -1, .children = -1 };
    if (!thrift_struct(t, item)) return;
    for (ThriftField f = { 0 }; thrift_next(t, &f);)
        switch (f.id) {
        case 1: e->type = thrift_int(t, &f); break;
        case 2: e->width = thrift_int(t, &f); break;
        case 3: e->repetition = thrift_int(t, &f); break;
        case 4: e->name = thrift_bytes(t, &f); break;
        case 5: e->children = thrift_int(t, &f); break;
        case 6: e->converted = thrift_int(t, &f); break;
        case 7: e->scale = (int)thrift_int(t, &f); break;
        case 8: e->precision = (int)thrift_int(t, &f); break;
        case 10: schema_logical(t, &f, &e->logical, &e->bytes); break;
        default: thrift_skip(t, &f);
        }
    if (e->logical.means || e->converted < 0 || e->converted >= (int64_t)COUNT(converted_types)) return;
    e->logical = converted_types[e->converted];
    e->logical.scale = e->scale, e->logical.precision = e->precision;
}

static int schema_width(const ParquetElement *e)
{
    static const int width[] = { 1, 4, 8, 12, 4, 8, 0 };
    return e->type == PARQUET_FIXED ? (int)e->width : e->type < PARQUET_FIXED ? width[e->type] : 0;
}

static bool schema_node(ParquetElements *, ParquetNode *, const ParquetNode *above, int depth);

static bool schema_children(ParquetElements *e, ParquetNode *node, int depth)
{
    if (depth > PARQUET_DEPTH) return schema_refuse(e, "that is nested too deep");
    if ((uint32_t)node->children > e->left) return schema_refuse(e, "with fewer elements than it says");
    e->left -= (uint32_t)node->children;
    node->child = ARRAY(e->arena, ParquetNode, node->children);
    for (int i = 0; i < node->children; i++)
        if (!schema_node(e, &node->child[i], node, depth)) return false;
    return true;
}

static bool schema_node(ParquetElements *e, ParquetNode *node, const ParquetNode *above, int depth)
{
    ParquetElement raw;
    schema_element(e->t, &e->item, &raw);
    if (e->t->broken) return schema_refuse(e, "that makes no sense");
    const bool group = raw.children >= 0 && raw.type == PARQUET_GROUP;
    const bool known = raw.type >= 0 && raw.type <= PARQUET_FIXED && raw.children <= 0;
    const bool sized = raw.type != PARQUET_FIXED || (raw.width > 0 && raw.width <= WIDTH_MOST);
    if ((!group && !known) || !sized || raw.repetition < 0 || raw.repetition > PARQUET_REPEATED ||
        raw.children > ELEMENTS_MOST)
        return schema_refuse(e, "whose numbers make no sense");
    *node = (ParquetNode){ .name = { str_dup(e->arena, raw.name), raw.name.n }, .type = (ParquetType)raw.type,
                           .width = schema_width(&raw), .repetition = (ParquetRepetition)raw.repetition,
                           .logical = raw.logical, .children = group ? (int)raw.children : 0,
                           .mark = { { str_dup(e->arena, raw.bytes), raw.bytes.n }, (int)raw.converted + 1 } };
    if (above) {
        node->defined = above->defined + (node->repetition != PARQUET_REQUIRED);
        node->repeated = above->repeated + (node->repetition == PARQUET_REPEATED);
    }
    if (!group) node->leaf = e->leaves++;
    return schema_children(e, node, depth + 1);
}

/* ---- values in Arrow's layout ---- */
static bool schema_set(ArrowField *f, ArrowKind kind, int64_t a, int64_t b, int64_t c)
{
    f->kind = kind;
    f->param[0] = a, f->param[1] = b, f->param[2] = c;
    return true;
}

static bool schema_decimal(const ParquetNode *node, ArrowField *f)
{
    enum { DIGITS = 38, NARROW = 16, WIDE = 32 };
    const ParquetLogical *l = &node->logical;
    const int bits = 8 * (l->precision > DIGITS || node->width > NARROW ? WIDE : NARROW);
    if (l->precision < 1 || l->precision > 76 || node->width > WIDE) return false;
    return schema_set(f, ARROW_DECIMAL, l->precision, l->scale, bits);
}

static bool schema_time(const ParquetNode *node, ArrowField *f)
{
    const ParquetLogical *l = &node->logical;
    if (l->unit < PARQUET_MS || l->unit > PARQUET_NS) return false;
    if (l->means == MEANS_TIME) return schema_set(f, ARROW_TIME, l->unit, 8 * node->width, 0);
    if (l->utc) f->zone = STR("UTC");
    return node->type == PARQUET_INT64 && schema_set(f, ARROW_TIMESTAMP, l->unit, 0, 0);
}

static bool schema_integer(const ParquetNode *node, ArrowField *f)
{
    const ParquetLogical *l = &node->logical;
    const int own = 8 * node->width;
    const bool narrow = l->means == MEANS_INTEGER && (l->bits == 8 || l->bits == 16 || l->bits == 32) && l->bits <= own;
    switch ((int)l->means) {
    case MEANS_DECIMAL: return schema_decimal(node, f);
    case MEANS_TIME: case MEANS_TIMESTAMP: return schema_time(node, f);
    case MEANS_DATE: return node->type == PARQUET_INT32 && schema_set(f, ARROW_DATE, 0, 0, 0);
    case MEANS_INTEGER: return schema_set(f, ARROW_INT, narrow ? l->bits : own, l->is_signed, 0);
    default: return schema_set(f, ARROW_INT, own, 1, 0);
    }
}

/* The kind of a leaf's values; false: what they mean does not fit them. */
static bool schema_values(const ParquetNode *node, ArrowField *f)
{
    enum { HALF, SINGLE, DOUBLE };
    const ParquetMeaning means = node->logical.means;
    bool text;
    if (means == MEANS_UNKNOWN && node->repetition == PARQUET_OPTIONAL) return schema_set(f, ARROW_NULL, 0, 0, 0);
    switch (node->type) {
    case PARQUET_BOOLEAN: return schema_set(f, ARROW_BOOL, 0, 0, 0);
    case PARQUET_INT32: case PARQUET_INT64: return schema_integer(node, f);
    case PARQUET_FLOAT: return schema_set(f, ARROW_FLOAT, SINGLE, 0, 0);
    case PARQUET_DOUBLE: return schema_set(f, ARROW_FLOAT, DOUBLE, 0, 0);
    case PARQUET_INT96: /* instants, of Spark, Hive and Impala */
        f->zone = STR("UTC");
        return schema_set(f, ARROW_TIMESTAMP, PARQUET_US, 0, 0);
    case PARQUET_BYTES:
        if (means == MEANS_DECIMAL) return schema_decimal(node, f);
        text = means == MEANS_STRING || means == MEANS_ENUM || means == MEANS_JSON;
        return schema_set(f, text ? ARROW_UTF8 : ARROW_BINARY, 0, 0, 0);
    default:
        if (means == MEANS_DECIMAL) return schema_decimal(node, f);
        if (means == MEANS_FLOAT16 && node->width == 2) return schema_set(f, ARROW_FLOAT, HALF, 0, 0);
        return schema_set(f, ARROW_FIXED_BINARY, node->width, 0, 0);
    }
}

/* Whether the kind alone does not say what the values mean. */
static bool schema_marks(const ParquetNode *node)
{
    const bool bytes = node->type == PARQUET_BYTES || node->type == PARQUET_FIXED;
    switch ((int)node->logical.means) {
    case MEANS_NOTHING: return bytes && node->mark.converted == CONVERTED_INTERVAL + 1;
    case MEANS_STRING: case MEANS_DECIMAL: case MEANS_FLOAT16: case MEANS_UUID: case MEANS_UNKNOWN: return false;
    case MEANS_TIME: return node->type != PARQUET_INT96; /* of the day here, or in UTC; of 96 bits they are instants */
    default: return bytes;
    }
}

/* ---- columns ---- */
typedef struct ParquetShape {
    Arena *arena;
    const char *refused;
} ParquetShape;

static bool schema_refuse_column(ParquetShape *s, const char *why)
{
    s->refused = why;
    return false;
}

static void schema_room(ParquetShape *s, ParquetPart *p, int children)
{
    p->field->children = children;
    p->field->child = ARRAY(s->arena, ArrowField, children);
    p->child = ARRAY(s->arena, ParquetPart, children);
    for (int i = 0; i < children; i++) p->child[i].field = &p->field->child[i];
}

static bool schema_part(ParquetShape *s, const ParquetNode *node, ParquetPart *p);

static bool schema_struct(ParquetShape *s, const ParquetNode *node, ParquetPart *p)
{
    if (node->children == 0) return schema_refuse_column(s, "a group without members");
    p->field->kind = ARROW_STRUCT;
    schema_room(s, p, node->children);
    for (int i = 0; i < node->children; i++)
        if (!schema_part(s, &node->child[i], &p->child[i])) return false;
    return true;
}

static bool schema_leaf(ParquetShape *s, const ParquetNode *node, ParquetPart *p)
{
    p->leaf = node;
    p->field->uuid = node->logical.means == MEANS_UUID && node->width == UUID_WIDTH;
    if (schema_marks(node)) p->field->mark = node->mark;
    return schema_values(node, p->field) || schema_refuse_column(s, "a type whose numbers make no sense");
}

/* What is repeated is the item itself, or only holds it. */
static bool schema_is_item(const ParquetNode *r)
{
    return r->type != PARQUET_GROUP || r->children != 1 || str_is(r->name, "array") || str_ends(r->name, "_tuple") ||
           r->child[0].repetition == PARQUET_REPEATED;
}

static bool schema_list(ParquetShape *s, const ParquetNode *r, ParquetPart *p)
{
    p->field->kind = ARROW_LIST;
    p->item = r->defined;
    schema_room(s, p, 1);
    if (!schema_is_item(r)) return schema_part(s, &r->child[0], &p->child[0]);
    ParquetPart *item = &p->child[0];
    item->field->name = STR("element");
    item->there = r->defined;
    if (r->logical.means == MEANS_LIST) return schema_refuse_column(s, "lists of lists in Avro's old form");
    return r->type == PARQUET_GROUP ? schema_struct(s, r, item) : schema_leaf(s, r, item);
}

/* A list of structs {key, value}. */
static bool schema_map(ParquetShape *s, const ParquetNode *r, ParquetPart *p)
{
    if (!schema_list(s, r, p)) return false;
    p->field->kind = ARROW_MAP;
    p->field->child[0].name = STR("entries");
    p->field->child[0].child[0].nullable = false;
    return true;
}

static bool schema_part(ParquetShape *s, const ParquetNode *node, ParquetPart *p)
{
    const bool only = node->children == 1 && node->child[0].repetition == PARQUET_REPEATED;
    const ParquetNode *inner = only ? &node->child[0] : NULL;
    const bool pairs = inner && inner->type == PARQUET_GROUP && inner->children == 2;
    p->field->name = node->name;
    p->field->nullable = node->repetition == PARQUET_OPTIONAL;
    p->there = node->defined;
    if (node->repetition == PARQUET_REPEATED) { /* without a group around it: never null */
        p->there = node->defined - 1;
        return schema_list(s, node, p);
    }
    if (node->type != PARQUET_GROUP) return schema_leaf(s, node, p);
    if (node->logical.means == MEANS_MAP && pairs) return schema_map(s, inner, p);
    if (inner && (node->logical.means == MEANS_LIST || node->logical.means == MEANS_MAP))
        return schema_list(s, inner, p);
    return schema_struct(s, node, p);
}

static int schema_count(const ParquetNode *node)
{
    int n = node->type != PARQUET_GROUP;
    for (int i = 0; i < node->children; i++) n += schema_count(&node->child[i]);
    return n;
}

static void schema_columns(Arena *arena, const ParquetNode *root, ParquetSchema *out)
{
    out->fields.n = root->children;
    out->fields.field = ARRAY(arena, ArrowField, root->children);
    out->column = ARRAY(arena, ParquetColumn, root->children);
    for (int i = 0; i < root->children; i++) {
        ParquetColumn *c = &out->column[i];
        ParquetShape s = { .arena = arena };
        c->part.field = &out->fields.field[i];
        c->first = out->leaves, c->leaves = schema_count(&root->child[i]);
        out->leaves += c->leaves;
        if (!schema_part(&s, &root->child[i], &c->part)) {
            *c->part.field = (ArrowField){ .name = root->child[i].name, .kind = ARROW_NULL, .nullable = true,
                                           .strange = s.refused };
        }
    }
}

bool parquet_read_schema(Arena *arena, Thrift *t, const ThriftField *list, ParquetSchema *out, Err *err)
{
    ParquetElements e = { .arena = arena, .t = t, .err = err };
    ParquetNode root;
    e.left = thrift_list(t, list, &e.item);
    if (e.left > ELEMENTS_MOST) return schema_refuse(&e, "of more than 65536 elements");
    if (e.left-- == 0) return schema_refuse(&e, "without elements");
    if (!schema_node(&e, &root, NULL, 0)) return false;
    if (root.type != PARQUET_GROUP || e.left) return schema_refuse(&e, "with more elements than it says");
    root.defined = root.repeated = 0;
    schema_columns(arena, &root, out);
    return true;
}
