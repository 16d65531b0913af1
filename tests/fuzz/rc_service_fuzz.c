/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_service_fuzz: bytes as what a hostile peer sends to the wire half of the
 * link service: CLC on the TCP streams of two connections, LLC and CDC on
 * links; and beside them programs, time, completions, links that fail. The
 * RNIC is a fake: what is posted goes nowhere, and may complete.
 *
 * Nothing is posted on a dead link, WRITEs come out of live regions, each
 * connection has one outcome, and at the end all is given back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/protocol/llc_wire.h"
#include "smc_r/service/rc_carrier.h"
#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_paths.h"
#include "smc_r/service/rc_service.h"
#include "smc_r/service/rc_state.h"
#include "tests/rc/element.h"

#define CONNS  2
#define STREAM 4096
#define MS_NS  1000000ull
#define QPN    17u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct end {
	struct rc_conn conn;
	struct element element;
	bool began, over;
	uint8_t stream[STREAM];
	size_t arrived, taken;
} ends[CONNS];

static struct link {
	struct rc_link *link; /* NULL: closed */
	bool connected, dead;
	uint32_t slot[RC_LINK_SLOTS];
	unsigned slots;
} links[64];

static struct rc_service *service;
static unsigned link_count;
static int devices, regions;
static struct rc_done done; /* for the next poll */
static bool has_done;
static uint8_t received[RC_LINK_BYTES];
static uint64_t now;

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* ---- the RNIC ---- */

static struct link *link_of(const struct rc_link *l)
{
	return (struct link *)(void *)l->qp;
}

int rc_device_find(const struct in6_addr *local, int roce_version,
		   union ibv_gid *gid)
{
	memcpy(gid, local, sizeof(*gid));
	gid->raw[0] = roce_version == 1 ? 0xfe : 0;
	return 0;
}

int rc_device_open(struct rc_device *d, const union ibv_gid *gid)
{
	memset(d, 0, sizeof(*d));
	d->gid = *gid;
	d->mtu = IBV_MTU_1024;
	devices++;
	return 0;
}

void rc_device_close(struct rc_device *d)
{
	(void)d;
	devices--;
}

int rc_device_arm(struct rc_device *d, bool solicited_only)
{
	(void)d;
	(void)solicited_only;
	return 0;
}

int rc_device_heard(struct rc_device *d)
{
	(void)d;
	return 0;
}

int rc_device_poll(struct rc_device *d, struct rc_done *out, int most)
{
	struct link *l = &links[done.qpn - QPN];

	(void)most;
	if (!has_done || !l->link || l->link->device != d)
		return 0;
	has_done = false;
	*out = done;
	return 1;
}

int rc_link_done(struct rc_link *l, const struct rc_done *one, uint64_t *tag,
		 void *out)
{
	switch (one->what) {
	case RC_DONE_SENT:
		l->free_slots |= 1u << one->id;
		*tag = l->tag[one->id];
		return 0;
	case RC_DONE_RECEIVED:
		memcpy(out, received, one->bytes);
		return 0;
	case RC_DONE_FAILED:
		break;
	}
	link_of(l)->dead = true;
	return -EIO;
}

int rc_link_open(struct rc_link *l, struct rc_device *d, uint32_t psn)
{
	struct link *one = &links[link_count];

	memset(l, 0, sizeof(*l));
	if (link_count == sizeof(links) / sizeof(links[0]))
		return -ENOMEM;
	memset(one, 0, sizeof(*one));
	one->link = l;
	link_count++;
	l->device = d;
	l->qp = (void *)one;
	l->psn = psn;
	l->free_slots = (1u << RC_LINK_SLOTS) - 1;
	return 0;
}

void rc_link_close(struct rc_link *l)
{
	if (l->qp)
		link_of(l)->link = NULL;
	memset(l, 0, sizeof(*l));
}

struct rc_link_name rc_link_name(const struct rc_link *l)
{
	return (struct rc_link_name){.gid = l->device->gid,
				     .qpn =
					 QPN + (uint32_t)(link_of(l) - links),
				     .psn = l->psn,
				     .mtu = l->device->mtu};
}

int rc_link_connect(struct rc_link *l, const struct rc_link_name *peer)
{
	(void)peer;
	must(!link_of(l)->connected);
	link_of(l)->connected = true;
	return 0;
}

int rc_region_make(struct rc_region *r, struct rc_link *l, void *at,
		   size_t bytes, bool remote)
{
	(void)bytes;
	r->mr = (void *)link_of(l);
	r->lkey = 1;
	r->rkey = remote ? (uint32_t)++regions + 0x1000 : 0;
	regions += !remote;
	r->address = (uintptr_t)at;
	return 0;
}

void rc_region_drop(struct rc_region *r)
{
	regions -= r->mr != NULL;
	memset(r, 0, sizeof(*r));
}

