/* SPDX-License-Identifier: Apache-2.0
 * fuzz_package.c - package_parse on any bytes: an error, or members that lie inside the file. */
#include "package/package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Package p;
    Err err = { 0 };
    Str file = { (const char *)data, size };
    if (!package_parse(file, &p, &err)) {
        assert(err.code != EF_OK && err.message[0]);
        return 0;
    }
    for (int kind = 0; kind < MEMBER_COUNT; kind++) {
        Str m = p.member[kind].bytes;
        assert(!m.p || (m.p >= file.p && m.n <= size && m.p + m.n <= file.p + size));
    }
    package_verify(&p, &err);
    return 0;
}
