/* SPDX-License-Identifier: Apache-2.0
 * test_kernels.c - what the tables stand on: packing, selection by CPU; SHA-256, rows of pixels. The families of
 * slots have their own files: test_kernels_gemm, _attention, _rows. */
#include "kernel_case.h"

/* ---- SHA-256 ---- */
static void test_sha256(const Kernels *t)
{
    for (size_t count = 0; count < 6; count++) {
        uint8_t *blocks = exact(count * 64);
        uint32_t want[8], got[8];
        for (size_t i = 0; i < count * 64; i++) blocks[i] = (uint8_t)random_bits();
        for (int i = 0; i < 8; i++) want[i] = got[i] = random_bits();
        kern_scalar.sha256(want, blocks, count);
        t->sha256(got, blocks, count);
        CHECK(same(want, got, sizeof(want)));
        free(blocks);
    }
}

/* ---- rows of pixels ---- */
/* Weights as a filter's: positive and negative, and their sum about 1 of 22 bits. */
static void blend_case(const Kernels *t, int taps, int64_t n, int shift)
{
    int64_t ld = n + 5;
    uint8_t *rows = exact((size_t)((taps - 1) * ld + n)), *want = exact((size_t)n), *got = exact((size_t)n);
    int32_t *weight = exact(sizeof *weight * (size_t)taps);
    for (int64_t i = 0; i < (taps - 1) * ld + n; i++) rows[i] = (uint8_t)(random_bits() % 3 ? random_bits() : 255);
    for (int i = 0; i < taps; i++)
        weight[i] = (int32_t)(((int64_t)1 << shift) * (i % 3 ? 3 : -1) / (taps + 1)) + (int32_t)(random_bits() % 999);
    kern_scalar.blend_rows(rows, ld, weight, taps, shift, want, n);
    t->blend_rows(rows, ld, weight, taps, shift, got, n);
    CHECK(same(want, got, (size_t)n));
    free(rows), free(want), free(got), free(weight);
}

static void test_blend_rows(const Kernels *t)
{
    static const int64_t sizes[] = { 1, 3, 15, 16, 17, 47, 48, 49, 63, 96, 100, 145 };
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (int taps = 1; taps < 20; taps += 1 + taps / 4) {
            blend_case(t, taps, sizes[i], 22);
            blend_case(t, taps, sizes[i], 15);
        }
}

static bool digest_is(const char *text, size_t repeat, size_t most, const char *hex)
{
    size_t n = strlen(text), total = n * repeat;
    char *all = exact(total), out[65];
    for (size_t i = 0; i < repeat; i++) memcpy(all + i * n, text, n);
    Sha256 s;
    uint8_t digest[32];
    sha256_start(&s);
    for (size_t at = 0, step; at < total; at += step) {
        step = 1 + (size_t)random_below((int64_t)most);
        step = MIN(total - at, step);
        sha256_add(&s, all + at, step);
    }
    sha256_end(&s, digest);
    free(all);
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return !strcmp(out, hex);
}

