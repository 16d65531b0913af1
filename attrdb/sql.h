/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sql: the handle and its statements, for the files of this room only.
 *
 * Ownership: a started statement belongs to the caller until sql_end().
 */
#ifndef ATTRDB_SQL_H
#define ATTRDB_SQL_H

#include <limits.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

struct attrdb {
	sqlite3 *handle; /* the file, or from a change on a copy in memory */
	struct store store;
	char words[PATH_MAX + 256];
	/* The user who makes the changes: for the history. */
	int64_t uid;
	char user[64];
	char command[1024];
};

/* Turns the handle's last result into an errno and remembers the words. */
int sql_error(struct attrdb *db, int result);
/* Remembers our own words for an errno. */
int sql_refuse(struct attrdb *db, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Prepares and binds. kinds has one letter for each argument: s a string or
 * NULL, i an int64_t.
 */
int sql_start(struct attrdb *db, sqlite3_stmt **out, const char *sql,
	      const char *kinds, ...);
/* 1 for a row, 0 at the end, -errno. */
int sql_step(struct attrdb *db, sqlite3_stmt *statement);
/* Accepts NULL. */
void sql_end(sqlite3_stmt *statement);
/* Text of a column; NULL is "". Too long for size: cut, which cannot happen
 * with what odm_class_check() let in. */
void sql_text(sqlite3_stmt *statement, int column, char *out, size_t size);

/* Runs a statement without rows: number of changed rows, or -errno. */
int sql_run(struct attrdb *db, const char *sql, const char *kinds, ...);
/* Runs fixed statements. */
int sql_script(struct attrdb *db, const char *script);

/*
 * A change, with the lock taken at once: one that reads first and asks for
 * the lock later would fail whenever somebody else did the same.
 */
int sql_begin(struct attrdb *db);
int sql_commit(struct attrdb *db);
void sql_rollback(struct attrdb *db);

#endif
