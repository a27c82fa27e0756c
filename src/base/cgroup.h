/* SPDX-License-Identifier: Apache-2.0
 * cgroup.h - how many CPUs' worth of time Linux gives this process (a container, a unit with
 * CPUQuota). A group is limited by its own quota and by that of every group above it. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H
#include "base.h"

/* The smallest quota in whole CPUs, rounded up; 0: none. `self` is /proc/self/cgroup, `mount`
 * /sys/fs/cgroup: version 2, version 1, or both at once. */
int cgroup_cpus(const char *self, const char *mount);

#endif
