/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload_data: read, write and their kin. */
#include "smc_r/preload/preload.h"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/fastpath.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/socket/socket_io.h"
#include "smc_r/socket/splice_copy.h"
#include "smc_r/socket/successor.h"

/* A message may carry a descriptor of ours, where there is one. */
static inline bool is_told_of_messages(void)
{
	return fdtable_connections_end() > 0 || fdtable_listeners() > 0;
}

/* Does it carry anything else than bytes? */
static bool has_control(const struct msghdr *m)
{
	return is_told_of_messages() && !process.confined &&
	       pages_hold(m, sizeof(*m), false) && m->msg_controllen;
}

/* More bytes than there are addresses: read() and write() are refused before
 * the kernel looks at the socket. */
static bool is_beyond(size_t n)
{
	return n >> 56;
}

/* So is a list that is nowhere or too long, or has a length that is negative
 * or, in a list of several, beyond all addresses. */
static bool is_refused(const struct iovec *v, size_t n)
{
	size_t all = 0;

	if (n > IOV_MAX || !pages_hold(v, n * sizeof(*v), false))
		return true;
	for (size_t i = 0; i < n; i++)
		all |= v[i].iov_len;
	return n == 1 ? (ssize_t)all < 0 : is_beyond(all);
}

/* Does readv() or writev() move anything? Of zero bytes they return 0 at once,
 * whatever was shut; recv() would wait, and send() would not. */
static bool has_bytes(const struct iovec *v, int n)
{
	if (n < 0 || is_refused(v, (size_t)n))
		return false;
	for (int i = 0; i < n; i++)
		if (v[i].iov_len > 0)
			return true;
	return false;
}

/* recv() and send() take as much of one buffer as the kernel moves. */
static size_t capped(size_t n)
{
	return n < CALL_BYTES_MAX ? n : CALL_BYTES_MAX;
}

/* Nothing to a socket, but not to be given to TCP. */
#define RWF_IDLE (RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND)

/* What is not known here only the kernel can judge. Where the ring carries all,
 * a read that finds nothing says whether it knows better. */
static bool is_idle(struct connection *c, int fd, int flags)
{
	char byte;
	struct iovec v = {&byte, 1};

	if (!(flags & ~(RWF_NOWAIT | RWF_IDLE)))
		return true;
	if (connection_phase(c) != PHASE_ACTIVE || stream_is_sealed(c)) {
		demote(c, fd, REASON_DEMOTED_CALL);
		return false;
	}
	return real.preadv2(fd, &v, 1, -1, flags | RWF_NOWAIT) == 0 ||
	       errno == EAGAIN;
}

static bool is_stream_call(int fd, off_t at, int flags)
{
	struct connection *c = at == -1 ? served(fd) : NULL;

	return c && is_idle(c, fd, flags);
}

/* ---- in ---- */

/* For what is told beside the bytes, which are taken by then. */
static ssize_t no_place(void)
{
	errno = EFAULT;
	return -1;
}

static inline ssize_t receive_one(struct connection *c, int fd, void *p,
				  size_t n, int flags)
{
	struct iovec v = {p, capped(n)};
	ssize_t r = fastpath_receive(c, p, n, flags);

	return r ? r : socket_receive(c, fd, &v, 1, flags);
}

static NOT_PLAIN ssize_t receive_any(int fd, void *p, size_t n, int flags,
				     struct sockaddr *a, socklen_t *l)
{
	struct connection *c = served_point(fd);
	ssize_t r = SOCKET_KERNEL;

	if (c)
		r = receive_one(c, fd, p, n, flags);
	if (r == SOCKET_KERNEL)
		return real.recvfrom(fd, p, n, flags, a, l);
	/* TCP names nobody. */
	if (r < 0 || !a || !l)
		return r;
	if (!pages_hold(l, sizeof(*l), true))
		return no_place();
	/* Looked at when the bytes are taken. */
	if ((int)*l < 0) {
		errno = EINVAL;
		return -1;
	}
	*l = 0;
	return r;
}

static inline ssize_t receive_from(int fd, void *p, size_t n, int flags,
				   struct sockaddr *a, socklen_t *l)
{
	return is_plain(fd) ? real.recvfrom(fd, p, n, flags, a, l)
			    : receive_any(fd, p, n, flags, a, l);
}

