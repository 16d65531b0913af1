/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/os/alive.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

Test(alive, a_process_is_itself_and_nobody_else)
{
	uint64_t start = 0;

	cr_assert_eq(alive_start(getpid(), &start), 0);
	cr_assert_gt(start, 0);
	cr_assert(alive_is_same(getpid(), start));
	cr_assert(!alive_is_same(getpid(), start - 1));
	cr_assert(!alive_is_same(getpid(), start + 1));
}

Test(alive, no_number_that_is_not_a_process_is_alive)
{
	const pid_t number[] = {0, -1, INT_MIN};
	uint64_t start;
	size_t i;

	/* kill(-1, 0) would ask about everybody. */
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		cr_assert_eq(alive_start(number[i], &start), -ESRCH);
		cr_assert(!alive_is_same(number[i], 0));
		cr_assert(!alive_is_elder(number[i], UINT64_MAX));
	}
}

Test(alive, an_elder_began_no_later)
{
	uint64_t start = 0;

	cr_assert_eq(alive_start(getpid(), &start), 0);
	cr_assert(alive_is_elder(getpid(), start));
	cr_assert(alive_is_elder(getpid(), start + 1));
	cr_assert(!alive_is_elder(getpid(), start - 1));
}

Test(alive, a_zombie_is_dead_and_so_is_what_was_waited_for)
{
	siginfo_t info;
	uint64_t start = 0;
	int go[2];
	pid_t child;
	char byte;

	cr_assert_eq(pipe(go), 0);
	child = fork();
	if (child == 0) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	cr_assert_gt(child, 0);
	cr_assert_eq(alive_start(child, &start), 0);
	cr_assert(alive_is_same(child, start));
	close(go[1]);
	cr_assert_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	cr_assert_eq(alive_start(child, &start), -ESRCH);
	cr_assert(!alive_is_same(child, start));
	cr_assert(!alive_is_elder(child, UINT64_MAX));
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert(!alive_is_same(child, start));
}

Test(alive, an_executed_program_is_the_same_process_but_not_the_same_program)
{
	uint64_t start = 0;
	int input[2], executed[2];
	pid_t child;
	char byte;

	cr_assert_eq(pipe2(input, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(executed, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		if (read(input[0], &byte, 1) == 1 && dup2(input[0], 0) == 0)
			execlp("cat", "cat", NULL);
		_exit(1);
	}
	cr_assert_gt(child, 0);
	close(executed[1]);
	cr_assert_eq(alive_start(child, &start), 0);
	cr_assert(alive_is_same_program(child, start));
	cr_assert(!alive_is_same_program(child, start - 1));
	cr_assert_eq(write(input[1], "", 1), 1);
	cr_assert_eq(read(executed[0], &byte, 1), 0);
	cr_assert(alive_is_same(child, start));
	cr_assert(!alive_is_same_program(child, start));
	close(input[1]);
	cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(alive, a_name_with_blanks_and_brackets_does_not_mislead)
{
	uint64_t plain = 0, odd = 0;

	cr_assert_eq(alive_start(getpid(), &plain), 0);
	cr_assert_eq(prctl(PR_SET_NAME, "a) Z 1 (b", 0, 0, 0), 0);
	cr_assert_eq(alive_start(getpid(), &odd), 0);
	cr_assert_eq(plain, odd);
}
