/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* direction: what there is for a call that reads, or writes. */
#include "smc_r/wait/direction.h"

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

/* What the writer recalls is the kernel's, or will be. */
static enum input look_at_recalled(struct connection *c, int fd, size_t need)
{
	if (demote_recalled(c, fd))
		return INPUT_KERNEL;
	return stream_is_recalled(c) ? INPUT_NONE : input_look(c, fd, need);
}

/* An empty ring is no end when its bytes go to TCP: they come there in a
 * moment. It is asked after the look that found it empty. */
static enum input look_at_end(const struct connection *c)
{
	atomic_thread_fence(memory_order_acquire);
	return stream_is_frozen(c) || stream_reads_tcp(c) ? INPUT_DATA
							  : INPUT_END;
}

/* The writer published bytes before its words, so look at the words first. */
enum input input_look(struct connection *c, int fd, size_t need)
{
	struct ends_words w = connection_ends(c);
	enum ends_in in = ends_in(&w);
	size_t fill = stream_fill(c);

	if (in != IN_BROKEN && in != IN_TCP && in != IN_RECALLED) {
		if (fill >= need)
			return INPUT_DATA;
		/* A broken ring would be waited out, as no look ever found
		 * anything. */
		if (fill == 0 && stream_input_is_broken(c))
			return INPUT_ERROR;
	}
	switch (in) {
	case IN_BROKEN:
		return INPUT_ERROR;
	case IN_TCP:
		return INPUT_KERNEL;
	case IN_RECALLED:
		return look_at_recalled(c, fd, need);
	case IN_RING:
		return INPUT_NONE;
	case IN_FROZEN:
		return ends_fin_was_told(&w) ? INPUT_DATA : INPUT_NONE;
	case IN_END:
		return fill > 0 ? INPUT_DATA : look_at_end(c);
	case IN_RESET:
		tcp_end_watch(c, fd);
		return fill > 0 ? INPUT_DATA : INPUT_ERROR;
	case IN_DRAIN:
		return fill > 0 ? INPUT_DATA : settle_on_tcp(c, fd);
	}
	return INPUT_ERROR;
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
	return stream_seal_is_due(c);
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
	if (stream_has_room(c, stream_free(c)))
		return true;
	return connection_out(c) != OUT_RING || stall_is_over(c, fd) ||
	       tcp_ended_now_and_then(c, fd);
}
