/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
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

/*
 * Makes the file before SQLite would: root's database stays readable for all
 * whatever the umask says, because lsattr needs no root.
 */
static int make_file(struct attrdb *db, const char *dir, const char *path)
{
	bool is_new = mkdir(dir, 0755) == 0;
	int fd;

	if ((!is_new && errno != EEXIST) ||
	    (is_new && geteuid() == 0 && chmod(dir, 0755) < 0))
		return sql_refuse(db, -errno, "%s: %s", dir, strerror(errno));
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return sql_refuse(db, -errno, "%s: %s", path, strerror(errno));
	if (geteuid() == 0 && fchmod(fd, 0644) < 0) {
		int error =
		    sql_refuse(db, -errno, "%s: %s", path, strerror(errno));

		close(fd);
		return error;
	}
	close(fd);
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

static int open_reader(struct attrdb *db, const char *path, int lock_wait_ms,
		       int *version)
{
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

static int check_version(struct attrdb *db, const char *path,
			 enum attrdb_mode mode, int version)
{
	if (version > schema_current() || version < 0)
		return sql_refuse(db, -EPROTONOSUPPORT,
				  "%s has schema version %d, this program knows"
				  " up to %d: use the smc_r that wrote it",
				  path, version, schema_current());
	if (version == schema_current())
		return 0;
	if (mode != ATTRDB_READ)
		return schema_migrate(db);
	if (version == 0)
		return sql_refuse(db, -ENOENT, "%s is empty", path);
	return sql_refuse(db, -EPROTONOSUPPORT,
			  "%s has the old schema version %d: run mkdev once,"
			  " with the right to write, to bring it to %d",
			  path, version, schema_current());
}

static int open_place(struct attrdb *db, const struct attrdb_place *place)
{
	char path[PATH_MAX];
	int version = 0;
	int error = 0;

	if (!place->dir[0]) {
		error = open_handle(
		    db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
		    0);
		return error ? error : schema_migrate(db);
	}
	if (snprintf(path, sizeof(path), "%s/" ATTRDB_FILE, place->dir) >=
	    (int)sizeof(path))
		return sql_refuse(db, -ENAMETOOLONG, "$ODMDIR is too long");
	if (place->mode == ATTRDB_CREATE)
		error = make_file(db, place->dir, path);
	if (!error && access(path, F_OK) < 0)
		error = sql_refuse(db, -errno, "%s: %s", path, strerror(errno));
	if (error)
		return error;
	if (place->mode == ATTRDB_READ) {
		error = open_reader(db, path, place->lock_wait_ms, &version);
	} else {
		error = open_handle(db, path, SQLITE_OPEN_READWRITE,
				    place->lock_wait_ms);
		/* SQLite falls back to reading, and would say so too late. */
		if (!error && sqlite3_db_readonly(db->handle, "main"))
			error = sql_refuse(db, -EACCES, "%s: %s", path,
					   strerror(EACCES));
		if (!error)
			error = schema_version(db, &version);
	}
	return error ? error : check_version(db, path, place->mode, version);
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
	free(db);
}

int attrdb_begin(struct attrdb *db)
{
	return sql_begin(db);
}

int attrdb_commit(struct attrdb *db)
{
	return sql_commit(db);
}

void attrdb_rollback(struct attrdb *db)
{
	sql_rollback(db);
}

const char *attrdb_words(const struct attrdb *db)
{
	return db->words;
}
