/* SPDX-License-Identifier: Apache-2.0
 * hf_metadata.h - what a model needs besides its graph, inside the .onnx itself: schema 2.0, in
 * ModelProto.metadata_props.
 *
 *   hf_metadata_version  2.0                   hf_pipeline_task     token-classification
 *   hf_model_config      config.json, whole    hf_processor_config  how texts are prepared
 *   hf_export_timestamp  UTC                   hf_checksum          sha256:...
 *   and hf_exporter_version, hf_pipeline_config, hf_export_config, hf_tokenizer_config,
 *   hf_image_processor_config, hf_feature_extractor_config, hf_model_name,
 *   hf_transformers_version, feature_engineering.type; hf_tokenizer is tokenizer.json itself,
 *   hf_sentence_transformers the modules.json of such a folder and the files it names, by name.
 *
 * Values are text or compact JSON; above 10 KB they become "gzip:" and base64. Two other spellings
 * of the same are read: a key that ends in ":compressed", and hf_metadata_compressed = true. The
 * checksum is taken over key, 0, value, 0 of the others, plain and in the order of the keys.
 *
 * An exporter calls hf_metadata_make and sets OnnxModel.meta to what it gives. */
#ifndef EXPORT_HF_METADATA_H
#define EXPORT_HF_METADATA_H
#include "data/value.h"
#include "onnx/onnx.h"

/* Is tokenizer.json put in as well? The file needs nothing else then. */
typedef enum {
    HF_TOKENIZER_OUT,
    HF_TOKENIZER_SMALL,     /* where it is at most HF_SMALL_TOKENIZER bytes; none is no error */
    HF_TOKENIZER_IN,
} HfTokenizer;
enum { HF_SMALL_TOKENIZER = 4 << 20 };
/* --include-tokenizer, --no-include-tokenizer; neither: where it is small. False: both. */
bool hf_tokenizer_asked(bool in, bool out, HfTokenizer *, Err *);

typedef struct HfSource {   /* what is known of a model; zero: nothing */
    const char *folder;     /* config.json and what else is there */
    const char *encoder;    /* where to look next (old sentence-transformers folders); or NULL */
    const char *name;       /* for hf_model_name; NULL: the folder's */
    const char *task;       /* NULL: by the class that config.json names */
    const OnnxModel *model; /* the graph, which tells opset, types, shapes, tags */
    int level;              /* of optimization; 0: by the graph's operators */
    bool external;          /* its weights will lie beside the file */
    HfTokenizer tokenizer;
    const char *tokenizer_from; /* a folder or a vocabulary, instead of the folder's; or NULL */
    size_t compress_above;  /* bytes of a value; 0: 10240 */
} HfSource;

/* The properties, checksum last. Fails without config.json, or without a tokenizer to put in. */
bool hf_metadata_make(Arena *, const HfSource *, OnnxPair **, int *n, Err *);
bool hf_read_config(Arena *, const HfSource *, Value *config, Err *); /* config.json, an object */

typedef enum {
    HF_NONE,                /* no hf_ keys: an .onnx as others write it */
    HF_GOOD,
    HF_REFUSED,             /* of a version we do not know: treated as absent */
    HF_DAMAGED,             /* checksum, compression or JSON broken: treated as absent */
} HfState;
typedef struct HfMetadata {
    HfState state;
    const char *why;        /* HF_REFUSED, HF_DAMAGED: what is wrong */
    bool checked;           /* there was a checksum, and it holds */
    OnnxPair *item;         /* [n] those of ours, plain, with full keys */
    int n;
    size_t stored;          /* bytes of keys and values as they stand in the file */
} HfMetadata;

/* Reads no weights. False: not an ONNX file. Broken metadata is a state, not an error. */
bool hf_metadata_read(Arena *, Str file, HfMetadata *, Err *); /* copies what it needs */
bool hf_metadata_open(Arena *, const char *path, HfMetadata *, Err *);
/* The same, where absent or broken metadata is an error; the log says what is broken. */
bool hf_metadata_usable(Arena *, const char *path, HfMetadata *, Err *);
Str hf_metadata_get(const HfMetadata *, const char *key);      /* empty, p NULL: not there */
/* Keys without "hf_", JSON as JSON. */
Value hf_metadata_value(Arena *, const HfMetadata *);
/* Every problem found, one line each; returns how many. */
int hf_metadata_problems(Arena *, const HfMetadata *, const char **out, int most);

/* Puts metadata into a file that is there: any exporter's. `to` may be the file itself. Only hf_
 * keys (and feature_engineering ones) are replaced; the rest stays, byte for byte. */
typedef struct HfEmbed {
    const char *onnx, *to;  /* to NULL: in place */
    HfSource source;        /* model is taken from the file */
    /* found */
    OnnxPair *item;
    int n;
    bool tokenizer;         /* is inside */
    uint64_t size;          /* of the file written */
} HfEmbed;
bool hf_metadata_embed(Arena *, HfEmbed *, Err *);
bool hf_has_tokenizer(const OnnxPair *, int n);

/* The graph was rewritten: what its metadata says of opset, types, shapes and so on is made true
 * again. Without (good) metadata nothing happens. */
void hf_metadata_refresh(Arena *, OnnxModel *);

#endif
