/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire: RoCE v2 over UDP port 4791.
 *
 * Sending goes through unconnected UDP sockets with DF set: then the kernel
 * leaves the IP identification 0, which the ICRC covers. Receiving goes
 * through raw sockets, which show the IP header; a filter gives each worker
 * the packets of its queue pairs. A UDP socket that drops everything keeps
 * the kernel from answering with ICMP.
 */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "icrc.h"
#include "log.h"
#include "params.h"

#define ROCE_PORT    4791
#define BATCH        64
#define PACKET_BYTES 4352 /* headers, 4096 bytes of data, pad, ICRC, IP */
#define BUFFER_BYTES (16 << 20)
#define UDP_BYTES    8
#define CONTROL_BYTES                                                          \
	(CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)))

/* Packets of one thread that wait to be sent; one IP family at a time. */
struct outbox {
	bool is_open;
	int fd4;
	int fd6;
	uint16_t port4; /* network order */
	uint16_t port6;
	unsigned count;
	bool is_ip6;
	uint32_t random;
	struct mmsghdr messages[BATCH];
	struct iovec iov[BATCH];
	union {
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	} to[BATCH];
	_Alignas(8) char control[BATCH][CONTROL_BYTES];
	uint8_t packets[BATCH][PACKET_BYTES];
};

struct inbox {
	struct source source;
	bool is_ip6;
};

const char *const wire_counter_name[WIRE_COUNTERS] = {
    [WIRE_SENT] = "packets_sent",
    [WIRE_RECEIVED] = "packets_received",
    [WIRE_LOST_ON_PURPOSE] = "packets_lost_on_purpose",
    [WIRE_BAD_ICRC] = "packets_bad_icrc",
    [WIRE_BAD_PACKET] = "packets_malformed",
    [WIRE_NO_QP] = "packets_without_queue_pair",
    [WIRE_SEND_ERRORS] = "send_errors",
    [WIRE_RETRANSMITS] = "retransmissions",
};

static _Atomic uint64_t counters[WIRE_COUNTERS];
static bool is_open;
static int holder4 = -1;
static int holder6 = -1;
static struct inbox inboxes[WORKERS_MAX * 2];

void wire_count(enum wire_counter c, uint64_t n)
{
	atomic_fetch_add_explicit(&counters[c], n, memory_order_relaxed);
}

uint64_t wire_counter(enum wire_counter c)
{
	return atomic_load_explicit(&counters[c], memory_order_relaxed);
}

bool wire_is_open(void)
{
	return is_open;
}

static void set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)) < 0)
		log_debug("socket option %d/%d: error %d", level, option,
			  errno);
}

static void enlarge(int fd, int force, int polite)
{
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)) < 0)
		set(fd, SOL_SOCKET, polite, size);
}

/* ---- Sending ---- */

static int open_sender(int family, uint16_t *port)
{
	struct sockaddr_in6 a = {.sin6_family = (sa_family_t)family};
	socklen_t size =
	    family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(a);
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (family == AF_INET) {
		set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
		set(fd, IPPROTO_IP, IP_MULTICAST_TTL, 64);
	} else {
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
		set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
		set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 64);
	}
	enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	if (bind(fd, (struct sockaddr *)&a, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &size) < 0) {
		close(fd);
		return -1;
	}
	*port = a.sin6_port; /* at the same place in both families */
	return fd;
}

static struct outbox *own_outbox(void)
{
	struct outbox *o = worker_buffer(BUFFER_OUTBOX, sizeof(*o));

	if (!o || o->is_open)
		return o;
	o->is_open = true;
	o->fd4 = open_sender(AF_INET, &o->port4);
	o->fd6 = open_sender(AF_INET6, &o->port6);
	o->random = (uint32_t)param(PARAMETER_WIRE_LOSS_SEED) * 2654435761u | 1;
	return o;
}

