/* SPDX-License-Identifier: Apache-2.0
 * id.c - names of models: which texts are one, and their parts. */
#include <ctype.h>
#include <unistd.h>

#include "base/file.h"
#include "hub/hub.h"

enum { PART_MOST = 96, REVISION_MOST = 255, FILE_MOST = 1024 };
#define WANTED_ID "wanted ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE"

/* A part of "org/name": letters, digits, "-", "_" and ".", with a letter, digit or "_" at both
 * ends. */
static bool is_part(Str s)
{
    if (s.n == 0 || s.n > PART_MOST) return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool end = i == 0 || i == s.n - 1, plain = (c < 128 && isalnum(c)) || c == '_';
        if (!plain && (end || (c != '-' && c != '.'))) return false;
    }
    return true;
}

static bool id_has(Str s, const char *words)
{
    return memmem(s.p, s.n, words, strlen(words)) != NULL;
}

static bool is_repo(Str repo)
{
    const char *slash = memchr(repo.p, '/', repo.n);
    Str org = { repo.p, slash ? (size_t)(slash - repo.p) : 0 };
    Str name = slash ? (Str){ slash + 1, repo.n - org.n - 1 } : repo;
    return (!slash || is_part(org)) && is_part(name) && !id_has(repo, "--") &&
           !id_has(repo, "..") && !str_ends(repo, ".git");
}

/* A revision becomes a path of the cache, and of a URL. */
static bool is_revision(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || strchr("\\~^:?*[\177", s.p[i])) return false;
    return s.n <= REVISION_MOST && path_stays_inside(s);
}

static bool is_file_name(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == '\\') return false;
    return s.n <= FILE_MOST && path_stays_inside(s);
}

bool hub_id_parse(Str text, HubId *id, Err *err)
{
    Str rest = text;
    *id = (HubId){ .revision = STR("main") };
    const char *colon = memchr(rest.p, ':', rest.n);
    if (colon) {
        id->file = (Str){ colon + 1, (size_t)(rest.p + rest.n - colon - 1) };
        rest.n = (size_t)(colon - rest.p);
    }
    const char *at = memchr(rest.p, '@', rest.n);
    if (at) {
        id->revision = (Str){ at + 1, (size_t)(rest.p + rest.n - at - 1) };
        rest.n = (size_t)(at - rest.p);
    }
    id->repo = rest;
    if (is_repo(rest) && is_revision(id->revision) && (!colon || is_file_name(id->file)))
        return true;
    return fail(err, EF_USAGE, "hf:%.*s: found no name of a model, " WANTED_ID,
                (int)MIN(text.n, 200), text.p);
}

bool hub_is_name(const char *text)
{
    return strncmp(text, "hf:", 3) == 0;
}

const char *hub_name(Arena *arena, const char *typed)
{
    HubId id;
    Err ignored;
    if (hub_is_name(typed) || access(typed, F_OK) == 0) return typed;
    if (!hub_id_parse(str_of(typed), &id, &ignored)) return typed;
    const char *slash = memchr(id.repo.p, '/', id.repo.n);
    if (!slash || dir_is(str_dup(arena, (Str){ typed, (size_t)(slash - typed) }))) return typed;
    return str_format(arena, "hf:%s", typed);
}

Str hub_repo_at(Arena *arena, const char *path)
{
    const char *end = strstr(path, "/snapshots/"), *begin = end;
    static const char mark[] = "models--";
    while (begin && begin > path && begin[-1] != '/') begin--;
    if (!begin || strncmp(begin, mark, sizeof mark - 1) != 0) return (Str){ 0 };
    char *repo = str_dup(arena, (Str){ begin + sizeof mark - 1, (size_t)(end - begin) - sizeof mark + 1 });
    char *gap = strstr(repo, "--");
    if (gap) *gap = '/', memmove(gap + 1, gap + 2, strlen(gap + 2) + 1);
    return is_repo(str_of(repo)) ? str_of(repo) : (Str){ 0 };
}
