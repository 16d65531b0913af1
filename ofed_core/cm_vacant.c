/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_vacant: ports whose listener has just gone.
 *
 * Programs that make one connection to talk about the next (perftest -R) close
 * their listener and open it again, while the other side already connects.
 * Requests wait for the next listener while the program is there, but not for
 * long; then they are refused as all others are.
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
	pid_t pid;      /* that listened */
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

void cm_vacant_begin(const struct cm_id *listener)
{
	struct vacancy *v = find(listener->source.port);

	/* Without a place the port is simply closed. */
	for (int i = 0; i < PORTS_MAX && !v; i++)
		if (!vacancies[i].until)
			v = &vacancies[i];
	if (!v)
		return;
	v->port = listener->source.port;
	v->pid = listener->channel->client->pid;
	v->until = clock_ns() + VACANT_NS;
	timer_set_earlier(&timer, v->until);
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

bool cm_vacant_hold(uint16_t port, const struct arrival *a)
{
	struct vacancy *v = find(port);

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
