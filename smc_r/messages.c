/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* messages: CLC messages of one connection, read, carried out and sent. */
#include "messages.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "allowance.h"
#include "inject.h"
#include "knock.h"
#include "lock.h"
#include "offer.h"
#include "process.h"
#include "proposal.h"
#include "real.h"
#include "reason.h"
#include "segment.h"
#include "settings.h"
#include "sys.h"
#include "talk.h"

#define SLEEPERS_MS   100u
#define QUEUE_BYTES   0x7ffff000
#define EYECATCHER    4 /* bytes; with them it is a message */
/* A third of what a client waits for an answer that is for nobody else. */
#define ANSWER_MS     300u
/* A client waits so often for a server that sends its bytes again. */
#define RESEND_NAPS   1000
#define RESEND_NAP_NS 100000
#define RESENDS_VAIN  10

/* ---- sending and carrying out ---- */

/* Of the Decline that the n bytes begin with; 0: of none. */
static long decline_length(const uint8_t *bytes, long n, struct clc_message *m)
{
	int length = n > 0 ? clc_peek_length(bytes, (size_t)n) : 0;

	return length > 0 && length <= n &&
		       clc_decode(m, bytes, (size_t)length) == 0 &&
		       m->type == CLC_DECLINE
		   ? length
		   : 0;
}

static bool came_just_now(int fd)
{
	struct tcp_info i;
	socklen_t n = sizeof(i);

	memset(&i, 0, sizeof(i));
	return SYS_CALL6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &i, &n,
			 0) == 0 &&
	       i.tcpi_last_data_recv < ANSWER_MS;
}

/* Who declines for the sake of a successor without the engine waits until no
 * message can come. With another reason the kernel may watch its socket, and
 * would tell of an answer. */
static bool waits_for_answer(uint32_t reason)
{
	return reason >= REASON_DEMOTED_EXEC && reason <= REASON_DEMOTED_EPOLL;
}

/*
 * A client that closed already must not be answered: its kernel would reset
 * the connection, and the program here see that before it did anything, or
 * lose bytes. Its end may still be behind those; but a Decline that follows
 * its Proposal says that it waits no longer. Nor a server that has ended: what
 * it wrote is in the ring, and its end on TCP. ended, and the n bytes behind
 * the message: as they were seen with it.
 *
 * A Decline that has just come, from one that waits for it, is answered, which
 * ends that wait. Later ones not: it may be over.
 */
static void note_end(struct connection *c, int fd, const struct clc_message *m,
		     bool ended, const uint8_t *bytes, long n)
{
	struct clc_message behind;
	long length;

	if (m->type == CLC_ACCEPT)
		c->mute = ended;
	if (m->type != CLC_PROPOSAL)
		return;
	length = decline_length(bytes, n, &behind);
	c->declined = length > 0;
	c->mute = ended ||
		  (c->declined && (!waits_for_answer(behind.decline.reason) ||
				   n > length || !came_just_now(fd)));
}

static bool has_ended(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return SYS_CALL3(SYS_poll, &p, 1, 0) == 1;
}

void messages_look_behind(struct connection *c, int fd,
			  const struct clc_message *m)
{
	bool ended = has_ended(fd);
	uint8_t bytes[CLC_BYTES_MAX];
	long n = 0;

	if (!ended)
		n = SYS_CALL6(SYS_recvfrom, fd, bytes, sizeof(bytes),
			      MSG_PEEK | MSG_DONTWAIT, 0, 0);
	note_end(c, fd, m, ended, bytes, n);
}

static bool send_bytes(int fd, const void *bytes, int n)
{
	return SYS_CALL6(SYS_sendto, fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL,
			 0, 0) == n;
}

