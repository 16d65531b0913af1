/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * assign: what -a Attribute=Value asks for.
 *
 * One -a may hold several pairs, separated by blanks. A value may hold blanks
 * itself: a word without '=' belongs to the value in front of it.
 *
 * Ownership: a list holds copies; assign_fini() frees them.
 */
#ifndef CMD_ASSIGN_H
#define CMD_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "attrdb/odm_class.h"

struct assign_pair {
	char name[STANZA_NAME_SIZE];
	char *value;
};

struct assign {
	unsigned count;
	struct assign_pair *pairs;
};

/* 0; -EINVAL when the text is no list of pairs; -ENOMEM. */
int assign_add(struct assign *a, const char *text);
/* Adds one pair, whatever the value holds. */
int assign_put(struct assign *a, const char *name, const char *value);
void assign_fini(struct assign *a);

/*
 * The pair of this name that stands last; NULL without one. *is_clear tells
 * whether all pairs of this name have one value.
 */
const struct assign_pair *assign_find(const struct assign *a, const char *name,
				      bool *is_clear);

#endif
