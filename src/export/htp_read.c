/* SPDX-License-Identifier: Apache-2.0
 * htp_read.c - from whatever a file says to a tag and a module for each node. */
#include "htp.h"

#include <stdlib.h>

#include "data/json.h"

const char *const htp_source_name[] = {
    [HTP_NONE] = "none", [HTP_PROPS] = "metadata_props", [HTP_ATTRIBUTES] = "attributes",
    [HTP_DOCS] = "doc_string", [HTP_SIDECAR] = "sidecar", [HTP_NAMESPACE] = "namespace",
    [HTP_NAMES] = "names",
};

double htp_coverage(const Htp *h)
{
    return h->graph->n_node ? 100.0 * h->tagged / h->graph->n_node : 0;
}

Str htp_last(Str tag)
{
    size_t at = tag.n;
    if (!at) return tag;
    while (at && tag.p[at - 1] != '/') at--;
    return (Str){ tag.p + at, tag.n - at };
}

Str htp_class(const HtpModule *m)
{
    Str name = htp_last(m->tag);
    const char *dot = name.n ? memchr(name.p, '.', name.n) : NULL;
    return dot ? (Str){ name.p, (size_t)(dot - name.p) } : name;
}

/* Names longer or deeper than in any model are not taken for a hierarchy: the work grows with
 * their square. */
enum { MOST_BYTES = 2048, MOST_PARTS = 64 };

static bool is_short(Str path)
{
    size_t parts = 0;
    if (path.n > MOST_BYTES) return false;
    for (size_t i = 0; i < path.n; i++) parts += path.p[i] == '/' || path.p[i] == '.';
    return parts <= MOST_PARTS;
}

bool htp_tag_valid(Str tag)
{
    if (!is_short(tag)) return false;
    if (tag.n < 2 || tag.p[0] != '/' || tag.p[tag.n - 1] == '/') return false;
    for (size_t i = 1; i < tag.n; i++)
        if (tag.p[i] == '/' && tag.p[i - 1] == '/') return false;
    return true;
}

static bool htp_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- modules ---- */
static int htp_enter_module(Htp *h, Str scope, Str tag, int parent)
{
    intptr_t known = (intptr_t)map_get(&h->by_scope, scope);
    if (known) return (int)known - 1;
    if (h->n_module == h->room) {
        HtpModule *more = ARRAY(h->arena, HtpModule, h->room * 2 + 16);
        if (h->n_module) memcpy(more, h->module, sizeof *more * (size_t)h->n_module);
        h->module = more, h->room = h->room * 2 + 16;
    }
    h->module[h->n_module] = (HtpModule){ .scope = scope, .tag = tag, .parent = parent };
    map_put(&h->by_scope, h->arena, scope, (void *)(intptr_t)(h->n_module + 1));
    return h->n_module++;
}

static void htp_own_node(Htp *h, int node, int module)
{
    h->owner[node] = module;
    h->tag[node] = h->module[module].tag;
    h->tagged++;
    h->module[module].direct++;
    for (int m = module; m >= 0; m = h->module[m].parent) h->module[m].total++;
}

/* ---- scopes in names ---- */
/* "layer.0_1" is layer.0 run a second time. */
static Str without_turn(Str part)
{
    size_t at = part.n;
    while (at && htp_is_digit(part.p[at - 1])) at--;
    size_t number = at ? at - 1 : 0;
    if (at == part.n || !at || part.p[number] != '_') return part;
    size_t digit = number;
    while (digit && htp_is_digit(part.p[digit - 1])) digit--;
    return digit < number && digit && part.p[digit - 1] == '.' ? (Str){ part.p, number } : part;
}

/* "layer" before "layer.0": a list that was called itself gives both. */
static bool htp_repeats(Str part, Str next)
{
    return next.n > part.n + 1 && memcmp(part.p, next.p, part.n) == 0 && next.p[part.n] == '.' &&
           htp_is_digit(next.p[part.n + 1]);
}

