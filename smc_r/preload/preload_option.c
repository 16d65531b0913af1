/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload_option: what programs set on a socket, and ask it. */
#include "smc_r/preload/preload.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/connection/passthrough.h"
#include "smc_r/connection/socket_history.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/messages_send.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/socket/socket_io.h"
#include "smc_r/socket/socket_listen.h"
#include "smc_r/socket/socket_name.h"
#include "smc_r/socket/socket_option.h"
#include "smc_r/socket/socket_shutdown.h"
#include "smc_r/socket/successor.h"
#include "smc_r/stream/stream.h"

/* ---- flags ---- */

static int after_fcntl(int fd, int command, long argument, int result)
{
	int error = errno;

	switch (command) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		if (passthrough_is(result))
			passthrough_drop(result);
		socket_history_copied(fd, result);
		if (fdtable_get(fd) || fdtable_get(result))
			socket_dup(fd, result);
		break;
	case F_SETFL:
		socket_note_nonblock(fd, argument & O_NONBLOCK);
		socket_note_append(fd, argument & O_APPEND);
		break;
	default:
		break;
	}
	errno = error;
	return result;
}

/* Signals for readiness come from the kernel's socket only, and not of what
 * came before. */
static void begin_signals(struct connection *c, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	int error = errno;
	bool ended;

	ended = connection_phase(c) == PHASE_ACTIVE && stream_is_shut(c);
	if (demote_for_successor(c, fd, REASON_DEMOTED_AIO, SUCCESSOR_BESIDE) &&
	    ended)
		SYS_CALL3(SYS_poll, &p, 1, DEMOTE_WAIT_MS);
	errno = error;
}

