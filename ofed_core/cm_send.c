/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_send: messages to the other side's queue pair 1, on the wire or within
 * this core, and their repetition.
 */
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "cm_id.h"
#include "log.h"
#include "params.h"

#define QPN_CM 1

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
		cm_receive(&m->arrival);
		free(m);
	}
}

void cm_send_init(void)
{
	work_init(&work, worker_at(QPN_CM), deliver);
	cm_vacant_init();
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

void cm_send(const struct address *to, const struct cm_message *m)
{
	struct device *d = device_by_gid(to->dgid, NULL);
	uint8_t bytes[CM_MESSAGE_BYTES];
	static uint32_t psn;
	struct packet p = {.opcode = TRANSPORT_UD | OP_SEND_ONLY,
			   .pkey = PACKET_PKEY,
			   .dest_qpn = QPN_CM,
			   .psn = psn & PSN_MASK,
			   .qkey = CM_QKEY,
			   .source_qpn = QPN_CM,
			   .payload = bytes,
			   .payload_bytes = sizeof(bytes)};

	if (!to->device)
		return;
	psn++;
	cm_encode(m, bytes);
	if (d) {
		send_here(to, d, &p);
		return;
	}
	wire_send(to, &p);
	wire_flush();
}

void cm_send_repeated(struct cm_id *id, unsigned retries, uint64_t every_ns)
{
	id->retries_left = retries;
	cm_send(&id->path, &id->sent);
	timer_set(&id->timer, clock_ns() + every_ns);
}
