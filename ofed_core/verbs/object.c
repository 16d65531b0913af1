/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * object: handles, rings and events of a client's objects.
 */
#include "ofed_core/verbs/object.h"

#include <stdlib.h>

#include "ofed_core/verbs/client.h"

int object_add(struct client *c, struct object *o, enum object_type type,
	       void (*destroy)(struct object *o))
{
	int64_t handle = quota_add(c->quota, QUOTA_HANDLES, &c->objects, o);

	if (handle < 0)
		return (int)handle;
	o->type = type;
	o->destroy = destroy;
	o->handle = (uint32_t)handle;
	o->client = c;
	return 0;
}

void *object_find(struct client *c, uint32_t handle, enum object_type type)
{
	struct object *o = table_get(&c->objects, handle);

	return o && o->type == type ? o : NULL;
}

void object_remove(struct object *o)
{
	quota_remove(o->client->quota, QUOTA_HANDLES, &o->client->objects,
		     o->handle);
}

void object_destroy(struct object *o)
{
	object_remove(o);
	o->destroy(o);
}

void channel_drop(struct channel *ch)
{
	object_drop(&ch->o);
	if (ch->has_ended && !atomic_load(&ch->o.refs))
		object_destroy(&ch->o);
}

struct ring *object_ring(struct client *c, uint32_t entries, uint32_t element)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (!r || ring_create(r, entries, element) < 0 ||
	    quota_take(c->quota, QUOTA_BYTES, r->bytes) < 0)
		goto fail;
	if (quota_take(c->quota, QUOTA_FILES, 1) < 0) {
		quota_give(c->quota, QUOTA_BYTES, r->bytes);
		goto fail;
	}
	r->offset = c->next_offset;
	c->next_offset += r->bytes;
	r->next = c->rings;
	c->rings = r;
	return r;
fail:
	if (r)
		ring_destroy(r);
	free(r);
	return NULL;
}

void object_ring_drop(struct client *c, struct ring *r)
{
	struct ring **p;

	if (!r)
		return;
	for (p = &c->rings; *p && *p != r; p = &(*p)->next)
		continue;
	if (*p)
		*p = r->next;
	quota_give(c->quota, QUOTA_BYTES, r->bytes);
	if (r->memfd >= 0)
		quota_give(c->quota, QUOTA_FILES, 1);
	ring_destroy(r);
	free(r);
}

void event_send(struct client *c, struct object *o, enum event_type type)
{
	struct ib_uverbs_async_event_desc e = {.element = 1,
					       .event_type = type};

	if (o)
		e.element = o->user_handle;
	if (!c->has_context || notifier_send(&c->async, &e) < 0)
		return;
	if (o)
		__atomic_fetch_add(&o->async_sent, 1, __ATOMIC_RELAXED);
}

uint32_t event_reported(struct object *o)
{
	uint32_t unread;

	if (!o->async_sent)
		return 0;
	unread = notifier_withdraw(&o->client->async, o->client->async.reader,
				   o->user_handle);
	return o->async_sent > unread ? o->async_sent - unread : 0;
}
