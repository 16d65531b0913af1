/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_rundir: where the core of this network namespace keeps its run-time
 * files.
 *
 * $OFED_CORE_RUNDIR or /run/ofed_core holds one directory per network
 * namespace, "net-INODE": each namespace has its own devices and its own core.
 * Beside it a link has the name that ip-netns(8) knew when the core began.
 */
#ifndef OFED_CORE_OFED_RUNDIR_H
#define OFED_CORE_OFED_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes ".../net-INODE/LEAF" ("" gives the directory itself, without '/'). 0,
 * -ENAMETOOLONG when it does not fit, -EPERM when somebody else made the
 * directory than root, this user, or the owner of the one that it is in; or the
 * error of reading the namespace.
 */
int ofed_rundir_path(char *out, size_t size, const char *leaf);
/* A path of the namespace with that directory or link; NULL: of this one. */
int ofed_rundir_path_of(char *out, size_t size, const char *name,
			const char *leaf);

/* Does a process of one of those listen where this socket is connected to? */
bool ofed_rundir_has_core(int fd);

/* The part before net-INODE. */
const char *ofed_rundir_base(void);

#endif
