/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* odm_layout: a class as a structure of C. */
#include "odm_layout.h"

#include <string.h>

/* A value of any length is a vchar in a class, an array in a structure. */
static const char *type_of(const struct odm_field *f, const char *word)
{
	if (!f->size)
		return "long";
	return f->size >= ODM_METHOD_SIZE && strcmp(word, "class") == 0
		   ? "vchar"
		   : "char";
}

void odm_layout_print(FILE *file, const struct odm_class *c, const char *word)
{
	fprintf(file, "%s %s {\n", word, c->name);
	for (const struct odm_field *f = c->fields; f->name; f++) {
		fprintf(file, "\t%s %s", type_of(f, word), f->name);
		if (f->size)
			fprintf(file, "[%u]", f->size);
		fputs(";\n", file);
	}
	fputs("};\n", file);
}
