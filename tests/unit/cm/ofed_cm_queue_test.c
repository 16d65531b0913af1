/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_cm_queue_test: how many messages of connection management wait, for an
 * answer and to be handled. The wire, the timers and the ids are the test's.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "ofed_core/base/params.h"
#include "ofed_core/cm/cm.h"
#include "ofed_core/cm/cm_id.h"

#define IDS 100

pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;

static struct work *posted;
static unsigned handled;
static unsigned sent;
static int wire_answer;
static uint32_t last_sent; /* local id in the message */
static struct device device;

static void receive(const struct arrival *a)
{
	(void)a;
	handled++;
}

struct device *device_by_gid(const uint8_t gid[16], unsigned *index)
{
	(void)gid;
	(void)index;
	return NULL;
}

int wire_send(const struct address *to, const struct packet *p)
{
	struct cm_message m;

	(void)to;
	cr_assert_eq(cm_decode(&m, p->payload, p->payload_bytes), 0);
	last_sent = m.local_id;
	sent++;
	return wire_answer;
}

void wire_flush(void)
{
}

uint64_t clock_ns(void)
{
	return 1;
}

void timer_set(struct timer *t, uint64_t when)
{
	t->when = when;
}

void timer_cancel(struct timer *t)
{
	t->when = 0;
}

void work_init(struct work *k, struct worker *w, void (*run)(struct work *))
{
	(void)w;
	k->run = run;
}

void work_post(struct work *k)
{
	posted = k;
}

struct worker *worker_at(unsigned i)
{
	(void)i;
	return NULL;
}

static struct cm_id ids[IDS];

static void begin(enum parameter_id limit, long value)
{
	struct parameters p;

	parameters_init(&p);
	p.value[limit] = value;
	params_put(&p);
	cm_send_init(receive);
	for (uint32_t i = 0; i < IDS; i++)
		ids[i] =
		    (struct cm_id){.path.device = &device,
				   .sent = {.kind = CM_DREQ, .local_id = i}};
}

Test(cm_queue, so_many_wait_for_answers_and_the_rest_for_their_turn)
{
	begin(PARAMETER_MAD_SENDQ_SIZE, 16);
	for (unsigned i = 0; i < IDS; i++)
		cm_send_repeated(&ids[i], 3, 1000);
	cr_assert_eq(sent, 16);
	cr_assert_eq(ids[16].timer.when, 0);
	/* In the order in which they came. */
	for (unsigned i = 0; i < IDS; i++) {
		cr_assert_eq(last_sent, i + 15 < IDS ? i + 15 : IDS - 1);
		cm_send_answered(&ids[i]);
		cr_assert_eq(ids[i].timer.when, 0);
	}
	cr_assert_eq(sent, IDS);
}

Test(cm_queue, repeating_takes_no_further_turn)
{
	begin(PARAMETER_MAD_SENDQ_SIZE, 16);
	for (unsigned i = 0; i < 17; i++)
		cm_send_repeated(&ids[i], 3, 1000);
	cm_send_again(&ids[0]);
	cm_send_again(&ids[0]);
	cr_assert_eq(sent, 18);
	cr_assert_eq(ids[0].retries_left, 1);
	cr_assert(ids[16].is_queued);
}

/* The first request to a host waits so in RoCE version 1. */
Test(cm_queue, a_message_to_an_unknown_neighbour_is_tried_again_soon)
{
	uint64_t every_ns = 8000 * NS_PER_MS;

	begin(PARAMETER_MAD_SENDQ_SIZE, 16);
	wire_answer = -EHOSTUNREACH;
	cm_send_repeated(&ids[0], 3, every_ns);
	cr_assert_eq(ids[0].timer.when, 1 + 20 * NS_PER_MS);
	cm_send_again(&ids[0]);
	cr_assert_eq(ids[0].timer.when, 1 + 40 * NS_PER_MS);
	wire_answer = 0;
	cm_send_again(&ids[0]);
	cr_assert_eq(ids[0].timer.when, 1 + every_ns);
	cr_assert_eq(ids[0].retries_left, 3);
}

/* A host that is not there costs about a second more, and no retry. */
Test(cm_queue, an_absent_neighbour_is_given_up_as_others_are)
{
	unsigned looks = 0;

	begin(PARAMETER_MAD_SENDQ_SIZE, 16);
	wire_answer = -EHOSTUNREACH;
	cm_send_repeated(&ids[0], 3, 8000 * NS_PER_MS);
	while (ids[0].timer.when < 1000 * NS_PER_MS) {
		looks++;
		cm_send_again(&ids[0]);
	}
	cr_assert_eq(looks, 6);
	cr_assert_eq(ids[0].retries_left, 3);
	cm_send_again(&ids[0]);
	cr_assert_eq(ids[0].retries_left, 2);
}

/* The program has gone before its turn came. */
Test(cm_queue, one_that_waits_may_leave)
{
	begin(PARAMETER_MAD_SENDQ_SIZE, 16);
	for (unsigned i = 0; i < 19; i++)
		cm_send_repeated(&ids[i], 3, 1000);
	cm_send_answered(&ids[17]);
	cm_send_answered(&ids[18]);
	cr_assert_eq(sent, 16);
	cm_send_repeated(&ids[19], 3, 1000);
	cm_send_answered(&ids[0]);
	cr_assert_eq(last_sent, 16);
	cm_send_answered(&ids[1]);
	cr_assert_eq(last_sent, 19);
	cr_assert_eq(sent, 18);
}

Test(cm_queue, a_new_message_takes_the_place_of_the_old)
{
	begin(PARAMETER_MAD_SENDQ_SIZE, 16);
	for (unsigned i = 0; i < 16; i++)
		cm_send_repeated(&ids[i], 3, 1000);
	cm_send_repeated(&ids[3], 3, 1000);
	cr_assert_eq(sent, 17);
	cr_assert(ids[3].is_sending);
}

Test(cm_queue, so_many_wait_to_be_handled_and_the_rest_are_lost)
{
	static const uint8_t bytes[CM_MESSAGE_BYTES];
	struct arrival a = {.device = &device};

	begin(PARAMETER_MAD_RCVQ_SIZE, 16);
	for (unsigned i = 0; i < 16; i++)
		cr_assert(cm_receive_later(&a, bytes));
	cr_assert_not(cm_receive_later(&a, bytes));
	posted->run(posted);
	cr_assert_eq(handled, 16);
	cr_assert(cm_receive_later(&a, bytes));
}
