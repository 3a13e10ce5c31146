// How many cores a process may use. A container often shows all cores of its machine and stops the
// process for the rest of each period in which it used more than its quota.
#include "base/team.h"
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH_SIZE = 4096 };

/// The first line of a file; false without such a file.
static bool read_line(const char *folder, const char *name, char *line, int size) {
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool read = fgets(line, size, file) != NULL;
    fclose(file);
    return read;
}

/// Cores that a quota of processor time amounts to, rounded down.
static int cores_of(double quota, double period) {
    if (!(quota > 0 && period > 0) || quota / period >= INT_MAX) return INT_MAX;
    return quota < 2 * period ? 1 : (int)(quota / period);
}

/// The quota of one control group, version 2 or 1.
static int group_quota(const char *folder) {
    char line[128], period[128];
    double quota, time;
    if (read_line(folder, "cpu.max", line, sizeof line)) // "max 100000" without a quota
        return sscanf(line, "%lf %lf", &quota, &time) == 2 ? cores_of(quota, time) : INT_MAX;
    if (read_line(folder, "cpu.cfs_quota_us", line, sizeof line) &&
        read_line(folder, "cpu.cfs_period_us", period, sizeof period))
        return cores_of(strtod(line, NULL), strtod(period, NULL));
    return INT_MAX;
}

/// The least quota of a control group and those that it is part of, up to the root.
static int least_quota(const char *root, const char *group) {
    char folder[PATH_SIZE];
    int least = group_quota(root), length = snprintf(folder, sizeof folder, "%s%s", root, group);
    if (length < 0 || length >= (int)sizeof folder) return least;
    for (char *end; (end = strrchr(folder, '/')) && end >= folder + strlen(root); *end = 0) {
        int here = group_quota(folder);
        if (here < least) least = here;
    }
    return least;
}

int team_quota(const char *list, const char *mount) {
    char line[PATH_SIZE], root[PATH_SIZE];
    int least = INT_MAX;
    FILE *file = fopen(list, "r"); // lines of the form number:controllers:/group
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = controllers;
        if (group) group = strchr(++controllers, ':');
        if (!group) continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        bool unified = controllers[0] == 0;
        if (!unified && !strstr(controllers, "cpu")) continue;
        snprintf(root, sizeof root, unified ? "%s" : "%s/%s", mount, controllers);
        int here = least_quota(root, group);
        if (here < least) least = here;
    }
    if (file) fclose(file);
    return least;
}

int team_cores(void) {
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int quota = team_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota < cores) cores = quota;
    return cores > 0 ? cores : 1;
}
