/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stanza_fuzz: any bytes as a file of stanzas. What is read, printed and read
 * again must be the same objects.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attrdb/odm_class.h"
#include "attrdb/stanza.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct stanza *a, const struct stanza *b)
{
	if (strcmp(a->class_name, b->class_name) != 0 ||
	    a->field_count != b->field_count)
		abort();
	for (unsigned i = 0; i < a->field_count; i++) {
		const struct stanza_field *x = &a->fields[i];
		const struct stanza_field *y = &b->fields[i];

		if (strcmp(x->name, y->name) != 0 || x->number != y->number ||
		    !x->string != !y->string ||
		    (x->string && strcmp(x->string, y->string) != 0))
			abort();
	}
}

static void print_and_read(const struct stanza *s)
{
	struct stanza_reader r;
	struct stanza again = {0};
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file || stanza_write(file, s) != 0 || fclose(file) != 0)
		abort();
	stanza_reader_init(&r, text, length);
	if (stanza_read(&r, &again) != 1)
		abort();
	compare(s, &again);
	stanza_fini(&again);
	if (stanza_read(&r, &again) != 0)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stanza_reader r;
	struct stanza s = {0};
	char why[128];

	stanza_reader_init(&r, (const char *)data, size);
	while (stanza_read(&r, &s) > 0) {
		const struct odm_class *c = odm_class_find(s.class_name);

		if (c)
			odm_class_check(c, &s, why, sizeof(why));
		print_and_read(&s);
		stanza_fini(&s);
	}
	return 0;
}
