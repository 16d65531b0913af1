/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* odm_edit: one object of the attribute database is added, changed, removed. */
#include "odm_edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/attr_type.h"
#include "attrdb/object.h"
#include "conf/devconf.h"

#include "change.h"
#include "database.h"
#include "odm_objects.h"

static int refuse(const struct odm_edit *e, const char *what, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", what, why);
	return message_command(e->m->cmd, MESSAGE_BAD_PARAMETER, text);
}

static int database_failed(const struct odm_edit *e, int error)
{
	return database_error(e->m->cmd, e->m->db, error);
}

/* A field as text; "" where there is none. */
static const char *text_of(const struct stanza *s, const char *name,
			   char number[24])
{
	const struct stanza_field *f = s ? stanza_find(s, name) : NULL;

	if (!f)
		return "";
	if (f->string)
		return f->string;
	snprintf(number, 24, "%lld", (long long)f->number);
	return number;
}

static bool is_same(const struct stanza *a, const struct stanza *b,
		    const char *name)
{
	char left[24], right[24];

	return strcmp(text_of(a, name, left), text_of(b, name, right)) == 0;
}

/* "smc_r.cat/1/2": the keys of an object, as the history names it. */
static void name_object(const struct odm_class *c, const struct stanza *s,
			char *out, size_t size)
{
	size_t used = 0;
	char number[24];

	out[0] = '\0';
	for (unsigned i = 0; i < c->key_count && used < size; i++) {
		int n = snprintf(out + used, size - used, "%s%s", i ? "/" : "",
				 text_of(s, c->fields[i].name, number));

		used += n < 0 ? 0 : (size_t)n;
	}
}

/* ---- Any class ---------------------------------------------------------- */

static int remove_object(const struct odm_edit *e, const struct odm_class *c,
			 const struct stanza *s)
{
	struct criteria which;
	int removed = odm_objects_key(c, s, &which)
			  ? attrdb_object_remove(e->m->db, c, &which)
			  : -EINVAL;

	return removed < 0 ? removed : 0;
}

/* Each field that changed has a line of its own in the history. */
static int note_fields(const struct odm_edit *e, const struct odm_class *c,
		       const char *device, const struct stanza *old_object,
		       const struct stanza *new_object)
{
	char left[24], right[24];
	int error = 0;

	for (const struct odm_field *f = c->fields; f->name && !error; f++)
		if (!is_same(old_object, new_object, f->name))
			error = attrdb_history_add(
			    e->m->db, device, f->name,
			    text_of(old_object, f->name, left),
			    text_of(new_object, f->name, right));
	return error;
}

static int edit_plain(struct odm_edit *e, const struct odm_class *c,
		      const struct stanza *old_object,
		      const struct stanza *new_object)
{
	char before[ODM_VALUE_SIZE] = "", after[ODM_VALUE_SIZE] = "";
	int error = new_object ? attrdb_object_put(e->m->db, new_object)
			       : remove_object(e, c, old_object);

	if (!error && old_object && new_object)
		error = note_fields(e, c, c->name, old_object, new_object);
	if (!error && !(old_object && new_object)) {
		if (old_object)
			name_object(c, old_object, before, sizeof(before));
		if (new_object)
			name_object(c, new_object, after, sizeof(after));
		error =
		    attrdb_history_add(e->m->db, c->name, "", before, after);
	}
	return error ? database_failed(e, error) : EXIT_DONE;
}

/* ---- CuAt --------------------------------------------------------------- */

static int set_values(struct odm_edit *e)
{
	struct attrdb_device device;
	int error, status;

	if (!e->values.count)
		return EXIT_DONE;
	error = attrdb_device_get(e->m->db, e->device, &device);
	if (error == -ENOENT)
		status =
		    message_command(e->m->cmd, MESSAGE_NO_DEVICE, e->device);
	else
		status = error ? database_failed(e, error)
			       : change_attributes(e->m, &device, &e->values,
						   CHANGE_BOTH);
	assign_fini(&e->values);
	return status;
}

/* Values that AIX copies from PdAt must be those that are there. */
static int check_copied(const struct odm_edit *e, const struct stanza *s,
			const struct attrdb_attribute *a)
{
	const char *name = stanza_string(s, "attribute");

	if (strcmp(stanza_string(s, "type"), a->type) != 0)
		return refuse(e, name, "type is not that of PdAt");
	if (strcmp(stanza_string(s, "generic"), a->generic) != 0)
		return refuse(e, name, "generic is not that of PdAt");
	if (strcmp(stanza_string(s, "rep"), a->rep) != 0)
		return refuse(e, name, "rep is not that of PdAt");
	return EXIT_DONE;
}

static int edit_value(struct odm_edit *e, const struct odm_class *c,
		      const struct stanza *old_object,
		      const struct stanza *new_object)
{
	const struct stanza *s = new_object ? new_object : old_object;
	const char *name = stanza_string(s, "attribute");
	const char *device = stanza_string(s, "name");
	struct attrdb_attribute *list;
	int status = EXIT_DONE, count, i = 0;

	(void)c;
	if (strcmp(device, e->device) != 0)
		status = set_values(e);
	if (status != EXIT_DONE)
		return status;
	snprintf(e->device, sizeof(e->device), "%s", device);
	count = attrdb_attributes_of_device(e->m->db, device, &list);
	if (count < 0)
		return database_failed(e, count);
	while (i < count && strcmp(list[i].name, name) != 0)
		i++;
	/* One that the device does not have is chdev's to refuse. */
	if (i < count && new_object)
		status = check_copied(e, new_object, &list[i]);
	if (status == EXIT_DONE &&
	    assign_put(&e->values, name,
		       new_object  ? stanza_string(s, "value")
		       : i < count ? list[i].deflt
				   : "") != 0)
		status = message_command(e->m->cmd, MESSAGE_SYSTEM,
					 strerror(ENOMEM));
	free(list);
	return status;
}

