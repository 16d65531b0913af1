/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* device: devices of this host, and their attributes. */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sql.h"

int attrdb_kind_find(struct attrdb *db, const struct attrdb_kind *kind,
		     char *out)
{
	sqlite3_stmt *statement;
	int count = 0;
	int error;

	error = sql_start(db, &statement,
			  "SELECT uniquetype FROM PdDv WHERE class = "
			  "coalesce(?1, class) AND subclass = coalesce(?2, "
			  "subclass) AND type = coalesce(?3, type) ORDER BY 1",
			  "sss", kind->class_name, kind->subclass, kind->type);
	if (error)
		return error;
	while ((error = sql_step(db, statement)) == 1)
		if (count++ == 0)
			sql_text(statement, 0, out, ODM_UNIQUE_SIZE);
	sql_end(statement);
	return error ? error : count;
}

int attrdb_kind_description(struct attrdb *db, const char *uniquetype,
			    char *out)
{
	sqlite3_stmt *statement;
	int error;

	out[0] = '\0';
	error = sql_start(db, &statement,
			  "SELECT m.text FROM PdDv v JOIN PdMsg m ON "
			  "m.catalog = v.catalog AND m.setno = v.setno AND "
			  "m.msgno = v.msgno WHERE v.uniquetype = ?",
			  "s", uniquetype);
	if (error)
		return error;
	error = sql_step(db, statement);
	if (error == 1)
		sql_text(statement, 0, out, ODM_VALUE_SIZE);
	sql_end(statement);
	return error < 0 ? error : 0;
}

int attrdb_next_name(struct attrdb *db, const char *prefix, char *out)
{
	char name[ODM_NAME_SIZE];
	struct attrdb_device device;

	for (unsigned i = 0;; i++) {
		int error;

		if (snprintf(name, sizeof(name), "%s%u", prefix, i) >=
		    (int)sizeof(name))
			return sql_refuse(
			    db, -EEXIST, "no free name begins with %s", prefix);
		error = attrdb_device_get(db, name, &device);
		if (error == -ENOENT) {
			strcpy(out, name);
			return 0;
		}
		if (error)
			return error;
	}
}

#define DEVICE_COLUMNS "name, status, location, parent, connwhere, PdDvLn"

static void device_of_row(sqlite3_stmt *statement, void *row)
{
	struct attrdb_device *out = row;

	memset(out, 0, sizeof(*out));
	sql_text(statement, 0, out->name, sizeof(out->name));
	out->status = sqlite3_column_int(statement, 1);
	sql_text(statement, 2, out->location, sizeof(out->location));
	sql_text(statement, 3, out->parent, sizeof(out->parent));
	sql_text(statement, 4, out->connwhere, sizeof(out->connwhere));
	sql_text(statement, 5, out->uniquetype, sizeof(out->uniquetype));
}

int attrdb_device_get(struct attrdb *db, const char *name,
		      struct attrdb_device *out)
{
	sqlite3_stmt *statement;
	int error;

	error = sql_start(db, &statement,
			  "SELECT " DEVICE_COLUMNS " FROM CuDv WHERE name = ?",
			  "s", name);
	if (error)
		return error;
	error = sql_step(db, statement);
	if (error == 1)
		device_of_row(statement, out);
	sql_end(statement);
	if (error == 0)
		return sql_refuse(db, -ENOENT, "no device %s", name);
	return error < 0 ? error : 0;
}

/* Room for one more element; on failure the old list stays the caller's. */
static int grow(void **list, int count, size_t element_size)
{
	void *more;

	/* Powers of two only: each time the count reaches the room. */
	if (count != 0 && (count & (count - 1)) != 0)
		return 0;
	more = reallocarray(*list, count ? (size_t)count * 2 : 1, element_size);
	if (!more)
		return -ENOMEM;
	*list = more;
	return 0;
}

/*
 * All rows of a statement, which it ends, as a list of elements of that size.
 * Returns their number, or -errno.
 */
