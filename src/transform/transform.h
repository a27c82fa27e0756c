/* SPDX-License-Identifier: Apache-2.0
 * transform.h - a package's Lua script: `Postprocess(t, mask)` turns a request's numbers into other
 * numbers, `Preprocess(text)` a text into another.
 *
 * The script is text (never bytecode), compiled once per VM and run anew, on fresh globals, for
 * every call: nothing it does outlives the call, and math.random starts from the same seed. It
 * reaches no files, no processes and no environment, whatever lua_libs says:
 *   - table, string, math (the default), utf8, coroutine: all of Lua 5.4's but string.dump;
 *   - os: time, clock, date, difftime; io: write, and write of stderr and stdout, which become log
 *     lines; package: loaded, preload and require of what is there. Their other names exist and
 *     fail with "... is not available in a transform";
 *   - debug is refused; __gc is refused; collectgarbage collects nothing; xpcall calls its handler
 *     after the stack has been unwound.
 * Limits on memory, instructions and time end a call with an error that no pcall catches. They hold
 * inside C functions as well: patterns, table functions and tensors count their steps. A VM that
 * was stopped is thrown away.
 *
 * A Transform is immutable; a TransformVm belongs to one thread at a time. */
#ifndef TRANSFORM_TRANSFORM_H
#define TRANSFORM_TRANSFORM_H
#include "task/task.h"

typedef struct TransformLimits { /* of one call; zero: the default */
    size_t memory;               /* bytes of the VM; 256 MiB. One string: at most 16 MiB */
    int64_t instructions;        /* of Lua, and steps of C functions; 1e9 */
    double seconds;              /* of wall time; 5 */
} TransformLimits;

typedef struct Transform {
    Str script;                  /* without white space around it */
    const Str *lib;              /* [n_lib]: lua_libs as written; NULL: the default set */
    size_t n_lib;
    unsigned libs;               /* bits by place in transform_libs */
    bool pre, post;              /* it defines Preprocess, Postprocess */
    TransformLimits limits;      /* defaults filled in */
} Transform;
extern const char *const transform_libs[]; /* "coroutine", ..., NULL */

/* Compiles the script and runs its top level once. lib NULL: the default set. The bytes of script
 * and libs are borrowed. Messages are those of Lua: "transform:3: ...". */
bool transform_load(Arena *, Str script, const Str *lib, size_t n_lib, const TransformLimits *,
                    Transform **, Err *);
/* The package's member: protobuf Transform {1 type, 2 script, 3 LuaLibs {1 repeated name}}. */
bool transform_read(Arena *, Str member, Transform **, Err *);
void transform_write(Buf *, const Transform *);
bool transform_fits(const Transform *, const Task *, Err *); /* not every task takes a Postprocess */
/* The dry run of a build: random numbers of the task's shape through Postprocess, a text through
 * Preprocess. "Transform validation failed: ..." */
bool transform_check(const Transform *, const Task *, const ModelConfig *, Err *);

/* ---- running ---- */
typedef struct TransformVm TransformVm;
TransformVm *transform_vm(const Transform *);
void transform_vm_free(TransformVm *); /* NULL is fine */

typedef struct TransformRows {   /* what one call of Postprocess sees, padded with zeros */
    size_t n;
    const float *const *data;    /* [n]: row r is [tokens[r], width] */
    const int64_t *tokens;       /* [n]; one each where the task is not per token */
    int64_t width;
} TransformRows;
typedef struct TransformResult { /* row r is [tokens[r], width], at data + r * stride */
    float *data;
    int64_t stride, width;
    bool pooled;                 /* one vector a row, whatever tokens[r] says */
} TransformResult;
/* "Error postprocessing embeddings: ..." where the shape is not what the task needs. */
bool transform_post(TransformVm *, const Task *, const TransformRows *, Arena *,
                    TransformResult *, Err *);
bool transform_pre(TransformVm *, Arena *, Str text, Str *out, Err *);

/* Lets the caller stop a script before its limits do; polled whenever the time limit is checked. */
typedef struct TransformWatch {
    bool (*ends)(void *arg, double now); /* true: as if its time were over */
    void *arg;
} TransformWatch;

/* ---- VMs that threads share: as many as run at once ---- */
typedef struct TransformPool TransformPool;
TransformPool *transform_pool(const Transform *);
/* An idle one, or a new one. The watch (NULL: nobody) is borrowed until it is given back. */
TransformVm *transform_take(TransformPool *, const TransformWatch *);
void transform_give(TransformPool *, TransformVm *);
void transform_pool_free(TransformPool *);            /* NULL is fine; all must be back */

#endif
