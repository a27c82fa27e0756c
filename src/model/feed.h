/* SPDX-License-Identifier: Apache-2.0
 * feed.h - the tensors that a model's graph is given: of items, by the processor that the model's files name, in
 * the shapes that its sidecar or its graph fixes. What another runtime needs to run the same file, and what
 * `inspect` says of it. */
#ifndef MODEL_FEED_H
#define MODEL_FEED_H
#include "model/model.h"

/* Where an input's dims are said: by the sidecar of an export, else by the graph; where neither says how many
 * dims there are, by the role that the session binds it to; what is left open is of any size. */
typedef enum { SHAPE_SIDECAR, SHAPE_GRAPH, SHAPE_SESSION } ShapeSource;
extern const char *const shape_sources[]; /* "sidecar", "graph", "session" */
typedef struct FeedInput {       /* of the graph */
    Str name;
    DType type;
    Role role;
    int rank;
    int64_t dim[MAX_RANK];       /* -1: any */
    Str symbol[MAX_RANK];        /* of an open one: "batch_size", or empty */
    ShapeSource from;
} FeedInput;
typedef struct Feed {
    const char *processor;       /* "tokenizer", "image_processor", "feature_extractor", "processor" */
    const char *kind;            /* "WordPiece", "ViTImageProcessor" */
    FeedInput *input;            /* [n] */
    int n;
} Feed;
void feed_of(Arena *, const Model *, Feed *);

/* A tensor for each input, named as it. Texts are padded to the longest, as transformers' tokenizers do with
 * padding=True, or to the length that the shape fixes; where it fixes the batch, rows are added up to that: the
 * last one again. Several rows of an item (windows, choices) stand one after another. */
typedef struct FeedItems {
    const Item *item;            /* [n] */
    size_t n;
    const InputOptions *options; /* NULL: none */
} FeedItems;
bool feed_make(Arena *, const Model *, const Feed *, const FeedItems *, Named *out /*[feed->n]*/, Err *);

#endif
