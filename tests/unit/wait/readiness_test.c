/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/unit/ends.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/os/process.h"
#include "smc_r/wait/readiness.h"

#define SLEEP_SIZE 65536u
#define MS         1000000ull

static bool is_asleep(struct ends *e)
{
	return atomic_load(&e->element.side[0].wait.armed_room) == 1;
}

Test(readiness, a_poll_that_finds_nothing_wakes_a_writer_also_when_half_closed)
{
	for (uint32_t shut = 0; shut <= STREAM_SHUT; shut += STREAM_SHUT) {
		struct ends *e = ends_make(SLEEP_SIZE, ENDS_HIGH);
		uint64_t now = 0;

		atomic_store(&e->slot[1].tx.flags, shut);
		atomic_store(&e->element.side[0].wait.armed_room, 1);
		cr_assert(!(readiness(&e->c[1], -1, POLLIN, &now) & POLLIN));
		cr_assert(!is_asleep(e), "flags %u", shut);
	}
}

Test(readiness, a_low_water_mark_never_waits_for_what_has_no_room)
{
	static uint8_t bytes[SLEEP_SIZE];
	struct ends *e = ends_make(SLEEP_SIZE, ENDS_HIGH);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int mark = SLEEP_SIZE - 1;
	uint64_t now = 0;

	cr_assert_eq(
	    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)), 0);
	atomic_store(&e->slot[1].socket_flags, SOCKET_RCVLOWAT);
	ends_put(e, 0, bytes, sizeof(bytes) / 2);
	cr_assert(!(readiness(&e->c[1], fd, POLLIN, &now) & POLLIN));
	ends_put(e, 0, bytes, sizeof(bytes));
	ends_take(e, 1, bytes, SLEEP_SIZE / 4);
	cr_assert(!stream_has_room(&e->c[0], stream_free(&e->c[0])));
	cr_assert(readiness(&e->c[1], fd, POLLIN, &now) & POLLIN);
	close(fd);
}

Test(readiness, what_was_hidden_long_enough_is_due_until_it_is_told)
{
	struct ends *e = ends_make(SLEEP_SIZE, ENDS_HIGH);
	struct connection *c = &e->c[0];
	struct clc_config config = {.server = false};
	uint64_t now = 1000 * MS;

	process.handshake_ms = 200;
	clc_init(connection_clc(c), &config, now / MS);
	atomic_store(&c->slot->phase, PHASE_HANDSHAKE);
	c->handshake.begun_ns = now - 4 * MS;
	cr_assert_gt(readiness_left_ms(c, true, &now), 0);
	c->handshake.begun_ns = now - 6 * MS;
	cr_assert_eq(readiness_left_ms(c, true, &now), 0);
	cr_assert_gt(readiness_left_ms(c, false, &now), 100);
	c->handshake.told = true;
	cr_assert_gt(readiness_left_ms(c, true, &now), 100);
}
