/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_pair: two RC queue pairs and a wire between them that loses, doubles and
 * reorders, with what stands in for the rest of the core. No clock but its own.
 *
 * For one test program; everything in it is static or stands in for the core.
 */
#ifndef TESTS_UNIT_RC_PAIR_H
#define TESTS_UNIT_RC_PAIR_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/rc/requester.h"
#include "ofed_core/rc/responder.h"
#include "ofed_core/verbs/mr.h"
#include "ofed_core/verbs/mw.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/verbs/remote.h"
#include "ofed_core/verbs/srq.h"
#include "ofed_core/wire/wire.h"

#define MTU_1024     3
#define MEMORY_BYTES (1 << 20)
#define WIRE_PACKETS 8192
#define KEY          0x1234
#define REQUESTS     64
#define RECEIVES     4096

struct side {
	struct qp qp;
	struct ring sq;
	struct ring rq;
	uint8_t *memory;
	struct ib_uverbs_wc done[2 * RECEIVES];
	unsigned done_count;
	unsigned events;
	unsigned invalidated[REQUESTS];
	unsigned bound[REQUESTS];
};

struct flying {
	struct side *to;
	size_t count;
	uint8_t bytes[PACKET_HEADERS_MAX + 1024 + 4];
};

static struct side sides[2];
static struct flying *flying;
static unsigned flying_count;
static uint64_t now;
static uint32_t random_state;
static unsigned loss;    /* of 1000 */
static unsigned mess;    /* doubled or reordered, of 1000 */
static uint32_t lose[4]; /* numbers of packets to lose, the first time */
static unsigned lose_count;
static bool forgets; /* the responder keeps nothing behind a gap */
static unsigned sent_requests;
static unsigned posted; /* work */
static bool is_greedy;  /* the program posts as fast as it gets completions */

static inline uint32_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

/* ---- What stands in for the rest of the core ---- */

static inline struct side *side_of(const struct qp *qp)
{
	return &sides[qp == &sides[1].qp];
}

static inline bool is_to_be_lost(const struct packet *p)
{
	for (unsigned i = 0; i < lose_count; i++)
		if (lose[i] == p->psn) {
			lose[i] = lose[--lose_count];
			return true;
		}
	return random_number() % 1000 < loss;
}

int wire_send(const struct address *to, const struct packet *p)
{
	struct flying *f = &flying[flying_count];
	unsigned copies = 1 + (random_number() % 1000 < mess);

	(void)to;
	sent_requests += p->dest_qpn == sides[1].qp.qpn;
	if (is_to_be_lost(p))
		return 0;
	for (unsigned i = 0; i < copies && flying_count < WIRE_PACKETS; i++) {
		size_t n = packet_encode(p, f->bytes);

		if (p->payload_bytes)
			memcpy(f->bytes + n, p->payload, p->payload_bytes);
		f->count = n + p->payload_bytes + packet_pad(p->payload_bytes);
		f->to = &sides[p->dest_qpn == sides[1].qp.qpn];
		flying_count++;
		f++;
	}
	return 0;
}

void wire_flush(void)
{
}

void wire_count(enum wire_counter c, uint64_t n)
{
	(void)c;
	(void)n;
}

void *worker_buffer(enum worker_buffer which, size_t bytes)
{
	(void)which;
	(void)bytes;
	return NULL;
}

uint8_t *wire_space(size_t bytes)
{
	static uint8_t space[WIRE_SPACE];

	cr_assert_leq(bytes, sizeof(space));
	return space;
}

uint64_t clock_ns(void)
{
	return now;
}

void timer_set(struct timer *t, uint64_t when)
{
	t->when = when;
}

void timer_set_earlier(struct timer *t, uint64_t when)
{
	t->when = when;
}

void timer_cancel(struct timer *t)
{
	(void)t;
}

void work_post(struct work *k)
{
	(void)k;
	posted++;
}

void event_send(struct client *c, struct object *o, enum event_type type)
{
	(void)c;
	(void)type;
	((struct side *)(void *)o)->events++;
}

static inline int resolve(const struct pd *pd, uint32_t key, uint64_t address,
			  uint64_t bytes, struct span *out)
{
	struct side *s = (struct side *)(uintptr_t)pd;

	if (key != KEY || address + bytes > MEMORY_BYTES)
		return -EACCES;
	*out = (struct span){.address = (uintptr_t)s->memory + address,
			     .bytes = bytes};
	return 0;
}

