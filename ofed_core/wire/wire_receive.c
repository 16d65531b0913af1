/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire_receive: RoCE packets that arrive, checked and handed on.
 */
#include <arpa/inet.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/base/cpu_placement.h"
#include "ofed_core/base/log.h"
#include "ofed_core/pure/bytes.h"
#include "ofed_core/pure/icrc.h"
#include "ofed_core/pure/rx_moderation.h"
#include "ofed_core/pure/wire_headers.h"
#include "ofed_core/wire/wire.h"
#include "ofed_core/wire/wire_socket.h"

#define QPN_CM       1 /* the connection manager's */
#define STREAM_NS    NS_PER_MS
#define STREAM_BYTES (128 << 10) /* in that time */
#define BTH_BYTES    12

struct inbox {
	struct source source;
	bool is_open;
	enum inbox_kind kind;
	unsigned own;      /* index of the worker */
	struct timer rest; /* when to listen again */
};

static struct inbox inboxes[WORKERS_MAX][INBOX_KINDS];
/* What arrives goes there. */
static void (*take)(const struct arrival *a, unsigned count);

/* IPv4 packets that UDP sockets do not tell all of (wire_inbox.c). */
enum other_packets {
	OTHERS_NOT_SEEN,
	OTHERS_BY_RAW,
	OTHERS_WITHOUT_RAW /* which was refused */
};
static _Atomic enum other_packets others;

/* One of a batch. */
struct incoming {
	const uint8_t *bytes;
	size_t count;
	struct msghdr *header;
	const uint8_t *transport;
	size_t transport_bytes; /* without the ICRC */
	bool is_other;
};

static uint32_t icrc_that_came(const struct incoming *in)
{
	uint32_t crc;

	memcpy(&crc, in->transport + in->transport_bytes, ICRC_BYTES);
	return le32toh(crc);
}

/* The transport begins there, and the ICRC is the last of it. */
static void find_transport(struct incoming *in, size_t at)
{
	in->transport = in->bytes + at;
	in->transport_bytes = in->count - at - ICRC_BYTES;
}

static bool is_icrc_right(const struct incoming *in, uint32_t below)
{
	if (icrc_transport(below, in->transport, in->transport_bytes) ==
	    icrc_that_came(in))
		return true;
	wire_count(WIRE_BAD_ICRC, 1);
	return false;
}

static void take_ip4(struct arrival *a, const uint8_t *ip)
{
	uint32_t source;
	uint32_t dest;

	memcpy(&source, ip + 12, 4);
	memcpy(&dest, ip + 16, 4);
	gid_from_ip4(a->sgid, source);
	gid_from_ip4(a->dgid, dest);
	a->traffic_class = ip[1];
	a->hop_limit = ip[8];
	memset(a->grh, 0, 20);
	memcpy(a->grh + 20, ip, 20);
}

/* From a raw socket. Options would change what the ICRC covers. */
static bool check_raw4(struct arrival *a, struct incoming *in)
{
	const uint8_t *ip = in->bytes;

	if (in->count < IP4_BYTES + UDP_BYTES + BTH_BYTES + ICRC_BYTES ||
	    ip[0] != 0x45 ||
	    get_be16(ip + IP4_BYTES + 4) != in->count - IP4_BYTES)
		return false;
	find_transport(in, IP4_BYTES + UDP_BYTES);
	if (!is_icrc_right(in, icrc_ip4(ip, ip + IP4_BYTES)))
		return false;
	take_ip4(a, ip);
	return true;
}

/*
 * The identification that the ICRC was made with; fragments may be allowed or
 * not. That leaves 16 bits of the ICRC to tell whether it is right.
 */
static bool find_identification(const struct incoming *in, uint8_t *ip,
				const uint8_t *udp)
{
	static const uint16_t flags[] = {IP4_DF, 0};
	uint32_t came = icrc_that_came(in);

	for (int i = 0; i < 2; i++) {
		uint32_t crc;

		put_be16(ip + 6, flags[i]);
		crc = icrc_transport(icrc_ip4(ip, udp), in->transport,
				     in->transport_bytes);
		if (icrc_ip4_identification(came, crc, in->transport_bytes,
					    ip + 4))
			return true;
		put_be16(ip + 4, 0);
	}
	return false;
}

static void take_control4(uint8_t *ip, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != IPPROTO_IP)
			continue;
		if (c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			memcpy(ip + 16, &info.ipi_addr, 4);
		}
		if (c->cmsg_type == IP_TTL) {
			int ttl;

			memcpy(&ttl, CMSG_DATA(c), sizeof(ttl));
			ip[8] = (uint8_t)ttl;
		}
		if (c->cmsg_type == IP_TOS)
			ip[1] = *CMSG_DATA(c);
	}
}

