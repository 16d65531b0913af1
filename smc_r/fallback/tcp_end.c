/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* tcp_end: what TCP tells of the peer's end. */
#include "smc_r/fallback/tcp_end.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "smc_r/os/inject.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/sock_diag.h"

#define LOOKS_A_CLOCK 8

/* After the peer's FIN a reset is EPIPE to TCP, and nothing when ours is out,
 * too; of those that went by the ring the kernel may have seen one, or none. */
int tcp_error_of(struct connection *c, int error)
{
	struct ends_words w = connection_ends(c);

	if (error != ECONNRESET && error != EPIPE)
		return error;
	if (ends_was_left(&w))
		return 0;
	if (!ends_by_ring(&w))
		return error;
	return ends_out_is_shut(&w) ? 0 : EPIPE;
}

/* A process that dies with bytes unread makes TCP reset the connection. Its
 * kernel did not know of ours, so the cursors decide. The first thread of this
 * end that sees it judges, once. */
static void judge_end(struct connection *c, short bits)
{
	struct ends_words w = connection_ends(c);

	/* Before it is attached there is nothing to judge by. */
	if (connection_phase(c) != PHASE_ACTIVE)
		return;
	/* The kernel knows of a reset, and tells it. */
	if (bits & POLLERR)
		return;
	/* After a seal it may be one that the program shut there, and a frozen
	 * cursor says nothing. */
	if (ends_close_was_told(&w) || ends_is_sealed(&w) ||
	    ends_rest_is_asked(&w) ||
	    atomic_load(&c->out_consumer->cursor) ==
		atomic_load(&c->slot->tx.position))
		return;
	if (connection_end(c, ENDS_PEER_RESETS))
		atomic_store(&c->slot->error,
			     (uint32_t)tcp_error_of(c, ECONNRESET));
}

int tcp_error(struct connection *c, int fd)
{
	if (connection_is_far(c))
		return 0;
	return tcp_error_of(c, sys_socket_option(fd, SO_ERROR));
}

/* A look takes no error. A count ends at the mark of urgent data. */
bool tcp_has_bytes(int fd)
{
	int there = 0;

	if (SYS_CALL3(SYS_ioctl, fd, FIONREAD, &there) < 0)
		return false;
	return there > 0 || (sys_poll(fd, POLLIN | POLLRDHUP, 0) &
			     (POLLIN | POLLRDHUP | POLLHUP)) == POLLIN;
}

bool tcp_error_waits(int fd)
{
	return sys_poll(fd, 0, 0) & POLLERR;
}

bool tcp_has_hung_up(const struct connection *c, int fd)
{
	if (connection_is_far(c))
		return connection_peer(c) >= PEER_CLOSED;
	return connection_tcp_ended(c) || sys_poll(fd, POLLRDHUP, 0);
}

/* A server that died with our Confirm unread: its kernel reset the connection,
 * and not because of anything that the program sent. */
static void forgive_confirm(struct connection *c, int fd)
{
	struct ends_words w = connection_ends(c);
	int error;

	if (connection_phase(c) != PHASE_ACTIVE || c->side != SIDE_CLIENT ||
	    atomic_load(&c->control->confirmed) ==
		atomic_load(&c->control->epoch) ||
	    atomic_load(&c->out_consumer->cursor) !=
		atomic_load(&c->slot->tx.position))
		return;
	if (ends_peer(&w) >= PEER_SHUT || ends_is_sealed(&w) ||
	    ends_says_shut(&w) || ends_writes_tcp(&w))
		return;
	error = tcp_error(c, fd);
	if (error == ECONNRESET || error == EPIPE)
		connection_end(c, ENDS_PEER_LEAVES);
	else if (error != 0)
		atomic_store(&c->slot->error, (uint32_t)error);
}

/* What the program shut for reading looks to poll() as if the peer had ended.
 */
