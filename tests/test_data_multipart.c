/* SPDX-License-Identifier: Apache-2.0
 * test_data_multipart.c - forms as curl and browsers send them, and broken ones. */
#include "check.h"
#include "data/multipart.h"

static Arena arena;
static Err err;
static FormPart *part;
static size_t n;

static bool read_form(const char *body, const char *boundary)
{
    err = (Err){ 0 };
    return multipart_read(&arena, str_of(body), str_of(boundary), 3, &part, &n, &err);
}

static void test_boundary(void)
{
    TEST("boundary");
    Str b;
    CHECK(multipart_boundary(STR("multipart/form-data; boundary=abc"), &b, &err) && str_is(b, "abc"));
    CHECK(multipart_boundary(STR("multipart/form-data; charset=x; Boundary=\"a b\""), &b, &err) && str_is(b, "a b"));
    CHECK(multipart_boundary(STR("multipart/form-data;boundary=abc;x=y"), &b, &err) && str_is(b, "abc"));
    CHECK(!multipart_boundary(STR("multipart/form-data"), &b, &err) && err.code == EF_BAD_REQUEST);
    CHECK(!multipart_boundary(STR("multipart/form-data; boundary="), &b, &err));
    CHECK(!multipart_boundary(STR("multipart/form-data; xboundary=a"), &b, &err));
}

static void test_parts(void)
{
    TEST("parts");
    CHECK(read_form("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\\\"b.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
                    "\r\nx--b\r\n\r\n--b\r\ncontent-disposition: form-data; name=top_k\r\n\r\n3\r\n--b--\r\n", "b") && n == 2);
    CHECK(str_is(part[0].name, "files") && str_is(part[0].file, "a\\\"b.jpg") && str_is(part[0].bytes, "\r\nx--b\r\n"));
    CHECK(str_is(part[1].name, "top_k") && !part[1].file.p && str_is(part[1].bytes, "3"));
    CHECK(read_form("a word before\r\n--b \r\nContent-Disposition: form-data; name=x; filename=\"\"\r\n\r\n\r\n--b--", "b") && n == 1);
    CHECK(part[0].file.p && part[0].file.n == 0 && part[0].bytes.n == 0);
    CHECK(read_form("--b--", "b") && n == 0);
}

static void test_broken(void)
{
    TEST("broken");
#define HEAD "Content-Disposition: form-data; name=x\r\n\r\n"
    static const char *const bodies[] = {
        "", "x", "--b", "--b\r\n", "--bx\r\n", "--b\r\n\r\n\r\n--b--", "--b\r\n" HEAD, "--b\r\n" HEAD "1\r\n--c--",
        "--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--", "--b\r\n" HEAD "1\r\n--b",
    };
    for (size_t i = 0; i < COUNT(bodies); i++)
        if (!CHECK(!read_form(bodies[i], "b") && err.code == EF_BAD_REQUEST && says(&err, "multipart parse error")))
            printf("  %zu\n", i);
#define ONE "--b\r\n" HEAD "1\r\n"
    CHECK(read_form(ONE ONE ONE "--b--", "b") && n == 3);
    CHECK(!read_form(ONE ONE ONE ONE "--b--", "b") && err.code == EF_TOO_LARGE);
}

int main(void)
{
    test_boundary();
    test_parts();
    test_broken();
    arena_free(&arena);
    return finish();
}
