/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * attr_type: may an attribute have this value?
 *
 * The answer follows from two fields of PdAt. The first letter of rep tells
 * numbers (n) from strings (s); the second a list (l), ranges (r) or a pair of
 * opposites (b). values holds the legal ones:
 *	list	comma-separated:		0,1
 *	range	low-high,increment; several:	1-10,1,20-100,10
 *	pair	no first, then yes:		no,yes
 * Without values any number, or any string without control characters, is
 * legal.
 *
 * Numbers are decimal or 0x hexadecimal, not negative, below 2^64.
 */
#ifndef ATTRDB_ATTR_TYPE_H
#define ATTRDB_ATTR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attr_type {
	const char *rep;    /* how the value is written: PdAt.rep */
	const char *values; /* the legal ones: PdAt.values */
};

struct attr_range {
	uint64_t low, high, increment;
};

/*
 * 0 and the value as it is to be stored: a number of a range in decimal, an
 * element in the spelling of its list. -EINVAL with the reason in words, also
 * when it does not fit size bytes. -EPROTO when the type makes no sense.
 */
int attr_type_check(const struct attr_type *type, const char *value, char *out,
		    size_t size, char *why, size_t why_size);

bool attr_type_is_list(const struct attr_type *type);
bool attr_type_is_range(const struct attr_type *type);

/*
 * Takes the next element off a list or ranges: *next starts at values. 1, 0 at
 * the end, -EPROTO when values are malformed.
 */
int attr_type_next_word(const char **next, char *out, size_t size);
int attr_type_next_range(const char **next, struct attr_range *out);

/* 0 or -EINVAL. */
int attr_type_number(const char *text, uint64_t *out);

#endif
