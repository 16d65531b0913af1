/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_doorbell_test: what a program posts is seen, whether it rings or is told
 * that it need not. The wire is the test's: the program posts while packets
 * leave.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/base/shim_protocol.h"
#include "ofed_core/qp/qp_state.h"
#include "ofed_core/rc/requester.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/wire/wire.h"

#define MTU_1024 3
#define REQUESTS 16

pthread_rwlock_t core_lock;
void (*worker_after_batch)(void);
const struct worker_watch *worker_watch;

static struct client client;
static struct ring sq;
static struct qp qp;
static unsigned to_post; /* while packets leave */
static unsigned posted;  /* on the worker */
static unsigned rung;
static unsigned sent;

/* As the provider and the shim do it. */
static void post(void)
{
	struct rxe_send_wqe *w =
	    (void *)(sq.shared->data +
		     ((size_t)sq.shared->producer_index << sq.shift));

	memset(w, 0, sizeof(*w));
	w->wr.opcode = IB_UVERBS_WR_SEND;
	w->wr.send_flags = SEND_INLINE;
	sq.shared->producer_index = (sq.shared->producer_index + 1) & sq.mask;
	if (!ring_asked(&sq, SHIM_RING_POLLED))
		rung++;
}

int wire_send(const struct address *to, const struct packet *p)
{
	(void)to;
	(void)p;
	sent++;
	return 0;
}

void wire_flush(void)
{
	if (!to_post)
		return;
	to_post--;
	post();
}

void wire_count(enum wire_counter c, uint64_t n)
{
	(void)c;
	(void)n;
}

uint8_t *wire_space(size_t bytes)
{
	static uint8_t space[WIRE_SPACE];

	cr_assert_leq(bytes, sizeof(space));
	return space;
}

void *worker_buffer(enum worker_buffer which, size_t bytes)
{
	(void)which;
	(void)bytes;
	return NULL;
}

uint64_t clock_ns(void)
{
	return 1;
}

void timer_set_earlier(struct timer *t, uint64_t when)
{
	(void)t;
	(void)when;
}

void timer_set(struct timer *t, uint64_t when)
{
	timer_set_earlier(t, when);
}

void timer_cancel(struct timer *t)
{
	(void)t;
}

void timer_init(struct timer *t, struct worker *w, void (*fire)(struct timer *))
{
	(void)w;
	t->fire = fire;
}

void work_init(struct work *k, struct worker *w, void (*run)(struct work *))
{
	(void)w;
	k->run = run;
}

void work_post(struct work *k)
{
	(void)k;
	posted++;
}

void work_cancel(struct work *k)
{
	(void)k;
}

struct worker *worker_at(unsigned i)
{
	(void)i;
	return NULL;
}

int wire_mcast(const struct device *d, const uint8_t gid[16], bool join)
{
	(void)d;
	(void)gid;
	(void)join;
	return 0;
}

static void open_pair(enum qp_type type)
{
	cr_assert_eq(
	    ring_create(&sq, REQUESTS, sizeof(struct rxe_send_wqe) + 64), 0);
	qp = (struct qp){.o = {.client = &client},
			 .type = type,
			 .ops = qp_ops_of(type),
			 .sq = &sq,
			 .max_inline = 64,
			 .attr = {.path_mtu = MTU_1024, .timeout = 14}};
	qp.req.slots = sq.mask + 1;
	qp.req.wqes = calloc(qp.req.slots, sizeof(struct wqe));
	requester_start(&qp);
	atomic_store(&qp.state, QP_RTS);
	to_post = posted = rung = sent = 0;
}

static void close_pair(void)
{
	ring_destroy(&sq);
	free(qp.req.wqes);
}

/* Anybody may run the pair; then either all is taken or it is run again. */
static void nothing_is_left(void)
{
	qp_run(&qp);
	while (rung) {
		rung--;
		qp_run(&qp);
	}
	if (!posted)
		cr_assert_not(requester_has_posted(&qp));
}

Test(doorbell, a_post_during_a_run_that_found_nothing_is_seen)
{
	static const enum qp_type types[] = {QP_RC, QP_UC};

	for (unsigned i = 0; i < 2; i++) {
		open_pair(types[i]);
		to_post = 1;
		nothing_is_left();
		cr_assert_eq(posted, 0);
		cr_assert_eq(qp.req.head, 1, "type %d", (int)types[i]);
		close_pair();
	}
}

Test(doorbell, a_post_during_a_run_that_sent_something_is_seen)
{
	open_pair(QP_RC);
	post();
	cr_assert_eq(rung, 1);
	to_post = 1;
	nothing_is_left();
	cr_assert_eq(sent, 2);
	close_pair();
}

Test(doorbell, a_pair_that_is_always_posted_to_lets_others_have_a_turn)
{
	open_pair(QP_RC);
	to_post = REQUESTS - 1;
	qp_run(&qp);
	cr_assert_gt(posted, 0);
	cr_assert_gt(to_post, 0);
	/* It is going to be looked at: no need to ring. */
	cr_assert_eq(ring_asked(&sq, SHIM_RING_POLLED), 1);
	close_pair();
}
