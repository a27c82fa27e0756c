/* SPDX-License-Identifier: Apache-2.0
 * cgroup.c - a process is in one group per line of /proc/self/cgroup: "0::/a/b" (version 2) or
 * "4:cpu,cpuacct:/a/b" (version 1). In a container without a cgroup namespace the path is the
 * host's and leads nowhere; the root, which is also read, is then the container's own group. */
#include "cgroup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* Numbers of one file; "max 100000" has none. Read at every start, so without stdio. */
static int cgroup_read_numbers(const char *group, const char *file, double *a, double *b)
{
    char path[PATH_BYTES + 64], text[64], *end;
    snprintf(path, sizeof path, "%s/%s", group, file);
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0) return 0;
    ssize_t n = read(f, text, sizeof text - 1);
    close(f);
    text[MAX(n, 0)] = '\0';
    *a = strtod(text, &end);
    if (end == text) return 0;
    const char *second = end;
    *b = strtod(second, &end);
    return end == second ? 1 : 2;
}

static int group_quota(const char *group, bool second)
{
    double quota = 0, period = 0, unused;
    bool both = second ? cgroup_read_numbers(group, "cpu.max", &quota, &period) == 2
                       : cgroup_read_numbers(group, "cpu.cfs_quota_us", &quota, &unused) == 1 && quota > 0 &&
                             cgroup_read_numbers(group, "cpu.cfs_period_us", &period, &unused) == 1;
    if (!both || quota <= 0 || period <= 0) return 0; /* version 1 writes -1 for none */
    double cpus = (quota + period - 1) / period;
    return cpus < 1e6 ? MAX((int)cpus, 1) : 0;
}

static int smaller_limit(int a, int b)
{
    return a && b ? MIN(a, b) : MAX(a, b);
}

/* The group at mount/controllers/path and all above it. */
static int quota_along(const char *mount, const char *controllers, const char *path, bool second)
{
    char group[PATH_BYTES];
    if (strstr(path, "..") || strcmp(path, "/") == 0) path = ""; /* the root; or outside of what is mounted */
    int n = snprintf(group, sizeof group, "%s/%s%s", mount, controllers, path);
    if (n < 0 || (size_t)n >= sizeof group) return 0;
    char *root = group + strlen(mount) + 1 + strlen(controllers), *slash;
    int found = group_quota(group, second);
    while ((slash = strrchr(root, '/'))) {
        *slash = '\0';
        found = smaller_limit(found, group_quota(group, second));
    }
    return found;
}

static bool names_cpu(const char *controllers)
{
    for (const char *p = controllers; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == 3 && strncmp(p, "cpu", 3) == 0) return true;
    return false;
}

static int line_quota(char *line, const char *mount)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return 0;
    *path++ = '\0';
    controllers++;
    if (!*controllers) return quota_along(mount, "", path, true);
    if (!names_cpu(controllers)) return 0;
    int quota = quota_along(mount, controllers, path, false);
    if (quota || strcmp(controllers, "cpu") == 0) return quota;
    return quota_along(mount, "cpu", path, false); /* the list in another order */
}

int cgroup_cpus(const char *self, const char *mount)
{
    FILE *f = fopen(self, "re");
    if (!f) return quota_along(mount, "", "", true); /* no /proc in an empty chroot */
    char line[PATH_BYTES];
    int found = 0;
    while (fgets(line, sizeof line, f)) found = smaller_limit(found, line_quota(line, mount));
    fclose(f);
    return found;
}
