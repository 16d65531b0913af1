/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* attrdb: the attribute database. */
#include "attrdb.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema.h"
#include "sql.h"

const char *attrdb_dir(void)
{
	const char *dir = secure_getenv(ATTRDB_DIR_VARIABLE);

	return dir && dir[0] ? dir : ATTRDB_DIR_DEFAULT;
}

/* Root's is for all to read whatever the umask says. */
static int make_directory(struct attrdb *db, const char *dir)
{
	bool is_new = mkdir(dir, 0755) == 0;

	if ((!is_new && errno != EEXIST) ||
	    (is_new && geteuid() == 0 && chmod(dir, 0755) < 0))
		return sql_refuse(db, -errno, "%s: %s", dir, strerror(errno));
	return 0;
}

static int open_handle(struct attrdb *db, const char *path, int flags,
		       int lock_wait_ms)
{
	int result;

	sqlite3_close(db->handle);
	db->handle = NULL;
	result = sqlite3_open_v2(path, &db->handle, flags | SQLITE_OPEN_NOMUTEX,
				 NULL);
	if (result == SQLITE_OK)
		result = sqlite3_busy_timeout(db->handle, lock_wait_ms);
	if (result == SQLITE_OK)
		result = sqlite3_db_config(
		    db->handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_db_config(
		    db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_db_config(db->handle,
					   SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (result != SQLITE_OK)
		return sql_error(db, result);
	return sql_script(db, "PRAGMA synchronous = FULL");
}

static int open_memory(struct attrdb *db)
{
	return open_handle(
	    db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, 0);
}

static int open_reader(struct attrdb *db, int *version)
{
	const char *path = db->store.path;
	int lock_wait_ms = db->store.lock_wait_ms;
	int error = open_handle(db, path, SQLITE_OPEN_READONLY, lock_wait_ms);

	if (!error)
		error = schema_version(db, version);
	/*
	 * A writer that died in its commit left a journal, which must be played
	 * back before the database is read. A user with the right to write does
	 * that.
	 */
	if (error == -EACCES && access(path, W_OK) == 0) {
		error =
		    open_handle(db, path, SQLITE_OPEN_READWRITE, lock_wait_ms);
		return error ? error : schema_version(db, version);
	}
	if (error == -EACCES && access(path, R_OK) == 0)
		return sql_refuse(db, -EACCES,
				  "%s: a change was cut off and must be undone"
				  " by somebody who may write",
				  path);
	return error;
}

static int check_version(struct attrdb *db, enum attrdb_mode mode, int version)
{
	const char *path = db->store.path;

	if (version > schema_current() || version < 0)
		return sql_refuse(db, -EPROTONOSUPPORT,
				  "%s has schema version %d, this program knows"
				  " up to %d: use the smc_r that wrote it",
				  path, version, schema_current());
	if (version == schema_current() || mode != ATTRDB_READ)
		return 0;
	if (version == 0)
		return sql_refuse(db, -ENOENT, "%s is empty", path);
	return sql_refuse(db, -EPROTONOSUPPORT,
			  "%s has the old schema version %d: run mkdev once,"
			  " with the right to write, to bring it to %d",
			  path, version, schema_current());
}

/* Where the file really is: a symbolic link to it stays one. */
static int find_file(struct attrdb *db, const struct attrdb_place *place)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" ATTRDB_FILE, place->dir) >=
	    (int)sizeof(path))
		return sql_refuse(db, -ENAMETOOLONG, "$ODMDIR is too long");
	if (!realpath(path, db->store.path))
		strcpy(db->store.path, path);
	return 0;
}

static int bring_up(struct attrdb *db)
{
	int error = attrdb_begin(db);

	if (!error)
		error = attrdb_commit(db);
	if (error)
		attrdb_rollback(db);
	return error;
}

static int make_empty(struct attrdb *db)
{
	int error = open_memory(db);

	if (!error)
		error = sql_begin(db);
	if (!error)
		error = schema_migrate(db);
	return error ? error : sql_commit(db);
}

static int open_place(struct attrdb *db, const struct attrdb_place *place)
{
	const char *path = db->store.path;
	int version = 0;
	int error;

	db->store.lock_wait_ms = place->lock_wait_ms;
	if (!place->dir[0])
		return make_empty(db);
	error =
	    place->mode == ATTRDB_CREATE ? make_directory(db, place->dir) : 0;
	if (!error)
		error = find_file(db, place);
	if (error)
		return error;
	if (faccessat(AT_FDCWD, path, place->mode == ATTRDB_READ ? F_OK : W_OK,
		      AT_EACCESS) == 0) {
		error = open_reader(db, &version);
		if (!error)
			error = check_version(db, place->mode, version);
	} else if (errno != ENOENT || place->mode != ATTRDB_CREATE) {
		error = -errno;
		return sql_refuse(db, error, "%s: %s", path, strerror(errno));
	} else {
		/* The first change makes the file, with what it is about: one
		 * that fails leaves none. */
		return make_empty(db);
	}
	if (error || version == schema_current())
		return error;
	return bring_up(db);
}

int attrdb_open(struct attrdb **out, const struct attrdb_place *place,
		char *why, size_t size)
{
	struct attrdb *db = calloc(1, sizeof(*db));
	int error;

	if (!db) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	db->store.dir = db->store.lock = -1;
	db->store.file = db->store.fresh = -1;
	error = open_place(db, place);
	if (error) {
		snprintf(why, size, "%s", db->words);
		attrdb_close(db);
		return error;
	}
	*out = db;
	return 0;
}

void attrdb_close(struct attrdb *db)
{
	if (!db)
		return;
	sqlite3_close(db->handle);
	store_unlock(&db->store);
	free(db);
}

static int refuse_store(struct attrdb *db, int error)
{
	if (error == -EDQUOT)
		error = -ENOSPC;
	if (error == -EUCLEAN)
		return sql_refuse(db, error,
				  "%s-lock: other users could hold this lock;"
				  " remove the file",
				  db->store.path);
	return sql_refuse(db, error, "%s: %s", db->store.path,
			  strerror(-error));
}

/* From here on the handle is a copy in memory of what is in the file. */
static int load(struct attrdb *db)
{
	unsigned char *bytes;
	long long size;
	int error = store_read(&db->store, &bytes, &size);

	if (error)
		return refuse_store(db, error);
	error = open_memory(db);
	if (error || !bytes) {
		sqlite3_free(bytes);
		return error;
	}
	return sql_error(
	    db, sqlite3_deserialize(db->handle, "main", bytes, size, size,
				    SQLITE_DESERIALIZE_FREEONCLOSE |
					SQLITE_DESERIALIZE_RESIZEABLE));
}

static int lock_and_load(struct attrdb *db)
{
	int version, error = store_lock(&db->store);

	if (error)
		return refuse_store(db, error);
	if (access(db->store.path, F_OK) == 0) {
		/* This plays back what was cut off meanwhile. */
		error = open_reader(db, &version);
		if (!error)
			error = check_version(db, ATTRDB_WRITE, version);
	}
	if (error)
		return error;
	error = store_prepare(&db->store);
	return error ? refuse_store(db, error) : load(db);
}

int attrdb_begin(struct attrdb *db)
{
	int error = db->store.path[0] ? lock_and_load(db) : 0;

	if (!error)
		error = sql_begin(db);
	if (!error)
		error = schema_migrate(db);
	if (error)
		store_unlock(&db->store);
	return error;
}

int attrdb_commit(struct attrdb *db)
{
	unsigned char *bytes;
	sqlite3_int64 size;
	int error = sql_commit(db);

	if (error || !db->store.path[0])
		return error;
	bytes = sqlite3_serialize(db->handle, "main", &size, 0);
	if (!bytes)
		return refuse_store(db, -ENOMEM);
	error = store_write(&db->store, bytes, size);
	sqlite3_free(bytes);
	if (error)
		return refuse_store(db, error);
	store_unlock(&db->store);
	return 0;
}

void attrdb_rollback(struct attrdb *db)
{
	sql_rollback(db);
	/* A commit that failed has left its mark in memory only. */
	if (db->store.lock >= 0)
		load(db);
	store_unlock(&db->store);
}

const char *attrdb_words(const struct attrdb *db)
{
	return db->words;
}
