/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_inbox: the sockets that packets arrive at, one of a kind for each
 * worker, and the filters that pick its queue pairs (qpn_worker).
 *
 * Version 2 comes to UDP sockets that share the port: one of them gets a
 * packet, however many workers there are. They do not show the IP header. The
 * ICRC covers it, but nothing that cannot be known of a packet whose
 * identification is 0 and which must not be fragmented. Others are for raw
 * sockets, of which each gets a copy of every UDP packet of the host, so they
 * are opened when somebody sends such packets.
 */
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/base/worker.h"
#include "ofed_core/pure/wire_headers.h"
#include "ofed_core/wire/wire_socket.h"

#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif

#define FILTER_MAX 16

/* Where the number of the queue pair begins in a BTH. */
#define QPN_AT 5

/* A filter in the making. Each check ends the packet when it fails. */
struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned count;
};

static void add(struct filter *f, uint16_t code, uint32_t value)
{
	f->code[f->count++] = (struct sock_filter)BPF_STMT(code, value);
}

static void add_load(struct filter *f, uint16_t size, uint32_t at)
{
	add(f, BPF_LD | BPF_ABS | size, at);
}

/* Goes on past so many statements where the value is, and is not, this one. */
static void add_jump(struct filter *f, uint32_t value, uint8_t equal,
		     uint8_t other)
{
	f->code[f->count++] = (struct sock_filter)BPF_JUMP(
	    BPF_JMP | BPF_JEQ | BPF_K, value, equal, other);
}

static void add_check(struct filter *f, uint32_t value)
{
	add_jump(f, value, 1, 0);
	add(f, BPF_RET | BPF_K, 0);
}

/* Identification 0, not to be fragmented and no fragment. */
static void add_plain_header(struct filter *f)
{
	add_load(f, BPF_W, (uint32_t)SKF_NET_OFF + 4);
	add_check(f, IP4_DF);
}

static void add_qpn(struct filter *f, uint32_t bth, unsigned own)
{
	add_load(f, BPF_B, bth + QPN_AT);
	add(f, BPF_ALU | BPF_AND | BPF_K, workers_count() - 1);
	add_check(f, own);
	add(f, BPF_RET | BPF_K, 0xffff);
}

static void add_no_options(struct filter *f)
{
	add_load(f, BPF_B, (uint32_t)SKF_NET_OFF);
	add_check(f, 0x45);
}

static int attach(int fd, int option, const struct filter *f)
{
	struct sock_fprog p = {(unsigned short)f->count,
			       (struct sock_filter *)(uintptr_t)f->code};

	return setsockopt(fd, SOL_SOCKET, option, &p, sizeof(p)) < 0 ? -errno
								     : 0;
}

/* What add_plain_header() refuses. A raw socket's filter sees the IP header. */
static void add_other_header(struct filter *f)
{
	add_load(f, BPF_H, IP4_BYTES + 2);
	add_check(f, ROCE_PORT);
	add_load(f, BPF_W, 4);
	add_jump(f, IP4_DF, 0, 1);
	add(f, BPF_RET | BPF_K, 0);
}

static int attach_filter(int fd, enum inbox_kind kind, unsigned own)
{
	struct filter f = {.count = 0};

	switch (kind) {
	case INBOX_UDP4:
		add_no_options(&f);
		/* fall through */
	case INBOX_UDP6:
		add_qpn(&f, UDP_BYTES, own);
		break;
	case INBOX_RAW4:
		add_no_options(&f);
		add_other_header(&f);
		add_qpn(&f, IP4_BYTES + UDP_BYTES, own);
		break;
	case INBOX_ETHER:
		add_qpn(&f, GRH_BYTES, own);
		break;
	case INBOX_KINDS:
		return -EINVAL;
	}
	return attach(fd, SO_ATTACH_FILTER, &f);
}

int wire_inbox_narrow(int fd, unsigned own)
{
	struct filter f = {.count = 0};

	add_no_options(&f);
	add_plain_header(&f);
	add_qpn(&f, UDP_BYTES, own);
	return attach(fd, SO_ATTACH_FILTER, &f);
}

/* ---- UDP ---- */

/*
 * The filter picks a socket by its place among those of the port; it sees what
 * follows the UDP header.
 */
static int attach_choice(int fd)
{
	struct filter f = {.count = 0};

	add_load(&f, BPF_B, QPN_AT);
	add(&f, BPF_ALU | BPF_AND | BPF_K, workers_count() - 1);
	add(&f, BPF_RET | BPF_A, 0);
	return attach(fd, SO_ATTACH_REUSEPORT_CBPF, &f);
}

static int bind_port(int fd, int family)
{
	struct sockaddr_in6 a = {.sin6_family = (sa_family_t)family,
				 .sin6_port = htons(ROCE_PORT)};
	socklen_t size =
	    family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(a);

	if (family == AF_INET6)
		wire_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	return bind(fd, (struct sockaddr *)&a, size) < 0 ? -errno : 0;
}

/* Sockets that share a port would share it with another core's. */
static int ask_for_port(int family)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = bind_port(fd, family);
	close(fd);
	return rc;
}

static void show_header(int fd, int family)
{
	if (family == AF_INET) {
		wire_set(fd, IPPROTO_IP, IP_PKTINFO, 1);
		wire_set(fd, IPPROTO_IP, IP_RECVTTL, 1);
		wire_set(fd, IPPROTO_IP, IP_RECVTOS, 1);
		return;
	}
	wire_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	wire_set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	wire_set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	/* RoCE has no UDP checksum, which IPv6 otherwise wants. */
	wire_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

static int share_port(int fd, int family, unsigned own)
{
	int rc = own ? 0 : ask_for_port(family);

	if (rc < 0)
		return rc;
	wire_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	rc = bind_port(fd, family);
	return rc < 0 || own ? rc : attach_choice(fd);
}

/* ---- Any ---- */

static int family_of(enum inbox_kind kind)
{
	return kind == INBOX_ETHER  ? AF_PACKET
	       : kind == INBOX_UDP6 ? AF_INET6
				    : AF_INET;
}

static int make_socket(enum inbox_kind kind)
{
	const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	int type = SOCK_DGRAM;
	int protocol = 0;

	if (kind == INBOX_RAW4) {
		type = SOCK_RAW;
		protocol = IPPROTO_UDP;
	} else if (kind == INBOX_ETHER) {
		protocol = htons(ROCE_ETHERTYPE);
	}
	return socket(family_of(kind), type | flags, protocol);
}

int wire_inbox_open(enum inbox_kind kind, unsigned own)
{
	int fd = make_socket(kind);
	int rc;

	if (fd < 0)
		return -errno;
	rc = attach_filter(fd, kind, own);
	wire_enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	if (rc == 0 && (kind == INBOX_UDP4 || kind == INBOX_UDP6)) {
		show_header(fd, family_of(kind));
		rc = share_port(fd, family_of(kind), own);
	}
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}
