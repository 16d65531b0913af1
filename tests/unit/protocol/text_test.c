/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* text: numbers of every length, and where the next piece goes. */
#include "smc_r/protocol/text.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

static const char *number(uint64_t n)
{
	static char text[TEXT_NUMBER_BYTES + 1];
	char *end;

	memset(text, '#', sizeof(text));
	end = text_put_number(text, n);
	cr_assert_eq(*end, '\0');
	cr_assert_eq(end, text + strlen(text));
	cr_assert_eq(text[TEXT_NUMBER_BYTES], '#', "no byte too many");
	return text;
}

Test(text, numbers_are_decimal)
{
	cr_assert_str_eq(number(0), "0");
	cr_assert_str_eq(number(9), "9");
	cr_assert_str_eq(number(10), "10");
	cr_assert_str_eq(number(4194304), "4194304");
	cr_assert_str_eq(number(UINT64_MAX), "18446744073709551615");
}

Test(text, pieces_follow_each_other)
{
	char path[64];
	char *end;

	end =
	    text_put(text_put_number(text_put(path, "/proc/"), 1234), "/stat");
	cr_assert_str_eq(path, "/proc/1234/stat");
	cr_assert_eq(end, path + strlen(path));
	cr_assert_eq(text_put(end, ""), end);
}