static bool is_ours(const uint8_t *at, uint32_t bytes)
{
	for (int i = 0; i < CONNS; i++) {
		const struct ring *r = &ends[i].conn.pump.near.in.ring[0];

		if (at >= r->at && at + bytes <= r->at + r->bytes)
			return true;
	}
	return false;
}

int rc_link_post(struct rc_link *l, const struct rc_write *writes,
		 unsigned count, const void *message, uint32_t bytes,
		 uint64_t tag)
{
	struct link *one = link_of(l);
	uint32_t slot = (uint32_t)__builtin_ctz(l->free_slots | 0x80000000u);

	must(one->link == l && one->connected && !one->dead);
	must(bytes <= RC_LINK_MESSAGE && message && count <= RC_LINK_WRITES);
	if (l->free_slots == 0)
		return -EAGAIN;
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < writes[i].pieces; k++)
			must(is_ours(writes[i].piece[k].at,
				     writes[i].piece[k].bytes));
	l->free_slots &= ~(1u << slot);
	l->tag[slot] = tag;
	one->slot[one->slots++] = slot;
	return 0;
}

/* ---- TCP, and interfaces ---- */

ssize_t rc_carrier_peek(int tcp, void *out, size_t n)
{
	struct end *e = &ends[tcp];
	size_t there = e->arrived - e->taken;

	n = there < n ? there : n;
	memcpy(out, e->stream + e->taken, n);
	return n ? (ssize_t)n : -EAGAIN;
}

int rc_carrier_take(int tcp, size_t n)
{
	must(n <= ends[tcp].arrived - ends[tcp].taken);
	ends[tcp].taken += n;
	return 0;
}

int rc_carrier_send(int tcp, const void *bytes, size_t n)
{
	must(bytes && n > 0 && tcp >= 0 && tcp < CONNS);
	return 0;
}

struct in6_addr rc_prefix_of(const struct in6_addr *address, unsigned bits)
{
	(void)bits;
	return *address;
}

int rc_prefixes(const struct in6_addr *local,
		struct rc_prefix out[RC_PREFIXES_MAX])
{
	out[0] = (struct rc_prefix){*local, 128};
	return 1;
}

unsigned rc_interface(const struct in6_addr *local)
{
	(void)local;
	return 1;
}

/* ---- the near half ---- */

static struct end *end_of(struct rc_conn *c)
{
	return (struct end *)(void *)((char *)c - offsetof(struct end, conn));
}

static void hear_outcome(struct rc_conn *c, enum rc_outcome outcome,
			 uint32_t reason, uint32_t peer_reason)
{
	struct end *e = end_of(c);

	(void)reason;
	(void)peer_reason;
	must(e->began && !e->over);
	e->over = outcome != RC_OUTCOME_SMC;
}

static void hear_peer(struct rc_conn *c, int error)
{
	(void)error;
	must(!end_of(c)->over);
}

static void hear_moved(struct rc_conn *c)
{
	must(!end_of(c)->over);
}

static void hear_over(struct rc_conn *c)
{
	must(!end_of(c)->over && c->state == RC_CONN_OVER);
	end_of(c)->over = true;
}

static const struct rc_near_calls calls = {hear_outcome, hear_peer, hear_moved,
					   hear_over};

/* ---- events ---- */

static void begin(int i, bool server)
{
	struct end *e = &ends[i];

	if (e->began)
		return;
	e->began = true;
	e->conn.server = server;
	e->conn.near = &calls;
	rc_service_begin(service, &e->conn, now);
}

static void stream_bytes(int i, const uint8_t *bytes, size_t n)
{
	struct end *e = &ends[i];

	if (n > STREAM - e->arrived)
		n = STREAM - e->arrived;
	memcpy(e->stream + e->arrived, bytes, n);
	e->arrived += n;
	if (e->began && !e->over)
		rc_service_readable(&e->conn, now);
}

/* A message that is well formed, with fields out of the input. */
static void stream_message(int i, const uint8_t *bytes, size_t n)
{
	static union {
		struct clc_proposal proposal;
		struct clc_accept_confirm end;
		struct clc_decline decline;
	} m;
	uint8_t out[CLC_BYTES_MAX];
	int length;

	memset(&m, 0, sizeof(m));
	memcpy(&m, bytes, n < sizeof(m) ? n : sizeof(m));
	if (ends[i].conn.server && !ends[i].taken) {
		m.proposal.prefix_count %= 8;
		m.proposal.eid_count %= CLC_EIDS_MAX + 1;
		length = clc_encode_proposal(&m.proposal, out, sizeof(out));
	} else {
		m.end.first_contact = bytes[0] & 1;
		m.end.direct = false;
		m.end.path = CLC_PATH_SMCR;
		m.end.type = ends[i].conn.server ? CLC_CONFIRM : CLC_ACCEPT;
		length = clc_encode_accept_confirm(&m.end, out, sizeof(out));
	}
	if (length > 0)
		stream_bytes(i, out, (size_t)length);
}

