/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_call: one request to the core and its answer.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "ofed_core/base/ofed_rundir.h"

#define next_socket  SHIM_NEXT(socket)
#define next_sendmsg SHIM_NEXT(sendmsg)
#define next_recvmsg SHIM_NEXT(recvmsg)

static void close_next(int fd)
{
	SHIM_NEXT(close)(fd);
}

int shim_connect(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int rc = ofed_rundir_path(a.sun_path, sizeof(a.sun_path), "verbs");
	int fd;

	if (rc < 0)
		return rc;
	fd = next_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (SHIM_NEXT(connect)(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		rc = -errno;
		close_next(fd);
		return rc == -ECONNREFUSED ? -ENODEV : rc;
	}
	if (!ofed_rundir_has_core(fd)) {
		close_next(fd);
		return -EPERM;
	}
	return fd;
}

static int send_request(int fd, const struct shim_request *request,
			const void *bytes, const int *fds, unsigned fd_count)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = {0};
	struct iovec iov[2] = {
	    {(void *)(uintptr_t)request, sizeof(*request)},
	    {(void *)(uintptr_t)bytes, request->bytes},
	};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t n;

	if (fd_count) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	do {
		/* A program may have made the descriptor non-blocking. */
		n = next_sendmsg(fd, &m, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			usleep(100);
			errno = EINTR;
		}
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	/* The kernel's word for a device that is gone. */
	return errno == EPIPE || errno == ECONNRESET ? -EIO : -errno;
}

static int receive_answer(int fd, struct shim_answer *answer)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct shim_reply reply;
	struct iovec iov[2] = {
	    {&reply, sizeof(reply)},
	    {answer->data, sizeof(answer->data)},
	};
	struct msghdr m = {.msg_iov = iov,
			   .msg_iovlen = 2,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = next_recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&answer->fd, CMSG_DATA(c), sizeof(int));
	if ((size_t)n < sizeof(reply) ||
	    reply.bytes != (size_t)n - sizeof(reply)) {
		if (answer->fd >= 0)
			close_next(answer->fd);
		answer->fd = -1;
		return -EIO;
	}
	answer->result = reply.result;
	answer->bytes = reply.bytes;
	answer->fd_offset = reply.fd_offset;
	return 0;
}

int shim_call(int fd, const struct shim_request *request, const void *bytes,
	      int extra, struct shim_answer *answer)
{
	int pair[2];
	int fds[2];
	int rc;

	answer->fd = -1;
	answer->bytes = 0;
	if (SHIM_NEXT(socketpair)(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				  pair) < 0)
		return -errno;
	fds[0] = pair[1];
	fds[1] = extra;
	rc = send_request(fd, request, bytes, fds, extra >= 0 ? 2 : 1);
	close_next(pair[1]);
	if (rc == 0)
		rc = receive_answer(pair[0], answer);
	close_next(pair[0]);
	return rc;
}

int shim_post(int fd, const struct shim_request *request)
{
	return send_request(fd, request, NULL, NULL, 0);
}
