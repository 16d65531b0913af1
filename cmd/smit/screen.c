/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen: what smit shows, as the objects of the database describe it. */
#include "cmd/smit/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/object.h"

/* The heading of a menu, and the one field of a selector. */
#define FIRST_NUMBER "0"

struct loader {
	struct attrdb *db;
	struct screen *out;
	unsigned capacity;
};

static int copy_object(struct stanza *to, const struct stanza *from)
{
	int error = stanza_init(to, from->class_name);

	for (unsigned i = 0; i < from->field_count && !error; i++) {
		const struct stanza_field *f = &from->fields[i];

		error = f->string ? stanza_set_string(to, f->name, f->string)
				  : stanza_set_number(to, f->name, f->number);
	}
	return error;
}

static int each(struct attrdb *db, const char *class_name, const char *criteria,
		int (*visit)(void *owner, const struct stanza *s), void *owner)
{
	const struct odm_class *c = odm_class_find(class_name);
	struct criteria which;
	char why[128];

	if (criteria_parse(c, criteria, &which, why, sizeof(why)) != 0)
		return -EINVAL;
	return attrdb_object_each(db, c, &which, visit, owner);
}

static int each_with(struct attrdb *db, const char *class_name,
		     const char *field, const char *value,
		     int (*visit)(void *owner, const struct stanza *s),
		     void *owner)
{
	const struct odm_class *c = odm_class_find(class_name);
	struct criteria which;

	if (!criteria_equal(c, field, value, &which))
		return -EINVAL;
	return attrdb_object_each(db, c, &which, visit, owner);
}

/* ---- Help --------------------------------------------------------------- */

static int keep_text(void *owner, const struct stanza *s)
{
	char **out = owner;

	free(*out);
	*out = strdup(stanza_string(s, "text"));
	return *out ? 0 : -ENOMEM;
}

/* help_msg_id is "set,message", help_msg_loc a catalogue. */
static int load_help(struct attrdb *db, const struct stanza *s, char **out)
{
	const char *numbers = stanza_string(s, "help_msg_id");
	const char *catalogue = stanza_string(s, "help_msg_loc");
	char criteria[128];
	char *end;
	long set = strtol(numbers, &end, 10);
	long message = *end == ',' ? strtol(end + 1, &end, 10) : 0;
	int error = 0;

	if (numbers[0] && *end == '\0' && !strchr(catalogue, '\'') &&
	    snprintf(criteria, sizeof(criteria),
		     "catalog = '%s' and setno = %ld and msgno = %ld",
		     catalogue, set, message) < (int)sizeof(criteria))
		error = each(db, "PdMsg", criteria, keep_text, out);
	if (!error && !*out)
		*out = strdup("");
	return *out || error ? error : -ENOMEM;
}

/* ---- Loading ------------------------------------------------------------ */

static int add_part(void *owner, const struct stanza *s)
{
	struct loader *l = owner;
	struct screen *out = l->out;
	struct screen_part *part;

	if (out->count == l->capacity) {
		unsigned capacity = l->capacity ? 2 * l->capacity : 8;

		part = reallocarray(out->parts, capacity, sizeof(*part));
		if (!part)
			return -ENOMEM;
		out->parts = part;
		l->capacity = capacity;
	}
	part = &out->parts[out->count++];
	memset(part, 0, sizeof(*part));
	return copy_object(&part->object, s);
}

/* The heading of a menu is an item with the number 0; aliases are not shown. */
static int add_item(void *owner, const struct stanza *s)
{
	struct loader *l = owner;

	if (strcmp(stanza_string(s, "alias"), "y") == 0)
		return 0;
	if (strcmp(stanza_string(s, "id_seq_num"), FIRST_NUMBER) == 0)
		return copy_object(&l->out->head, s);
	return add_part(owner, s);
}

static int keep_head(void *owner, const struct stanza *s)
{
	struct screen *out = owner;

	return copy_object(&out->head, s);
}

static int load_fields(struct loader *l, const char *head_class)
{
	struct screen *out = l->out;
	int error = each_with(l->db, head_class, "id", out->id, keep_head, out);

	if (!error && out->head.field_count == 0)
		error = -ENOENT;
	if (error)
		return error;
	return each_with(l->db, "sm_cmd_opt", "id",
			 screen_word(out, "option_id"), add_part, l);
}

