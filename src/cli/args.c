/* SPDX-License-Identifier: Apache-2.0
 * args.c - a command line to an Args. The command may stand behind options, so the word is looked
 * for first, with every command's options at hand to know which of them take a value. */
#include <ctype.h>

#include "cli/cli.h"

static const char first_word[] = "MODEL"; /* how errors call it */
static const Option help_option = { "help", 'h' };

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != 0;
}

/* The name part of "--name" or "--name=value". */
static Str long_name(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals ? (Str){ word + 2, (size_t)(equals - word - 2) } : str_of(word + 2);
}

static char typed_letter(char c)
{
    return c == '_' ? '-' : c;
}

bool option_typed(Str typed, const char *name)
{
    size_t i = 0;
    while (i < typed.n && name[i] && typed_letter(typed.p[i]) == typed_letter(name[i])) i++;
    return i == typed.n && !name[i];
}

static bool matches(const Option *o, const char *word)
{
    if (word[1] == '-') return option_typed(long_name(word), o->name);
    return o->letter && word[1] == o->letter;
}

/* As habits.c has it: of "-p8080" the letter. */
static Str typed_name(const char *word)
{
    return word[1] == '-' ? long_name(word) : (Str){ word + 1, 1 };
}

/* Whether the command has its own row for what tasks take too. */
static bool has_own(const Command *c, const char *name)
{
    const Option *lists[] = { c->options, c->more };
    for (size_t i = 0; i < COUNT(lists); i++)
        for (const Option *o = lists[i]; o && o->name; o++)
            if (strcmp(o->name, name) == 0) return true;
    return false;
}

/* The rows of tasks are made when one of them is looked for: most starts do without. */
const Option *command_option(const Command *c, int index)
{
    const Option *lists[] = { c->options, c->more };
    for (size_t i = 0; i < COUNT(lists); i++)
        for (const Option *o = lists[i]; o && o->name; o++)
            if (index-- == 0) return o;
    for (const Option *o = c->task_options ? params_rows() : NULL; o && o->name; o++)
        if (!has_own(c, o->name) && index-- == 0) return o;
    return NULL;
}

static const Option *find_option(const Command *c, const char *word)
{
    const Option *o = &help_option;
    for (int i = 0; o && !matches(o, word); i++) o = command_option(c, i);
    return o ? o : habit_option(c, typed_name(word));
}

/* Whether a word is the value of an option that may go without. */
static bool is_value(const Option *o, const char *word)
{
    for (const char *const *w = o->may; word && *w; w++)
        if (strcmp(*w, word) == 0) return true;
    return false;
}

/* Does this option, of whatever command, take the next word as its value? */
static bool takes_next(const Command *const *all, const char *word)
{
    bool attached = word[1] == '-' ? strchr(word, '=') != NULL : word[2] != 0;
    for (; *all && !attached; all++) {
        const Option *o = find_option(*all, word);
        if (o) return o->argument != NULL && !o->may;
    }
    return false;
}

