/* SPDX-License-Identifier: Apache-2.0
 * cmd_completions.c - a script that completes commands, options and their words in a shell, from the
 * rows that parse the line. */
#include <ctype.h>

#include "base/file.h"
#include "cli/cli.h"

typedef struct Completing {
    Buf out;
    const char *program;   /* whose line is completed */
    const char *function;  /* its name in the script */
    bool packaged;
} Completing;

/* ---- rows ---- */

/* The next command that is listed, from *at on; NULL: no more. */
static const Command *next_command(const Completing *c, size_t *at)
{
    while (all_commands[*at] && all_commands[*at]->builder && c->packaged) ++*at;
    return all_commands[*at] ? all_commands[(*at)++] : NULL;
}

static const Option *next_option(const Completing *c, const Command *command, int *at)
{
    const Option *o;
    while ((o = command_option(command, (*at)++)))
        if (help_lists(o, c->packaged)) return o;
    return NULL;
}

static bool takes_file(const Option *o)
{
    static const char *const names[] = { "FILE", "DIR", "PATH", "OUT" };
    bool is = o->kind == TAKES_PATH || o->kind == TAKES_KEY_FILE;
    for (size_t i = 0; i < COUNT(names) && o->argument; i++) is |= strcmp(o->argument, names[i]) == 0;
    return is;
}

static const char *const *completed_words(const Option *o)
{
    return o->may ? o->may : o->words;
}

/* The words of a list, one space between. */
static void put_words(Buf *b, const char *const *words)
{
    for (int i = 0; words[i]; i++) buf_printf(b, "%s%s", i ? " " : "", words[i]);
}

/* Text inside '...', without some letters that the shell would take for something else. */
static void put_quoted(Buf *b, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'') buf_puts(b, "'\\''");
        else if (*text == '\n') buf_char(b, ' ');
        else if (strchr(special, *text)) buf_printf(b, "\\%c", *text);
        else buf_char(b, *text);
    }
}

/* First words of commands of two, each once. */
static void put_first_words(Completing *c)
{
    const Command *command;
    const char *last = "";
    size_t n = 0;
    for (size_t at = 0; (command = next_command(c, &at));) {
        const size_t length = strcspn(command->name, " ");
        if (n == length && strncmp(last, command->name, n) == 0) continue;
        buf_printf(&c->out, "%s%.*s", n ? " " : "", (int)length, command->name);
        last = command->name, n = length;
    }
}

/* The commands that begin with a word of two, as a list of second words; nothing: none does. */
static void put_second_words(Completing *c, const char *first, size_t n)
{
    const Command *command;
    bool more = false;
    for (size_t at = 0; (command = next_command(c, &at));) {
        if (strncmp(command->name, first, n) != 0 || command->name[n] != ' ') continue;
        buf_printf(&c->out, "%s%s", more ? " " : "", command->name + n + 1);
        more = true;
    }
}

/* Calls put for each first word of commands of two. */
static void each_group(Completing *c, void (*put)(Completing *, const char *first, size_t n))
{
    const Command *command;
    const char *last = "";
    for (size_t at = 0; (command = next_command(c, &at));) {
        const size_t n = strcspn(command->name, " ");
        if (!command->name[n] || strncmp(last, command->name, n + 1) == 0) continue;
        put(c, command->name, n);
        last = command->name;
    }
}

/* ---- bash ---- */

#define BASH_WORDS \
    "    if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return; fi\n"

static void put_bash_group(Completing *c, const char *first, size_t n)
{
    buf_printf(&c->out, "        %.*s) command=\"%.*s $second\"; [[ -n $second ]] || words=\"", (int)n, first,
               (int)n, first);
    put_second_words(c, first, n);
    buf_puts(&c->out, "\" ;;\n");
}

