/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odm_class: the object classes and their fields, by their AIX names.
 *
 * PdDv PdAt PdAtXtd are predefined (what kinds of devices there are), CuDv
 * CuAt CuDep customized (the devices of this host). PdMsg holds the texts that
 * AIX keeps in message catalogues. The others are read only: configured has
 * what devices were configured with, effective the value that each attribute
 * has, and history says which user changed what. The
 * sm_ classes describe the screens of smit: items of menus, selectors, dialogs
 * and the fields of both.
 *
 * Ownership: all of it is constant.
 */
#ifndef ATTRDB_ODM_CLASS_H
#define ATTRDB_ODM_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#include "stanza.h"

#define ODM_FIELDS_MAX 26

/* Sizes in bytes with the final NUL, as AIX counts them. */
#define ODM_NAME_SIZE      16 /* device, type, class, attribute */
#define ODM_UNIQUE_SIZE    48 /* class/subclass/type */
#define ODM_FLAG_SIZE      8
#define ODM_LOCATION_SIZE  64
#define ODM_ID_SIZE        65 /* of a screen */
#define ODM_METHOD_SIZE    256
#define ODM_VALUE_SIZE     (STANZA_STRING_MAX + 1)
#define ODM_STATUS_DEFINED 0
#define ODM_STATUS_AVAIL   1
#define ODM_STATUS_STOPPED 2

struct odm_field {
	const char *name;
	unsigned size; /* bytes with the final NUL; 0: a number */
	bool required;
};

struct odm_class {
	const char *name;
	unsigned key_count; /* the first fields; they identify an object */
	bool is_read_only;  /* no command may change its objects as such */
	struct odm_field fields[ODM_FIELDS_MAX + 1]; /* ends with a NULL name */
};

/* NULL when there is no such class. */
const struct odm_class *odm_class_find(const char *name);
/* The i-th class, in the order of creation; NULL behind the last. */
const struct odm_class *odm_class_at(size_t i);
const struct odm_field *odm_class_field(const struct odm_class *c,
					const char *name);

/*
 * Does the stanza fit its class: every field known and of the right kind and
 * size, every required one present? 0, or -EINVAL with the reason in why.
 */
int odm_class_check(const struct odm_class *c, const struct stanza *s,
		    char *why, size_t size);

#endif
