/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sysfs: the tree of small files that the verbs libraries read about devices.
 */
#ifndef OFED_CORE_SYSFS_H
#define OFED_CORE_SYSFS_H

/* Writes the tree anew; readers see the old or the new one. */
void sysfs_write(void);
void sysfs_remove(void);

/* Makes the run directory and the directories above it. */
int sysfs_make_rundir(void);

#endif