static bool is_dup(int command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

static NOT_PLAIN int fcntl_any(int fd, int command, long argument)
{
	struct connection *c = served(fd);
	int result;

	if (c && (command == F_SETSIG || command == F_SETOWN ||
		  command == F_SETOWN_EX ||
		  (command == F_SETFL && (argument & O_ASYNC))))
		begin_signals(c, fd);
	if (is_dup(command))
		passthrough_share(fd);
	result = SCARCITY_CALL(real.fcntl(fd, command, argument), -1);
	if (result >= 0 && fdtable)
		return after_fcntl(fd, command, argument, result);
	return result;
}

static int call_fcntl(int fd, int command, long argument)
{
	return is_plain(fd) && !is_dup(command)
		   ? real.fcntl(fd, command, argument)
		   : fcntl_any(fd, command, argument);
}

PRELOAD_VARIADIC(fcntl, call_fcntl);
PRELOAD_VARIADIC(fcntl64, call_fcntl);
PRELOAD_VARIADIC(__fcntl, call_fcntl);

/* Bytes in the ring were sent before the mark, which only TCP has. */
static int at_mark(struct connection *c, int fd, int *out)
{
	demote(c, fd, REASON_DEMOTED_AIO);
	if (connection_phase(c) == PHASE_ACTIVE && stream_fill(c) > 0) {
		*out = 0;
		return 0;
	}
	return real.ioctl(fd, SIOCATMARK, out);
}

/* SIOCOUTQNSD; <linux/sockios.h> and <net/if.h> do not agree. */
#define SIOCOUTQNSD_NUMBER 0x894B

/* What the peer has in its memory. */
static bool is_delivered(const struct connection *c)
{
	return connection_phase(c) == PHASE_ACTIVE && !stream_writes_tcp(c);
}

/* What the program sent and TCP's peer does not have. */
static int unsent_bytes(struct connection *c, int fd, int *out)
{
	uint32_t ours;
	int result;

	if (is_delivered(c)) {
		*out = 0;
		return 0;
	}
	do {
		ours = messages_unheard(c, fd);
		result = real.ioctl(fd, TIOCOUTQ, out);
	} while (result == 0 && ours != messages_unheard(c, fd));
	if (result == 0)
		*out -= (uint32_t)*out < ours ? *out : (int)ours;
	return result;
}

static int ioctl_served(struct connection *c, int fd, unsigned long request,
			long argument)
{
	/* What is written to no address the kernel refuses. */
	if (!argument)
		return real.ioctl(fd, request, argument);
	switch (request) {
	case FIONREAD:
		return socket_input_bytes(c, fd, (int *)argument);
	case TIOCOUTQ:
		return unsent_bytes(c, fd, (int *)argument);
	case SIOCOUTQNSD_NUMBER:
		if (!is_delivered(c))
			return real.ioctl(fd, request, argument);
		*(int *)argument = 0;
		return 0;
	case SIOCATMARK:
		return at_mark(c, fd, (int *)argument);
	case FIOASYNC:
	case 0x8901: /* FIOSETOWN */
	case 0x8902: /* SIOCSPGRP */
		begin_signals(c, fd);
		return real.ioctl(fd, request, argument);
	default:
		return real.ioctl(fd, request, argument);
	}
}

static bool gives_number(unsigned long request)
{
	return request == FIONREAD || request == SIOCATMARK ||
	       request == TIOCOUTQ || request == SIOCOUTQNSD_NUMBER;
}

static NOT_PLAIN int ioctl_any(int fd, unsigned long request, long argument)
{
	/* Messages of ours may be on their way in what stays on TCP. */
	struct connection *c =
	    request == TIOCOUTQ ? connection_of(fd) : served(fd);
	int result;

	if (!c)
		return real.ioctl(fd, request, argument);
	/* What writes to nowhere is the kernel's to refuse. */
	if (gives_number(request) &&
	    !pages_hold((const void *)argument, sizeof(int), true))
		return real.ioctl(fd, request, argument);
	result = ioctl_served(c, fd, request, argument);
	if (result == 0 && request == FIONBIO)
		socket_note_nonblock(fd, *(int *)argument);
	return result;
}

static int call_ioctl(int fd, unsigned long request, long argument)
{
	return is_plain(fd) ? real.ioctl(fd, request, argument)
			    : ioctl_any(fd, request, argument);
}

PRELOAD_VARIADIC(ioctl, call_ioctl);

/* What the kernel says of a layer that it does not have; a socket without a
 * connection gets ENOTCONN for one that it has. */
static int layer_error(const void *name, socklen_t n)
{
	long fd = SYS_CALL3(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long result = -ENOTCONN;

	if (fd >= 0) {
		result = SYS_CALL6(SYS_setsockopt, fd, IPPROTO_TCP, TCP_ULP,
				   name, n, 0);
		sys_close((int)fd);
	}
	return result < 0 && result != -ENOTCONN ? (int)-result : EOPNOTSUPP;
}

/* Most programs set these, which are nothing to SMC-R. */
static inline bool is_unnoted(int level, int name)
{
	return (level == IPPROTO_TCP &&
		(name == TCP_NODELAY || name == TCP_CORK ||
		 name == TCP_QUICKACK)) ||
	       (level == SOL_SOCKET &&
		(name == SO_KEEPALIVE || name == SO_REUSEADDR));
}

/* After a call that worked: the value was there. */
static void note_option(int fd, int level, int name, const void *v)
{
	const struct timeval *t = v;

	if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
		socket_note_time_out(fd, name, t->tv_sec < 0);
	else if (level == IPPROTO_TCP && name == TCP_DEFER_ACCEPT && fdtable)
		socket_defer_changed(fd);
	socket_note_option(fd, level, name);
}

static NOT_PLAIN int setsockopt_any(int fd, int level, int name, const void *v,
				    socklen_t n)
{
	struct connection *c = served(fd);
	int result;

	if (!process.off)
		socket_history_option(fd, level, name);
	if (!c) {
		result = real.setsockopt(fd, level, name, v, n);
		if (result == 0 && fdtable && !process.off)
			note_option(fd, level, name, v);
		return result;
	}
	/* Bytes in the ring would lie ahead of the offset. */
	if (level == SOL_SOCKET && name == SO_PEEK_OFF)
		successor_descriptor(fd, REASON_DEMOTED_OPTION);
	if (level == SOL_SOCKET && name == SO_LINGER) {
		handshake_before_reset(c, fd);
		c->closing.lingers = true;
		atomic_fetch_and(&c->slot->socket_flags,
				 ~(uint32_t)SOCKET_GUARDED);
	}
	/* As the kernel's SMC: no kernel TLS on top. */
	if (level == IPPROTO_TCP && name == TCP_ULP &&
	    connection_phase(c) == PHASE_ACTIVE) {
		errno = layer_error(v, n);
		return -1;
	}
	if (socket_option_demotes(level, name))
		demote(c, fd, REASON_DEMOTED_OPTION);
	result = real.setsockopt(fd, level, name, v, n);
	if (result == 0)
		note_option(fd, level, name, v);
	return result;
}

PRELOAD_HOT int setsockopt(int fd, int level, int name, const void *v,
			   socklen_t n)
{
	return is_plain(fd) && is_unnoted(level, name)
		   ? real.setsockopt(fd, level, name, v, n)
		   : setsockopt_any(fd, level, name, v, n);
}

static int cursors_error(struct connection *c, int fd)
{
	tcp_ask(c, fd);
	return (int)atomic_exchange(&c->slot->error, 0);
}

/* Also an error that only the cursors told of; or not one that TCP, had it
 * carried the bytes, would not have. */
static void correct_error(struct connection *c, int fd, int *error)
{
	if (connection_phase(c) == PHASE_NATIVE)
		*error = 0;
	else if (*error == 0)
		*error = cursors_error(c, fd);
	else if (connection_phase(c) == PHASE_HANDSHAKE)
		*error = handshake_error_of(c, fd, *error);
	else if (connection_phase(c) == PHASE_ACTIVE)
		*error = tcp_error_of(c, *error);
}

/* As much of it as the program asks for; it is told all the same. */
static void correct_error_part(struct connection *c, int fd, void *v,
			       socklen_t n)
{
	int error = 0;

	if (n > 0)
		memcpy(&error, v, n);
	correct_error(c, fd, &error);
	if (n > 0)
		memcpy(v, &error, n);
}

/* The kernel's socket stays ESTABLISHED while either end may still need it; but
 * what a reset has ended has ended. */
static void correct_state(struct connection *c, int fd, void *info)
{
	bool is_over = *(uint8_t *)info == TCP_CLOSE;
	int state;

	if (is_over ? socket_was_left(c, fd) : connection_was_left(c)) {
		*(uint8_t *)info = TCP_CLOSE_WAIT;
		return;
	}
	if (tcp_was_reset(c, fd)) {
		*(uint8_t *)info = TCP_CLOSE;
		return;
	}
	state = connection_phase(c) == PHASE_NATIVE ? 0 : socket_shut_state(c);
	if (state && !is_over)
		*(uint8_t *)info = (uint8_t)state; /* tcpi_state */
}

static NOT_PLAIN int getsockopt_any(int fd, int level, int name, void *v,
				    socklen_t *n)
{
	struct connection *c = served_end(fd);
	int result;

	/* It receives, and would take a message of the handshake, too. */
	if (c && level == IPPROTO_TCP && name == TCP_ZEROCOPY_RECEIVE)
		successor_descriptor(fd, REASON_DEMOTED_OPTION);
	if (__builtin_expect(!c, 1))
		return real.getsockopt(fd, level, name, v, n);
	result = real.getsockopt(fd, level, name, v, n);
	if (result < 0)
		return result;
	if (level == SOL_SOCKET && name == SO_ERROR)
		correct_error_part(c, fd, v, *n);
	else if (level == SOL_SOCKET && name == SO_LINGER &&
		 (atomic_load(&c->slot->socket_flags) & SOCKET_GUARDED))
		memset(v, 0, *n);
	else if (level == IPPROTO_TCP && name == TCP_INFO && *n > 0)
		correct_state(c, fd, v);
	return result;
}

PRELOAD int getsockopt(int fd, int level, int name, void *restrict v,
		       socklen_t *restrict n)
{
	return is_plain(fd) ? real.getsockopt(fd, level, name, v, n)
			    : getsockopt_any(fd, level, name, v, n);
}

PRELOAD int sockatmark(int fd)
{
	int mark = 0;

	return ioctl(fd, SIOCATMARK, &mark) < 0 ? -1 : mark != 0;
}