static void send_decline(struct connection *c, int fd)
{
	struct clc_decline d = {0};
	uint8_t bytes[64];
	int n;

	clc_decline(connection_clc(c), &d);
	proposal_identity(d.peer_id);
	n = clc_encode_decline(&d, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(fd, bytes, n);
	segment_count(declines_sent);
}

static void send_answer(struct connection *c, int fd, int type)
{
	struct clc_accept_confirm m = {.type = (uint8_t)type};
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	proposal_describe(c, &m);
	n = clc_encode_accept_confirm(&m, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(fd, bytes, n);
}

/* A Proposal that went by the registry is not sent again. */
static void send_proposal(struct connection *c, int fd)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	if (c->offer_entry)
		return;
	n = proposal_bytes(&c->slot->local, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(fd, bytes, n);
}

static void carry_out_send(struct connection *c, int fd, enum clc_send what)
{
	switch (what) {
	case CLC_SEND_NOTHING:
		break;
	case CLC_SEND_PROPOSAL:
		send_proposal(c, fd);
		break;
	case CLC_SEND_ACCEPT:
		send_answer(c, fd, CLC_ACCEPT);
		break;
	case CLC_SEND_CONFIRM:
		send_answer(c, fd, CLC_CONFIRM);
		break;
	case CLC_SEND_DECLINE:
		if (c->slot->role != STATUS_SERVER || !has_ended(fd))
			send_decline(c, fd);
		break;
	}
}

/* Sending would take the error, which is for the program to see. */
static bool has_error(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return SYS_CALL3(SYS_poll, &p, 1, 0) == 1 && (p.revents & POLLERR);
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
	/* Before TCP can tell of an end. */
	if (c->withdrawn)
		atomic_store(&c->control->accept, ACCEPT_WITHDRAWN);
	atomic_store(&tx->position, 0);
	/* And so does what it has shut. */
	if (atomic_fetch_or(&tx->flags, STREAM_TCP) & STREAM_SHUT)
		real.shutdown(fd, SHUT_WR);
	stream_unlock(tx, taken);
	connection_wake_writers(c);
}

void messages_forget(int fd)
{
	int yes = 1;

	SYS_CALL6(SYS_setsockopt, fd, IPPROTO_TCP, TCP_QUICKACK, &yes,
		  sizeof(yes), 0);
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
		if (c->side == SIDE_SERVER && !c->withdrawn) {
			rmb_element_release(
			    rmb_element(&c->rmb->map, c->element));
			if (m->peer_reason == REASON_SYNC ||
			    m->peer_reason == REASON_DESCRIPTORS)
				linkgroup_out_of_step(c->rmb);
		}
		connection_detach(c, !c->spoilt);
	}
	messages_forget(fd);
	connection_use_tcp(c, m->reason, m->peer_reason);
}

/* A Confirm that reaches a server which has closed makes its kernel reset the
 * connection. So the server says that it closes, and the client that it sends
 * one: one of them sees what the other said. */
static bool server_closes(struct connection *c)
{
	atomic_store(&c->control->confirms, atomic_load(&c->control->epoch));
	inject_nap();
	return atomic_load(&c->in_producer->flags) & PRODUCER_CLOSED;
}

bool messages_confirm_is_due(struct connection *c)
{
	uint32_t epoch = atomic_load(&c->control->epoch);

	return c->side == SIDE_SERVER &&
	       atomic_load(&c->control->confirms) == epoch &&
	       atomic_load(&c->control->confirmed) != epoch;
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

/* Either side, once: what becomes of the Accept. */
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
		return REASON_NO_DEVICE;
	reason = linkgroup_take(m->proposal.peer_id, s, &rmb, &element, &first);
	if (reason)
		return reason;
	connection_attach(c, rmb, element, SIDE_SERVER);
	proposal_remember_first(c, first);
	return REASON_NONE;
}

/* What of the ring came over TCP, too. An error behind it stays for the program
 * to see. */
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
 * was on TCP left all of it in the ring. Until it is done, or dead, nobody
 * knows which of them to read. Who reads no more misses nothing. Others wait
 * for the lock meanwhile: servers that say so and do nothing, stopped or
 * hostile, hold up a process for a second in all. */
static bool died_over_it(struct connection *c, int fd)
{
	static _Atomic unsigned in_vain;
	const struct timespec nap = {0, RESEND_NAP_NS};

	if (connection_reads_no_more(c) ||
	    atomic_load(&in_vain) >= RESENDS_VAIN)
		return false;
	for (int naps = 0; naps < RESEND_NAPS; naps++) {
		bool ended = has_ended(fd);

		if (atomic_load(&c->control->accept) != ACCEPT_RESENDS)
			return false;
		if (ended) {
			drop_copies(fd);
			return true;
		}
		SYS_CALL4(SYS_nanosleep, &nap, NULL, 0, 0);
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
	c->mute = true;
	return died_over_it(c, fd) ? REASON_NONE : REASON_PEER_DECLINED;
}

/* The first memory for a client takes its time, in which that may close. */
static uint32_t answer_client(struct connection *c, int fd,
			      const struct clc_message *m)
{
	uint32_t reason = REASON_CLOSED;

	if (!c->mute && c->declined)
		return REASON_PEER_DECLINED;
	if (!c->mute)
		reason = attach_server(c, m);
	if (has_ended(fd)) {
		c->mute = true;
		reason = REASON_CLOSED;
	}
	return reason;
}

static struct clc_action prepare(struct connection *c, int fd,
				 const struct clc_message *m)
{
	struct clc *machine = connection_clc(c);
	uint32_t reason;

	if (c->slot->role == STATUS_SERVER)
		reason = answer_client(c, fd, m);
	else
		reason = attach_client(c, fd, m);
	if (reason)
		return clc_abort(machine, reason, sys_now_ns() / 1000000u);
	return clc_commit(machine, sys_now_ns() / 1000000u);
}

/* The client proves with its Confirm that the channel was its own, and is who
 * it was. */
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

/* To the program it has ended in order: what it sends first still goes. The
 * client, which never read the Accept, has no part in the element. */
static void end_forgiven(struct connection *c)
{
	rmb_element_release(rmb_element(&c->rmb->map, c->element));
	atomic_fetch_or(&c->slot->rx.flags, STREAM_ENDED);
	atomic_store(&c->tcp_ended, 1);
	connection_use_smc(c);
}

/* Was the socket reset? That leaves its end (EPIPE: behind the peer's FIN). To
 * a client's program the server has closed: what it sends first still goes. */
static bool forgive(struct connection *c, int error)
{
	if (error && error != ECONNRESET && error != EPIPE)
		atomic_store(&c->slot->error, (uint32_t)error);
	else if (connection_clc(c)->state == CLC_AWAIT_ACCEPT)
		atomic_fetch_or(&c->slot->rx.flags, STREAM_ENDED);
	return error == ECONNRESET || error == EPIPE;
}

static int take_error(int fd)
{
	socklen_t n = sizeof(int);
	int error = 0;

	SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &n, 0);
	return error;
}

/* A client that closes before it has read our Accept says so, and its program
 * has sent nothing. Its kernel resets the connection for the Accept, if it has
 * not done so; not where ours would have sent something, too. */
static bool client_leaves(struct connection *c, const struct clc_message *m)
{
	return m && m->type == CLC_DECLINE &&
	       m->decline.reason == REASON_CLOSED && c->rmb &&
	       c->side == SIDE_SERVER && !c->withdrawn &&
	       atomic_load(&c->slot->tx.position) == 0 &&
	       decide(c, ACCEPT_WITHDRAWN);
}

static void end_left(struct connection *c, int fd)
{
	segment_count(declines_received);
	forgive(c, take_error(fd));
	end_forgiven(c);
}

void messages_carry_out(struct connection *c, int fd, struct clc_action a,
			const struct clc_message *m)
{
	if (a.next == CLC_PREPARE && m) {
		a = prepare(c, fd, m);
		if (c->rmb)
			allowance_tell(c, fd);
	}
	if (a.send == CLC_SEND_CONFIRM && !c->mute && server_closes(c))
		c->mute = true;
	if (a.send == CLC_SEND_CONFIRM)
		talk_announce(c);
	if (!c->mute)
		carry_out_send(c, fd, a.send);
	switch (a.next) {
	case CLC_WAIT:
	case CLC_PREPARE:
		break;
	case CLC_USE_SMC:
		if (confirm_is_right(c, m)) {
			if (c->side == SIDE_SERVER)
				atomic_store(&c->control->confirmed,
					     atomic_load(&c->control->epoch));
			atomic_store(&c->tcp_ended, c->mute);
			if (c->side == SIDE_SERVER)
				talk_await(c);
			connection_use_smc(c);
			break;
		}
		connection_clc(c)->reason = REASON_SYNC;
		finish_failed(c, fd);
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

bool messages_withdraw(struct connection *c, int fd)
{
	if (!messages_await_confirm(c) || !decide(c, ACCEPT_RESENDS))
		return false;
	inject_nap();
	c->withdrawn = true;
	messages_carry_out(c, fd, clc_closed(connection_clc(c)), NULL);
	return true;
}

/* The end of the stream; or our own, which no word of the client's follows. */
static void read_end(struct connection *c, int fd, bool forgiven)
{
	if (forgiven && messages_await_confirm(c) &&
	    decide(c, ACCEPT_WITHDRAWN))
		end_forgiven(c);
	else if (messages_await_confirm(c) &&
		 (atomic_load(&c->out_producer->flags) & PRODUCER_SHUT))
		connection_use_smc(c);
	else
		messages_carry_out(c, fd, clc_closed(connection_clc(c)), NULL);
}

/* ---- the peer's messages ---- */

/* Those who sleep have been woken, and need only a core. One that was killed in
 * its sleep, or left it by longjmp, is counted for ever, hence the limit. */
static void await_sleepers(const struct connection *c)
{
	const struct timespec nap = {0, 20000};
	uint64_t end = 0;

	while (atomic_load(&c->slot->rx.sleepers) > 0) {
		if (end == 0)
			end = sys_now_ns() + SLEEPERS_MS * 1000000u;
		else if (sys_now_ns() >= end)
			return;
		SYS_CALL4(SYS_nanosleep, &nap, NULL, 0, 0);
	}
}

static void take_bytes(struct connection *c, int fd, uint8_t *bytes, size_t n)
{
	atomic_fetch_add(&c->slot->messages, 1);
	inject_nap();
	await_sleepers(c);
	inject_nap();
	SYS_CALL6(SYS_recvfrom, fd, bytes, n, MSG_DONTWAIT, 0, 0);
	atomic_fetch_add(&c->slot->taken, (uint16_t)n);
}

static void look_at_clock(struct connection *c, int fd)
{
	struct clc *machine = connection_clc(c);
	uint64_t now = sys_now_ns() / 1000000u;

	if (machine->deadline_ms && now >= machine->deadline_ms &&
	    connection_phase(c) == PHASE_HANDSHAKE)
		messages_carry_out(c, fd, clc_time(machine, now), NULL);
}

/* Else it was reset because its listener went, as it would have been without a
 * message. */
static bool was_accepted(int fd)
{
	int state = offer_state(fd);

	return state > 0 && (state & OFFER_MET);
}

bool messages_alone(struct connection *c, int fd)
{
	switch (connection_clc(c)->state) {
	case CLC_AWAIT_ACCEPT:
		return !c->offer_entry && was_accepted(fd);
	case CLC_AWAIT_CONFIRM:
		return atomic_load(&c->slot->tx.position) == 0;
	default:
		return false;
	}
}

/* The program may have told TCP to be silent about a few bytes. */
static bool has_few_bytes(const struct connection *c, int fd)
{
	int there = 0;

	return (atomic_load(&c->slot->socket_flags) & SOCKET_RCVLOWAT) &&
	       SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there) == 0 && there > 0;
}

/* Shut for reading by the program TCP looks ended, and takes what comes all the
 * same. */
static bool may_send_on(const struct connection *c, int fd, short revents)
{
	uint8_t state = TCP_CLOSE; /* the first byte of struct tcp_info */
	socklen_t n = sizeof(state);

	if (!connection_reads_no_more(c) || (revents & (POLLHUP | POLLERR)))
		return false;
	SYS_CALL6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &state, &n, 0);
	return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 ||
	       state == TCP_FIN_WAIT2;
}

/* Even a look takes an error, which is for the program to see; but not as long
 * as there are bytes. *ended: no more will come; *forgiven: it was reset, and
 * not because of anything that a program did. */
static long look_at_bytes(struct connection *c, int fd,
			  uint8_t bytes[CLC_BYTES_MAX], bool *ended,
			  bool *forgiven)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};
	int there = 0;
	long n;

	*ended = *forgiven = false;
	if (SYS_CALL3(SYS_poll, &p, 1, 0) == 0 && !has_few_bytes(c, fd))
		return -EAGAIN;
	*ended = p.revents & (POLLRDHUP | POLLHUP | POLLERR) &&
		 !may_send_on(c, fd, p.revents);
	if (p.revents & POLLERR)
		SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there);
	if ((p.revents & POLLERR) && there <= 0) {
		if (messages_alone(c, fd))
			*forgiven = forgive(c, take_error(fd));
		return 0;
	}
	n = SYS_CALL6(SYS_recvfrom, fd, bytes, CLC_BYTES_MAX,
		      MSG_PEEK | MSG_DONTWAIT, 0, 0);
	return n == 0 && !*ended ? -EAGAIN : n;
}

