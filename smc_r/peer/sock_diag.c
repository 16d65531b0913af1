/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sock_diag: which socket of this network namespace has these addresses? */
#include "smc_r/peer/sock_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include "smc_r/os/sys.h"

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

struct end {
	uint16_t port; /* network order, as in the addresses */
	uint32_t address[4];
};

/* An IPv4 connection of an IPv6 socket is found under IPv4 addresses. */
static int to_end(const struct sockaddr_storage *a, struct end *e)
{
	memset(e, 0, sizeof(*e));
	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)a;

		e->port = v4->sin_port;
		memcpy(e->address, &v4->sin_addr, 4);
		return AF_INET;
	}
	if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)a;

		e->port = v6->sin6_port;
		if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
			memcpy(e->address, &v6->sin6_addr.s6_addr[12], 4);
			return AF_INET;
		}
		memcpy(e->address, &v6->sin6_addr, 16);
		return AF_INET6;
	}
	return -EAFNOSUPPORT;
}

int sock_diag_decode(const void *answer, size_t size,
		     struct sock_diag_socket *out)
{
	struct nlmsghdr h;
	struct inet_diag_msg m;

	if (size < NLMSG_HDRLEN + sizeof(m))
		return -ENOENT;
	memcpy(&h, answer, sizeof(h));
	memcpy(&m, (const char *)answer + NLMSG_HDRLEN, sizeof(m));
	if (h.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOENT;
	out->cookie =
	    (uint64_t)m.id.idiag_cookie[1] << 32 | m.id.idiag_cookie[0];
	out->inode = m.idiag_inode;
	return 0;
}

static int ask(int fd, const struct question *q, struct sock_diag_socket *out)
{
	char answer[4096];
	struct sockaddr_nl from = {0};
	socklen_t bytes = sizeof(from);
	long n = SYS_CALL6(SYS_sendto, fd, q, sizeof(*q), 0, 0, 0);

	if (n < 0)
		return (int)n;
	n = SYS_CALL6(SYS_recvfrom, fd, answer, sizeof(answer), 0, &from,
		      &bytes);
	if (n < 0)
		return (int)n;
	/* The kernel's number is 0. */
	return from.nl_pid == 0 ? sock_diag_decode(answer, (size_t)n, out)
				: -ENOENT;
}

int sock_diag_find(const struct sockaddr_storage *own,
		   const struct sockaddr_storage *other,
		   struct sock_diag_socket *out)
{
	struct question q;
	struct end from;
	struct end to;
	int family = to_end(own, &from);
	int result;
	int fd;

	if (family < 0 || to_end(other, &to) != family)
		return -EAFNOSUPPORT;
	memset(&q, 0, sizeof(q));
	q.header.nlmsg_len = sizeof(q);
	q.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	q.header.nlmsg_flags = NLM_F_REQUEST;
	q.body.sdiag_family = (uint8_t)family;
	q.body.sdiag_protocol = IPPROTO_TCP;
	q.body.idiag_states = UINT32_MAX;
	q.body.id.idiag_sport = from.port;
	q.body.id.idiag_dport = to.port;
	memcpy(q.body.id.idiag_src, from.address, sizeof(from.address));
	memcpy(q.body.id.idiag_dst, to.address, sizeof(to.address));
	q.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	q.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	fd = (int)SYS_CALL3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			    NETLINK_SOCK_DIAG);
	if (fd < 0)
		return fd;
	result = ask(fd, &q, out);
	sys_close(fd);
	return result;
}

static int of(int fd, bool self, struct sock_diag_socket *out)
{
	struct sockaddr_storage own, other;
	socklen_t own_bytes = sizeof(own), other_bytes = sizeof(other);

	if (SYS_CALL3(SYS_getsockname, fd, &own, &own_bytes) < 0 ||
	    SYS_CALL3(SYS_getpeername, fd, &other, &other_bytes) < 0)
		return -ENOTCONN;
	return self ? sock_diag_find(&own, &other, out)
		    : sock_diag_find(&other, &own, out);
}

int sock_diag_peer_of(int fd, struct sock_diag_socket *out)
{
	return of(fd, false, out);
}

bool sock_diag_is_here(int fd)
{
	struct sock_diag_socket own;

	return of(fd, true, &own) == 0;
}
