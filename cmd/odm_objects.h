/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odm_objects: the objects of a class that a command chose, and what the flags
 * of odmadd, odmchange and odmdelete have in common.
 *
 * Functions that return an exit status have printed the reason.
 *
 * Ownership: odm_objects_fini() frees the objects.
 */
#ifndef CMD_ODM_OBJECTS_H
#define CMD_ODM_OBJECTS_H

#include "attrdb/object.h"
#include "method.h"

struct odm_objects {
	unsigned count;
	struct stanza *list;
};

/* The flags -o Class and -q Criteria; NULL and "" when they are not given. */
struct odm_selection {
	const char *class_name, *criteria;
};

/* For commands with these flags; -q and its criteria may be missing. */
int odm_selection_parse(const struct cmd *cmd, const struct odm_selection *s,
			const struct odm_class **c, struct criteria *which);

/* Copies what the database has; out begins as zeros. */
int odm_objects_find(struct method *m, const struct odm_class *c,
		     const struct criteria *which, struct odm_objects *out);

/*
 * Reads stanzas from a file, "-" or NULL for standard input. A mistake is told
 * with its file and line.
 */
int odm_objects_read(const struct cmd *cmd, const char *path,
		     struct odm_objects *out);
void odm_objects_fini(struct odm_objects *o);

/* The criteria that only the object with the keys of s meets. */
bool odm_objects_key(const struct odm_class *c, const struct stanza *s,
		     struct criteria *out);

#endif