void messages_read(struct connection *c, int fd)
{
	struct clc *machine = connection_clc(c);
	uint8_t bytes[CLC_BYTES_MAX];
	struct clc_message m;
	struct clc_action a;
	bool forgiven;
	bool ended;
	long n;

	while (!clc_is_over(machine) &&
	       connection_phase(c) == PHASE_HANDSHAKE) {
		memset(&m, 0, sizeof(m));
		n = look_at_bytes(c, fd, bytes, &ended, &forgiven);
		c->unread = 0;
		if (n == -EAGAIN || n == -EINTR)
			break;
		if (n <= 0) {
			read_end(c, fd, forgiven);
			return;
		}
		a = clc_feed(machine, bytes, (size_t)n, &m,
			     sys_now_ns() / 1000000u);
		if (a.take) {
			take_bytes(c, fd, bytes, a.take);
			note_end(c, fd, &m, ended, bytes + a.take, n - a.take);
		}
		messages_carry_out(c, fd, a, &m);
		/* Nobody can have answered what was sent only now. */
		if (a.take == n && messages_await_confirm(c))
			break;
		if (a.take > 0)
			continue;
		c->unread = (uint32_t)n;
		if (!ended || connection_phase(c) != PHASE_HANDSHAKE)
			break;
		/* A message that will never be complete. */
		if (n >= EYECATCHER)
			take_bytes(c, fd, bytes, (size_t)n);
		messages_carry_out(c, fd, clc_closed(machine), NULL);
		return;
	}
	look_at_clock(c, fd);
}

bool messages_forgive(struct connection *c, int fd, int error)
{
	int there = 0;

	if (error != ECONNRESET && error != EPIPE)
		return false;
	SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there);
	if (there > 0 || !messages_alone(c, fd))
		messages_read(c, fd);
	else
		read_end(c, fd, forgive(c, error));
	return atomic_load(&c->slot->rx.flags) & STREAM_ENDED;
}