static void test_digests(void)
{
    TEST("digests");
    for (size_t most = 1; most < 300; most *= 3) {
        CHECK(digest_is("", 1, most,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
        CHECK(digest_is("abc", 1, most,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        CHECK(digest_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, most,
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    }
    CHECK(digest_is("a", 1000000, 5000,
                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}

/* ---- packing, selection ---- */
static void test_pack(void)
{
    TEST("pack");
    static const int64_t sizes[] = { 1, 3, 4, 15, 16, 17, 33 };
    for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes); i++) {
        int64_t N = sizes[i / COUNT(sizes)], K = sizes[i % COUNT(sizes)], K4 = ROUND_UP(K, 4);
        int64_t K2 = ROUND_UP(K, 2);
        int wrong = 0;
        int8_t *w = exact((size_t)(N * K)), *panels = exact(panels_i8_size(N, K));
        int32_t *sums = exact((size_t)ROUND_UP(N, PANEL) * sizeof(int32_t));
        float *wf = exact((size_t)(N * K) * sizeof(float));
        float *panels_f = exact(panels_f32_size(N, K) * sizeof(float));
        uint16_t *panels_b = exact(panels_bf16_size(N, K) * sizeof(uint16_t));
        for (int64_t j = 0; j < N * K; j++) wf[j] = w[j] = (int8_t)random_bits();
        for (int transposed = 0; transposed < 2; transposed++) {
            panels_i8_pack(w, transposed, N, K, panels, sums);
            panels_f32_pack(wf, transposed, N, K, panels_f);
            panels_bf16_pack(wf, transposed, N, K, panels_b);
            for (int64_t n = 0; n < ROUND_UP(N, PANEL); n++) {
                int32_t sum = 0;
                for (int64_t k = 0; k < K4; k++) {
                    int want = n < N && k < K ? w[transposed ? n * K + k : k * N + n] : 0;
                    sum += want;
                    wrong += panels[n / 16 * 16 * K4 + k / 4 * 64 + n % 16 * 4 + k % 4] != want;
                    if (k < K) wrong += panels_f[n / 16 * 16 * K + k * 16 + n % 16] != (float)want;
                    if (k >= K2) continue;
                    uint16_t b = panels_b[n / 16 * 16 * K2 + k / 2 * 32 + n % 16 * 2 + k % 2];
                    wrong += bf16_to_f32(b) != (float)want;
                }
                wrong += sums[n] != sum;
            }
        }
        CHECK(!wrong);
        free(w), free(panels), free(sums), free(wf), free(panels_f), free(panels_b);
    }
}

/* One lane of 16 bits at the most that fits, and one more; an end of K is no block. */
static void test_fits(void)
{
    TEST("fits");
    enum { K = 2 * FITS_K + 4, N = PANEL };
    static const int8_t lane[] = { 127, -128, 0, 64, -64, 127, 1, 0 }; /* 511 */
    int8_t w[K * N] = { 0 }, panels[K * N];
    int32_t sums[N];
    uint8_t fits[1];
    CHECK(fits_row(K) == 1 && fits_row(128) == 1 && fits_row(129) == 2);
    for (int i = 0; i < 8; i++) w[(FITS_K + i / 2 * 4 + 2 + i % 2) * N + 5] = lane[i];
    w[(FITS_K + 2) * N + 6] = 127; /* a neighbour */
    for (int more = 0; more < 2; more++) {
        w[(FITS_K + 15) * N + 5] = (int8_t)more;
        panels_i8_pack(w, false, N, K, panels, sums);
        panels_i8_fits(panels, N, K, fits);
        CHECK(fits[0] == (more ? 1 : 3));
    }
}

static void test_select(void)
{
    TEST("select");
    Kernels none = kernels_select(0);
    CHECK(!strcmp(none.isa, "scalar") && none.needs == 0);
    for (uint64_t cpu = 0; cpu < 512; cpu++) {
        Kernels k = kernels_select(cpu);
        CHECK(k.isa && !(k.needs & ~cpu));
#define X(type, slot) CHECK(k.slot != NULL);
        KERNEL_SLOTS(X)
#undef X
    }
    CHECK(kernels() == kernels() && kernels()->gemm_f32->mr > 0);
    TEST("names");
    CHECK(!strcmp(kernels_isa(&none, "int8"), "scalar"));
    for (size_t i = 0; i < kernel_table_count; i++) { /* each names itself where its product runs */
        const Kernels *t = kernel_tables[i];
        Kernels k = kernels_select(t->needs);
        if (t->gemm_f32) CHECK(!strcmp(kernels_isa(&k, "fp32"), t->isa) && !strcmp(k.isa, t->isa));
        if (t->gemm_bf16) CHECK(!strcmp(kernels_isa(&k, "bf16"), t->isa));
        if (t->gemm_i8) CHECK(!strcmp(kernels_isa(&k, "int8"), t->isa));
    }
}

int main(int argc, char **argv)
{
    test_pack();
    test_fits();
    test_select();
    test_digests();
    TEST_TABLES(BLOCK_SLOTS, argc > 1 ? argv[1] : NULL)
    return finish();
}