static void complete(enum rc_done_what what, uint32_t qp, const uint8_t *bytes,
		     size_t n)
{
	struct link *l = &links[qp % 64];
	uint32_t id = 0;

	if (!l->link || (what == RC_DONE_SENT && (l->slots == 0 || l->dead)))
		return;
	if (what == RC_DONE_SENT) {
		id = l->slot[0];
		memmove(l->slot, l->slot + 1, --l->slots * sizeof(l->slot[0]));
	}
	if (n > 0)
		memcpy(received, bytes, n);
	done = (struct rc_done){what, QPN + qp % 64, .id = id,
				.bytes = (uint32_t)n};
	has_done = true;
	rc_service_poll(service, now);
	has_done = false;
}

static void message_of(int i, uint32_t qp, const uint8_t *bytes, size_t n)
{
	uint8_t out[CDC_BYTES] = {CDC_TYPE, CDC_BYTES};
	uint32_t token = htonl(ends[i].conn.token);

	memcpy(out + 2, bytes, n < CDC_BYTES - 2 ? n : CDC_BYTES - 2);
	memcpy(out + 4, &token, sizeof(token));
	complete(RC_DONE_RECEIVED, qp, out, sizeof(out));
}

static void program(int i, uint8_t what)
{
	static uint8_t bytes[8192];
	struct end *e = &ends[i];

	if (e->over || e->conn.state != RC_CONN_ACTIVE)
		return;
	if (what & 1)
		element_put(&e->element, bytes, (size_t)what * 32);
	if (what & 2)
		element_take(&e->element, bytes, (size_t)what * 32);
	if (what & 4)
		rc_stream_end(&e->conn.pump.stream,
			      (enum close_local)(what >> 3 & 1 ? 2 : 0),
			      element_is_unread(&e->element));
	rc_service_work(&e->conn, now);
}

static void act(uint8_t event, uint8_t value, const uint8_t *bytes, size_t n)
{
	int i = value & 1;
	uint32_t qp = value >> 1 & 3;

	switch (event % 10) {
	case 0:
		begin(i, value & 2);
		break;
	case 1:
		stream_bytes(i, bytes, n);
		break;
	case 2:
		if (n > 0)
			stream_message(i, bytes, n);
		break;
	case 3:
		complete(RC_DONE_RECEIVED, qp, bytes, n);
		break;
	case 4:
		message_of(i, qp, bytes, n);
		break;
	case 5:
		complete(RC_DONE_SENT, qp, NULL, 0);
		break;
	case 6:
		if (value >= 128)
			complete(RC_DONE_FAILED, qp, NULL, 0);
		break;
	case 7:
	case 8:
		now += value * 50 * MS_NS;
		rc_service_time(service, now);
		break;
	default:
		program(i, value);
		break;
	}
}

static void make(int i)
{
	static bool made[CONNS];
	struct end *e = &ends[i];

	if (!made[i])
		element_make(&e->element, 16384);
	made[i] = true;
	memset(&e->conn, 0, sizeof(e->conn));
	memset(&e->element.slot, 0, sizeof(e->element.slot));
	memset(&e->element.end, 0, sizeof(e->element.end));
	rmb_element_reset(&e->element.rmb.map, 0);
	element_attach(&e->element, &e->conn.pump);
	e->began = e->over = false;
	e->arrived = e->taken = 0;
	e->conn.tcp = i;
	e->conn.local.s6_addr[10] = e->conn.local.s6_addr[11] = 0xff;
	e->conn.local.s6_addr[15] = 1;
}

static void start(void)
{
	static const uint8_t id[8] = {1, 2, 2, 0, 0, 0, 0, 1};
	static bool began;

	if (!began) {
		real_init();
		process_init();
		must(fdtable_init() == 0);
	}
	began = true;
	memset(links, 0, sizeof(links));
	link_count = 0;
	regions = devices = 0;
	now = 1000 * MS_NS;
	for (int i = 0; i < CONNS; i++)
		make(i);
	service = rc_service_new(id);
	must(service != NULL && rc_service_add_eid(service, "F") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0;

	start();
	while (at + 3 <= size) {
		size_t n = data[at + 2], rest = size - at - 3;

		n = n < rest ? n : rest;
		act(data[at], data[at + 1], data + at + 3, n);
		at += 3 + n;
	}
	rc_service_end(service, now);
	now += 60000 * MS_NS;
	rc_service_time(service, now);
	rc_service_time(service, now);
	/* A server waits for its client's Proposal for ever. */
	must(service->groups == NULL);
	rc_service_free(service);
	must(devices == 0 && regions == 0);
	for (int i = 0; i < CONNS; i++)
		must(!ends[i].conn.group);
	return 0;
}
