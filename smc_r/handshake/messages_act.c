/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* messages_act: what the machine says, carried out. */
#include "smc_r/handshake/messages_act.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "smc_r/connection/buffer_limit.h"
#include "smc_r/connection/connection_ends.h"
#include "smc_r/connection/proposal.h"
#include "smc_r/handshake/first_burst.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/handshake/messages.h"
#include "smc_r/handshake/messages_send.h"
#include "smc_r/handshake/silence.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

#define QUEUE_BYTES   0x7ffff000
/* A client waits so often for a server that sends its bytes again. */
#define RESEND_NAPS   1000
#define RESEND_NAP_NS 100000
#define RESENDS_VAIN  10

/* ---- TCP ---- */

/* Sending would take the error, which is for the program to see. */
static bool has_error(int fd)
{
	return sys_poll(fd, POLLOUT, 0) & POLLERR;
}

/*
 * A server that accepted may have bytes in the ring already; if the client then
 * declines they belong onto the TCP stream first. Another thread may be writing
 * more, or asleep until there is room: it goes on behind them.
 */
static void resend_early_bytes(struct connection *c, int fd)
{
	struct status_stream *tx = &c->slot->tx;
	bool taken = stream_lock(tx);

	if (!has_error(fd))
		connection_send_ring(c, fd, 0, atomic_load(&tx->position));
	/* The word stands before TCP can tell of an end. */
	if (c->opening.withdrawn)
		atomic_store(&c->control->accept, ACCEPT_WITHDRAWN);
	atomic_store(&tx->position, 0);
	/* The program's end of the stream goes there as well. */
	connection_end(c, ENDS_WRITES_TCP);
	if (connection_writes_no_more(c))
		real.shutdown(fd, SHUT_WR);
	stream_unlock(tx, taken);
	connection_wake_writers(c);
}