/* From a UDP socket: the headers are put together again. */
static bool check_udp4(struct arrival *a, struct incoming *in)
{
	static const uint8_t nobody[16];
	const struct sockaddr_in *from = in->header->msg_name;
	uint8_t ip[IP4_BYTES];
	uint8_t udp[UDP_BYTES];
	uint32_t crc;

	if (in->count < BTH_BYTES + ICRC_BYTES)
		return false;
	find_transport(in, 0);
	headers_ip4(ip, nobody, nobody, in->count);
	headers_udp(udp, from->sin_port, in->count);
	memcpy(ip + 12, &from->sin_addr, 4);
	take_control4(ip, in->header);
	crc = icrc_transport(icrc_ip4(ip, udp), in->transport,
			     in->transport_bytes);
	if (crc != icrc_that_came(in)) {
		in->is_other = atomic_load(&others) != OTHERS_BY_RAW &&
			       find_identification(in, ip, udp);
		if (!in->is_other) {
			wire_count(WIRE_BAD_ICRC, 1);
			return false;
		}
	}
	headers_ip4_checksum(ip);
	take_ip4(a, ip);
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

static bool check_udp6(struct arrival *a, struct incoming *in)
{
	const struct sockaddr_in6 *from = in->header->msg_name;
	uint8_t ip[IP6_BYTES];
	uint8_t udp[UDP_BYTES];

	if (in->count < BTH_BYTES + ICRC_BYTES)
		return false;
	find_transport(in, 0);
	memcpy(a->sgid, &from->sin6_addr, 16);
	take_control6(a, in->header);
	headers_ip6(ip, a->sgid, a->dgid, in->count);
	headers_udp(udp, from->sin6_port, in->count);
	if (!is_icrc_right(in, icrc_ip6(ip, udp)))
		return false;
	ip[0] |= a->traffic_class >> 4;
	ip[1] = (uint8_t)(a->traffic_class << 4);
	ip[7] = a->hop_limit;
	memcpy(a->grh, ip, sizeof(ip));
	return true;
}

/* Version 1: the GRH leads, and what is longer than it says is Ethernet pad. */
static bool check_grh(struct arrival *a, struct incoming *in)
{
	const uint8_t *grh = in->bytes;
	size_t above;

	if (in->count < GRH_BYTES + BTH_BYTES + ICRC_BYTES ||
	    grh[0] >> 4 != 6 || grh[6] != GRH_NEXT_BTH)
		return false;
	above = get_be16(grh + 4);
	if (above < BTH_BYTES + ICRC_BYTES || above > in->count - GRH_BYTES)
		return false;
	in->count = GRH_BYTES + above;
	find_transport(in, GRH_BYTES);
	if (!is_icrc_right(in, icrc_grh(grh)))
		return false;
	a->is_v1 = true;
	a->traffic_class = (uint8_t)(get_be16(grh) >> 4);
	a->hop_limit = grh[7];
	memcpy(a->sgid, grh + 8, 16);
	memcpy(a->dgid, grh + 24, 16);
	memcpy(a->grh, grh, GRH_BYTES);
	return true;
}

static bool check(struct arrival *a, enum inbox_kind kind, struct incoming *in)
{
	/* Longer than any packet of RoCE. */
	if (in->header->msg_flags & MSG_TRUNC)
		return false;
	switch (kind) {
	case INBOX_UDP4:
		return check_udp4(a, in);
	case INBOX_UDP6:
		return check_udp6(a, in);
	case INBOX_ETHER:
		return check_grh(a, in);
	case INBOX_RAW4:
		return check_raw4(a, in);
	case INBOX_KINDS:
		break;
	}
	return false;
}

/* True when the packet is for somebody here. */
static bool take_packet(struct arrival *a, enum inbox_kind kind,
			struct incoming *in)
{
	*a = (struct arrival){.device = NULL};
	if (!check(a, kind, in))
		return false;
	wire_count(WIRE_RECEIVED, 1);
	if (packet_decode(&a->p, in->transport, in->transport_bytes) < 0 ||
	    (a->p.pkey & 0x7fff) != (PACKET_PKEY & 0x7fff)) {
		wire_count(WIRE_BAD_PACKET, 1);
		return false;
	}
	a->device = device_by_gid_version(a->dgid, a->is_v1, NULL);
	/* The connection manager answers peers of the other version, too. */
	if (!a->device && a->p.dest_qpn == QPN_CM)
		a->device = device_by_gid(a->dgid, NULL);
	return a->device || gid_is_multicast(a->dgid);
}

struct inbox_buffers {
	struct mmsghdr messages[WIRE_BATCH];
	struct iovec iov[WIRE_BATCH];
	struct sockaddr_in6 from[WIRE_BATCH];
	_Alignas(8) char control[WIRE_BATCH][128];
	uint8_t packets[WIRE_BATCH][PACKET_BYTES];
	struct arrival arrivals[WIRE_BATCH];
	struct cpu_placement placement;
	struct rx_moderation moderation;
	uint64_t since; /* bytes are counted */
	uint64_t bytes;
	bool is_stream;
};

/*
 * Many long packets: their sender is busy, and its processor may be the one
 * that we run on.
 */
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
		cpu_placement_look(&r->placement, now);
	else
		cpu_placement_end(&r->placement);
}

