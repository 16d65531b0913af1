/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stream_nested: a signal handler that uses a connection while the thread that
 * it interrupted is in the middle of a copy.
 *
 * The handler comes at the right moment without luck: the program's buffer has
 * a page that cannot be touched, so the copy itself raises SIGSEGV, whose
 * handler does the second call, opens the page and lets the first go on.
 */
#include "tests/unit/ends.h"

#include <setjmp.h>
#include <sys/socket.h>

#include "smc_r/os/pages.h"
#include "smc_r/socket/fastpath.h"

#define BYTES 6000u /* one piece; across the two pages of the buffer */

static struct ends *e;
static uint8_t *buffer; /* begins in one page, ends in the closed one */
static uint8_t *closed;
static void (*second)(void);
static int faults;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if ((uint8_t *)info->si_addr < closed ||
	    (uint8_t *)info->si_addr >= closed + ENDS_PAGE || faults++)
		_exit(99);
	second();
	mprotect(closed, ENDS_PAGE, PROT_READ | PROT_WRITE);
}

static void setup(void)
{
	struct sigaction a = {.sa_sigaction = on_fault,
			      .sa_flags = SA_SIGINFO | SA_NODEFER};
	uint8_t *pages =
	    mmap(NULL, (size_t)3 * ENDS_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq((void *)pages, MAP_FAILED);
	closed = pages + 2 * (size_t)ENDS_PAGE;
	buffer = closed + ENDS_PAGE - BYTES;
	e = ends_make(16384, ENDS_HIGH);
	cr_assert_eq(sigaction(SIGSEGV, &a, NULL), 0);
	alarm(20);
}

TestSuite(stream_nested, .init = setup);

/* What is known to be there is not asked about again. */
static void close_page(void)
{
	cr_assert(pages_hold(closed - 2 * (size_t)ENDS_PAGE,
			     3 * (size_t)ENDS_PAGE, true));
	cr_assert_eq(mprotect(closed, ENDS_PAGE, PROT_NONE), 0);
}

/* ---- two that write ---- */

static const char inner[] = "written by the handler";

static void write_on_top(void)
{
	if (ends_put(e, 0, inner, sizeof(inner)) != sizeof(inner))
		_exit(98);
}

/* One after the other, in either order, and both whole. */
static void assert_both(size_t outer)
{
	static uint8_t got[16384];
	size_t all = outer + sizeof(inner);

	cr_assert_eq(ends_take(e, 1, got, sizeof(got)), all);
	if (memcmp(got, inner, sizeof(inner)) == 0) {
		cr_assert(ends_right(got + sizeof(inner), 0, outer));
		return;
	}
	cr_assert(ends_right(got, 0, outer), "the first call's bytes are "
					     "damaged");
	cr_assert_arr_eq(got + outer, inner, sizeof(inner),
			 "the handler's bytes are damaged");
}

Test(stream_nested, a_write_inside_a_write_damages_neither)
{
	ends_fill(buffer, 0, BYTES);
	close_page();
	second = write_on_top;
	cr_assert_eq(ends_put(e, 0, buffer, BYTES), BYTES);
	cr_assert_eq(faults, 1);
	assert_both(BYTES);
	cr_assert_eq(atomic_load(&e->slot[0].tx.lock), 0);
}

/* Bytes of a write that goes the short way, as far as that goes. */
#define FLAT_BYTES 4000u

static uint8_t *flat_buffer(void)
{
	return closed - 1000;
}

Test(stream_nested, a_write_inside_a_flat_one_damages_neither)
{
	ends_fill(flat_buffer(), 0, FLAT_BYTES);
	close_page();
	second = write_on_top;
	cr_assert_eq(fastpath_send(&e->c[0], -1, flat_buffer(), FLAT_BYTES, 0),
		     FLAT_BYTES);
	cr_assert_eq(faults, 1);
	assert_both(FLAT_BYTES);
	cr_assert_eq(atomic_load(&e->slot[0].tx.lock), 0);
}

/* sendfile fills the ring itself; the handler comes in between. */
Test(stream_nested, a_write_while_room_is_filled_loses_nothing)
{
	struct room r;
	size_t filled = 1000;

	cr_assert_eq(stream_room_begin(&e->c[0], &r), 16384);
	ends_fill(r.piece[0].iov_base, 0, filled);
	write_on_top();
	stream_room_end(&e->c[0], &r, filled);
	assert_both(filled);
	cr_assert_eq(atomic_load(&e->slot[0].tx.lock), 0);
}

/* ---- two that read ---- */

static uint8_t first[100];

static void read_on_top(void)
{
	if (ends_take(e, 1, first, sizeof(first)) != sizeof(first))
		_exit(98);
}

Test(stream_nested, a_read_inside_a_read_gives_each_byte_once)
{
	static uint8_t bytes[BYTES + sizeof(first)];

	ends_fill(bytes, 0, sizeof(bytes));
	cr_assert_eq(ends_put(e, 0, bytes, sizeof(bytes)), sizeof(bytes));
	close_page();
	second = read_on_top;
	cr_assert_eq(ends_take(e, 1, buffer, BYTES), BYTES);
	cr_assert_eq(faults, 1);
	cr_assert(ends_right(first, 0, sizeof(first)));
	cr_assert(ends_right(buffer, sizeof(first), BYTES));
	cr_assert_eq(ends_take(e, 1, bytes, 1), 0);
	cr_assert_eq(atomic_load(&e->slot[1].rx.lock), 0);
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.cursor),
		     sizeof(bytes));
}

