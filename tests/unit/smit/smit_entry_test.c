/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/smit/entry.h"

#include <criterion/criterion.h>
#include <stdarg.h>

static struct stanza object;
static struct entry entry;

/* A field with these words, by name and value, up to NULL. */
static void make(const char *name, ...)
{
	va_list words;

	stanza_fini(&object);
	cr_assert_eq(stanza_init(&object, "sm_cmd_opt"), 0);
	va_start(words, name);
	for (; name; name = va_arg(words, const char *))
		cr_assert_eq(stanza_set_string(&object, name,
					       va_arg(words, const char *)),
			     0);
	va_end(words);
	entry_init(&entry, &object);
}

static void forget(void)
{
	stanza_fini(&object);
}

TestSuite(smit_entry, .fini = forget);

Test(smit_entry, a_ring_begins_with_its_first_word_and_turns)
{
	char store[ENTRY_VALUE_SIZE], *words[ENTRY_WORDS_MAX];
	unsigned count;

	make("op_type", "r", "disp_values", "no,yes, maybe", NULL);
	cr_assert_str_eq(entry.value, "no");
	count = entry_shown(&entry, store, words);
	cr_assert_eq(count, 3);
	entry_turn(&entry, words, count, true);
	cr_assert_str_eq(entry.value, "yes");
	entry_turn(&entry, words, count, true);
	entry_turn(&entry, words, count, true);
	cr_assert_str_eq(entry.value, "no");
	entry_turn(&entry, words, count, false);
	cr_assert_str_eq(entry.value, "maybe");
}

Test(smit_entry, what_is_shown_stands_for_what_is_sent)
{
	char sent[ENTRY_VALUE_SIZE];

	make("op_type", "r", "disp_values", "no,yes", "aix_values", ",-d",
	     NULL);
	cr_assert(entry_sent(&entry, sent));
	cr_assert_str_eq(sent, "");
	entry_set(&entry, "yes");
	cr_assert(entry_sent(&entry, sent));
	cr_assert_str_eq(sent, "-d");
	entry_start(&entry, "-d");
	cr_assert_str_eq(entry.value, "yes");
	/* A word of the user's is no constant. */
	entry_set(&entry, "-d");
	cr_assert_not(entry_sent(&entry, sent));
}

Test(smit_entry, required_says_when_it_is_sent)
{
	make("required", "n", NULL);
	entry_start(&entry, "a");
	cr_assert_not(entry_is_sent(&entry));
	entry_set(&entry, "");
	cr_assert(entry_is_sent(&entry));
	entry_keep(&entry);
	cr_assert_not(entry_is_sent(&entry));
	make("required", "y", NULL);
	cr_assert(entry_is_sent(&entry));
	make("required", "?", NULL);
	cr_assert_not(entry_is_sent(&entry));
	entry_set(&entry, "a");
	cr_assert(entry_is_sent(&entry));
}

static void refused(const char *value, const char *words)
{
	char why[128];

	entry_set(&entry, value);
	cr_assert_neq(entry_check(&entry, why, sizeof(why)), 0, "%s", value);
	cr_assert_str_eq(why, words);
}

static void taken(const char *value)
{
	char why[128];

	entry_set(&entry, value);
	cr_assert_eq(entry_check(&entry, why, sizeof(why)), 0, "%s", why);
}

Test(smit_entry, values_are_checked)
{
	make("required", "+", "entry_type", "t", NULL);
	refused("", "A value is required here.");
	refused("  ", "A value is required here.");
	taken(" a ");
	cr_assert_str_eq(entry.value, "a");
	make("entry_type", "#", NULL);
	refused("7x", "\"7x\" is not a number.");
	refused("-", "\"-\" is not a number.");
	taken("-12");
	taken("");
	make("entry_type", "x", NULL);
	refused("0x", "\"0x\" is not hexadecimal.");
	taken("0xfe");
	make("disp_values", "no,yes", NULL);
	refused("maybe", "\"maybe\" is none of: no,yes.");
	taken("yes");
}

Test(smit_entry, numbers_are_made_of_digits)
{
	make("entry_type", "#", NULL);
	cr_assert(entry_can_have(&entry, '7'));
	cr_assert(entry_can_have(&entry, '-'));
	cr_assert_not(entry_can_have(&entry, 'a'));
	cr_assert_not(entry_can_have(&entry, 0xe9));
	make("entry_type", "x", NULL);
	cr_assert(entry_can_have(&entry, 'a'));
	cr_assert_not(entry_can_have(&entry, 'g'));
	make("entry_type", "t", NULL);
	cr_assert(entry_can_have(&entry, 0xe9));
}

Test(smit_entry, marks)
{
	char marks[4];

	make("entry_type", "#", "cmd_to_list", "x", NULL);
	entry_marks(&entry, marks);
	cr_assert_str_eq(marks, "+#");
	cr_assert(entry_is_typed(&entry));
	make("entry_type", "n", "disp_values", "a", NULL);
	entry_marks(&entry, marks);
	cr_assert_str_eq(marks, "+");
	cr_assert_not(entry_is_typed(&entry));
}
