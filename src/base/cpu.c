/* SPDX-License-Identifier: Apache-2.0
 * cpu.c - asks the CPU (CPUID) and the operating system (XCR0, arch_prctl; on ARM the auxiliary
 * vector): both must know a register file before its instructions may run. Levels are cumulative,
 * so that a mask can hide what is above one of them. */
#include "cpu.h"

#include <stdlib.h>

#include "log.h"

static const struct Level {
    const char *name;
    uint64_t mask;
} levels[] = {
    { "scalar", 0 },
    { "avx2", CPU_SHA | CPU_AVX2 },
    { "avxvnni", CPU_SHA | CPU_AVX2 | CPU_AVXVNNI },
    { "avx512", CPU_SHA | CPU_AVX2 | CPU_AVXVNNI | CPU_AVX512 },
    { "avx512vnni", CPU_SHA | CPU_AVX2 | CPU_AVXVNNI | CPU_AVX512 | CPU_AVX512VNNI },
    { "avx512bf16",
      CPU_SHA | CPU_AVX2 | CPU_AVXVNNI | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512BF16 },
    { "amx",
      CPU_SHA | CPU_AVX2 | CPU_AVXVNNI | CPU_AVX512 | CPU_AVX512VNNI | CPU_AVX512BF16 | CPU_AMX },
    { "neon", CPU_NEON },
    { "dotprod", CPU_NEON | CPU_DOTPROD },
    { "i8mm", CPU_NEON | CPU_DOTPROD | CPU_I8MM },
    { "bf16", CPU_NEON | CPU_DOTPROD | CPU_I8MM | CPU_BF16 },
};

const char *cpu_next(uint64_t *features)
{
    static const char *const names[] = { "sha",        "avx2",       "avxvnni", "avx512",
                                         "avx512vnni", "avx512bf16", "amx",     "neon",
                                         "dotprod",    "i8mm",       "bf16" };
    int bit = *features ? __builtin_ctzll(*features) : (int)COUNT(names);
    *features &= *features - 1;
    return bit < (int)COUNT(names) ? names[bit] : NULL;
}

bool cpu_level(const char *name, uint64_t *mask)
{
    for (size_t i = 0; i < COUNT(levels); i++)
        if (strcmp(levels[i].name, name) == 0) return *mask = levels[i].mask, true;
    return false;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t saved_by_os(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Linux keeps the 8 KB of tiles from a process until it asks: once, for all of its threads. */
static bool tiles_granted(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static uint64_t cpu_detect(void)
{
    unsigned a, b, c, d, b7, c7, d7, a71 = 0, unused;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return 0;
    unsigned subleaves = a;
    if (subleaves >= 1) __get_cpuid_count(7, 1, &a71, &unused, &unused, &unused);
    uint64_t os = c & bit_OSXSAVE ? saved_by_os() : 0, found = 0;
    bool ymm = (os & 0x6) == 0x6, zmm = (os & 0xe6) == 0xe6;
    if (b7 >> 29 & 1 && c & bit_SSE4_1) found |= CPU_SHA;
    if (ymm && b7 & bit_AVX2 && c & bit_FMA && c & bit_F16C) found |= CPU_AVX2;
    if (found & CPU_AVX2 && a71 >> 4 & 1) found |= CPU_AVXVNNI;
    unsigned wide = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if (!zmm || !(found & CPU_AVX2) || (b7 & wide) != wide) return found;
    found |= CPU_AVX512;
    if (c7 >> 11 & 1) found |= CPU_AVX512VNNI;
    if (a71 >> 5 & 1) found |= CPU_AVX512BF16;
    unsigned tiles = 1u << 22 | 1u << 24 | 1u << 25; /* bf16, tile, int8 */
    if ((os & 0x60000) == 0x60000 && (d7 & tiles) == tiles && tiles_granted()) found |= CPU_AMX;
    return found;
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

static uint64_t cpu_detect(void)
{
    uint64_t first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2), found = CPU_NEON;
    if (first >> 20 & 1) found |= CPU_DOTPROD;
    if (second >> 13 & 1) found |= CPU_I8MM;
    if (second >> 14 & 1) found |= CPU_BF16;
    return found;
}
#else
static uint64_t cpu_detect(void)
{
    return 0;
}
#endif

uint64_t cpu_features(const char *level)
{
    uint64_t found = cpu_detect(), mask;
    if (level) return cpu_level(level, &mask) ? found & mask : found;
    level = getenv("EF_CPU");
    if (!level) return found;
    if (cpu_level(level, &mask)) return found & mask;
    log_warn("EF_CPU: found \"%s\", wanted scalar, avx2, avx512 or another level: ignored", level);
    return found;
}
