/* SPDX-License-Identifier: Apache-2.0
 * arch.h - an architecture is a row: choices, config keys, module paths. One shared encoder
 * turns any row into a graph; only what no other family does has a function of its own.
 *
 * Easy to get wrong: RoBERTa counts positions over ids that are not padding, from pad + 1;
 * DistilBERT names its sizes differently; gelu is erf, gelu_new is tanh; ModernBERT's window counts
 * to both sides; DeBERTa divides by sqrt(D * terms); nomic and GTE decide with the gate, not up. */
#ifndef EXPORT_ARCH_H
#define EXPORT_ARCH_H
#include "data/value.h"
#include "export/build.h"

typedef enum { /* numbers of config.json that every family has */
    K_VOCAB, K_HIDDEN, K_LAYERS, K_HEADS, K_INNER, K_POSITIONS, K_TYPES, K_PAD, K_EMBEDDING, K_COUNT
} ConfigKey;

typedef struct Activation {
    const char *name;       /* of config.json: "gelu_new" */
    const char *class_name; /* of transformers; NULL: one of torch.nn */
    Str (*write)(Builder *, const char *path, Str x);
} Activation;
const Activation *activation_find(Str name); /* NULL: none of that name */
extern const char activation_names[];        /* for messages */

typedef enum { POS_TABLE, POS_PADDED, POS_ROTARY, POS_NONE } Positions;
typedef enum { TYPES_INPUT, TYPES_ZERO, TYPES_NONE } TokenTypes;

typedef struct EmbeddingPaths {
    const char *words, *positions, *types;
    const char *norm;       /* NULL: none */
    const char *project;    /* from embedding_size to hidden_size where they differ, or NULL */
} EmbeddingPaths;

typedef struct LayerPaths { /* below the layer; "" is the layer itself */
    const char *q, *k, *v;  /* not where the row has its own attend */
    const char *attend;     /* where scores and mixing happen */
    const char *out;
    const char *sum1, *norm1;
    const char *up, *act, *down;
    const char *gate;       /* where the gated halves meet; NULL: no gate */
    const char *decide;     /* linear of the deciding half; NULL: up holds both */
    const char *sum2, *norm2;
    const char *scale1, *scale2; /* parameters that a sublayer's output is multiplied by, or NULL */
} LayerPaths;

typedef struct Rename {     /* rows; a list ends with {0}; done one after the other */
    const char *from;       /* part of a name; ^ binds it to the beginning */
    const char *to[3];      /* several: the tensor holds that many, one above the other */
} Rename;
typedef struct Rotation {   /* [S, D] */
    Str cos, sin;
} Rotation;

typedef enum {
    HEAD_NONE, HEAD_MASKED, HEAD_SEQUENCE, HEAD_TOKEN, HEAD_ANSWER, HEAD_CHOICE,
    HEAD_IMAGE, HEAD_TEACHER, HEAD_DETECT, HEAD_SEGMENT, HEAD_PANOPTIC, HEAD_TOWERS, /* of pictures */
    HEAD_SOUND, HEAD_SPEECH, HEAD_LETTERS, HEAD_FRAMES, HEAD_VOICE,   /* of sounds */
    HEAD_COUNT
} Head;
typedef enum {
    ARCH_STEP_END,
    ARCH_STEP_FIRST,
    ARCH_STEP_POOLING,
    ARCH_STEP_OWN,
    ARCH_STEP_LINEAR,
    ARCH_STEP_ACT,
    ARCH_STEP_NORM,
    ARCH_STEP_DECODE
} ArchStepKind;
typedef struct ArchStep {
    ArchStepKind kind;
    const char *path;       /* a leading @ stands for the encoder: "@pooler.dense" */
    const char *detail;     /* ARCH_STEP_ACT: its name (NULL: config's); ARCH_STEP_DECODE: path of a bias */
} ArchStep;

