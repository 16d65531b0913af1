/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* predefined: brings smc_r.stanza into the predefined classes. */
#include "predefined.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/object.h"
#include "place.h"

#define FILE_NAME      "smc_r.stanza"
#define FILE_BYTES_MAX 65536

struct loader {
	struct attrdb *db;
	char path[PATH_MAX];
	char *text;
	size_t length;
	char *why;
	size_t size;
};

static int load_text(struct loader *l)
{
	FILE *file = fopen(l->path, "re");
	int error = 0;

	if (!file) {
		error = -errno;
		snprintf(l->why, l->size, "%s: %s", l->path, strerror(errno));
		return error;
	}
	l->text = malloc(FILE_BYTES_MAX);
	if (l->text)
		l->length = fread(l->text, 1, FILE_BYTES_MAX, file);
	if (!l->text)
		error = -ENOMEM;
	else if (ferror(file))
		error = -EIO;
	else if (l->length == FILE_BYTES_MAX)
		error = -EFBIG;
	fclose(file);
	if (error)
		snprintf(l->why, l->size, "%s: %s", l->path, strerror(-error));
	return error;
}

/* Attributes that the file does not name any more must go. */
static int forget_kind(struct loader *l, const char *uniquetype)
{
	static const char *const classes[] = {"PdAt", "PdAtXtd"};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const struct odm_class *c = odm_class_find(classes[i]);
		struct criteria which;
		int removed;

		if (!criteria_equal(c, "uniquetype", uniquetype, &which))
			return -EINVAL;
		removed = attrdb_object_remove(l->db, c, &which);
		if (removed < 0)
			return removed;
	}
	return 0;
}

static int load_object(struct loader *l, const struct stanza *s, unsigned line)
{
	const char *words = "a class of predefined objects is needed";
	int error = -EINVAL;

	if (strncmp(s->class_name, "Pd", 2) == 0) {
		error = 0;
		if (strcmp(s->class_name, "PdDv") == 0)
			error = forget_kind(l, stanza_string(s, "uniquetype"));
		if (!error)
			error = attrdb_object_put(l->db, s);
		words = attrdb_words(l->db);
	}
	/* What the stanza has wrong; other errors are the database's. */
	if (error == -EINVAL || error == -EEXIST)
		snprintf(l->why, l->size, "%s:%u: %s", l->path, line, words);
	return error;
}

static int load_stanzas(struct loader *l)
{
	struct stanza_reader reader;
	struct stanza s;
	int found, error;

	stanza_reader_init(&reader, l->text, l->length);
	while ((found = stanza_read(&reader, &s)) > 0) {
		/* The line behind the stanza: near enough to find it. */
		unsigned line = reader.line;

		error = load_object(l, &s, line);
		stanza_fini(&s);
		if (error)
			return error;
	}
	if (found < 0)
		snprintf(l->why, l->size, "%s:%u: %s", l->path, reader.line,
			 reader.why ? reader.why : strerror(-found));
	return found;
}

int predefined_load(struct attrdb *db, char *why, size_t size)
{
	struct loader l = {.db = db, .why = why, .size = size};
	int error = place_stanza(FILE_NAME, l.path, sizeof(l.path));

	why[0] = '\0';
	if (error) {
		snprintf(why, size, "%s: %s", FILE_NAME, strerror(-error));
		return error;
	}
	error = load_text(&l);
	if (!error)
		error = load_stanzas(&l);
	free(l.text);
	return error;
}