static void put_bash_values(Completing *c, const Command *command)
{
    const Option *o;
    for (int at = 0; (o = next_option(c, command, &at));) {
        if (!o->argument || (!completed_words(o) && !takes_file(o))) continue;
        buf_printf(&c->out, "        '%s --%s'", command->name, o->name);
        if (o->letter) buf_printf(&c->out, " | '%s -%c'", command->name, o->letter);
        buf_puts(&c->out, ") words=\"");
        if (completed_words(o)) put_words(&c->out, completed_words(o));
        buf_puts(&c->out, takes_file(o) ? "\"; files=1 ;;\n" : "\" ;;\n");
    }
}

static void put_bash_options(Completing *c, const Command *command)
{
    const Option *o;
    buf_printf(&c->out, "        '%s') options=\"--help", command->name);
    for (int at = 0; (o = next_option(c, command, &at));) buf_printf(&c->out, " --%s", o->name);
    buf_puts(&c->out, "\" ;;\n");
}

static void put_bash(Completing *c)
{
    Buf *b = &c->out;
    const Command *command;
    buf_printf(b, "# bash: source <(%s completions bash)\n%s() {\n", c->program, c->function);
    buf_puts(b, "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local command= second= words= options= files= w\n"
                "    for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                "        case $w in -*) ;; *) [[ -n $command ]] && second=${second:-$w} || command=$w ;; esac\n"
                "    done\n"
                "    case $command in\n        '') words=\"");
    put_first_words(c);
    buf_puts(b, "\" ;;\n");
    each_group(c, put_bash_group);
    buf_puts(b, "    esac\n" BASH_WORDS "    case \"$command $prev\" in\n");
    for (size_t at = 0; (command = next_command(c, &at));) put_bash_values(c, command);
    buf_puts(b, "    esac\n    if [[ -n $files ]]; then COMPREPLY=($(compgen -f -- \"$cur\")); return; fi\n"
                BASH_WORDS "    case \"$command\" in\n");
    for (size_t at = 0; (command = next_command(c, &at));) put_bash_options(c, command);
    buf_puts(b, "    esac\n"
                "    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                "    else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n}\n");
    buf_printf(b, "complete -o filenames -F %s %s\n", c->function, c->program);
}

/* ---- zsh ---- */

static void put_zsh_option(Completing *c, const Option *o)
{
    Buf *b = &c->out;
    buf_printf(b, " \\\n            '%s--%s[", option_repeats(o) ? "*" : "", o->name);
    put_quoted(b, o->help, "[]:");
    buf_char(b, ']');
    if (o->argument) buf_printf(b, "%s:%s:", o->may ? ":" : "", o->argument);
    if (o->argument && completed_words(o)) buf_char(b, '('), put_words(b, completed_words(o)), buf_char(b, ')');
    else if (o->argument && takes_file(o)) buf_puts(b, "_files");
    buf_char(b, '\'');
}

static void put_zsh_command(Completing *c, const Command *command)
{
    const Option *o;
    buf_printf(&c->out, "        '%s')\n            _arguments", command->name);
    for (int at = 0; (o = next_option(c, command, &at));) put_zsh_option(c, o);
    buf_puts(&c->out, " \\\n            '*:file:_files' ;;\n");
}

static void put_zsh_group(Completing *c, const char *first, size_t n)
{
    buf_printf(&c->out, "    if (( CURRENT == 3 )) && [[ $words[2] == %.*s ]]; then compadd ", (int)n, first);
    put_second_words(c, first, n);
    buf_puts(&c->out, "; return; fi\n");
    buf_printf(&c->out, "    [[ $words[2] == %.*s ]] && command=\"$words[2] $words[3]\"\n", (int)n, first);
}

static void put_zsh(Completing *c)
{
    Buf *b = &c->out;
    const Command *command;
    buf_printf(b, "#compdef %s\n# zsh: %s completions zsh >\"${fpath[1]}/_%s\"\n%s() {\n"
               "    local command=$words[2]\n    local -a commands=(\n", c->program, c->program, c->program,
               c->function);
    for (size_t at = 0; (command = next_command(c, &at));) {
        if (strchr(command->name, ' ')) continue;
        buf_printf(b, "        '%s:", command->name);
        put_quoted(b, command->summary, ":");
        buf_puts(b, "'\n");
    }
    buf_puts(b, "    )\n    if (( CURRENT == 2 )); then _describe command commands; compadd ");
    put_first_words(c);
    buf_puts(b, "; return; fi\n");
    each_group(c, put_zsh_group);
    buf_puts(b, "    case $command in\n");
    for (size_t at = 0; (command = next_command(c, &at));) put_zsh_command(c, command);
    buf_printf(b, "    esac\n}\ncompdef %s %s\n", c->function, c->program);
}