typedef struct ConvShape {
    int64_t out, in, kernel[2], stride[2], pad, groups, dilation; /* in: of all groups; 0: 1, no padding */
    bool same;              /* padding by the picture's size, as TensorFlow does */
} ConvShape;
typedef struct PictureInput {    /* of config.json */
    int64_t channels, height, width; /* DIM_UNKNOWN: any */
    bool unplaced;          /* without position_embeddings */
    int64_t patch[2];       /* height and width; 0: the family has no patches of one size */
    int64_t step[2];        /* from patch to patch; 0: as large as one, so that none overlap */
} PictureInput;
typedef struct PictureTokens { /* beside the patches: parameters of "embeddings", [1, n, C] */
    const char *first[2];
    const char *registers;  /* behind the first ones, after positions are added */
    const char *last;       /* behind the patches */
    const char *resizes;    /* the module below "embeddings" that does it; NULL: itself */
    bool resized;           /* positions follow the picture's size, bicubic */
    bool antialias;         /* the same, in the way of Pillow */
} PictureTokens;

typedef struct Arch Arch;
typedef struct Encoder Encoder; /* one model being written */
struct Arch {
    const char *model_type; /* of config.json */
    const char *family;     /* class prefix */
    const char *models;     /* published ones, for docs/models.md */
    const char *base;       /* "bert": the encoder inside a model with a head */
    const Module *modules;
    const Module *head_modules[HEAD_COUNT];
    const char *key[K_COUNT];      /* where config.json names it differently */
    int64_t otherwise[K_COUNT];    /* defaults that config.json may leave out; 0: the common one */
    const char *eps_key, *act_key; /* NULL: layer_norm_eps, hidden_act */
    double eps;                    /* default; eps_key "" means it is fixed */
    const char *act;               /* default */
    Positions positions;
    TokenTypes types;
    bool places_own;               /* position_embedding_type is for `configure` */
    bool pre_norm;
    bool rms_norm;                 /* RMS norms: no mean is subtracted, no bias is added */
    bool boxes;                    /* takes bbox, [B, S, 4] */
    bool hears;                    /* takes a sound: samples, or what they were made into */
    const char *mask_at;           /* module that makes the mask; NULL: the encoder as a whole */
    EmbeddingPaths embeddings;
    const PictureTokens *picture;  /* NULL: a family of texts, or without tokens */
    const char *layer;             /* "encoder.layer.%d" */
    LayerPaths paths;
    const char *final_norm;        /* or NULL */
    const Rename *renames;         /* of old checkpoints, or NULL */
    double theta;                  /* POS_ROTARY: default of rope_theta */
    const char *rotary;            /* the module that makes its tables; NULL: rotary_emb */
    const ArchStep *steps[HEAD_COUNT]; /* NULL: the family has no such head */
    bool (*configure)(Encoder *, const Value *config, Err *); /* (optional) further keys */
    void (*prepare)(Encoder *, Str hidden);                   /* (optional) what all layers share */
    Str (*attend)(Encoder *, int layer, const char *path, Str x); /* (optional) its own */
    const char *(*layer_path)(Encoder *, int layer);          /* (optional) shared layers */
    Str (*begin)(Encoder *, int layer, const char *path, Str x); /* (optional) before each layer */
    Str (*words)(Encoder *, const char *inside, Str x);       /* (optional) changes the words' rows */
    Str (*embed)(Encoder *, const char *inside, Str x, int64_t width); /* (optional) more to add */
    Str (*embedded)(Encoder *, const char *inside, Str x);             /* (optional) after the norm */
    void (*write)(Encoder *);      /* (optional) the whole graph: pictures have other ends */
    Str (*pool)(Encoder *, const char *path, Str x, int64_t *width); /* ARCH_STEP_OWN: [B, width] */
};
extern const Arch *const architectures[]; /* ends with NULL */
const Arch *arch_find(Str model_type);    /* NULL: not known */

