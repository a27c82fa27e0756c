/* SPDX-License-Identifier: Apache-2.0
 * program.c - is a file a program that can stand in front of a payload? Its ELF header is compared
 * with that of the running program, so no machine numbers are named here. */
#include "package/package.h"

enum { ELF_CLASS = 4, ELF_DATA = 5, ELF_TYPE = 16, ELF_MACHINE = 18, ELF_HEADER = 64 };

static bool read_header(const char *path, uint8_t header[ELF_HEADER], Err *err)
{
    Mapping map;
    if (!file_map(path, &map, err)) return false;
    bool elf = map.n >= ELF_HEADER && memcmp(map.p, "\177ELF", 4) == 0;
    if (elf) memcpy(header, map.p, ELF_HEADER);
    file_unmap(&map);
    if (!elf) return fail(err, EF_BAD_MODEL, "%s: not an executable: found no ELF header", path);
    return true;
}

static int machine(const uint8_t *header)
{
    return header[ELF_MACHINE] | header[ELF_MACHINE + 1] << 8;
}

bool program_check(const char *path, const char *own, Err *err)
{
    uint8_t theirs[ELF_HEADER], ours[ELF_HEADER];
    if (!read_header(path, theirs, err) || !read_header(own, ours, err)) return false;
    if (theirs[ELF_CLASS] != ours[ELF_CLASS] || theirs[ELF_DATA] != ours[ELF_DATA] ||
        machine(theirs) != machine(ours))
        return fail(err, EF_UNSUPPORTED,
                    "%s: executable of another machine: found ELF machine %d, wanted %d", path,
                    machine(theirs), machine(ours));
    int type = theirs[ELF_TYPE];
    if (type != 2 && type != 3) /* ET_EXEC, ET_DYN */
        return fail(err, EF_BAD_MODEL, "%s: not an executable: found ELF type %d", path, type);
    return true;
}