/* ---- fish ---- */

static void put_fish_option(Completing *c, const Command *command, const Option *o)
{
    Buf *b = &c->out;
    const char *space = strchr(command->name, ' ');
    buf_printf(b, "complete -c %s -n '__fish_seen_subcommand_from %.*s", c->program,
               space ? (int)(space - command->name) : (int)strlen(command->name), command->name);
    if (space) buf_printf(b, "; and __fish_seen_subcommand_from %s", space + 1);
    buf_printf(b, "' -l %s", o->name);
    if (o->letter) buf_printf(b, " -s %c", o->letter);
    if (o->argument && !o->may) buf_puts(b, takes_file(o) ? " -r -F" : " -x");
    if (completed_words(o)) buf_puts(b, " -a '"), put_words(b, completed_words(o)), buf_char(b, '\'');
    buf_puts(b, " -d '");
    put_quoted(b, o->help, "\\");
    buf_puts(b, "'\n");
}

static void put_fish(Completing *c)
{
    Buf *b = &c->out;
    const Command *command;
    const Option *o;
    buf_printf(b, "# fish: %s completions fish >~/.config/fish/completions/%s.fish\n", c->program, c->program);
    for (size_t at = 0; (command = next_command(c, &at));) {
        const char *space = strchr(command->name, ' ');
        buf_printf(b, "complete -c %s -n '", c->program);
        if (space) buf_printf(b, "__fish_seen_subcommand_from %.*s' -f -a '%s", (int)(space - command->name),
                              command->name, space + 1);
        else buf_printf(b, "__fish_use_subcommand' -a '%s", command->name);
        buf_puts(b, "' -d '");
        put_quoted(b, command->summary, "\\");
        buf_puts(b, "'\n");
        for (int k = 0; (o = next_option(c, command, &k));) put_fish_option(c, command, o);
    }
    buf_printf(b, "complete -c %s -f -n __fish_use_subcommand -a '", c->program);
    put_first_words(c);
    buf_puts(b, "'\n");
}

/* ---- the command ---- */

static const struct Shell {
    const char *name;
    void (*put)(Completing *);
} shells[] = { { "bash", put_bash }, { "zsh", put_zsh }, { "fish", put_fish } };

static bool name_program(Args *a, Completing *c, Err *err)
{
    c->program = "encoderfile";
    if (a->packaged) {
        const char *self = path_self(&a->arena, err);
        if (!self) return false;
        c->program = str_dup(&a->arena, path_name(self));
    }
    char *name = str_format(&a->arena, "_%s", c->program);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    c->function = name;
    return true;
}

static bool completions_run(Args *a, Err *err)
{
    Completing c = { .out = { .arena = &a->arena }, .packaged = a->packaged };
    if (a->n_text != 1) return fail(err, EF_USAGE, "completions: wanted bash, zsh or fish");
    for (size_t i = 0; i < COUNT(shells); i++) {
        if (strcmp(shells[i].name, a->text[0]) != 0) continue;
        if (!name_program(a, &c, err)) return false;
        shells[i].put(&c);
        return out_buf(&c.out, err);
    }
    return fail(err, EF_USAGE, "completions: found \"%s\", wanted bash, zsh or fish", a->text[0]);
}

static const Option options[] = { { 0 } };
const Command cmd_completions = {
    .name = "completions",
    .summary = "print a script that completes commands and options in a shell",
    .usage = "bash|zsh|fish",
    .options = options,
    .run = completions_run,
    .example = "  source <(encoderfile completions bash)\n"
               "  encoderfile completions zsh >\"${fpath[1]}/_encoderfile\"\n"
               "  encoderfile completions fish >~/.config/fish/completions/encoderfile.fish\n",
};
