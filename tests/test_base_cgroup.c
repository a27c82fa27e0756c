/* SPDX-License-Identifier: Apache-2.0
 * test_base_cgroup.c - CPU quotas as a made-up /proc/self/cgroup and /sys/fs/cgroup tell them. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/file.h"
#include "check.h"

static char folder[] = "/tmp/ef-cgroup-XXXXXX";
static Arena arena;

static void put(const char *name, const char *text)
{
    Err err = { 0 };
    const char *path = str_format(&arena, "%s/%s", folder, name);
    CHECK(dir_make_parents(path, &err) && file_write(&arena, path, str_of(text), &err));
}

static int cpus(const char *self)
{
    put("self", self);
    return cgroup_cpus(str_format(&arena, "%s/self", folder), str_format(&arena, "%s/fs", folder));
}

static void second_version(void)
{
    TEST("version 2");
    CHECK(cpus("0::/\n") == 0 && cpus("") == 0);
    put("fs/user/unit/cpu.max", "250000 100000\n");
    put("fs/user/cpu.max", "max 100000\n");
    CHECK(cpus("0::/user/unit\n") == 3); /* 2.5, rounded up */
    CHECK(cpus("0::/user\n") == 0 && cpus("0::/user/unit/below\n") == 3);
    put("fs/user/cpu.max", "200000 100000\n"); /* the group above is narrower */
    CHECK(cpus("0::/user/unit\n") == 2 && cpus("0::/user\n") == 2);
    put("fs/cpu.max", "10000 100000\n"); /* a container's own: less than one is one */
    CHECK(cpus("0::/\n") == 1 && cpus("0::/docker/0123abc\n") == 1 && cpus("0::/../x\n") == 1);
    put("fs/cpu.max", "9e30 1\n");
    CHECK(cpus("0::/\n") == 0);
    put("fs/cpu.max", "max 100000\n");
    CHECK(cgroup_cpus("/nowhere/self", str_format(&arena, "%s/fs/user", folder)) == 2);
}

static void first_version(void)
{
    TEST("version 1");
    put("fs/cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n");
    put("fs/cpu,cpuacct/box/cpu.cfs_period_us", "50000\n");
    put("fs/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("fs/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    CHECK(cpus("5:memory:/box\n4:cpu,cpuacct:/box\n0::/\n") == 3);
    CHECK(cpus("4:cpu,cpuacct:/\n") == 0 && cpus("4:cpuset:/box\n") == 0);
    put("fs/cpu/box/cpu.cfs_quota_us", "100000\n");
    put("fs/cpu/box/cpu.cfs_period_us", "100000\n");
    CHECK(cpus("4:cpuacct,cpu:/box\n") == 1);
    TEST("lines that are none");
    CHECK(cpus("nonsense\n\n:\n4:cpu\n") == 0);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    second_version();
    first_version();
    CHECK(system(str_format(&arena, "rm -r %s", folder)) == 0);
    arena_free(&arena);
    return finish();
}
