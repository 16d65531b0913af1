/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odmcreate: a header of C from the description of classes.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "odm_layout.h"
#include "version.h"

#define DESCRIPTION_BYTES_MAX 65536
#define TYPES                 "class short long ulong char vchar longchar method binary"

static struct cmd cmd = {
    .name = "odmcreate",
    .usage = "odmcreate -h ClassDescriptionFile\n"
	     "odmcreate -h",
};

/* The text that is left, blanks and comments skipped on the way. */
struct reader {
	char *next;
	bool is_wrong;
};

static void skip(struct reader *r)
{
	for (;;) {
		char *end;

		r->next += strspn(r->next, " \t\r\n");
		if (strncmp(r->next, "/*", 2) != 0)
			return;
		end = strstr(r->next + 2, "*/");
		r->next = end ? end + 2 : r->next + strlen(r->next);
	}
}

static bool take(struct reader *r, char sign)
{
	skip(r);
	if (r->is_wrong || *r->next != sign)
		return false;
	r->next++;
	return true;
}

static void need(struct reader *r, char sign)
{
	if (!r->is_wrong)
		r->is_wrong |= !take(r, sign);
}

/* A name or a number; "" is wrong. */
static void read_word(struct reader *r, char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	if (r->is_wrong)
		return;
	skip(r);
	while (isalnum((unsigned char)r->next[n]) || r->next[n] == '_')
		n++;
	r->is_wrong = n == 0 || n >= size;
	snprintf(out, size, "%.*s", (int)n, r->next);
	if (!r->is_wrong)
		r->next += n;
}

static bool is_type(const char *word)
{
	const char *at = strstr(TYPES, word);

	return at && (at[strlen(word)] == ' ' || !at[strlen(word)]);
}

struct layout {
	struct odm_class class_object;
	char names[ODM_FIELDS_MAX + 1][STANZA_NAME_SIZE];
};

static void read_field(struct reader *r, struct layout *l, unsigned i)
{
	struct odm_field *f = &l->class_object.fields[i];
	char type[STANZA_NAME_SIZE], size[STANZA_NAME_SIZE];

	read_word(r, type, sizeof(type));
	r->is_wrong |= !is_type(type);
	read_word(r, l->names[i + 1], sizeof(l->names[0]));
	f->name = l->names[i + 1];
	if (take(r, '[')) {
		read_word(r, size, sizeof(size));
		f->size = (unsigned)strtoul(size, NULL, 0);
		r->is_wrong |= f->size == 0;
		need(r, ']');
	}
	need(r, ';');
}

static void read_class(struct reader *r, struct layout *l)
{
	char word[STANZA_NAME_SIZE];
	unsigned i = 0;

	read_word(r, word, sizeof(word));
	r->is_wrong |= strcmp(word, "class") != 0;
	read_word(r, l->names[0], sizeof(l->names[0]));
	l->class_object.name = l->names[0];
	need(r, '{');
	while (!r->is_wrong && !take(r, '}')) {
		if (i == ODM_FIELDS_MAX - 1)
			r->is_wrong = true;
		else
			read_field(r, l, i++);
	}
	need(r, ';');
}

static int print_classes(char *text, const char *path, FILE *out)
{
	struct reader r = {.next = text};

	for (skip(&r); *r.next && !r.is_wrong; skip(&r)) {
		struct layout l = {.names = {""}};

		read_class(&r, &l);
		if (!r.is_wrong)
			odm_layout_print(out, &l.class_object, "struct");
	}
	if (!r.is_wrong)
		return EXIT_DONE;
	*r.next = '\0';
	for (size_t line = 1;; line++) {
		char *end = strchr(text, '\n');

		if (!end)
			return message_usage(&cmd,
					     "%s:%zu: no description of "
					     "a class.",
					     path, line);
		text = end + 1;
	}
}

/* "dir/Name.cre" becomes "Name.h" in the working directory. */
static void name_header(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	snprintf(out, size, "%.*s.h",
		 dot ? (int)(dot - name) : (int)strlen(name), name);
}

static int complain(const char *path)
{
	return message_file(&cmd, path, errno);
}

static int write_header(char *text, const char *path)
{
	char name[256], *made = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&made, &length), *file;
	int status =
	    memory ? print_classes(text, path, memory) : complain(path);

	if (memory && fclose(memory) != 0 && status == EXIT_DONE)
		status = complain(path);
	name_header(path, name, sizeof(name));
	if (status == EXIT_DONE) {
		file = fopen(name, "we");
		if (!file || fwrite(made, 1, length, file) != length)
			status = complain(name);
		if (file && fclose(file) != 0 && status == EXIT_DONE)
			status = complain(name);
	}
	free(made);
	return status;
}

static int make_header(const char *path)
{
	char *text = calloc(1, DESCRIPTION_BYTES_MAX + 1);
	FILE *file = fopen(path, "re");
	int status = EXIT_DONE;

	if (!text || !file ||
	    (fread(text, 1, DESCRIPTION_BYTES_MAX, file) == 0 && ferror(file)))
		status = complain(path);
	if (file)
		fclose(file);
	if (status == EXIT_DONE)
		status = write_header(text, path);
	free(text);
	return status;
}

int main(int argc, char **argv)
{
	int status;

	if (version_answer(cmd.name, argc, argv, &status))
		return status;
	if (argc == 2 && strcmp(argv[1], "-h") == 0)
		status = message_help(&cmd);
	else if (argc == 3 && strcmp(argv[1], "-h") == 0)
		status = make_header(argv[2]);
	else
		status = message_usage(
		    &cmd, "only headers can be made: the classes are those of "
			  "attrdb(5).");
	return message_end(&cmd, status);
}
