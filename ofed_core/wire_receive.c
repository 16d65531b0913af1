/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_receive: RoCE packets that arrive, checked and handed on.
 *
 * Version 2 comes through raw sockets, which show the IP header; version 1
 * through packet sockets. A filter gives each worker the packets of its
 * queue pairs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "icrc.h"
#include "log.h"
#include "spread.h"
#include "wire.h"
#include "wire_socket.h"

#define STREAM_NS    NS_PER_MS
#define STREAM_BYTES (128 << 10) /* in that time */

enum inbox_kind {
	INBOX_IP4,
	INBOX_IP6,
	INBOX_ETHER,
	INBOX_KINDS
};

struct inbox {
	struct source source;
	enum inbox_kind kind;
};

static struct inbox inboxes[WORKERS_MAX * INBOX_KINDS];

static bool check_ip4(struct arrival *a, const uint8_t *b, size_t n,
		      const uint8_t **transport, size_t *bytes)
{
	uint32_t crc;
	uint32_t source;
	uint32_t dest;

	/* Options would change what the ICRC covers; RoCE has none. */
	if (n < 20 + UDP_BYTES + 12 + ICRC_BYTES || b[0] != 0x45 ||
	    get_be16(b + 20 + 4) != n - 20)
		return false;
	*transport = b + 20 + UDP_BYTES;
	*bytes = n - 20 - UDP_BYTES - ICRC_BYTES;
	memcpy(&crc, *transport + *bytes, ICRC_BYTES);
	if (icrc_transport(icrc_ip4(b, b + 20), *transport, *bytes) !=
	    le32toh(crc)) {
		wire_count(WIRE_BAD_ICRC, 1);
		return false;
	}
	memcpy(&source, b + 12, 4);
	memcpy(&dest, b + 16, 4);
	gid_from_ip4(a->sgid, source);
	gid_from_ip4(a->dgid, dest);
	a->traffic_class = b[1];
	a->hop_limit = b[8];
	memset(a->grh, 0, 20);
	memcpy(a->grh + 20, b, 20);
	return true;
}

/* A raw IPv6 socket shows no IP header: it is put together again. */
static bool check_ip6(struct arrival *a, const uint8_t *b, size_t n,
		      const uint8_t **transport, size_t *bytes)
{
	uint8_t ip[40] = {0x60};
	uint32_t crc;

	if (n < UDP_BYTES + 12 + ICRC_BYTES || get_be16(b + 4) != n)
		return false;
	put_be16(ip + 4, (uint16_t)n);
	ip[6] = IPPROTO_UDP;
	ip[7] = a->hop_limit;
	memcpy(ip + 8, a->sgid, 16);
	memcpy(ip + 24, a->dgid, 16);
	*transport = b + UDP_BYTES;
	*bytes = n - UDP_BYTES - ICRC_BYTES;
	memcpy(&crc, *transport + *bytes, ICRC_BYTES);
	if (icrc_transport(icrc_ip6(ip, b), *transport, *bytes) !=
	    le32toh(crc)) {
		wire_count(WIRE_BAD_ICRC, 1);
		return false;
	}
	ip[0] |= a->traffic_class >> 4;
	ip[1] = (uint8_t)(a->traffic_class << 4);
	memcpy(a->grh, ip, sizeof(ip));
	return true;
}

