/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/status/printable.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(printable);

static const char *made(const char *text)
{
	static char copy[64];

	memset(copy, 0x7e, sizeof(copy));
	strcpy(copy, text);
	printable_make(copy, sizeof(copy));
	return copy;
}

Test(printable, utf_8_stays)
{
	static const char *const names[] = {
	    "redis-server",
	    "gr\xc3\xbc\xc3\x9f",
	    "\xe6\x97\xa5\xe6\x9c\xac",
	    "\xf0\x9f\x90\xa7",
	    "",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_str_eq(made(names[i]), names[i]);
}

Test(printable, what_a_terminal_would_obey_goes)
{
	cr_expect_str_eq(made("a\nb\x1b[m\x7f"), "a?b?[m?");
	/* C1, right-to-left override, zero-width space, byte order mark. */
	cr_expect_str_eq(made("\xc2\x9b"), "??");
	cr_expect_str_eq(made("\xe2\x80\xae"), "???");
	cr_expect_str_eq(made("\xe2\x80\x8b"), "???");
	cr_expect_str_eq(made("\xef\xbb\xbf"), "???");
}

Test(printable, what_is_no_utf_8_goes)
{
	/* Alone, cut, longer than needed, a surrogate, past the last one. */
	cr_expect_str_eq(made("a\xff\x80z"), "a??z");
	cr_expect_str_eq(made("a\xe6\x97"), "a??");
	cr_expect_str_eq(made("\xc0\xaf"), "??");
	cr_expect_str_eq(made("\xed\xa0\x80"), "???");
	cr_expect_str_eq(made("\xf4\x90\x80\x80"), "????");
}

Test(printable, the_end_is_set_and_a_character_cut_by_it_goes)
{
	char text[4] = {'a', 'b', '\xc3', '\xbc'};

	printable_make(text, sizeof(text));
	cr_expect_str_eq(text, "ab?");
}

Test(printable, characters_are_counted)
{
	cr_expect_eq(printable_length("gr\xc3\xbcn"), 4);
	cr_expect_eq(printable_length(""), 0);
}
