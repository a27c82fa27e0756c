/* SPDX-License-Identifier: Apache-2.0
 * base.h - what every other file uses: errors, strings, arenas, buffers.
 *
 * Shape letters, used in every declaration of a tensor: B rows of a batch, S padded length, T real
 * tokens, C hidden, H heads, D head size, F feed-forward, V vocabulary, L labels; M, N, K of a GEMM.
 *
 * Errors: whatever comes from outside can only produce an Err; assert is for our own mistakes.
 * Memory: an Arena * parameter means "the result lives there"; a pointer without one is borrowed. */
#ifndef BASE_BASE_H
#define BASE_BASE_H
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "encoderfile.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))
#define PRINTF(at, args) __attribute__((format(printf, at, args)))

/* ---- errors (err.c) ---- */
typedef ef_error Err; /* code and message; lives on the caller's stack */

bool fail(Err *, ef_code, const char *format, ...) PRINTF(3, 4); /* fills it; always returns false */
bool within(Err *, const char *format, ...) PRINTF(2, 3); /* prefixes "config.json: "; returns false */
bool fail_of_model(Err *); /* what could not be parsed was no request but a model's file; returns false */
/* Prefixes "line 3: ". Of an error that begins with its own place in that line ("line 1, column
 * 2: ", "column 2: ") it makes one place: "line 3, column 2: ". Returns false. */
bool within_line(Err *, uint64_t number);

typedef struct ErrKind { /* one row per ef_code */
    const char *name;    /* "invalid_input": the `type` of a JSON error */
    int http, grpc, exit;
} ErrKind;
const ErrKind *err_kind(ef_code);

/* ---- strings: views, not owned, not terminated (str.c) ---- */
typedef struct Str {
    const char *p;
    size_t n;
} Str;
#define STR(literal) ((Str){ (literal), sizeof(literal) - 1 })
#define STR_ARG(s) (int)(s).n, (s).p /* for "%.*s" */

typedef struct Arena Arena;
/* Here, so that the length of a literal is known when this is compiled. */
static inline Str str_of(const char *terminated) /* NULL gives an empty view */
{
    return (Str){ terminated, terminated ? strlen(terminated) : 0 };
}
static inline bool str_eq(Str a, Str b)
{
    return a.n == b.n && (a.n == 0 || (*a.p == *b.p && memcmp(a.p, b.p, a.n) == 0));
}
static inline bool str_is(Str s, const char *terminated)
{
    return str_eq(s, str_of(terminated));
}
bool str_starts(Str, const char *prefix);
bool str_ends(Str, const char *suffix);
bool str_ends_any_case(Str, const char *suffix);    /* of names of files: ".CSV" ends as ".csv", in ASCII */
Str str_trim(Str);               /* without the blanks around it */
int str_cmp(const Str *, const Str *);              /* bytewise; for qsort */
char *str_dup(Arena *, Str);                        /* terminated copy */
char *str_format(Arena *, const char *, ...) PRINTF(2, 3);
int text_print(char *, size_t room, const char *format, va_list) PRINTF(3, 0); /* vsnprintf, blind to the locale */
uint64_t str_hash(Str);                             /* not stable between versions: never stored */
bool str_int(Str, int64_t *out);                    /* whole view is a decimal integer that fits */
/* The known word nearest to `word` (at most a third of it wrong), or NULL: for "did you mean". */
const char *str_nearest(Str word, const char *const *known, size_t count);
size_t utf8_length(Str);                            /* characters of valid text */
bool utf8_valid(Str);                               /* no overlong forms, no surrogates */
int utf8_decode(const char *p, const char *end, uint32_t *code); /* bytes used; 0: malformed */
int utf8_encode(uint32_t code, char out[4]);        /* bytes written */

/* ---- arenas: many allocations, one end (arena.c) ---- */
typedef struct ArenaBlock ArenaBlock;
typedef struct Budget Budget; /* budget.h: what a request may hold, and `guarded` */
typedef struct Guard Guard;
struct Arena {          /* zero-initialised is empty and ready */
    ArenaBlock *head;   /* newest block; older ones behind it */
    size_t total;       /* bytes of all blocks */
    size_t step;        /* blocks double up to it; 0: 1 MiB */
    Budget *budget;     /* (optional) that its blocks are drawn from */
    bool local;         /* a local variable: freed if a guarded call is abandoned */
    Guard *guard;       /* that knows it; NULL: none. Among others: */
    Arena *next_local;
};
/* Out of memory abandons the guarded call (budget.h); outside of one it ends the program. */
void *arena_alloc(Arena *, size_t size); /* zeroed, 16-byte aligned */
void *arena_raw(Arena *, size_t size);   /* not zeroed, 64-byte aligned */
/* For sizes that came from input: NULL and *err if count*size is above limit or memory runs out. */
void *arena_try(Arena *, size_t count, size_t size, size_t limit, Err *);
void arena_reset(Arena *, size_t keep);  /* forget everything; keep at most `keep` bytes of blocks */
void arena_keep_first(Arena *);          /* frees all blocks but the first */
void arena_free(Arena *);
void memory_large(void *, size_t); /* backed by 2 MB pages where the system has them */
#define NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

/* ---- growing bytes (buf.c) ---- */
typedef struct Buf { /* zero-initialised is empty and ready */
    char *p;
    size_t n, cap;
    Arena *arena;   /* (optional) where it grows: nothing is left to free */
    Budget *budget; /* (optional) that its bytes are drawn from */
} Buf;
void buf_reserve(Buf *, size_t more);    /* missing memory: as for arenas */
bool buf_try(Buf *, size_t more);        /* the same; false: out of memory */
void buf_add(Buf *, const void *, size_t);
void buf_str(Buf *, Str);
void buf_puts(Buf *, const char *);
void buf_char(Buf *, char);
void buf_printf(Buf *, const char *, ...) PRINTF(2, 3);
void buf_drop(Buf *, size_t head);       /* removes the first bytes */
void buf_fit(Buf *);                     /* gives back what it does not use */
void buf_free(Buf *);
static inline Str buf_view(const Buf *b) { return (Str){ b->p, b->n }; }

/* ---- strings to pointers (map.c) ---- */
typedef struct Map { /* zero-initialised is empty; grows in the arena of the first put */
    struct MapSlot *slots;
    size_t used, cap;
} Map;
void *map_get(const Map *, Str key);     /* NULL: absent */
void map_put(Map *, Arena *, Str key, void *value); /* key bytes are borrowed; replaces */

#endif