static bool unknown_command(const Command *const *all, const char *word, Err *err)
{
    const char *names[64];
    size_t n = 0;
    for (; all[n] && n < COUNT(names); n++) names[n] = all[n]->name;
    const char *near = habit_command(word) ? habit_command(word) : str_nearest(str_of(word), names, n);
    return fail(err, EF_USAGE, "unknown command \"%s\"%s%s%s; --help lists them", word,
                near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* Whether the words at argv[i] (and maybe the next) name this command; how many of them. */
static int named(const Command *c, int argc, char **argv, int i)
{
    if (c->alias && strcmp(c->alias, argv[i]) == 0) return 1;
    Str name = str_of(c->name);
    const char *space = memchr(name.p, ' ', name.n);
    if (!space) return str_is(name, argv[i]);
    Str first = { name.p, (size_t)(space - name.p) };
    return str_is(first, argv[i]) && i + 1 < argc && strcmp(argv[i + 1], space + 1) == 0 ? 2 : 0;
}

/* Whether the word begins commands of two words; then *err lists them. */
static bool half_command(const Command *const *all, const char *word, Err *err)
{
    Buf list = { 0 };
    size_t n = strlen(word);
    for (; *all; all++)
        if (strncmp((*all)->name, word, n) == 0 && (*all)->name[n] == ' ')
            buf_printf(&list, "%s\"%s\"", list.n ? ", " : "", (*all)->name);
    if (list.n) fail(err, EF_USAGE, "%s: wanted one of %.*s", word, STR_ARG(buf_view(&list)));
    bool half = list.n > 0;
    buf_free(&list);
    return half;
}

/* Finds the command; *at is its first word, *words how many it has. No command at all is no error.
 * */
static bool find_command(Args *a, const Command *const *all, int argc, char **argv, int *at,
                         int *words, Err *err)
{
    int i = 1;
    while (i < argc && (is_option(argv[i]) || strcmp(argv[i], "help") == 0)) {
        a->help |= strcmp(argv[i], "help") == 0 || matches(&help_option, argv[i]);
        i += is_option(argv[i]) && takes_next(all, argv[i]) ? 2 : 1;
    }
    *at = i;
    if (i >= argc) return true;
    for (const Command *const *c = all; *c; c++) {
        *words = named(*c, argc, argv, i);
        if (!*words) continue;
        a->command = *c;
        if (!(*c)->builder || !a->packaged) return true;
        return fail(err, EF_USAGE,
                    "%s: this file is a package; use the encoderfile program to build", (*c)->name);
    }
    if (half_command(all, argv[i], err)) return false;
    return unknown_command(all, argv[i], err);
}

/* The one option that begins so ("--pool"), where a typo suggests none. */
static const char *begun_option(Str word, const char *const *names, size_t n)
{
    const char *found = NULL;
    for (size_t i = 0; word.n >= 3 && i < n; i++) {
        if (strncmp(names[i], word.p, word.n) != 0) continue;
        if (found) return NULL;
        found = names[i];
    }
    return found;
}

static bool unknown_option(const Command *c, const char *word, Err *err)
{
    const char *names[128], *answer = habit_answer(typed_name(word));
    size_t n = 0;
    const Option *o;
    if (answer) return fail(err, EF_USAGE, "%s: unknown option %s: %s", c->name, word, answer);
    for (int i = 0; (o = command_option(c, i)) && n < COUNT(names); i++)
        if (!o->refused) names[n++] = o->name;
    const char *near = word[1] == '-' ? str_nearest(long_name(word), names, n) : NULL;
    if (!near && word[1] == '-') near = begun_option(long_name(word), names, n);
    if (near)
        return fail(err, EF_USAGE, "%s: unknown option %s: did you mean --%s?", c->name, word,
                    near);
    return fail(err, EF_USAGE, "%s: unknown option %s (a text that begins with - goes behind --)",
                c->name, word);
}

/* One option; *used: words it takes. */
static bool take_option(Args *a, int argc, char **argv, int i, int *used, Err *err)
{
    const char *word = argv[i];
    const Option *o = find_option(a->command, word);
    *used = 1;
    if (!o) return unknown_option(a->command, word, err);
    if (o == &help_option) return a->help = true;
    if (o->refused)
        return fail(err, EF_UNSUPPORTED, "%s: --%s: %s", a->command->name, o->name, o->refused);
    bool dashes = word[1] == '-';
    const char *value = dashes ? strchr(word, '=') : word[2] ? word + 2 : NULL;
    if (value && dashes) value++;
    if (!o->argument && value)
        return fail(err, EF_USAGE, "--%s takes no value: found \"%s\"", o->name, value);
    if (o->may && !value) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (is_value(o, next)) value = next, *used = 2;
    } else if (o->argument && !value) {
        if (i + 1 >= argc)
            return fail(err, EF_USAGE, "--%s: wanted a value (%s)", o->name, o->argument);
        value = argv[i + 1];
        *used = 2;
    }
    a->given[a->n_given++] = (Given){ o, value, str_format(&a->arena, "--%s", o->name) };
    return true;
}

/* The first option of a list that was given, or NULL. */
static const Given *given_of(const Args *a, const char *list)
{
    for (int i = 0; i < a->n_given; i++)
        if (option_named(list, a->given[i].option->name)) return &a->given[i];
    return NULL;
}

const Given *args_conflict(const Args *a, const Option *o, int among)
{
    for (int i = 0; i < among; i++) {
        const Option *other = a->given[i].option;
        if (option_named(o->against, other->name) || option_named(other->against, o->name))
            return &a->given[i];
    }
    return NULL;
}

/* "a b c" to "--a, --b or --c". */
static const char *flags_of(Arena *arena, const char *list)
{
    Buf text = { 0 };
    for (const char *next; list; list = next ? next + 1 : NULL) {
        next = strchr(list, ' ');
        const char *between = !text.n ? "" : next ? ", " : " or ";
        buf_printf(&text, "%s--%.*s", between, next ? (int)(next - list) : (int)strlen(list), list);
    }
    const char *flags = str_dup(arena, buf_view(&text));
    buf_free(&text);
    return flags;
}

/* An option that would have no effect is an error, not a surprise. */
static bool check_company(Args *a, Err *err)
{
    for (int i = 0; i < a->n_given; i++) {
        const Option *o = a->given[i].option;
        const char *called = a->given[i].called;
        const Given *other = given_of(a, o->against);
        if (other)
            return fail(err, EF_USAGE, "%s: %s: found %s beside it, wanted one of them",
                        a->command->name, called, other->called);
        if (o->beside && !given_of(a, o->beside))
            return fail(err, EF_USAGE, "%s: %s has no effect alone: wanted %s beside it",
                        a->command->name, called, flags_of(&a->arena, o->beside));
    }
    return true;
}

static bool check_values(const Args *a, Err *err)
{
    for (int i = 0; i < a->n_given; i++) {
        const Given *g = &a->given[i];
        if (g->value && !option_check(g->option, g->called, str_of(g->value), err)) return false;
    }
    return true;
}

/* Whether a word stands in front of "--". */
static bool line_has(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0) return true;
    return false;
}

