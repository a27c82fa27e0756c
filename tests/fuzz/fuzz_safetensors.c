/* SPDX-License-Identifier: Apache-2.0
 * fuzz_safetensors.c - any bytes: what is accepted must lie inside the file, whole and disjoint. */
#include <stdlib.h>

#include "data/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Safetensors s;
    Err err = { 0 };
    size_t total = 0;
    unsigned sum = 0;
    if (safetensors_read(&arena, (Str){ (const char *)data, size }, &s, &err)) {
        for (int i = 0; i < s.n; i++) {
            const SafeTensor *t = &s.item[i];
            must(safetensors_find(&s, t->name) == t);
            must(t->data >= data + 8 && t->bytes <= size && t->data + t->bytes <= data + size);
            for (size_t k = 0; k < t->bytes; k++) sum += t->data[k];
            total += t->bytes;
        }
        must(total <= size - 8 && (sum || !sum));
    } else {
        must(err.code == EF_BAD_MODEL && err.message[0]);
    }
    arena_free(&arena);
    return 0;
}
