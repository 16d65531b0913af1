/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sql: the handle and its statements. */
#include "sql.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* SQLite keeps the kernel's for the calls that it names so. */
static int errno_of_call(const struct attrdb *db, int otherwise)
{
	int error = db->handle ? sqlite3_system_errno(db->handle) : 0;

	return error > 0 ? -error : otherwise;
}

static int errno_of(const struct attrdb *db, int result)
{
	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return errno_of_call(db, -EACCES);
	case SQLITE_IOERR:
		return errno_of_call(db, -EIO);
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
		return -EILSEQ;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

int sql_error(struct attrdb *db, int result)
{
	int error = errno_of(db, result);
	const char *words =
	    db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(result);

	if ((result & 0xff) == SQLITE_CANTOPEN ||
	    (result & 0xff) == SQLITE_IOERR)
		words = strerror(-error);
	if (error)
		snprintf(db->words, sizeof(db->words), "%s%s%s", db->store.path,
			 db->store.path[0] ? ": " : "", words);
	return error;
}

int sql_refuse(struct attrdb *db, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(db->words, sizeof(db->words), format, arguments);
	va_end(arguments);
	return error;
}

static int start(struct attrdb *db, sqlite3_stmt **out, const char *sql,
		 const char *kinds, va_list arguments)
{
	sqlite3_stmt *statement;
	int result = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);

	for (int i = 0; result == SQLITE_OK && kinds[i]; i++) {
		if (kinds[i] == 'i')
			result = sqlite3_bind_int64(statement, i + 1,
						    va_arg(arguments, int64_t));
		else
			result = sqlite3_bind_text(
			    statement, i + 1, va_arg(arguments, const char *),
			    -1, SQLITE_TRANSIENT);
	}
	if (result != SQLITE_OK) {
		int error = sql_error(db, result);

		sqlite3_finalize(statement);
		return error;
	}
	*out = statement;
	return 0;
}

int sql_start(struct attrdb *db, sqlite3_stmt **out, const char *sql,
	      const char *kinds, ...)
{
	va_list arguments;
	int error;

	va_start(arguments, kinds);
	error = start(db, out, sql, kinds, arguments);
	va_end(arguments);
	return error;
}

int sql_step(struct attrdb *db, sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	return result == SQLITE_ROW ? 1 : sql_error(db, result);
}

void sql_end(sqlite3_stmt *statement)
{
	sqlite3_finalize(statement);
}

void sql_text(sqlite3_stmt *statement, int column, char *out, size_t size)
{
	const unsigned char *text = sqlite3_column_text(statement, column);

	snprintf(out, size, "%s", text ? (const char *)text : "");
}

int sql_run(struct attrdb *db, const char *sql, const char *kinds, ...)
{
	sqlite3_stmt *statement = NULL;
	va_list arguments;
	int error;

	va_start(arguments, kinds);
	error = start(db, &statement, sql, kinds, arguments);
	va_end(arguments);
	if (error)
		return error;
	error = sql_step(db, statement);
	sql_end(statement);
	return error < 0 ? error : sqlite3_changes(db->handle);
}

int sql_script(struct attrdb *db, const char *script)
{
	return sql_error(db,
			 sqlite3_exec(db->handle, script, NULL, NULL, NULL));
}

int sql_begin(struct attrdb *db)
{
	return sql_script(db, "BEGIN IMMEDIATE");
}

int sql_commit(struct attrdb *db)
{
	return sql_script(db, "COMMIT");
}

void sql_rollback(struct attrdb *db)
{
	if (db->handle && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}
