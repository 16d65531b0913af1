/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/fallback/recall.h"

#include <pthread.h>
#include <sys/ioctl.h>

#include "smc_r/os/lock.h"
#include "smc_r/stream/stream_steps.h"
#include "tests/unit/ends.h"

#define RING   16384
#define ROUNDS 400

/* The server sends what the client receives. */
static struct ends *begin(int fd[2])
{
	struct ends *e = ends_make(RING, ENDS_HIGH);
	uint8_t bytes[RING];

	ends_connect(fd);
	cr_assert(barrier_register());
	atomic_store(&e->element.side[1].consumer.barrier, READER_REGISTERED);
	ends_fill(bytes, 0, RING);
	cr_assert_eq(ends_put(e, 0, bytes, RING), RING);
	return e;
}

static bool recall(struct ends *e, int fd)
{
	bool taken = stream_lock(&e->slot[0].tx);
	bool done = recall_unread(&e->c[0], fd);

	if (done)
		atomic_fetch_or(&e->element.side[0].producer.flags,
				PRODUCER_SEALED);
	stream_unlock(&e->slot[0].tx, taken);
	return done;
}

Test(recall, what_is_unread_goes_over_tcp)
{
	uint8_t bytes[RING];
	struct ends *e;
	int fd[2];

	e = begin(fd);
	cr_assert_eq(ends_take(e, 1, bytes, 1000), 1000);
	cr_assert(recall(e, fd[0]));
	cr_assert(stream_is_recalled(&e->c[1]));
	cr_assert(recall_is_done(&e->c[1], fd[1]));
	/* Neither taken nor looked at any more. */
	cr_assert_eq(ends_take(e, 1, bytes, 1000), 0);
	cr_assert_eq(ends_peek(e, 1, bytes, 1000, 0), 0);
	cr_assert_eq(recv(fd[1], bytes, RING, MSG_WAITALL | MSG_DONTWAIT),
		     RING - 1000);
	cr_assert(ends_right(bytes, 1000, RING - 1000));
	/* The reader's own engine need not do it. */
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.rest),
		     REST_WRITER);
}

/* The writer went on in the overflow ring, and the reader stopped before or
 * there. */
Test(recall, both_rings_go_over_tcp)
{
	static uint8_t bytes[ENDS_OVERFLOW * RING];
	const size_t most = sizeof(bytes);

	for (size_t taken = 0; taken < most; taken += RING / 2) {
		struct ends *e;
		int fd[2];
		size_t n;

		e = begin(fd);
		ends_build(e, ENDS_HIGH);
		cr_assert(stream_lock(&e->slot[0].tx));
		cr_assert(stream_enter_overflow(&e->c[0]));
		stream_unlock(&e->slot[0].tx, true);
		ends_fill(bytes, RING, most - RING);
		cr_assert_eq(ends_put(e, 0, bytes, most), most - RING);
		cr_assert_eq(ends_take(e, 1, bytes, taken), taken);
		cr_assert(recall(e, fd[0]));
		n = most - taken;
		cr_assert_eq(recv(fd[1], bytes, n, MSG_WAITALL), n);
		cr_assert(ends_right(bytes, taken, n));
		close(fd[0]);
		close(fd[1]);
	}
}

Test(recall, an_empty_ring_is_left_as_it_is)
{
	uint8_t bytes[RING];
	struct ends *e;
	int fd[2];

	e = begin(fd);
	cr_assert_eq(ends_take(e, 1, bytes, RING), RING);
	cr_assert(recall(e, fd[0]));
	cr_assert_not(stream_is_recalled(&e->c[1]));
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.rest), REST_OPEN);
}

Test(recall, not_where_tcp_has_no_room)
{
	int least = 4096;
	uint8_t bytes[RING];
	struct ends *e;
	int fd[2];

	e = begin(fd);
	setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
	cr_assert_not(recall(e, fd[0]));
	cr_assert_not(stream_is_recalled(&e->c[1]));
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.rest), REST_OPEN);
	cr_assert_eq(ends_take(e, 1, bytes, RING), RING);
	cr_assert(ends_right(bytes, 0, RING));
}

Test(recall, not_where_the_reader_sends_the_rest_itself)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	atomic_store(&e->element.side[1].consumer.rest, REST_READER);
	cr_assert_not(recall(e, fd[0]));
	cr_assert_not(stream_is_recalled(&e->c[1]));
}

