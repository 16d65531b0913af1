/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * close: how a connection on a link ends, as a machine.
 */
#include "smc_r/protocol/close.h"
#include "smc_r/protocol/cdc_wire.h"

#include <errno.h>
#include <string.h>

#define ANY_CLOSE (CDC_CLOSED | CDC_ABORTED)

const char *close_state_name(int state)
{
	switch (state) {
	case CLOSE_ACTIVE:
		return "ACTIVE";
	case CLOSE_INIT:
		return "INIT";
	case CLOSE_CLOSED:
		return "CLOSED";
	case CLOSE_PEER_CLOSE_WAIT1:
		return "PEERCLOSEWAIT1";
	case CLOSE_PEER_CLOSE_WAIT2:
		return "PEERCLOSEWAIT2";
	case CLOSE_APP_CLOSE_WAIT1:
		return "APPCLOSEWAIT1";
	case CLOSE_APP_CLOSE_WAIT2:
		return "APPCLOSEWAIT2";
	case CLOSE_APP_FIN_CLOSE_WAIT:
		return "APPFINCLOSEWAIT";
	case CLOSE_PEER_FIN_CLOSE_WAIT:
		return "PEERFINCLOSEWAIT";
	case CLOSE_PEER_ABORT_WAIT:
		return "PEERABORTWAIT";
	case CLOSE_PROCESS_ABORT:
		return "PROCESSABORT";
	}
	return "UNKNOWN";
}

void close_init(struct close *c, enum close_state state)
{
	memset(c, 0, sizeof(*c));
	c->state = state;
}

void close_activate(struct close *c)
{
	if (c->state == CLOSE_INIT)
		c->state = CLOSE_ACTIVE;
}

static bool has_closed(const struct close *c)
{
	return c->sent & ANY_CLOSE;
}

static bool peer_has_closed(const struct close *c)
{
	return c->received & ANY_CLOSE;
}

static struct close_action nothing(void)
{
	return (struct close_action){.error = 0};
}

static struct close_action send_flag(struct close *c, uint8_t flag, bool flush)
{
	c->sent |= flag;
	return (struct close_action){.flush = flush, .send = true};
}

static struct close_action shutdown_write(struct close *c)
{
	switch (c->state) {
	case CLOSE_INIT:
		return (struct close_action){.error = -ENOTCONN};
	case CLOSE_ACTIVE:
		c->state = CLOSE_PEER_CLOSE_WAIT1;
		return send_flag(c, CDC_SENDING_DONE, true);
	case CLOSE_APP_CLOSE_WAIT1:
		c->state = CLOSE_APP_CLOSE_WAIT2;
		return send_flag(c, CDC_SENDING_DONE, !peer_has_closed(c));
	case CLOSE_CLOSED:
	case CLOSE_PEER_CLOSE_WAIT1:
	case CLOSE_PEER_CLOSE_WAIT2:
	case CLOSE_APP_CLOSE_WAIT2:
	case CLOSE_APP_FIN_CLOSE_WAIT:
	case CLOSE_PEER_FIN_CLOSE_WAIT:
	case CLOSE_PEER_ABORT_WAIT:
	case CLOSE_PROCESS_ABORT:
		break;
	}
	return nothing();
}

/* Closed or shut down both ways. */
static struct close_action end(struct close *c, bool unread)
{
	uint8_t flag = unread ? CDC_ABORTED : CDC_CLOSED;

	switch (c->state) {
	case CLOSE_INIT:
		c->state = CLOSE_CLOSED;
		return nothing();
	case CLOSE_ACTIVE:
		c->state = CLOSE_PEER_CLOSE_WAIT1;
		return send_flag(c, flag, flag == CDC_CLOSED);
	case CLOSE_APP_CLOSE_WAIT1:
	case CLOSE_APP_CLOSE_WAIT2:
		c->state = peer_has_closed(c) ? CLOSE_CLOSED
					      : CLOSE_PEER_FIN_CLOSE_WAIT;
		return send_flag(c, flag,
				 flag == CDC_CLOSED && !peer_has_closed(c));
	case CLOSE_PEER_CLOSE_WAIT1:
	case CLOSE_PEER_CLOSE_WAIT2:
		if (has_closed(c))
			return nothing();
		return send_flag(c, flag, false);
	case CLOSE_APP_FIN_CLOSE_WAIT:
		c->state = CLOSE_CLOSED;
		if (has_closed(c))
			return nothing();
		return send_flag(c, flag, false);
	case CLOSE_PROCESS_ABORT:
		c->state = CLOSE_CLOSED;
		return send_flag(c, CDC_ABORTED, false);
	case CLOSE_CLOSED:
	case CLOSE_PEER_FIN_CLOSE_WAIT:
	case CLOSE_PEER_ABORT_WAIT:
		break;
	}
	return nothing();
}

