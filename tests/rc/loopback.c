/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * loopback: a wire half of the link service without a wire: both ends of a TCP
 * connection say hello to one service, and WRITEs are copies. So what is new
 * in the engine is tested without RDMA, and without CLC: link it in place of
 * rc_service and rc_verbs.
 *
 * SMC_RC_LOOPBACK=tcp: each connection falls back to TCP, 2 ms after its hello.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "smc_r/protocol/reason.h"
#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_service.h"

#define ENDS        4096
#define FALLBACK_NS 2000000u

struct end {
	struct rc_conn *conn;
	struct end *peer;
	struct rc_link link;
	uint64_t due_ns; /* fallback; 0: none */
	struct cdc_message inbox[RC_LINK_SLOTS];
	unsigned count;
	bool is_over;
};

struct rc_service {
	struct end *end[ENDS];
	int fd;
	bool falls_back;
};

struct rc_service *rc_service_new(const uint8_t peer_id[8])
{
	struct rc_service *s = calloc(1, sizeof(*s));
	const char *mode = getenv("SMC_RC_LOOPBACK");

	(void)peer_id;
	if (s) {
		s->fd = epoll_create1(EPOLL_CLOEXEC);
		s->falls_back = mode && strcmp(mode, "tcp") == 0;
	}
	return s;
}

int rc_service_add_eid(struct rc_service *s, const char *eid)
{
	(void)s;
	(void)eid;
	return 0;
}

void rc_service_status(const struct rc_service *s, struct far_status *out)
{
	(void)s;
	memset(out, 0, sizeof(*out));
	out->magic = FAR_MAGIC;
	out->version = FAR_VERSION;
}

void rc_service_reset_counts(struct rc_service *s)
{
	(void)s;
}

void rc_service_end(struct rc_service *s, uint64_t now_ns)
{
	(void)now_ns;
	for (int i = 0; i < ENDS; i++) {
		struct end *e = s->end[i];

		if (!e || !e->peer)
			continue;
		rc_stream_abort(&e->conn->pump.stream);
		rc_near_peer(e->conn, 0);
	}
}

bool rc_service_is_done(const struct rc_service *s)
{
	(void)s;
	return true;
}

void rc_service_free(struct rc_service *s)
{
	close(s->fd);
	free(s);
}

bool rc_service_serves(struct rc_service *s, const struct in6_addr *local)
{
	(void)s;
	(void)local;
	return true;
}

static bool belong(const struct rc_conn *a, const struct rc_conn *b)
{
	return a->local_port == b->peer_port && b->local_port == a->peer_port &&
	       memcmp(&a->local, &b->peer, sizeof(a->local)) == 0 &&
	       memcmp(&b->local, &a->peer, sizeof(a->local)) == 0;
}

static void start(struct end *e)
{
	struct rc_pump *p = &e->conn->pump;
	struct connection *near = &p->near;
	struct connection *other = &e->peer->conn->pump.near;

	rmb_ring_fill(&near->rmb->map, near->element, SIDE_SERVER,
		      near->rmb->map.rmbe_bytes);
	rmb_ring_fill(&near->rmb->map, near->element, SIDE_CLIENT,
		      near->rmb->map.rmbe_bytes);
	rc_stream_init(&p->stream, near->out.ring[0].bytes,
		       other->out.ring[0].bytes, 1);
	p->link = &e->link;
	p->remote = (uintptr_t)other->out.ring[0].at;
	e->link.free_slots = (1u << RC_LINK_SLOTS) - 1;
	e->conn->state = RC_CONN_ACTIVE;
}

static void meet(struct end *a, struct end *b)
{
	a->peer = b;
	b->peer = a;
	start(a);
	start(b);
	rc_near_outcome(a->conn, RC_OUTCOME_SMC, 0, 0);
	rc_near_outcome(b->conn, RC_OUTCOME_SMC, 0, 0);
}

static struct end **place(struct rc_service *s)
{
	for (int i = 0; i < ENDS; i++)
		if (!s->end[i])
			return &s->end[i];
	abort();
}

void rc_service_begin(struct rc_service *s, struct rc_conn *c, uint64_t now_ns)
{
	struct end *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	e->conn = c;
	if (s->falls_back)
		e->due_ns = now_ns + FALLBACK_NS;
	for (int i = 0; i < ENDS && !s->falls_back; i++) {
		struct end *other = s->end[i];

		if (other && !other->peer && !other->is_over &&
		    belong(other->conn, c)) {
			*place(s) = e;
			meet(e, other);
			return;
		}
	}
	*place(s) = e;
}

