/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* offer: the number of an instance; marks where nobody answers them. */
#include "smc_r/os/option_instance.h"
#include "smc_r/peer/offer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static uint32_t instance(const char *rundir)
{
	uint32_t number = 0;

	cr_assert_eq(option_instance(rundir, &number), 0, "%s", rundir);
	cr_assert_gt(number, 0, "%s", rundir);
	cr_assert_leq(number, INT32_MAX, "%s", rundir);
	return number;
}

Test(offer, spellings_of_one_path_are_one_instance)
{
	static const char *const same[] = {
	    "/run/smc_r/",          "//run//smc_r",
	    "/run/./smc_r/.",       "/run/x/../smc_r",
	    "/../run/smc_r",        "/run/smc_r/a/b/../..",
	    "/a/b/../../run/smc_r", "/run/x/y/../../smc_r//",
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		cr_expect_eq(instance(same[i]), instance("/run/smc_r"), "%s",
			     same[i]);
}

Test(offer, different_paths_are_different_instances)
{
	static const char *const other[] = {
	    "/",
	    "/run",
	    "/run/smc_",
	    "/run/smc_rr",
	    "/runsmc_r",
	    "/smc_r/run",
	    "/run/smc_r/x",
	    "/run/.smc_r",
	    "/run/..smc_r",
	    "/run/smc_r/..x",
	    "/run/smc_r...",
	};

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		for (size_t j = 0; j < i; j++)
			cr_expect_neq(instance(other[i]), instance(other[j]),
				      "%s and %s", other[i], other[j]);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		cr_expect_neq(instance(other[i]), instance("/run/smc_r"), "%s",
			      other[i]);
}

Test(offer, the_number_is_the_same_in_every_build)
{
	/* FNV-1a over "/smc_r" and "/run", 31 bits. */
	cr_assert_eq(instance("/run/smc_r"), 0x6645a304);
}

Test(offer, a_relative_path_is_no_instance)
{
	uint32_t number = 7;

	cr_expect_eq(option_instance("run/smc_r", &number), -EINVAL);
	cr_expect_eq(option_instance("", &number), -EINVAL);
	cr_expect_eq(option_instance(NULL, &number), -EINVAL);
	cr_expect_eq(number, 7);
}

Test(offer, before_init_and_without_programs_nothing_is_offered)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_geq(fd, 0);
	errno = EDOM;
	cr_expect_eq(offer_mark(fd), -EOPNOTSUPP);
	cr_expect_eq(offer_mark_deferred(fd), -EOPNOTSUPP);
	cr_expect_eq(offer_unmark(fd), -EOPNOTSUPP);
	cr_expect_eq(offer_state(fd), -EOPNOTSUPP);
	/* A path that no device has. */
	cr_assert_eq(offer_init("/nowhere/offer_test"), 0);
	cr_expect_lt(offer_mark(fd), 0);
	cr_expect_lt(offer_unmark(fd), 0);
	cr_expect_lt(offer_state(fd), 0);
	cr_expect_eq(errno, EDOM);
	close(fd);
	cr_expect_eq(offer_mark(fd), -EBADF);
	cr_expect_eq(offer_state(fd), -EBADF);
}
