/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_relay: copies between a TCP socket and the rings. */
#include "smc_r/service/rc_relay.h"

#include <errno.h>
#include <sys/socket.h>

#include "smc_r/peer/sock_diag.h"

/* Where the byte at a cursor lies, and how many follow it in one piece. */
static uint8_t *piece(const struct ring *ring, uint64_t cursor, uint32_t shift,
		      size_t *n)
{
	size_t at = ring_offset(ring, cursor, shift);

	if (*n > ring->bytes - at)
		*n = ring->bytes - at;
	return ring->at + at;
}

/* The kernel knows whether a process still has that end. */
static bool successor_is_gone(int fd)
{
	struct sock_diag_socket peer;
	int result = sock_diag_peer_of(fd, &peer);

	return result == 0 ? peer.inode == 0 : result == -ENOTCONN;
}

static void end_input(struct rc_relay *r, bool reset)
{
	r->input_ended = true;
	r->reset |= reset;
	r->gone = reset || successor_is_gone(r->fd);
}

static bool move_out(struct rc_relay *r, struct connection *near,
		     uint64_t released)
{
	const struct ring *ring = &near->in.ring[0];
	uint64_t cursor = atomic_load(&near->in_producer->cursor);
	uint32_t shift = relaxed_load(&near->in_producer->shift);
	bool moved = false;

	while (!r->input_ended && cursor - released < ring->bytes) {
		size_t n = (size_t)(ring->bytes - (cursor - released));
		uint8_t *to = piece(ring, cursor, shift, &n);
		ssize_t got = recv(r->fd, to, n, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0) {
			end_input(r, got < 0);
			return true;
		}
		cursor += (uint64_t)got;
		atomic_store(&near->in_producer->cursor, cursor);
		moved = true;
	}
	return moved;
}

static bool move_in(struct rc_relay *r, struct connection *near,
		    uint64_t received)
{
	const struct ring *ring = &near->out.ring[0];
	uint64_t cursor = atomic_load(&near->out_consumer->cursor);
	bool moved = false;

	while (!r->gone && cursor < received) {
		size_t n = (size_t)(received - cursor);
		const uint8_t *from = piece(ring, cursor, 0, &n);
		ssize_t sent =
		    send(r->fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (sent < 0) {
			end_input(r, true);
			return true;
		}
		cursor += (uint64_t)sent;
		atomic_store(&near->out_consumer->cursor, cursor);
		moved = true;
	}
	return moved;
}

bool rc_relay_move(struct rc_relay *r, struct connection *near,
		   uint64_t released, uint64_t received)
{
	bool moved = move_out(r, near, released);

	return move_in(r, near, received) || moved;
}

void rc_relay_end(struct rc_relay *r, const struct connection *near,
		  uint64_t received, bool reset)
{
	struct linger now = {1, 0};

	if (r->end_told ||
	    (!reset && atomic_load(&near->out_consumer->cursor) < received))
		return;
	r->end_told = true;
	if (!reset) {
		shutdown(r->fd, SHUT_WR);
		return;
	}
	/* The close that follows tells it. */
	setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	r->gone = r->input_ended = true;
}
