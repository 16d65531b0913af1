/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_call: what calls that read and that write share. */
#include "smc_r/socket/socket_call.h"

#include <string.h>
#include <sys/time.h>

#include "smc_r/os/inject.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"

size_t socket_copy_buffers(struct iovec *v, const struct place *at, size_t i)
{
	size_t count = at->count - i;

	if (count > REST_BUFFERS)
		count = REST_BUFFERS;
	memcpy(v, at->v + i, count * sizeof(*v));
	if (i == 0) {
		v[0].iov_base = (char *)v[0].iov_base + at->offset;
		v[0].iov_len -= at->offset;
	}
	return count;
}

static uint64_t ask_time_out(int fd, int name)
{
	struct timeval t = {0, 0};
	struct timespec time_out;

	if (sys_getsockopt(fd, SOL_SOCKET, name, &t, sizeof(t)) < 0)
		return 0;
	time_out.tv_sec = t.tv_sec;
	time_out.tv_nsec = t.tv_usec * 1000;
	return sys_timeout_ns(&time_out);
}

static void find_time_out(struct connection *c, int fd, int name,
			  struct call_time *t)
{
	bool reads = name == SO_RCVTIMEO;
	uint32_t flags = relaxed_load(&c->slot->socket_flags);
	uint64_t ns = 0;

	t->known = true;
	if (flags & (reads ? SOCKET_RCVTIMEO : SOCKET_SNDTIMEO))
		ns = ask_time_out(fd, name);
	t->limited =
	    ns > 0 || (flags & (reads ? SOCKET_RCVNEVER : SOCKET_SNDNEVER));
	if (t->limited)
		t->end_ns = sys_end_in_ns(ns);
}

const struct timespec *socket_time_left(struct connection *c, int fd, int name,
					struct call_time *t)
{
	if (!t->known)
		find_time_out(c, fd, name, t);
	if (!t->limited)
		return NULL;
	t->left = sys_timespec(sys_left_ns(t->end_ns));
	return &t->left;
}

static ssize_t result_of_way(enum way way)
{
	switch (way) {
	case WAY_RING:
		return 0;
	case WAY_KERNEL:
		return SOCKET_KERNEL;
	case WAY_AGAIN:
		return socket_fail(EAGAIN);
	case WAY_END:
		return SOCKET_END;
	case WAY_ERROR:
		return -1;
	}
	return SOCKET_KERNEL;
}

ssize_t socket_begin(struct connection *c, int *fd, enum way way)
{
	ssize_t result = result_of_way(way);

	*fd = connection_fd(c, *fd);
	return result;
}

ssize_t socket_by_kernel(struct connection *c, int fd, const struct iovec *v,
			 size_t count, int flags, bool sends)
{
	struct msghdr h = {.msg_iov = (struct iovec *)(uintptr_t)v,
			   .msg_iovlen = count};
	ssize_t result;
	int now;

	inject_nap();
	do {
		now = connection_fd(c, fd);
		result = sends ? real.sendmsg(now, &h, flags)
			       : real.recvmsg(now, &h, flags);
	} while (result < 0 && errno == EBADF && now != connection_fd(c, fd));
	return result;
}
