/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lsdev: devices of this host, and kinds of devices.
 *
 * The lsdev of procinfo takes no flags: without one, it is meant if it is
 * there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "attrdb/device.h"
#include "attrdb/object.h"

#include "columns.h"
#include "command.h"
#include "database.h"
#include "kind.h"
#include "method.h"
#include "pass_on.h"

static struct cmd cmd = {
    .name = "lsdev",
    .usage = "lsdev [-C] [-c Class] [-s Subclass] [-t Type]\n"
	     "      [-F Format | -r ColumnName] [-H] [-l {Name | -}]\n"
	     "      [-p Parent] [-S State] [-x] [-f File]\n"
	     "lsdev -P [-c Class] [-s Subclass] [-t Type]\n"
	     "      [-F Format | -r ColumnName] [-H] [-x] [-f File]\n"
	     "lsdev -h",
};

struct request {
	struct attrdb_kind kind;
	const char *name, *parent, *state, *format, *column;
	bool is_customized, is_predefined, has_header;
};

/* One row: an object of CuDv (unless -P), its object of PdDv, the text. */
struct row {
	const struct stanza *device; /* NULL with -P */
	struct stanza kind;
	char description[ODM_VALUE_SIZE];
};

struct lister {
	const struct request *r;
	struct attrdb *db;
	int status_wanted; /* -1: any */
	char *names;       /* of -l -, one on each line; NULL: any */
	struct format format;
	struct columns columns;
};

static int take_flag(void *request, int flag, char *argument)
{
	struct request *r = request;

	switch (flag) {
	case 'C':
		r->is_customized = true;
		break;
	case 'P':
		r->is_predefined = true;
		break;
	case 'l':
		r->name = argument;
		break;
	case 'p':
		r->parent = argument;
		break;
	case 'S':
		r->state = argument;
		break;
	case 'F':
		r->format = argument;
		break;
	case 'r':
		r->column = argument;
		break;
	case 'H':
		r->has_header = true;
		break;
	case 'x': /* no device is hidden */
		break;
	default:
		return kind_take(&r->kind, flag, argument) ? EXIT_DONE
							   : EXIT_REFUSED;
	}
	return EXIT_DONE;
}

/* 0, 1, 2, or -1 for no such state. */
static int state_number(const char *word)
{
	static const char *const words[] = {"defined", "available", "stopped"};

	for (int i = 0; i < 3; i++)
		if (strcasecmp(word, words[i]) == 0 ||
		    (word[0] && !word[1] &&
		     (word[0] == '0' + i ||
		      strncasecmp(word, words[i], 1) == 0)))
			return i;
	return -1;
}

static int check_request(const struct request *r)
{
	if (r->is_customized && r->is_predefined)
		return message_usage(&cmd, "-C and -P exclude each other.");
	if (r->format && r->column)
		return message_usage(&cmd, "-F and -r exclude each other.");
	if (r->is_predefined && (r->name || r->parent || r->state))
		return message_usage(&cmd, "-P excludes -l, -p and -S.");
	if (r->state && state_number(r->state) < 0)
		return message_command(&cmd, MESSAGE_BAD_PARAMETER, r->state);
	return EXIT_DONE;
}

/* ---- Columns ------------------------------------------------------------ */

static const char *field_text(const struct stanza *s, const char *name,
			      char number[24])
{
	const struct stanza_field *f = stanza_find(s, name);

	if (!f || f->string)
		return f ? f->string : NULL;
	snprintf(number, 24, "%lld", (long long)f->number);
	return number;
}

static int status_of(const struct stanza *device)
{
	return method_status((int)stanza_find(device, "status")->number,
			     stanza_string(device, "PdDvLn"));
}

static const char *cell(const struct row *row, const char *column,
			char number[24])
{
	const char *text = NULL;

	if (strcmp(column, "description") == 0)
		return row->description;
	if (strcmp(column, "physloc") == 0)
		return "";
	if (row->device && strcmp(column, "status") == 0)
		return method_state_name(status_of(row->device));
	if (row->device)
		text = field_text(row->device, column, number);
	return text ? text : field_text(&row->kind, column, number);
}

static bool is_column(const struct request *r, const char *name)
{
	return strcmp(name, "description") == 0 ||
	       strcmp(name, "physloc") == 0 ||
	       odm_class_field(odm_class_find("PdDv"), name) ||
	       (!r->is_predefined &&
		odm_class_field(odm_class_find("CuDv"), name));
}

static int prepare_format(struct lister *l)
{
	const char *text = l->r->format;

	if (l->r->column)
		text = l->r->column;
	else if (!text)
		text = l->r->is_predefined ? "class type subclass description"
					   : "name status location description";
	if (format_parse(text, &l->format) != 0 ||
	    (l->r->column && l->format.count != 1))
		return message_command(&cmd, MESSAGE_BAD_PARAMETER, text);
	for (unsigned k = 0; k < l->format.count; k++)
		if (!is_column(l->r, l->format.names[k]))
			return message_command(&cmd, MESSAGE_BAD_PARAMETER,
					       l->format.names[k]);
	return EXIT_DONE;
}

static int add_row(struct lister *l, const struct row *row)
{
	const struct format *f = &l->format;
	const char *cells[COLUMNS_MAX];
	char numbers[COLUMNS_MAX][24];

	for (unsigned k = 0; k < f->count; k++)
		cells[k] = cell(row, f->names[k], numbers[k]);
	return columns_add(&l->columns, cells);
}

/* ---- Rows --------------------------------------------------------------- */

