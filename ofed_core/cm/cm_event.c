/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_event: events queued for programs.
 *
 * One byte on the channel's descriptor announces each; what the socket does
 * not take is announced when the program fetches another.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "ofed_core/base/log.h"
#include "ofed_core/cm/cm.h"
#include "ofed_core/cm/cm_id.h"

static void announce(struct cm_channel *ch)
{
	char byte = 0;

	while (ch->announced < ch->waiting &&
	       send(ch->client->source.fd, &byte, 1,
		    MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
		ch->announced++;
}

static void append(struct cm_channel *ch, struct cm_event *e)
{
	e->next = NULL;
	if (ch->last)
		ch->last->next = e;
	else
		ch->first = e;
	ch->last = e;
	ch->waiting++;
}

struct cm_event *cm_event_new(struct cm_id *id, enum cm_event_kind kind,
			      int status)
{
	struct cm_event *e = id->channel ? calloc(1, sizeof(*e)) : NULL;

	if (!e)
		return NULL;
	e->id = id;
	e->resp.uid = id->uid;
	e->resp.id = id->number;
	e->resp.event = kind;
	e->resp.status = (uint32_t)status;
	return e;
}

void cm_event_post(struct cm_event *e)
{
	struct cm_channel *ch = e->id->channel;

	log_debug("id %u of pid %d: event %u, status %d", e->resp.id,
		  (int)ch->client->pid, e->resp.event, (int)e->resp.status);
	append(ch, e);
	announce(ch);
}

void cm_event_simple(struct cm_id *id, enum cm_event_kind kind, int status)
{
	struct cm_event *e;

	/* A request that was never answered has no name in the program. */
	if (!id->uid && id->is_passive)
		return;
	e = cm_event_new(id, kind, status);
	if (e)
		cm_event_post(e);
}

struct cm_event *cm_event_take(struct cm_channel *ch)
{
	struct cm_event *e = ch->first;

	if (ch->announced)
		ch->announced--;
	if (e) {
		ch->first = e->next;
		if (!ch->first)
			ch->last = NULL;
		ch->waiting--;
		if (e->child)
			e->child->is_unheard = false;
		if (e->mcast)
			e->mcast->events_fetched++;
		else
			e->id->events_fetched++;
	}
	announce(ch);
	return e;
}

static void drop_if(struct cm_channel *ch, const struct cm_id *id,
		    const struct cm_mcast *m)
{
	struct cm_event **p = &ch->first;

	ch->last = NULL;
	while (*p) {
		struct cm_event *e = *p;

		if (m ? e->mcast == m : e->id == id || e->child == id) {
			struct cm_id *child = e->child;

			*p = e->next;
			ch->waiting--;
			free(e);
			/* The program never heard of it. */
			if (child && child != id) {
				cm_id_destroy(child);
				/* That may have dropped others. */
				p = &ch->first;
				ch->last = NULL;
			}
			continue;
		}
		ch->last = e;
		p = &e->next;
	}
}

void cm_event_drop(struct cm_channel *ch, struct cm_id *id)
{
	drop_if(ch, id, NULL);
}

void cm_event_drop_mcast(struct cm_channel *ch, struct cm_mcast *m)
{
	drop_if(ch, NULL, m);
}

void cm_event_move(struct cm_channel *from, struct cm_channel *to,
		   struct cm_id *id)
{
	struct cm_event **p = &from->first;

	from->last = NULL;
	while (*p) {
		struct cm_event *e = *p;

		if (e->id != id) {
			from->last = e;
			p = &e->next;
			continue;
		}
		*p = e->next;
		from->waiting--;
		/* An id that the program has not heard of goes with its event.
		 */
		if (e->child)
			e->child->channel = to;
		append(to, e);
	}
	announce(to);
}

void cm_lose(const struct device *d)
{
	pthread_mutex_lock(&cm_lock);
	for (struct cm_id *id = cm_ids; id; id = id->next)
		if (!d || id->device == d)
			cm_event_simple(id, CM_EVENT_DEVICE_REMOVAL, 0);
	pthread_mutex_unlock(&cm_lock);
}

bool cm_uses(const struct device *d)
{
	bool found = false;

	pthread_mutex_lock(&cm_lock);
	for (const struct cm_id *id = cm_ids; id && !found; id = id->next)
		found = id->device == d || id->path.device == d;
	pthread_mutex_unlock(&cm_lock);
	return found;
}
