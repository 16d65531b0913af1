/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_refused: calls that the kernel refuses, whatever the connection has, and
 * flags that mean nothing to a socket.
 */
/* The compiler would see what is wrong. */
#undef _FORTIFY_SOURCE
#include "actor.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void refused_waits(struct call *c, int fd)
{
	struct timespec wrong[] = {{0, -1}, {0, 1000000000}, {-1, 0}};
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
	void *volatile nowhere = NULL;
	volatile nfds_t many = 1000000000;
	fd_set in;

	for (int i = 0; i < 3; i++) {
		reply_result(c, ppoll(&p, 1, &wrong[i], NULL));
		FD_ZERO(&in);
		FD_SET(fd, &in);
		reply_result(c,
			     pselect(fd + 1, &in, NULL, NULL, &wrong[i], NULL));
	}
	reply_result(c, poll(nowhere, 1, 0));
	reply_result(c, poll(&p, many, 0));
}

static void refused_epoll(struct call *c, int fd)
{
	struct timespec wrong = {0, -1};
	struct epoll_event e = {.events = EPOLLIN};
	volatile int many = INT_MAX;
	int ep = epoll_create1(0);

	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	reply_result(c, epoll_ctl(ep, 9, fd, &e));
	reply_result(c, epoll_ctl(ep, 0, fd, &e));
	reply_result(c, epoll_wait(ep, &e, many, 0));
	reply_result(c, epoll_wait(ep, &e, 0, 0));
	reply_result(c, epoll_pwait2(ep, &e, 1, &wrong, NULL));
	close(ep);
}

/* refused FD: must not wait, whether it is readable or not. */
static void run_refused(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	struct iovec v[] = {{c->task->bytes, 1}, {c->task->bytes, (size_t)-1}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	int ends[2];

	reply_result(c, writev(fd, v, 2));
	reply_result(c, readv(fd, v, 2));
	reply_result(c, sendmsg(fd, &m, 0));
	reply_result(c, recvmsg(fd, &m, 0));
	reply_result(c, syscall(SYS_read, fd, c->task->bytes, (size_t)-1));
	reply_result(c, syscall(SYS_write, fd, c->task->bytes, (size_t)-1));
	reply_result(c, ioctl(fd, FIONREAD, NULL));
	reply_result(c, ioctl(fd, TIOCOUTQ, NULL));
	refused_waits(c, fd);
	refused_epoll(c, fd);
	if (pipe(ends)) {
		reply_bad(c, "pipe");
		return;
	}
	reply_result(c, sendfile(fd, ends[0], NULL, 5));
	reply_result(c, sendfile(fd, ends[0], NULL, (size_t)-1));
	m.msg_iovlen = 1;
	m.msg_name = c->task->bytes;
	m.msg_namelen = (socklen_t)-1;
	reply_result(c, sendmsg(fd, &m, 0));
	reply_result(c, recvmsg(fd, &m, MSG_DONTWAIT));
	v[0].iov_len = v[1].iov_len = SSIZE_MAX;
	reply_result(c, writev(fd, v, 2));
	reply_result(c, readv(fd, v, 2));
	close(ends[0]);
	reply_result(c, splice(fd, NULL, ends[1], NULL, 10, 0));
	reply(c, " sigpipe=%d", pipe_signals());
	close(ends[1]);
}

/* idleflags FD PATTERN: writes by pwritev2 whose flags are for files. */
static void run_idleflags(struct call *c)
{
	static const int flags[] = {
	    RWF_DSYNC, RWF_SYNC, RWF_HIPRI, RWF_APPEND, 0x20 /* RWF_NOAPPEND */,
	    0x10000};
	uint32_t pattern = (uint32_t)strtoul(c->argv[2], NULL, 0);
	struct iovec v = {c->task->bytes, 10};

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		pattern_fill(c->task->bytes, 10, pattern, 10 * i);
		reply_result(
		    c, pwritev2(name_fd(c->argv[1]), &v, 1, -1, flags[i]));
	}
}

const struct operation refused_operations[] = {
    {"refused", 1, run_refused},
    {"idleflags", 2, run_idleflags},
    {NULL, 0, NULL},
};