struct Encoder {
    Builder *b;
    const Arch *arch;
    Head head;
    Positions positions;    /* this and the next four: the row's, unless `configure` sets them */
    TokenTypes types;
    const ArchStep *steps;
    const LayerPaths *paths; /* the same */
    const char *final_norm; /* the same */
    int64_t n[K_COUNT];     /* numbers of the config */
    double eps;
    const Activation *act;
    Str ids, attended, kinds; /* the inputs, [B, S] */
    Str mask;               /* [B, 1, 1, S], or wider: added to the scores */
    Str keys;               /* the mask as bool, [B, 1, 1, S] */
    Str length;             /* [1]: S; see encoder_length */
    Str counted;            /* [B, S]: positions that skip padding; see encoder_counted */
    double theta;           /* POS_ROTARY with one speed for all layers */
    Rotation rotation;
    PictureInput picture;
    Str pixels;             /* [B, channels, height, width]: the input, or made of it */
    bool pre_norm;          /* the row's, unless `configure` sets it */
    bool mean;              /* ARCH_STEP_POOLING: the mean of the tokens, not the first */
    void *own;              /* what configure keeps for prepare and attend */
    void (*finish)(Encoder *, Str hidden); /* (optional) instead of a head */
    const void *finish_own;
};

/* config.json to numbers; every one is checked. */
bool encoder_configure(Encoder *, const Value *config, Err *);
/* The graph, its inputs and outputs. */
bool encoder_write(Encoder *, Err *);

/* ---- pieces (layers.c, encoder.c) ---- */
const char *encoder_path(Encoder *, const char *inner);        /* below the encoder */
const char *encoder_parent(Encoder *, const char *path);        /* "a.b.c" lies in "a.b" */
Str encoder_embed(Encoder *);                                  /* words, positions, types, norm */
Str encoder_attention(Encoder *, int layer, const char *path, Str x); /* before `out` */
Str encoder_feed_forward(Encoder *, const char *path, Str x);
Str encoder_layers(Encoder *, Str x);                          /* all of them, and the final norm */
Str encoder_length(Encoder *);                                 /* made at the first call */
Str encoder_counted(Encoder *, const char *path);              /* the same */
Str encoder_norm(Encoder *, const char *path, Str x, int64_t width); /* as the row has it */
Str layer_linear(Builder *, const char *path, Str x, int64_t out, int64_t in); /* rank 3 */
Str layer_gemm(Builder *, const char *path, Str x, int64_t out, int64_t in);   /* rank 2 */
Str layer_norm(Builder *, const char *path, Str x, int64_t width, double eps);
Str layer_plain_norm(Builder *, const char *path, Str x, int64_t width, double eps); /* no weights */
Str layer_rms_norm(Builder *, const char *path, Str x, int64_t width, double eps);
/* norm(x + skip) as one operator of ONNX Runtime */
Str layer_skip_norm(Builder *, const char *path, Str x, Str skip, int64_t width, double eps);
Str layer_reduce(Builder *, const char *path, const char *op, Str x, const int64_t *axes, size_t n,
                 bool keep);
Str layer_mean(Builder *, const char *path, Str x, const int64_t *axes, size_t n, bool keep);
Str layer_split(Encoder *, const char *path, Str x, const int64_t perm[4]); /* [B,S,C] to heads */
Str layer_mix(Encoder *, const char *path, Str scores, Str v); /* softmax, times v, joined */
Str encoder_mask(Encoder *, const char *path, Str seen);           /* bool to 0 or very negative */
Str encoder_attend(Encoder *, const char *attend, Str q, Str k, Str v, Str mask);
extern const int64_t perm_tokens[4], perm_columns[4];          /* [B,H,S,D] and [B,H,D,S] */
/* rotary.c */
Str rotary_places(Encoder *, const char *path);                /* [S]: 0, 1, 2, ... */
Rotation rotary_tables(Encoder *, const char *path, const char *name, Str places, double theta);
Str rotary_turn(Encoder *, const char *path, Str x, const Rotation *); /* [B, H, S, D] */
bool rotary_theta(const Value *config, const Value *rope, const char *old_key, double otherwise,
                  double *theta, Err *);
/* relative.c: the bucket of every query and key's distance, [S, S]; length: [1], S. One half of the
 * buckets is for keys behind the query; of each half, one is exact, the other grows to `farthest`. */
