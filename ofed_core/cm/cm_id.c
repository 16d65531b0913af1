/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_id: making, finding and ending communication identifiers.
 */
#include "ofed_core/cm/cm_id.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define NUMBERS_MAX 262144

pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;
struct cm_id *cm_ids;

static struct table numbers = {.max = NUMBERS_MAX};
static uint32_t next_local;

int64_t cm_number_add(void *entry)
{
	return table_add(&numbers, entry);
}

void cm_number_remove(uint32_t number)
{
	table_remove(&numbers, number);
}

struct cm_id *cm_id_find(struct cm_channel *ch, uint32_t number)
{
	/* Memberships share the table: the list says what it is. */
	void *entry = table_get(&numbers, number);

	for (struct cm_id *id = cm_ids; id && entry; id = id->next)
		if (id == entry)
			return id->channel == ch && !id->is_unheard ? id : NULL;
	return NULL;
}

struct cm_id *cm_id_by_local(uint32_t local_id)
{
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (id->local_id == local_id)
			return id;
	return NULL;
}

/* Starts at a random place, so that a new core takes no old answers. */
static uint32_t new_local_id(void)
{
	if (!next_local &&
	    getrandom(&next_local, sizeof(next_local), GRND_NONBLOCK) < 0)
		next_local = (uint32_t)getpid() << 12;
	do
		next_local++;
	while (!next_local || cm_id_by_local(next_local));
	return next_local;
}

int cm_id_create(struct cm_id **out, struct cm_channel *ch, uint64_t uid,
		 uint16_t space)
{
	struct quota *quota = ch->client->quota;
	struct cm_id *id = calloc(1, sizeof(*id));
	int64_t number =
	    id ? quota_add(quota, QUOTA_IDS, &numbers, id) : -ENOMEM;

	if (number < 0) {
		free(id);
		return (int)number;
	}
	id->quota = quota;
	id->number = (uint32_t)number;
	id->local_id = new_local_id();
	id->channel = ch;
	id->uid = uid;
	id->space = space;
	id->tcp_holder = -1;
	timer_init(&id->timer, worker_at(1), cm_timer);
	id->next = cm_ids;
	if (cm_ids)
		cm_ids->previous = id;
	cm_ids = id;
	*out = id;
	return 0;
}

void cm_id_release(struct cm_id *id)
{
	cm_send_answered(id);
	if (id->previous)
		id->previous->next = id->next;
	else
		cm_ids = id->next;
	if (id->next)
		id->next->previous = id->previous;
	if (id->channel)
		cm_number_remove(id->number);
	if (id->tcp_holder >= 0)
		close(id->tcp_holder);
	quota_give(id->quota, QUOTA_IDS, 1);
	free(id);
}

static void forget_listener(struct cm_id *listener)
{
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (id->listener == listener)
			id->listener = NULL;
}

void cm_id_answered(struct cm_id *id)
{
	if (id->listener)
		id->listener->requests--;
	id->listener = NULL;
}

void cm_id_destroy(struct cm_id *id)
{
	struct cm_channel *ch = id->channel;

	while (id->groups) {
		struct cm_mcast *m = id->groups;

		id->groups = m->next;
		cm_event_drop_mcast(ch, m);
		cm_number_remove(m->number);
		free(m);
	}
	cm_event_drop(ch, id);
	if (id->state == CM_LISTEN)
		forget_listener(id);
	cm_id_answered(id);
	switch (id->state) {
	case CM_REQ_RECEIVED:
	case CM_SIDR_RECEIVED:
	case CM_REP_RECEIVED:
		cm_reject(id, NULL, 0, CM_REASON_CONSUMER);
		break;
	case CM_REQ_SENT:
	case CM_REP_SENT:
		cm_reject(id, NULL, 0, CM_REASON_TIMEOUT);
		break;
	case CM_ESTABLISHED:
		cm_disconnect(id);
		break;
	default:
		break;
	}
	cm_number_remove(id->number);
	id->channel = NULL;
	id->is_bound = false;
	/* Repeats its last word without a program, or is done. */
	if (id->state != CM_DREQ_SENT)
		cm_id_release(id);
}
