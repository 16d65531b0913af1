/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * object: any object of any class, as a stanza (odmget, predefined files).
 *
 * Locking and errors: as in attrdb.h; -EINVAL when a stanza does not fit its
 * class.
 */
#ifndef ATTRDB_OBJECT_H
#define ATTRDB_OBJECT_H

#include "attrdb.h"
#include "criteria.h"
#include "stanza.h"

/* Adds the object, or replaces the fields of the one with the same keys. */
int attrdb_object_put(struct attrdb *db, const struct stanza *s);

/*
 * Shows every object that fits to visit(), ordered by the keys. All fields of
 * the class are there, "" or 0 where the object has none. A visit that does
 * not return 0 ends it, and its value is returned.
 */
int attrdb_object_each(struct attrdb *db, const struct odm_class *c,
		       const struct criteria *which,
		       int (*visit)(void *owner, const struct stanza *s),
		       void *owner);

/* Number of removed objects, or -errno. */
int attrdb_object_remove(struct attrdb *db, const struct odm_class *c,
			 const struct criteria *which);

#endif
