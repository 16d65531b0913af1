/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_send: RoCE packets on their way out.
 *
 * Version 2 goes through unconnected UDP sockets with DF set: then the kernel
 * leaves the IP identification 0, which the ICRC covers. Where wire_path.c
 * allows it the same packet goes through a packet socket, with headers of
 * ours: past the IP stack a packet costs a quarter less. Version 1 always goes
 * through packet sockets.
 *
 * Long payloads are not copied: they lie in the outbox from the beginning
 * (wire_space) and the kernel gathers them.
 *
 * Segmentation offload is not used, as captures would show packets that no wire
 * carries.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/pure/bytes.h"
#include "ofed_core/pure/crc32.h"
#include "ofed_core/pure/icrc.h"
#include "ofed_core/pure/wire_headers.h"
#include "ofed_core/wire/wire.h"
#include "ofed_core/wire/wire_fault.h"
#include "ofed_core/wire/wire_path.h"
#include "ofed_core/wire/wire_socket.h"

#define SMALL_BYTES 512 /* payloads that are copied behind their headers */
/* What nearly all packets have: control data costs time. */
#define HOPS        64
#define TAIL_BYTES  (3 + ICRC_BYTES)
#define FRAME_BYTES (sizeof(struct virtio_net_hdr) + ETHER_BYTES)
#define CONTROL_BYTES                                                          \
	(CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)))

/* The socket that a packet leaves by. */
enum packet_way {
	WAY_IP4,
	WAY_IP6,
	WAY_FRAME,
	WAYS
};

/* What surrounds the payload of one packet, and where it goes. */
struct slot {
	struct iovec iov[3];
	union {
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
		struct sockaddr_ll ll;
	} to;
	_Alignas(8) char control[CONTROL_BYTES];
	/* In a frame, a GRH or IP and UDP headers come first. */
	uint8_t head[FRAME_BYTES + GRH_BYTES + PACKET_HEADERS_MAX +
		     SMALL_BYTES + TAIL_BYTES];
	uint8_t tail[TAIL_BYTES];
};

/* Packets of one thread that wait to be sent; by one way at a time. */
struct outbox {
	bool is_open;
	int fd4;
	int fd6;
	int ether;
	struct wire_paths paths;
	uint16_t port4; /* network order */
	uint16_t port6;
	unsigned count;
	enum packet_way way;
	int priority;  /* of what is queued */
	int set[WAYS]; /* of each socket */
	struct faults faults;
	struct timer late; /* the packet that is held goes, at the latest */
	struct mmsghdr messages[WIRE_BATCH];
	struct slot slots[WIRE_BATCH];
	size_t used; /* of the space */
	uint8_t space[WIRE_SPACE];
};

static void on_late(struct timer *t);

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
		wire_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, HOPS);
		wire_set(fd, IPPROTO_IP, IP_TTL, HOPS);
	} else {
		wire_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		wire_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
		wire_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
		wire_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOPS);
		wire_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOPS);
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

/* Protocol 0: it sends only. */
static int open_ether(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	wire_set(fd, SOL_PACKET, PACKET_VNET_HDR, 1);
	wire_enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	return fd;
}

static struct outbox *own_outbox(void)
{
	struct outbox *o = worker_buffer(BUFFER_OUTBOX, sizeof(*o));

	if (!o || o->is_open || !wire_is_open())
		return o;
	o->is_open = true;
	o->fd4 = open_sender(AF_INET, &o->port4);
	o->fd6 = open_sender(AF_INET6, &o->port6);
	o->ether = open_ether();
	faults_init(&o->faults);
	timer_init(&o->late, worker_self(), on_late);
	return o;
}

/* The service level is the kernel's priority: VLANs map it to theirs. */
static void set_priority(struct outbox *o, int fd)
{
	if (o->set[o->way] == o->priority)
		return;
	wire_set(fd, SOL_SOCKET, SO_PRIORITY, o->priority);
	o->set[o->way] = o->priority;
}

static void send_queued(struct outbox *o)
{
	int fd = o->way == WAY_IP4   ? o->fd4
		 : o->way == WAY_IP6 ? o->fd6
				     : o->ether;
	unsigned done = 0;

	if (o->count)
		set_priority(o, fd);
	while (done < o->count) {
		int n = sendmmsg(fd, o->messages + done, o->count - done, 0);

		if (n > 0) {
			done += (unsigned)n;
			wire_count(WIRE_SENT, (uint64_t)n);
			if (o->way == WAY_FRAME)
				wire_count(WIRE_FRAMES, (uint64_t)n);
		} else if (errno != EINTR) {
			/* This one cannot go: as lost as on a wire. */
			log_debug("packet not sent: error %d", errno);
			wire_count(WIRE_SEND_ERRORS, 1);
			done++;
		}
	}
	o->count = 0;
}

void wire_flush(void)
{
	struct outbox *o = own_outbox();

	if (!o)
		return;
	send_queued(o);
	o->used = 0;
}

