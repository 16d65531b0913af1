/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "socket_call.h"

#include <string.h>
#include <sys/time.h>

#include "sys.h"

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

const struct timespec *socket_time_out(struct connection *c, int fd, int name,
				       uint32_t bit, struct timespec *out)
{
	struct timeval t = {0, 0};
	socklen_t n = sizeof(t);

	if (!(atomic_load_explicit(&c->slot->socket_flags,
				   memory_order_relaxed) &
	      bit))
		return NULL;
	if (SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, name, &t, &n, 0) < 0 ||
	    (t.tv_sec == 0 && t.tv_usec == 0))
		return NULL;
	out->tv_sec = t.tv_sec;
	out->tv_nsec = t.tv_usec * 1000;
	return out;
}

ssize_t socket_result_of_way(enum way way)
{
	switch (way) {
	case WAY_RING:
		return 0;
	case WAY_KERNEL:
		return SOCKET_KERNEL;
	case WAY_AGAIN:
		return socket_fail(EAGAIN);
	case WAY_ERROR:
		return -1;
	}
	return SOCKET_KERNEL;
}
