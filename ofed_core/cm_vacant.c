/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_vacant: ports where a program is about to listen.
 *
 * Programs that make one connection to talk about the next (perftest -R) close
 * their listener and open it again, while the other side already connects.
 * Others bind to a port, tell it to the other side and only then listen
 * (qperf). Requests wait for the listener while the program is there, but not
 * for long; then they are refused as all others are.
 *
 * Locking: cm_lock.
 */
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "cm_id.h"

#define VACANT_NS (3000 * NS_PER_MS)
#define PORTS_MAX 64
#define HELD_MAX  64 /* of all ports */

struct vacancy {
	uint16_t port;  /* of either port space: perftest changes it */
	pid_t pid;      /* that listened, or is bound */
	uint64_t until; /* 0: the place is free */
	unsigned held;
};

struct held {
	struct vacancy *vacancy; /* NULL: the place is free */
	struct arrival arrival;
	uint8_t bytes[CM_MESSAGE_BYTES];
};

static struct vacancy vacancies[PORTS_MAX];
static struct held held[HELD_MAX];
static struct timer timer;

static struct vacancy *find(uint16_t port)
{
	for (int i = 0; i < PORTS_MAX; i++)
		if (vacancies[i].until && vacancies[i].port == port)
			return &vacancies[i];
	return NULL;
}

/* What waited is handled again, and answered by a listener or a refusal. */
static void end(struct vacancy *v)
{
	v->until = 0;
	for (int i = 0; i < HELD_MAX && v->held; i++) {
		if (held[i].vacancy != v)
			continue;
		cm_receive_later(&held[i].arrival, held[i].bytes);
		held[i].vacancy = NULL;
		v->held--;
	}
}

static void on_timer(struct timer *t)
{
	uint64_t now = clock_ns();

	pthread_mutex_lock(&cm_lock);
	for (int i = 0; i < PORTS_MAX; i++) {
		struct vacancy *v = &vacancies[i];

		if (v->until && v->until <= now)
			end(v);
		else if (v->until)
			timer_set_earlier(t, v->until);
	}
	pthread_mutex_unlock(&cm_lock);
}

void cm_vacant_init(void)
{
	timer_init(&timer, worker_at(1), on_timer);
}

static struct vacancy *begin(const struct cm_id *id, uint64_t since)
{
	struct vacancy *v = find(id->source.port);

	/* Without a place the port is simply closed. */
	for (int i = 0; i < PORTS_MAX && !v; i++)
		if (!vacancies[i].until)
			v = &vacancies[i];
	if (!v)
		return NULL;
	v->port = id->source.port;
	v->pid = id->channel->client->pid;
	v->until = since + VACANT_NS;
	timer_set_earlier(&timer, v->until);
	return v;
}

void cm_vacant_begin(const struct cm_id *listener)
{
	begin(listener, clock_ns());
}

void cm_vacant_end(uint16_t port)
{
	struct vacancy *v = find(port);

	if (v)
		end(v);
}

void cm_vacant_gone(pid_t pid)
{
	pthread_mutex_lock(&cm_lock);
	for (int i = 0; i < PORTS_MAX; i++)
		if (vacancies[i].until && vacancies[i].pid == pid)
			end(&vacancies[i]);
	pthread_mutex_unlock(&cm_lock);
}

bool cm_vacant_hold(uint16_t port, const struct cm_id *bound,
		    const struct arrival *a)
{
	struct vacancy *v = find(port);

	if (!v && bound && bound->bound_ns + VACANT_NS > clock_ns())
		v = begin(bound, bound->bound_ns);
	for (int i = 0; i < HELD_MAX && v; i++) {
		if (held[i].vacancy)
			continue;
		v->held++;
		held[i].vacancy = v;
		held[i].arrival = *a;
		memcpy(held[i].bytes, a->p.payload, CM_MESSAGE_BYTES);
		return true;
	}
	return false;
}