int mr_resolve_local(const struct pd *pd, const struct sge *sge, unsigned count,
		     uint32_t access, struct span *out)
{
	(void)access;
	for (unsigned i = 0; i < count; i++)
		if (resolve(pd, sge[i].lkey, sge[i].address, sge[i].length,
			    &out[i]) < 0)
			return -EINVAL;
	return 0;
}

int remote_resolve(const struct qp *qp, uint32_t rkey, uint32_t access,
		   uint64_t address, uint64_t length, struct span *out)
{
	(void)access;
	return resolve(qp->pd, rkey, address, length, out);
}

/* The key is the number of the request. */
int mw_invalidate(struct qp *qp, uint32_t rkey)
{
	struct side *s = side_of(qp);

	cr_assert_lt(rkey, REQUESTS);
	s->invalidated[rkey]++;
	/* A local request: when all before it are done. */
	if (s == &sides[0])
		cr_assert_eq(s->done_count, rkey);
	return 0;
}

int mw_bind(struct qp *qp, const struct mw_bind *b)
{
	struct side *s = side_of(qp);

	cr_assert_eq(s->done_count, b->new_rkey);
	s->bound[b->new_rkey]++;
	return b->lkey == KEY ? 0 : -EINVAL;
}

int srq_take(struct srq *srq, struct recv_wqe *out)
{
	(void)srq;
	(void)out;
	return -EAGAIN;
}

int recv_wqe_copy(struct recv_wqe *out, const struct ring *r, uint32_t max_sge)
{
	(void)max_sge;
	memcpy(out, ring_peek(r, 0), sizeof(*out));
	return 0;
}

void qp_set_error(struct qp *qp)
{
	atomic_store(&qp->state, QP_ERR);
}

void qp_complete(struct qp *qp, struct cq *cq, struct ib_uverbs_wc *wc,
		 bool is_solicited)
{
	struct side *s = side_of(qp);

	(void)cq;
	(void)is_solicited;
	cr_assert_lt(s->done_count, sizeof(s->done) / sizeof(s->done[0]));
	s->done[s->done_count++] = *wc;
	if (is_greedy)
		s->sq.shared->producer_index++;
}

/* ---- The two sides ---- */

static inline void side_open(struct side *s, uint32_t qpn, uint32_t peer)
{
	struct qp *qp = &s->qp;

	cr_assert_eq(
	    ring_create(&s->sq, REQUESTS, sizeof(struct rxe_send_wqe) + 64), 0);
	cr_assert_eq(ring_create(&s->rq, RECEIVES, sizeof(struct recv_wqe)), 0);
	s->memory = calloc(1, MEMORY_BYTES);
	qp->type = QP_RC;
	qp->qpn = qpn;
	qp->pd = (struct pd *)(void *)s;
	qp->sq = &s->sq;
	qp->rq = &s->rq;
	qp->sig_all = true;
	qp->max_send_sge = 1;
	qp->max_recv_sge = 1;
	qp->max_inline = 64;
	qp->req.slots = s->sq.mask + 1;
	qp->req.wqes = calloc(qp->req.slots, sizeof(struct wqe));
	qp->attr = (struct qp_attr){.dest_qpn = peer,
				    .path_mtu = MTU_1024,
				    .access = 0xf,
				    .max_rd_atomic = 4,
				    .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 1,
				    .timeout = 14,
				    .retry_count = 7,
				    .rnr_retry = 7,
				    .sq_psn = 0xfffff0}; /* goes round soon */
	responder_reset(qp);
	qp->resp.psn = qp->attr.sq_psn;
	requester_start(qp);
	atomic_store(&qp->state, QP_RTS);
}

static inline void open_pair(unsigned lost, unsigned messy, uint32_t seed)
{
	loss = lost;
	mess = messy;
	random_state = seed;
	now = 1;
	lose_count = 0;
	forgets = false;
	sent_requests = 0;
	posted = 0;
	is_greedy = false;
	flying = calloc(WIRE_PACKETS + 2, sizeof(*flying));
	side_open(&sides[0], 0x101, 0x202);
	side_open(&sides[1], 0x202, 0x101);
}

