/* SPDX-License-Identifier: Apache-2.0
 * settings.c - the variables of huggingface_hub, with its defaults. */
#include "hub/settings.h"

#include <stdlib.h>
#include <strings.h>

#include "base/file.h"

enum { TOKEN_MOST = 4096, SECONDS = 10, SECONDS_MOST = 3600 };
#define PUBLIC_SITE "https://huggingface.co"

/* The first of these that is set and not empty. */
static const char *setting(const char *one, const char *other)
{
    const char *value = getenv(one);
    if ((!value || !*value) && other) value = getenv(other);
    return value && *value ? value : NULL;
}

/* "~/x" is below the user's home. */
static const char *with_home(Arena *arena, const char *path)
{
    const char *home = getenv("HOME");
    return path[0] == '~' && path[1] == '/' && home ? path_join(arena, home, str_of(path + 2))
                                                    : path;
}

static const char *hub_home(Arena *arena)
{
    const char *said = setting("HF_HOME", NULL), *cache = setting("XDG_CACHE_HOME", NULL);
    if (said) return with_home(arena, said);
    return path_join(arena, with_home(arena, cache ? cache : "~/.cache"), STR("huggingface"));
}

static bool is_true(const char *value)
{
    static const char *const words[] = { "1", "on", "yes", "true" };
    for (size_t i = 0; value && i < COUNT(words); i++)
        if (strcasecmp(value, words[i]) == 0) return true;
    return false;
}

/* Without what would end a header line. */
static Str clean_token(Str token)
{
    while (token.n && (unsigned char)token.p[0] <= ' ') token.p++, token.n--;
    while (token.n && (unsigned char)token.p[token.n - 1] <= ' ') token.n--;
    for (size_t i = 0; i < token.n; i++)
        if ((unsigned char)token.p[i] <= ' ' || token.p[i] == 0x7f) return (Str){ 0 };
    return token;
}

static Str hub_token(Arena *arena, const char *home)
{
    const char *path = setting("HF_TOKEN_PATH", NULL);
    Str token = clean_token(str_of(setting("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")));
    Err ignored;
    if (token.n) return token;
    path = path ? with_home(arena, path) : path_join(arena, home, STR("token"));
    return file_read(arena, path, TOKEN_MOST, &token, &ignored) ? clean_token(token) : (Str){ 0 };
}

static bool read_site(Arena *arena, HubSettings *s, Err *err)
{
    const char *said = setting("HF_ENDPOINT", NULL);
    Str site = str_of(said ? said : PUBLIC_SITE);
    while (site.n && site.p[site.n - 1] == '/') site.n--;
    s->site = str_dup(arena, site);
    bool ok = url_parse(arena, site, &s->endpoint, err) && url_is_safe(&s->endpoint, err);
    if (ok && s->endpoint.user.n) /* it would stand in messages, and is never sent */
        ok = fail(err, EF_USAGE, "found a name or password before %s, wanted HF_TOKEN instead", s->endpoint.host);
    return ok || within(err, "HF_ENDPOINT");
}

bool hub_settings_read(Arena *arena, HubSettings *s, Err *err)
{
    const char *home = hub_home(arena), *cache = setting("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE");
    const char *seconds = setting("HF_HUB_DOWNLOAD_TIMEOUT", NULL);
    int64_t number;
    *s = (HubSettings){ .cache =
                            cache ? with_home(arena, cache) : path_join(arena, home, STR("hub")),
                        .offline = is_true(setting("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")),
                        .seconds = SECONDS };
    if (seconds && str_int(str_of(seconds), &number) && number > 0)
        s->seconds = (int)MIN(number, SECONDS_MOST);
    s->token = hub_token(arena, home);
    return read_site(arena, s, err);
}
