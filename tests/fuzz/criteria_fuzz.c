/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * criteria_fuzz: any text as what odmget -q was asked for, about every class.
 * What is understood means the same when it is written out again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/criteria.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_out(const struct criteria *q, char *text, size_t size)
{
	static const char *const tests[] = {
	    [CRITERIA_EQUAL] = "=",     [CRITERIA_UNEQUAL] = "!=",
	    [CRITERIA_ABOVE] = ">",     [CRITERIA_BELOW] = "<",
	    [CRITERIA_AT_LEAST] = ">=", [CRITERIA_AT_MOST] = "<=",
	    [CRITERIA_LIKE] = "like"};
	size_t used = 0;

	*text = '\0';
	for (unsigned i = 0; i < q->count; i++) {
		const struct criteria_term *t = &q->terms[i];
		char quote = strchr(t->value, '\'') ? '"' : '\'';

		used +=
		    (size_t)snprintf(text + used, size - used, "%s%s %s %c%s%c",
				     i ? " and " : "", t->field->name,
				     tests[t->test], quote, t->value, quote);
	}
	if (used >= size)
		abort();
}

static void try_class(const struct odm_class *c, const char *text)
{
	struct criteria once = {0}, twice = {0};
	char why[128] = "", again[CRITERIA_TERMS_MAX * 320];

	if (criteria_parse(c, text, &once, why, sizeof(why)) != 0) {
		if (!*why || once.count)
			abort();
		return;
	}
	write_out(&once, again, sizeof(again));
	if (criteria_parse(c, again, &twice, why, sizeof(why)) != 0 ||
	    once.count != twice.count)
		abort();
	for (unsigned i = 0; i < once.count; i++)
		if (once.terms[i].field != twice.terms[i].field ||
		    once.terms[i].test != twice.terms[i].test ||
		    strcmp(once.terms[i].value, twice.terms[i].value) != 0)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; odm_class_at(i); i++)
		try_class(odm_class_at(i), text);
	free(text);
	return 0;
}
