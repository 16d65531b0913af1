/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * object: handles, rings and events of a client's objects.
 *
 * Locking: adding, removing and destroying need core_lock for writing.
 */
#ifndef OFED_CORE_OBJECT_H
#define OFED_CORE_OBJECT_H

#include "ofed_core/verbs/verbs.h"

/*
 * Registers a new object with its client, which owns it from 0 on; destroy is
 * what frees it once it has no handle any more. -errno.
 */
int object_add(struct client *c, struct object *o, enum object_type type,
	       void (*destroy)(struct object *o));
/* NULL unless the handle names an object of that type of this client. */
void *object_find(struct client *c, uint32_t handle, enum object_type type);
/* Takes it from its client again. */
void object_remove(struct object *o);
/* Destroys it whatever its type; the caller has checked refs. */
void object_destroy(struct object *o);

static inline void object_hold(struct object *o)
{
	atomic_fetch_add(&o->refs, 1);
}

static inline void object_drop(struct object *o)
{
	atomic_fetch_sub(&o->refs, 1);
}

/* Drops a channel, and destroys it when its program has closed it before. */
void channel_drop(struct channel *ch);

/* Makes a ring and puts it on the list of what the client may map. */
struct ring *object_ring(struct client *c, uint32_t entries, uint32_t element);
void object_ring_drop(struct client *c, struct ring *r);

/* async events; o NULL: of port 1 or the device. */
void event_send(struct client *c, struct object *o, enum event_type type);
/* For DESTROY_x: events the program has taken and must acknowledge. */
uint32_t event_reported(struct object *o);

#endif
