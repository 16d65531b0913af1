/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* predefined: brings the stanza files into the database. */
#include "predefined.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/object.h"
#include "place.h"

#define FILE_BYTES_MAX 65536

/* The first one is needed; without the second smit has no screens. */
static const char *const files[] = {"smc_r.stanza", "smit.stanza"};

/*
 * An object that stands for all of a kind: those which the database has of the
 * kind, and which the file does not name any more, must go.
 */
static const struct family {
	const char *head, *key; /* class and field */
	const char *number;     /* its id_seq_num; NULL: any object */
	const char *member, *link;
} families[] = {
    {"PdDv", "uniquetype", NULL, "PdAt", "uniquetype"},
    {"PdDv", "uniquetype", NULL, "PdAtXtd", "uniquetype"},
    {"sm_menu_opt", "id", "0", "sm_menu_opt", "id"},
    {"sm_name_hdr", "option_id", NULL, "sm_cmd_opt", "id"},
    {"sm_cmd_hdr", "option_id", NULL, "sm_cmd_opt", "id"},
};

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

static int forget_members(struct loader *l, const struct stanza *head)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *f = &families[i];
		const struct odm_class *c = odm_class_find(f->member);
		struct criteria which;
		int removed;

		if (strcmp(head->class_name, f->head) != 0 ||
		    (f->number &&
		     strcmp(stanza_string(head, "id_seq_num"), f->number) != 0))
			continue;
		if (!criteria_equal(c, f->link, stanza_string(head, f->key),
				    &which))
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

	if (strncmp(s->class_name, "Pd", 2) == 0 ||
	    strncmp(s->class_name, "sm_", 3) == 0) {
		error = forget_members(l, s);
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

static int load_file(struct loader *l, const char *name, bool is_needed)
{
	int error = place_stanza(name, l->path, sizeof(l->path));

	if (error) {
		snprintf(l->why, l->size, "%s: %s", name, strerror(-error));
		return error;
	}
	error = load_text(l);
	if (error == -ENOENT && !is_needed) {
		l->why[0] = '\0';
		return 0;
	}
	if (!error)
		error = load_stanzas(l);
	free(l->text);
	l->text = NULL;
	return error;
}

int predefined_load(struct attrdb *db, char *why, size_t size)
{
	struct loader l = {.db = db, .why = why, .size = size};
	int error = 0;

	why[0] = '\0';
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !error; i++)
		error = load_file(&l, files[i], i == 0);
	return error;
}
