/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload_control: sockets come, are named, and go. */
#include "smc_r/os/fork_page.h"
#include "smc_r/preload/preload.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/connection/passthrough.h"
#include "smc_r/connection/socket_history.h"
#include "smc_r/epoll/epoll_adopt.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/engines.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/settings.h"
#include "smc_r/poll/deferred.h"
#include "smc_r/preload/engine.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/accept_wait.h"
#include "smc_r/socket/sandbox.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/socket/socket_io.h"
#include "smc_r/socket/socket_listen.h"
#include "smc_r/socket/socket_name.h"
#include "smc_r/socket/socket_shutdown.h"
#include "smc_r/socket/successor.h"

/* ---- making ---- */

/* A number that the kernel hands out again was closed behind our back. */
static int fresh(int fd)
{
	if (fd < 0)
		return fd;
	scarcity_note(fd);
	socket_number_is_new(fd);
	if (__builtin_expect(passthrough_is(fd), 0))
		passthrough_drop(fd);
	socket_history_gone(fd);
	return fd;
}

/* AF_SMC, af_smc(7): protocol 0 is IPv4, 1 is IPv6. */
PRELOAD int socket(int domain, int type, int protocol)
{
	int fd;

	if (domain == AF_SMC && !process.off) {
		if ((type & 0xf) != SOCK_STREAM) {
			errno = ESOCKTNOSUPPORT;
			return -1;
		}
		if (protocol != 0 && protocol != 1) {
			errno = EPROTONOSUPPORT;
			return -1;
		}
		domain = protocol == 0 ? AF_INET : AF_INET6;
		protocol = IPPROTO_TCP;
	}
	fd = fresh(SCARCITY_CALL(real.socket(domain, type, protocol), -1));
	if (fd >= 0 && !process.off)
		socket_history_made(fd, domain, type, protocol);
	return fd;
}

/* Before a TCP socket does what may concern us. False: it is none, or we do not
 * serve, and not a call of ours is made. */
static inline bool may_begin(int fd)
{
	if (!fdtable || process.off || socket_history_is_other(fd))
		return false;
	if (__builtin_expect(!process.begun, 0))
		engine_begin();
	return process.begun;
}

PRELOAD int listen(int fd, int backlog)
{
	bool ours = may_begin(fd);
	bool marked = ours && socket_before_listen(fd);
	int result = real.listen(fd, backlog);
	int error = errno;

	if (result == 0 && ours)
		socket_listening(fd);
	else if (marked)
		offer_unmark(fd);
	errno = error;
	return result;
}

/* The kernel resets the connection, and the socket begins anew. */
static int disconnect(int fd, const struct sockaddr *a, socklen_t n)
{
	struct connection *c = connection_of(fd);
	int result;
	int error;

	if (c && !process_is_foreign())
		handshake_before_reset(c, fd);
	result = real.connect(fd, a, n);
	error = errno;
	if (result == 0 && passthrough_is(fd))
		passthrough_drop(fd);
	else if (result == 0)
		socket_disconnected(fd);
	errno = error;
	return result;
}

/* Nobody there takes SMC-R now. */
static int connect_tcp(int fd, const struct sockaddr *a, socklen_t n,
		       enum prospect prospect)
{
	int result = real.connect(fd, a, n);
	int error = errno;

	if (prospect == PROSPECT_REFUSED)
		handshake_after_refusal(fd, a, n, result, error);
	else
		handshake_after_passthrough(fd, a, n, result, error);
	errno = error;
	return result;
}

/*
 * The kernel tells the error of a connection that has ended, and whose
 * connect() nobody asked again, and drops all that it had: the socket begins
 * anew.
 */
static bool begins_anew(int error)
{
	return error == ECONNRESET || error == EPIPE || error == ETIMEDOUT ||
	       error == ECONNABORTED || error == ECONNREFUSED ||
	       error == EHOSTUNREACH || error == ENETUNREACH;
}

/*
 * The first connect() after one that did not wait is told by the kernel that
 * the connection came about; but not when a shutdown(), which may not have
 * reached the kernel, has told that the socket is connected.
 */
static int connect_again(const struct connection *c, int fd,
			 const struct sockaddr *a, socklen_t n)
{
	int result = real.connect(fd, a, n);

	if (result == 0 &&
	    (connection_reads_no_more(c) || connection_writes_no_more(c)))
		result = real.connect(fd, a, n);
	if (result < 0 && begins_anew(errno)) {
		int error = errno;

		socket_disconnected(fd);
		errno = error;
	}
	return result;
}