PRELOAD_HOT ssize_t recvfrom(int fd, void *p, size_t n, int flags,
			     struct sockaddr *restrict a, socklen_t *restrict l)
{
	return receive_from(fd, p, n, flags, a, l);
}

PRELOAD_HOT ssize_t recv(int fd, void *p, size_t n, int flags)
{
	return receive_from(fd, p, n, flags, NULL, NULL);
}

static NOT_PLAIN ssize_t read_any(int fd, void *p, size_t n)
{
	struct connection *c = served_point(fd);
	ssize_t r = SOCKET_KERNEL;

	/* read() of zero bytes returns 0 at once; recv() would wait. */
	if (c && n > 0 && !is_beyond(n))
		r = receive_one(c, fd, p, n, 0);
	return r == SOCKET_KERNEL ? real.read(fd, p, n) : r;
}

PRELOAD_HOT ssize_t read(int fd, void *p, size_t n)
{
	return is_plain(fd) ? real.read(fd, p, n) : read_any(fd, p, n);
}

static ssize_t receive_vector(int fd, const struct iovec *v, int n, int flags)
{
	struct connection *c = served_point(fd);

	return c && has_bytes(v, n) ? socket_receive(c, fd, v, (size_t)n, flags)
				    : SOCKET_KERNEL;
}

PRELOAD_HOT ssize_t readv(int fd, const struct iovec *v, int n)
{
	ssize_t r;

	if (is_plain(fd))
		return real.readv(fd, v, n);
	r = receive_vector(fd, v, n, 0);
	return r == SOCKET_KERNEL ? real.readv(fd, v, n) : r;
}

PRELOAD ssize_t preadv2(int fd, const struct iovec *v, int n, off_t at,
			int flags)
{
	ssize_t r = SOCKET_KERNEL;

	if (is_stream_call(fd, at, flags))
		r = receive_vector(fd, v, n,
				   flags & RWF_NOWAIT ? MSG_DONTWAIT : 0);
	return r == SOCKET_KERNEL ? real.preadv2(fd, v, n, at, flags) : r;
}

PRELOAD_ALIAS(preadv64v2, preadv2);

/* As put_cmsg() does it. *room is what is left of the control buffer. */
static void put_control(struct msghdr *m, size_t *room, int level, int type,
			const void *data, size_t bytes)
{
	struct cmsghdr h = {.cmsg_len = CMSG_LEN(bytes),
			    .cmsg_level = level,
			    .cmsg_type = type};
	size_t all = CMSG_SPACE(bytes);
	char *at;

	if (!m->msg_control || *room < h.cmsg_len)
		m->msg_flags |= MSG_CTRUNC;
	if (!m->msg_control || *room < sizeof(h))
		return;
	if (*room < h.cmsg_len)
		h.cmsg_len = *room;
	at = (char *)m->msg_control + m->msg_controllen;
	/* Nobody is told that it could not be written. */
	if (!pages_hold(at, h.cmsg_len, true))
		return;
	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), data, h.cmsg_len - sizeof(h));
	all = all < *room ? all : *room;
	m->msg_controllen += all;
	*room -= all;
}

/* Only TCP knows when bytes came, so it carries those to come. Of those that
 * are in the ring it is known that they are there now. */
static void put_stamp(struct msghdr *m, size_t *room, int fd)
{
	struct timespec now;
	struct timeval t;

	clock_gettime(CLOCK_REALTIME, &now);
	t.tv_sec = now.tv_sec;
	t.tv_usec = now.tv_nsec / 1000;
	if (sys_socket_option(fd, SO_TIMESTAMPNS))
		put_control(m, room, SOL_SOCKET, SO_TIMESTAMPNS, &now,
			    sizeof(now));
	else
		put_control(m, room, SOL_SOCKET, SO_TIMESTAMP, &t, sizeof(t));
}

/* The kernel refuses the others. */
static bool is_message(const struct msghdr *m)
{
	return pages_hold(m, sizeof(*m), false) &&
	       (!m->msg_name || (int)m->msg_namelen >= 0) &&
	       !is_refused(m->msg_iov, m->msg_iovlen);
}

