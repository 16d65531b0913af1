/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_io: what a program means when it reads or writes a socket that is on
 * SMC: blocking, errno, time-outs, signals, as TCP does them (socket_receive.c,
 * socket_send.c).
 *
 * Each returns what the libc call returns (with errno set), or SOCKET_KERNEL:
 * nothing was done, call the kernel.
 */
#ifndef SMC_R_SOCKET_IO_H
#define SMC_R_SOCKET_IO_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "smc_r/connection/connection.h"

#define SOCKET_KERNEL ((ssize_t)-2)

/* Linux moves at most this much in one call. */
#define CALL_BYTES_MAX 0x7ffff000u

/* Beside the flags of socket_receive: the program's call has moved something
 * already, so a signal ends it, whatever SA_RESTART says. No flag of recv(2) is
 * this bit. */
#define SOCKET_HAS_PART 0x08000000

ssize_t socket_receive(struct connection *c, int fd, const struct iovec *v,
		       size_t count, int flags);
ssize_t socket_send(struct connection *c, int fd, const struct iovec *v,
		    size_t count, int flags);
/* For what only the kernel can send: back to TCP, unless the cursors tell of an
 * end that TCP knows nothing of. */
ssize_t socket_send_demoted(struct connection *c, int fd, int flags,
			    uint32_t reason);
ssize_t socket_send_file(struct connection *c, int fd, int in, off_t *offset,
			 size_t count);

/* All buffers together, at most what Linux moves in one call. */
static inline size_t socket_bytes(const struct iovec *v, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += v[i].iov_len;
	return n < CALL_BYTES_MAX ? n : CALL_BYTES_MAX;
}

/* FIONREAD: as ioctl(), 0 or -1. */
int socket_input_bytes(struct connection *c, int fd, int *out);
/* TCP_INQ: the same, and one more when the stream has ended. */
int socket_input_hint(struct connection *c, int fd);

/* What the kernel's socket would do now: does a call wait? A flag that was set
 * behind our back is found before the first sleep. */
static inline bool socket_waits(struct connection *c, int flags)
{
	return !(flags & MSG_DONTWAIT) &&
	       !(relaxed_load(&c->slot->socket_flags) & SOCKET_NONBLOCK);
}

#endif
