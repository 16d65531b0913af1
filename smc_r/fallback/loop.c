/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* loop: a listener for one connection. */
#include "smc_r/fallback/loop.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "smc_r/os/sys.h"

#define TIMEOUT_MS   1000
#define WORDS_MAX    5  /* the ports, and an address of IPv6 */
#define SOURCE_IN_V4 12 /* octets from the beginning of the IP header */
#define SOURCE_IN_V6 8

typedef long name_call(int fd, struct sockaddr_storage *out);

static long own_name(int fd, struct sockaddr_storage *out)
{
	socklen_t bytes = sizeof(*out);

	memset(out, 0, sizeof(*out));
	return SYS_CALL3(SYS_getsockname, fd, out, &bytes);
}

static long peer_name(int fd, struct sockaddr_storage *out)
{
	socklen_t bytes = sizeof(*out);

	memset(out, 0, sizeof(*out));
	return SYS_CALL3(SYS_getpeername, fd, out, &bytes);
}

/* The port is at the same place in IPv4 and in IPv6. */
static in_port_t *port_of(struct sockaddr_storage *a)
{
	return &((struct sockaddr_in *)(void *)a)->sin_port;
}

/* The address alone, at a new port. */
static int open_at(struct sockaddr_storage *a)
{
	int fd = (int)SYS_CALL3(SYS_socket, a->ss_family,
				SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	*port_of(a) = 0;
	if (SYS_CALL3(SYS_bind, fd, a, sizeof(*a)) == 0 && own_name(fd, a) == 0)
		return fd;
	sys_close(fd);
	return -1;
}

/* ---- strangers stay outside ---- */

/* A packet that has another word there is dropped. */
static struct sock_filter *demand(struct sock_filter *at, uint32_t offset,
				  uint32_t word)
{
	const struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};

	memcpy(at, code, sizeof(code));
	return at + sizeof(code) / sizeof(code[0]);
}

static struct sock_filter *demand_source(struct sock_filter *at,
					 const struct sockaddr_storage *source)
{
	const struct sockaddr_in *v4 = (const void *)source;
	const struct sockaddr_in6 *v6 = (const void *)source;
	const uint32_t *words = v6->sin6_addr.s6_addr32;
	uint32_t in = (uint32_t)SKF_NET_OFF;

	if (source->ss_family == AF_INET)
		return demand(at, in + SOURCE_IN_V4,
			      ntohl(v4->sin_addr.s_addr));
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return demand(at, in + SOURCE_IN_V4, ntohl(words[3]));
	for (uint32_t i = 0; i < 4; i++)
		at = demand(at, in + SOURCE_IN_V6 + 4 * i, ntohl(words[i]));
	return at;
}

/* The filter comes before it listens, so that nobody else fills its queue.
 * Where the kernel refuses a filter, strangers are shown out when they have
 * been accepted. */
static void take_only(int listener, struct sockaddr_storage *to,
		      struct sockaddr_storage *from)
{
	struct sock_filter code[3 * WORDS_MAX + 1];
	struct sock_filter *end = code;
	struct sock_fprog program = {.filter = code};
	uint32_t ports = (uint32_t)ntohs(*port_of(from)) << 16;

	end = demand(end, 0, ports | ntohs(*port_of(to)));
	end = demand_source(end, from);
	*end++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	program.len = (unsigned short)(end - code);
	SYS_CALL6(SYS_setsockopt, listener, SOL_SOCKET, SO_ATTACH_FILTER,
		  &program, sizeof(program), 0);
}

/* An accepted socket inherits it. */
static void take_all(int fd)
{
	int unused = 0;

	SYS_CALL6(SYS_setsockopt, fd, SOL_SOCKET, SO_DETACH_FILTER, &unused,
		  sizeof(unused), 0);
}

/* ---- the connection ---- */

static bool is_peer(int one, int other)
{
	struct sockaddr_storage a, b;

	return peer_name(one, &a) == 0 && own_name(other, &b) == 0 &&
	       memcmp(&a, &b, sizeof(a)) == 0;
}

/* -1: the sender does not come. */
static int accept_sender(const struct loop *l)
{
	uint64_t end = sys_end_in_ms(TIMEOUT_MS);

	while (sys_left_ns(end) > 0) {
		int fd;

		sys_poll(l->listener, POLLIN, TIMEOUT_MS);
		fd = (int)SYS_CALL4(SYS_accept4, l->listener, 0, 0,
				    SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_peer(fd, l->sender) && is_peer(l->sender, fd)) {
			take_all(fd);
			return fd;
		}
		sys_close(fd);
	}
	return -1;
}

bool loop_open(struct loop *l, int fd, enum loop_sender sender)
{
	struct sockaddr_storage own, other;
	long result;

	if (own_name(fd, &own) < 0)
		return false;
	/* One that both ends have ended has no peer any more. */
	if (sender == LOOP_OF_OWN || peer_name(fd, &other) < 0)
		other = own;
	l->listener = open_at(&own);
	l->sender = open_at(&other);
	if (l->listener < 0 || l->sender < 0)
		return false;
	take_only(l->listener, &own, &other);
	if (SYS_CALL3(SYS_listen, l->listener, 1, 0) < 0)
		return false;
	result = SYS_CALL3(SYS_connect, l->sender, &own, sizeof(own));
	if (result < 0 && result != -EINPROGRESS)
		return false;
	l->receiver = accept_sender(l);
	return l->receiver >= 0;
}

void loop_close(struct loop *l)
{
	if (l->listener >= 0)
		sys_close(l->listener);
	if (l->sender >= 0)
		sys_close(l->sender);
	if (l->receiver >= 0)
		sys_close(l->receiver);
}