static inline void post(struct side *s, uint32_t opcode, uint64_t local,
			uint32_t bytes, uint64_t remote, uint64_t wr_id)
{
	struct rxe_send_wqe *w =
	    (void *)(s->sq.shared->data +
		     ((size_t)s->sq.shared->producer_index << s->sq.shift));

	memset(w, 0, sizeof(*w));
	w->wr.wr_id = wr_id;
	w->wr.opcode = opcode;
	w->wr.ex.imm_data = (uint32_t)wr_id;
	if (opcode == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD) {
		w->wr.wr.atomic.remote_addr = remote;
		w->wr.wr.atomic.rkey = KEY;
		w->wr.wr.atomic.compare_add = 1;
	} else if (opcode == IB_UVERBS_WR_BIND_MW) {
		w->wr.wr.mw.mr_lkey = (uint32_t)local;
		w->wr.wr.mw.rkey = (uint32_t)wr_id;
	} else {
		w->wr.wr.rdma.remote_addr = remote;
		w->wr.wr.rdma.rkey = KEY;
	}
	w->dma.length = bytes;
	w->dma.num_sge = 1;
	w->dma.sge[0] = (struct rxe_sge){local, bytes, KEY};
	if (opcode == WR_ATOMIC_WRITE)
		memcpy(w->dma.inline_data, s->memory + local, bytes);
	s->sq.shared->producer_index =
	    (s->sq.shared->producer_index + 1) & s->sq.mask;
}

static inline void post_receive(struct side *s, uint64_t at, uint32_t bytes,
				uint64_t wr_id)
{
	struct recv_wqe w = {.wr_id = wr_id,
			     .length = bytes,
			     .sge_count = 1,
			     .sge = {{at, bytes, KEY}}};

	memcpy(s->rq.shared->data +
		   ((size_t)s->rq.shared->producer_index << s->rq.shift),
	       &w, sizeof(w));
	s->rq.shared->producer_index =
	    (s->rq.shared->producer_index + 1) & s->rq.mask;
}

/* Takes one off the wire, sometimes not the first. */
static inline void land(struct flying *out)
{
	unsigned i = 0;

	if (flying_count > 1 && random_number() % 1000 < mess)
		i = random_number() % (flying_count < 8 ? flying_count : 8);
	*out = flying[i];
	flying_count--;
	memmove(&flying[i], &flying[i + 1], (flying_count - i) * sizeof(*out));
}

/* What arrives is looked at in batches: up to 16 packets, all of one kind. */
static inline void deliver_some(void)
{
	static struct flying landed[16];
	const struct packet *p[16];
	static struct packet decoded[16];
	unsigned most = 1 + random_number() % 16;
	unsigned n = 0;
	struct qp *qp;

	while (n < most && flying_count) {
		land(&landed[n]);
		cr_assert_eq(packet_decode(&decoded[n], landed[n].bytes,
					   landed[n].count),
			     0);
		p[n] = &decoded[n];
		if (landed[n].to != landed[0].to ||
		    !(p[n]->properties & PACKET_REQUEST) !=
			!(p[0]->properties & PACKET_REQUEST)) {
			/* It is of another kind: back to where it came from. */
			memmove(&flying[1], &flying[0],
				flying_count * sizeof(*flying));
			flying[0] = landed[n];
			flying_count++;
			break;
		}
		n++;
	}
	qp = &landed[0].to->qp;
	if (atomic_load(&qp->state) != QP_RTS)
		return;
	if (forgets)
		responder_release_all(qp);
	if (p[0]->properties & PACKET_REQUEST)
		responder_handle(qp, p, n);
	else
		requester_handle(qp, p, n);
}

static inline void run(struct side *s)
{
	if (atomic_load(&s->qp.state) == QP_RTS)
		requester_run(&s->qp);
	responder_go_on(&s->qp);
	if (atomic_load(&s->qp.state) == QP_ERR)
		requester_flush(&s->qp);
}

/* Time passes only when nothing is under way. */
static inline bool let_time_pass(void)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < 2; i++)
		if (sides[i].qp.req.wait != WAIT_NOTHING &&
		    sides[i].qp.req.deadline < next)
			next = sides[i].qp.req.deadline;
	if (next == UINT64_MAX)
		return false;
	if (next > now)
		now = next;
	for (int i = 0; i < 2; i++) {
		requester_timer(&sides[i].qp);
		run(&sides[i]);
	}
	return true;
}

static inline void run_until(unsigned completions)
{
	for (unsigned n = 0; n < 4000000; n++) {
		if (sides[0].done_count >= completions && !flying_count)
			return;
		run(&sides[0]);
		run(&sides[1]);
		if (flying_count)
			deliver_some();
		else if (!let_time_pass())
			return;
	}
	cr_assert_fail("no end: %u of %u complete", sides[0].done_count,
		       completions);
}

static inline void close_pair(void)
{
	for (int i = 0; i < 2; i++) {
		ring_destroy(&sides[i].sq);
		ring_destroy(&sides[i].rq);
		responder_reset(&sides[i].qp);
		free(sides[i].memory);
		free(sides[i].qp.req.wqes);
	}
	free(flying);
}

#endif
