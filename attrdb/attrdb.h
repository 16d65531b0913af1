/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * attrdb: the attribute database, a file named attr.db in $ODMDIR.
 *
 * Plays the part of AIX's ODM. What changes belongs together or not at all: a
 * change begins with attrdb_begin(), which takes the one write lock of the
 * host (AIX: config_lock), and ends with attrdb_commit(). Readers need neither
 * root nor the right to write.
 *
 * Ownership: the caller owns the handle; attrdb_close() ends it and gives up
 *            a change that is not committed.
 * Locking:   one handle, one thread. Changes exclude each other through a file
 *            beside it that only its owner can open (store.h). Readers hold up
 *            nobody; a handle sees the state of when it was opened, or began a
 *            change.
 * Errors:    0 or a negative errno, with attrdb_words() telling more:
 *	-EBUSY	somebody else held the lock for too long
 *	-ENOSPC	the file system is full
 *	-EACCES	no right to read, or to write
 *	-EUCLEAN others could hold the lock
 *	-ENOENT	no such object; from open: no database
 *	-EEXIST	the object would break a rule of the database
 *	-EILSEQ	the file is damaged or is no database
 *	-EPROTONOSUPPORT	the schema is newer than this program
 *	-EIO, -ENOMEM
 */
#ifndef ATTRDB_ATTRDB_H
#define ATTRDB_ATTRDB_H

#include <stddef.h>
#include <stdint.h>

#define ATTRDB_DIR_DEFAULT  "/etc/objrepos"
#define ATTRDB_DIR_VARIABLE "ODMDIR"
#define ATTRDB_FILE         "attr.db"

struct attrdb;

enum attrdb_mode {
	ATTRDB_READ,
	ATTRDB_WRITE,
	ATTRDB_CREATE, /* as WRITE; makes directory and file when missing */
};

struct attrdb_place {
	const char *dir;       /* $ODMDIR, or "" for a database in memory */
	enum attrdb_mode mode; /* in memory: always CREATE */
	int lock_wait_ms;      /* how long to wait for others */
};

/* $ODMDIR or its default. */
const char *attrdb_dir(void);

/* On failure *out is untouched and why says in words what was wrong. */
int attrdb_open(struct attrdb **out, const struct attrdb_place *place,
		char *why, size_t size);
/* Accepts NULL. */
void attrdb_close(struct attrdb *db);

int attrdb_begin(struct attrdb *db);
int attrdb_commit(struct attrdb *db);
/* Gives up the change, if there is one. */
void attrdb_rollback(struct attrdb *db);

/* What the last failed call met, in words; valid until the next call. */
const char *attrdb_words(const struct attrdb *db);

#endif
