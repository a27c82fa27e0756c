/* SPDX-License-Identifier: Apache-2.0
 * help.c - what --help says, from the same rows that parse the line. */
#include "cli/cli.h"

bool help_lists(const Option *o, bool packaged)
{
    bool of_bare_models = strcmp(o->name, "model-type") == 0 ||
                          strcmp(o->name, "force-task-detection") == 0;
    return o->help && !o->refused && !(packaged && of_bare_models);
}

static void put_default(Buf *b, const Option *o)
{
    buf_puts(b, "; default ");
    if (option_number(o)) option_put_number(b, o, option_int(o, str_of(o->standard)));
    else buf_puts(b, o->standard);
}

void help_option_text(Buf *b, const Option *o)
{
    buf_puts(b, o->help);
    if (option_repeats(o)) buf_puts(b, "; may be given again");
    if (o->words) buf_puts(b, ": "), option_put_words(b, o->words, o->standard);
    else if (o->standard) put_default(b, o);
}

static void put_option(Buf *b, const Option *o)
{
    char left[64], letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    const char *frame[] = { o->may ? "[" : "", o->may ? "]" : "" };
    snprintf(left, sizeof left, "%s--%s %s%s%s", letter, o->name, frame[0],
             o->argument ? o->argument : "", frame[1]);
    buf_printf(b, "  %-30s ", left);
    help_option_text(b, o);
    buf_char(b, '\n');
}

const char *help_usage(const Command *c, bool packaged)
{
    static const char model[] = "[MODEL] ";
    const bool named = str_starts(str_of(c->usage), model);
    return packaged && named ? c->usage + sizeof model - 1 : c->usage;
}

void help_command(Buf *b, const Command *c, bool packaged)
{
    const Option *o = command_option(c, 0);
    buf_printf(b, "%s\n\nusage: encoderfile %s %s\n", c->summary, c->name, help_usage(c, packaged));
    if (o) buf_puts(b, "\noptions:\n");
    bool titled = false;
    for (int i = 0; (o = command_option(c, i)); i++) {
        if (params_row(o) && !titled) buf_puts(b, "\noptions of the model's task:\n");
        titled |= params_row(o);
        if (help_lists(o, packaged)) put_option(b, o);
    }
    if (c->environment)
        buf_puts(b, "\nEvery option has an environment variable: --max-body is "
                    "ENCODERFILE_MAX_BODY. Flags win.\n");
    if (c->note) buf_printf(b, "\n%s", c->note);
    buf_printf(b, "\nexample:\n%s", c->example);
}

void help_all(Buf *b, const Command *const *all, bool packaged)
{
    static const char *const titles[] = {
        "encoderfile - packs a transformer encoder into one executable, and runs it.\n",
        "This file is a model and the program that runs it.\n",
    };
    buf_puts(b, titles[packaged]);
    buf_puts(b, "\nusage: encoderfile COMMAND [OPTIONS]\n\ncommands:\n");
    size_t width = 0;
    for (const Command *const *c = all; *c; c++) width = MAX(width, strlen((*c)->name));
    for (; *all; all++)
        if (!(*all)->builder || !packaged)
            buf_printf(b, "  %-*s  %s\n", (int)width, (*all)->name, (*all)->summary);
    buf_puts(b, "\n`encoderfile COMMAND --help` explains one of them, with an example.\n"
                "`encoderfile --version` prints the version, `--help --json` all options.\n");
    if (packaged) buf_puts(b, "Without --model, commands use the model in this file.\n");
}
