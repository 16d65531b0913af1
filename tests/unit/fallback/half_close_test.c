/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/fallback/half_close.h"

#include <netinet/tcp.h>
#include <poll.h>

#include "smc_r/fallback/tcp_end.h"
#include "smc_r/os/lock.h"
#include "tests/unit/ends.h"

#define RING 16384

/* In most tests the server's half is shut. */
static struct ends *begin(int fd[2])
{
	struct ends *e = ends_make(RING, ENDS_HIGH);

	ends_connect(fd);
	e->c[0].control = e->c[1].control = &e->element;
	atomic_store(&e->element.epoch, 3);
	atomic_store(&e->element.confirmed, 3);
	return e;
}

/* As shutdown(SHUT_WR) does. */
static void shut(struct ends *e, int side, int fd)
{
	half_close_announce(&e->c[side], fd);
	connection_end(&e->c[side], ENDS_SHUTS_OUT);
	cr_assert(stream_owes_fin(&e->c[side]));
}

/* Has the peer's FIN come here? */
static bool has_come(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1;
}

static bool comes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 10000) == 1;
}

Test(half_close, goes_out_when_all_is_read)
{
	uint8_t bytes[RING] = {0};
	struct ends *e;
	int fd[2];

	e = begin(fd);
	cr_assert_eq(ends_put(e, 0, bytes, 100), 100);
	shut(e, 0, fd[0]);
	half_close_send(&e->c[0], fd[0]);
	cr_assert(stream_owes_fin(&e->c[0]));
	cr_assert_not(has_come(fd[1]));
	cr_assert_eq(ends_take(e, 1, bytes, 99), 99);
	half_close_send(&e->c[0], fd[0]);
	cr_assert_not(has_come(fd[1]));
	cr_assert_eq(ends_take(e, 1, bytes, 100), 1);
	half_close_send(&e->c[0], fd[0]);
	cr_assert(comes(fd[1]));
	cr_assert_not(stream_owes_fin(&e->c[0]));
	cr_assert(atomic_load(&e->element.side[0].producer.flags) &
		  PRODUCER_HALVED);
}

Test(half_close, not_behind_a_message_that_the_server_has_not_read)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	atomic_store(&e->element.confirmed, 2);
	shut(e, 1, fd[1]);
	half_close_send(&e->c[1], fd[1]);
	cr_assert_not(has_come(fd[0]));
	atomic_store(&e->element.confirmed, 3);
	half_close_send(&e->c[1], fd[1]);
	cr_assert(comes(fd[0]));
}

/* The reader's cursor is not final then. */
Test(half_close, not_where_bytes_are_recalled)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	shut(e, 0, fd[0]);
	atomic_fetch_or(&e->element.side[0].producer.flags, PRODUCER_RECALLS);
	half_close_send(&e->c[0], fd[0]);
	cr_assert_not(has_come(fd[1]));
}

/* A handler runs on top of a call that may be going back to TCP. */
Test(half_close, not_under_our_own_lock)
{
	struct ends *e;
	int fd[2];
	bool taken;

	e = begin(fd);
	shut(e, 0, fd[0]);
	taken = stream_lock(&e->slot[0].tx);
	half_close_send(&e->c[0], fd[0]);
	cr_assert_not(has_come(fd[1]));
	stream_unlock(&e->slot[0].tx, taken);
	half_close_send(&e->c[0], fd[0]);
	cr_assert(comes(fd[1]));
}

Test(half_close, the_second_comes_behind_the_first)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	shut(e, 1, fd[1]);
	shut(e, 0, fd[0]);
	half_close_send(&e->c[0], fd[0]);
	cr_assert_not(has_come(fd[1]));
	half_close_send(&e->c[1], fd[1]);
	cr_assert(comes(fd[0]));
	half_close_send(&e->c[0], fd[0]);
	cr_assert(comes(fd[1]));
}

/* Both are in this process, where it needs no rights. */
Test(half_close, of_a_busy_peer_goes_out_before_our_own)
{
	uint8_t bytes[RING] = {0};
	struct ends *e;
	int fd[2];

	e = begin(fd);
	cr_assert_eq(ends_put(e, 1, bytes, 10), 10);
	shut(e, 1, fd[1]);
	/* With bytes unread a close is a reset. */
	half_close_follow(&e->c[0], fd[0]);
	cr_assert_not(has_come(fd[0]));
	cr_assert_eq(ends_take(e, 0, bytes, 10), 10);
	half_close_follow(&e->c[0], fd[0]);
	cr_assert(comes(fd[0]));
	cr_assert(tcp_end_is_half(&e->c[0]));
	cr_assert_not(has_come(fd[1]));
}

Test(half_close, our_own_stays_first)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	shut(e, 0, fd[0]);
	shut(e, 1, fd[1]);
	half_close_follow(&e->c[0], fd[0]);
	cr_assert_not(has_come(fd[0]));
	half_close_follow(&e->c[1], fd[1]);
	cr_assert(comes(fd[1]));
}

/* A peer that lies about its descriptor: others are left alone. */
Test(half_close, only_the_peers_socket_is_shut)
{
	struct ends *e;
	int other[2];
	int fd[2];

	e = begin(fd);
	ends_connect(other);
	shut(e, 1, fd[1]);
	atomic_store(&e->element.side[1].producer.shut_fd,
		     (uint32_t)other[1] + 1);
	half_close_follow(&e->c[0], fd[0]);
	atomic_store(&e->element.side[1].producer.shut_fd, 0);
	half_close_follow(&e->c[0], fd[0]);
	atomic_store(&e->element.side[1].producer.shut_fd, UINT32_MAX);
	half_close_follow(&e->c[0], fd[0]);
	atomic_store(&e->element.side[1].producer.shut_pid, 0);
	half_close_follow(&e->c[0], fd[0]);
	atomic_store(&e->element.side[1].producer.shut_pid, UINT32_MAX);
	half_close_follow(&e->c[0], fd[0]);
	cr_assert_not(has_come(other[0]));
	cr_assert_not(has_come(fd[0]));
}

Test(half_close, is_not_the_end_of_the_connection)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	shut(e, 0, fd[0]);
	half_close_send(&e->c[0], fd[0]);
	cr_assert(comes(fd[1]));
	cr_assert_not(tcp_has_ended(&e->c[1], fd[1]));
	cr_assert_eq(tcp_end_events(&e->c[1]), 0);
	/* Nobody has it any more, and TCP says nothing. */
	close(fd[0]);
	cr_assert(tcp_has_ended(&e->c[1], fd[1]));
}

Test(half_close, both_are_the_end)
{
	struct ends *e;
	int fd[2];

	e = begin(fd);
	shut(e, 0, fd[0]);
	half_close_send(&e->c[0], fd[0]);
	cr_assert(comes(fd[1]));
	shut(e, 1, fd[1]);
	half_close_send(&e->c[1], fd[1]);
	cr_assert(comes(fd[0]));
	cr_assert(tcp_has_ended(&e->c[0], fd[0]));
	cr_assert(tcp_has_ended(&e->c[1], fd[1]));
	/* Which is no reset. */
	cr_assert_eq(atomic_load(&e->slot[0].rx.flags) & STREAM_RESET, 0);
	cr_assert_eq(atomic_load(&e->slot[1].rx.flags) & STREAM_RESET, 0);
}
