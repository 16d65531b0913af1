/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"

static struct rlimit found; /* what the process came with */

static void setup(void)
{
	process_init();
	cr_assert_eq(fdtable_init(), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &found), 0);
}

TestSuite(private_fd, .init = setup);

static void limit(rlim_t soft, rlim_t hard)
{
	const struct rlimit l = {soft, hard};

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &l), 0,
		     "limits %lu %lu: errno %d", (unsigned long)soft,
		     (unsigned long)hard, errno);
}

static int open_one(void)
{
	int fd = open("/dev/null", O_RDWR);

	cr_assert_geq(fd, 0);
	return fd;
}

static void assert_limits(rlim_t soft, rlim_t hard)
{
	struct rlimit l;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	cr_assert_eq(l.rlim_cur, soft);
	cr_assert_eq(l.rlim_max, hard);
}

Test(private_fd, it_lies_above_the_soft_limit_when_there_is_room)
{
	int low = open_one();
	int fd;

	limit(64, 1024);
	fd = private_fd(low);
	cr_assert_geq(fd, 64);
	cr_assert_lt(fd, 1024);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(write(fd, "x", 1), 1);
	cr_assert_eq(fcntl(low, F_GETFD), -1);
	cr_assert_not_null(fdtable_kind(fd, FDENTRY_PRIVATE));
	assert_limits(64, 1024);
	private_fd_close(fd);
	cr_assert_null(fdtable_get(fd));
	cr_assert_eq(fcntl(fd, F_GETFD), -1);
}

Test(private_fd, many_at_once_have_numbers_above_the_soft_limit)
{
	int low[80];

	limit(64, 1024);
	private_fd_begin();
	for (int i = 0; i < 80; i++)
		low[i] = open_one();
	for (int i = 0; i < 80; i++)
		cr_assert_geq(private_fd(low[i]), 64);
	private_fd_end();
	assert_limits(64, 1024);
	cr_assert_lt(open_one(), 64);
}

Test(private_fd, many_at_once_where_the_limits_are_equal)
{
	limit(64, 64);
	private_fd_begin();
	cr_assert_geq(private_fd(open_one()), 16);
	private_fd_end();
	assert_limits(64, 64);
}

Test(private_fd, a_program_gets_the_numbers_it_counts_on)
{
	int next = open_one();

	close(next);
	limit(64, 1024);
	for (int i = 0; i < 40; i++) {
		int fd = open_one();

		/* However many we took, the lowest free one is the same. */
		cr_assert_eq(fd, next);
		cr_assert_geq(private_fd(fd), 64);
	}
}

Test(private_fd, with_equal_limits_the_lowest_quarter_is_the_programs)
{
	int count = 0;
	int fd;

	limit(64, 64);
	for (;;) {
		fd = private_fd(open_one());
		if (fd < 0)
			break;
		cr_assert_geq(fd, 16);
		cr_assert_lt(fd, 64);
		cr_assert_lt(++count, 64);
	}
	cr_assert_eq(fd, -EMFILE);
	cr_assert_gt(count, 8);
	assert_limits(64, 64);
	/* The refused one was closed, so this never runs out. */
	for (int i = 0; i < 100; i++) {
		fd = open_one();
		cr_assert_eq(private_fd(fd), -EMFILE);
		cr_assert_eq(fcntl(fd, F_GETFD), -1);
	}
}

Test(private_fd, what_was_given_back_can_be_had_again)
{
	int fd[64];
	int n = 0;

	limit(64, 64);
	for (int round = 0; round < 5; round++) {
		int had = n;

		for (n = 0;; n++) {
			fd[n] = private_fd(open_one());
			if (fd[n] < 0)
				break;
		}
		if (round > 0)
			cr_assert_eq(n, had, "round %d", round);
		for (int i = 0; i < n; i++)
			private_fd_close(fd[i]);
	}
}

Test(private_fd, a_program_near_its_limit_loses_no_descriptor_to_us)
{
	int used = 0;
	int low;

	limit(64, 64);
	/* All but two are the program's. */
	for (low = open_one(); low < 61; low = open_one())
		used++;
	cr_assert_gt(used, 0);
	cr_assert_eq(private_fd(open_one()), -EMFILE);
	cr_assert_eq(open_one(), 62);
}

Test(private_fd, soft_limits_of_every_size_are_kept)
{
	const rlim_t soft[] = {8, 16, 20, 33, 64, 256};
	int fd;
	size_t i;

	/* The numbers in use must stay below the smallest of them. */
	for (i = 0; i < sizeof(soft) / sizeof(soft[0]); i++) {
		int low = open_one();

		if ((rlim_t)low >= soft[i]) {
			close(low);
			continue;
		}
		limit(soft[i], 300);
		fd = private_fd(low);
		cr_assert_geq(fd, (int)soft[i]);
		cr_assert_lt(fd, 300);
		assert_limits(soft[i], 300);
		private_fd_close(fd);
	}
	limit(256, 300);
}

Test(private_fd, few_numbers_above_the_soft_limit_are_used_first)
{
	int above = 0;
	int below = 0;

	limit(64, 68);
	for (int i = 0; i < 12; i++) {
		int fd = private_fd(open_one());

		cr_assert_geq(fd, 16);
		if (fd >= 64)
			above++;
		else
			below++;
	}
	cr_assert_eq(above, 4);
	cr_assert_eq(below, 8);
	assert_limits(64, 68);
}

Test(private_fd, closing_what_there_is_not_does_nothing)
{
	int n;

	limit(64, 64);
	private_fd_close(-1);
	private_fd_close(-EMFILE);
	for (n = 0; private_fd(open_one()) >= 0; n++)
		;
	cr_assert_gt(n, 8);
	cr_assert_leq(n, 48);
}
