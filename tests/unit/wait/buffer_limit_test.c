/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* buffer_limit: how far a writer may get ahead of its reader. */
#include "tests/unit/ends.h"

#include "smc_r/connection/buffer_limit.h"
#include "smc_r/wait/readiness.h"

#define SIZE 65536u

static uint8_t bytes[2 * SIZE];

Test(buffer_limit, follows_what_tcp_takes)
{
	/* Nobody asked for less, whatever the other end receives into. */
	cr_assert_eq(buffer_limit_of(0, 0), 0);
	cr_assert_eq(buffer_limit_of(0, 2304), 0);
	/* The kernel's least, and what it makes of 4096. */
	cr_assert_eq(buffer_limit_of(4608, 2304), 5760);
	cr_assert_eq(buffer_limit_of(8192, 8192), 12288);
	/* A reader that never said how much. */
	cr_assert_eq(buffer_limit_of(8192, 0), 139264);
	/* More than any ring. */
	cr_assert_eq(buffer_limit_of(2000000, 2000000), 0);
	cr_assert_eq(buffer_limit_of(UINT32_MAX, UINT32_MAX), 0);
	/* What no kernel says. */
	cr_assert_eq(buffer_limit_of(1, 1), RMB_LIMIT_MIN);
}

static void allow(struct ends *e, uint32_t allowed)
{
	atomic_store(&e->element.side[0].producer.limit, allowed);
}

static bool is_writable(struct ends *e)
{
	uint64_t now = 0;

	return readiness(&e->c[0], -1, POLLOUT, &now) & POLLOUT;
}

Test(buffer_limit, ends_a_write)
{
	struct ends *e = ends_make(SIZE, ENDS_LOW);

	allow(e, 12000);
	cr_assert(is_writable(e));
	cr_assert_eq(ends_put(e, 0, bytes, sizeof(bytes)), 12000);
	cr_assert_eq(ends_put(e, 0, bytes, 1), 0);
	cr_assert_eq(stream_free(&e->c[0]), 0);
	cr_assert(!is_writable(e));
	/* Room for somebody, but not enough to wake anybody. */
	cr_assert_eq(ends_take(e, 1, bytes, 3999), 3999);
	cr_assert(!is_writable(e));
	cr_assert_eq(ends_take(e, 1, bytes, 1), 1);
	cr_assert(is_writable(e));
	/* Short ones go as a whole: a quarter of what is allowed. */
	cr_assert_eq(ends_put(e, 0, bytes, 2000), 2000);
	cr_assert_eq(ends_put(e, 0, bytes, 3000), 0);
	cr_assert_eq(ends_put(e, 0, bytes, 3001), 2000);
}

Test(buffer_limit, changes_under_a_writer)
{
	struct ends *e = ends_make(SIZE, ENDS_LOW);

	cr_assert_eq(ends_put(e, 0, bytes, 40000), 40000);
	allow(e, 5000);
	cr_assert_eq(stream_free(&e->c[0]), 0);
	cr_assert_eq(ends_put(e, 0, bytes, 10), 0);
	cr_assert(!is_writable(e));
	cr_assert_eq(ends_take(e, 1, bytes, 36000), 36000);
	cr_assert_eq(ends_put(e, 0, bytes, 2000), 1000);
	allow(e, 0);
	cr_assert_eq(ends_put(e, 0, bytes, SIZE), SIZE - 5000);
	cr_assert_eq(ends_take(e, 1, bytes, SIZE), SIZE);
}

/* The reader rings at the mark of what is allowed, not of the ring. */
Test(buffer_limit, wakes_a_writer)
{
	struct ends *e = ends_make(SIZE, ENDS_LOW);

	allow(e, 9000);
	cr_assert_eq(ends_put(e, 0, bytes, SIZE), 9000);
	atomic_store(&e->element.side[0].wait.armed_room, RMB_ARMED);
	cr_assert_eq(ends_take(e, 1, bytes, 2999), 2999);
	cr_assert_eq(atomic_load(&e->element.side[0].wait.armed_room),
		     RMB_ARMED);
	cr_assert_eq(ends_take(e, 1, bytes, 1), 1);
	cr_assert_eq(atomic_load(&e->element.side[0].wait.armed_room), 0);
}

/* The other end may write there what it likes. */
Test(buffer_limit, hostile_values)
{
	static const uint32_t odd[] = {1, RMB_LIMIT_MIN - 1, SIZE, SIZE + 1,
				       UINT32_MAX};

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct ends *e = ends_make(SIZE, ENDS_LOW);

		allow(e, odd[i]);
		cr_assert_eq(ends_put(e, 0, bytes, sizeof(bytes)), SIZE);
		cr_assert_eq(ends_take(e, 1, bytes, sizeof(bytes)), SIZE);
	}
}