uint8_t *wire_space(size_t bytes)
{
	struct outbox *o = own_outbox();

	if (!o || bytes > WIRE_SPACE)
		return NULL;
	if (bytes > WIRE_SPACE - o->used)
		wire_flush();
	o->used += bytes;
	return o->space + o->used - bytes;
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

static void address_ip4(struct msghdr *m, struct slot *s,
			const struct address *to)
{
	struct in_pktinfo info = {.ipi_ifindex = (int)to->device->ifindex};
	int ttl = to->hop_limit;
	int tos = to->traffic_class;
	struct cmsghdr *c = (void *)s->control;

	s->to.in4 = (struct sockaddr_in){.sin_family = AF_INET,
					 .sin_port = htons(ROCE_PORT)};
	memcpy(&s->to.in4.sin_addr, to->dgid + 12, 4);
	memcpy(&info.ipi_spec_dst, to->sgid + 12, 4);
	m->msg_name = &s->to.in4;
	m->msg_namelen = sizeof(s->to.in4);
	m->msg_control = s->control;
	c = add_control(m, c, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	if (ttl != HOPS)
		c = add_control(m, c, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	if (tos)
		add_control(m, c, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
}

static void address_ip6(struct msghdr *m, struct slot *s,
			const struct address *to)
{
	struct in6_pktinfo info = {.ipi6_ifindex = to->device->ifindex};
	int hops = to->hop_limit;
	int class = to->traffic_class;
	struct cmsghdr *c = (void *)s->control;

	s->to.in6 = (struct sockaddr_in6){
	    .sin6_family = AF_INET6,
	    .sin6_port = htons(ROCE_PORT),
	    .sin6_scope_id = to->device->ifindex,
	};
	memcpy(&s->to.in6.sin6_addr, to->dgid, 16);
	memcpy(&info.ipi6_addr, to->sgid, 16);
	m->msg_name = &s->to.in6;
	m->msg_namelen = sizeof(s->to.in6);
	m->msg_control = s->control;
	c = add_control(m, c, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	if (hops != HOPS)
		c = add_control(m, c, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops,
				sizeof(hops));
	if (class)
		add_control(m, c, IPPROTO_IPV6, IPV6_TCLASS, &class,
			    sizeof(class));
}

static void address_frame(struct msghdr *m, struct slot *s,
			  const struct address *to)
{
	s->to.ll = (struct sockaddr_ll){
	    .sll_family = AF_PACKET,
	    .sll_protocol = htons(to->is_v1 ? ROCE_ETHERTYPE : ETH_P_IP),
	    .sll_ifindex = (int)to->device->ifindex,
	};
	m->msg_name = &s->to.ll;
	m->msg_namelen = sizeof(s->to.ll);
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

/*
 * In front of a frame. Nothing is left to the kernel by this header of
 * virtio's, but it says how many bytes are headers: the kernel puts those
 * where its IP stack reads them without gathering them first.
 */
static uint8_t *put_frame(uint8_t *out, const struct address *to,
			  const uint8_t mac[6], size_t headers)
{
	struct virtio_net_hdr v = {.hdr_len =
				       (uint16_t)(ETHER_BYTES + headers)};

	memcpy(out, &v, sizeof(v));
	headers_ether(out + sizeof(v), mac, to->device->mac,
		      to->is_v1 ? ROCE_ETHERTYPE : ETH_P_IP);
	return out + FRAME_BYTES;
}

/* How a packet leaves, and its first byte that is the transport's. */
struct build {
	enum packet_way way;
	uint16_t port;
	uint8_t mac[6];
	size_t transport;
	uint32_t crc;
};

static void put_udp4(struct build *b, const struct address *to, size_t above,
		     uint8_t *ip)
{
	uint8_t *udp = ip + IP4_BYTES;

	headers_ip4(ip, to->sgid, to->dgid, above);
	ip[1] = to->traffic_class;
	ip[8] = to->hop_limit;
	headers_udp(udp, b->port, above);
	b->crc = icrc_ip4(ip, udp);
}

/*
 * What comes before the transport: begins the ICRC, and puts into `out` what
 * the kernel is not going to write.
 */
static void put_below(struct build *b, const struct address *to, size_t above,
		      size_t headers, uint8_t *out)
{
	uint8_t below[IP6_BYTES + UDP_BYTES];
	uint8_t *at;

	b->transport = 0;
	if (to->is_v1) {
		at = put_frame(out, to, b->mac, GRH_BYTES + headers);
		put_grh(at, to, above);
		b->crc = icrc_grh(at);
		b->transport = FRAME_BYTES + GRH_BYTES;
	} else if (b->way == WAY_FRAME) {
		at =
		    put_frame(out, to, b->mac, IP4_BYTES + UDP_BYTES + headers);
		put_udp4(b, to, above, at);
		headers_ip4_checksum(at);
		b->transport = FRAME_BYTES + IP4_BYTES + UDP_BYTES;
	} else if (b->way == WAY_IP4) {
		put_udp4(b, to, above, below);
	} else {
		headers_ip6(below, to->sgid, to->dgid, above);
		headers_udp(below + IP6_BYTES, b->port, above);
		b->crc = icrc_ip6(below, below + IP6_BYTES);
	}
}

/* Headers, payload, pad and ICRC. */
static void build(struct build *b, const struct address *to,
		  const struct packet *p, struct slot *s, struct msghdr *m)
{
	bool is_small = p->payload_bytes <= SMALL_BYTES;
	size_t pad = packet_pad(p->payload_bytes);
	size_t n = packet_header_bytes(p->opcode);
	size_t above = n + p->payload_bytes + pad + ICRC_BYTES;
	uint8_t *transport;
	uint8_t *tail;
	uint32_t crc;

	put_below(b, to, above, n, s->head);
	transport = s->head + b->transport;
	tail = is_small ? transport + n + p->payload_bytes : s->tail;
	packet_encode(p, transport);
	if (is_small && p->payload_bytes)
		memcpy(transport + n, p->payload, p->payload_bytes);
	memset(tail, 0, pad);
	crc = icrc_transport(b->crc, transport, n);
	crc = crc32_update(crc, p->payload, p->payload_bytes);
	crc = htole32(crc32_update(crc, tail, pad));
	memcpy(tail + pad, &crc, ICRC_BYTES);
	s->iov[0] =
	    (struct iovec){s->head, b->transport + (is_small ? above : n)};
	s->iov[1] =
	    (struct iovec){(void *)(uintptr_t)p->payload, p->payload_bytes};
	s->iov[2] = (struct iovec){s->tail, pad + ICRC_BYTES};
	m->msg_iov = s->iov;
	m->msg_iovlen = is_small ? 1 : 3;
}

static bool is_in_space(const struct outbox *o, const struct packet *p)
{
	return p->payload >= o->space &&
	       p->payload + p->payload_bytes <= o->space + o->used;
}

/* A long payload of the caller's own must outlive the call. */
static int keep_payload(struct outbox *o, struct packet *p)
{
	uint8_t *copy;

	if (p->payload_bytes <= SMALL_BYTES || is_in_space(o, p))
		return 0;
	copy = wire_space(p->payload_bytes);
	if (!copy)
		return -EMSGSIZE;
	memcpy(copy, p->payload, p->payload_bytes);
	p->payload = copy;
	return 0;
}

/* -EHOSTUNREACH when version 1 does not know where to. */
static int choose_way(struct outbox *o, const struct address *to,
		      struct build *b)
{
	b->way = WAY_FRAME;
	b->port = o->port4;
	if (to->is_v1)
		return wire_path_v1(&o->paths, to, b->mac) ? 0 : -EHOSTUNREACH;
	if (wire_path_frame(&o->paths, to, b->mac))
		return 0;
	b->way = gid_is_ip4(to->dgid) ? WAY_IP4 : WAY_IP6;
	if (b->way == WAY_IP6)
		b->port = o->port6;
	return 0;
}

static int put_in(struct outbox *o, const struct address *to,
		  const struct packet *given)
{
	struct packet p = *given;
	int priority = to->sl & 7; /* programs and peers choose it */
	struct build b;
	struct msghdr *m;
	struct slot *s;
	int rc = choose_way(o, to, &b);

	if (rc < 0)
		return rc;
	if (o->count == WIRE_BATCH ||
	    (o->count && (o->way != b.way || o->priority != priority)))
		send_queued(o);
	rc = keep_payload(o, &p);
	if (rc < 0)
		return rc;
	o->way = b.way;
	o->priority = priority;
	s = &o->slots[o->count];
	m = &o->messages[o->count].msg_hdr;
	*m = (struct msghdr){0};
	build(&b, to, &p, s, m);
	if (b.way == WAY_FRAME)
		address_frame(m, s, to);
	else if (b.way == WAY_IP6)
		address_ip6(m, s, to);
	else
		address_ip4(m, s, to);
	o->count++;
	return 0;
}

static void on_late(struct timer *t)
{
	struct outbox *o =
	    (struct outbox *)((char *)t - offsetof(struct outbox, late));

	if (!o->faults.later)
		return;
	o->faults.later = 0;
	put_in(o, &o->faults.to, &o->faults.held);
	wire_flush();
}

int wire_send(const struct address *to, const struct packet *p)
{
	struct outbox *o = wire_is_open() ? own_outbox() : NULL;
	int rc;

	if (!o)
		return -ENETDOWN;
	switch (faults_choose(&o->faults)) {
	case FAULT_LOST:
		wire_count(WIRE_LOST_ON_PURPOSE, 1);
		return 0;
	case FAULT_DELAYED:
		if (!faults_hold(&o->faults, to, p))
			break;
		wire_count(WIRE_DELAYED_ON_PURPOSE, 1);
		timer_set(&o->late, clock_ns() + FAULT_DELAY_NS);
		return 0;
	case FAULT_DOUBLED:
		wire_count(WIRE_DOUBLED_ON_PURPOSE, 1);
		put_in(o, to, p);
		break;
	case FAULT_NONE:
		break;
	}
	rc = put_in(o, to, p);
	if (faults_due(&o->faults))
		put_in(o, &o->faults.to, &o->faults.held);
	return rc;
}
