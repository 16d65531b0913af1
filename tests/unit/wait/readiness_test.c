/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/unit/ends.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/wait/readiness.h"

#define SLEEP_SIZE 65536u

static bool is_asleep(struct ends *e)
{
	return atomic_load(&e->element.side[0].wait.armed_room) == 1;
}

Test(readiness, a_poll_that_finds_nothing_wakes_a_writer_also_when_half_closed)
{
	for (uint32_t shut = 0; shut <= STREAM_SHUT; shut += STREAM_SHUT) {
		struct ends *e = ends_make(SLEEP_SIZE, ENDS_HIGH);

		atomic_store(&e->slot[1].tx.flags, shut);
		atomic_store(&e->element.side[0].wait.armed_room, 1);
		cr_assert(!(readiness(&e->c[1], -1, POLLIN) & POLLIN));
		cr_assert(!is_asleep(e), "flags %u", shut);
	}
}

Test(readiness, a_low_water_mark_never_waits_for_what_has_no_room)
{
	static uint8_t bytes[SLEEP_SIZE];
	struct ends *e = ends_make(SLEEP_SIZE, ENDS_HIGH);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int mark = SLEEP_SIZE - 1;

	cr_assert_eq(
	    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)), 0);
	atomic_store(&e->slot[1].socket_flags, SOCKET_RCVLOWAT);
	ends_put(e, 0, bytes, sizeof(bytes) / 2);
	cr_assert(!(readiness(&e->c[1], fd, POLLIN) & POLLIN));
	ends_put(e, 0, bytes, sizeof(bytes));
	ends_take(e, 1, bytes, SLEEP_SIZE / 4);
	cr_assert(!stream_has_room(&e->c[0], stream_free(&e->c[0])));
	cr_assert(readiness(&e->c[1], fd, POLLIN) & POLLIN);
	close(fd);
}
