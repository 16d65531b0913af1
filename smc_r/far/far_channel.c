/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* far_channel: a program's end of a hello. */
#include "smc_r/far/far_channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/text.h"
#include "smc_r/status/home.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* The directory of all users lies in the run directory, whose path may be
 * longer than an address. */
static void name_of(struct sockaddr_un *a, uint64_t cookie)
{
	char *at;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	at = text_put_number(text_put(a->sun_path, "/proc/self/fd/"),
			     (uint64_t)home_users());
	at = text_put(at, "/../" FAR_SOCKET);
	text_put_number(at, cookie);
}

int far_channel_open(int tcp)
{
	struct sockaddr_un a;
	uint64_t cookie = 0;
	long result;
	int fd = home_users();

	ENGINE_LOCKED();
	if (fd < 0)
		return fd;
	result = sys_getsockopt(tcp, SOL_SOCKET, SO_NETNS_COOKIE, &cookie,
				sizeof(cookie));
	if (result < 0)
		return (int)result;
	result = SYS_CALL3(SYS_socket, AF_UNIX,
			   SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	fd = result < 0 ? (int)result : private_fd((int)result);
	if (fd < 0)
		return fd;
	name_of(&a, cookie);
	result = SYS_CALL3(SYS_connect, fd, &a, sizeof(a));
	if (result == 0)
		return fd;
	private_fd_close(fd);
	return (int)result;
}

static long send_hello(int channel, int tcp, const struct far_hello *hello)
{
	struct far_hello copy = *hello;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} rights;
	struct iovec v = {&copy, sizeof(copy)};
	struct msghdr h = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &rights,
			   .msg_controllen = sizeof(rights)};

	memset(&rights, 0, sizeof(rights));
	rights.head.cmsg_level = SOL_SOCKET;
	rights.head.cmsg_type = SCM_RIGHTS;
	rights.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&rights.head), &tcp, sizeof(tcp));
	return SYS_CALL3(SYS_sendmsg, channel, &h, MSG_NOSIGNAL);
}

int far_channel_ask(int channel, int tcp, const struct far_hello *hello,
		    struct far_answer *answer, unsigned ms)
{
	long n = send_hello(channel, tcp, hello);

	ENGINE_LOCKED();
	if (n < 0)
		return (int)n;
	if (!sys_poll(channel, POLLIN, (int)ms))
		return -ETIMEDOUT;
	n = SYS_CALL6(SYS_recvfrom, channel, answer, sizeof(*answer),
		      MSG_DONTWAIT, 0, 0);
	if (n < 0)
		return (int)n;
	return n == (long)sizeof(*answer) && answer->magic == FAR_MAGIC &&
		       answer->version == FAR_VERSION
		   ? 0
		   : -EPROTO;
}

int far_channel_confirm(int channel)
{
	char taken = 1;
	long n = SYS_CALL6(SYS_sendto, channel, &taken, 1,
			   MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);

	return n == 1 ? 0 : n < 0 ? (int)n : -EPROTO;
}
