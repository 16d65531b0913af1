/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* messages: CLC messages of one connection, read from its TCP stream. */
#include "smc_r/handshake/messages.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/handshake/messages_act.h"
#include "smc_r/handshake/messages_send.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/offer.h"
#include "smc_r/protocol/reason.h"

#define NS_PER_MS       1000000u
#define SLEEPERS_NAPS   1400 /* a tenth of a second, as long as naps are */
#define SLEEPERS_NAP_NS 20000
#define EYECATCHER      4 /* bytes; with them it is a message */
/* A third of what a client waits for an answer that is for nobody else. */
#define ANSWER_MS       300u

/* ---- what lies behind a message ---- */

/* Length of the Decline that the n bytes begin with; 0: there is none. */
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

	memset(&i, 0, sizeof(i));
	return sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, sizeof(i)) == 0 &&
	       i.tcpi_last_data_recv < ANSWER_MS;
}

/* A peer that declines for the sake of a successor without the engine waits
 * until no message can come. With another reason the kernel may watch its
 * socket, and would tell of an answer. */
static bool waits_for_answer(uint32_t reason)
{
	return reason >= REASON_DEMOTED_EXEC && reason <= REASON_DEMOTED_EPOLL;
}

/*
 * A client that closed already must not be answered: its kernel would reset the
 * connection, and the program here see that before it did anything, or lose
 * bytes. Its end may still be behind those; but a Decline that follows its
 * Proposal says that it waits no longer. A server that has ended is not
 * answered either: what it wrote is in the ring, and its end on TCP. ended, and
 * the n bytes behind the message, are as they were seen with it.
 *
 * A Decline that has just come, from a peer that waits for it, is answered,
 * which ends that wait. A later one is not: the wait may be over.
 */
static void note_end(struct connection *c, int fd, const struct clc_message *m,
		     bool ended, const uint8_t *bytes, long n)
{
	struct clc_message behind;
	long length;

	if (m->type == CLC_ACCEPT)
		c->opening.peer_closed_early = ended;
	if (m->type != CLC_PROPOSAL)
		return;
	length = decline_length(bytes, n, &behind);
	c->opening.declined = length > 0;
	c->opening.peer_closed_early =
	    ended ||
	    (c->opening.declined && (!waits_for_answer(behind.decline.reason) ||
				     n > length || !came_just_now(fd)));
}

void messages_look_behind(struct connection *c, int fd,
			  const struct clc_message *m)
{
	bool ended = messages_have_ended(fd);
	uint8_t bytes[CLC_BYTES_MAX];
	long n = 0;

	if (!ended)
		n = SYS_CALL6(SYS_recvfrom, fd, bytes, sizeof(bytes),
			      MSG_PEEK | MSG_DONTWAIT, 0, 0);
	note_end(c, fd, m, ended, bytes, n);
}

/* ---- the stream ---- */

/* Threads that sleep have been woken, and need only a core. One that was killed
 * in its sleep, or left it by longjmp, is counted for ever, hence the limit. */
static void await_sleepers(const struct connection *c)
{
	for (int i = 0; i < SLEEPERS_NAPS && atomic_load(&c->slot->rx.sleepers);
	     i++)
		sys_nap(SLEEPERS_NAP_NS);
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

static void look_at_clock(struct connection *c, int fd, uint64_t now)
{
	struct clc *machine = connection_clc(c);

	if (machine->deadline_ms && now / NS_PER_MS >= machine->deadline_ms &&
	    connection_phase(c) == PHASE_HANDSHAKE)
		messages_carry_out(c, fd, clc_time(machine, now / NS_PER_MS),
				   NULL, now);
}

/* A connection that was not accepted was reset because its listener went, as it
 * would have been without a message. */
static bool was_accepted(int fd)
{
	int state = offer_state(fd);

	return state > 0 && (state & OFFER_MET);
}

/* Is a message of ours all that the peer can have left unread? If the peer died
 * over it, TCP says that the connection was reset, where the programs, which
 * know of no message, would see the peer's end. No lock is needed. */
static bool messages_alone(struct connection *c, int fd)
{
	switch (connection_clc(c)->state) {
	case CLC_AWAIT_ACCEPT:
		return !c->opening.offer_entry && was_accepted(fd);
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

/* TCP that the program has shut for reading looks ended, and takes what comes
 * all the same. */
static bool may_send_on(const struct connection *c, int fd, short revents)
{
	uint8_t state = TCP_CLOSE; /* the first byte of struct tcp_info */

	if (!connection_reads_no_more(c) || (revents & (POLLHUP | POLLERR)))
		return false;
	sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, sizeof(state));
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
			*forgiven =
			    messages_forgive_error(c, messages_take_error(fd));
		return 0;
	}
	n = SYS_CALL6(SYS_recvfrom, fd, bytes, CLC_BYTES_MAX,
		      MSG_PEEK | MSG_DONTWAIT, 0, 0);
	return n == 0 && !*ended ? -EAGAIN : n;
}

void messages_read(struct connection *c, int fd, uint64_t now)
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
		c->opening.unread = 0;
		if (n == -EAGAIN || n == -EINTR)
			break;
		if (n <= 0) {
			messages_end(c, fd, forgiven, now);
			return;
		}
		a = clc_feed(machine, bytes, (size_t)n, &m, now / NS_PER_MS);
		if (a.take) {
			take_bytes(c, fd, bytes, a.take);
			note_end(c, fd, &m, ended, bytes + a.take, n - a.take);
		}
		messages_carry_out(c, fd, a, &m, now);
		/* Nobody can have answered what was sent only now. */
		if (a.take == n && messages_await_confirm(c))
			break;
		if (a.take > 0)
			continue;
		c->opening.unread = (uint32_t)n;
		if (!ended || connection_phase(c) != PHASE_HANDSHAKE)
			break;
		/* A message that will never be complete. */
		if (n >= EYECATCHER)
			take_bytes(c, fd, bytes, (size_t)n);
		messages_carry_out(c, fd, clc_closed(machine), NULL, now);
		return;
	}
	look_at_clock(c, fd, now);
}

bool messages_forgive(struct connection *c, int fd, int error, uint64_t now)
{
	int there = 0;

	if (error != ECONNRESET && error != EPIPE)
		return false;
	SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there);
	if (there > 0 || !messages_alone(c, fd))
		messages_read(c, fd, now);
	else
		messages_end(c, fd, messages_forgive_error(c, error), now);
	return connection_was_left(c);
}