/* "/encoder/layer.0/output/Add" to "encoder/layer.0/output"; "" where there is no scope. */
static Str name_scope(Arena *arena, Str name)
{
    Buf out = { 0 };
    Str part = { 0 };
    if (!is_short(name)) return (Str){ "", 0 };
    for (size_t i = 1, from = 1; name.n && name.p[0] == '/' && i < name.n; i++) {
        if (name.p[i] != '/') continue;
        Str next = without_turn((Str){ name.p + from, i - from });
        if (part.n && !htp_repeats(part, next))
            buf_printf(&out, "%s%.*s", out.n ? "/" : "", STR_ARG(part));
        part = next, from = i + 1;
    }
    if (part.n) buf_printf(&out, "%s%.*s", out.n ? "/" : "", STR_ARG(part));
    Str scope = str_of(str_dup(arena, buf_view(&out)));
    buf_free(&out);
    return scope;
}

static Str htp_dotted_path(Arena *arena, Str path)
{
    char *copy = str_dup(arena, path);
    for (char *p = copy; *p; p++)
        if (*p == '/') *p = '.';
    return (Str){ copy, path.n };
}

static bool same_tag(Str a, const char *b)
{
    return str_eq(a, str_of(b));
}

/* Every prefix of the scope that has a class of its own is a module. */
static int enter_classes(Htp *h, Builder *classes, Str scope)
{
    const char *tag = build_tag(classes, "");
    int at = htp_enter_module(h, (Str){ "", 0 }, str_of(tag), -1);
    for (size_t n = 1; scope.n && n <= scope.n; n++) {
        if (n < scope.n && scope.p[n] != '.') continue;
        const char *part = str_dup(h->arena, (Str){ scope.p, n });
        const char *deeper = build_tag(classes, part);
        if (!same_tag(h->module[at].tag, deeper))
            at = htp_enter_module(h, str_of(part), str_of(deeper), at);
    }
    return at;
}

/* TorchScript writes a module's second run as "attention_1"; that it is no attribute of this name
 * is known by its having no class where "attention" has one. */
static Str without_turns(Htp *h, Builder *classes, Str path)
{
    Buf out = { 0 };
    const char *up = build_tag(classes, "");
    for (size_t from = 0, to; from < path.n; from = to + 1) {
        for (to = from; to < path.n && path.p[to] != '/'; to++) {}
        size_t n = to - from, digits = 0;
        while (digits < n && htp_is_digit(path.p[to - digits - 1])) digits++;
        buf_printf(&out, "%s%.*s", out.n ? "." : "", (int)n, path.p + from);
        const char *tag = build_tag(classes, str_dup(h->arena, buf_view(&out)));
        bool turn = digits && n > digits + 1 && path.p[to - digits - 1] == '_';
        if (turn && strcmp(tag, up) == 0) {
            Buf cut = out;
            cut.n -= digits + 1;
            const char *first = build_tag(classes, str_dup(h->arena, buf_view(&cut)));
            if (strcmp(first, up) != 0) out.n = cut.n, tag = first;
        }
        up = tag;
    }
    Str scope = str_of(str_dup(h->arena, buf_view(&out)));
    buf_free(&out);
    return scope;
}

/* Without classes, attribute names make the tag: "/UnknownModel/encoder/layer.0". */
static int enter_paths(Htp *h, Str path)
{
    int at = htp_enter_module(h, (Str){ "", 0 }, STR("/UnknownModel"), -1);
    for (size_t n = 1; path.n && n <= path.n; n++) {
        if (n < path.n && path.p[n] != '/') continue;
        Str part = { path.p, n };
        const char *tag = str_format(h->arena, "/UnknownModel/%.*s", STR_ARG(part));
        at = htp_enter_module(h, htp_dotted_path(h->arena, part), str_of(tag), at);
    }
    return at;
}

static void count_match(Htp *h, int node)
{
    HtpMatches *m = &h->matches;
    const HtpModule *to = h->owner[node] >= 0 ? &h->module[h->owner[node]] : NULL;
    bool scoped = h->scope[node].n > 0;
    m->root_nodes += !scoped;
    m->scoped_nodes += scoped;
    if (!to) return;
    if (!scoped || to->parent < 0) m->root_fallbacks++;
    else if (str_eq(to->scope, h->scope[node])) m->direct++;
    else m->parent++;
}

static void count_matches(Htp *h)
{
    Map seen = { 0 };
    for (int i = 0; i < h->graph->n_node; i++) {
        count_match(h, i);
        if (!h->scope[i].n || map_get(&seen, h->scope[i])) continue;
        map_put(&seen, h->arena, h->scope[i], h);
        h->matches.unique_scopes++;
    }
}