static ssize_t receive_message(struct connection *c, int fd, struct msghdr *m,
			       int flags)
{
	uint32_t options;
	size_t room;
	ssize_t r;

	if (!is_message(m))
		return SOCKET_KERNEL;
	options = relaxed_load(&c->slot->socket_flags);
	if (__builtin_expect(options & SOCKET_STAMPED, 0))
		demote(c, fd, REASON_DEMOTED_OPTION);
	r = socket_receive(c, fd, m->msg_iov, m->msg_iovlen, flags);
	if (r < 0)
		return r;
	if (!pages_hold(m, sizeof(*m), true))
		return no_place();
	room = m->msg_controllen;
	/* There is none; and where nobody asked, nobody is told. */
	if (m->msg_name)
		m->msg_namelen = 0;
	m->msg_controllen = 0;
	m->msg_flags = flags & MSG_CMSG_CLOEXEC;
	if (__builtin_expect((options & SOCKET_STAMPED) && r > 0, 0))
		put_stamp(m, &room, fd);
	if (__builtin_expect(options & SOCKET_INQ, 0)) {
		int hint = socket_input_hint(c, fd);

		put_control(m, &room, IPPROTO_TCP, TCP_CM_INQ, &hint,
			    sizeof(hint));
	}
	return r;
}

static NOT_PLAIN ssize_t recvmsg_any(int fd, struct msghdr *m, int flags)
{
	struct connection *c = served_point(fd);
	ssize_t r = SOCKET_KERNEL;

	if (c)
		r = receive_message(c, fd, m, flags);
	return r == SOCKET_KERNEL ? real.recvmsg(fd, m, flags) : r;
}

PRELOAD_HOT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	return is_plain(fd) ? real.recvmsg(fd, m, flags)
			    : recvmsg_any(fd, m, flags);
}

/* recvmmsg(2): looked at after each message, and never while one waits. */
static bool time_is_over(struct timespec *left, uint64_t end)
{
	uint64_t left_ns;

	if (!left)
		return false;
	left_ns = sys_left_ns(end);
	*left = sys_timespec(left_ns);
	return left_ns == 0;
}

/* The number may be another socket's since the call began. */
static ssize_t receive_next(struct connection *c, int fd, struct msghdr *m,
			    int flags)
{
	return connection_phase(c) == PHASE_NATIVE
		   ? SOCKET_KERNEL
		   : receive_message(c, connection_fd(c, fd), m, flags);
}

/* The kernel's own code for "interrupted" reaches the program this way. */
#define RESTART_CALL 512 /* ERESTARTSYS */

/* As do_recvmmsg(): what ends the call behind its first message is for the next
 * one. */
static int several_end(struct connection *c, unsigned done)
{
	int error = errno;

	if (done == 0)
		return -1;
	if (error == EINTR && !(atomic_load(&c->slot->socket_flags) &
				(SOCKET_RCVTIMEO | SOCKET_RCVNEVER)))
		error = RESTART_CALL;
	if (error != EAGAIN && connection_phase(c) == PHASE_ACTIVE)
		connection_owe_error(c, error);
	return (int)done;
}

/* All of it, so that the kernel keeps what ends it; its time began with the
 * call. */
static int several_of_kernel(int fd, struct mmsghdr *m, unsigned n, int flags,
			     struct timespec *t, uint64_t end)
{
	struct timespec left;
	int r;

	if (!t)
		return real.recvmmsg(fd, m, n, flags, NULL);
	time_is_over(&left, end);
	r = real.recvmmsg(fd, m, n, flags, &left);
	if (r > 0)
		*t = left;
	return r;
}

/* One message after the other. The end of the stream is a message, too. */
static int receive_several(struct connection *c, int fd, struct mmsghdr *m,
			   unsigned n, int flags, struct timespec *t)
{
	uint64_t end = sys_end_ns(t);
	unsigned done = 0;

	while (done < n) {
		int how = flags & ~MSG_WAITFORONE;
		ssize_t r;

		if (done > 0 && (flags & MSG_WAITFORONE))
			how |= MSG_DONTWAIT;
		r = receive_next(c, fd, &m[done].msg_hdr,
				 how | (done > 0 ? SOCKET_HAS_PART : 0));
		if (r == SOCKET_KERNEL && done == 0)
			return several_of_kernel(connection_fd(c, fd), m, n,
						 flags, t, end);
		if (r == SOCKET_KERNEL)
			r = real.recvmsg(connection_fd(c, fd), &m[done].msg_hdr,
					 how);
		if (r < 0)
			return several_end(c, done);
		if (!pages_hold(&m[done], sizeof(*m), true)) {
			no_place();
			return several_end(c, done);
		}
		m[done++].msg_len = (unsigned)r;
		if (time_is_over(t, end))
			break;
	}
	return (int)done;
}

