/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* listing: how lsattr shows attributes and operations. */
#include "listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/attr_type.h"
#include "attrdb/object.h"

#include "columns.h"
#include "database.h"

int listing_unknown(const struct cmd *cmd, enum message number,
		    const char *object)
{
	message_command(cmd, number, object);
	return EXIT_UNKNOWN;
}

static bool is_named(const struct listing_request *r, const char *attribute)
{
	for (unsigned i = 0; i < r->attribute_count; i++)
		if (strcmp(r->attributes[i], attribute) == 0)
			return true;
	return false;
}

/* Attributes without D are shown only when -a names them. */
static bool is_shown(const struct listing_request *r,
		     const struct attrdb_attribute *a)
{
	return r->attribute_count ? is_named(r, a->name)
				  : strchr(a->generic, 'D') != NULL;
}

static int load(struct listing *l)
{
	const struct listing_request *r = l->r;

	l->count =
	    r->name ? attrdb_attributes_of_device(l->db, r->name, &l->list)
		    : attrdb_attributes_of_kind(l->db, l->uniquetype, &l->list);
	if (l->count < 0)
		return database_error(l->cmd, l->db, l->count);
	for (unsigned i = 0; i < r->attribute_count; i++) {
		int k = 0;

		while (k < l->count &&
		       strcmp(l->list[k].name, r->attributes[i]) != 0)
			k++;
		if (k == l->count)
			return listing_unknown(l->cmd,
					       MESSAGE_UNKNOWN_ATTRIBUTE,
					       r->attributes[i]);
	}
	return EXIT_DONE;
}

static const char *value_of(const struct listing_request *r,
			    const struct attrdb_attribute *a)
{
	if (r->view == 'D' || !r->name)
		return a->deflt;
	if (r->view == 'P' && a->is_configured)
		return a->configured;
	return a->value;
}

static const char *settable(const struct attrdb_attribute *a)
{
	if (!strchr(a->generic, 'U'))
		return "False";
	return strchr(a->generic, '+') ? "True+" : "True";
}

/* The cell of a column by its name; NULL when there is no such column. */
static const char *cell(const struct listing_request *r,
			const struct attrdb_attribute *a, const char *column,
			char number[16])
{
	const struct {
		const char *column, *cell;
	} known[] = {
	    {"attribute", a->name},
	    {"value", value_of(r, a)},
	    {"description", a->description},
	    {"user_settable", settable(a)},
	    {"deflt", a->deflt},
	    {"values", a->values},
	    {"width", a->width},
	    {"type", a->type},
	    {"generic", a->generic},
	    {"rep", a->rep},
	    {"configured", a->configured},
	    {"running", a->running},
	};

	snprintf(number, 16, "%d", a->nls_index);
	if (strcmp(column, "nls_index") == 0)
		return number;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].column, column) == 0)
			return known[i].cell;
	return NULL;
}

/* ---- Printing ----------------------------------------------------------- */

static int no_memory(const struct listing *l)
{
	return message_command(l->cmd, MESSAGE_SYSTEM, strerror(ENOMEM));
}

/* Padded columns: attribute, value, description, user_settable, or -F. */
static int print_columns(const struct listing *l, const struct format *f)
{
	const char *head[COLUMNS_MAX], *cells[COLUMNS_MAX];
	char number[16];
	struct columns c;
	int error = 0;

	columns_init(&c, f->count);
	for (unsigned k = 0; k < f->count; k++)
		head[k] = f->names[k];
	for (int i = 0; i < l->count && !error; i++) {
		if (!is_shown(l->r, &l->list[i]))
			continue;
		for (unsigned k = 0; k < f->count; k++)
			cells[k] = cell(l->r, &l->list[i], f->names[k], number);
		error = columns_add(&c, cells);
	}
	if (!error)
		columns_print(&c, l->r->has_header ? head : NULL, stdout);
	columns_fini(&c);
	return error ? no_memory(l) : EXIT_DONE;
}

/* What stands between the names is printed as it is. */
static void print_literal(const struct listing *l, const struct format *f)
{
	char number[16];

	for (int i = 0; i < l->count; i++) {
		if (!is_shown(l->r, &l->list[i]))
			continue;
		for (unsigned k = 0; k < f->count; k++)
			printf("%s%s", f->between[k],
			       cell(l->r, &l->list[i], f->names[k], number));
		printf("%s%c", f->between[f->count],
		       l->r->separator ? l->r->separator : '\n');
	}
}

static int print_format(const struct listing *l, const char *text)
{
	struct attrdb_attribute none = {0};
	struct format f;
	char number[16];

	if (format_parse(text, &f) != 0)
		return message_command(l->cmd, MESSAGE_BAD_PARAMETER, text);
	for (unsigned k = 0; k < f.count; k++)
		if (!cell(l->r, &none, f.names[k], number))
			return message_command(l->cmd, MESSAGE_BAD_PARAMETER,
					       f.names[k]);
	if (!f.is_literal && !l->r->separator)
		return print_columns(l, &f);
	print_literal(l, &f);
	return EXIT_DONE;
}

/* For SMIT: a colon inside of a value must not end it. */
static void print_escaped(const char *value)
{
	for (; *value; value++) {
		if (*value == ':')
			fputs("#!", stdout);
		putchar(*value);
	}
}

