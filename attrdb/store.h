/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * store: the file of the database, which a change replaces.
 *
 * Everybody may read the file, so everybody can hold a lock for reading on it.
 * A change therefore never waits for readers: it works on a copy in memory, and
 * renames what it wrote over the file; a reader keeps the one that it opened.
 * Changes exclude each other by a lock file. They exclude other programs that
 * write by SQLite through SQLite's own lock for writers, which needs the right
 * to write.
 *
 * For the files of this room only.
 *
 * Ownership: bytes are from sqlite3_malloc64(); the caller frees them.
 */
#ifndef ATTRDB_STORE_H
#define ATTRDB_STORE_H

#include <limits.h>

struct store {
	char path[PATH_MAX]; /* absolute or not; "": there is no file */
	int lock_wait_ms;
	int dir, lock, file, fresh; /* -1: not locked; file: there is none */
};

/* The lock file alone, with which to look at what is there: 0, -EBUSY, -EUCLEAN
 * (others could hold it) or another -errno, and nothing is locked then. */
int store_lock(struct store *s);
/*
 * No other program may write from here on, and the new file is there, with
 * room for some more: 0 or -EBUSY, or another -errno.
 */
int store_prepare(struct store *s);
/* Gives up all that. */
void store_unlock(struct store *s);

/* Reads the file, once prepared; *out is NULL when there is none. */
int store_read(const struct store *s, unsigned char **out, long long *size);
/* Replaces it, once: 0 or -errno, and then it is what it was. */
int store_write(const struct store *s, const unsigned char *bytes,
		long long size);

#endif