/* recvmmsg() tells an error before bytes that came ahead of it, and before the
 * end of a half. */
static int error_first(struct connection *c, int fd, int flags)
{
	struct ends_words w = connection_ends(c);
	socklen_t n = sizeof(int);
	int error = 0;

	if ((flags & MSG_ERRQUEUE) ||
	    !(ends_peer(&w) >= PEER_SHUT || ends_says_shut(&w) || w.error ||
	      tcp_ends_now(c, fd)))
		return 0;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) ? 0 : error;
}

PRELOAD int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
		     struct timespec *t)
{
	struct connection *c = served_point(fd);
	struct sleeper call;
	volatile int done;
	int error;

	if (!c || (t && !pages_hold(t, sizeof(*t), true)) ||
	    (t && (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec > 999999999)))
		return real.recvmmsg(fd, m, n, flags, t);
	error =
	    connection_phase(c) == PHASE_ACTIVE ? error_first(c, fd, flags) : 0;
	if (error) {
		errno = error;
		return -1;
	}
	/* All of them come from this socket. */
	call = socket_sleeper(c);
	sleeper_begin(&call, NULL);
	pthread_cleanup_push(sleeper_end, &call);
	done = receive_several(c, fd, m, n, flags, t);
	pthread_cleanup_pop(1);
	return done;
}

/* ---- out ---- */

static inline ssize_t send_one(struct connection *c, int fd, const void *p,
			       size_t n, int flags)
{
	struct iovec v = {(void *)(uintptr_t)p, capped(n)};
	ssize_t r = fastpath_send(c, fd, p, n, flags);

	return r ? r : socket_send(c, fd, &v, 1, flags);
}

/* What TCP did not take, while readiness is still read off the cursors. */
static ssize_t by_kernel(int fd, ssize_t result, const struct iovec *v,
			 size_t count)
{
	struct connection *c = served(fd);

	if (c && (result < 0 ? errno == EAGAIN
			     : (size_t)result < socket_bytes(v, count)))
		atomic_fetch_add(&c->slot->tx.blocked, 1);
	return result;
}

/* TCP does not look at an address, but the kernel reads it first. */
static bool is_name(const void *a, socklen_t l)
{
	return !a || l == 0 ||
	       (l <= sizeof(struct sockaddr_storage) &&
		pages_hold(a, l, false));
}

static NOT_PLAIN ssize_t send_any(int fd, const void *p, size_t n, int flags,
				  const struct sockaddr *a, socklen_t l)
{
	struct iovec v = {(void *)(uintptr_t)p, capped(n)};
	struct connection *c = served_end_point(fd);
	ssize_t r = SOCKET_KERNEL;

	if (c && is_name(a, l))
		r = send_one(c, fd, p, n, flags);
	if (r != SOCKET_KERNEL)
		return r;
	return by_kernel(fd, real.sendto(fd, p, n, flags, a, l), &v, 1);
}

static inline ssize_t send_to(int fd, const void *p, size_t n, int flags,
			      const struct sockaddr *a, socklen_t l)
{
	return is_plain(fd) ? real.sendto(fd, p, n, flags, a, l)
			    : send_any(fd, p, n, flags, a, l);
}

PRELOAD_HOT ssize_t sendto(int fd, const void *p, size_t n, int flags,
			   const struct sockaddr *a, socklen_t l)
{
	return send_to(fd, p, n, flags, a, l);
}

PRELOAD_HOT ssize_t send(int fd, const void *p, size_t n, int flags)
{
	return send_to(fd, p, n, flags, NULL, 0);
}

static NOT_PLAIN ssize_t write_any(int fd, const void *p, size_t n)
{
	struct iovec v = {(void *)(uintptr_t)p, n};
	struct connection *c = served_end_point(fd);
	ssize_t r = SOCKET_KERNEL;

	if (c && !is_beyond(n))
		r = send_one(c, fd, p, n, 0);
	if (r != SOCKET_KERNEL)
		return r;
	return by_kernel(fd, real.write(fd, p, n), &v, 1);
}