PRELOAD int connect(int fd, const struct sockaddr *a, socklen_t n)
{
	struct connection *c = connection_of(fd);
	enum prospect prospect = c ? PROSPECT_OURS : PROSPECT_NOT_OURS;
	uint32_t given = REASON_NONE;
	int result;
	int error;

	if (!c && !passthrough_is(fd) && !may_begin(fd))
		return real.connect(fd, a, n);
	if (!pages_hold(a, n, false))
		return real.connect(fd, a, n);
	if ((c || passthrough_is(fd)) && a && n >= sizeof(a->sa_family) &&
	    a->sa_family == AF_UNSPEC)
		return disconnect(fd, a, n);
	/* It was connected, and the kernel knows what it is now. */
	if (passthrough_is(fd))
		return real.connect(fd, a, n);
	/* Asked again while it is on its way: the kernel answers. */
	if (c && connection_phase(c) != PHASE_CONNECTING)
		return connect_again(c, fd, a, n);
	if (!c && a)
		prospect = handshake_before_connect(fd, a, n);
	if (prospect == PROSPECT_NOBODY || prospect == PROSPECT_REFUSED)
		return connect_tcp(fd, a, n, prospect);
	if (prospect == PROSPECT_NOT_OURS)
		return real.connect(fd, a, n);
	if (!c)
		given = epoll_adopt(connection_of(fd), fd);
	result = real.connect(fd, a, n);
	error = errno;
	handshake_after_connect(fd, result, error);
	if (given && connection_of(fd))
		epoll_shared_join(connection_of(fd), fd, given);
	errno = error;
	return result;
}

PRELOAD_ALIAS(__connect, connect);

/* What the kernel would have written, cut to the caller's room. */
static void give_address(struct sockaddr *a, socklen_t *n,
			 const struct sockaddr_storage *peer, socklen_t l)
{
	if (!a || !n)
		return;
	memcpy(a, peer, *n < l ? *n : l);
	*n = l;
}

/* The kernel accepts, and then has nowhere to store the peer's address. */
static bool can_tell(const struct sockaddr *a, const socklen_t *n)
{
	return !a || (pages_hold(n, sizeof(*n), true) &&
		      pages_hold(a,
				 *n < sizeof(struct sockaddr_in)
				     ? *n
				     : sizeof(struct sockaddr_in),
				 true));
}

/* What the program calls: it may be confined to that one. */
#define BY_ACCEPT (-1)

static int kernel_accepts(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
	return fresh(SCARCITY_CALL(flags == BY_ACCEPT
				       ? real.accept(fd, a, n)
				       : real.accept4(fd, a, n, flags),
				   -1));
}

static void begin_accepted(int listener, int fd,
			   const struct sockaddr_storage *peer, int flags)
{
	socket_history_accepted(listener, fd);
	if (handshake_accepted(listener_of(listener), fd, peer,
			       flags != BY_ACCEPT && (flags & SOCK_NONBLOCK)))
		offer_pause(listener);
	if (socket_is_deferred(listener))
		deferred_accepted(fd);
	/* Requests of io_uring, which we do not see, may read from it. */
	if (process.off)
		successor_descriptor(fd, REASON_DEMOTED_IO_URING);
}

/* A page that is written to is copied behind a fork. */
static void note_flags(int fd, int flags)
{
	struct listener *l = listener_of(fd);

	if (l && flags != BY_ACCEPT && l->accept_flags != flags)
		l->accept_flags = flags;
}

/* Is its place left to TCP, and so nothing to be done for what it gives? */
static inline bool is_left(const struct listener *l)
{
	return l && relaxed_load(&l->left_until_ns) && !process.off &&
	       handshake_accepted_left(l);
}

/* Without waits the kernel is called at once. */
static int accept_served(int fd, struct sockaddr *a, socklen_t *n, int flags,
			 bool waits)
{
	struct sockaddr_storage peer;
	socklen_t l = sizeof(peer);
	int result = waits ? accept_wait(fd) : 0;
	int error;

	memset(&peer, 0, sizeof(peer));
	if (result == 0)
		result =
		    kernel_accepts(fd, (struct sockaddr *)&peer, &l, flags);
	if (result < 0)
		return result;
	error = errno;
	give_address(a, n, &peer, l);
	/* Nobody will ask for its history. */
	if (is_left(listener_of(fd)))
		return result;
	note_flags(fd, flags);
	begin_accepted(fd, result, &peer, flags);
	if (errno != error)
		errno = error;
	return result;
}

/* Is what was accepted TCP's? The length of its name was told whatever room
 * there was, and asks nobody; one of another family may be as long. */