void wire_flush(void)
{
	struct outbox *o = is_open ? own_outbox() : NULL;
	unsigned done = 0;

	if (!o || !o->count)
		return;
	while (done < o->count) {
		int n = sendmmsg(o->is_ip6 ? o->fd6 : o->fd4,
				 o->messages + done, o->count - done, 0);

		if (n > 0) {
			done += (unsigned)n;
			wire_count(WIRE_SENT, (uint64_t)n);
		} else if (errno != EINTR) {
			/* This one cannot go: as lost as on a wire. */
			log_debug("packet not sent: error %d", errno);
			wire_count(WIRE_SEND_ERRORS, 1);
			done++;
		}
	}
	o->count = 0;
}

/* xorshift32: the same losses for the same seed and traffic. */
static bool is_lost(struct outbox *o)
{
	long loss = param(PARAMETER_WIRE_LOSS);

	if (!loss)
		return false;
	o->random ^= o->random << 13;
	o->random ^= o->random >> 17;
	o->random ^= o->random << 5;
	return (long)(o->random % 1000) < loss;
}

static struct cmsghdr *add_control(struct msghdr *m, struct cmsghdr *at,
				   int level, int type, const void *data,
				   size_t bytes)
{
	at->cmsg_level = level;
	at->cmsg_type = type;
	at->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(at), data, bytes);
	m->msg_controllen += CMSG_SPACE(bytes);
	return (struct cmsghdr *)(void *)((char *)at + CMSG_SPACE(bytes));
}