/* The call had told its cursor when the word was not out, and looked after. */
Test(recall, a_call_that_was_too_late_gives_back)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	atomic_store(&e->slot[1].rx.position, 600);
	atomic_store(&e->element.side[0].producer.flags, PRODUCER_RECALLS);
	atomic_store(&e->element.side[0].producer.recalled, 400 + 1);
	cr_assert_eq(stream_cut(&e->c[1], 100, 500), 300);
	cr_assert_eq(atomic_load(&e->slot[1].rx.position), 400);
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.cursor), 400);
	/* A cursor that cannot be, of a peer that breaks the rules. */
	atomic_store(&e->slot[1].rx.position, 600);
	atomic_store(&e->element.side[0].producer.recalled, 40 + 1);
	cr_assert_eq(stream_cut(&e->c[1], 100, 500), 0);
	atomic_store(&e->slot[1].rx.position, 600);
	atomic_store(&e->element.side[0].producer.recalled, 1ull << 40);
	cr_assert_eq(stream_cut(&e->c[1], 100, 500), 500);
}

/* Two thirds of it had gone. */
Test(recall, a_writer_that_dies_over_it_leaves_the_ring)
{
	uint8_t bytes[RING];
	struct ends *e;
	int fd[2];
	int there = 1;

	e = begin(fd);
	atomic_store(&e->element.side[1].consumer.rest, REST_WRITER);
	atomic_store(&e->element.side[0].producer.recalled, 1);
	atomic_store(&e->element.side[0].producer.flags, PRODUCER_RECALLS);
	ends_fill(bytes, 0, RING);
	cr_assert_eq(send(fd[0], bytes, 10000, 0), 10000);
	close(fd[0]);
	cr_assert_not(recall_is_done(&e->c[1], fd[1]));
	cr_assert_not(stream_is_recalled(&e->c[1]));
	cr_assert_eq(ioctl(fd[1], FIONREAD, &there), 0);
	cr_assert_eq(there, 0);
	cr_assert_eq(ends_take(e, 1, bytes, RING), RING);
	cr_assert(ends_right(bytes, 0, RING));
	cr_assert_eq(atomic_load(&e->element.side[1].consumer.rest), REST_OPEN);
}

/* Another process of the writer's end. */
Test(recall, who_finds_it_begun_goes_on)
{
	uint8_t bytes[RING];
	struct ends *e;
	int fd[2];

	e = begin(fd);
	cr_assert_eq(ends_take(e, 1, bytes, 100), 100);
	atomic_store(&e->element.side[1].consumer.rest, REST_WRITER);
	atomic_store(&e->element.side[0].producer.recalled, 100 + 1);
	atomic_store(&e->element.side[0].producer.resent, 5000);
	atomic_store(&e->element.side[0].producer.flags, PRODUCER_RECALLS);
	cr_assert(recall(e, fd[0]));
	cr_assert_eq(recv(fd[1], bytes, RING, MSG_DONTWAIT), RING - 5000);
	cr_assert(ends_right(bytes, 5000, RING - 5000));
}

/* ---- a reader that is at it ---- */

struct reader {
	struct ends *e;
	size_t each;
	_Atomic uint64_t taken;
	bool right;
};

static void *read_on(void *argument)
{
	struct reader *r = argument;
	uint64_t at = 0;
	uint8_t bytes[512];
	ssize_t n;

	r->right = true;
	while ((n = ends_take(r->e, 1, bytes, r->each)) > 0) {
		r->right = r->right && ends_right(bytes, at, (size_t)n);
		at += (uint64_t)n;
		atomic_store(&r->taken, at);
	}
	return NULL;
}

static void race(size_t each)
{
	struct reader r = {.each = each};
	uint8_t bytes[RING];
	pthread_t thread;
	uint64_t taken;
	int fd[2];

	r.e = begin(fd);
	cr_assert_eq(pthread_create(&thread, NULL, read_on, &r), 0);
	while (atomic_load(&r.taken) < each * 4)
		;
	cr_assert(recall(r.e, fd[0]));
	pthread_join(thread, NULL);
	shutdown(fd[0], SHUT_WR);
	taken = atomic_load(&r.taken);
	cr_assert(r.right);
	cr_assert_eq(recv(fd[1], bytes, RING, MSG_WAITALL), RING - taken);
	cr_assert(ends_right(bytes, taken, RING - taken));
	close(fd[0]);
	close(fd[1]);
}

Test(recall, no_byte_is_lost_or_doubled_under_a_reader)
{
	alarm(50);
	for (size_t i = 0; i < ROUNDS; i++)
		race(1 + i % 64);
}
