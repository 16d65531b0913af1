/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_call: what a call that reads and one that writes have in common: its
 * buffers, its time-out, its error. For socket_receive.c and socket_send.c.
 */
#ifndef SMC_R_SOCKET_CALL_H
#define SMC_R_SOCKET_CALL_H

#include <errno.h>
#include <stddef.h>

#include "smc_r/epoll/epoll_member.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/socket/socket_io.h"
#include "smc_r/stream/stream.h"

/* Buffers that go to the kernel at a time, where a copy of them is needed. */
#define REST_BUFFERS 16

static inline ssize_t socket_fail(int error)
{
	errno = error;
	return -1;
}

/* A sleep takes rings. Other threads, which wait for the same in an epoll
 * instance, look again, as theirs may have been among them. */
static inline void socket_wake_instances(struct connection *c)
{
	if (__builtin_expect(c->epoll.members != NULL, 0))
		epoll_wake_members(c, AGAIN_NOTHING);
}

/* What is left of the buffers, from the i-th of `at` on, as many as v, of
 * REST_BUFFERS, has room for. Returns their number. */
size_t socket_copy_buffers(struct iovec *v, const struct place *at, size_t i);

/* When the time-out of a call is over: it counts from the first wait on. */
struct call_time {
	bool known;
	bool limited;
	uint64_t end_ns;
	struct timespec left;
};

/* What is left of the time-out of the option `name`, if it is set and
 * socket_flags say so. NULL: for ever. */
const struct timespec *socket_time_left(struct connection *c, int fd, int name,
					struct call_time *t);

/* What a call returns before it comes to the ring, by what the handshake said;
 * 0: goes on to it; SOCKET_END: it reads the end of file. *fd is the number
 * from here on. */
#define SOCKET_END ((ssize_t)-3)
ssize_t socket_begin(struct connection *c, int *fd, enum way way);

/* The kernel's call, sendmsg() or recvmsg(), while that of the program counts:
 * the number means something else as soon as somebody closes it behind that. */
ssize_t socket_by_kernel(struct connection *c, int fd, const struct iovec *v,
			 size_t count, int flags, bool sends);

#endif