static bool is_selected(const struct request *r, const struct stanza *kind)
{
	const struct attrdb_kind *k = &r->kind;

	return (!k->class_name ||
		strcmp(k->class_name, stanza_string(kind, "class")) == 0) &&
	       (!k->subclass ||
		strcmp(k->subclass, stanza_string(kind, "subclass")) == 0) &&
	       (!k->type || strcmp(k->type, stanza_string(kind, "type")) == 0);
}

struct kind_visit {
	struct lister *l;
	const struct stanza *device;
};

static int visit_kind(void *owner, const struct stanza *s)
{
	struct kind_visit *v = owner;
	struct row row = {.device = v->device, .kind = *s};
	int error;

	if (!is_selected(v->l->r, s))
		return 0;
	error = attrdb_kind_description(
	    v->l->db, stanza_string(s, "uniquetype"), row.description);
	return error ? error : add_row(v->l, &row);
}

/* Is the name one of the lines? */
static bool has_line(const char *lines, const char *name)
{
	size_t length = strlen(name);

	while (*lines) {
		size_t n = strcspn(lines, "\n");

		if (n == length && memcmp(lines, name, n) == 0)
			return true;
		lines += n;
		lines += *lines == '\n';
	}
	return false;
}

static int visit_device(void *owner, const struct stanza *s)
{
	struct lister *l = owner;
	struct kind_visit v = {l, s};
	const struct odm_class *c = odm_class_find("PdDv");
	struct criteria which;

	if ((l->status_wanted >= 0 && status_of(s) != l->status_wanted) ||
	    (l->r->parent &&
	     strcmp(l->r->parent, stanza_string(s, "parent")) != 0) ||
	    (l->names && !has_line(l->names, stanza_string(s, "name"))))
		return 0;
	if (!criteria_equal(c, "uniquetype", stanza_string(s, "PdDvLn"),
			    &which))
		return 0;
	return attrdb_object_each(l->db, c, &which, visit_kind, &v);
}

static int compare_cells(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* -r: each value once. */
static void print_distinct(const struct columns *c)
{
	qsort((void *)c->cells, c->row_count, sizeof(*c->cells), compare_cells);
	for (size_t i = 0; i < c->row_count; i++)
		if (i == 0 || strcmp(c->cells[i], c->cells[i - 1]) != 0)
			puts(c->cells[i]);
}

static void print_literal(const struct lister *l)
{
	const struct format *f = &l->format;

	for (size_t row = 0; row < l->columns.row_count; row++) {
		for (unsigned k = 0; k < f->count; k++)
			printf("%s%s", f->between[k],
			       l->columns.cells[row * f->count + k]);
		printf("%s\n", f->between[f->count]);
	}
}

static void print(const struct lister *l)
{
	const char *head[COLUMNS_MAX];

	for (unsigned k = 0; k < l->format.count; k++)
		head[k] = l->format.names[k];
	if (l->r->column)
		print_distinct(&l->columns);
	else if (l->format.is_literal)
		print_literal(l);
	else
		columns_print(&l->columns, l->r->has_header ? head : NULL,
			      stdout);
}

static int list(struct lister *l)
{
	const struct odm_class *c =
	    odm_class_find(l->r->is_predefined ? "PdDv" : "CuDv");
	const struct criteria all = {0};
	struct kind_visit v = {l, NULL};
	int error;

	columns_init(&l->columns, l->format.count);
	if (l->r->is_predefined)
		error = attrdb_object_each(l->db, c, &all, visit_kind, &v);
	else
		error = attrdb_object_each(l->db, c, &all, visit_device, l);
	if (!error)
		print(l);
	columns_fini(&l->columns);
	if (error == -ENOMEM)
		return message_command(&cmd, MESSAGE_SYSTEM, strerror(ENOMEM));
	return error ? database_error(&cmd, l->db, error) : EXIT_DONE;
}

/*
 * A name that no device has is no error, and scripts compare what is said of
 * it; a person at a terminal is told.
 */
static void note_none(const struct lister *l)
{
	const char *name = l->r->name;
	struct attrdb_device device;

	if (name && isatty(STDERR_FILENO) && strcmp(name, "-") != 0 &&
	    attrdb_device_get(l->db, name, &device) == -ENOENT)
		message_note(&cmd, "there is no device %s", name);
}

/* The names that -l asks for. */
static int load_names(struct lister *l)
{
	size_t size = 0;

	if (!l->r->name)
		return EXIT_DONE;
	if (strcmp(l->r->name, "-") != 0) {
		l->names = strdup(l->r->name);
	} else if (getdelim(&l->names, &size, '\0', stdin) < 0) {
		/* No byte; or an error, which must not look like that. */
		free(l->names);
		l->names = feof(stdin) ? strdup("") : NULL;
	}
	return l->names
		   ? EXIT_DONE
		   : message_command(&cmd, MESSAGE_SYSTEM, strerror(errno));
}

static int run(void *request, char *const *argv)
{
	struct lister l = {.r = request, .status_wanted = -1};
	int status = check_request(l.r);

	(void)argv;
	if (status == EXIT_DONE)
		status = prepare_format(&l);
	if (status == EXIT_DONE)
		status = load_names(&l);
	if (status == EXIT_DONE && l.r->state)
		l.status_wanted = state_number(l.r->state);
	if (status == EXIT_DONE)
		status = database_open_read(&cmd, &l.db);
	if (status == EXIT_DONE)
		status = list(&l);
	if (status == EXIT_DONE)
		note_none(&l);
	attrdb_close(l.db);
	free(l.names);
	return status;
}

int main(int argc, char **argv)
{
	static const struct command command = {&cmd, "CPc:s:t:l:p:S:F:r:Hx",
					       take_flag, run, NULL};
	struct request r = {0};

	if (argc == 1)
		pass_on("lsdev", argv);
	return command_main(&command, &r, argc, argv);
}
