/* SPDX-License-Identifier: Apache-2.0
 * option.h - an option is one row: its name, the kind of its value, the field it goes to, default,
 * limits and help. Flags, environment variables, `--help`, `--help --json`, docs/options.md, the YAML
 * of `build` and the keys of ef_serve all read that row. */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H
#include "base.h"

typedef enum OptionKind {  /* of the value */
    TAKES_TEXT,            /* its field: const char * or Str */
    TAKES_PATH,            /* the same: a file or folder that is read */
    TAKES_COUNT,           /* int, int64_t or size_t */
    TAKES_BYTES,           /* the same */
    TAKES_PORT,            /* the same */
    TAKES_SECONDS,         /* double */
    TAKES_MS,              /* double, in seconds; the user writes milliseconds */
    TAKES_WORD,            /* int or an enum: the index in `words`; const char *: the word */
    TAKES_LIST,            /* const char *: one a line; may be given again */
    TAKES_KEYS,            /* the same, secret: messages never show the value */
    TAKES_KEY_FILE,        /* the same; the value is a file that holds them */
    TAKES_NOTHING,         /* bool: on or off, like every option without `argument` and `stands` */
} OptionKind;

typedef struct Option {
    const char *name;      /* "http-port"; a list of rows ends with {0} */
    char letter;           /* 'o' of "-o", or 0 */
    const char *argument;  /* name of its value in the help; NULL: it takes none */
    const char *help;      /* without default and words, which are added; NULL: not listed */
    OptionKind kind;
    size_t offset, size;   /* of its field (OPTION_FIELD_OF); size 0: it has none, args_value has it */
    const char *standard;  /* default, as a user would write it; NULL: none, or the help says which */
    int64_t least, most;   /* of numbers */
    const char *const *words; /* of TAKES_WORD; ends with NULL */
    const char *refused;   /* why it cannot be used */
    const char *const *may; /* its value may be left out, and is one of these (ends with NULL) */
    const char *stands;    /* its value where it is given without one; a flag so fills a text */
    const char *against;   /* options it would be ignored beside, one space between: refused */
    const char *beside;    /* options of which one must stand beside it, or it would be ignored */
    const char *key;       /* its place in the YAML of `build`: "tokenizer.max_length"; "!build": the
                            * opposite of that key; NULL: it has none */
} Option;
#define OPTION_NO_FIELD 0, 0
#define OPTION_FIELD_OF(Struct, field) offsetof(Struct, field), sizeof(((Struct *)0)->field)
/* A default that other code names too: the text of a #define's number. */
#define OPTION_DEFAULT(number) OPTION_QUOTED(number)
#define OPTION_QUOTED(number) #number

/* Errors name `called` ("--http-port", "ENCODERFILE_HTTP_PORT"), the value and the limits. */
bool option_check(const Option *, const char *called, Str text, Err *);
/* The same, and stores it in the field of `settings`. A flag takes true, false, 1, 0, yes, no, on
 * and off; so does a row with `stands`, of which false stores nothing. Of lists and keys the value is
 * added to those before; white space around keys is dropped, and a file of keys may have a byte order
 * mark and lines that begin with #. */
bool option_set(const Option *, void *settings, Arena *, const char *called, Str text, Err *);
/* Stores the default of every row that has one and a field. */
void option_defaults(const Option *rows, void *settings, Arena *);
bool option_named(const char *list, const char *name); /* in `against` or `beside`; NULL: empty */
bool option_bool(Str, bool *out);                 /* false: none of the words above */
bool option_number(const Option *);               /* whether its value is a number */
int64_t option_int(const Option *, Str);          /* of a checked number or word (its index) */
bool option_repeats(const Option *);              /* may be given again */
extern const char *const option_bools[];          /* true, false: for `may` */
const char *option_kind_name(const Option *);     /* "port": in --help --json */
/* "json (default), csv or summary"; standard NULL: none is marked. */
void option_put_words(Buf *, const char *const *words, const char *standard);
void option_put_number(Buf *, const Option *, int64_t); /* as people read it: "32 MiB" */
const char *option_variable(Arena *, const Option *); /* "ENCODERFILE_HTTP_PORT" */

#endif
