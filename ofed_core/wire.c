/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire: sending of RoCE packets, and what keeps the port.
 *
 * Version 2 goes through unconnected UDP sockets with DF set: then the kernel
 * leaves the IP identification 0, which the ICRC covers. Version 1 goes
 * through packet sockets. A UDP socket that drops everything keeps the kernel
 * from answering on our port with ICMP.
 */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "icrc.h"
#include "log.h"
#include "neighbor.h"
#include "params.h"
#include "wire_socket.h"

#define BUFFER_BYTES (16 << 20)
#define NEIGHBORS    64
#define FOUND_NS     (1000 * NS_PER_MS)
#define MISSING_NS   (10 * NS_PER_MS)
#define CONTROL_BYTES                                                          \
	(CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)))

enum packet_family {
	FAMILY_IP4,
	FAMILY_IP6,
	FAMILY_ETHER
};

/* Ethernet addresses that were found lately. */
struct neighbor {
	uint8_t gid[16];
	unsigned ifindex;
	uint8_t mac[6];
	bool is_found;
	uint64_t until; /* ns */
};

/* Packets of one thread that wait to be sent; one family at a time. */
struct outbox {
	bool is_open;
	int fd4;
	int fd6;
	int ether;
	struct neighbor neighbors[NEIGHBORS];
	uint16_t port4; /* network order */
	uint16_t port6;
	unsigned count;
	enum packet_family family;
	uint32_t random;
	struct mmsghdr messages[WIRE_BATCH];
	struct iovec iov[WIRE_BATCH];
	union {
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
		struct sockaddr_ll ll;
	} to[WIRE_BATCH];
	_Alignas(8) char control[WIRE_BATCH][CONTROL_BYTES];
	uint8_t packets[WIRE_BATCH][PACKET_BYTES];
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

void wire_set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)) < 0)
		log_debug("socket option %d/%d: error %d", level, option,
			  errno);
}

void wire_enlarge(int fd, int force, int polite)
{
	int size = BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)) < 0)
		wire_set(fd, SOL_SOCKET, polite, size);
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
		wire_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		wire_set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
		wire_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, 64);
	} else {
		wire_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		wire_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
		wire_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
		wire_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 64);
	}
	wire_enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
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
	/* Protocol 0: it sends only. */
	o->ether = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (o->ether >= 0)
		wire_enlarge(o->ether, SO_SNDBUFFORCE, SO_SNDBUF);
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
		int fd = o->family == FAMILY_IP4   ? o->fd4
			 : o->family == FAMILY_IP6 ? o->fd6
						   : o->ether;
		int n = sendmmsg(fd, o->messages + done, o->count - done, 0);

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

	memcpy(udp, o->family == FAMILY_IP6 ? &o->port6 : &o->port4, 2);
	put_be16(udp + 2, ROCE_PORT);
	put_be16(udp + 4, udp_bytes);
	if (o->family == FAMILY_IP6) {
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

/* Where version 1 must send; false while nobody answers for the GID. */
static bool find_neighbor(struct outbox *o, const struct address *to,
			  uint8_t mac[6])
{
	struct neighbor *n = &o->neighbors[to->dgid[15] % NEIGHBORS];
	uint64_t now;

	if (neighbor_from_gid(to->dgid, mac))
		return true;
	now = clock_ns();
	if (n->until < now || n->ifindex != to->device->ifindex ||
	    memcmp(n->gid, to->dgid, 16) != 0) {
		memcpy(n->gid, to->dgid, 16);
		n->ifindex = to->device->ifindex;
		n->is_found = neighbor_find(n->ifindex, n->gid, n->mac) == 0;
		n->until = now + (n->is_found ? FOUND_NS : MISSING_NS);
	}
	memcpy(mac, n->mac, 6);
	return n->is_found;
}

static void address_ether(struct outbox *o, unsigned i,
			  const struct address *to, const uint8_t mac[6])
{
	struct msghdr *m = &o->messages[i].msg_hdr;

	o->to[i].ll = (struct sockaddr_ll){
	    .sll_family = AF_PACKET,
	    .sll_protocol = htons(ROCE_ETHERTYPE),
	    .sll_ifindex = (int)to->device->ifindex,
	    .sll_halen = 6,
	};
	memcpy(o->to[i].ll.sll_addr, mac, 6);
	m->msg_name = &o->to[i].ll;
	m->msg_namelen = sizeof(o->to[i].ll);
}

static void put_grh(uint8_t *out, const struct address *to, size_t above)
{
	put_be32(out, 0x60000000u | (uint32_t)to->traffic_class << 20 |
			  to->flow_label);
	put_be16(out + 4, (uint16_t)above);
	out[6] = GRH_NEXT_BTH;
	out[7] = to->hop_limit;
	memcpy(out + 8, to->sgid, 16);
	memcpy(out + 24, to->dgid, 16);
}

static enum packet_family family_of(const struct address *to)
{
	if (to->is_v1)
		return FAMILY_ETHER;
	return gid_is_ip4(to->dgid) ? FAMILY_IP4 : FAMILY_IP6;
}

/* Headers, payload, pad and ICRC; returns the length. */
static size_t build(const struct outbox *o, const struct address *to,
		    const struct packet *p, uint8_t *out)
{
	size_t grh = o->family == FAMILY_ETHER ? GRH_BYTES : 0;
	uint8_t *transport = out + grh;
	size_t n = packet_encode(p, transport);
	uint32_t crc;

	if (p->payload_bytes)
		memcpy(transport + n, p->payload, p->payload_bytes);
	n += p->payload_bytes;
	memset(transport + n, 0, 4);
	n += packet_pad(p->payload_bytes);
	if (grh) {
		put_grh(out, to, n + ICRC_BYTES);
		crc = icrc_grh(out, transport, n);
	} else {
		crc = seal(o, to, transport, n);
	}
	crc = htole32(crc);
	memcpy(transport + n, &crc, ICRC_BYTES);
	return grh + n + ICRC_BYTES;
}

int wire_send(const struct address *to, const struct packet *p, uint32_t flow)
{
	enum packet_family family = family_of(to);
	struct outbox *o;
	uint8_t mac[6];
	uint8_t *out;

	(void)flow;
	o = is_open ? own_outbox() : NULL;
	if (!o)
		return -ENETDOWN;
	if (is_lost(o)) {
		wire_count(WIRE_LOST_ON_PURPOSE, 1);
		return 0;
	}
	if (family == FAMILY_ETHER && !find_neighbor(o, to, mac))
		return -EHOSTUNREACH;
	if (o->count == WIRE_BATCH || (o->count && o->family != family))
		wire_flush();
	o->family = family;
	out = o->packets[o->count];
	o->iov[o->count] = (struct iovec){out, build(o, to, p, out)};
	o->messages[o->count].msg_hdr =
	    (struct msghdr){.msg_iov = &o->iov[o->count], .msg_iovlen = 1};
	if (family == FAMILY_ETHER) {
		address_ether(o, o->count, to, mac);
	} else {
		o->messages[o->count].msg_hdr.msg_control =
		    o->control[o->count];
		if (family == FAMILY_IP6)
			address_ip6(o, o->count, to);
		else
			address_ip4(o, o->count, to);
	}
	o->count++;
	return 0;
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
		wire_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
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
	rc = wire_receive_open(holder6 >= 0);
	if (rc < 0)
		return rc;
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