static bool may_be_tcp(const struct sockaddr *a, socklen_t n)
{
	return (n == sizeof(struct sockaddr_in) ||
		n == sizeof(struct sockaddr_in6)) &&
	       a->sa_family != AF_UNIX;
}

/* From a listener that this process did not make, or not as TCP's. It is asked
 * what it is when it has given a connection that may be ours. */
static int accept_unknown(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
	struct sockaddr_storage own;
	socklen_t l = sizeof(own);
	int result, error;

	if (!a) {
		a = (struct sockaddr *)&own;
		n = &l;
	}
	result = accept_wait(fd);
	if (result == 0)
		result = kernel_accepts(fd, a, n, flags);
	if (result < 0 || !may_be_tcp(a, *n) || !may_begin(fd))
		return result;
	error = errno;
	l = sizeof(own);
	if (socket_before_accept(fd) &&
	    SYS_CALL3(SYS_getpeername, result, &own, &l) == 0)
		begin_accepted(fd, result, &own, flags);
	errno = error;
	return result;
}

/* Was its place left to TCP a while ago, and is nothing to be done before the
 * kernel accepts? */
static inline bool was_left(const struct listener *l)
{
	return l && relaxed_load(&l->left_until_ns) && l->matched &&
	       l->marked_by == process.pid && !process.off &&
	       !process.confined && !linkgroup_deaths_matter() &&
	       fdtable_connections() == 0 && !relaxed_load(&sandbox_holds) &&
	       !settings_moved(l->marked_at);
}

static int accept_by(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
	struct listener *l = listener_of(fd);
	int result = -1;

	if (was_left(l) && can_tell(a, n))
		return accept_served(fd, a, n, flags, false);
	if (__builtin_expect(sandbox_holds, 0))
		result =
		    sandbox_accept(fd, a, n, flags == BY_ACCEPT ? 0 : flags);
	if (result >= 0)
		return result;
	if (!fdtable || process.confined || (process.off && !l))
		return kernel_accepts(fd, a, n, flags);
	if (!l && !socket_history_is_tcp(fd))
		return accept_unknown(fd, a, n, flags);
	if (!(process.off || may_begin(fd)) || !can_tell(a, n) ||
	    !socket_before_accept(fd))
		return kernel_accepts(fd, a, n, flags);
	return accept_served(fd, a, n, flags, true);
}

PRELOAD_HOT int accept4(int fd, struct sockaddr *restrict a,
			socklen_t *restrict n, int flags)
{
	/* The kernel refuses it, and it is none of ours. */
	return flags == BY_ACCEPT ? real.accept4(fd, a, n, flags)
				  : accept_by(fd, a, n, flags);
}

PRELOAD_HOT int accept(int fd, struct sockaddr *restrict a,
		       socklen_t *restrict n)
{
	return accept_by(fd, a, n, BY_ACCEPT);
}

PRELOAD int getpeername(int fd, struct sockaddr *a, socklen_t *n)
{
	struct connection *c = served_end(fd);
	int result;

	if (__builtin_expect(!c, 1))
		return real.getpeername(fd, a, n);
	if ((tcp_was_reset(c, fd) || (connection_phase(c) != PHASE_NATIVE &&
				      socket_shut_state(c) == TCP_CLOSE))) {
		errno = ENOTCONN;
		return -1;
	}
	result = real.getpeername(fd, a, n);
	if (result == 0 || errno != ENOTCONN)
		return result;
	return socket_peer_name(c, fd, a, n);
}

/* ---- ending ---- */

static NOT_PLAIN int shutdown_any(int fd, int how)
{
	struct connection *c = served_end(fd);
	int result = (int)SOCKET_KERNEL;

	if (c && how >= SHUT_RD && how <= SHUT_RDWR)
		result = socket_shutdown(c, fd, how);
	return result == (int)SOCKET_KERNEL ? real.shutdown(fd, how) : result;
}

PRELOAD_HOT int shutdown(int fd, int how)
{
	return is_plain(fd) ? real.shutdown(fd, how) : shutdown_any(fd, how);
}

PRELOAD_HOT int close(int fd)
{
	socket_history_gone(fd);
	if (__builtin_expect(fdtable_get(fd) != NULL, 0))
		return socket_close(fd);
	if (__builtin_expect(passthrough_is(fd), 0))
		passthrough_drop(fd);
	return real.close(fd);
}

PRELOAD_ALIAS(__close, close);

