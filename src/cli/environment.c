/* SPDX-License-Identifier: Apache-2.0
 * environment.c - options by environment variables: --http-port is ENCODERFILE_HTTP_PORT. A flag
 * wins, also over the variable of an option that cannot stand beside it. A bare PORT, which platforms
 * set, counts where neither says anything. */
#include <stdlib.h>

#include "base/log.h"
#include "cli/cli.h"

/* Keys of all sources count: a deployment's own, and one given by hand. */
static bool is_decided_by_flags(const Args *a, const Option *o, int n_flags)
{
    for (int i = 0; i < n_flags; i++)
        if (a->given[i].option == o) return o->kind != TAKES_KEYS && o->kind != TAKES_KEY_FILE;
    return args_conflict(a, o, n_flags) != NULL;
}

/* For a service "encoderfile-http" Kubernetes sets ENCODERFILE_HTTP_PORT=tcp://10.0.0.1:80. */
static bool is_of_kubernetes(const Option *o, const char *value)
{
    return o->kind == TAKES_PORT && str_starts(str_of(value), "tcp://");
}

/* What platforms set for any program counts last: it may be meant for another one. */
static void read_bare_port(Args *a)
{
    const Option *o = habit_port(a->command);
    const char *value = getenv("PORT");
    Err err = { 0 };
    if (!o || !value || !*value || args_has(a, o->name) || args_conflict(a, o, a->n_given)) return;
    if (!option_check(o, "PORT", str_of(value), &err)) return log_warn("ignored: %s", err.message);
    log_info("PORT=%s is taken for --%s", value, o->name);
    a->given[a->n_given++] = (Given){ o, value, "PORT" };
}

bool environment_read(Args *a, Err *err)
{
    const int n_flags = a->n_given;
    const Option *o;
    if (!a->command->environment) return true;
    for (int i = 0; (o = command_option(a->command, i)); i++) {
        const char *name = option_variable(&a->arena, o), *value = getenv(name);
        bool on = true;
        if (!value || o->refused || is_decided_by_flags(a, o, n_flags)) continue;
        if (is_of_kubernetes(o, value)) {
            log_warn("%s: ignored \"%s\": Kubernetes sets it for a service of that name", name, value);
            continue;
        }
        if (!option_check(o, name, str_of(value), err)) return false;
        if (!*value) return fail(err, EF_USAGE, "%s: found nothing, wanted a value", name);
        if (!o->argument) option_bool(str_of(value), &on);
        if (on) a->given[a->n_given++] = (Given){ o, o->argument ? value : NULL, name };
    }
    read_bare_port(a);
    return true;
}