void messages_forget(int fd)
{
	sys_set_option(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

/* An end on another host, which speaks to link services and kernels alone, says
 * what it misses in a Proposal that names no port of an RNIC. */
static bool lacks_service(struct connection *c)
{
	uint32_t told = connection_clc(c)->peer_reason;

	return (told == REASON_PREFIX || told == REASON_NO_SMCR_DEVICE) &&
	       !settings_is_here(&c->slot->peer);
}

static void finish_tcp(struct connection *c, int fd)
{
	struct clc *m = connection_clc(c);

	if (m->peer_reason)
		segment_count(declines_received);
	if (c->rmb) {
		resend_early_bytes(c, fd);
		/* A client that declined does not use the element; one that has
		 * not read the Accept will say when it is done with it. */
		if (c->side == SIDE_SERVER && !c->opening.withdrawn) {
			rmb_element_release(
			    rmb_element(&c->rmb->map, c->element));
			if (m->peer_reason == REASON_SYNC ||
			    m->peer_reason == REASON_DESCRIPTORS)
				linkgroup_out_of_step(c->rmb);
		}
		connection_detach(c, !c->bell.dirty);
	}
	if (m->peer_reason == REASON_RENDEZVOUS)
		linkgroup_empty_queue();
	messages_forget(fd);
	if (lacks_service(c))
		connection_use_tcp(c, REASON_OTHER_HOST, 0);
	else
		connection_use_tcp(c, m->reason, m->peer_reason);
}

/* What is in the queue is no data of the peer's program. */
void messages_drop(int fd)
{
	while (SYS_CALL6(SYS_recvfrom, fd, NULL, QUEUE_BYTES,
			 MSG_DONTWAIT | MSG_TRUNC, 0, 0) > 0)
		;
}

/* The stream cannot be told apart from data any more. */
static void finish_failed(struct connection *c, int fd)
{
	segment_count(handshake_errors);
	if (c->rmb)
		connection_detach(c, false);
	connection_use_tcp(c, connection_clc(c)->reason, 0);
	real.shutdown(fd, SHUT_RDWR);
	messages_drop(fd);
}

void messages_fail(struct connection *c, int fd, uint32_t reason)
{
	connection_clc(c)->reason = reason;
	finish_failed(c, fd);
}

/* ---- memory ---- */

/* Either side decides once what becomes of the Accept. */
static bool decide(struct connection *c, uint32_t what)
{
	uint32_t stands = ACCEPT_STANDS;

	return atomic_compare_exchange_strong(&c->control->accept, &stands,
					      what);
}

static uint32_t attach_server(struct connection *c, const struct clc_message *m)
{
	struct rmb *rmb;
	uint32_t element;
	uint32_t reason;
	bool first;
	const struct snapshot *s = settings_now(&reason);

	if (!s)
		return reason;
	if (m->proposal.path_v1 != CLC_PATH_SMCR &&
	    m->proposal.path_v1 != CLC_PATH_BOTH)
		return settings_is_here(&c->slot->peer) ? REASON_NO_DEVICE
							: REASON_OTHER_HOST;
	reason = linkgroup_take(m->proposal.peer_id, s, RMBE_NEAR_MAX, &rmb,
				&element, &first);
	if (reason)
		return reason;
	connection_attach(c, rmb, element, SIDE_SERVER);
	proposal_remember_first(c, first);
	return REASON_NONE;
}

/* Takes what of the ring came over TCP, too. An error behind it stays for the
 * program to see. */
static void drop_copies(int fd)
{
	int there = 0;
	long n = 1;

	SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there);
	for (; there > 0 && n > 0; there -= (int)n)
		n = SYS_CALL6(SYS_recvfrom, fd, NULL, there,
			      MSG_TRUNC | MSG_DONTWAIT, 0, 0);
}

/* The Accept is withdrawn. A server that was killed before all that it wrote
 * was on TCP left all of it in the ring. Until the server is done, or dead, it
 * is unknown which of them to read. A program that reads no more misses
 * nothing. Others wait for the lock meanwhile: servers that say so and do
 * nothing, stopped or hostile, hold up a process for a second in all. */
static bool died_over_it(struct connection *c, int fd)
{
	static _Atomic unsigned in_vain;

	if (connection_reads_no_more(c) ||
	    atomic_load(&in_vain) >= RESENDS_VAIN)
		return false;
	for (int naps = 0; naps < RESEND_NAPS; naps++) {
		bool ended = messages_have_ended(fd);

		if (atomic_load(&c->control->accept) != ACCEPT_RESENDS)
			return false;
		if (ended) {
			drop_copies(fd);
			return true;
		}
		sys_nap(RESEND_NAP_NS);
	}
	atomic_fetch_add(&in_vain, 1);
	return false;
}

static uint32_t attach_client(struct connection *c, int fd,
			      const struct clc_message *m)
{
	const struct clc_accept_confirm *a = &m->accept_confirm;
	uint8_t nonce[NONCE_BYTES];
	struct rmb *rmb;
	uint32_t reason;

	if (a->index == 0)
		return REASON_MESSAGE;
	clc_nonce_get(a, nonce);
	reason = linkgroup_take_named(a->peer_id, nonce, a->qpn,
				      (uint32_t)a->index - 1, &rmb);
	if (reason)
		return reason;
	connection_attach(c, rmb, (uint32_t)a->index - 1, SIDE_CLIENT);
	knock_learn(c);
	proposal_remember_first(c, a->first_contact);
	if (decide(c, ACCEPT_TAKEN))
		return REASON_NONE;
	c->opening.peer_closed_early = true;
	return died_over_it(c, fd) ? REASON_NONE : REASON_PEER_DECLINED;
}

/* The first memory for a client takes its time, in which that may close. */
static uint32_t answer_client(struct connection *c, int fd,
			      const struct clc_message *m)
{
	uint32_t reason = REASON_CLOSED;

	if (!c->opening.peer_closed_early && c->opening.declined)
		return REASON_PEER_DECLINED;
	if (!c->opening.peer_closed_early)
		reason = attach_server(c, m);
	if (messages_have_ended(fd)) {
		c->opening.peer_closed_early = true;
		reason = REASON_CLOSED;
	}
	return reason;
}

static struct clc_action prepare(struct connection *c, int fd,
				 const struct clc_message *m, uint64_t now_ms)
{
	struct clc *machine = connection_clc(c);
	uint32_t reason;

	if (c->slot->role == STATUS_SERVER) {
		silence_end(c);
		reason = answer_client(c, fd, m);
	} else {
		reason = attach_client(c, fd, m);
	}
	if (reason)
		return clc_abort(machine, reason, now_ms);
	return clc_commit(machine, now_ms);
}

/* ---- ends ---- */

/* The program sees an orderly end: what it sends first still goes. The client,
 * which never read the Accept, has no part in the element. */
static void end_forgiven(struct connection *c)
{
	rmb_element_release(rmb_element(&c->rmb->map, c->element));
	connection_end(c, ENDS_PEER_LEAVES);
	connection_end(c, ENDS_PEER_ENDS);
	connection_use_smc(c);
}

bool messages_forgive_error(struct connection *c, int error)
{
	if (error && error != ECONNRESET && error != EPIPE)
		atomic_store(&c->slot->error, (uint32_t)error);
	else if (connection_clc(c)->state == CLC_AWAIT_ACCEPT)
		connection_end(c, ENDS_PEER_LEAVES);
	return error == ECONNRESET || error == EPIPE;
}

int messages_take_error(int fd)
{
	return sys_socket_option(fd, SO_ERROR);
}

/* A client that closes before it has read our Accept says so, and its program
 * has sent nothing. Its kernel resets the connection for the Accept, if it has
 * not done so; not where ours would have sent something, too. */
static bool client_leaves(struct connection *c, const struct clc_message *m)
{
	return m && m->type == CLC_DECLINE &&
	       m->decline.reason == REASON_CLOSED && c->rmb &&
	       c->side == SIDE_SERVER && !c->opening.withdrawn &&
	       atomic_load(&c->slot->tx.position) == 0 &&
	       decide(c, ACCEPT_WITHDRAWN);
}

static void end_left(struct connection *c, int fd)
{
	segment_count(declines_received);
	messages_forgive_error(c, messages_take_error(fd));
	end_forgiven(c);
}

void messages_end(struct connection *c, int fd, bool forgiven, uint64_t now)
{
	if (forgiven && messages_await_confirm(c) &&
	    decide(c, ACCEPT_WITHDRAWN))
		end_forgiven(c);
	else if (messages_await_confirm(c) && connection_says_shut(c))
		connection_use_smc(c);
	else
		messages_carry_out(c, fd, clc_closed(connection_clc(c)), NULL,
				   now);
}

/* ---- SMC ---- */

/* A Confirm that reaches a server which has closed makes its kernel reset the
 * connection. So the server says that it closes, and the client that it sends
 * one: one of them sees what the other said. */
static bool server_closes(struct connection *c)
{
	atomic_store(&c->control->confirms, atomic_load(&c->control->epoch));
	inject_nap();
	return stream_close_was_told(c);
}

bool messages_confirm_is_due(struct connection *c)
{
	uint32_t epoch = atomic_load(&c->control->epoch);

	return c->side == SIDE_SERVER &&
	       atomic_load(&c->control->confirms) == epoch &&
	       atomic_load(&c->control->confirmed) != epoch;
}

/* The client proves with its Confirm that the channel was its own, and its peer
 * ID that it is the same client. */
static bool confirm_is_right(struct connection *c, const struct clc_message *m)
{
	uint8_t proof[NONCE_BYTES];

	if (!m || m->type != CLC_CONFIRM)
		return true;
	if (memcmp(m->accept_confirm.peer_id, connection_clc(c)->peer_id,
		   CLC_PEER_ID_BYTES) != 0)
		return false;
	clc_nonce_get(&m->accept_confirm, proof);
	return c->rmb && c->rmb->group
		   ? memcmp(proof, c->rmb->group->proof, NONCE_BYTES) == 0
		   : c->rmb != NULL;
}

void messages_carry_out(struct connection *c, int fd, struct clc_action a,
			const struct clc_message *m, uint64_t now)
{
	if (a.next == CLC_PREPARE && m) {
		a = prepare(c, fd, m, now / 1000000u);
		if (c->rmb)
			buffer_limit_tell(c, fd);
	}
	if (a.send == CLC_SEND_CONFIRM && !c->opening.peer_closed_early &&
	    server_closes(c))
		c->opening.peer_closed_early = true;
	if (a.send == CLC_SEND_CONFIRM)
		first_burst_announce(c);
	if (!c->opening.peer_closed_early)
		messages_send(c, fd, a.send);
	switch (a.next) {
	case CLC_WAIT:
	case CLC_PREPARE:
		break;
	case CLC_USE_SMC:
		if (confirm_is_right(c, m)) {
			if (c->side == SIDE_SERVER)
				atomic_store(&c->control->confirmed,
					     atomic_load(&c->control->epoch));
			connection_end(c, c->opening.peer_closed_early
					      ? ENDS_PEER_ENDS
					      : ENDS_BEGINS);
			if (c->side == SIDE_SERVER)
				first_burst_await(c);
			connection_use_smc(c);
			break;
		}
		messages_fail(c, fd, REASON_SYNC);
		break;
	case CLC_USE_TCP:
		if (client_leaves(c, m))
			end_left(c, fd);
		else
			finish_tcp(c, fd);
		break;
	case CLC_FAIL:
		finish_failed(c, fd);
		break;
	}
}

bool messages_await_confirm(struct connection *c)
{
	return connection_phase(c) == PHASE_HANDSHAKE && c->rmb &&
	       connection_clc(c)->state == CLC_AWAIT_CONFIRM;
}

bool messages_withdraw(struct connection *c, int fd, uint64_t now)
{
	if (!messages_await_confirm(c) || !decide(c, ACCEPT_RESENDS))
		return false;
	inject_nap();
	c->opening.withdrawn = true;
	messages_carry_out(c, fd, clc_closed(connection_clc(c)), NULL, now);
	return true;
}
