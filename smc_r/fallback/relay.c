/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* relay: a new connection in the place of one whose ring holds bytes. */
#include "smc_r/fallback/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/fallback/loop.h"
#include "smc_r/fallback/relay_copy.h"
#include "smc_r/fallback/relay_place.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/stream.h"

/* Returns the bytes that the socket took. */
static size_t send_some(int fd, const uint8_t *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		long sent = SYS_CALL6(SYS_sendto, fd, bytes + done, n - done,
				      MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

		if (sent <= 0)
			break;
		done += (size_t)sent;
	}
	return done;
}

/* Nothing comes any more, and nobody listens. */
static bool is_over(const struct connection *c, int fd)
{
	struct ends_words w = connection_ends(c);
	int there = 0;

	SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there);
	if (there > 0)
		return false;
	if (ends_both_are_shut(&w) && ends_by_ring(&w))
		return true;
	return ends_was_reset(&w) || (sys_poll(fd, POLLRDHUP, 0) & POLLHUP);
}

/* The ring's bytes, in one piece that stays when the ring is used again. */
static uint8_t *copy_of_ring(struct connection *c, size_t n)
{
	uint8_t *copy = mmap(NULL, n, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return NULL;
	rings_copy(copy, &c->in, c->in_producer,
		   atomic_load(&c->slot->rx.position), n);
	return copy;
}

/* The old connection is the relay's alone from here on. */
static bool start(struct connection *c, struct loop *l, int fd,
		  const uint8_t *bytes, size_t n, const struct relay_hold *hold)
{
	int old = (int)SYS_CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	bool done = old >= 0 && relay_take_place(c, l->receiver, fd);

	if (done && !relay_copy_start(old, l->sender, bytes, n, hold)) {
		relay_put_at_all(c, old, fd);
		done = false;
	}
	if (old >= 0)
		sys_close(old);
	return done;
}

/* A reset that the kernel knows of, or one that only we do. */
static int error_of(struct connection *c, int fd)
{
	int error = (int)atomic_exchange(&c->slot->error, 0);

	return error ? error : tcp_error(c, fd);
}

static bool was_reset(const struct connection *c, int fd)
{
	return !connection_is_shut(c) &&
	       (connection_was_reset(c) || sys_poll(fd, 0, 0) & POLLHUP);
}

/* Ends as the old connection ended: behind the bytes comes its FIN, or a reset
 * with the error that nobody was told of. EPIPE is one behind a FIN. */
static void end_sender(struct connection *c, struct loop *l, int fd)
{
	struct linger now = {1, 0};
	bool reset = was_reset(c, fd);
	int error = reset ? error_of(c, fd) : 0;

	if (error == EPIPE)
		SYS_CALL3(SYS_shutdown, l->sender, SHUT_WR, 0);
	if (reset)
		SYS_CALL6(SYS_setsockopt, l->sender, SOL_SOCKET, SO_LINGER,
			  &now, sizeof(now), 0);
	sys_close(l->sender);
	l->sender = -1;
	if (reset && !error)
		sys_socket_option(l->receiver, SO_ERROR);
}

static bool pass_on(struct connection *c, struct loop *l, int fd)
{
	size_t n = stream_fill(c);
	uint8_t *bytes = copy_of_ring(c, n);
	uint64_t position = atomic_load(&c->slot->rx.position) + n;
	size_t sent;
	bool done;

	if (!bytes)
		return false;
	sent = send_some(l->sender, bytes, n);
	/* Then the socket can hold it alone. */
	if (sent == n && is_over(c, fd)) {
		end_sender(c, l, fd);
		done = relay_take_place(c, l->receiver, fd);
	} else {
		done = start(c, l, fd, bytes + sent, n - sent, NULL);
	}
	munmap(bytes, n);
	/* The writer, if it comes, goes on behind them. */
	if (done) {
		atomic_store(&c->slot->rx.position, position);
		atomic_store(&c->in_consumer->cursor, position);
	}
	return done;
}

static bool wait_for_others(struct connection *c, struct loop *l, int fd)
{
	struct relay_hold hold = {.holders = &c->slot->holders,
				  .rings = &c->in,
				  .producer = c->in_producer,
				  .size = c->size,
				  .from = &c->slot->rx.position,
				  .to = &c->in_producer->cursor,
				  .shut = connection_writes_no_more(c)};

	hold.entry = segment_holders(c->slot, &hold.others);
	return hold.entry && start(c, l, fd, NULL, 0, &hold);
}

bool relay_start(struct connection *c, int fd, bool shared)
{
	struct loop l = LOOP_NONE;
	/* recall_forbid() may have made them ours already. */
	bool kept = connection_is_shut(c) &&
		    atomic_load(&c->in_consumer->rest) == REST_READER;
	uint32_t rest = REST_OPEN;
	bool done;

	/* The writer is at it after all. */
	if (!kept && !atomic_compare_exchange_strong(&c->in_consumer->rest,
						     &rest, REST_READER))
		return false;
	done = loop_open(&l, fd, LOOP_OF_PEER) &&
	       (shared ? wait_for_others(c, &l, fd) : pass_on(c, &l, fd));
	loop_close(&l);
	if (!kept)
		atomic_store(&c->in_consumer->rest, REST_OPEN);
	return done;
}