/* `run TASK ...`. A word that is nearly a task's name is a mistake rather than an input. */
static bool take_task(Args *a, Err *err)
{
    char near[TASK_NAME_ROOM];
    if (!a->command->task_first || !a->n_text || args_has(a, "task")) return true;
    Str word = str_of(a->text[0]);
    if (!task_name(word)) {
        bool like = a->n_text > 1 && !memchr(word.p, ' ', word.n) && memchr(word.p, '-', word.n);
        return !like || !task_name_near(word, near) ||
               fail(err, EF_USAGE, "%s: found \"%s\", which is no task: did you mean %s? (where it is an input, --task "
                    "says the task)", a->command->name, a->text[0], near);
    }
    a->given[a->n_given++] = (Given){ find_option(a->command, "--task"), a->text[0], "the task" };
    memmove(a->text, a->text + 1, (size_t)--a->n_text * sizeof *a->text);
    return true;
}

/* In a program without a model of its own, the first word is the model: `serve MODEL`. */
static void take_model(Args *a)
{
    const Option *o = find_option(a->command, "--model");
    if (!a->command->model_first || a->packaged || !a->n_text || !o) return;
    if (args_has(a, "model") || args_conflict(a, o, a->n_given)) return;
    a->given[a->n_given++] = (Given){ o, a->text[0], first_word };
    memmove(a->text, a->text + 1, (size_t)--a->n_text * sizeof *a->text);
}

bool args_parse(Args *a, const Command *const *all, int argc, char **argv, Err *err)
{
    int at, words = 0, used = 1;
    a->help = line_has(argc, argv, "--help"); /* whatever else is wrong with the line */
    a->json_help = line_has(argc, argv, "--json");
    if (!find_command(a, all, argc, argv, &at, &words, err)) return false;
    if (!a->command) {
        if (a->help || argc <= 1) return true;
        return fail(err, EF_USAGE, "wanted a command; --help lists them");
    }
    int rows = 0;
    while (a->command->environment && command_option(a->command, rows)) rows++;
    a->given = ARRAY(&a->arena, Given, argc + rows + 1); /* of each word, of each variable, of PORT */
    a->text = ARRAY(&a->arena, const char *, argc + 1);
    bool literal = false;
    for (int i = 1; i < argc; i += used) {
        used = i == at ? words : 1;
        if (i == at || (i < at && strcmp(argv[i], "help") == 0)) continue;
        if (!literal && strcmp(argv[i], "--") == 0) literal = true;
        else if (literal || !is_option(argv[i])) a->text[a->n_text++] = argv[i];
        else if (!take_option(a, argc, argv, i, &used, err)) return a->help;
    }
    if (!a->help && !take_task(a, err)) return false;
    take_model(a);
    return a->help || (environment_read(a, err) && check_values(a, err) && check_company(a, err));
}