Str relative_buckets(Builder *, const char *path, Str length, int64_t buckets, int64_t farthest);
/* rename.c */
void weights_rename(Arena *, Safetensors *, const Rename *);   /* adds the new names */
/* heads.c */
void head_write(Encoder *, Str hidden);
/* The steps from [B, tokens, width] or (rank 2) [B, width] on; the rank and width they end with. */
Str head_steps(Encoder *, const ArchStep *, Str x, int *rank, int64_t *width);
/* picture.c */
enum { MOST_STAGES = 8 };
typedef struct Stages {     /* of a model whose maps become smaller and wider */
    int n;
    int64_t width[MOST_STAGES], depth[MOST_STAGES];
} Stages;
/* hidden_sizes and depths; what is there already counts where config.json has none. */
bool picture_stages(const Value *config, const char *widths, Stages *, Err *);
bool picture_list(const Value *config, const char *key, int64_t *out, int *n, Err *);
bool picture_configure(Encoder *, const Value *config, int64_t side, int64_t patch, Err *);
bool picture_size(const Value *, const char *key, int64_t out[2], Err *); /* a number, or two */
void picture_input(Encoder *);                                 /* pixel_values */
Str picture_conv(Builder *, const char *path, Str x, ConvShape);
Str picture_batch_norm(Builder *, const char *path, Str x, int64_t width, double eps);
Str picture_last(Builder *, const char *path, Str x);           /* [B, C, h, w] to [B, h, w, C] */
Str picture_first(Builder *, const char *path, Str x);          /* and back */
Str picture_to_tokens(Builder *, const char *path, Str x, int64_t C); /* to [B, h * w, C] */
Str picture_patches(Encoder *, const char *path);              /* [B, N, C] */
Str picture_spread(Encoder *, const char *path, Str x, int64_t n); /* n rows to [B, n, C] */
Str picture_parameter(Encoder *, const char *path, const char *leaf); /* [1, n, C] to [B, n, C] */
Str picture_embed(Encoder *);                                  /* by the row's PictureTokens */
Str picture_token(Encoder *, const char *path, Str x, int64_t at); /* [B, C] */
/* Logits, or hidden states [B, tokens, C] (rank 3) or [B, C, h, w], and a vector of all. */
void picture_ends(Encoder *, Str hidden, int rank, const int64_t *dim);
Str picture_rest(Encoder *, const char *path, Str x, int64_t from); /* the mean of tokens, [B, C] */
/* [n, before + h * w + behind, C] of the config's grid to the picture's. */
Str picture_resized(Encoder *, const char *path, Str x, int64_t n, int64_t before, int64_t behind);
/* Three linears with ReLU between, over [B, n, C]; `out` of the last. */
Str picture_predict(Encoder *, const char *path, Str x, int64_t *out);
int64_t picture_patch_count(const PictureInput *, int side);   /* of a side, of the config's size */
void picture_write(Encoder *);                                 /* of ViT and its like */
/* sound.c */
typedef struct LineShape {  /* a convolution along time */
    int64_t out, in, kernel, stride, pad[2], groups; /* in: of all groups; 0: 1 */
} LineShape;
typedef struct Listener {   /* what models of sounds keep; a family's own begins with it */
    bool weighted;          /* the head takes a weighted sum of all layers' inputs and the end */
    Str *state;             /* those inputs, [B, T, C] each; NULL: not wanted */
} Listener;
Str sound_conv(Builder *, const char *path, Str x, LineShape);
Str sound_turn(Builder *, const char *path, Str x);            /* [B, C, T] to [B, T, C], and back */
bool sound_number(const Value *config, const char *key, int64_t *out, Err *); /* absent: stays */
void sound_weighted(Encoder *, const Value *config, Listener *);
Str sound_keep(Encoder *, int layer, const char *path, Str x); /* Arch.begin: into Listener.state */
Str sound_listen(Encoder *, Str x);                            /* all layers; what a head takes */
Str sound_mean(Encoder *, const char *path, Str x, int64_t *width); /* over time, [B, C] */
/* The head's steps, then logits or hidden states, [B, T or one vector]; frames: T, by number or name. */
void sound_ends(Encoder *, Str hidden, int64_t frames, const char *symbol);
extern const ArchStep sound_classify[], sound_letters[], sound_frames[];

#endif
