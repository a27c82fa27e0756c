/* SPDX-License-Identifier: Apache-2.0
 * main.c - the commands, and the one place that turns an error into a line and an exit code. */
#include <signal.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"

const Command *const all_commands[] = {
#define X(name) &cmd_##name,
    COMMANDS(X)
#undef X
    NULL,
};

static bool packaged(void)
{
    Arena arena = { 0 };
    Err ignored;
    const char *self = path_self(&arena, &ignored);
    bool is = self && package_is(self);
    arena_free(&arena);
    return is;
}

static bool show_help(Args *a, Err *err)
{
    Buf text = { 0 };
    if (a->json_help) return help_json(a, all_commands, err);
    if (a->command) help_command(&text, a->command, a->packaged);
    else help_all(&text, all_commands, a->packaged);
    bool ok = out_buf(&text, err);
    buf_free(&text);
    return ok;
}

static bool dispatch(Args *a, int argc, char **argv, Err *err)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) argv[1] += 2; /* the command */
    if (!args_parse(a, all_commands, argc, argv, err)) return false;
    if (a->packaged && !a->help && !a->command) return describe_self(a, argv[0], err);
    if (a->help || !a->command) return show_help(a, err);
    if (args_has(a, "verbose")) log_limit(EF_LOG_DEBUG);
    return named_resolve(a, err) && a->command->run(a, err);
}

int main(int argc, char **argv)
{
    Args a = { .packaged = packaged() };
    Err err = { 0 };
    signal(SIGXFSZ, SIG_IGN); /* a file over the size limit is an error of write, not an end */
    signal(SIGPIPE, SIG_IGN);
    progress_show();
    alias_apply(&a.arena, &argc, &argv);
    bool ok = dispatch(&a, argc, argv, &err);
    args_free(&a);
    if (!ok && out_closed()) return 128 + SIGPIPE; /* who read it has seen enough */
    if (!ok) fprintf(stderr, "encoderfile: error: %s\n", err.message);
    return ok ? a.exit : err_kind(err.code)->exit;
}