static Htp htp_begin(Arena *arena, const OnnxGraph *g, HtpSource source)
{
    Htp h = { .arena = arena, .graph = g, .source = source };
    h.tag = ARRAY(arena, Str, g->n_node), h.scope = ARRAY(arena, Str, g->n_node);
    h.owner = ARRAY(arena, int, g->n_node);
    for (int i = 0; i < g->n_node; i++) h.owner[i] = -1;
    return h;
}

void htp_by_builder(Arena *arena, Builder *b, Htp *h)
{
    *h = htp_begin(arena, &b->graph, HTP_NAMES);
    for (int i = 0; i < b->graph.n_node; i++) {
        h->scope[i] = str_of(b->path[i]);
        htp_own_node(h, i, enter_classes(h, b, h->scope[i]));
    }
    count_matches(h);
}

void htp_by_names(Arena *arena, const OnnxGraph *g, Builder *classes, Htp *h)
{
    *h = htp_begin(arena, g, HTP_NAMES);
    for (int i = 0; i < g->n_node; i++) {
        Str path = name_scope(arena, g->node[i].name);
        h->scope[i] = classes ? without_turns(h, classes, path) : htp_dotted_path(arena, path);
        htp_own_node(h, i, classes ? enter_classes(h, classes, h->scope[i]) : enter_paths(h, path));
    }
    count_matches(h);
}

/* ---- tags that are already there ---- */
static Str common_scope(Str a, Str b)
{
    size_t n = 0, part = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n]) {
        if (a.p[n] == '/') part = n;
        n++;
    }
    bool ends_a = n == a.n || a.p[n] == '/', ends_b = n == b.n || b.p[n] == '/';
    return (Str){ a.p, ends_a && ends_b ? n : part };
}

static Str without_last(Str path)
{
    while (path.n && path.p[path.n - 1] != '/') path.n--;
    if (path.n) path.n--;
    return path;
}

typedef struct TagPath {  /* a tag, and the scope common to all nodes below it */
    Str tag, path;
    int parent, module;
    bool named;           /* some node below has a scope in its name */
} TagPath;
typedef struct TagPaths {
    TagPath *item;
    int n, room;
    Map index;            /* tag to number + 1 */
} TagPaths;

static int tag_path(Arena *arena, TagPaths *t, Str tag, int parent)
{
    intptr_t known = (intptr_t)map_get(&t->index, tag);
    if (known) return (int)known - 1;
    if (t->n == t->room) {
        TagPath *more = ARRAY(arena, TagPath, t->room * 2 + 16);
        if (t->n) memcpy(more, t->item, sizeof *more * (size_t)t->n);
        t->item = more, t->room = t->room * 2 + 16;
    }
    t->item[t->n] = (TagPath){ .tag = tag, .parent = parent };
    map_put(&t->index, arena, tag, (void *)(intptr_t)(t->n + 1));
    return t->n++;
}

static void note_path(TagPath *t, Str path)
{
    if (!path.n) return;
    t->path = t->named ? common_scope(t->path, path) : path;
    t->named = true;
}

static void gather_paths(Htp *h, const Str *tag, const Str *path, TagPaths *t)
{
    for (int i = 0; i < h->graph->n_node; i++) {
        int parent = -1;
        for (size_t n = 1; n <= tag[i].n; n++) {
            if (n < tag[i].n && tag[i].p[n] != '/') continue;
            parent = tag_path(h->arena, t, (Str){ tag[i].p, n }, parent);
            if (t->item[parent].parent >= 0) note_path(&t->item[parent], path[i]);
        }
    }
    for (int i = t->n - 1; i > 0; i--) { /* a parent's scope is shorter than its child's */
        TagPath *own = &t->item[i], *up = own->parent >= 0 ? &t->item[own->parent] : NULL;
        if (up && up->parent >= 0 && up->path.n >= own->path.n) up->path = without_last(own->path);
    }
}