static bool is_our_own_end(const struct connection *c, int fd, short bits)
{
	uint8_t state = TCP_CLOSE; /* the first byte of struct tcp_info */

	if (!connection_reads_no_more(c) || (bits & POLLERR))
		return false;
	inject_nap();
	/* Another thread has closed it since: the bits tell of its end. */
	if (sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, sizeof(state)) <
	    0)
		return true;
	return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 ||
	       state == TCP_FIN_WAIT2;
}

bool tcp_end_hangs_up(const struct connection *c)
{
	return sys_poll(c->bells.data, 0, 0) & POLLHUP;
}

/* Its FIN was out before: TCP tells its end only to an end that sends. But the
 * kernel knows whether a process has that socket. In a network
 * namespace where we are not found either, its absence says nothing. */
static bool has_gone(const struct connection *c, int fd)
{
	struct sock_diag_socket peer;
	int result = sock_diag_peer_of(fd, &peer);

	if (result == 0)
		return peer.inode == 0;
	return (result == -ENOENT && sock_diag_is_here(fd)) ||
	       tcp_end_hangs_up(c);
}

/* Is it more than the FIN of a half? When both are out nothing can follow, and
 * there is nothing left to judge. */
static bool is_more(struct connection *c, int fd, short bits)
{
	if (bits & (POLLERR | POLLHUP))
		return true;
	if (!has_gone(c, fd))
		return false;
	judge_end(c, bits);
	return true;
}

/* The peer's words tell, and the service's end is a reset. */
static bool far_has_ended(struct connection *c)
{
	struct ends_words w = connection_ends(c);

	if ((ends_was_aborted(&w) || tcp_end_hangs_up(c)) &&
	    connection_end(c, ENDS_PEER_RESETS))
		atomic_store(&c->slot->error, ECONNRESET);
	return ends_peer(&w) >= PEER_CLOSED || connection_was_reset(c);
}

bool tcp_has_ended(struct connection *c, int fd)
{
	struct pollfd p = {.fd = connection_fd(c, fd), .events = POLLRDHUP};
	bool half;

	if (connection_tcp_ended(c))
		return true;
	if (connection_is_far(c))
		return far_has_ended(c);
	if (SYS_CALL3(SYS_poll, &p, 1, 0) != 1 || (p.revents & POLLNVAL) ||
	    is_our_own_end(c, p.fd, p.revents))
		return false;
	half = connection_phase(c) == PHASE_ACTIVE && tcp_end_is_half(c);
	if (half && !is_more(c, p.fd, p.revents))
		return false;
	if (!half)
		judge_end(c, p.revents);
	forgive_confirm(c, p.fd);
	connection_end(c, ENDS_PEER_ENDS);
	return true;
}

/* May TCP be asked again, so long after the last time? Says that it is. */
static bool is_time(struct connection *c, uint32_t us)
{
	if (!sys_ticks_are_over(c->tcp.asked_ticks, us))
		return false;
	c->tcp.asked_ticks = sys_ticks();
	return true;
}

void tcp_end_watch_half(struct connection *c, int fd)
{
	/* Only a bell is asked. */
	if (is_time(c, ASK_US) && tcp_end_hangs_up(c))
		tcp_has_ended(c, fd);
}

bool tcp_ended_now_and_then(struct connection *c, int fd)
{
	if (connection_tcp_ended(c))
		return true;
	return !(++c->tcp.idle_looks % LOOKS_A_CLOCK) &&
	       is_time(c, ASK_INSTANCE_US) && tcp_has_ended(c, fd);
}

void tcp_ask(struct connection *c, int fd)
{
	if (connection_phase(c) != PHASE_ACTIVE)
		return;
	c->tcp.asked_ticks = sys_ticks();
	tcp_has_ended(c, fd);
}

bool tcp_ends_now(struct connection *c, int fd)
{
	if (connection_tcp_ended(c) || !tcp_is_due(c))
		return false;
	tcp_ask(c, fd);
	return connection_tcp_ended(c);
}

bool tcp_was_reset(struct connection *c, int fd)
{
	tcp_ask(c, fd);
	return connection_was_reset(c);
}