struct close_action close_local(struct close *c, enum close_local what,
				bool unread)
{
	if (what == CLOSE_SHUTDOWN_WRITE)
		return shutdown_write(c);
	if (what == CLOSE_RELEASE)
		c->released = true;
	return end(c, unread);
}

static void peer_aborts(struct close *c)
{
	switch (c->state) {
	case CLOSE_INIT:
	case CLOSE_ACTIVE:
	case CLOSE_APP_CLOSE_WAIT1:
	case CLOSE_APP_FIN_CLOSE_WAIT:
		c->state = CLOSE_PROCESS_ABORT;
		break;
	case CLOSE_PEER_CLOSE_WAIT1:
	case CLOSE_PEER_CLOSE_WAIT2:
	case CLOSE_APP_CLOSE_WAIT2:
		/*
		 * Linux is over at once in the last of these, and tells
		 * nobody: its peer then waits for a close that never comes.
		 */
		c->state = has_closed(c) ? CLOSE_CLOSED : CLOSE_PROCESS_ABORT;
		break;
	case CLOSE_PEER_FIN_CLOSE_WAIT:
	case CLOSE_PEER_ABORT_WAIT:
		c->state = CLOSE_CLOSED;
		break;
	case CLOSE_CLOSED:
	case CLOSE_PROCESS_ABORT:
		break;
	}
}

static void peer_ends(struct close *c)
{
	switch (c->state) {
	case CLOSE_INIT:
	case CLOSE_ACTIVE:
		c->state = CLOSE_APP_CLOSE_WAIT1;
		break;
	case CLOSE_PEER_CLOSE_WAIT1:
	case CLOSE_PEER_CLOSE_WAIT2:
		if (!peer_has_closed(c))
			c->state = CLOSE_PEER_CLOSE_WAIT2;
		else if (c->released && has_closed(c))
			c->state = CLOSE_CLOSED;
		else
			c->state = CLOSE_APP_FIN_CLOSE_WAIT;
		break;
	case CLOSE_PEER_FIN_CLOSE_WAIT:
	case CLOSE_PEER_ABORT_WAIT:
		if (peer_has_closed(c))
			c->state = CLOSE_CLOSED;
		break;
	case CLOSE_CLOSED:
	case CLOSE_APP_CLOSE_WAIT1:
	case CLOSE_APP_CLOSE_WAIT2:
	case CLOSE_APP_FIN_CLOSE_WAIT:
	case CLOSE_PROCESS_ABORT:
		break;
	}
}

void close_peer(struct close *c, uint8_t flags)
{
	flags &= CDC_SENDING_DONE | CDC_CLOSED | CDC_ABORTED;
	if ((flags & ~c->received) == 0)
		return;
	c->received |= flags;
	if (flags & CDC_ABORTED)
		peer_aborts(c);
	else
		peer_ends(c);
}

struct close_action close_abort(struct close *c)
{
	switch (c->state) {
	case CLOSE_INIT:
		c->state = CLOSE_CLOSED;
		return nothing();
	case CLOSE_ACTIVE:
	case CLOSE_PEER_CLOSE_WAIT1:
	case CLOSE_PEER_CLOSE_WAIT2:
	case CLOSE_APP_CLOSE_WAIT1:
	case CLOSE_APP_CLOSE_WAIT2:
	case CLOSE_PEER_FIN_CLOSE_WAIT:
		c->state =
		    peer_has_closed(c) ? CLOSE_CLOSED : CLOSE_PEER_ABORT_WAIT;
		return send_flag(c, CDC_ABORTED, false);
	case CLOSE_APP_FIN_CLOSE_WAIT:
	case CLOSE_PROCESS_ABORT:
		c->state = CLOSE_CLOSED;
		return send_flag(c, CDC_ABORTED, false);
	case CLOSE_CLOSED:
	case CLOSE_PEER_ABORT_WAIT:
		break;
	}
	return nothing();
}

void close_expire(struct close *c)
{
	c->state = CLOSE_CLOSED;
}

int close_send_error(const struct close *c)
{
	if (c->state == CLOSE_INIT)
		return -ENOTCONN;
	if (peer_has_closed(c) || (c->sent & CDC_ABORTED))
		return -ECONNRESET;
	if (c->sent || c->state == CLOSE_CLOSED)
		return -EPIPE;
	return 0;
}

bool close_is_at_end(const struct close *c)
{
	return c->received || has_closed(c) || c->state == CLOSE_CLOSED;
}

bool close_is_over(const struct close *c)
{
	return c->state == CLOSE_CLOSED;
}
