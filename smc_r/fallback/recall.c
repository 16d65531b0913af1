/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* recall: a writer takes back what its reader has not read. */
#include "smc_r/fallback/recall.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "smc_r/fallback/tcp_end.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/sys.h"
#include "smc_r/stream/stream.h"

#define WAIT_MS   100
#define NAP_NS    100000
/* The kernel counts its own structures, too. */
#define SPARE     4096u
#define NAPS_A_MS (1000000 / NAP_NS)

/* ---- the writer ---- */

/* TCP's queues are empty before the first byte goes there. */
static bool tcp_takes(const struct connection *c, int fd, uint64_t bytes)
{
	struct pollfd p = {.fd = fd, .events = tcp_end_events(c)};
	int room;

	if (SYS_CALL3(SYS_poll, &p, 1, 0) != 0)
		return false;
	room = sys_socket_option(fd, SO_SNDBUF);
	return room > 0 && (uint64_t)room >= 2 * bytes + SPARE;
}

/* The reader's processes are registered, or all processors are waited for. */
static bool fence(const struct connection *c)
{
	return atomic_load(&c->out_consumer->barrier) == READER_REGISTERED
		   ? barrier_all()
		   : barrier_everybody();
}

static bool choose_cursor(struct connection *c, uint64_t end)
{
	struct rmb_producer *out = c->out_producer;
	uint64_t cursor;

	if (!fence(c))
		return false;
	inject_nap();
	cursor = atomic_load(&c->out_consumer->cursor);
	if (cursor > end || end - cursor > c->size)
		return false;
	atomic_store(&out->resent, cursor);
	atomic_store(&out->recalled, cursor + 1);
	return true;
}

/* Another process of this end may have died while it recalled: we go on from
 * where it stood. */
static bool take_back(struct connection *c, int fd, uint64_t end)
{
	struct rmb_producer *out = c->out_producer;
	uint64_t at;

	if (atomic_load(&out->recalled) == 0) {
		connection_end(c, ENDS_RECALLS);
		inject_nap();
		if (!choose_cursor(c, end)) {
			connection_end(c, ENDS_RECALLS_NOT);
			return false;
		}
	}
	inject_nap();
	at = atomic_load(&out->resent);
	if (at <= end && end - at <= c->size)
		connection_send_ring(c, fd, at, end);
	return true;
}

static bool is_possible(struct connection *c, int fd, uint64_t bytes)
{
	return bytes <= c->size && !connection_is_shut(c) &&
	       connection_peer(c) < PEER_SHUT && barrier_works() &&
	       tcp_takes(c, fd, bytes);
}

bool recall_unread(struct connection *c, int fd)
{
	uint64_t end = atomic_load(&c->slot->tx.position);
	uint64_t cursor = atomic_load(&c->out_consumer->cursor);
	uint32_t rest = REST_OPEN;

	if (stream_recalls(c))
		return take_back(c, fd, end);
	if (cursor >= end)
		return true;
	/* If the reader has taken `rest`, it sends in our place. */
	if (!is_possible(c, fd, end - cursor) ||
	    !atomic_compare_exchange_strong(&c->out_consumer->rest, &rest,
					    REST_WRITER))
		return false;
	if (take_back(c, fd, end))
		return true;
	atomic_store(&c->out_consumer->rest, REST_OPEN);
	return false;
}

/* ---- the reader ---- */

/* Drops what the writer sent before it died, as it lies in the ring as well. An
 * error behind it stays for the program to see. */
static void undo(struct connection *c, int fd)
{
	bool taken = stream_lock(&c->slot->rx);
	int there = 0;
	long n = 1;

	SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there);
	for (; stream_is_recalled(c) && there > 0 && n > 0; there -= (int)n)
		n = SYS_CALL6(SYS_recvfrom, fd, NULL, there,
			      MSG_TRUNC | MSG_DONTWAIT, 0, 0);
	atomic_store(&c->in_consumer->rest, REST_OPEN);
	connection_end(c, ENDS_PEER_RECALLS_NOT);
	stream_unlock(&c->slot->rx, taken);
}

bool recall_is_done(struct connection *c, int fd)
{
	int naps = c->tcp.recall_awaited ? 0 : WAIT_MS * NAPS_A_MS;
	bool ended;

	c->tcp.recall_awaited = true;
	for (;; naps--) {
		ended = tcp_has_hung_up(c, fd);
		if (!stream_is_recalled(c))
			return false;
		if (stream_is_sealed(c))
			return true;
		if (ended) {
			undo(c, fd);
			return false;
		}
		if (naps <= 0)
			return false;
		sys_nap(NAP_NS);
	}
}

/* Is it under way over TCP, or there? False: all is there, as far as we know.
 */
static bool is_coming(const struct connection *c, int fd)
{
	const struct rmb_producer *in = c->in_producer;
	uint64_t from = atomic_load(&in->recalled);
	uint64_t bytes = atomic_load(&in->cursor) + 1 - from;
	int there = 0;

	if (!stream_is_sealed(c))
		return true;
	return from > 0 && bytes <= c->size &&
	       SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there) == 0 && there >= 0 &&
	       (uint64_t)there < bytes;
}

void recall_forbid(struct connection *c, int fd)
{
	if (stream_reads_tcp(c))
		return;
	for (int naps = WAIT_MS * NAPS_A_MS; naps > 0; naps--) {
		uint32_t rest = REST_OPEN;

		if (atomic_compare_exchange_strong(&c->in_consumer->rest, &rest,
						   REST_READER) ||
		    rest == REST_READER || !is_coming(c, fd) ||
		    tcp_has_hung_up(c, fd))
			return;
		sys_nap(NAP_NS);
	}
}
