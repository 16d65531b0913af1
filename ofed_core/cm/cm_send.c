/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_send: messages to the other side's queue pair 1, on the wire or within
 * this core, and their repetition.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/params.h"
#include "ofed_core/cm/cm_id.h"
#include "ofed_core/verbs/qp.h"
#include "ofed_core/wire/wire.h"

#define QPN_CM 1

/*
 * Version 1 has nowhere to send to until the kernel knows the neighbour, for
 * which it is made to ask. Meanwhile the message is tried again and again, for
 * about a second.
 */
#define FIRST_LOOK_NS (20 * NS_PER_MS)
#define LAST_LOOK_NS  (1000 * NS_PER_MS)

/* Messages to this core wait here: handling one may send another. */
struct local_message {
	struct local_message *next;
	struct arrival arrival;
	uint8_t bytes[CM_MESSAGE_BYTES];
};

static struct local_message *first;
static struct local_message *last;
static long waiting;
static struct work work;
static void (*on_receive)(const struct arrival *a);

static struct local_message *take(void)
{
	struct local_message *m;

	pthread_mutex_lock(&cm_lock);
	m = first;
	if (m) {
		first = m->next;
		if (!first)
			last = NULL;
		waiting--;
	}
	pthread_mutex_unlock(&cm_lock);
	return m;
}

static void deliver(struct work *k)
{
	struct local_message *m;

	(void)k;
	while ((m = take())) {
		on_receive(&m->arrival);
		free(m);
	}
}

void cm_send_init(void (*receive)(const struct arrival *a))
{
	on_receive = receive;
	work_init(&work, worker_at(QPN_CM), deliver);
}

bool cm_receive_later(const struct arrival *a,
		      const uint8_t bytes[CM_MESSAGE_BYTES])
{
	struct local_message *m;

	/* As a queue pair would: what does not fit is lost. */
	if (waiting >= param(PARAMETER_MAD_RCVQ_SIZE)) {
		log_warning("CM receive queue is full (mad_rcvq_size)");
		return false;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return false;
	m->arrival = *a;
	memcpy(m->bytes, bytes, sizeof(m->bytes));
	m->arrival.p.payload = m->bytes;
	if (last)
		last->next = m;
	else
		first = m;
	last = m;
	waiting++;
	work_post(&work);
	return true;
}

static void send_here(const struct address *to, struct device *d,
		      const struct packet *p)
{
	struct arrival a = {.p = *p, .device = d, .is_v1 = to->is_v1};

	memcpy(a.sgid, to->sgid, 16);
	memcpy(a.dgid, to->dgid, 16);
	a.p.properties = packet_properties(p->opcode);
	cm_receive_later(&a, p->payload);
}

int cm_send(const struct address *to, const struct cm_message *m)
{
	struct device *d = device_by_gid(to->dgid, NULL);
	uint8_t bytes[CM_MESSAGE_BYTES];
	static uint32_t psn;
	int rc;
	struct packet p = {.opcode = TRANSPORT_UD | OP_SEND_ONLY,
			   .dest_qpn = QPN_CM,
			   .psn = psn & PSN_MASK,
			   .qkey = CM_QKEY,
			   .source_qpn = QPN_CM,
			   .payload = bytes,
			   .payload_bytes = sizeof(bytes)};

	if (!to->device)
		return 0;
	psn++;
	cm_encode(m, bytes);
	if (d) {
		send_here(to, d, &p);
		return 0;
	}
	rc = wire_send(to, &p);
	wire_flush();
	return rc;
}

/* ---- Messages that wait for answers ---- */

static unsigned sending;
static struct cm_id *queue_first;
static struct cm_id *queue_last;

static void send_once(struct cm_id *id)
{
	uint64_t wait_ns = id->repeat_ns;

	if (cm_send(&id->path, &id->sent) == -EHOSTUNREACH &&
	    id->look_ns < wait_ns && id->look_ns < LAST_LOOK_NS) {
		wait_ns = id->look_ns;
		id->look_ns *= 2;
		id->retries_left++;
	}
	timer_set(&id->timer, clock_ns() + wait_ns);
}

static void begin(struct cm_id *id)
{
	id->is_sending = true;
	sending++;
	id->look_ns = FIRST_LOOK_NS;
	send_once(id);
}

static void leave_queue(struct cm_id *id)
{
	struct cm_id **p = &queue_first;
	struct cm_id *before = NULL;

	while (*p != id) {
		before = *p;
		p = &before->next_out;
	}
	*p = id->next_out;
	if (queue_last == id)
		queue_last = before;
	id->is_queued = false;
	id->next_out = NULL;
}

static void take_turns(void)
{
	while (queue_first && (long)sending < param(PARAMETER_MAD_SENDQ_SIZE)) {
		struct cm_id *id = queue_first;

		leave_queue(id);
		begin(id);
	}
}

void cm_send_repeated(struct cm_id *id, unsigned retries, uint64_t every_ns)
{
	cm_send_answered(id);
	id->retries_left = retries;
	id->repeat_ns = every_ns;
	id->is_queued = true;
	if (queue_last)
		queue_last->next_out = id;
	else
		queue_first = id;
	queue_last = id;
	take_turns();
}

void cm_send_again(struct cm_id *id)
{
	id->retries_left--;
	send_once(id);
}

void cm_send_answered(struct cm_id *id)
{
	timer_cancel(&id->timer);
	if (id->is_queued)
		leave_queue(id);
	if (!id->is_sending)
		return;
	id->is_sending = false;
	sending--;
	take_turns();
}