static int take_rows(struct attrdb *db, sqlite3_stmt *statement,
		     void (*take)(sqlite3_stmt *statement, void *row),
		     size_t size, void **out)
{
	void *list = NULL;
	int count = 0;
	int error;

	while ((error = sql_step(db, statement)) == 1) {
		error = grow(&list, count, size);
		if (error)
			break;
		take(statement, (char *)list + (size_t)count * size);
		count++;
	}
	sql_end(statement);
	if (error) {
		free(list);
		return error;
	}
	*out = list;
	return count;
}

int attrdb_device_list(struct attrdb *db, const char *parent,
		       const char *uniquetype, struct attrdb_device **out)
{
	sqlite3_stmt *statement;
	void *list = NULL;
	int count = sql_start(db, &statement,
			      "SELECT " DEVICE_COLUMNS " FROM CuDv WHERE "
			      "(?1 IS NULL OR parent = ?1) AND "
			      "(?2 IS NULL OR PdDvLn = ?2) ORDER BY name",
			      "ss", parent, uniquetype);

	if (count == 0)
		count = take_rows(db, statement, device_of_row, sizeof(**out),
				  &list);
	if (count >= 0)
		*out = list;
	return count;
}

int attrdb_device_put(struct attrdb *db, const struct attrdb_device *device)
{
	int changed = sql_run(
	    db,
	    "INSERT INTO CuDv (name, status, chgstatus, ddins, location, "
	    "parent, connwhere, PdDvLn) VALUES (?1, ?2, 2, '', ?3, ?4, ?5, ?6) "
	    "ON CONFLICT (name) DO UPDATE SET status = ?2, location = ?3, "
	    "parent = ?4, connwhere = ?5, PdDvLn = ?6",
	    "sissss", device->name, (int64_t)device->status, device->location,
	    device->parent, device->connwhere, device->uniquetype);

	return changed < 0 ? changed : 0;
}

static int need_one(struct attrdb *db, int changed, const char *what)
{
	if (changed == 0)
		return sql_refuse(db, -ENOENT, "no %s", what);
	return changed < 0 ? changed : 0;
}

int attrdb_device_remove(struct attrdb *db, const char *name)
{
	return need_one(
	    db, sql_run(db, "DELETE FROM CuDv WHERE name = ?", "s", name),
	    name);
}

static void attribute_of_row(sqlite3_stmt *s, void *row)
{
	struct attrdb_attribute *out = row;

	memset(out, 0, sizeof(*out));
	sql_text(s, 0, out->name, sizeof(out->name));
	sql_text(s, 1, out->value, sizeof(out->value));
	sql_text(s, 2, out->deflt, sizeof(out->deflt));
	sql_text(s, 3, out->configured, sizeof(out->configured));
	sql_text(s, 4, out->running, sizeof(out->running));
	out->is_configured = sqlite3_column_type(s, 3) != SQLITE_NULL;
	sql_text(s, 5, out->values, sizeof(out->values));
	sql_text(s, 6, out->width, sizeof(out->width));
	sql_text(s, 7, out->type, sizeof(out->type));
	sql_text(s, 8, out->generic, sizeof(out->generic));
	sql_text(s, 9, out->rep, sizeof(out->rep));
	out->nls_index = sqlite3_column_int(s, 10);
	sql_text(s, 11, out->description, sizeof(out->description));
}

/* The description is message nls_index in set setno of the catalogue. */
#define ATTRIBUTE_TEXT                                                         \
	"p.\"values\", p.width, p.type, p.generic, p.rep, p.nls_index, "       \
	"(SELECT m.text FROM PdDv v JOIN PdMsg m ON m.catalog = v.catalog "    \
	"AND m.setno = v.setno AND m.msgno = p.nls_index "                     \
	"WHERE v.uniquetype = p.uniquetype)"

static int list_attributes(struct attrdb *db, const char *sql, const char *key,
			   struct attrdb_attribute **out)
{
	sqlite3_stmt *statement;
	void *list = NULL;
	int count = sql_start(db, &statement, sql, "s", key);