/* The kernel closes a range around the numbers that are ours. */
static int close_around(unsigned first, unsigned last, int flags)
{
	unsigned end = (unsigned)fdtable_end();
	unsigned from = first;

	process_tid();
	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		struct fdentry *e = fdtable_get((int)fd);

		if (!e || e->kind != FDENTRY_PRIVATE)
			continue;
		if (fd > from && real.close_range(from, fd - 1, flags) < 0)
			return -1;
		from = fd + 1;
		if (from == 0)
			return 0;
	}
	return from > last ? 0 : real.close_range(from, last, flags);
}

PRELOAD int close_range(unsigned first, unsigned last, int flags)
{
	const unsigned known = CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE;

	/* What the kernel will refuse closes nothing. */
	if (!fdtable || first > last || ((unsigned)flags & ~known))
		return real.close_range(first, last, flags);
	if (socket_range_is_simple(first, last)) {
		int result = real.close_range(first, last, flags);

		if (result == 0 && !(flags & CLOSE_RANGE_CLOEXEC))
			socket_drop_range(first, last);
		return result;
	}
	if (process_is_foreign())
		return real.close_range(first, last, flags);
	socket_close_range(first, last, flags & CLOSE_RANGE_CLOEXEC);
	return close_around(first, last, flags);
}

PRELOAD void closefrom(int first)
{
	close_range(first < 0 ? 0u : (unsigned)first, ~0u, 0);
}

/* ---- copies of descriptors ---- */

PRELOAD int dup(int fd)
{
	int result;

	passthrough_share(fd);
	result = SCARCITY_CALL(real.dup(fd), -1);
	if (passthrough_is(result))
		passthrough_drop(result);
	socket_history_copied(fd, result);
	if (result >= 0 && (fdtable_get(fd) || fdtable_get(result)))
		socket_dup(fd, result);
	return result;
}

static bool dup_is_ours(int from, int to)
{
	passthrough_share(from);
	passthrough_share(to);
	return from != to && (fdtable_get(from) || fdtable_get(to));
}

/* The target is closed by the kernel in the same step; what it was to us must
 * go before, while it still can be told apart. */
static int dup_over(int from, int to, int flags, bool three)
{
	bool simple = socket_range_is_simple((unsigned)to, (unsigned)to);
	int result;

	if (!socket_may_replace(to)) {
		errno = EBADF;
		return -1;
	}
	if (!simple && SYS_CALL3(SYS_fcntl, from, F_GETFD, 0) >= 0)
		socket_replaced(to);
	result = three ? real.dup3(from, to, flags) : real.dup2(from, to);
	if (result >= 0) {
		int error = errno;

		if (simple)
			socket_drop(to);
		socket_history_copied(from, to);
		socket_dup(from, to);
		errno = error;
	}
	return result;
}

PRELOAD int dup2(int from, int to)
{
	int result;

	if (dup_is_ours(from, to))
		return dup_over(from, to, 0, false);
	result = real.dup2(from, to);
	socket_history_copied(from, result);
	return result;
}

PRELOAD int dup3(int from, int to, int flags)
{
	int result;

	/* Refused as a whole: what was there stays. */
	if (!(flags & ~O_CLOEXEC) && dup_is_ours(from, to))
		return dup_over(from, to, flags, true);
	result = real.dup3(from, to, flags);
	socket_history_copied(from, result);
	return result;
}

int __dup2(int, int) __THROW;
PRELOAD_ALIAS(__dup2, dup2);

/* Our own, by the long way: the same socket under another number. */
static bool is_same_socket(int fd, int other)
{
	uint64_t cookies[2] = {0, 0};
	const socklen_t n = sizeof(cookies[0]);

	return sys_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookies[0], n) == 0 &&
	       sys_getsockopt(other, SOL_SOCKET, SO_COOKIE, &cookies[1], n) ==
		   0 &&
	       cookies[0] == cookies[1];
}

PRELOAD int pidfd_getfd(int pidfd, int fd, unsigned flags);
PRELOAD int pidfd_getfd(int pidfd, int fd, unsigned flags)
{
	long result = SYS_CALL3(SYS_pidfd_getfd, pidfd, fd, flags);

	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	fresh((int)result);
	passthrough_share(fd);
	if (connection_of(fd) && is_same_socket(fd, (int)result))
		socket_dup(fd, (int)result);
	return (int)result;
}

/* ---- the end of the library's own life ---- */

__attribute__((constructor(101))) static void start(void)
{
	if (engines_serves())
		engine_start();
	else
		engine_stand_aside();
}

__attribute__((destructor(101))) static void stop(void)
{
	engine_stop();
}