/* Version 1: the GRH leads, and what is longer than it says is Ethernet pad. */
static bool check_grh(struct arrival *a, const uint8_t *b, size_t n,
		      const uint8_t **transport, size_t *bytes)
{
	uint32_t crc;
	size_t above;

	if (n < GRH_BYTES + 12 + ICRC_BYTES || b[0] >> 4 != 6 ||
	    b[6] != GRH_NEXT_BTH)
		return false;
	above = get_be16(b + 4);
	if (above < 12 + ICRC_BYTES || above > n - GRH_BYTES)
		return false;
	*transport = b + GRH_BYTES;
	*bytes = above - ICRC_BYTES;
	memcpy(&crc, *transport + *bytes, ICRC_BYTES);
	if (icrc_transport(icrc_grh(b), *transport, *bytes) != le32toh(crc)) {
		wire_count(WIRE_BAD_ICRC, 1);
		return false;
	}
	a->is_v1 = true;
	a->traffic_class = (uint8_t)(get_be16(b) >> 4);
	a->hop_limit = b[7];
	memcpy(a->sgid, b + 8, 16);
	memcpy(a->dgid, b + 24, 16);
	memcpy(a->grh, b, GRH_BYTES);
	return true;
}

static void take_control6(struct arrival *a, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int value;

		if (c->cmsg_level != IPPROTO_IPV6)
			continue;
		if (c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			memcpy(a->dgid, &info.ipi6_addr, 16);
		}
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (c->cmsg_type == IPV6_HOPLIMIT)
			a->hop_limit = (uint8_t)value;
		if (c->cmsg_type == IPV6_TCLASS)
			a->traffic_class = (uint8_t)value;
	}
}

/* True when the packet is for somebody here. */
static bool take_packet(struct arrival *a, enum inbox_kind kind,
			const uint8_t *b, struct mmsghdr *m)
{
	const uint8_t *transport;
	size_t n = m->msg_len;
	size_t bytes;
	bool ok;

	*a = (struct arrival){.device = NULL};
	if (kind == INBOX_ETHER) {
		ok = check_grh(a, b, n, &transport, &bytes);
	} else if (kind == INBOX_IP6) {
		const struct sockaddr_in6 *from = m->msg_hdr.msg_name;

		memcpy(a->sgid, &from->sin6_addr, 16);
		take_control6(a, &m->msg_hdr);
		ok = check_ip6(a, b, n, &transport, &bytes);
	} else {
		ok = check_ip4(a, b, n, &transport, &bytes);
	}
	if (!ok)
		return false;
	wire_count(WIRE_RECEIVED, 1);
	if (packet_decode(&a->p, transport, bytes) < 0 ||
	    (a->p.pkey & 0x7fff) != (PACKET_PKEY & 0x7fff)) {
		wire_count(WIRE_BAD_PACKET, 1);
		return false;
	}
	a->device = device_by_gid_version(a->dgid, a->is_v1, NULL);
	return a->device || gid_is_multicast(a->dgid);
}

struct inbox_buffers {
	struct mmsghdr messages[WIRE_BATCH];
	struct iovec iov[WIRE_BATCH];
	struct sockaddr_in6 from[WIRE_BATCH];
	_Alignas(8) char control[WIRE_BATCH][128];
	uint8_t packets[WIRE_BATCH][PACKET_BYTES];
	struct arrival arrivals[WIRE_BATCH];
	struct spread spread;
	uint64_t since; /* bytes are counted */
	uint64_t bytes;
	bool is_stream;
};

/* Long packets in numbers: who sends them is busy, and may be beside us. */
static void watch_stream(struct inbox_buffers *r, int n)
{
	uint64_t now = clock_ns();

	if (now - r->since > STREAM_NS) {
		r->is_stream =
		    r->bytes > STREAM_BYTES && now - r->since < 2 * STREAM_NS;
		r->since = now;
		r->bytes = 0;
	}
	for (int i = 0; i < n; i++)
		r->bytes += r->messages[i].msg_len;
	if (r->is_stream)
		spread_look(&r->spread, now);
	else
		spread_end(&r->spread);
}

static void take_batch(struct inbox_buffers *r, enum inbox_kind kind, int n)
{
	unsigned taken = 0;

	pthread_rwlock_rdlock(&core_lock);
	for (int i = 0; i < n; i++)
		taken += take_packet(&r->arrivals[taken], kind, r->packets[i],
				     &r->messages[i]);
	dispatch(r->arrivals, taken);
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
}