static int load(struct loader *l)
{
	switch (l->out->kind) {
	case SCREEN_MENU:
		return each_with(l->db, "sm_menu_opt", "id", l->out->id,
				 add_item, l);
	case SCREEN_SELECTOR:
		return load_fields(l, "sm_name_hdr");
	case SCREEN_DIALOG:
		return load_fields(l, "sm_cmd_hdr");
	case SCREEN_NONE:
		break;
	}
	return -ENOENT;
}

int screen_load(struct attrdb *db, enum screen_kind kind, const char *id,
		struct screen *out)
{
	struct loader l = {.db = db, .out = out};
	int error;

	memset(out, 0, sizeof(*out));
	out->kind = kind;
	snprintf(out->id, sizeof(out->id), "%s", id);
	error = load(&l);
	/* A selector asks for one name; without a heading nothing is a menu. */
	if (!error && (out->head.field_count == 0 ||
		       (kind == SCREEN_SELECTOR && out->count != 1)))
		error = -ENOENT;
	for (unsigned i = 0; i < out->count && !error; i++)
		error =
		    load_help(db, &out->parts[i].object, &out->parts[i].help);
	if (error)
		screen_fini(out);
	return error;
}

void screen_fini(struct screen *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		stanza_fini(&s->parts[i].object);
		free(s->parts[i].help);
	}
	free(s->parts);
	stanza_fini(&s->head);
	memset(s, 0, sizeof(*s));
}

/* ---- Finding ------------------------------------------------------------ */

struct found {
	enum screen_kind kind;
	char id[SCREEN_ID_SIZE];
};

static enum screen_kind kind_of(const char *word)
{
	switch (word[0]) {
	case SCREEN_MENU:
	case SCREEN_SELECTOR:
	case SCREEN_DIALOG:
		return (enum screen_kind)word[0];
	default:
		return SCREEN_NONE;
	}
}

static int take_alias(void *owner, const struct stanza *s)
{
	struct found *f = owner;

	f->kind = kind_of(stanza_string(s, "next_type"));
	snprintf(f->id, sizeof(f->id), "%s", stanza_string(s, "next_id"));
	return 0;
}

static int take_menu(void *owner, const struct stanza *s)
{
	struct found *f = owner;

	if (strcmp(stanza_string(s, "alias"), "y") == 0)
		return take_alias(owner, s);
	if (strcmp(stanza_string(s, "id_seq_num"), FIRST_NUMBER) == 0)
		f->kind = SCREEN_MENU;
	return 0;
}

static int take_selector(void *owner, const struct stanza *s)
{
	struct found *f = owner;

	(void)s;
	f->kind = SCREEN_SELECTOR;
	return 0;
}

static int take_dialog(void *owner, const struct stanza *s)
{
	struct found *f = owner;

	(void)s;
	f->kind = SCREEN_DIALOG;
	return 0;
}

enum screen_kind screen_find(struct attrdb *db, const char *fast_path,
			     char id[SCREEN_ID_SIZE], int *error)
{
	static const struct {
		const char *class_name;
		int (*take)(void *owner, const struct stanza *s);
	} where[] = {
	    {"sm_menu_opt", take_menu},
	    {"sm_name_hdr", take_selector},
	    {"sm_cmd_hdr", take_dialog},
	};
	struct found f = {0};

	*error = 0;
	if (strlen(fast_path) >= sizeof(f.id))
		return SCREEN_NONE;
	snprintf(f.id, sizeof(f.id), "%s", fast_path);
	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		*error = each_with(db, where[i].class_name, "id", fast_path,
				   where[i].take, &f);
		if (*error)
			return SCREEN_NONE;
		if (f.kind)
			break;
	}
	snprintf(id, SCREEN_ID_SIZE, "%s", f.id);
	return f.kind;
}

/* ---- Words -------------------------------------------------------------- */

const char *screen_title(const struct screen *s)
{
	return screen_word(s, s->kind == SCREEN_MENU ? "text" : "name");
}

const char *screen_word(const struct screen *s, const char *name)
{
	return stanza_string(&s->head, name);
}

const char *screen_part_word(const struct screen *s, unsigned i,
			     const char *name)
{
	return stanza_string(&s->parts[i].object, name);
}

enum screen_kind screen_next(const struct screen *s, unsigned i)
{
	return kind_of(screen_part_word(s, i, "next_type"));
}

enum screen_kind screen_follows(const struct screen *s)
{
	return kind_of(screen_word(s, "next_type"));
}
