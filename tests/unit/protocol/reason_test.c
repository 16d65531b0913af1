/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/protocol/reason.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

Test(reason, every_reason_has_a_name_a_text_and_a_cure)
{
	for (int i = 0; i < REASON_COUNT; i++) {
		uint32_t code = reason_code(i);
		const char *name = reason_name(code);
		size_t n = strlen(name);

		cr_assert(n > 0 && n <= 20, "%08x has the name %s", code, name);
		for (size_t k = 0; k < n; k++)
			cr_assert(isupper((unsigned char)name[k]) ||
				      isdigit((unsigned char)name[k]) ||
				      name[k] == '_',
				  "%s is not upper case", name);
		cr_assert(strlen(reason_text(code)) > 4, "%s", name);
		cr_assert(strlen(reason_cure(code)) > 3, "%s", name);
		cr_assert(reason_text(code)[strlen(reason_text(code)) - 1] !=
			      '.',
			  "%s", name);
	}
}

Test(reason, names_are_unique)
{
	for (int i = 0; i < REASON_COUNT; i++)
		for (int k = i + 1; k < REASON_COUNT; k++)
			cr_assert_str_neq(reason_name(reason_code(i)),
					  reason_name(reason_code(k)));
}

Test(reason, index_and_code_are_inverse)
{
	for (int i = 0; i < REASON_COUNT; i++) {
		cr_assert_eq(reason_index(reason_code(i)), i);
		cr_assert(reason_is_known(reason_code(i)));
	}
}

/* They are places in files of counters: none is ever given to another reason,
 * and new ones come behind. */
Test(reason, an_index_keeps_its_meaning)
{
	static const struct {
		int index;
		uint32_t code;
	} fixed[] = {
	    {0, REASON_NONE},
	    {1, REASON_MEMORY},
	    {5, REASON_PEER_NO_SMC},
	    {10, REASON_NO_ISM2_SUPPORT},
	    {20, REASON_RMBE_EYECATCHER},
	    {30, REASON_INDIRECT},
	    {31, REASON_SYNC},
	    {36, REASON_REGISTER},
	    {40, REASON_ADDRESS},
	    {45, REASON_SAME_PROCESS},
	    {46, REASON_CHILDREN},
	    {51, REASON_CLOSED},
	    {55, REASON_DEMOTED_AIO},
	    {57, REASON_DEMOTED_IO_URING},
	    {62, REASON_DEMOTED_SANDBOX},
	    {63, REASON_PEER_MEMORY},
	    {64, REASON_DEMOTED_STALLED},
	    {65, REASON_DEMOTED_EPOLL},
	    {66, REASON_RAW_CALLS},
	    {67, REASON_DEMOTED_NESTED},
	    {68, REASON_NOT_WORTH_IT},
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		cr_assert_eq(reason_index(fixed[i].code), fixed[i].index,
			     "%s is %d", reason_name(fixed[i].code),
			     reason_index(fixed[i].code));
}

Test(reason, an_index_out_of_range_is_an_internal_error)
{
	cr_assert_eq(reason_code(-1), REASON_INTERNAL);
	cr_assert_eq(reason_code(REASON_COUNT), REASON_INTERNAL);
}

Test(reason, a_code_not_listed_counts_as_a_peers_decline)
{
	const uint32_t codes[] = {1,          0x01010001, 0x03030010,
				  0x06000000, 0x0a999999, 0xffffffff};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		cr_assert(!reason_is_known(codes[i]));
		cr_assert_eq(reason_index(codes[i]),
			     reason_index(REASON_PEER_DECLINED));
		cr_assert_str_eq(reason_name(codes[i]), "UNKNOWN");
		cr_assert(strlen(reason_text(codes[i])) > 0);
		cr_assert(strlen(reason_cure(codes[i])) > 0);
	}
}

/* Numbers and names that operators of Linux and z/OS look for. */
Test(reason, codes_that_linux_has_keep_their_numbers_and_names)
{
	static const struct {
		uint32_t code;
		const char *name;
	} known[] = {
	    {0x01010000, "MEMORY"},      {0x02010000, "TIMEOUT_CL"},
	    {0x02020000, "TIMEOUT_AL"},  {0x03000000, "CNF_ERR"},
	    {0x03010000, "PEER_NO_SMC"}, {0x03020000, "IPSEC"},
	    {0x03030000, "NOSMCDEV"},    {0x03030001, "NOSMCDDEV"},
	    {0x03030002, "NOSMCRDEV"},   {0x03030003, "NOISM2SUPP"},
	    {0x03030004, "NOV2EXT"},     {0x03030005, "NOV2DEXT"},
	    {0x03030006, "NOSEID"},      {0x03030007, "NOSMCD2DEV"},
	    {0x03030008, "NOUEID"},      {0x03030009, "RELEASEERR"},
	    {0x0303000a, "MAXCONNERR"},  {0x0303000b, "MAXLINKERR"},
	    {0x03040000, "MODEUNSUPP"},  {0x03050000, "RMBE_EC"},
	    {0x03060000, "OPTUNSUPP"},   {0x03070000, "DIFFPREFIX"},
	    {0x03080000, "GETVLANERR"},  {0x03090000, "ISMVLANERR"},
	    {0x030a0000, "NOACTLINK"},   {0x030b0000, "NOSRVLINK"},
	    {0x030c0000, "VERSMISMAT"},  {0x030d0000, "MAX_DMB"},
	    {0x030e0000, "NOROUTE"},     {0x030f0000, "NOINDIRECT"},
	    {0x04000000, "SYNCERR"},     {0x05000000, "PEERDECL"},
	    {0x09990000, "INTERR"},      {0x09990001, "ERR_RTOK"},
	    {0x09990002, "ERR_RDYLNK"},  {0x09990003, "ERR_REGBUF"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		cr_assert(reason_is_known(known[i].code));
		cr_assert_str_eq(reason_name(known[i].code), known[i].name);
	}
}

Test(reason, ours_are_in_a_range_of_their_own)
{
	int ours = 0;

	for (int i = 0; i < REASON_COUNT; i++) {
		uint32_t code = reason_code(i);

		if (code >> 24 == 0x0a)
			ours++;
		else
			cr_assert(code <= 0x09990003, "%08x", code);
	}
	cr_assert_eq(ours, 32);
	cr_assert_eq(reason_code(0), REASON_NONE);
}
