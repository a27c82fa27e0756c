/* SPDX-License-Identifier: Apache-2.0
 * select.c - each slot comes from the best table that has one and that this CPU can run. x86 and
 * ARM have a list each, other CPUs the reference only: the one #if of this folder. */
#include <pthread.h>

#include "tables.h"

const Kernels *const kernel_tables[] = {
#ifdef __x86_64__
    &kern_amx,
    &kern_avx512bf16,
    &kern_avx512vnni,
    &kern_avx512,
    &kern_avxvnni,
    &kern_avx2,
    &kern_sha,
#elif defined(__aarch64__)
    &kern_dotprod,
    &kern_neon,
#endif
    &kern_scalar,
};
const size_t kernel_table_count = COUNT(kernel_tables);

Kernels kernels_select(uint64_t cpu)
{
    Kernels k = { .isa = NULL };
    for (size_t i = 0; i < kernel_table_count; i++) {
        const Kernels *t = kernel_tables[i];
        if (t->needs & ~cpu) continue;
        if (!k.isa && t->gemm_f32) k.isa = t->isa; /* sha has no matrix kernels and gives no name */
        k.needs |= t->needs;
#define X(type, slot) if (!k.slot) k.slot = t->slot;
        KERNEL_SLOTS(X)
#undef X
    }
    return k; /* scalar needs nothing and fills every slot */
}

static const Gemm *gemm_of(const Kernels *k, const char *precision)
{
    if (strcmp(precision, "int8") == 0) return k->gemm_i8;
    return strcmp(precision, "bf16") == 0 ? k->gemm_bf16 : k->gemm_f32;
}

const char *kernels_isa(const Kernels *k, const char *precision)
{
    size_t i = 0;
    while (gemm_of(kernel_tables[i], precision) != gemm_of(k, precision)) i++;
    return kernel_tables[i]->isa;
}

static Kernels chosen;
static const char *wanted_level; /* atomic: set before the choice, or without effect */
static void kernels_choose(void)
{
    chosen = kernels_select(cpu_features(__atomic_load_n(&wanted_level, __ATOMIC_ACQUIRE)));
}

const Kernels *kernels(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, kernels_choose);
    return &chosen;
}

static bool has_level(const Kernels *k, const char *level)
{
    static const char *const precisions[] = { "fp32", "bf16", "int8" };
    for (size_t i = 0; i < COUNT(precisions); i++)
        if (strcmp(kernels_isa(k, precisions[i]), level) == 0) return true;
    return false;
}

bool kernels_want(const char *level, Err *err)
{
    uint64_t mask;
    if (!cpu_level(level, &mask))
        return fail(err, EF_INVALID_INPUT, "kernels: unknown name \"%s\"", level);
    Kernels own = kernels_select(cpu_features(level));
    if (!has_level(&own, level))
        return fail(err, EF_UNSUPPORTED, "kernels: found %s at most, wanted %s: not on this CPU",
                    own.isa, level);
    for (size_t i = 0; i < kernel_table_count; i++) /* a name that outlives the caller's */
        if (strcmp(kernel_tables[i]->isa, level) == 0)
            __atomic_store_n(&wanted_level, kernel_tables[i]->isa, __ATOMIC_RELEASE);
    return has_level(kernels(), level) ||
           fail(err, EF_UNSUPPORTED, "kernels: found %s, chosen earlier in this process, wanted %s",
                kernels()->isa, level);
}
