/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* object: any object of any class, as a stanza. */
#include "object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql.h"

/*
 * Names in the statements below come from the table of classes, never from a
 * caller; values are bound.
 */
struct statement_text {
	FILE *file;
	char *bytes;
	size_t length;
};

static int text_open(struct statement_text *t)
{
	t->bytes = NULL;
	t->file = open_memstream(&t->bytes, &t->length);
	return t->file ? 0 : -ENOMEM;
}

static int text_prepare(struct attrdb *db, struct statement_text *t,
			sqlite3_stmt **out)
{
	int error;

	if (fclose(t->file) != 0) {
		free(t->bytes);
		sql_refuse(db, -ENOMEM, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	error = sql_start(db, out, t->bytes, "");
	free(t->bytes);
	return error;
}

static void put_insert(FILE *f, const struct odm_class *c,
		       const struct stanza *s)
{
	bool is_first = true;
	unsigned i;

	fprintf(f, "INSERT INTO \"%s\" (", c->name);
	for (i = 0; i < s->field_count; i++)
		fprintf(f, "%s\"%s\"", i ? ", " : "", s->fields[i].name);
	fputs(") VALUES (", f);
	for (i = 0; i < s->field_count; i++)
		fprintf(f, "%s?", i ? ", " : "");
	fputs(") ON CONFLICT (", f);
	for (i = 0; i < c->key_count; i++)
		fprintf(f, "%s\"%s\"", i ? ", " : "", c->fields[i].name);
	fputs(") DO UPDATE SET ", f);
	for (const struct odm_field *k = c->fields; k->name; k++) {
		if (!stanza_find(s, k->name))
			continue;
		fprintf(f, "%s\"%s\" = excluded.\"%s\"", is_first ? "" : ", ",
			k->name, k->name);
		is_first = false;
	}
}

int attrdb_object_put(struct attrdb *db, const struct stanza *s)
{
	const struct odm_class *c = odm_class_find(s->class_name);
	struct statement_text text;
	sqlite3_stmt *statement = NULL;
	char why[128];
	int error;

	if (!c || c->is_read_only)
		return sql_refuse(db, -EINVAL, "class %s cannot be written",
				  s->class_name);
	if (odm_class_check(c, s, why, sizeof(why)) != 0)
		return sql_refuse(db, -EINVAL, "%s", why);
	if (text_open(&text) != 0)
		return sql_refuse(db, -ENOMEM, "%s", strerror(ENOMEM));
	put_insert(text.file, c, s);
	error = text_prepare(db, &text, &statement);
	if (error)
		return error;
	for (unsigned i = 0; i < s->field_count && !error; i++) {
		const struct stanza_field *f = &s->fields[i];
		int column = (int)i + 1;

		error = sql_error(
		    db, f->string
			    ? sqlite3_bind_text(statement, column, f->string,
						-1, SQLITE_TRANSIENT)
			    : sqlite3_bind_int64(statement, column, f->number));
	}
	if (!error)
		error = sql_step(db, statement);
	sql_end(statement);
	return error;
}

static void put_where(FILE *f, const struct criteria *which)
{
	static const char *const words[] = {
	    [CRITERIA_EQUAL] = "=",     [CRITERIA_UNEQUAL] = "<>",
	    [CRITERIA_ABOVE] = ">",     [CRITERIA_BELOW] = "<",
	    [CRITERIA_AT_LEAST] = ">=", [CRITERIA_AT_MOST] = "<=",
	    [CRITERIA_LIKE] = "GLOB",
	};

	for (unsigned i = 0; i < which->count; i++) {
		const struct criteria_term *t = &which->terms[i];
		bool is_number = t->field->size == 0;

		/* A field that was never set reads as "" or 0. */
		fprintf(f, "%s coalesce(\"%s\", %s) %s ?",
			i ? " AND" : " WHERE", t->field->name,
			is_number ? "0" : "''", words[t->test]);
	}
}

static int bind_criteria(struct attrdb *db, sqlite3_stmt *statement,
			 const struct criteria *which)
{
	for (unsigned i = 0; i < which->count; i++) {
		const struct criteria_term *t = &which->terms[i];
		bool as_number =
		    t->field->size == 0 && t->test != CRITERIA_LIKE;
		char *end;
		long long number = strtoll(t->value, &end, 0);
		int result;

		if (as_number && (*end || end == t->value))
			return sql_refuse(db, -EINVAL, "%s is a number",
					  t->field->name);
		result =
		    as_number
			? sqlite3_bind_int64(statement, (int)i + 1, number)
			: sqlite3_bind_text(statement, (int)i + 1, t->value, -1,
					    SQLITE_TRANSIENT);
		if (result != SQLITE_OK)
			return sql_error(db, result);
	}
	return 0;
}

static int start(struct attrdb *db, const struct odm_class *c, bool removes,
		 const struct criteria *which, sqlite3_stmt **out)
{
	struct statement_text text;
	int error;

	if (text_open(&text) != 0)
		return sql_refuse(db, -ENOMEM, "%s", strerror(ENOMEM));
	fputs(removes ? "DELETE" : "SELECT", text.file);
	for (const struct odm_field *f = c->fields; !removes && f->name; f++)
		fprintf(text.file, "%s \"%s\"", f == c->fields ? "" : ",",
			f->name);
	fprintf(text.file, " FROM \"%s\"", c->name);
	put_where(text.file, which);
	for (unsigned i = 0; !removes && i < c->key_count; i++)
		fprintf(text.file, "%s \"%s\"", i ? "," : " ORDER BY",
			c->fields[i].name);
	error = text_prepare(db, &text, out);
	if (!error) {
		error = bind_criteria(db, *out, which);
		if (error)
			sql_end(*out);
	}
	return error;
}

static int stanza_of_row(sqlite3_stmt *statement, const struct odm_class *c,
			 struct stanza *out)
{
	int error = stanza_init(out, c->name);

	for (int i = 0; c->fields[i].name && !error; i++) {
		const unsigned char *text = sqlite3_column_text(statement, i);

		if (c->fields[i].size)
			error =
			    stanza_set_string(out, c->fields[i].name,
					      text ? (const char *)text : "");
		else
			error = stanza_set_number(
			    out, c->fields[i].name,
			    sqlite3_column_int64(statement, i));
	}
	return error;
}

int attrdb_object_each(struct attrdb *db, const struct odm_class *c,
		       const struct criteria *which,
		       int (*visit)(void *owner, const struct stanza *s),
		       void *owner)
{
	sqlite3_stmt *statement = NULL;
	int error = start(db, c, false, which, &statement);

	if (error)
		return error;
	while ((error = sql_step(db, statement)) == 1) {
		struct stanza s = {0};

		error = stanza_of_row(statement, c, &s);
		if (error)
			sql_refuse(db, error, "an object of %s is damaged",
				   c->name);
		else
			error = visit(owner, &s);
		stanza_fini(&s);
		if (error)
			break;
	}
	sql_end(statement);
	return error;
}

int attrdb_object_remove(struct attrdb *db, const struct odm_class *c,
			 const struct criteria *which)
{
	sqlite3_stmt *statement = NULL;
	int error = start(db, c, true, which, &statement);

	if (error)
		return error;
	error = sql_step(db, statement);
	sql_end(statement);
	return error ? error : sqlite3_changes(db->handle);
}
