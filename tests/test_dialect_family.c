/* SPDX-License-Identifier: Apache-2.0
 * test_dialect_family.c - the rows of the families: who has a path that two of them know, aliases, forms of errors,
 * and that a row says everything that the server asks for. */
#include "check.h"
#include "data/json.h"
#include "server/routes.h"

static Arena arena;
static ModelConfig config = { .num_labels = 2 };

static Site site_for(const char *task, const Family *preferred)
{
    Site site = { .task = task_find(str_of(task)), .config = &config };
    routes_make(&arena, &site, preferred, true);
    return site;
}

static const Route *find(const Site *site, const char *method, const char *path)
{
    Err err = { 0 };
    const char *allow;
    return route_find(site, (Asked){ .method = str_of(method), .path = str_of(path) }, &allow, &err);
}

static void test_shared_path(void)
{
    TEST("a path that two families have");
    Site own = site_for("sequence_classification", NULL), tei = site_for("sequence_classification", &family_tei);
    Site other = site_for("token_classification", &family_tei); /* TEI's /predict is not for it */
    CHECK(find(&own, "POST", "/predict")->job == &kind_predict_any);
    CHECK(find(&other, "POST", "/predict")->job == &kind_predict_any);
    const Route *theirs = find(&tei, "POST", "/predict");
    CHECK(theirs->job == &kind_tei_predict && theirs != find(&own, "POST", "/predict"));
    CHECK(theirs->line == &kind_predict); /* lines are nothing that TEI knows */
    CHECK(own.routes == tei.routes && own.routes == other.routes);
}

static void test_alias(void)
{
    TEST("aliases");
    Site site = site_for("embedding", NULL);
    static const struct { const char *method, *path, *same; } rows[] = {
        { "GET", "/ping", "/health" },
        { "GET", "/api-doc/openapi.json", "/openapi.json" },
        { "POST", "/invocations", "/" },
        { "POST", "/embeddings", "/v1/embeddings" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const Route *a = find(&site, rows[i].method, rows[i].path), *b = find(&site, rows[i].method, rows[i].same);
        if (!CHECK(a && b && a != b)) continue;
        CHECK(a->render == b->render && a->job == b->job && a->open == b->open && a->family == b->family);
        CHECK(!route_described(a, &site) && route_described(b, &site));
        CHECK(strcmp(a->path, rows[i].path) == 0 && strcmp(a->id, b->id) != 0);
    }
}

/* A row that the server could not use would be found by nobody but a client. */
static void test_rows(void)
{
    TEST("rows");
    Site site = site_for("sequence_classification", NULL);
    for (size_t i = 0; i < site.routes; i++) {
        const Route *r = &site.route[i];
        bool ok = r->method && r->path && r->id && r->summary && (r->render || r->job || r->handler || r->web);
        ok = ok && (!r->job || (r->job->family && r->job->read && r->job->request && r->job->reply));
        ok = ok && (!r->job || r->job->finish || r->job->item || r->job->other);
        if (!CHECK(ok)) printf("  %s %s\n", r->method, r->path);
        for (size_t k = 0; k < i; k++) CHECK(strcmp(site.route[k].id, r->id) != 0);
    }
    for (int i = 0; families[i]; i++) {
        const GrpcService *s = families[i]->services ? families[i]->services(&arena, &site) : NULL;
        for (; s && s->name; s++)
            for (const GrpcMethod *m = s->method; m->name; m++)
                if (!CHECK(!m->answer && !m->kind != !m->page && (!m->kind || m->kind->family == families[i])))
                    printf("  %s.%s\n", s->name, m->name);
    }
}

static void test_errors(void)
{
    static const struct { ef_code code; const Family *family; int status; const char *page; } rows[] = {
        { EF_EMPTY, NULL, 422, "{\"error\":{\"message\":\"inputs: found none\",\"type\":\"invalid_input\"," },
        { EF_EMPTY, &family_openai, 422, "{\"error\":{\"message\":\"inputs: found none\",\"type\":\"invalid_input\"," },
        { EF_EMPTY, &family_tei, 400, "{\"error\":\"inputs: found none\",\"error_type\":\"Empty\"}" },
        { EF_EMPTY, &family_hub, 400, "{\"error\":\"inputs: found none\",\"error_type\":\"Empty\"}" },
        { EF_INTERNAL, &family_cohere, 500, "{\"error\":{\"message\":" },
        { EF_INTERNAL, &family_tei, 424, "{\"error\":\"inputs: found none\",\"error_type\":\"Backend\"}" },
        { EF_OVERLOADED, &family_tei, 429, "{\"error\":\"inputs: found none\",\"error_type\":\"Overloaded\"}" },
    };
    TEST("errors");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Err err = { 0 };
        Buf out = { .arena = &arena };
        fail(&err, rows[i].code, "inputs: found none");
        int status = error_status(&err, rows[i].family);
        error_write(&out, &err, status, rows[i].family);
        if (!CHECK(status == rows[i].status && str_starts(buf_view(&out), rows[i].page)))
            printf("  %d %.*s\n", status, STR_ARG(buf_view(&out)));
    }
}

int main(void)
{
    test_shared_path();
    test_alias();
    test_rows();
    test_errors();
    arena_free(&arena);
    return finish();
}