/* Nodes with tags become modules: where one lies follows from the names of what is in it. */
static void modules_of_tags(Htp *h, const Str *tag, const Str *path)
{
    TagPaths t = { 0 };
    gather_paths(h, tag, path, &t);
    for (int i = 0; i < t.n; i++) {
        TagPath *p = &t.item[i];
        int parent = p->parent >= 0 ? t.item[p->parent].module : -1;
        Str scope = htp_dotted_path(h->arena, p->path);
        if (p->parent >= 0 && (!scope.n || map_get(&h->by_scope, scope)))
            scope = str_of(str_format(h->arena, "%.*s%s%.*s", STR_ARG(h->module[parent].scope),
                                      h->module[parent].scope.n ? "." : "",
                                      STR_ARG(htp_last(p->tag))));
        p->module = htp_enter_module(h, scope, p->tag, parent);
    }
    for (int i = 0; i < h->graph->n_node; i++) {
        intptr_t at = tag[i].n ? (intptr_t)map_get(&t.index, tag[i]) : 0;
        if (at) htp_own_node(h, i, t.item[at - 1].module);
    }
}

/* ---- the sidecar's tree: modules with their scopes, in the order they ran ---- */
typedef struct TreeModule {
    Str scope, tag;
    int64_t order;
    int found;             /* place in the tree: parents first */
    int parent;            /* place of the parent */
} TreeModule;
enum { TREE_DEPTH = 64, TREE_MODULES = 1 << 20 };

static void gather_tree(const Value *v, int parent, int depth, Buf *out)
{
    int at = (int)(out->n / sizeof(TreeModule));
    TreeModule m = { value_str(value_get(v, "scope"), (Str){ "", 0 }),
                     value_str(value_get(v, "traced_tag"), (Str){ 0 }),
                     value_int(value_get(v, "execution_order"), 0), at, parent };
    const Value *children = value_get(v, "children");
    if (!htp_tag_valid(m.tag) || depth > TREE_DEPTH || at >= TREE_MODULES) return;
    buf_add(out, &m, sizeof m);
    for (size_t i = 0; children && children->kind == V_MAP && i < children->map.n; i++)
        gather_tree(&children->map.items[i].value, at, depth + 1, out);
}

static int by_order(const void *a, const void *b)
{
    const TreeModule *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->found - y->found;
}

static void enter_tree(Htp *h, const Value *tree)
{
    Buf found = { 0 };
    gather_tree(tree, -1, 0, &found);
    int n = (int)(found.n / sizeof(TreeModule));
    TreeModule *m = ARRAY(h->arena, TreeModule, n);
    int *module = ARRAY(h->arena, int, n);
    if (n) memcpy(m, found.p, found.n);
    buf_free(&found);
    qsort(m, (size_t)n, sizeof *m, by_order);
    for (int i = 0; i < n; i++) {
        bool below = m[i].parent >= 0;
        module[m[i].found] =
            htp_enter_module(h, m[i].scope, m[i].tag, below ? module[m[i].parent] : -1);
    }
}

/* The module of this tag whose scope the node's name lies in; -1: none. */
static int find_module(const Htp *h, Str tag, Str scope)
{
    for (size_t n = scope.n + 1; n-- > 0;) {
        if (n < scope.n && n && scope.p[n] != '.') continue;
        intptr_t at = (intptr_t)map_get(&h->by_scope, (Str){ scope.p, n });
        if (at && str_eq(h->module[at - 1].tag, tag)) return (int)at - 1;
    }
    for (int i = 0; i < h->n_module; i++)
        if (str_eq(h->module[i].tag, tag)) return i;
    return -1;
}

/* False: the tree lacks the module of some node, and is no help. */
static bool modules_of_tree(Htp *h, const Value *sidecar, const Str *tag)
{
    const OnnxGraph *g = h->graph;
    int *owner = ARRAY(h->arena, int, g->n_node);
    enter_tree(h, value_get(sidecar, "modules"));
    bool all = h->n_module > 0 && h->module[0].parent < 0;
    for (int i = 0; i < g->n_node && all; i++) {
        owner[i] = tag[i].n ? find_module(h, tag[i], h->scope[i]) : -1;
        all = !tag[i].n || owner[i] >= 0;
    }
    if (!all) h->n_module = h->room = 0, h->by_scope = (Map){ 0 };
    for (int i = 0; i < g->n_node && all; i++)
        if (owner[i] >= 0) htp_own_node(h, i, owner[i]);
    return all;
}