static void address_ip4(struct outbox *o, unsigned i, const struct address *to)
{
	struct msghdr *m = &o->messages[i].msg_hdr;
	struct in_pktinfo info = {.ipi_ifindex = (int)to->device->ifindex};
	int ttl = to->hop_limit;
	int tos = to->traffic_class;
	struct cmsghdr *c = (void *)o->control[i];

	o->to[i].in4 = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_port = htons(ROCE_PORT)};
	memcpy(&o->to[i].in4.sin_addr, to->dgid + 12, 4);
	memcpy(&info.ipi_spec_dst, to->sgid + 12, 4);
	m->msg_name = &o->to[i].in4;
	m->msg_namelen = sizeof(o->to[i].in4);
	c = add_control(m, c, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	c = add_control(m, c, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	if (tos)
		add_control(m, c, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
}

static void address_ip6(struct outbox *o, unsigned i, const struct address *to)
{
	struct msghdr *m = &o->messages[i].msg_hdr;
	struct in6_pktinfo info = {.ipi6_ifindex = to->device->ifindex};
	int hops = to->hop_limit;
	int class = to->traffic_class;
	struct cmsghdr *c = (void *)o->control[i];

	o->to[i].in6 = (struct sockaddr_in6){
	    .sin6_family = AF_INET6,
	    .sin6_port = htons(ROCE_PORT),
	    .sin6_scope_id = to->device->ifindex,
	};
	memcpy(&o->to[i].in6.sin6_addr, to->dgid, 16);
	memcpy(&info.ipi6_addr, to->sgid, 16);
	m->msg_name = &o->to[i].in6;
	m->msg_namelen = sizeof(o->to[i].in6);
	c = add_control(m, c, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	c = add_control(m, c, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops));
	if (class)
		add_control(m, c, IPPROTO_IPV6, IPV6_TCLASS, &class,
			    sizeof(class));
}

/* The ICRC over the headers the kernel is going to write. */
static uint32_t seal(const struct outbox *o, const struct address *to,
		     const uint8_t *transport, size_t bytes)
{
	uint16_t udp_bytes = (uint16_t)(UDP_BYTES + bytes + ICRC_BYTES);
	uint8_t udp[UDP_BYTES] = {0};
	uint8_t ip[40] = {0};

	memcpy(udp, o->is_ip6 ? &o->port6 : &o->port4, 2);
	put_be16(udp + 2, ROCE_PORT);
	put_be16(udp + 4, udp_bytes);
	if (o->is_ip6) {
		ip[0] = 0x60;
		put_be16(ip + 4, udp_bytes);
		ip[6] = IPPROTO_UDP;
		memcpy(ip + 8, to->sgid, 16);
		memcpy(ip + 24, to->dgid, 16);
		return icrc_ip6(ip, udp, transport, bytes);
	}
	ip[0] = 0x45;
	put_be16(ip + 2, (uint16_t)(20 + udp_bytes));
	ip[6] = 0x40; /* DF; the identification is 0 */
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, to->sgid + 12, 4);
	memcpy(ip + 16, to->dgid + 12, 4);
	return icrc_ip4(ip, udp, transport, bytes);
}

int wire_send(const struct address *to, const struct packet *p, uint32_t flow)
{
	struct outbox *o = own_outbox();
	bool is_ip6 = !gid_is_ip4(to->dgid);
	uint8_t *out;
	size_t n;
	uint32_t crc;

	(void)flow;
	if (!is_open || !o)
		return -ENETDOWN;
	if (is_lost(o)) {
		wire_count(WIRE_LOST_ON_PURPOSE, 1);
		return 0;
	}
	if (o->count == BATCH || (o->count && o->is_ip6 != is_ip6))
		wire_flush();
	o->is_ip6 = is_ip6;
	out = o->packets[o->count];
	n = packet_encode(p, out);
	if (p->payload_bytes)
		memcpy(out + n, p->payload, p->payload_bytes);
	n += p->payload_bytes;
	memset(out + n, 0, 4);
	n += packet_pad(p->payload_bytes);
	crc = htole32(seal(o, to, out, n));
	memcpy(out + n, &crc, ICRC_BYTES);
	o->iov[o->count] = (struct iovec){out, n + ICRC_BYTES};
	o->messages[o->count].msg_hdr =
	    (struct msghdr){.msg_iov = &o->iov[o->count],
			    .msg_iovlen = 1,
			    .msg_control = o->control[o->count]};
	if (is_ip6)
		address_ip6(o, o->count, to);
	else
		address_ip4(o, o->count, to);
	o->count++;
	return 0;
}

/* ---- Receiving ---- */

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
	if (icrc_ip4(b, b + 20, *transport, *bytes) != le32toh(crc)) {
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
	if (icrc_ip6(ip, b, *transport, *bytes) != le32toh(crc)) {
		wire_count(WIRE_BAD_ICRC, 1);
		return false;
	}
	ip[0] |= a->traffic_class >> 4;
	ip[1] = (uint8_t)(a->traffic_class << 4);
	memcpy(a->grh, ip, sizeof(ip));
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

static void take_packet(bool is_ip6, const uint8_t *b, size_t n,
			struct msghdr *m)
{
	struct arrival a = {.device = NULL};
	const uint8_t *transport;
	size_t bytes;
	bool ok;

	if (is_ip6) {
		const struct sockaddr_in6 *from = m->msg_name;

		memcpy(a.sgid, &from->sin6_addr, 16);
		take_control6(&a, m);
		ok = check_ip6(&a, b, n, &transport, &bytes);
	} else {
		ok = check_ip4(&a, b, n, &transport, &bytes);
	}
	if (!ok)
		return;
	wire_count(WIRE_RECEIVED, 1);
	if (packet_decode(&a.p, transport, bytes) < 0 ||
	    (a.p.pkey & 0x7fff) != (PACKET_PKEY & 0x7fff)) {
		wire_count(WIRE_BAD_PACKET, 1);
		return;
	}
	a.device = device_by_gid(a.dgid, NULL);
	if (a.device || gid_is_multicast(a.dgid))
		dispatch(&a);
}

struct inbox_buffers {
	struct mmsghdr messages[BATCH];
	struct iovec iov[BATCH];
	struct sockaddr_in6 from[BATCH];
	_Alignas(8) char control[BATCH][128];
	uint8_t packets[BATCH][PACKET_BYTES];
};

static void inbox_ready(struct source *s, uint32_t events)
{
	struct inbox_buffers *r = worker_buffer(BUFFER_INBOX, sizeof(*r));
	struct inbox *in = (struct inbox *)s;
	int n;

	(void)events;
	if (!r)
		return;
	for (int i = 0; i < BATCH; i++) {
		r->iov[i] = (struct iovec){r->packets[i], PACKET_BYTES};
		r->messages[i].msg_hdr =
		    (struct msghdr){.msg_iov = &r->iov[i],
				    .msg_iovlen = 1,
				    .msg_name = &r->from[i],
				    .msg_namelen = sizeof(r->from[i]),
				    .msg_control = r->control[i],
				    .msg_controllen = sizeof(r->control[i])};
	}
	n = recvmmsg(s->fd, r->messages, BATCH, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return;
	pthread_rwlock_rdlock(&core_lock);
	for (int i = 0; i < n; i++)
		take_packet(in->is_ip6, r->packets[i], r->messages[i].msg_len,
			    &r->messages[i].msg_hdr);
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
}

/*
 * Passes UDP to our port whose queue pair number ends in `own`. A raw IPv4
 * socket shows the filter the IP header, a raw IPv6 socket the UDP header.
 */
static int attach_filter(int fd, bool is_ip6, unsigned own)
{
	uint32_t mask = workers_count() - 1;
	struct sock_filter ip4[] = {
	    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
	    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 4),
	    BPF_STMT(BPF_LD | BPF_B | BPF_IND, UDP_BYTES + 7),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0xffff),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_filter ip6[] = {
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 4),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, UDP_BYTES + 7),
	    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0xffff),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog p = {sizeof(ip4) / sizeof(ip4[0]), ip4};

	if (is_ip6)
		p = (struct sock_fprog){sizeof(ip6) / sizeof(ip6[0]), ip6};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)) < 0
		   ? -errno
		   : 0;
}