void rc_service_readable(struct rc_conn *c, uint64_t now_ns)
{
	(void)c;
	(void)now_ns;
}

int rc_service_work(struct rc_conn *c, uint64_t now_ns)
{
	(void)now_ns;
	return rc_pump_send(&c->pump, 0) < 0 ? -1 : 0;
}

/* The wire. */
int rc_link_post(struct rc_link *l, const struct rc_write *writes,
		 unsigned count, const void *message, uint32_t bytes,
		 uint64_t tag)
{
	struct end *e =
	    (struct end *)(void *)((char *)l - offsetof(struct end, link));
	struct end *to = e->peer;

	(void)bytes;
	(void)tag;
	for (unsigned i = 0; i < count; i++) {
		uint8_t *at = (uint8_t *)(uintptr_t)writes[i].remote;

		for (unsigned k = 0; k < writes[i].pieces; k++) {
			memcpy(at, writes[i].piece[k].at,
			       writes[i].piece[k].bytes);
			at += writes[i].piece[k].bytes;
		}
	}
	if (cdc_decode(&to->inbox[to->count++], message, CDC_BYTES) < 0)
		abort();
	if (to->count == RC_LINK_SLOTS)
		l->free_slots = 0;
	return 0;
}

static void take(struct end *e)
{
	struct rc_pump *p = &e->conn->pump;
	enum rc_stream_end before = rc_stream_peer(&p->stream);

	for (unsigned i = 0; i < e->count; i++) {
		if (!e->is_over && rc_pump_receive(p, &e->inbox[i]) < 0)
			abort();
		if (!e->peer->is_over)
			rc_pump_completed(&e->peer->conn->pump,
					  e->inbox[i].sequence);
	}
	e->count = 0;
	e->peer->link.free_slots = (1u << RC_LINK_SLOTS) - 1;
	if (e->is_over)
		return;
	rc_near_moved(e->conn);
	if (rc_stream_peer(&p->stream) != before)
		rc_near_peer(e->conn, 0);
	rc_pump_send(p, 0);
}

static void end_if_over(struct end *e)
{
	if (e->is_over || !rc_stream_is_over(&e->conn->pump.stream))
		return;
	e->is_over = true;
	e->conn->state = RC_CONN_OVER;
	rc_near_over(e->conn);
}

static void release(struct rc_service *s, int i)
{
	struct end *e = s->end[i];

	if (!e->is_over || (e->peer && (!e->peer->is_over || e->count)))
		return;
	if (e->peer) {
		for (int k = 0; k < ENDS; k++)
			if (s->end[k] == e->peer)
				s->end[k] = NULL;
		free(e->peer);
	}
	s->end[i] = NULL;
	free(e);
}

unsigned rc_service_poll(struct rc_service *s, uint64_t now_ns)
{
	unsigned done = 0;

	(void)now_ns;
	for (int i = 0; i < ENDS; i++) {
		struct end *e = s->end[i];

		if (!e)
			continue;
		if (e->peer && e->count > 0) {
			done += e->count;
			take(e);
		}
		if (e->peer) {
			end_if_over(e);
			end_if_over(e->peer);
		}
		release(s, i);
	}
	return done;
}

void rc_service_time(struct rc_service *s, uint64_t now_ns)
{
	for (int i = 0; i < ENDS; i++) {
		struct end *e = s->end[i];

		if (!e || !e->due_ns || now_ns < e->due_ns)
			continue;
		e->due_ns = 0;
		e->is_over = true;
		e->conn->state = RC_CONN_TCP;
		rc_near_outcome(e->conn, RC_OUTCOME_TCP, REASON_NO_SMCR_DEVICE,
				0);
	}
}

uint64_t rc_service_next_ns(const struct rc_service *s)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < ENDS; i++)
		if (s->end[i] && s->end[i]->due_ns && s->end[i]->due_ns < next)
			next = s->end[i]->due_ns;
	return next;
}

bool rc_service_arm(struct rc_service *s)
{
	(void)s;
	return true;
}

int rc_service_fd(const struct rc_service *s)
{
	return s->fd;
}

void rc_service_heard(struct rc_service *s, uint64_t now_ns)
{
	(void)s;
	(void)now_ns;
}
