/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * headroom: how much more memory the control groups of this process allow.
 *
 * The kernel kills a process of a group that is full, and memory of tmpfs
 * counts: so an RMB is made only where there is room for it, and some to spare
 * for the program. What the page cache holds is room, as it gives way.
 *
 * Version 2 (memory.max, memory.current, memory.stat) and version 1
 * (memory.limit_in_bytes and so on), up the tree; cgroups(7).
 *
 * Locking: engine lock held by the caller. The answer may be old when it is
 *          used; that there is no limit is believed for a second.
 */
#ifndef SMC_R_HEADROOM_H
#define SMC_R_HEADROOM_H

#include <stdint.h>

/* Returns bytes; UINT64_MAX when there is no limit, or none that can be seen.
 * Opens a few files, unless there was no limit a moment ago. */
uint64_t headroom(void);

/* Does what headroom() does, with other files than /proc/self/cgroup and
 * /sys/fs/cgroup. */
uint64_t headroom_in(const char *groups, const char *root);

#endif
