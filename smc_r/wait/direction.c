/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* direction: what there is for a call that reads, or writes. */
#include "smc_r/wait/direction.h"

#include <errno.h>

#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/os/sys.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/stall.h"

static enum input settle_on_tcp(struct connection *c, int fd)
{
	demote_input(c, fd);
	return INPUT_KERNEL;
}

/* An empty ring is no end when its bytes go to TCP: they come there in a
 * moment. It must be asked after the look that found it empty. */
static bool is_handed_over(const struct connection *c)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load(&c->slot->rx.flags) & (STREAM_FROZEN | STREAM_TCP);
}

/* The writer published bytes before its flags, so look at the flags first. */
enum input input_look(struct connection *c, int fd, size_t need)
{
	uint32_t own = relaxed_load(&c->slot->rx.flags);
	uint32_t flags =
	    atomic_load_explicit(&c->in_producer->flags, memory_order_acquire);
	bool ended = atomic_load_explicit(&c->tcp_ended, memory_order_acquire);
	size_t fill = stream_fill(c);

	if (own & STREAM_BROKEN)
		return INPUT_ERROR;
	if (own & STREAM_TCP)
		return INPUT_KERNEL;
	if (__builtin_expect(flags & PRODUCER_RECALLS, 0)) {
		if (demote_recalled(c, fd))
			return INPUT_KERNEL;
		if (stream_is_recalled(c))
			return INPUT_NONE;
		flags = atomic_load(&c->in_producer->flags);
	}
	if (fill >= need)
		return INPUT_DATA;
	/* A broken ring would be waited out, as no look ever found anything. */
	if (fill == 0 && stream_input_is_broken(c))
		return INPUT_ERROR;
	if (!flags && !ended && !(own & STREAM_SHUT))
		return INPUT_NONE;
	if (fill > 0)
		return INPUT_DATA;
	if ((flags & (PRODUCER_FIN | PRODUCER_SEALED)) == PRODUCER_FIN)
		return is_handed_over(c) ? INPUT_DATA : INPUT_END;
	/* The peer had closed, to the program: that is what a reader gets. */
	if (own & STREAM_RESET)
		return atomic_load(&c->slot->error) == EPIPE
			   ? settle_on_tcp(c, fd)
			   : INPUT_ERROR;
	/* If the connection is shut both ways, TCP is, too, and knows what the
	 * peer did then. */
	if ((flags & (PRODUCER_SEALED | PRODUCER_CLOSED)) || ended ||
	    atomic_load(&c->out_producer->flags) & PRODUCER_SHUT)
		return settle_on_tcp(c, fd);
	return INPUT_END;
}

size_t input_low_water(const struct connection *c, int fd, size_t most)
{
	int mark = 1;

	if (relaxed_load(&c->slot->socket_flags) & SOCKET_RCVLOWAT)
		mark = sys_socket_option(fd, SO_RCVLOWAT);
	if (mark < 1)
		return 1;
	return (size_t)mark < most ? (size_t)mark : most;
}

bool demotion_is_due(const struct connection *c)
{
	return (atomic_load(&c->out_consumer->flags) & CONSUMER_DEMOTE) &&
	       !(atomic_load(&c->slot->tx.flags) & STREAM_TCP);
}

enum input input_state(struct connection *c, int fd, size_t need)
{
	enum input state = input_look(c, fd, need);

	/* The peer may wait for our seal, whatever this call finds. */
	if (demotion_is_due(c))
		tcp_has_ended(c, fd);
	demote_serve(c, fd);
	if (state != INPUT_NONE)
		return state;
	/* A writer that waits for room must not wait for an empty ring. */
	atomic_thread_fence(memory_order_seq_cst);
	connection_signal_room(c);
	return tcp_ended_now_and_then(c, fd) ? input_look(c, fd, need)
					     : INPUT_NONE;
}

bool output_is_ready(struct connection *c, int fd)
{
	uint32_t peer = relaxed_load(&c->in_producer->flags);

	if (stream_has_room(c, stream_free(c)))
		return true;
	if (atomic_load(&c->slot->tx.flags) || (peer & PRODUCER_CLOSED) ||
	    (atomic_load(&c->out_consumer->flags) & CONSUMER_DEMOTE) ||
	    stall_is_over(c, fd))
		return true;
	return tcp_ended_now_and_then(c, fd);
}
