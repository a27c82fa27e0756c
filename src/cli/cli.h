/* SPDX-License-Identifier: Apache-2.0
 * cli.h - the command line. A command is a row and a file; an option is a row of its command, and
 * help, parsing, environment and "did you mean" read that row (base/option.h). Options may stand
 * anywhere on the line; "--" ends them. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "base/option.h"
#include "model/model.h"
#include "model/open_options.h"

typedef struct Args Args;
typedef struct Command {
    const char *name;      /* "onnx run": one or two words */
    const char *alias;     /* another name for it, not listed; or NULL */
    const char *summary;   /* one line */
    const char *usage;     /* behind the name: "[--model M] TEXT..." */
    const char *example;   /* lines to paste */
    const char *note;      /* (optional) lines between options and example */
    const Option *options;
    const Option *more;    /* (optional) rows that the library has too */
    bool task_options;     /* and those of every task's requests (params.h) */
    bool (*run)(Args *, Err *);
    bool builder;          /* not in a package */
    bool model_first;      /* the first word that is no option is --model, where that is not given:
                            * in a program that carries no model */
    bool task_first;       /* the first word that is no option, and the name of a task, is --task; before
                            * model_first */
    int model_word;        /* which word that is no option is a model, from 1; 0: none */
    bool environment;      /* ENCODERFILE_NAME sets an option, where no flag does */
} Command;

typedef struct Given {
    const Option *option;
    const char *value;     /* NULL: it takes none */
    const char *called;    /* in errors: "--http-port", or the name of its variable */
} Given;
struct Args {              /* a parsed line */
    Arena arena;
    const Command *command;
    Given *given;
    const char **text;     /* what is no option */
    int n_given, n_text;
    bool help;             /* --help somewhere */
    bool json_help;        /* beside --json */
    bool packaged;         /* this very file carries a model */
    int exit;              /* of a command that did its work and found something wrong */
};

/* args.c */
bool args_parse(Args *, const Command *const *all, int argc, char **argv, Err *);
const char *args_value(const Args *, const char *name); /* the last one given, or NULL */
bool args_has(const Args *, const char *name);
/* Of a number its value, of a word its index; not given: the row's default, or 0. */
int64_t args_int(const Args *, const char *name);
const Option *command_option(const Command *, int index); /* of all lists; NULL: no more */
const Option *params_rows(void);      /* params.c: options of all tasks, as flags */
bool params_row(const Option *);      /* one of them */
/* The first of so many given that cannot stand beside the option, or NULL. */
const Given *args_conflict(const Args *, const Option *, int among);
/* Fills the fields that the command's rows name: defaults, then what was given. */
bool args_fill(Args *, void *settings, Err *);
const Str *args_texts(Args *, int from); /* what is no option, from that one on */
ModelOpen args_open(const Args *); /* OPTIONS_TASK, OPTION_TOKENIZER and so on */
bool args_model(Args *, Model **, Err *); /* --model (none: this file), and those */
bool args_verify(const Args *, const Model *, Err *); /* --verify: the SHA-256 sums of a package */
void args_free(Args *);
#define OPTION_MODEL                                                                              \
    { "model", 'm', "PATH", "a model folder, an .onnx, a package, or a name on the Hub", TAKES_PATH }
#define OPTION_THREADS                                                             \
    { "threads", 0, "N", "default: the CPUs this process may use", TAKES_COUNT,    \
      .least = 1, .most = 4096 }
extern const char *const args_units[]; /* bytes (0), chars (1) */
#define OPTION_OFFSETS(...)                                                        \
    { "offsets", 0, "UNIT", "what offsets count", TAKES_WORD, .standard = "bytes", \
      .words = args_units, __VA_ARGS__ }
#define OPTIONS_OPEN                                                                      \
    OPTION_MODEL, OPTIONS_TASK(OPTION_NO_FIELD), OPTION_TOKENIZER(OPTION_NO_FIELD),       \
    OPTION_POOLING(OPTION_NO_FIELD), OPTION_NORMALIZE(OPTION_NO_FIELD)
