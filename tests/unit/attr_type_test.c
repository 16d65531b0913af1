/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "attrdb/attr_type.h"

#include <criterion/criterion.h>
#include <errno.h>

static void accepts(const char *rep, const char *values, const char *value,
		    const char *stored)
{
	const struct attr_type type = {rep, values};
	char out[64], why[160] = "";

	cr_assert_eq(
	    attr_type_check(&type, value, out, sizeof(out), why, sizeof(why)),
	    0, "%s %s %s: %s", rep, values, value, why);
	cr_assert_str_eq(out, stored);
}

static void refuses(const char *rep, const char *values, const char *value,
		    int error)
{
	const struct attr_type type = {rep, values};
	char out[64] = "untouched", why[160] = "";

	cr_assert_eq(
	    attr_type_check(&type, value, out, sizeof(out), why, sizeof(why)),
	    error, "%s %s %s", rep, values, value);
	cr_assert_str_eq(out, "untouched");
	cr_assert_neq(why[0], '\0', "a refusal has a reason");
}

Test(attr_type, a_list_takes_its_elements_only)
{
	accepts("sl", "auto,full,half", "full", "full");
	refuses("sl", "auto,full,half", "ful", -EINVAL);
	refuses("sl", "auto,full,half", "Full", -EINVAL);
	refuses("sl", "auto,full,half", "", -EINVAL);
	refuses("sl", "auto,full,half", "auto,full", -EINVAL);
}

Test(attr_type, numbers_of_a_list_are_compared_as_numbers)
{
	accepts("nl", "0,1", "1", "1");
	accepts("nl", "0,1", "01", "1");
	accepts("nl", "0,0x10", "16", "0x10");
	refuses("nl", "0,1", "2", -EINVAL);
	refuses("nl", "0,1", "one", -EINVAL);
	refuses("nl", "0,1", "-1", -EINVAL);
}

Test(attr_type, a_range_includes_both_ends)
{
	accepts("nr", "16-65536,1", "16", "16");
	accepts("nr", "16-65536,1", "65536", "65536");
	accepts("nr", "16-65536,1", "0020", "20");
	accepts("nr", "16-65536", "0x20", "32");
	refuses("nr", "16-65536,1", "15", -EINVAL);
	refuses("nr", "16-65536,1", "65537", -EINVAL);
	refuses("nr", "16-65536,1", "-16", -EINVAL);
	refuses("nr", "16-65536,1", "16.5", -EINVAL);
	refuses("nr", "16-65536,1", "99999999999999999999", -EINVAL);
}

Test(attr_type, a_range_has_steps_and_there_may_be_several)
{
	accepts("nr", "0-100,10", "30", "30");
	refuses("nr", "0-100,10", "35", -EINVAL);
	accepts("nr", "1-5,2,10-20", "3", "3");
	accepts("nr", "1-5,2,10-20", "11", "11");
	refuses("nr", "1-5,2,10-20", "4", -EINVAL);
	refuses("nr", "1-5,2,10-20", "7", -EINVAL);
}

Test(attr_type, a_pair_knows_words_for_yes_and_no)
{
	accepts("sb", "no,yes", "yes", "yes");
	accepts("sb", "no,yes", "ON", "yes");
	accepts("sb", "no,yes", "0", "no");
	accepts("nb", "0,1", "true", "1");
	accepts("sb", "disable,enable", "enable", "enable");
	refuses("sb", "no,yes", "maybe", -EINVAL);
	refuses("sb", "no", "no", -EPROTO);
	refuses("sb", "no,yes,both", "no", -EPROTO);
}

Test(attr_type, without_values_everything_of_its_kind_is_legal)
{
	accepts("s", "", "any words", "any words");
	accepts("s", "", "", "");
	accepts("sl", "", "anything", "anything");
	accepts("n", "", "4711", "4711");
	refuses("n", "", "", -EINVAL);
	refuses("n", "", "x", -EINVAL);
	refuses("s", "", "two\nlines", -EINVAL);
	refuses("s", "", "\033[31m", -EINVAL);
}

Test(attr_type, what_does_not_fit_is_refused)
{
	refuses("s", "",
		"0123456789012345678901234567890123456789012345678901234567890"
		"12345",
		-EINVAL);
}

Test(attr_type, a_damaged_definition_is_told_from_a_bad_value)
{
	refuses("", "", "1", -EPROTO);
	refuses("x", "", "1", -EPROTO);
	refuses("n", "1-2", "1", -EPROTO);
	refuses("nr", "10-1", "5", -EPROTO);
	refuses("nr", "a-b", "5", -EPROTO);
	refuses("nr", "5", "5", -EPROTO);
	refuses("nr", "1-9,0", "5", -EPROTO);
	refuses("sl", "a,,b", "b", -EPROTO);
	refuses("sl", "a,", "b", -EPROTO);
	refuses("sr", "1-2", "1", -EPROTO);
}

Test(attr_type, elements_come_one_after_the_other)
{
	const char *next = "a,bc,d";
	char word[8];

	cr_assert_eq(attr_type_next_word(&next, word, sizeof(word)), 1);
	cr_assert_str_eq(word, "a");
	cr_assert_eq(attr_type_next_word(&next, word, sizeof(word)), 1);
	cr_assert_str_eq(word, "bc");
	cr_assert_eq(attr_type_next_word(&next, word, sizeof(word)), 1);
	cr_assert_eq(attr_type_next_word(&next, word, sizeof(word)), 0);
	next = "too long a word";
	cr_assert_eq(attr_type_next_word(&next, word, sizeof(word)), -EPROTO);
}

Test(attr_type, ranges_come_one_after_the_other)
{
	const char *next = "1-5,2,10-20";
	struct attr_range range;

	cr_assert_eq(attr_type_next_range(&next, &range), 1);
	cr_assert_eq(range.low, 1);
	cr_assert_eq(range.high, 5);
	cr_assert_eq(range.increment, 2);
	cr_assert_eq(attr_type_next_range(&next, &range), 1);
	cr_assert_eq(range.low, 10);
	cr_assert_eq(range.increment, 1);
	cr_assert_eq(attr_type_next_range(&next, &range), 0);
}
