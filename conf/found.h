/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * found: files and directories that somebody else may have made.
 *
 * Where everybody may write, as in the directory of all users, a name may lead
 * to anything: a FIFO that nobody writes to, a device, a link to a file of
 * ours, a file with a lease on it. Nothing here waits, follows a link or gives
 * away a terminal, and what it gives has the type and the owner that were asked
 * for.
 *
 * Ownership: the caller closes what it got.
 * Locking:   none. errno stays.
 *
 * Uses libc only and allocates nothing: this runs in strangers' processes.
 */
#ifndef CONF_FOUND_H
#define CONF_FOUND_H

#include <sys/stat.h>
#include <sys/types.h>

#define FOUND_ANYBODY ((uid_t)-1)

struct found {
	int flags;      /* O_RDONLY or O_RDWR, and O_CREAT */
	mode_t mode;    /* with O_CREAT */
	uid_t owner[2]; /* either of them; FOUND_ANYBODY: the caller judges */
};

/* An open regular file, and *st is filled; -EPERM: it is something else, or
 * somebody else's; -EWOULDBLOCK: a lease is on it; another -errno. */
int found_open(int dir, const char *name, const struct found *wanted,
	       struct stat *st);

/* Opens a file in the run directory for reading, as found_open() does, if root
 * or the owner of the directory made it. */
int found_in_rundir(const char *rundir, const char *name, struct stat *st);

/* The directory of all users in the run directory, made by one of the two: for
 * paths that begin there (O_PATH), or -EPERM, or another -errno. */
int found_users(const char *rundir);

/* Opens a directory that nobody but this user may look into or write to;
 * -EPERM: it is something else. */
int found_own(int dir, const char *name);

#endif