const char *args_value(const Args *a, const char *name)
{
    for (int i = a->n_given - 1; i >= 0; i--)
        if (strcmp(a->given[i].option->name, name) == 0) return a->given[i].value;
    return NULL;
}

bool args_has(const Args *a, const char *name)
{
    for (int i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0) return true;
    return false;
}

int64_t args_int(const Args *a, const char *name)
{
    const char *text = args_value(a, name);
    const Option *o;
    for (int i = 0; (o = command_option(a->command, i)); i++) {
        if (strcmp(o->name, name) != 0) continue;
        if (!text) text = o->standard;
        return text ? option_int(o, str_of(text)) : 0;
    }
    assert(!"a row of the command");
    return 0;
}

bool args_fill(Args *a, void *settings, Err *err)
{
    const Option *lists[] = { a->command->options, a->command->more };
    for (size_t i = 0; i < COUNT(lists); i++)
        if (lists[i]) option_defaults(lists[i], settings, &a->arena);
    for (int i = 0; i < a->n_given; i++) {
        const Given *g = &a->given[i];
        Str text = g->value ? str_of(g->value) : STR("true");
        if (g->option->size &&
            !option_set(g->option, settings, &a->arena, g->called, text, err))
            return false;
    }
    return true;
}

const Str *args_texts(Args *a, int from)
{
    Str *text = ARRAY(&a->arena, Str, a->n_text + 1);
    for (int i = from; i < a->n_text; i++) text[i - from] = str_of(a->text[i]);
    return text;
}

const char *const args_units[] = { "bytes", "chars", NULL };

ModelOpen args_open(const Args *a)
{
    const char *task = args_value(a, "task");
    if (!task) task = args_value(a, "model-type");
    if (!task && args_has(a, "force-task-detection")) task = "auto";
    const char *normalize = args_value(a, "normalize");
    if (!normalize && args_has(a, "normalize")) normalize = "true";
    return (ModelOpen){ .task = str_of(task), .tokenizer = args_value(a, "tokenizer"),
                        .processor = args_value(a, "processor"),
                        .pooling = str_of(args_value(a, "pooling")), .normalize = str_of(normalize) };
}

static bool is_first_word(const Args *a)
{
    for (int i = 0; i < a->n_given; i++)
        if (a->given[i].called == first_word) return true;
    return false;
}

/* One without an organization, as some of the oldest models have. */
static bool like_name(const char *word)
{
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p)) return false;
    return word[0] != 0;
}

bool args_model(Args *a, Model **out, Err *err)
{
    const char *path = args_value(a, "model");
    ModelOpen how = args_open(a);
    if (model_open_with(path, &how, out, err)) return true;
    if (!path && !a->packaged)
        fail(err, EF_USAGE,
             "Not a valid encoderfile: no payload at the end of this program (was it stripped or "
             "truncated?); a model can be named: encoderfile %s MODEL", a->command->name);
    else if (path && is_first_word(a) && !file_is(path) && !dir_is(path))
        fail(err, err->code, "%s (the first word is the model, since this program carries none: a folder, a "
             "file or a name on the Hub%s%s; a package that was stripped or truncated carries none either)",
             str_dup(&a->arena, str_of(err->message)), like_name(path) ? ", hf:" : "",
             like_name(path) ? path : "");
    return false;
}

bool args_verify(const Args *a, const Model *m, Err *err)
{
    if (!args_has(a, "verify")) return true;
    if (m->package.file.n) return package_verify(&m->package, err);
    return fail(err, EF_USAGE, "--verify: found a model that is no package, wanted one: only "
                "packages carry SHA-256 sums");
}

void args_free(Args *a)
{
    arena_free(&a->arena);
}
