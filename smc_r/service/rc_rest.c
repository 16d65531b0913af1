/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_rest: sends in the place of a program that makes no call. */
#include "smc_r/service/rc_rest.h"

#include <errno.h>
#include <sys/socket.h>

#include "smc_r/connection/connection_ends.h"

/* What is sent is consumed: the program, if it comes, goes on behind it. */
static enum rc_rest send_ring(struct connection *near, int tcp)
{
	struct status_stream *rx = &near->slot->rx;
	uint64_t end = atomic_load(&near->in_producer->cursor);
	uint64_t at = atomic_load(&rx->position);

	/* Its cursor cannot be: nothing of it is to be believed. */
	if (end - at > near->size)
		return RC_REST_SENT;
	while (at < end) {
		size_t n = (size_t)(end - at);
		const uint8_t *from =
		    rings_piece(&near->in, near->in_producer, at, &n);
		ssize_t sent = send(tcp, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN)
			return RC_REST_LEFT;
		if (sent < 0 && errno != EINTR)
			return RC_REST_SENT;
		if (sent <= 0)
			continue;
		at += (uint64_t)sent;
		atomic_store(&rx->position, at);
		atomic_store(&near->in_consumer->cursor, at);
	}
	return RC_REST_SENT;
}

enum rc_rest rc_rest_send(struct connection *near, int tcp)
{
	uint32_t rest = REST_OPEN;
	enum rc_rest result;
	bool shut;

	if (!atomic_compare_exchange_strong(&near->in_consumer->rest, &rest,
					    REST_READER))
		return RC_REST_LEFT;
	/* The end is told after the bytes before it. */
	shut = stream_is_shut(near);
	result = send_ring(near, tcp);
	if (result == RC_REST_SENT && shut)
		shutdown(tcp, SHUT_WR);
	atomic_store(&near->in_consumer->rest, REST_OPEN);
	return result;
}