/* The flat one cannot begin again, and leaves it to the long way. */
Test(stream_nested, a_read_inside_a_flat_one_gives_each_byte_once)
{
	static uint8_t bytes[FLAT_BYTES + sizeof(first)];

	ends_fill(bytes, 0, sizeof(bytes));
	cr_assert_eq(ends_put(e, 0, bytes, sizeof(bytes)), sizeof(bytes));
	close_page();
	second = read_on_top;
	cr_assert_eq(
	    fastpath_receive(&e->c[1], flat_buffer(), FLAT_BYTES, MSG_DONTWAIT),
	    0);
	cr_assert_eq(faults, 1);
	cr_assert(ends_right(first, 0, sizeof(first)));
	cr_assert_eq(atomic_load(&e->slot[1].rx.lock), 0);
	cr_assert_eq(
	    fastpath_receive(&e->c[1], flat_buffer(), FLAT_BYTES, MSG_DONTWAIT),
	    FLAT_BYTES);
	cr_assert(ends_right(flat_buffer(), sizeof(first), FLAT_BYTES));
}

static void take_everything(void)
{
	static uint8_t all[16384];

	if (ends_take(e, 1, all, sizeof(all)) <= 0)
		_exit(98);
}

Test(stream_nested, a_read_that_finds_all_taken_gets_nothing)
{
	static uint8_t bytes[BYTES];

	ends_fill(bytes, 0, sizeof(bytes));
	cr_assert_eq(ends_put(e, 0, bytes, sizeof(bytes)), sizeof(bytes));
	close_page();
	second = take_everything;
	cr_assert_eq(ends_take(e, 1, buffer, BYTES), 0);
	cr_assert_eq(faults, 1);
}

/* ---- one of each ---- */

static void answer_on_top(void)
{
	if (ends_put(e, 1, inner, sizeof(inner)) != sizeof(inner))
		_exit(98);
}

Test(stream_nested, a_write_inside_a_read_is_as_any_other)
{
	static uint8_t bytes[BYTES];

	ends_fill(bytes, 0, sizeof(bytes));
	cr_assert_eq(ends_put(e, 0, bytes, sizeof(bytes)), sizeof(bytes));
	close_page();
	second = answer_on_top;
	cr_assert_eq(ends_take(e, 1, buffer, BYTES), BYTES);
	cr_assert_eq(faults, 1);
	cr_assert(ends_right(buffer, 0, BYTES));
	cr_assert_eq(ends_take(e, 0, bytes, sizeof(bytes)), sizeof(inner));
	cr_assert_arr_eq(bytes, inner, sizeof(inner));
}

/* ---- a copy that is never finished ---- */

static sigjmp_buf place;

static void leave(void)
{
	mprotect(closed, ENDS_PAGE, PROT_READ | PROT_WRITE);
	siglongjmp(place, 1);
}

/* As socket_io does, which is not called from as high up. */
static __attribute__((noinline)) ssize_t put_deeper(const void *from, size_t n)
{
	volatile char frames[512];

	frames[0] = 0;
	return ends_put(e, 0, from, n) + frames[0];
}

/* That holds for callers of the long way, too, deeper down. */
Test(stream_nested, a_flat_copy_that_siglongjmp_ended_moved_nothing)
{
	static uint8_t bytes[FLAT_BYTES];

	ends_fill(flat_buffer(), 0, FLAT_BYTES);
	close_page();
	second = leave;
	if (sigsetjmp(place, 1) == 0) {
		fastpath_send(&e->c[0], -1, flat_buffer(), FLAT_BYTES, 0);
		cr_assert_fail("the copy was not interrupted");
	}
	cr_assert_eq(stream_fill(&e->c[1]), 0);
	cr_assert_eq(put_deeper(flat_buffer(), FLAT_BYTES), FLAT_BYTES);
	cr_assert_eq(ends_take(e, 1, bytes, FLAT_BYTES), FLAT_BYTES);
	cr_assert(ends_right(bytes, 0, FLAT_BYTES));
}

Test(stream_nested, a_copy_that_siglongjmp_ended_moved_nothing)
{
	static uint8_t bytes[BYTES];

	ends_fill(buffer, 0, BYTES);
	close_page();
	second = leave;
	if (sigsetjmp(place, 1) == 0) {
		ends_put(e, 0, buffer, BYTES);
		cr_assert_fail("the copy was not interrupted");
	}
	cr_assert_eq(stream_fill(&e->c[1]), 0);
	ends_fill(bytes, 500, BYTES);
	cr_assert_eq(ends_put(e, 0, bytes, BYTES), BYTES);
	memset(bytes, 0, BYTES);
	cr_assert_eq(ends_take(e, 1, bytes, BYTES), BYTES);
	cr_assert(ends_right(bytes, 500, BYTES));
	cr_assert_eq(atomic_load(&e->slot[0].tx.lock), 0);
}
