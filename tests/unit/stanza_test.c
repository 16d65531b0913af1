/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "attrdb/stanza.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_one(const char *text, struct stanza *out,
		    struct stanza_reader *r)
{
	stanza_reader_init(r, text, strlen(text));
	return stanza_read(r, out);
}

static void refused(const char *text, unsigned line)
{
	struct stanza_reader r;
	struct stanza s = {0};

	cr_assert_eq(read_one(text, &s, &r), -EPROTO, "%s", text);
	cr_assert_eq(r.line, line, "line %u: %s", r.line, text);
	cr_assert_not_null(r.why);
	cr_assert_eq(s.field_count, 0, "*out was touched");
}

static char *printed(const struct stanza *s)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	cr_assert_not_null(file);
	cr_assert_eq(stanza_write(file, s), 0);
	fclose(file);
	return text;
}

Test(stanza, odmget_output_is_read)
{
	static const char text[] = "\n"
				   "CuAt:\n"
				   "        name = \"ent0\"\n"
				   "        attribute = \"busio\"\n"
				   "        nls_index = 3\n"
				   "\n"
				   "CuDv:\n"
				   "\tname = \"a\"\n";
	struct stanza_reader r;
	struct stanza s;

	cr_assert_eq(read_one(text, &s, &r), 1);
	cr_assert_str_eq(s.class_name, "CuAt");
	cr_assert_eq(s.field_count, 3);
	cr_assert_str_eq(stanza_string(&s, "attribute"), "busio");
	cr_assert_eq(stanza_find(&s, "nls_index")->number, 3);
	cr_assert_null(stanza_find(&s, "nls_index")->string);
	stanza_fini(&s);
	cr_assert_eq(stanza_read(&r, &s), 1);
	cr_assert_str_eq(s.class_name, "CuDv");
	stanza_fini(&s);
	cr_assert_eq(stanza_read(&r, &s), 0);
}

Test(stanza, what_is_printed_reads_back_the_same)
{
	static const char *const strings[] = {
	    "",
	    "plain",
	    "a \"quote\"",
	    "back\\slash",
	    "two\nlines",
	    "a\ttab",
	    "\\n is not a newline",
	    "# no comment",
	    "* no comment",
	    "\xc3\xa4",
	};
	struct stanza_reader r;
	struct stanza s, again;
	char name[8];
	char *text;

	cr_assert_eq(stanza_init(&s, "Class"), 0);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		cr_assert_eq(stanza_set_string(&s, name, strings[i]), 0);
	}
	cr_assert_eq(stanza_set_number(&s, "low", INT64_MIN), 0);
	cr_assert_eq(stanza_set_number(&s, "high", INT64_MAX), 0);
	text = printed(&s);
	cr_assert_eq(read_one(text, &again, &r), 1, "%s", r.why ? r.why : "");
	cr_assert_eq(again.field_count, s.field_count);
	for (unsigned i = 0; i < s.field_count; i++) {
		const struct stanza_field *a = &s.fields[i];
		const struct stanza_field *b = &again.fields[i];

		cr_assert_str_eq(a->name, b->name);
		cr_assert_eq(a->number, b->number);
		cr_assert_eq(!a->string, !b->string);
		if (a->string)
			cr_assert_str_eq(a->string, b->string);
	}
	free(text);
	stanza_fini(&s);
	stanza_fini(&again);
}

Test(stanza, the_layout_is_that_of_odmget)
{
	struct stanza s;
	char *text;

	cr_assert_eq(stanza_init(&s, "CuAt"), 0);
	cr_assert_eq(stanza_set_string(&s, "name", "smc_r0"), 0);
	cr_assert_eq(stanza_set_number(&s, "nls_index", 3), 0);
	text = printed(&s);
	cr_assert_str_eq(text, "\nCuAt:\n\tname = \"smc_r0\"\n"
			       "\tnls_index = 3\n");
	free(text);
	stanza_fini(&s);
}