static void print_colons(const struct listing *l)
{
	const char *between = "#";

	for (int i = 0; i < l->count; i++) {
		if (!is_shown(l->r, &l->list[i]))
			continue;
		printf("%s%s", between, l->list[i].name);
		between = ":";
	}
	putchar('\n');
	between = "";
	for (int i = 0; i < l->count; i++) {
		if (!is_shown(l->r, &l->list[i]))
			continue;
		fputs(between, stdout);
		print_escaped(value_of(l->r, &l->list[i]));
		between = ":";
	}
	putchar('\n');
}

static int print_help(void *owner, const struct stanza *s)
{
	(void)owner;
	if (*stanza_string(s, "help"))
		puts(stanza_string(s, "help"));
	return 0;
}

/* A value without a list of legal ones: how it is written, and an example. */
static int print_syntax(const struct listing *l)
{
	const struct odm_class *c = odm_class_find("PdAtXtd");
	struct criteria which = {.count = 2};
	int error;

	which.terms[0].field = odm_class_field(c, "uniquetype");
	which.terms[1].field = odm_class_field(c, "attribute");
	strcpy(which.terms[0].value, l->uniquetype);
	snprintf(which.terms[1].value, sizeof(which.terms[1].value), "%s",
		 l->r->attributes[0]);
	error = attrdb_object_each(l->db, c, &which, print_help, NULL);
	return error ? database_error(l->cmd, l->db, error) : EXIT_DONE;
}

static int print_values(const struct listing *l)
{
	const struct attrdb_attribute *a = l->list;
	struct attr_type type;
	struct attr_range range;
	char word[256];
	const char *next;
	int found = 0;

	while (strcmp(a->name, l->r->attributes[0]) != 0)
		a++;
	type = (struct attr_type){a->rep, a->values};
	next = a->values;
	if (!*next)
		return print_syntax(l);
	if (attr_type_is_list(&type))
		while ((found =
			    attr_type_next_word(&next, word, sizeof(word))) > 0)
			puts(word);
	else if (attr_type_is_range(&type))
		while ((found = attr_type_next_range(&next, &range)) > 0)
			printf("%llu...%llu (+%llu)\n",
			       (unsigned long long)range.low,
			       (unsigned long long)range.high,
			       (unsigned long long)range.increment);
	return found < 0 ? message_command(l->cmd, MESSAGE_SYSTEM,
					   "the legal values are damaged")
			 : EXIT_DONE;
}

/* ---- Operations --------------------------------------------------------- */

struct operation_listing {
	const struct format *format;
	struct columns columns;
	char separator;
	unsigned found;
};

static int show_operation(void *owner, const struct stanza *s)
{
	struct operation_listing *o = owner;
	const struct format *f = o->format;
	const char *cells[COLUMNS_MAX] = {NULL};

	o->found++;
	for (unsigned k = 0; k < f->count; k++)
		cells[k] = stanza_string(s, f->names[k]);
	if (!f->is_literal && !o->separator)
		return columns_add(&o->columns, cells);
	for (unsigned k = 0; k < f->count; k++)
		printf("%s%s", f->between[k], cells[k]);
	printf("%s%c", f->between[f->count],
	       o->separator ? o->separator : '\n');
	return 0;
}

static int list_operations(const struct listing *l, struct operation_listing *o)
{
	const struct odm_class *c = odm_class_find("PdAtXtd");
	struct criteria which = {.count = 2};
	int error = 0;

	for (unsigned k = 0; k < o->format->count; k++)
		if (!odm_class_field(c, o->format->names[k]))
			return message_command(l->cmd, MESSAGE_BAD_PARAMETER,
					       o->format->names[k]);
	which.terms[0].field = odm_class_field(c, "uniquetype");
	which.terms[1].field = odm_class_field(c, "operation");
	strcpy(which.terms[0].value, l->uniquetype);
	for (unsigned i = 0; i < l->r->operation_count && !error; i++) {
		snprintf(which.terms[1].value, sizeof(which.terms[1].value),
			 "%s", l->r->operations[i]);
		o->found = 0;
		error = attrdb_object_each(l->db, c, &which, show_operation, o);
		if (!error && o->found == 0)
			return listing_unknown(l->cmd,
					       MESSAGE_UNKNOWN_ATTRIBUTE,
					       l->r->operations[i]);
	}
	if (error == -ENOMEM)
		return no_memory(l);
	return error ? database_error(l->cmd, l->db, error) : EXIT_DONE;
}

static int print_operations(const struct listing *l)
{
	struct operation_listing o = {.separator = l->r->separator};
	const char *head[COLUMNS_MAX];
	struct format f;
	int status;

	if (format_parse(l->r->format, &f) != 0)
		return message_command(l->cmd, MESSAGE_BAD_PARAMETER,
				       l->r->format);
	for (unsigned k = 0; k < f.count; k++)
		head[k] = f.names[k];
	o.format = &f;
	columns_init(&o.columns, f.count);
	status = list_operations(l, &o);
	if (status == EXIT_DONE && !f.is_literal && !o.separator)
		columns_print(&o.columns, l->r->has_header ? head : NULL,
			      stdout);
	columns_fini(&o.columns);
	return status;
}

int listing_print(struct listing *l)
{
	int status;

	if (l->r->operation_count)
		return print_operations(l);
	status = load(l);
	if (status != EXIT_DONE)
		return status;
	if (l->r->lists_values)
		return print_values(l);
	if (l->r->is_colons)
		print_colons(l);
	else
		return print_format(
		    l, l->r->format
			   ? l->r->format
			   : "attribute value description user_settable");
	return EXIT_DONE;
}

void listing_fini(struct listing *l)
{
	if (l->count > 0)
		free(l->list);
	l->count = 0;
}
