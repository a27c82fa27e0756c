/* SPDX-License-Identifier: Apache-2.0
 * htp.h - the hierarchy of an ONNX file: the module of the source model that each node stands for,
 * as a tag, "/BertModel/BertEncoder/BertLayer.0/BertOutput", and as a scope,
 * "encoder.layer.0.output".
 *
 * A file says it in one of these ways, tried in this order; the first that names a module for
 * any node is used for all nodes:
 *   tags       written into the nodes: metadata_props (ours), a `hierarchy_tag` attribute (the
 *              Python exporter's, which ONNX Runtime refuses to load) or JSON in the doc_string
 *   sidecar    <stem>_htp_metadata.json and its older forms
 *   namespace  metadata of torch.export's exporter: paths and classes
 *   names      scopes in node names, as TorchScript writes them: paths; classes only with a
 *              config.json
 * With the last two, a node without a scope belongs to the root. */
#ifndef EXPORT_HTP_H
#define EXPORT_HTP_H
#include "data/value.h"
#include "export/build.h"

#define HTP_TAG "hierarchy_tag"

typedef enum {
    HTP_NONE, HTP_PROPS, HTP_ATTRIBUTES, HTP_DOCS, HTP_SIDECAR, HTP_NAMESPACE, HTP_NAMES
} HtpSource;
extern const char *const htp_source_name[];

typedef struct HtpModule {
    Str scope;              /* "encoder.layer.0"; the root has "" */
    Str tag;
    int parent;             /* -1: the root */
    int direct, total;      /* nodes of its own; and of what is below it */
} HtpModule;

typedef struct HtpMatches { /* how nodes were matched with modules */
    int root_nodes, scoped_nodes, unique_scopes;
    int direct, parent, root_fallbacks;
} HtpMatches;

typedef struct Htp {
    Arena *arena;
    const OnnxGraph *graph;
    HtpSource source;
    Str *tag;               /* [n_node]; empty: none */
    Str *scope;             /* [n_node]: what the name says, "" for the root */
    int *owner;             /* [n_node]: number of the module; -1: none */
    int tagged;
    HtpModule *module;      /* in the order of execution; a parent stands before its children */
    int n_module, room;
    Map by_scope;           /* to number + 1 */
    HtpMatches matches;
} Htp;

/* What else is known about a file; both may be NULL. */
typedef struct HtpHints {
    const Value *sidecar;
    const Value *config;    /* config.json: classes for a file that has only names */
} HtpHints;
void htp_read(Arena *, const OnnxGraph *, const HtpHints *, Htp *);
/* Of a graph that a builder wrote: the builder knows every node's module. */
void htp_by_builder(Arena *, Builder *, Htp *);
/* Of a foreign graph, by the scopes in its names; classes NULL: tags of paths instead of classes. */
void htp_by_names(Arena *, const OnnxGraph *, Builder *classes, Htp *);

double htp_coverage(const Htp *);            /* per cent of nodes with a tag; 0 of 0 is 0 */
Str htp_class(const HtpModule *);            /* "BertLayer" of ".../BertLayer.0" */
Str htp_last(Str tag);                       /* "BertLayer.0" */
bool htp_tag_valid(Str);                     /* begins with /, no empty part */
/* A builder that knows the classes of a model by its config.json; NULL: not a family of ours. */
Builder *htp_classes(Arena *, const Value *config, const OnnxGraph *);

/* How many modules were written, those of torch.nn too: every path that a node or a weight lies in.
 * Dropout, of which inference has neither, is not counted. */
int htp_total_modules(const Htp *, const Builder *);

/* ---- counts (htp_analysis.c) ---- */
typedef struct HtpCount {
    Str tag;
    int count;
} HtpCount;
typedef struct HtpCounts { /* most first, then by name */
    HtpCount *item;
    int n, nodes;          /* nodes: sum of the counts */
} HtpCounts;
HtpCounts htp_counts(const Htp *, Str filter); /* tags that contain it; empty: all */
enum { HTP_MORE = 4 };                       /* members that a caller may add to the analysis */
Value htp_analysis(const Htp *, const char *path, Str filter);
void htp_summary(Buf *, const Htp *, const char *path, Str filter);
void htp_csv(Buf *, const Htp *, Str filter);
Value htp_compare(Arena *, const Htp *, const char *path, const Htp *other, const char *other_path);
/* Tags in the nodes against those of the sidecar. */
Value htp_consistency(Arena *, const OnnxGraph *, const Value *sidecar);

/* ---- a module alone (htp_extract.c) ---- */
/* Whether the pattern (with * and ?) names the tag, a module it lies in, or the end of such a name:
 * "BertLayer.0/BertAttention". */
bool htp_matches(Arena *, Str tag, const char *pattern);
/* A model of the nodes that match; it borrows everything from the whole, whose weights must be
 * attached. */
bool htp_extract(Arena *, const OnnxModel *, const Htp *, const char *pattern, OnnxModel *, Err *);

/* ---- sidecars (htp_sidecar_read.c) ---- */
/* The first of the known names beside an .onnx; NULL: none. */
const char *htp_sidecar_find(Arena *, const char *onnx);
/* Calls back with each node and tag, whichever form it is. */
typedef void HtpVisit(void *context, Str node, Str tag);
void htp_sidecar_tags(const Value *sidecar, HtpVisit *, void *context);
Map htp_tag_map(Arena *, const Value *sidecar); /* node to Str *: the valid ones */
/* The tag a node carries itself; *source is set where there is one. */
Str htp_node_tag(Arena *, const OnnxNode *, HtpSource *source);

#endif