Test(stanza, comments_and_continued_strings_are_known)
{
	static const char text[] = "# one\n"
				   "* two\n"
				   "   # three\n"
				   "A: * behind a class\n"
				   "* between fields\n"
				   " x = \"a\\\nb\" * behind a value\n"
				   " y = -7* and close to it\n"
				   "B:\n";
	struct stanza_reader r;
	struct stanza s;

	cr_assert_eq(read_one(text, &s, &r), 1, "%s", r.why ? r.why : "");
	cr_assert_str_eq(stanza_string(&s, "x"), "ab");
	cr_assert_eq(stanza_find(&s, "y")->number, -7);
	stanza_fini(&s);
	cr_assert_eq(stanza_read(&r, &s), 1, "no empty line is needed");
	cr_assert_str_eq(s.class_name, "B");
	cr_assert_eq(s.field_count, 0);
	stanza_fini(&s);
}

Test(stanza, carriage_returns_and_a_missing_last_newline_do_no_harm)
{
	struct stanza_reader r;
	struct stanza s;

	cr_assert_eq(read_one("A:\r\n\tx = \"1\"\r\n\r\n\r\n", &s, &r), 1);
	cr_assert_str_eq(stanza_string(&s, "x"), "1");
	stanza_fini(&s);
	cr_assert_eq(stanza_read(&r, &s), 0);
	cr_assert_eq(read_one("A:\n\tx = 1", &s, &r), 1);
	cr_assert_eq(stanza_find(&s, "x")->number, 1);
	stanza_fini(&s);
}

Test(stanza, mistakes_are_found_on_their_line)
{
	refused("A\n", 1);
	refused("A: B\n", 1);
	refused(" x = 1\n", 1);
	refused("1A:\n", 1);
	refused("A:\n\tx = \n", 2);
	refused("A:\n\tx 1\n", 2);
	refused("A:\n\tx = \"open\n", 2);
	refused("A:\n\tx = \"open", 2);
	refused("A:\n\tx = \"a\\", 2);
	refused("A:\n\tx = \"\\q\"\n", 2);
	refused("A:\n\tx = \"\001\"\n", 2);
	refused("A:\n\tx = 1 2\n", 2);
	refused("A:\n\tx = 0x10\n", 2);
	refused("A:\n\tx = -\n", 2);
	refused("A:\n\tx = 9223372036854775808\n", 2);
	refused("A:\n\tx = 1\n\tx = 2\n", 3);
	refused("A:\n\tx = \"a\\\nb\" c\n", 3);
	refused("A23456789012345678901234567890123:\n", 1);
}

Test(stanza, limits_are_kept)
{
	char big[STANZA_STRING_MAX + 2];
	struct stanza s;
	char name[16];

	memset(big, 'x', sizeof(big));
	big[STANZA_STRING_MAX + 1] = '\0';
	cr_assert_eq(stanza_init(&s, "A"), 0);
	cr_assert_eq(stanza_set_string(&s, "x", big), -E2BIG);
	big[STANZA_STRING_MAX] = '\0';
	cr_assert_eq(stanza_set_string(&s, "x", big), 0);
	cr_assert_eq(stanza_set_string(&s, "a b", ""), -EINVAL);
	cr_assert_eq(stanza_set_string(&s, "x", "\033"), -EINVAL);
	for (unsigned i = 1; i < STANZA_FIELDS_MAX; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		cr_assert_eq(stanza_set_number(&s, name, i), 0);
	}
	cr_assert_eq(stanza_set_number(&s, "more", 1), -E2BIG);
	cr_assert_eq(stanza_set_number(&s, "n1", 5), 0, "a new value fits");
	cr_assert_eq(stanza_find(&s, "n1")->number, 5);
	stanza_fini(&s);
	cr_assert_eq(stanza_init(&s, "not a name"), -EINVAL);
}

Test(stanza, a_number_may_take_the_place_of_a_string)
{
	struct stanza s;

	cr_assert_eq(stanza_init(&s, "A"), 0);
	cr_assert_eq(stanza_set_string(&s, "x", "old"), 0);
	cr_assert_eq(stanza_set_number(&s, "x", 4), 0);
	cr_assert_eq(s.field_count, 1);
	cr_assert_null(stanza_find(&s, "x")->string);
	cr_assert_str_eq(stanza_string(&s, "x"), "");
	stanza_fini(&s);
}
