/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sysfs: the tree of small files that the verbs libraries read about devices,
 * in the run directory (ofed_rundir.h).
 *
 * Locking: core_lock held for writing, or before the workers start.
 */
#ifndef OFED_CORE_SYSFS_H
#define OFED_CORE_SYSFS_H

/* Writes the tree anew; readers see the old or the new one. What cannot be
 * written is logged. */
void sysfs_write(void);
/* At the end of the core: the tree, and what else lies in its directory. */
void sysfs_remove(void);

/* Makes the run directory and the directories above it: 0 or -errno. */
int sysfs_make_rundir(void);

#endif
