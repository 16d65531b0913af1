/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * publish: the writer's side of the run directory.
 *
 * The snapshot is replaced as a whole: temporary file, fsync, rename, fsync of
 * the directory; then the generation word grows by one, and engines look.
 *
 * Locking: the caller holds the write lock of the attribute database, so there
 *	    is one publisher at a time.
 */
#ifndef CONF_PUBLISH_H
#define CONF_PUBLISH_H

#include "snapshot.h"

/*
 * Where in the run directory the last one of these calls failed: "/" and the
 * way to a file, or "" for the directory itself.
 */
const char *publish_part(void);

/*
 * Makes the run directory with what belongs into it, as far as it is missing:
 * its owner's alone to write to, but for the directory of all users, where
 * everybody may make one when root makes it; all of it is private (0700) else.
 * -EPERM when it, or a part of it, belongs to somebody else.
 */
int publish_prepare(const char *rundir);

/* Sets s->generation and publishes; 0 or -errno, and then nothing changed. */
int publish_write(const char *rundir, struct snapshot *s);

/*
 * Notes that what is published from now on is of the database in a directory,
 * to be cleared when all of it is gone again: a command that is killed before
 * it can commit leaves things that the database does not know of. 0 or -errno.
 */
int publish_owner_set(const char *rundir, const char *database);
void publish_owner_clear(const char *rundir);
/* Did one note this database? */
bool publish_owner_is(const char *rundir, const char *database);

/* Takes the snapshot away: the device is not Available. None there: 0. */
int publish_remove(const char *rundir);

#endif
