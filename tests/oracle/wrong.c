/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wrong: a preload library that is wrong on purpose, in the way ORACLE_WRONG
 * names. Each way is a mistake that a library under sockets can make; the
 * oracle is worth something if it notices every one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT           __attribute__((visibility("default")))
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static bool wrong(const char *how)
{
	const char *name = getenv("ORACLE_WRONG");

	return name && !strcmp(name, how);
}

/* Pipes and files are not our business: only sockets of the internet are. */
static bool is_tcp(int fd)
{
	int domain = 0, error = errno;
	socklen_t len = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		domain = 0;
	errno = error;
	return domain == AF_INET || domain == AF_INET6;
}

static void wait_readable(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	int (*real)(struct pollfd *, nfds_t, int) =
	    REAL(int (*)(struct pollfd *, nfds_t, int), "poll");

	real(&p, 1, -1);
}

static bool is_nonblocking(int fd, int flags)
{
	return (flags & MSG_DONTWAIT) || (fcntl(fd, F_GETFL) & O_NONBLOCK);
}

EXPORT ssize_t recv(int fd, void *bytes, size_t size, int flags);
EXPORT ssize_t send(int fd, const void *bytes, size_t size, int flags);

ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
	static long total;
	ssize_t (*real)(int, void *, size_t, int) =
	    REAL(ssize_t(*)(int, void *, size_t, int), "recv");
	struct pollfd p = {fd, POLLIN, 0};
	ssize_t n;

	if (!is_tcp(fd))
		return real(fd, bytes, size, flags);
	if (wrong("peek-takes"))
		flags &= ~MSG_PEEK;
	if (wrong("waitall-short"))
		flags &= ~MSG_WAITALL;
	if (wrong("trunc-copies"))
		flags &= ~MSG_TRUNC;
	if (wrong("oob-hidden") && (flags & MSG_OOB))
		return errno = EINVAL, -1;
	if (wrong("never-restarted") && !is_nonblocking(fd, flags) &&
	    poll(&p, 1, -1) < 0)
		return -1;
	do
		n = real(fd, bytes, size, flags);
	while (n < 0 && errno == EINTR && wrong("always-restarted"));
	if (n < 0 && errno == ECONNRESET && wrong("reset-is-end"))
		return 0;
	if (n > 0 && wrong("byte-changed") && (total += n) > 70000)
		((char *)bytes)[n / 2] ^= 1;
	if (n > 0 && wrong("writes-beyond"))
		((char *)bytes)[n] = 0;
	return n;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int) =
	    REAL(ssize_t(*)(int, const void *, size_t, int), "send");

	if (!is_tcp(fd))
		return real(fd, bytes, size, flags);
	if (wrong("nosignal-ignored"))
		flags &= ~MSG_NOSIGNAL;
	if (wrong("no-sigpipe"))
		flags |= MSG_NOSIGNAL;
	if (wrong("oob-ordinary"))
		flags &= ~MSG_OOB;
	if (wrong("send-short") && size > 5000)
		size = 5000;
	if (wrong("send-never-waits"))
		flags |= MSG_DONTWAIT;
	return real(fd, bytes, size, flags);
}

EXPORT ssize_t read(int fd, void *bytes, size_t size);
ssize_t read(int fd, void *bytes, size_t size)
{
	ssize_t (*real)(int, void *, size_t) =
	    REAL(ssize_t(*)(int, void *, size_t), "read");

	if (wrong("read-waits") && is_tcp(fd))
		wait_readable(fd);
	return real(fd, bytes, size);
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count);
ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t (*real)(int, const struct iovec *, int) =
	    REAL(ssize_t(*)(int, const struct iovec *, int), "writev");

	if (wrong("writev-first") && count > 1 && is_tcp(fd))
		count = 1;
	return real(fd, parts, count);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags);
ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int) =
	    REAL(ssize_t(*)(int, struct msghdr *, int), "recvmsg");
	socklen_t name = m->msg_namelen;
	ssize_t n = real(fd, m, flags);

	if (n >= 0 && wrong("name-kept") && is_tcp(fd))
		m->msg_namelen = name;
	return n;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) =
	    REAL(ssize_t(*)(int, const struct msghdr *, int), "sendmsg");
	struct cmsghdr *c = m->msg_control ? CMSG_FIRSTHDR(m) : NULL;
	char bytes[4096];
	int passed;

	/* The bytes the library holds for this connection go nowhere. */
	if (c && c->cmsg_type == SCM_RIGHTS && wrong("passing-loses")) {
		memcpy(&passed, CMSG_DATA(c), sizeof(passed));
		recv(passed, bytes, sizeof(bytes), MSG_DONTWAIT);
	}
	return real(fd, m, flags);
}

EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t size);
ssize_t sendfile(int fd, int from, off_t *offset, size_t size)
{
	ssize_t (*real)(int, int, off_t *, size_t) =
	    REAL(ssize_t(*)(int, int, off_t *, size_t), "sendfile");
	ssize_t n = real(fd, from, offset, size);

	if (n >= 0 && offset && wrong("sendfile-offset"))
		(*offset)++;
	return n;
}

EXPORT ssize_t splice(int from, off64_t *a, int to, off64_t *b, size_t size,
		      unsigned flags);
ssize_t splice(int from, off64_t *a, int to, off64_t *b, size_t size,
	       unsigned flags)
{
	ssize_t (*real)(int, off64_t *, int, off64_t *, size_t, unsigned) =
	    REAL(ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned),
		 "splice");

	if (wrong("splice-refused"))
		return errno = EINVAL, -1;
	return real(from, a, to, b, size, flags);
}

EXPORT int ioctl(int fd, unsigned long request, ...);
int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, void *) =
	    REAL(int (*)(int, unsigned long, void *), "ioctl");
	va_list args;
	void *argument;
	int ret;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (request == FIONBIO && wrong("fionbio-ignored"))
		return 0;
	ret = real(fd, request, argument);
	if (!ret && request == FIONREAD && wrong("fionread-zero"))
		*(int *)argument = 0;
	return ret;
}

EXPORT int setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len);
int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int (*real)(int, int, int, const void *, socklen_t) =
	    REAL(int (*)(int, int, int, const void *, socklen_t), "setsockopt");
	static const struct {
		const char *how;
		int level, name;
	} lost[] = {
	    {"rcvtimeo-ignored", SOL_SOCKET, SO_RCVTIMEO},
	    {"sndtimeo-ignored", SOL_SOCKET, SO_SNDTIMEO},
	    {"rcvlowat-ignored", SOL_SOCKET, SO_RCVLOWAT},
	    {"linger-ignored", SOL_SOCKET, SO_LINGER},
	    {"oobinline-ignored", SOL_SOCKET, SO_OOBINLINE},
	};

	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		if (level == lost[i].level && name == lost[i].name &&
		    wrong(lost[i].how))
			return 0;
	return real(fd, level, name, value, len);
}

EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int (*real)(int, int, int, void *, socklen_t *) =
	    REAL(int (*)(int, int, int, void *, socklen_t *), "getsockopt");
	int ret = real(fd, level, name, value, len);

	if (!ret && level == SOL_SOCKET && name == SO_ERROR &&
	    wrong("so-error-zero"))
		*(int *)value = 0;
	return ret;
}

EXPORT int shutdown(int fd, int how);
int shutdown(int fd, int how)
{
	int (*real)(int, int) = REAL(int (*)(int, int), "shutdown");

	if (wrong("shutdown-lost"))
		return 0;
	if (wrong("shutdown-read-too") && how == SHUT_WR)
		how = SHUT_RDWR;
	return real(fd, how);
}