static void names_to_scopes(Htp *h, Str *path)
{
    for (int i = 0; i < h->graph->n_node; i++) {
        path[i] = name_scope(h->arena, h->graph->node[i].name);
        h->scope[i] = htp_dotted_path(h->arena, path[i]);
    }
}

static Str htp_meta_of(const OnnxNode *n, const char *key) /* the first of the name */
{
    for (int i = 0; i < n->n_meta; i++)
        if (str_is(n->meta[i].key, key)) return n->meta[i].value;
    return (Str){ 0 };
}

static Str doc_tag(Arena *arena, Str doc)
{
    Value v;
    Err ignored;
    if (!doc.n || doc.p[0] != '{' || !json_parse(arena, doc, &v, &ignored)) return (Str){ 0 };
    const Value *tags = value_get(&v, "hierarchy_tags");
    Str path = value_str(value_get(&v, "hierarchy_path"), (Str){ 0 });
    if (tags && tags->kind == V_LIST && tags->list.n)
        return value_str(&tags->list.items[0], path);
    return path;
}

Str htp_node_tag(Arena *arena, const OnnxNode *n, HtpSource *source)
{
    Str tag = htp_meta_of(n, HTP_TAG);
    HtpSource found = HTP_PROPS;
    if (!tag.n) found = HTP_ATTRIBUTES, tag = onnx_string(n, HTP_TAG, "");
    if (!tag.n) found = HTP_DOCS, tag = doc_tag(arena, n->doc);
    if (!htp_tag_valid(tag)) return (Str){ 0 };
    *source = found;
    return tag;
}

static bool read_embedded(Arena *arena, const OnnxGraph *g, Str *tag, HtpSource *source)
{
    *source = HTP_NONE;
    for (int i = 0; i < g->n_node; i++) {
        HtpSource here;
        Str found = htp_node_tag(arena, &g->node[i], &here);
        if (!found.n) continue;
        tag[i] = found;
        if (*source == HTP_NONE) *source = here;
    }
    return *source != HTP_NONE;
}

/* ---- the sidecar ---- */
typedef struct NodeTags {
    Arena *arena;
    Map tag;
} NodeTags;

static void htp_keep_tag(void *context, Str node, Str tag)
{
    NodeTags *t = context;
    Str *kept = NEW(t->arena, Str);
    *kept = tag;
    if (htp_tag_valid(tag)) map_put(&t->tag, t->arena, node, kept);
}

Map htp_tag_map(Arena *arena, const Value *sidecar)
{
    NodeTags t = { .arena = arena };
    htp_sidecar_tags(sidecar, htp_keep_tag, &t);
    return t.tag;
}

static bool htp_read_sidecar(Arena *arena, const OnnxGraph *g, const Value *sidecar, Str *tag)
{
    bool any = false;
    if (!sidecar) return false;
    Map tags = htp_tag_map(arena, sidecar);
    for (int i = 0; i < g->n_node; i++) {
        const Str *found = map_get(&tags, g->node[i].name);
        if (!found) continue;
        tag[i] = *found;
        any = true;
    }
    return any;
}

/* ---- torch.export's metadata: "path: module.Class/path: module.Class/name: aten.op" ---- */
static bool of_torch(Str class_name)
{
    return str_starts(class_name, "torch.nn") || str_starts(class_name, "torch._C") ||
           str_starts(class_name, "_empty_nn_module_stack");
}

static Str last_after(Str s, char mark)
{
    size_t at = s.n;
    if (!at) return s;
    while (at && s.p[at - 1] != mark) at--;
    return (Str){ s.p + at, s.n - at };
}

static Str htp_tag_segment(Arena *arena, Str path, Str class_name)
{
    Str name = last_after(class_name, '.'), number = last_after(path, '.');
    bool numbered = number.n > 0;
    for (size_t i = 0; i < number.n; i++) numbered = numbered && htp_is_digit(number.p[i]);
    if (!numbered) return name;
    return str_of(str_format(arena, "%.*s.%.*s", STR_ARG(name), STR_ARG(number)));
}