static int open_inbox(struct inbox *in, bool is_ip6, unsigned own)
{
	int fd = socket(is_ip6 ? AF_INET6 : AF_INET,
			SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
	int rc;

	if (fd < 0)
		return -errno;
	rc = attach_filter(fd, is_ip6, own);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	if (is_ip6) {
		set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
		set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
		set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	}
	*in = (struct inbox){.source = {.fd = fd, .ready = inbox_ready},
			     .is_ip6 = is_ip6};
	return worker_add_source(worker_at(own), &in->source);
}

/* Owns the port, and drops what arrives there. */
static int open_holder(int family)
{
	struct sockaddr_in6 a = {.sin6_family = (sa_family_t)family,
				 .sin6_port = htons(ROCE_PORT)};
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog p = {1, &drop};
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)) == 0 &&
	    bind(fd, (struct sockaddr *)&a,
		 family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(a)) ==
		0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int wire_open(void)
{
	int rc;

	holder4 = open_holder(AF_INET);
	if (holder4 < 0)
		return holder4;
	holder6 = open_holder(AF_INET6);
	for (unsigned i = 0; i < workers_count(); i++) {
		rc = open_inbox(&inboxes[2 * i], false, i);
		if (rc < 0)
			return rc;
		if (holder6 >= 0 &&
		    open_inbox(&inboxes[2 * i + 1], true, i) < 0)
			log_warning("no RoCE over IPv6");
	}
	worker_after_batch = wire_flush;
	is_open = true;
	return 0;
}

int wire_mcast(const struct device *d, const uint8_t gid[16], bool join)
{
	struct ip_mreqn m4 = {.imr_ifindex = (int)d->ifindex};
	struct ipv6_mreq m6 = {.ipv6mr_interface = d->ifindex};
	int rc;

	if (!is_open)
		return -ENETDOWN;
	if (gid_is_ip4(gid)) {
		memcpy(&m4.imr_multiaddr, gid + 12, 4);
		rc = setsockopt(holder4, IPPROTO_IP,
				join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
				&m4, sizeof(m4));
	} else {
		memcpy(&m6.ipv6mr_multiaddr, gid, 16);
		rc = setsockopt(holder6, IPPROTO_IPV6,
				join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &m6,
				sizeof(m6));
	}
	if (rc < 0)
		log_warning("multicast group not %s: error %d",
			    join ? "joined" : "left", errno);
	return rc < 0 ? -errno : 0;
}
