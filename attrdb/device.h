/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device: devices of this host, their attributes, and the users who changed
 * them.
 *
 * A device is an object of CuDv that points to its kind in PdDv. The values
 * of its attributes come from three places:
 *	value	    CuAt if it differs from the default, else PdAt.deflt
 *	configured  the value when the device was last configured
 *	running	    what the running device uses now (chdev -T moves it)
 *
 * Ownership: lists are malloc'ed, the caller frees them in one piece.
 * Locking:   functions that change something are called between
 *	      attrdb_begin() and attrdb_commit().
 * Errors:    as in attrdb.h.
 */
#ifndef ATTRDB_DEVICE_H
#define ATTRDB_DEVICE_H

#include <stdbool.h>

#include "attrdb.h"
#include "odm_class.h"

struct attrdb_device {
	char name[ODM_NAME_SIZE];
	int status; /* ODM_STATUS_... */
	char location[ODM_LOCATION_SIZE];
	char parent[ODM_NAME_SIZE];
	char connwhere[ODM_LOCATION_SIZE];
	char uniquetype[ODM_UNIQUE_SIZE];
};

struct attrdb_attribute {
	char name[ODM_NAME_SIZE];
	char value[ODM_VALUE_SIZE];
	char deflt[ODM_VALUE_SIZE];
	char configured[ODM_VALUE_SIZE];
	char running[ODM_VALUE_SIZE];
	bool is_configured; /* false: configured and running are "" */
	char values[ODM_VALUE_SIZE];
	char width[ODM_NAME_SIZE];
	char type[ODM_FLAG_SIZE];
	char generic[ODM_FLAG_SIZE];
	char rep[ODM_FLAG_SIZE];
	int nls_index;
	char description[ODM_VALUE_SIZE];
};

/* What selects kinds of devices; NULL means any. */
struct attrdb_kind {
	const char *class_name, *subclass, *type;
};

/*
 * How many kinds fit; the uniquetype of the first in out, of ODM_UNIQUE_SIZE
 * bytes. Or -errno.
 */
int attrdb_kind_find(struct attrdb *db, const struct attrdb_kind *kind,
		     char *out);
/*
 * What kind of device this is, in words; "" when nothing is written about it.
 * out has room for ODM_VALUE_SIZE bytes. 0 or -errno.
 */
int attrdb_kind_description(struct attrdb *db, const char *uniquetype,
			    char *out);
/* Prefix and the smallest number that no device of that prefix has. */
int attrdb_next_name(struct attrdb *db, const char *prefix, char *out);

/* 0, or -ENOENT. */
int attrdb_device_get(struct attrdb *db, const char *name,
		      struct attrdb_device *out);
/* Number of devices in *out, or -errno; NULL means any parent, any kind. */
int attrdb_device_list(struct attrdb *db, const char *parent,
		       const char *uniquetype, struct attrdb_device **out);
/* Adds the device or replaces all of its fields. */
int attrdb_device_put(struct attrdb *db, const struct attrdb_device *device);
/* Takes its attributes and dependencies along. -ENOENT. */
int attrdb_device_remove(struct attrdb *db, const char *name);

/* Attributes by name; their number in *out, or -errno. */
int attrdb_attributes_of_device(struct attrdb *db, const char *name,
				struct attrdb_attribute **out);
/* Gives the attributes of a kind of devices: every value is the default. */
int attrdb_attributes_of_kind(struct attrdb *db, const char *uniquetype,
			      struct attrdb_attribute **out);

/* Stores a value; the default itself takes no object in CuAt. -ENOENT. */
int attrdb_attribute_put(struct attrdb *db, const char *device,
			 const char *attribute, const char *value);

/* The device was configured with the values it has now. */
int attrdb_configured_set(struct attrdb *db, const char *device);
/* The device runs no more. */
int attrdb_configured_clear(struct attrdb *db, const char *device);
/* One running value moves away from the stored one. -ENOENT. */
int attrdb_running_put(struct attrdb *db, const char *device,
		       const char *attribute, const char *value);

/* Sets the user and the command that the history names from now on; names are
 * cut when they are too long. */
void attrdb_author_set(struct attrdb *db, int64_t uid, const char *user,
		       const char *command);
/* attribute "" means the state of the device. */
int attrdb_history_add(struct attrdb *db, const char *device,
		       const char *attribute, const char *old_value,
		       const char *new_value);

#endif