static int enter_pair(Htp *h, Str pair, int at)
{
    const char *colon = memmem(pair.p, pair.n, ": ", 2);
    if (!colon) return at;
    Str path = { pair.p, (size_t)(colon - pair.p) };
    Str class_name = { colon + 2, pair.n - path.n - 2 };
    if (of_torch(class_name) || !class_name.n) return at;
    Str name = htp_tag_segment(h->arena, path, class_name);
    Str up = at >= 0 ? h->module[at].tag : (Str){ 0 };
    return htp_enter_module(
        h, path, str_of(str_format(h->arena, "%.*s/%.*s", STR_ARG(up), STR_ARG(name))), at);
}

static int enter_namespace(Htp *h, Str text)
{
    int at = -1;
    if (text.n > 4 * MOST_BYTES) return at;
    size_t from = 0;
    for (size_t i = 0; i < text.n; i++) { /* the last part is the operator */
        if (text.p[i] != '/') continue;
        at = enter_pair(h, (Str){ text.p + from, i - from }, at);
        from = i + 1;
    }
    return at;
}

static Str namespace_scope(Str text)
{
    Str pairs = without_last(text), last = last_after(pairs, '/');
    const char *colon = last.n ? memmem(last.p, last.n, ": ", 2) : NULL;
    bool real = colon && !str_starts(last, "_empty_nn_module_stack");
    return real ? (Str){ last.p, (size_t)(colon - last.p) } : (Str){ "", 0 };
}

static bool read_namespace(Htp *h)
{
    int root = -1;
    const OnnxGraph *g = h->graph;
    for (int i = 0; i < g->n_node; i++) {
        int at = enter_namespace(h, htp_meta_of(&g->node[i], "namespace"));
        if (at >= 0 && root < 0) root = 0;
    }
    if (root < 0) return false;
    h->source = HTP_NAMESPACE;
    for (int i = 0; i < g->n_node; i++) {
        Str text = htp_meta_of(&g->node[i], "namespace");
        h->scope[i] = namespace_scope(text);
        htp_own_node(h, i, MAX(enter_namespace(h, text), root));
    }
    return true;
}

static bool scoped_names(const OnnxGraph *g)
{
    for (int i = 0; i < g->n_node; i++) {
        Str name = g->node[i].name;
        if (name.n > 1 && name.p[0] == '/' && memchr(name.p + 1, '/', name.n - 1)) return true;
    }
    return false;
}

void htp_read(Arena *arena, const OnnxGraph *g, const HtpHints *hints, Htp *h)
{
    Str *tag = ARRAY(arena, Str, g->n_node), *path = ARRAY(arena, Str, g->n_node);
    *h = htp_begin(arena, g, HTP_NONE);
    bool tags = read_embedded(arena, g, tag, &h->source);
    if (!tags && htp_read_sidecar(arena, g, hints->sidecar, tag))
        tags = true, h->source = HTP_SIDECAR;
    if (tags) {
        names_to_scopes(h, path);
        if (!modules_of_tree(h, hints->sidecar, tag)) modules_of_tags(h, tag, path);
        count_matches(h);
    } else if (read_namespace(h)) {
        count_matches(h);
    } else if (scoped_names(g)) {
        htp_by_names(arena, g, htp_classes(arena, hints->config, g), h);
    }
}

/* ---- modules of every kind ---- */
typedef struct Paths {
    Arena *arena;
    Map seen;
    int n;
} Paths;

/* A path and all it lies in. */
static void note_path_of(Paths *p, Str path)
{
    for (size_t n = 1; n <= path.n; n++) {
        if (n < path.n && path.p[n] != '.') continue;
        Str part = { path.p, n };
        if (map_get(&p->seen, part)) continue;
        map_put(&p->seen, p->arena, part, p);
        p->n++;
    }
}

int htp_total_modules(const Htp *h, const Builder *b)
{
    Paths p = { .arena = h->arena };
    for (int i = 0; i < h->graph->n_node; i++) note_path_of(&p, h->scope[i]);
    for (int i = 0; i < h->graph->n_init; i++) {
        Str name = h->graph->init[i].name;
        if (!b->weight[i].from) continue;
        if (str_ends(name, ".T")) name.n -= 2;
        while (name.n && name.p[name.n - 1] != '.') name.n--;
        if (name.n) note_path_of(&p, (Str){ name.p, name.n - 1 });
    }
    return p.n + 1;
}
