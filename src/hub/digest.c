/* SPDX-License-Identifier: Apache-2.0
 * digest.c - SHA-1 (FIPS 180-4), which git names small files by, and the comparison of a file with
 * its ETag. SHA-1 is no protection against a forger; TLS is. It finds damage. */
#include "hub/digest.h"

#include <ctype.h>
#include <errno.h>
#include <sys/mman.h>

#include "kernels/kernels.h"

enum { BLOCK = 64, SHA1_BYTES = 20, SHA256_BYTES = 32 };

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* The 80 words of a block: its own 16, and those that follow from them. */
static void expand_block(const uint8_t *p, uint32_t w[80])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
}

static void sha1_block(uint32_t state[5], const uint8_t *p)
{
    static const uint32_t k[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    expand_block(p, w);
    for (int i = 0; i < 80; i++) {
        uint32_t choose = d ^ (b & (c ^ d)), parity = b ^ c ^ d, majority = (b & c) | (d & (b | c));
        uint32_t f = i < 20 ? choose : i >= 40 && i < 60 ? majority : parity;
        uint32_t next = rotate(a, 5) + f + e + k[i / 20] + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

void sha1_start(Sha1 *s)
{
    *s = (Sha1){ .state = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 } };
}

void sha1_add(Sha1 *s, const void *data, size_t n)
{
    const uint8_t *p = data;
    while (n) {
        size_t held = s->length % BLOCK, take = MIN(n, BLOCK - held);
        memcpy(s->tail + held, p, take);
        s->length += take, p += take, n -= take;
        if (s->length % BLOCK == 0) sha1_block(s->state, s->tail);
    }
}

void sha1_end(Sha1 *s, uint8_t out[20])
{
    uint64_t bits = s->length * 8;
    uint8_t mark[2 * BLOCK] = { 0x80 };
    size_t zeros = (BLOCK + 55 - s->length % BLOCK) % BLOCK; /* to 8 bytes before a block's end */
    for (int i = 0; i < 8; i++) mark[1 + zeros + i] = (uint8_t)(bits >> (56 - 8 * i));
    sha1_add(s, mark, 1 + zeros + 8);
    for (int i = 0; i < SHA1_BYTES; i++) out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* ---- of files ---- */
bool digest_known(Str etag)
{
    for (size_t i = 0; i < etag.n; i++)
        if (!isdigit((unsigned char)etag.p[i]) && !(etag.p[i] >= 'a' && etag.p[i] <= 'f'))
            return false;
    return etag.n == 2 * SHA1_BYTES || etag.n == 2 * SHA256_BYTES;
}

static size_t git_digest(const uint8_t *p, size_t n, uint8_t out[SHA256_BYTES])
{
    Sha1 sha;
    char head[32];
    int length = snprintf(head, sizeof head, "blob %zu", n);
    sha1_start(&sha);
    sha1_add(&sha, head, (size_t)length + 1);
    sha1_add(&sha, p, n);
    sha1_end(&sha, out);
    return SHA1_BYTES;
}

static size_t lfs_digest(const uint8_t *p, size_t n, uint8_t out[SHA256_BYTES])
{
    Sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, p, n);
    sha256_end(&sha, out);
    return SHA256_BYTES;
}

bool digest_fits(Str bytes, const char *name, Str etag, Err *err)
{
    uint8_t digest[SHA256_BYTES];
    char text[2 * SHA256_BYTES + 1];
    bool git = etag.n == 2 * SHA1_BYTES;
    const uint8_t *p = (const uint8_t *)bytes.p;
    if (!digest_known(etag)) return true;
    size_t n = git ? git_digest(p, bytes.n, digest) : lfs_digest(p, bytes.n, digest);
    for (size_t i = 0; i < n; i++) sprintf(text + 2 * i, "%02x", digest[i]);
    return str_is(etag, text) ||
           fail(err, EF_IO,
                "%s: found bytes with the %s %s, wanted %.*s as the server said; they were "
                "thrown away",
                name, git ? "git SHA-1" : "SHA-256", text, STR_ARG(etag));
}

bool digest_check(int fd, uint64_t size, const char *name, Str etag, Err *err)
{
    size_t n = (size_t)size;
    if (!digest_known(etag)) return true;
    void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return fail(err, EF_IO, "%s: cannot be mapped: %s", name, strerror(errno));
    madvise(p, n, MADV_SEQUENTIAL);
    bool ok = digest_fits((Str){ p, n }, name, etag, err);
    munmap(p, n);
    return ok;
}
