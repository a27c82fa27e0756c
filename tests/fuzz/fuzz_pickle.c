/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pickle.c - any bytes as a file of torch.save. Bytes that begin as neither of its layouts are
 * taken for the pickle inside: they are put into a zip beside storages of 64 bytes, so that the
 * checksum does not end every mutation at once. What is accepted must lie inside the file, or be a
 * copy, and can be read to its last byte. */
#include <stdlib.h>

#include "data/torch.h"
#include "zip_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static void read_file(Str file)
{
    Arena arena = { 0 };
    Safetensors s;
    Err err = { 0 };
    unsigned sum = 0;
    if (torch_read(&arena, file, &s, &err)) {
        for (int i = 0; i < s.n; i++) {
            const SafeTensor *t = &s.item[i];
            size_t elements = 1;
            for (int k = 0; k < t->rank; k++) elements *= (size_t)t->dim[k];
            must(safetensors_find(&s, t->name) == t);
            must(t->bytes == elements * safetype_size(t->type));
            for (size_t k = 0; k < t->bytes; k++) sum += t->data[k];
        }
        must(s.n > 0 && (sum || !sum));
    } else {
        must(err.code != EF_OK && err.message[0]);
    }
    arena_free(&arena);
}

static void read_pickle(Str pickle)
{
    static const char *const names[] = { "x/data/0", "x/data/1", "x/data/2" };
    static const char storage[64] = { 1, 2, 3 };
    ZipMaker z = { 0 };
    zip_add(&z, "x/data.pkl", pickle);
    for (size_t i = 0; i < COUNT(names); i++)
        zip_add(&z, names[i], (Str){ storage, sizeof storage });
    read_file(zip_end(&z));
    zip_free(&z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str bytes = { (const char *)data, size };
    (torch_is(bytes) ? read_file : read_pickle)(bytes);
    return 0;
}
