/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cmd/smit/answer.h"

#include <criterion/criterion.h>

Test(smit_answer, values_stand_under_their_names)
{
	static const char text[] = "#a:long_name:c\n1::x#!:y\n";
	char value[32];

	cr_assert(answer_value(text, "a", value, sizeof(value)));
	cr_assert_str_eq(value, "1");
	cr_assert(answer_value(text, "long_name", value, sizeof(value)));
	cr_assert_str_eq(value, "");
	cr_assert(answer_value(text, "c", value, sizeof(value)));
	cr_assert_str_eq(value, "x:y");
	cr_assert_not(answer_value(text, "d", value, sizeof(value)));
}

Test(smit_answer, what_is_no_answer_has_no_value)
{
	static const char *const texts[] = {"", "#", "#a", "a:b\n1:2\n",
					    "#a:b"};
	char value[32];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_assert_not(answer_value(texts[i], "a", value, sizeof(value)),
			      "%s", texts[i]);
	cr_assert_not(answer_value("#a:b\n1\n", "b", value, sizeof(value)));
	cr_assert_not(answer_value("#a\nlonger\n", "a", value, 4));
}

Test(smit_answer, lines_without_headings_and_blanks)
{
	char text[] = "# head\none 1\n\n  \ntwo 2";
	char *lines[4], word[8];

	cr_assert_eq(answer_lines(text, lines, 4), 2);
	cr_assert_str_eq(lines[1], "two 2");
	cr_assert(answer_word(lines[0], 0, word, sizeof(word)));
	cr_assert_str_eq(word, "one");
	cr_assert(answer_word(lines[0], 1, word, sizeof(word)));
	cr_assert_str_eq(word, "1");
	cr_assert_not(answer_word(lines[0], 2, word, sizeof(word)));
	cr_assert_not(answer_word("too_long_a_word", 0, word, sizeof(word)));
}

Test(smit_answer, ranges)
{
	static const char range[] = "16...65536 (+4)";

	cr_assert(answer_is_in_range(range, "16"));
	cr_assert(answer_is_in_range(range, "65536"));
	cr_assert_not(answer_is_in_range(range, "12"));
	cr_assert_not(answer_is_in_range(range, "18"));
	cr_assert_not(answer_is_in_range(range, "65540"));
	cr_assert_not(answer_is_in_range(range, "99999999999999999999"));
	/* What is no range judges nothing. */
	cr_assert(answer_is_in_range("yes", "7"));
	cr_assert(answer_is_in_range(range, "many"));
}

Test(smit_answer, a_refusal_names_the_attribute)
{
	static const char errors[] = "Method error:\n\t0514-018 These:\n"
				     "\t         max: 7 is not in 16-65536\n";
	char why[64];

	cr_assert(answer_blames(errors, "max", why, sizeof(why)));
	cr_assert_str_eq(why, "max: 7 is not in 16-65536");
	cr_assert_not(answer_blames(errors, "ma", why, sizeof(why)));
	cr_assert_not(answer_blames(errors, "", why, sizeof(why)));
}
