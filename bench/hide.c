/* SPDX-License-Identifier: Apache-2.0
 * hide.c - the half of hide.py that is preloaded: where a copy of a library has `ud2` in the place of
 * `cpuid`, this answers as the CPU does, less everything beyond AVX2 and FMA. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

enum { AVX_VNNI = 1 << 4, AVX512_BF16 = 1 << 5, AVX_IFMA = 1 << 23 };   /* leaf 7.1, eax */
static const uint32_t seven_b = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 |
                                1u << 30 | 1u << 31;                   /* avx512 f dq ifma pf er cd bw vl */
static const uint32_t seven_c = 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14;
static const uint32_t seven_d = 1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;

static void answer(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)r[REG_RIP];
    uint32_t leaf = (uint32_t)r[REG_RAX], sub = (uint32_t)r[REG_RCX], a, b, c, d;
    if (at[0] != 0x0f || at[1] != 0x0b) __builtin_trap();
    __cpuid_count(leaf, sub, a, b, c, d);
    if (leaf == 7 && sub == 0) b &= ~seven_b, c &= ~seven_c, d &= ~seven_d;
    if (leaf == 7 && sub == 1) a &= ~(uint32_t)(AVX_VNNI | AVX512_BF16 | AVX_IFMA), d = 0;
    if (leaf == 0xd && sub == 0) a &= 7; /* x87, SSE, AVX */
    r[REG_RAX] = a, r[REG_RBX] = b, r[REG_RCX] = c, r[REG_RDX] = d;
    r[REG_RIP] += 2;
}

__attribute__((constructor)) static void install(void)
{
    struct sigaction action = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO };
    sigaction(SIGILL, &action, 0);
}
