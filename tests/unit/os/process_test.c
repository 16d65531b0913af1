/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/os/process.h"

#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child, so long after the fork: what it takes for its start is what
 * others read of it. */
static void assert_start(useconds_t nap_us)
{
	int status;
	pid_t child;

	process_before_fork();
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		usleep(nap_us);
		process_forked();
		_exit(process.pid == getpid() && process.exec_shows &&
			      process.start == process_start_time(getpid())
			  ? 0
			  : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
}

Test(process, a_child_knows_its_start_without_asking)
{
	process_init();
	for (int i = 0; i < 500; i++)
		assert_start(0);
}

Test(process, a_child_that_is_late_asks)
{
	process_init();
	for (int i = 0; i < 10; i++)
		assert_start(25000);
}

Test(process, who_was_forked_unseen_asks)
{
	int status;

	process_init();
	if (fork() == 0) {
		process_forked();
		_exit(process.start == process_start_time(getpid()) ? 0 : 1);
	}
	cr_assert_gt(wait(&status), 0);
	cr_assert_eq(status, 0);
}