EXPORT int close(int fd);
int close(int fd)
{
	int (*real)(int) = REAL(int (*)(int), "close");
	char bytes[65536];

	if (fd > 2 && is_tcp(fd)) {
		if (wrong("close-ends-sharers"))
			shutdown(fd, SHUT_RDWR);
		while (wrong("close-takes-unread") &&
		       recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	}
	return real(fd);
}

EXPORT int execv(const char *path, char *const argv[]);
int execv(const char *path, char *const argv[])
{
	int (*real)(const char *, char *const *) =
	    REAL(int (*)(const char *, char *const *), "execv");
	char bytes[65536];

	for (int fd = 3; fd < 60 && wrong("exec-loses"); fd++)
		if (is_tcp(fd))
			recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	return real(path, argv);
}

EXPORT int connect(int fd, const struct sockaddr *a, socklen_t len);
int connect(int fd, const struct sockaddr *a, socklen_t len)
{
	int (*real)(int, const struct sockaddr *, socklen_t) =
	    REAL(int (*)(int, const struct sockaddr *, socklen_t), "connect");
	int flags = fcntl(fd, F_GETFL), ret;

	if (!wrong("connect-waits"))
		return real(fd, a, len);
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	ret = real(fd, a, len);
	fcntl(fd, F_SETFL, flags);
	return ret;
}

EXPORT int accept4(int fd, struct sockaddr *a, socklen_t *len, int flags);
int accept4(int fd, struct sockaddr *a, socklen_t *len, int flags)
{
	int (*real)(int, struct sockaddr *, socklen_t *, int) =
	    REAL(int (*)(int, struct sockaddr *, socklen_t *, int), "accept4");

	return real(fd, a, len, wrong("accept4-flags") ? 0 : flags);
}

EXPORT int epoll_ctl(int ep, int action, int fd, struct epoll_event *event);
int epoll_ctl(int ep, int action, int fd, struct epoll_event *event)
{
	int (*real)(int, int, int, struct epoll_event *) =
	    REAL(int (*)(int, int, int, struct epoll_event *), "epoll_ctl");
	struct epoll_event e;

	if (!event)
		return real(ep, action, fd, event);
	if (wrong("mod-ignored") && action == EPOLL_CTL_MOD)
		return 0;
	e = *event;
	if (wrong("edge-is-level"))
		e.events &= ~(unsigned)EPOLLET;
	if (wrong("level-is-edge"))
		e.events |= (unsigned)EPOLLET;
	if (wrong("oneshot-repeats"))
		e.events &= ~(unsigned)EPOLLONESHOT;
	if (wrong("rdhup-unseen"))
		e.events &= ~(unsigned)EPOLLRDHUP;
	if (wrong("epoll-data"))
		e.data.u64 &= 0xffffffff;
	return real(ep, action, fd, &e);
}

EXPORT int epoll_wait(int ep, struct epoll_event *events, int max, int ms);
int epoll_wait(int ep, struct epoll_event *events, int max, int ms)
{
	int (*real)(int, struct epoll_event *, int, int) =
	    REAL(int (*)(int, struct epoll_event *, int, int), "epoll_wait");
	int n;

	do
		n = real(ep, events, max, ms);
	while (n < 0 && errno == EINTR && wrong("epoll-uninterruptible") &&
	       ms > 0);
	for (int i = 0; i < n; i++) {
		if (wrong("err-bits-lost"))
			events[i].events &= ~(unsigned)(EPOLLERR | EPOLLHUP);
		if (wrong("one-bit-only") && (events[i].events & EPOLLIN))
			events[i].events &= ~(unsigned)EPOLLOUT;
	}
	return n;
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int ms);
int poll(struct pollfd *fds, nfds_t count, int ms)
{
	int (*real)(struct pollfd *, nfds_t, int) =
	    REAL(int (*)(struct pollfd *, nfds_t, int), "poll");
	int n;

	if (wrong("timeout-early") && ms > 20 && ms < 1000)
		ms = 0;
	n = real(fds, count, ms);
	for (nfds_t i = 0; i < count; i++)
		if (wrong("always-writable") && (fds[i].events & POLLOUT) &&
		    is_tcp(fds[i].fd) && !fds[i].revents) {
			fds[i].revents = POLLOUT;
			n++;
		}
	return n;
}

EXPORT int select(int count, fd_set *r, fd_set *w, fd_set *x,
		  struct timeval *t);
int select(int count, fd_set *r, fd_set *w, fd_set *x, struct timeval *t)
{
	int (*real)(int, fd_set *, fd_set *, fd_set *, struct timeval *) =
	    REAL(int (*)(int, fd_set *, fd_set *, fd_set *, struct timeval *),
		 "select");
	int n = real(count, r, w, x, t);

	if (n > 0 && wrong("select-writers"))
		for (int fd = 0; w && fd < count; fd++)
			if (FD_ISSET(fd, w)) {
				FD_CLR(fd, w);
				n--;
			}
	return n;
}

EXPORT int getpeername(int fd, struct sockaddr *a, socklen_t *len);
int getpeername(int fd, struct sockaddr *a, socklen_t *len)
{
	int (*real)(int, struct sockaddr *, socklen_t *) =
	    REAL(int (*)(int, struct sockaddr *, socklen_t *), "getpeername");

	if (wrong("peer-unknown"))
		return errno = ENOTCONN, -1;
	return real(fd, a, len);
}

EXPORT int dup(int fd);
int dup(int fd)
{
	int (*real)(int) = REAL(int (*)(int), "dup");
	int copy = real(fd);

	if (copy >= 0 && wrong("dup-cloexec"))
		fcntl(copy, F_SETFD, FD_CLOEXEC);
	return copy;
}