PRELOAD_HOT ssize_t write(int fd, const void *p, size_t n)
{
	return is_plain(fd) ? real.write(fd, p, n) : write_any(fd, p, n);
}

static ssize_t send_vector(int fd, const struct iovec *v, int n, int flags)
{
	struct connection *c = served_end_point(fd);

	return c && has_bytes(v, n) ? socket_send(c, fd, v, (size_t)n, flags)
				    : SOCKET_KERNEL;
}

PRELOAD_HOT ssize_t writev(int fd, const struct iovec *v, int n)
{
	ssize_t r;

	if (is_plain(fd))
		return real.writev(fd, v, n);
	r = send_vector(fd, v, n, 0);
	if (r != SOCKET_KERNEL)
		return r;
	return by_kernel(fd, real.writev(fd, v, n), v, (size_t)n);
}

PRELOAD ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at,
			 int flags)
{
	ssize_t r = SOCKET_KERNEL;

	if (is_stream_call(fd, at, flags))
		r = send_vector(fd, v, n,
				flags & RWF_NOWAIT ? MSG_DONTWAIT : 0);
	if (r != SOCKET_KERNEL)
		return r;
	return by_kernel(fd, real.pwritev2(fd, v, n, at, flags), v, (size_t)n);
}

PRELOAD_ALIAS(pwritev64v2, pwritev2);

static ssize_t send_message(int fd, const struct msghdr *m, int flags)
{
	struct connection *c = served_end(fd);
	socklen_t name;

	if (!c || !is_message(m))
		return SOCKET_KERNEL;
	/* One that is too long is cut here. */
	name = sizeof(struct sockaddr_storage);
	name = m->msg_namelen < name ? m->msg_namelen : name;
	if (!is_name(m->msg_name, name))
		return SOCKET_KERNEL;
	if (m->msg_control && m->msg_controllen)
		return socket_send_demoted(c, fd, flags, REASON_DEMOTED_CALL);
	return socket_send(c, fd, m->msg_iov, m->msg_iovlen, flags);
}

static ssize_t message_by_kernel(int fd, const struct msghdr *m, int flags)
{
	ssize_t r = real.sendmsg(fd, m, flags);

	return served(fd) && is_message(m)
		   ? by_kernel(fd, r, m->msg_iov, m->msg_iovlen)
		   : r;
}

static NOT_PLAIN ssize_t sendmsg_any(int fd, const struct msghdr *m, int flags)
{
	ssize_t r;

	if (served_end(fd))
		cancellation_point();
	if (has_control(m))
		successor_message(m);
	if (is_plain(fd))
		return real.sendmsg(fd, m, flags);
	r = send_message(fd, m, flags);
	if (r != SOCKET_KERNEL)
		return r;
	return message_by_kernel(fd, m, flags);
}

PRELOAD_HOT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	return is_plain(fd) && !is_told_of_messages()
		   ? real.sendmsg(fd, m, flags)
		   : sendmsg_any(fd, m, flags);
}

PRELOAD int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	unsigned done = 0;

	if (served_end(fd))
		cancellation_point();
	/* As the kernel does. */
	if (n > IOV_MAX)
		n = IOV_MAX;
	for (unsigned i = 0; i < n; i++)
		if (has_control(&m[i].msg_hdr))
			successor_message(&m[i].msg_hdr);
	if (!served(fd))
		return real.sendmmsg(fd, m, n, flags);
	while (done < n) {
		ssize_t r = send_message(fd, &m[done].msg_hdr, flags);

		if (r == SOCKET_KERNEL)
			r = message_by_kernel(fd, &m[done].msg_hdr, flags);
		if (r < 0)
			return done ? (int)done : -1;
		if (!pages_hold(&m[done], sizeof(*m), true))
			return done ? (int)done : (int)no_place();
		m[done++].msg_len = (unsigned)r;
	}
	return (int)done;
}

/* ---- from file to socket ---- */

/* One whose bytes are as many as it says. In those of /proc there are more, and
 * the kernel may not send them at all: it is asked also where nothing can be
 * read at the beginning, as of the memory of a process. */
static bool is_ordinary(int fd)
{
	struct stat st;
	char byte;

	return sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_size > 0 || SYS_CALL4(SYS_pread64, fd, &byte, 1, 0) == 0);
}

