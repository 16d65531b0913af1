/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/socket/socket_close.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "smc_r/connection/connection.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"

static int fd;

static void setup(void)
{
	/* No list of connections can be made. */
	setenv("SMC_R_RUNDIR", "/dev/null/none", 1);
	process_init();
	cr_assert_eq(fdtable_init(), 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_geq(fd, 0);
}

TestSuite(closing, .init = setup, .timeout = 20);

/* close() found an entry; when socket_close() looks, another thread has closed
 * the descriptor, and it may be a file's that is nothing to the engine. */
Test(closing, what_another_thread_closed_is_the_kernels)
{
	cr_assert_null(fdtable_get(fd));
	cr_assert_eq(socket_close(fd), 0);
	errno = 0;
	cr_assert_eq(socket_close(fd), -1);
	cr_assert_eq(errno, EBADF);
}

Test(closing, a_listener_is_closed_once)
{
	struct listener *l = pool_get(sizeof(*l));

	cr_assert_not_null(l);
	l->entry.kind = FDENTRY_LISTENER;
	fdtable_set(fd, &l->entry);
	cr_assert_eq(socket_close(fd), 0);
	cr_assert_null(fdtable_get(fd));
	errno = 0;
	cr_assert_eq(socket_close(fd), -1);
	cr_assert_eq(errno, EBADF);
}

Test(closing, a_number_of_the_engine_is_refused)
{
	fdtable_reserve(fd);
	errno = 0;
	cr_assert_eq(socket_close(fd), -1);
	cr_assert_eq(errno, EBADF);
	fdtable_release(fd);
	cr_assert_eq(socket_close(fd), 0);
}

/* A peer that was promised an answer gets it without a slot in the list. */
Test(closing, what_has_no_slot_leaves_no_memory)
{
	struct status_slot *first = NULL;

	for (int i = 0; i < 2 * POOL_LATE; i++) {
		struct connection *c = connection_new(STATUS_SERVER, 0, true);

		cr_assert_not_null(c);
		if (c->slot == first)
			return;
		if (!first)
			first = c->slot;
		connection_release(c);
	}
	cr_assert_fail("memory is never used again");
}

Test(closing, who_needs_no_answer_gets_none)
{
	cr_assert_null(connection_new(STATUS_CLIENT, 0, false));
}
