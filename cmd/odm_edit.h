/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odm_edit: one object of the attribute database is added, changed or removed,
 * with the checks that its class asks for.
 *
 *	CuAt	is what chdev sets: the value is checked and published as it
 *		does; an object that is removed gives the default back
 *	CuDv	a new device is Defined; its state and its kind are what mkdev
 *		and rmdev change
 *	PdDv, PdAt	cannot change below a device of their kind
 *	others	fit their class
 *
 * Works inside one change of the database, as the functions of method.h do,
 * and puts what it did into the history. Functions return an exit status, the
 * reason printed.
 *
 * Ownership: odm_edit_end() frees what waits.
 */
#ifndef CMD_ODM_EDIT_H
#define CMD_ODM_EDIT_H

#include "attrdb/stanza.h"

#include "assign.h"
#include "method.h"

/* Begins as zeros, with m. */
struct odm_edit {
	struct method *m;
	/* Values of one device, which are checked against each other. */
	struct assign values;
	char device[ODM_NAME_SIZE];
};

/* old NULL: the object is new; new NULL: it is to go. Both have all their
 * fields, and the same keys. */
int odm_edit(struct odm_edit *e, const struct stanza *old_object,
	     const struct stanza *new_object);

/* Sets the values that wait, if status is EXIT_DONE; returns the status. */
int odm_edit_end(struct odm_edit *e, int status);

#endif