/* From what is no ordinary file. What the kernel would refuse it refuses before
 * it looks at a byte. */
static ssize_t send_odd_file(struct connection *c, int out, int in, off_t *at,
			     size_t n)
{
	if (real.sendfile(out, in, at, 0) < 0)
		return -1;
	if (n == 0)
		return 0;
	demote(c, out, REASON_DEMOTED_CALL);
	return SOCKET_KERNEL;
}

static NOT_PLAIN ssize_t sendfile_any(int out, int in, off_t *at, size_t n)
{
	struct connection *c = served(out);
	ssize_t r = SOCKET_KERNEL;

	if ((ssize_t)n < 0 ||
	    (c && (relaxed_load(&c->slot->socket_flags) & SOCKET_APPENDS)))
		r = SOCKET_KERNEL; /* refuses it */
	else if (c && is_ordinary(in) &&
		 (!at || (pages_hold(at, sizeof(*at), true) && *at >= 0)))
		r = socket_send_file(c, out, in, at, n);
	else if (c)
		r = send_odd_file(c, out, in, at, n);
	else if (!at && served(in))
		r = splice_copy(in, out, n, 0);
	if (r != SOCKET_KERNEL)
		return r;
	return by_kernel(out, real.sendfile(out, in, at, n), NULL, 0);
}

PRELOAD ssize_t sendfile(int out, int in, off_t *at, size_t n)
{
	return is_plain(out) && is_plain(in) ? real.sendfile(out, in, at, n)
					     : sendfile_any(out, in, at, n);
}

PRELOAD_ALIAS(sendfile64, sendfile);

PRELOAD ssize_t splice(int in, loff_t *ia, int out, loff_t *oa, size_t n,
		       unsigned flags)
{
	ssize_t r = SOCKET_KERNEL;

	if ((served(in) || served(out)) && !ia && !oa) {
		cancellation_point();
		r = splice_copy(in, out, n, flags);
	}
	if (r != SOCKET_KERNEL)
		return r;
	return by_kernel(out, real.splice(in, ia, out, oa, n, flags), NULL, 0);
}

/* ---- formatted ---- */

PRELOAD int vdprintf(int fd, const char *restrict format, va_list ap)
{
	char *text;
	int done = 0;
	int n;

	if (!connection_of(fd)) {
		real_need();
		return real.vdprintf(fd, format, ap);
	}
	n = vasprintf(&text, format, ap);
	if (n < 0)
		return -1;
	while (done < n) {
		ssize_t r = write(fd, text + done, (size_t)(n - done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			n = -1;
			break;
		}
		done += (int)r;
	}
	free(text);
	return n;
}

PRELOAD int dprintf(int fd, const char *restrict format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vdprintf(fd, format, ap);
	va_end(ap);
	return n;
}

PRELOAD int __vdprintf_chk(int fd, int level, const char *restrict format,
			   va_list ap) __attribute__((format(printf, 3, 0)));
PRELOAD int __vdprintf_chk(int fd, int level, const char *restrict format,
			   va_list ap)
{
	(void)level;
	return vdprintf(fd, format, ap);
}

PRELOAD int __dprintf_chk(int fd, int level, const char *restrict format, ...)
    __attribute__((format(printf, 3, 4)));
PRELOAD int __dprintf_chk(int fd, int level, const char *restrict format, ...)
{
	va_list ap;
	int n;

	(void)level;
	va_start(ap, format);
	n = vdprintf(fd, format, ap);
	va_end(ap);
	return n;
}

/* ---- second names, and those of fortified programs ---- */

PRELOAD_ALIAS(__read, read);
PRELOAD_ALIAS(__write, write);
PRELOAD_ALIAS(__send, send);

PRELOAD_CHECKED(ssize_t, __read_chk, (int fd, void *p, size_t n, size_t room),
		n > room, read(fd, p, n))

PRELOAD_CHECKED(ssize_t, __recv_chk,
		(int fd, void *p, size_t n, size_t room, int flags), n > room,
		recv(fd, p, n, flags))

/* NOLINTNEXTLINE(readability-function-size): so many parameters has glibc's */
PRELOAD_CHECKED(ssize_t, __recvfrom_chk,
		(int fd, void *p, size_t n, size_t room, int flags,
		 struct sockaddr *a, socklen_t *l),
		n > room, recvfrom(fd, p, n, flags, a, l))