static void inbox_ready(struct source *s, uint32_t events)
{
	struct inbox_buffers *r = worker_buffer(BUFFER_INBOX, sizeof(*r));
	struct inbox *in = (struct inbox *)s;
	int n;

	(void)events;
	if (!r)
		return;
	for (int i = 0; i < WIRE_BATCH; i++) {
		r->iov[i] = (struct iovec){r->packets[i], PACKET_BYTES};
		r->messages[i].msg_hdr =
		    (struct msghdr){.msg_iov = &r->iov[i],
				    .msg_iovlen = 1,
				    .msg_name = &r->from[i],
				    .msg_namelen = sizeof(r->from[i]),
				    .msg_control = r->control[i],
				    .msg_controllen = sizeof(r->control[i])};
	}
	n = recvmmsg(s->fd, r->messages, WIRE_BATCH, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return;
	watch_stream(r, n);
	take_batch(r, in->kind, n);
}

/*
 * Passes what is for queue pair numbers of one worker (qpn_worker). A raw IPv4
 * socket shows the filter the IP header, a raw IPv6 socket the UDP header, a
 * packet socket the GRH.
 */
static int attach_filter(int fd, enum inbox_kind kind, unsigned own)
{
	uint32_t mask = workers_count() - 1;
	struct sock_filter ip4[] = {
	    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
	    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 4),
	    BPF_STMT(BPF_LD | BPF_B | BPF_IND, UDP_BYTES + 5),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0xffff),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_filter ip6[] = {
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 4),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, UDP_BYTES + 5),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0xffff),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_filter ether[] = {
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, GRH_BYTES + 5),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0xffff),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog p[INBOX_KINDS] = {
	    [INBOX_IP4] = {sizeof(ip4) / sizeof(ip4[0]), ip4},
	    [INBOX_IP6] = {sizeof(ip6) / sizeof(ip6[0]), ip6},
	    [INBOX_ETHER] = {sizeof(ether) / sizeof(ether[0]), ether},
	};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &p[kind],
			  sizeof(p[kind])) < 0
		   ? -errno
		   : 0;
}

static int open_socket(enum inbox_kind kind)
{
	int type = SOCK_CLOEXEC | SOCK_NONBLOCK;

	switch (kind) {
	case INBOX_IP4:
		return socket(AF_INET, SOCK_RAW | type, IPPROTO_UDP);
	case INBOX_IP6:
		return socket(AF_INET6, SOCK_RAW | type, IPPROTO_UDP);
	case INBOX_ETHER:
		return socket(AF_PACKET, SOCK_DGRAM | type,
			      htons(ROCE_ETHERTYPE));
	case INBOX_KINDS:
		break;
	}
	errno = EINVAL;
	return -1;
}

static int open_inbox(struct inbox *in, enum inbox_kind kind, unsigned own)
{
	int fd = open_socket(kind);
	int rc;

	if (fd < 0)
		return -errno;
	rc = attach_filter(fd, kind, own);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	wire_enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	if (kind == INBOX_IP6) {
		wire_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
		wire_set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
		wire_set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	}
	*in = (struct inbox){.source = {.fd = fd, .ready = inbox_ready},
			     .kind = kind};
	return worker_add_source(worker_at(own), &in->source);
}

int wire_receive_open(bool with_ip6)
{
	for (unsigned i = 0; i < workers_count(); i++) {
		struct inbox *in = &inboxes[INBOX_KINDS * i];
		int rc = open_inbox(&in[INBOX_IP4], INBOX_IP4, i);

		if (rc == 0)
			rc = open_inbox(&in[INBOX_ETHER], INBOX_ETHER, i);
		if (rc < 0)
			return rc;
		if (with_ip6 && open_inbox(&in[INBOX_IP6], INBOX_IP6, i) < 0)
			log_warning("no RoCE over IPv6");
	}
	return 0;
}
