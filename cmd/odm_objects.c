/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* odm_objects: the objects of a class that a command chose. */
#include "odm_objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"

#define INPUT_BYTES_MAX (1U << 20)

int odm_selection_parse(const struct cmd *cmd, const struct odm_selection *s,
			const struct odm_class **c, struct criteria *which)
{
	char why[128];

	if (!s->class_name)
		return message_usage(cmd, "-o is needed.");
	*c = odm_class_find(s->class_name);
	if (!*c)
		return message_command(cmd, MESSAGE_BAD_PARAMETER,
				       s->class_name);
	if (criteria_parse(*c, s->criteria ? s->criteria : "", which, why,
			   sizeof(why)) != 0)
		return message_usage(cmd, "%s: %s", s->criteria, why);
	return EXIT_DONE;
}

/* Takes over the strings of s if it succeeds. */
static int append(struct odm_objects *o, const struct stanza *s)
{
	struct stanza *more =
	    reallocarray(o->list, o->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	o->list = more;
	more[o->count++] = *s;
	return 0;
}

static int keep_copy(void *owner, const struct stanza *s)
{
	struct stanza copy;
	int error = stanza_init(&copy, s->class_name);

	for (unsigned i = 0; i < s->field_count && !error; i++) {
		const struct stanza_field *f = &s->fields[i];

		error = f->string
			    ? stanza_set_string(&copy, f->name, f->string)
			    : stanza_set_number(&copy, f->name, f->number);
	}
	if (!error)
		error = append(owner, &copy);
	if (error)
		stanza_fini(&copy);
	return error;
}

int odm_objects_find(struct method *m, const struct odm_class *c,
		     const struct criteria *which, struct odm_objects *out)
{
	int error = attrdb_object_each(m->db, c, which, keep_copy, out);

	if (error == -ENOMEM)
		return message_command(m->cmd, MESSAGE_SYSTEM,
				       strerror(ENOMEM));
	return error ? database_error(m->cmd, m->db, error) : EXIT_DONE;
}

void odm_objects_fini(struct odm_objects *o)
{
	for (unsigned i = 0; i < o->count; i++)
		stanza_fini(&o->list[i]);
	free(o->list);
	memset(o, 0, sizeof(*o));
}

bool odm_objects_key(const struct odm_class *c, const struct stanza *s,
		     struct criteria *out)
{
	memset(out, 0, sizeof(*out));
	for (; out->count < c->key_count; out->count++) {
		struct criteria_term *t = &out->terms[out->count];
		const struct stanza_field *f;
		int n;

		t->field = &c->fields[out->count];
		f = stanza_find(s, t->field->name);
		n = !f || f->string ? snprintf(t->value, sizeof(t->value), "%s",
					       f ? f->string : "")
				    : snprintf(t->value, sizeof(t->value),
					       "%lld", (long long)f->number);
		if (n < 0 || n >= (int)sizeof(t->value))
			return false;
	}
	return true;
}

/* ---- Files -------------------------------------------------------------- */

static int complain(const struct cmd *cmd, const char *path, const char *words)
{
	char text[1024];

	snprintf(text, sizeof(text), "%.600s: %s", path, words);
	return message_command(cmd, MESSAGE_SYSTEM, text);
}

static int read_stanzas(const struct cmd *cmd, const char *path,
			const char *text, size_t length,
			struct odm_objects *out)
{
	struct stanza_reader reader;
	char place[600];
	struct stanza s;
	int found;

	stanza_reader_init(&reader, text, length);
	while ((found = stanza_read(&reader, &s)) > 0) {
		found = append(out, &s);
		if (found == 0)
			continue;
		stanza_fini(&s);
		break;
	}
	if (found == 0)
		return EXIT_DONE;
	snprintf(place, sizeof(place), "%.512s:%u", path, reader.line);
	return complain(cmd, place, reader.why ? reader.why : strerror(-found));
}

int odm_objects_read(const struct cmd *cmd, const char *path,
		     struct odm_objects *out)
{
	bool is_input = !path || strcmp(path, "-") == 0;
	const char *name = is_input ? "standard input" : path;
	FILE *file = is_input ? stdin : fopen(path, "re");
	char *text = file ? malloc(INPUT_BYTES_MAX) : NULL;
	int error = file ? ENOMEM : errno;
	size_t length = 0;
	int status;

	if (text) {
		errno = 0;
		length = fread(text, 1, INPUT_BYTES_MAX, file);
		error = ferror(file) ? errno : 0;
		if (!error && length == INPUT_BYTES_MAX)
			error = EFBIG;
	}
	if (file && !is_input)
		fclose(file);
	status = error ? message_file(cmd, name, error)
		       : read_stanzas(cmd, name, text, length, out);
	free(text);
	return status;
}