	if (count == 0)
		count = take_rows(db, statement, attribute_of_row,
				  sizeof(**out), &list);
	if (count >= 0)
		*out = list;
	return count;
}

int attrdb_attributes_of_device(struct attrdb *db, const char *name,
				struct attrdb_attribute **out)
{
	return list_attributes(
	    db,
	    "SELECT p.attribute, e.value, p.deflt, c.value, "
	    "c.running, " ATTRIBUTE_TEXT " FROM CuDv d "
	    "JOIN PdAt p ON p.uniquetype = d.PdDvLn "
	    "JOIN effective e ON e.name = d.name AND e.attribute = p.attribute "
	    "LEFT JOIN configured c ON c.name = d.name "
	    "AND c.attribute = p.attribute WHERE d.name = ? ORDER BY 1",
	    name, out);
}

int attrdb_attributes_of_kind(struct attrdb *db, const char *uniquetype,
			      struct attrdb_attribute **out)
{
	return list_attributes(
	    db,
	    "SELECT p.attribute, p.deflt, p.deflt, NULL, NULL, " ATTRIBUTE_TEXT
	    " FROM PdAt p WHERE p.uniquetype = ? ORDER BY 1",
	    uniquetype, out);
}

int attrdb_attribute_put(struct attrdb *db, const char *device,
			 const char *attribute, const char *value)
{
	int changed = sql_run(
	    db,
	    "INSERT INTO CuAt (name, attribute, value, type, generic, rep, "
	    "nls_index) SELECT d.name, p.attribute, ?3, p.type, "
	    "coalesce(p.generic, ''), coalesce(p.rep, ''), p.nls_index "
	    "FROM CuDv d JOIN PdAt p ON p.uniquetype = d.PdDvLn "
	    "WHERE d.name = ?1 AND p.attribute = ?2 "
	    "ON CONFLICT (name, attribute) DO UPDATE SET value = ?3",
	    "sss", device, attribute, value);
	int error = need_one(db, changed, attribute);

	if (error)
		return error;
	changed = sql_run(
	    db,
	    "DELETE FROM CuAt WHERE name = ?1 AND attribute = ?2 AND value = "
	    "(SELECT p.deflt FROM CuDv d JOIN PdAt p ON p.uniquetype = "
	    "d.PdDvLn WHERE d.name = ?1 AND p.attribute = ?2)",
	    "ss", device, attribute);
	return changed < 0 ? changed : 0;
}

int attrdb_configured_clear(struct attrdb *db, const char *device)
{
	int changed =
	    sql_run(db, "DELETE FROM configured WHERE name = ?", "s", device);

	return changed < 0 ? changed : 0;
}

int attrdb_configured_set(struct attrdb *db, const char *device)
{
	int changed = attrdb_configured_clear(db, device);

	if (changed == 0)
		changed = sql_run(
		    db,
		    "INSERT INTO configured (name, attribute, value, running) "
		    "SELECT name, attribute, value, value FROM effective "
		    "WHERE name = ?",
		    "s", device);
	return changed < 0 ? changed : 0;
}

int attrdb_running_put(struct attrdb *db, const char *device,
		       const char *attribute, const char *value)
{
	return need_one(db,
			sql_run(db,
				"UPDATE configured SET running = ?3 "
				"WHERE name = ?1 AND attribute = ?2",
				"sss", device, attribute, value),
			attribute);
}

void attrdb_author_set(struct attrdb *db, int64_t uid, const char *user,
		       const char *command)
{
	db->uid = uid;
	snprintf(db->user, sizeof(db->user), "%s", user);
	snprintf(db->command, sizeof(db->command), "%s", command);
}

int attrdb_history_add(struct attrdb *db, const char *device,
		       const char *attribute, const char *old_value,
		       const char *new_value)
{
	int changed = sql_run(
	    db,
	    "INSERT INTO history (time, uid, user, command, device, attribute, "
	    "old, new) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	    "iissssss", (int64_t)time(NULL), db->uid, db->user, db->command,
	    device, attribute, old_value, new_value);

	return changed < 0 ? changed : 0;
}