#define OPTION_PROCESSOR                                                                  \
    { "processor", 0, "PATH", "a folder with preprocessor_config.json, processor_config.json or a " \
      "tokenizer, or one of these files, instead of the model's own", TAKES_PATH }
/* log_debug's lines, on stderr. */
#define OPTION_VERBOSE { "verbose", 'v', NULL, "say on stderr what was found" }
/* The Rust encoderfile's commands that run a model have these. */
#define NO_ORT "this is a setting of ONNX Runtime, which is not in here"
#define OPTIONS_ORT                                                      \
    { "execution-provider", 0, "NAME", .refused = NO_ORT },              \
    { "disable-cpu-fallback", .refused = NO_ORT },                       \
    { "graph-optimization-level", 0, "N", .refused = NO_ORT },           \
    { "with-arena-allocator", .refused = NO_ORT },                       \
    { "device-id", 0, "N", .refused = NO_ORT },                          \
    { "compute-units", 0, "UNITS", .refused = NO_ORT }

/* alias.c: what others call our commands ("optimum-cli export onnx"), and --version. */
void alias_apply(Arena *, int *argc, char ***argv);

/* habits.c: options as other tools call them, without their dashes. */
const Option *habit_option(const Command *, Str name); /* ours that means the same; NULL: none */
const char *habit_answer(Str name);   /* what to do instead; NULL: nothing is known of it */
const char *habit_command(const char *typed); /* our name of a command that others call so; NULL: none */
const Option *habit_port(const Command *); /* what a bare PORT is for; NULL: nothing */
bool option_typed(Str typed, const char *name); /* args.c: "_" is as good as "-" */

/* environment.c: adds what variables set to what flags gave, which win. */
bool environment_read(Args *, Err *);

/* named.c: names of models on the Hub become the paths of their files. */
bool named_resolve(Args *, Err *);

/* help.c */
#define NOTE_LIMIT                                                                                 \
    "A text is cut to the model's limit: tokenizer.max_length of the YAML it was built with, else " \
    "what the\nmodel's own files say, else 512 tokens; `inspect` shows it (docs/tokenizer.md).\n"
void help_all(Buf *, const Command *const *all, bool packaged);
void help_command(Buf *, const Command *, bool packaged);
bool help_lists(const Option *, bool packaged);
const char *help_usage(const Command *, bool packaged); /* a package names no other model first */
void help_option_text(Buf *, const Option *); /* its help with its words and its default */

/* describe.c: a package without a command, on stderr; `self` is how it was called. */
bool describe_self(Args *, const char *self, Err *);
void describe_model(Arena *, Buf *, const Model *); /* any model, for people */

/* help_json.c: the same as one document; command NULL: of all. */
bool help_json(Args *, const Command *const *all, Err *);

/* output.c */
bool out_write(Str, Err *);             /* to stdout, whole */
bool out_buf(Buf *, Err *);             /* the same; the buffer is empty afterwards */
bool out_json(const Value *, Err *);    /* pretty, with a newline */
bool out_failed(Err *);                 /* of a write to it, with its errno; always false */
bool out_closed(void);                  /* because nobody reads it any more: no error to tell */

/* Every command, in the order of the help; cmd_NAME is in the file that begins like it. */
#define COMMANDS(X) \
    X(export) \
    X(quantize) \
    X(build) \
    X(inspect) \
    X(infer) \
    X(run) \
    X(process) \
    X(map) \
    X(extract) \
    X(verify) \
    X(serve) \
    X(mcp) \
    X(tokenize) \
    X(bench) \
    X(analyze) \
    X(validate) \
    X(compare) \
    X(explore) \
    X(export_graphml) \
    X(import_onnx) \
    X(onnx_check) \
    X(onnx_convert) \
    X(onnx_explain) \
    X(onnx_extract) \
    X(onnx_run) \
    X(onnx_test) \
    X(new_transform) \
    X(metadata_embed) \
    X(metadata_read) \
    X(metadata_validate) \
    X(add_config) \
    X(completions) \
    X(man) \
    X(licenses) \
    X(version)

#define X(name) extern const Command cmd_##name;
COMMANDS(X)
#undef X
extern const Command *const all_commands[]; /* main.c: ends with NULL */

#endif
