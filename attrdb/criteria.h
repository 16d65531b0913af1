/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * criteria: which objects of a class are meant, in the words of odmget -q.
 *
 *	name = smc_r0 and attribute like 'max*'
 *
 * Terms are a field, one of = != > < >= <= like, and a value; "and" joins
 * them. A value is a bare word, or stands in single or double quotes. like
 * takes the wildcards of the shell. The empty text means every object.
 */
#ifndef ATTRDB_CRITERIA_H
#define ATTRDB_CRITERIA_H

#include "odm_class.h"

#define CRITERIA_TERMS_MAX 8

enum criteria_test {
	CRITERIA_EQUAL,
	CRITERIA_UNEQUAL,
	CRITERIA_ABOVE,
	CRITERIA_BELOW,
	CRITERIA_AT_LEAST,
	CRITERIA_AT_MOST,
	CRITERIA_LIKE,
};

struct criteria {
	unsigned count;
	struct criteria_term {
		const struct odm_field *field;
		enum criteria_test test;
		char value[256];
	} terms[CRITERIA_TERMS_MAX];
};

/* 0, or -EINVAL with the reason in why; *out is untouched then. */
int criteria_parse(const struct odm_class *c, const char *text,
		   struct criteria *out, char *why, size_t size);

/* Takes the objects whose field (not a number) has this value; false: too
 * long. */
bool criteria_equal(const struct odm_class *c, const char *field,
		    const char *value, struct criteria *out);

#endif
