/* SPDX-License-Identifier: Apache-2.0
 * test_kernels_windows.c - convolution of every channel by itself, and its largest number: to the bit as the reference, for windows that
 * touch every border, channels that fill no panel, strides and dilations; rows in any pieces. */
#include "kernel_case.h"

static int64_t outputs(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads)
{
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

static void test_depthwise(const Kernels *t)
{
    static const int64_t shapes[][7] = { /* H, W, C, kernel, stride, dilation, padding */
        { 1, 1, 1, 1, 1, 1, 0 }, { 5, 6, 3, 3, 1, 1, 1 },   { 9, 11, 16, 3, 2, 1, 1 }, { 7, 23, 17, 7, 1, 1, 3 },
        { 6, 40, 33, 5, 1, 1, 2 }, { 12, 13, 20, 3, 1, 2, 2 }, { 3, 3, 40, 7, 1, 1, 3 }, { 8, 9, 15, 3, 3, 2, 4 },
    };
    for (size_t i = 0; i < 2 * COUNT(shapes); i++) { /* sums, then the largest */
        const int64_t *s = shapes[i % COUNT(shapes)], C = s[2], k = s[3];
        Depthwise d = { .C = C, .in = { s[0], s[1] }, .kernel = { k, k }, .stride = { s[4], s[4] },
                        .dilation = { s[5], s[5] }, .before = { s[6], s[6] } };
        for (int a = 0; a < 2; a++) d.out[a] = outputs(d.in[a], k, s[4], s[5], 2 * s[6]);
        float *x = randoms(s[0] * s[1] * C, 2), *w = randoms(k * k * C, 1), *bias = randoms(C, 1);
        const size_t bytes = (size_t)(d.out[0] * d.out[1] * C) * sizeof(float);
        float *want = walled(bytes), *got = walled(bytes);
        d.x = x, d.w = i < COUNT(shapes) ? w : NULL, d.bias = d.w && i % 3 ? bias : NULL;
        d.y = want;
        kern_scalar.depthwise(&d, 0, d.out[0]);
        d.y = got;
        t->depthwise(&d, d.out[0] / 2, d.out[0]);
        t->depthwise(&d, 0, d.out[0] / 2);
        CHECK(same(want, got, bytes) && walls_stand(got, bytes) && walls_stand(want, bytes));
        free(x), free(w), free(bias), unwall(want), unwall(got);
    }
}

int main(int argc, char **argv)
{
    TEST_TABLES(WINDOW_SLOTS, argc > 1 ? argv[1] : NULL)
    return finish();
}