static void inbox_ready(struct source *s, uint32_t events);

static void on_rested(struct timer *t)
{
	struct inbox *in =
	    (struct inbox *)((char *)t - offsetof(struct inbox, rest));

	worker_listen(t->worker, &in->source, true);
}

static int open_inbox(enum inbox_kind kind, unsigned own)
{
	struct inbox *in = &inboxes[own][kind];
	int fd = wire_inbox_open(kind, own);

	if (fd < 0)
		return fd;
	*in = (struct inbox){.source = {.fd = fd, .ready = inbox_ready},
			     .is_open = true,
			     .kind = kind,
			     .own = own};
	timer_init(&in->rest, worker_at(own), on_rested);
	return worker_add_source(worker_at(own), &in->source);
}

static int open_inboxes(enum inbox_kind kind)
{
	int rc = 0;

	for (unsigned i = 0; i < workers_count() && rc == 0; i++)
		rc = open_inbox(kind, i);
	return rc;
}

/*
 * Somebody's packets have identifications, or may be fragmented: raw sockets
 * show that of all that follow.
 */
static void use_raw(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (atomic_load(&others) == OTHERS_NOT_SEEN) {
		rc = open_inboxes(INBOX_RAW4);
		for (unsigned i = 0; i < workers_count() && rc == 0; i++)
			rc = wire_inbox_narrow(inboxes[i][INBOX_UDP4].source.fd,
					       i);
		atomic_store(&others,
			     rc < 0 ? OTHERS_WITHOUT_RAW : OTHERS_BY_RAW);
	}
	pthread_mutex_unlock(&lock);
	if (rc < 0)
		log_warning("no raw sockets (%s): 16 bits of some ICRCs are "
			    "not checked",
			    strerror(-rc));
}

/* Like a message that has ended: nothing but what follows a packet that is
 * neither the only nor the last of one is sure to come. */
static bool ends_message(const struct packet *p)
{
	return (p->properties & PACKET_LAST) || !p->payload_bytes;
}

/* Tells whether more of a message is going to come. */
static bool take_batch(struct inbox_buffers *r, struct inbox *in, unsigned n)
{
	bool is_other = false;
	unsigned taken = 0;

	pthread_rwlock_rdlock(&core_lock);
	for (unsigned i = 0; i < n; i++) {
		struct incoming p = {.bytes = r->packets[i],
				     .count = r->messages[i].msg_len,
				     .header = &r->messages[i].msg_hdr};

		taken += take_packet(&r->arrivals[taken], in->kind, &p);
		is_other |= p.is_other;
	}
	take(r->arrivals, taken);
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
	if (is_other)
		use_raw();
	return taken && !ends_message(&r->arrivals[taken - 1].p);
}

static void inbox_ready(struct source *s, uint32_t events)
{
	struct inbox_buffers *r = worker_buffer(BUFFER_INBOX, sizeof(*r));
	struct inbox *in = (struct inbox *)s;
	bool goes_on;
	uint64_t ns;
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
	goes_on = take_batch(r, in, (unsigned)n);
	/* An error is told even of a socket that is not listened to. */
	if (!r->is_stream || n == WIRE_BATCH || in->rest.slot)
		return;
	ns = rx_moderation_ns(&r->moderation, !goes_on, clock_ns());
	if (!ns)
		return;
	worker_listen(worker_self(), s, false);
	timer_set(&in->rest, clock_ns() + ns);
}

int wire_receive_open(void (*on_packets)(const struct arrival *a,
					 unsigned count))
{
	int rc;

	take = on_packets;
	rc = open_inboxes(INBOX_UDP4);
	if (rc == 0)
		rc = open_inboxes(INBOX_ETHER);
	if (rc == 0 && open_inboxes(INBOX_UDP6) < 0)
		log_warning("no RoCE over IPv6");
	return rc;
}

void wire_receive_close(void)
{
	for (unsigned i = 0; i < WORKERS_MAX * INBOX_KINDS; i++) {
		struct inbox *in = &inboxes[i / INBOX_KINDS][i % INBOX_KINDS];

		if (in->is_open)
			close(in->source.fd);
		in->is_open = false;
	}
}

int wire_receive_socket(bool is_ip4)
{
	const struct inbox *in = &inboxes[0][is_ip4 ? INBOX_UDP4 : INBOX_UDP6];

	return in->is_open ? in->source.fd : -1;
}
