/* SPDX-License-Identifier: Apache-2.0
 * cmd_man.c - manual pages in roff, from the rows that parse the line: `make man` writes them all. */
#include "cli/cli.h"

/* Text as it is: "\", and "." or "'" at the start of a line, are for roff; "-" is the one of options. */
static void put_roff(Buf *b, const char *text)
{
    for (bool begins = true; *text; begins = *text++ == '\n') {
        if (begins && (*text == '.' || *text == '\'')) buf_puts(b, "\\&");
        if (*text == '\\') buf_puts(b, "\\e");
        else if (*text == '-') buf_puts(b, "\\-");
        else buf_char(b, *text);
    }
}

/* The name of a page: "onnx run" is onnx-run. */
static void put_page(Buf *b, const char *command)
{
    buf_puts(b, "encoderfile");
    if (command) buf_puts(b, "\\-");
    for (; command && *command; command++)
        buf_puts(b, *command == ' ' || *command == '-' ? "\\-" : (char[]){ *command, 0 });
}

static void put_head(Buf *b, const char *command, const char *summary)
{
    buf_puts(b, ".TH \"");
    put_page(b, command);
    buf_puts(b, "\" 1 \"\" \"encoderfile " EF_VERSION "\" \"User Commands\"\n.SH NAME\n");
    put_page(b, command);
    buf_puts(b, " \\- ");
    put_roff(b, summary);
    buf_puts(b, "\n.SH SYNOPSIS\n");
}

static void put_option(Buf *b, const Command *c, const Option *o)
{
    Arena scratch = { 0 };
    buf_puts(b, ".TP\n");
    if (o->letter) buf_printf(b, "\\fB\\-%c\\fR, ", o->letter);
    buf_puts(b, "\\fB\\-\\-");
    put_roff(b, o->name);
    buf_puts(b, "\\fR");
    if (o->argument) buf_printf(b, o->may ? " [\\fI%s\\fR]" : " \\fI%s\\fR", o->argument);
    buf_char(b, '\n');
    Buf line = { .arena = &scratch };
    help_option_text(&line, o);
    if (c->environment) buf_printf(&line, " (%s)", option_variable(&scratch, o));
    put_roff(b, str_dup(&scratch, buf_view(&line)));
    buf_char(b, '\n');
    arena_free(&scratch);
}

static void put_example(Buf *b, const char *title, const char *text)
{
    if (!text) return;
    buf_printf(b, ".SH %s\n.nf\n", title);
    put_roff(b, text);
    buf_puts(b, ".fi\n");
}

static void put_command(Buf *b, const Command *c, bool packaged)
{
    const Option *o;
    put_head(b, c->name, c->summary);
    buf_puts(b, "\\fBencoderfile ");
    put_roff(b, c->name);
    buf_puts(b, "\\fR ");
    put_roff(b, help_usage(c, packaged));
    buf_char(b, '\n');
    if (command_option(c, 0)) buf_puts(b, ".SH OPTIONS\n");
    for (int i = 0; (o = command_option(c, i)); i++)
        if (help_lists(o, packaged)) put_option(b, c, o);
    put_example(b, "NOTES", c->note);
    put_example(b, "EXAMPLES", c->example);
    buf_puts(b, ".SH SEE ALSO\n\\fBencoderfile\\fR(1)\n");
}

static void put_overview(Buf *b, bool packaged)
{
    put_head(b, NULL, "packs a transformer encoder into one executable, and runs it");
    buf_puts(b, "\\fBencoderfile\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n");
    for (const Command *const *c = all_commands; *c; c++) {
        if ((*c)->builder && packaged) continue;
        buf_puts(b, ".TP\n\\fB");
        put_page(b, (*c)->name);
        buf_puts(b, "\\fR(1)\n");
        put_roff(b, (*c)->summary);
        buf_char(b, '\n');
    }
}

static bool man_run(Args *a, Err *err)
{
    Buf b = { .arena = &a->arena };
    Buf name = { .arena = &a->arena };
    for (int i = 0; i < a->n_text; i++) buf_printf(&name, "%s%s", i ? " " : "", a->text[i]);
    if (!name.n) return put_overview(&b, a->packaged), out_buf(&b, err);
    for (const Command *const *c = all_commands; *c; c++) {
        if (!str_is(buf_view(&name), (*c)->name)) continue;
        put_command(&b, *c, a->packaged);
        return out_buf(&b, err);
    }
    return fail(err, EF_USAGE, "man: found \"%.*s\", wanted a command; --help lists them", (int)name.n,
                name.p);
}

static const Option options[] = { { 0 } };
const Command cmd_man = {
    .name = "man",
    .summary = "print the manual page of a command, for man(1)",
    .usage = "[COMMAND]",
    .options = options,
    .run = man_run,
    .example = "  encoderfile man serve | man -l -\n",
};
