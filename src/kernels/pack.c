/* SPDX-License-Identifier: Apache-2.0
 * pack.c - weights into panels, `[N/16][K/k][16][k]`: the one layout of every ISA, so that a
 * package written on one machine is mapped on any other. Runs at build (or once at load), so it is
 * plain. */
#include <stdlib.h>

#include "base/bf16.h"
#include "kernels.h"

size_t panels_f32_size(int64_t N, int64_t K) { return (size_t)(ROUND_UP(N, PANEL) * K); }

void panels_f32_pack(const float *w, bool transposed, int64_t N, int64_t K, float *out)
{
    int64_t col = transposed ? K : 1, row = transposed ? 1 : N; /* w[k, n] is at k*row + n*col */
    for (int64_t p = 0; p < N; p += PANEL)
        for (int64_t k = 0; k < K; k++)
            for (int64_t n = p; n < p + PANEL; n++) *out++ = n < N ? w[k * row + n * col] : 0;
}

size_t panels_bf16_size(int64_t N, int64_t K)
{
    return (size_t)(ROUND_UP(N, PANEL) * ROUND_UP(K, 2));
}

void panels_bf16_pack(const float *w, bool transposed, int64_t N, int64_t K, uint16_t *out)
{
    int64_t col = transposed ? K : 1, row = transposed ? 1 : N;
    for (int64_t p = 0; p < N; p += PANEL)
        for (int64_t k = 0; k < K; k += 2)
            for (int64_t n = p; n < p + PANEL; n++)
                for (int64_t i = k; i < k + 2; i++)
                    *out++ = n < N && i < K ? f32_to_bf16(w[i * row + n * col]) : 0;
}

size_t rows_bf16_size(int64_t M, int64_t K)
{
    return (size_t)((M + PANEL) * row_bf16(K)) * sizeof(uint16_t);
}
size_t rows_i8_size(int64_t M, int64_t K) { return (size_t)((M + PANEL) * row_i8(K)); }

enum { GROUP = 4 }; /* int8 values of one column that lie side by side: one 32-bit lane */

size_t panels_i8_size(int64_t N, int64_t K)
{
    return (size_t)(ROUND_UP(N, PANEL) * ROUND_UP(K, GROUP));
}

static int pack_group(const int8_t *w, int64_t step, int64_t left, int8_t out[GROUP])
{
    int sum = 0;
    for (int i = 0; i < GROUP; i++) sum += out[i] = i < left ? w[i * step] : 0;
    return sum;
}

void panels_i8_pack(const int8_t *w, bool transposed, int64_t N, int64_t K, int8_t *out,
                    int32_t *w_sum)
{
    int64_t col = transposed ? K : 1, row = transposed ? 1 : N;
    memset(w_sum, 0, (size_t)ROUND_UP(N, PANEL) * sizeof(*w_sum));
    for (int64_t p = 0; p < N; p += PANEL)
        for (int64_t k = 0; k < K; k += GROUP)
            for (int64_t n = p; n < p + PANEL; n++, out += GROUP)
                w_sum[n] += pack_group(w + k * row + n * col, row, n < N ? K - k : 0, out);
}

static bool block_fits(const int8_t *block)
{
    enum { LANES = 2 * PANEL, MOST = INT16_MAX / 64 };
    int size[LANES] = { 0 };
    bool fits = true;
    for (int i = 0; i < FITS_K * PANEL; i++) size[i / 2 % LANES] += abs(block[i]);
    for (int i = 0; i < LANES; i++) fits &= size[i] <= MOST;
    return fits;
}

void panels_i8_fits(const int8_t *panels, int64_t N, int64_t K, uint8_t *fits)
{
    int64_t whole = ROUND_UP(K, GROUP) / FITS_K;
    for (int64_t p = 0; p < N; p += PANEL) {
        memset(fits, 0, (size_t)fits_row(K));
        for (int64_t i = 0; i < whole; i++)
            fits[i / 8] |= (uint8_t)(block_fits(panels + i * FITS_K * PANEL) << i % 8);
        fits += fits_row(K);
        panels += PANEL * ROUND_UP(K, GROUP);
    }
}

int64_t attention_row(int64_t n, int D) /* an odd number of lines: see row_i8 */
{
    return PANEL * ((ROUND_UP(MAX(n, D), 2 * PANEL) / PANEL) | 1);
}

/* Vector tables keep, for up to 3 x 16 queries at a time, the queries, their results and the scores of
 * ATTEND_KEYS keys, all with one query a lane, and a copy of the head's keys and values; 16 floats more
 * for alignment. The reference needs a row of scores. AMX keeps scores and weights of 32 queries, and
 * all in bf16: queries, keys and values. */
size_t attention_scratch(int64_t longest_row, int D)
{
    enum { MOST_PANELS = 3 };
    int64_t n = ROUND_UP(longest_row, 2 * PANEL), deep = ROUND_UP(D, 2 * PANEL);
    int64_t keys = MIN(longest_row, (int64_t)ATTEND_KEYS);
    int64_t plain =
        PANEL * (MOST_PANELS * (2 * D + keys) + PANEL + 1) + MAX(2 * longest_row * D, longest_row);
    int64_t tiles =
        2 * PANEL * (attention_row(n, D) + (row_bf16(n) + row_bf16(D)) / 2 + 1) + n * deep;
    return (size_t)MAX(plain, tiles);
}