/* ---- CuDv --------------------------------------------------------------- */

static int add_device(struct odm_edit *e, const struct stanza *s)
{
	const char *kind = stanza_string(s, "PdDvLn");
	const char *name = stanza_string(s, "name");
	struct attrdb_device *list;
	int error, count;

	if (stanza_find(s, "status")->number != ODM_STATUS_DEFINED)
		return refuse(e, name,
			      "a new device is Defined, which is status = 0; "
			      "mkdev -l configures it");
	if (strcmp(kind, DEVCONF_UNIQUETYPE) == 0) {
		count = attrdb_device_list(e->m->db, NULL, kind, &list);
		if (count < 0)
			return database_failed(e, count);
		free(list);
		if (count || strcmp(name, DEVCONF_DEVICE) != 0)
			return refuse(e, name,
				      "there is one device of this kind, and "
				      "its name is " DEVCONF_DEVICE);
	}
	error = attrdb_object_put(e->m->db, s);
	if (!error)
		error = attrdb_history_add(e->m->db, name, "", "Undefined",
					   "Defined");
	return error ? database_failed(e, error) : EXIT_DONE;
}

static int remove_device(struct odm_edit *e, const char *name)
{
	struct attrdb_device device;
	int error = attrdb_device_get(e->m->db, name, &device);

	if (error)
		return database_failed(e, error);
	if (device.status != ODM_STATUS_DEFINED || method_is_left(&device))
		return refuse(e, name, "it is in service; rmdev -l ends that");
	return method_undefine(e->m, &device);
}

static int edit_device(struct odm_edit *e, const struct odm_class *c,
		       const struct stanza *old_object,
		       const struct stanza *new_object)
{
	const char *name =
	    stanza_string(new_object ? new_object : old_object, "name");
	int error;

	if (!old_object)
		return add_device(e, new_object);
	if (!new_object)
		return remove_device(e, name);
	if (!is_same(old_object, new_object, "status"))
		return refuse(e, name, "mkdev and rmdev change its status");
	if (!is_same(old_object, new_object, "PdDvLn"))
		return refuse(e, name, "the kind of a device stays");
	if (!is_same(old_object, new_object, "parent"))
		return refuse(e, name, "chdev -p changes its parent");
	error = attrdb_object_put(e->m->db, new_object);
	if (!error)
		error = note_fields(e, c, name, old_object, new_object);
	return error ? database_failed(e, error) : EXIT_DONE;
}

/* ---- PdDv, PdAt --------------------------------------------------------- */

static int check_default(const struct odm_edit *e, const struct stanza *s)
{
	const struct attr_type type = {stanza_string(s, "rep"),
				       stanza_string(s, "values")};
	char checked[ODM_VALUE_SIZE], why[DEVCONF_WHY_SIZE];

	if (attr_type_check(&type, stanza_string(s, "deflt"), checked,
			    sizeof(checked), why, sizeof(why)) == 0)
		return EXIT_DONE;
	return refuse(e, stanza_string(s, "attribute"), why);
}

static int edit_kind(struct odm_edit *e, const struct odm_class *c,
		     const struct stanza *old_object,
		     const struct stanza *new_object)
{
	const struct stanza *s = new_object ? new_object : old_object;
	const char *kind = stanza_string(s, "uniquetype");
	struct attrdb_device *list;
	int status = EXIT_DONE;
	int count = attrdb_device_list(e->m->db, NULL, kind, &list);

	if (count < 0)
		return database_failed(e, count);
	free(list);
	if (count)
		return refuse(e, kind,
			      "there is a device of this kind; rmdev -d "
			      "removes it");
	if (new_object && strcmp(c->name, "PdAt") == 0)
		status = check_default(e, new_object);
	return status == EXIT_DONE ? edit_plain(e, c, old_object, new_object)
				   : status;
}

/* ------------------------------------------------------------------------- */

int odm_edit(struct odm_edit *e, const struct stanza *old_object,
	     const struct stanza *new_object)
{
	static const struct {
		const char *class_name;
		int (*edit)(struct odm_edit *e, const struct odm_class *c,
			    const struct stanza *old_object,
			    const struct stanza *new_object);
	} special[] = {
	    {"CuAt", edit_value},
	    {"CuDv", edit_device},
	    {"PdDv", edit_kind},
	    {"PdAt", edit_kind},
	};
	const struct stanza *s = new_object ? new_object : old_object;
	const struct odm_class *c = odm_class_find(s->class_name);
	char why[128];

	if (!c)
		return refuse(e, s->class_name, "no such class");
	if (c->is_read_only)
		return refuse(e, c->name, "it can only be read");
	if (new_object && odm_class_check(c, new_object, why, sizeof(why)) != 0)
		return message_command(e->m->cmd, MESSAGE_BAD_PARAMETER, why);
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (strcmp(special[i].class_name, c->name) == 0)
			return special[i].edit(e, c, old_object, new_object);
	return edit_plain(e, c, old_object, new_object);
}

int odm_edit_end(struct odm_edit *e, int status)
{
	if (status == EXIT_DONE)
		status = set_values(e);
	assign_fini(&e->values);
	return status;
}
