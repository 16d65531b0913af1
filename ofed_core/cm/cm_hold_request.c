/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_hold_request: requests for ports where nobody listens yet.
 *
 * Programs tell their port to the other side and listen after that (qperf,
 * uDAPL's dtest), or close their listener and open it again while the other
 * side already connects (perftest -R). Adapters are slow enough for them. So a
 * request waits for a listener while a program other than its own is there,
 * but not for long; then it is refused.
 *
 * Locking: cm_lock; core_lock for reading.
 */
#include <stdlib.h>
#include <string.h>

#include "ofed_core/cm/cm.h"
#include "ofed_core/cm/cm_id.h"

#define WAIT_NS  (3000 * NS_PER_MS)
#define HELD_MAX 64

struct held {
	bool is_used;
	uint16_t port;
	struct arrival arrival;
	uint8_t bytes[CM_MESSAGE_BYTES];
};

static struct held held[HELD_MAX];
static struct timer timer;

/* It is handled again: accepted, refused, or it waits for the rest of its time.
 */
static void release(struct held *h)
{
	h->is_used = false;
	cm_receive_later(&h->arrival, h->bytes);
}

static void on_timer(struct timer *t)
{
	uint64_t now = clock_ns();

	pthread_mutex_lock(&cm_lock);
	for (int i = 0; i < HELD_MAX; i++) {
		if (!held[i].is_used)
			continue;
		if (held[i].arrival.waits_until <= now)
			release(&held[i]);
		else
			timer_set_earlier(t, held[i].arrival.waits_until);
	}
	pthread_mutex_unlock(&cm_lock);
}

void cm_hold_request_init(void)
{
	timer_init(&timer, worker_at(1), on_timer);
}

void cm_release_requests(uint16_t port)
{
	for (int i = 0; i < HELD_MAX; i++)
		if (held[i].is_used && held[i].port == port)
			release(&held[i]);
}

void cm_release_all_requests(void)
{
	pthread_mutex_lock(&cm_lock);
	for (int i = 0; i < HELD_MAX; i++)
		if (held[i].is_used)
			release(&held[i]);
	pthread_mutex_unlock(&cm_lock);
}

static bool somebody_may_listen(pid_t besides)
{
	for (const struct client *c = clients; c; c = c->next)
		if (c->pid != besides)
			return true;
	return false;
}

/* The other side repeats what is not answered. */
static bool is_same(const struct held *h, const struct arrival *a)
{
	return h->is_used && memcmp(h->arrival.sgid, a->sgid, 16) == 0 &&
	       memcmp(h->bytes, a->p.payload, CM_MESSAGE_BYTES) == 0;
}

bool cm_hold_request(uint16_t port, pid_t from, const struct arrival *a)
{
	uint64_t now = clock_ns();
	struct held *h = NULL;

	if ((a->waits_until && a->waits_until <= now) ||
	    !somebody_may_listen(from))
		return false;
	for (int i = 0; i < HELD_MAX; i++) {
		if (is_same(&held[i], a))
			return true;
		if (!h && !held[i].is_used)
			h = &held[i];
	}
	if (!h)
		return false;
	h->is_used = true;
	h->port = port;
	h->arrival = *a;
	if (!a->waits_until)
		h->arrival.waits_until = now + WAIT_NS;
	memcpy(h->bytes, a->p.payload, CM_MESSAGE_BYTES);
	timer_set_earlier(&timer, h->arrival.waits_until);
	return true;
}
