/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mcast: the memberships of datagram queue pairs, and those of the kernel.
 */
#include "ofed_core/ud/mcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/params.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/wire/wire.h"

struct membership {
	struct membership *next;
	uint8_t gid[16];
	struct qp *qp;
};

static struct membership *memberships;
static unsigned membership_count;

#define MEMBERSHIPS_MAX (MAX_MCAST_GRP * 4)
#define LEAVE_NS        (100 * NS_PER_MS)

/*
 * Groups that could not be left. The kernel may be out of memory for a moment;
 * where the interface is gone, so is the membership.
 */
struct leaving {
	struct leaving *next;
	struct device *device;
	uint8_t gid[16];
	long retries;
};

static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;
static struct leaving *leavings;
static struct timer leave_timer;

static bool has_left(const struct device *d, const uint8_t gid[16])
{
	int rc = wire_mcast(d, gid, false);

	return rc == 0 || rc == -EADDRNOTAVAIL || rc == -ENODEV ||
	       rc == -ENETDOWN;
}

static void leave_again(struct timer *t)
{
	struct leaving **p = &leavings;

	pthread_mutex_lock(&leaving_lock);
	while (*p) {
		struct leaving *l = *p;
		bool is_over = has_left(l->device, l->gid);

		if (!is_over && --l->retries <= 0) {
			log_warning("%s: gave up leaving a multicast group",
				    l->device->name);
			is_over = true;
		}
		if (is_over) {
			*p = l->next;
			free(l);
		} else {
			p = &l->next;
		}
	}
	if (leavings)
		timer_set(t, clock_ns() + LEAVE_NS);
	pthread_mutex_unlock(&leaving_lock);
}

static void leave(struct device *d, const uint8_t gid[16])
{
	long retries = param(PARAMETER_MCAST_LEAVE_RETRIES);
	struct leaving *l;

	if (has_left(d, gid) || !retries)
		return;
	l = calloc(1, sizeof(*l));
	if (!l)
		return;
	l->device = d;
	l->retries = retries;
	memcpy(l->gid, gid, 16);
	pthread_mutex_lock(&leaving_lock);
	l->next = leavings;
	leavings = l;
	if (!leave_timer.worker)
		timer_init(&leave_timer, worker_at(0), leave_again);
	timer_set(&leave_timer, clock_ns() + LEAVE_NS);
	pthread_mutex_unlock(&leaving_lock);
}

/* Somebody joins again what was to be left. */
static void stay(const struct device *d, const uint8_t gid[16])
{
	struct leaving **p = &leavings;

	pthread_mutex_lock(&leaving_lock);
	while (*p) {
		struct leaving *l = *p;

		if (l->device == d && memcmp(l->gid, gid, 16) == 0) {
			*p = l->next;
			free(l);
		} else {
			p = &l->next;
		}
	}
	pthread_mutex_unlock(&leaving_lock);
}

static bool is_in(const struct membership *m, const struct device *d,
		  const uint8_t gid[16])
{
	return (!d || m->qp->o.client->device == d) &&
	       memcmp(m->gid, gid, 16) == 0;
}

static unsigned members_of(const struct device *d, const uint8_t gid[16])
{
	unsigned n = 0;

	for (struct membership *m = memberships; m; m = m->next)
		n += is_in(m, d, gid);
	return n;
}

int mcast_attach(struct qp *qp, const uint8_t gid[16])
{
	struct device *d = qp->o.client->device;
	struct membership *m;

	for (m = memberships; m; m = m->next)
		if (m->qp == qp && memcmp(m->gid, gid, 16) == 0)
			return 0;
	if (members_of(d, gid) >= MAX_MCAST_QP ||
	    membership_count >= MEMBERSHIPS_MAX)
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	if (!members_of(d, gid)) {
		stay(d, gid);
		wire_mcast(d, gid, true);
	}
	memcpy(m->gid, gid, 16);
	m->qp = qp;
	m->next = memberships;
	memberships = m;
	membership_count++;
	object_hold(&qp->o);
	return 0;
}

static void drop(struct membership **p)
{
	struct membership *m = *p;
	struct device *d = m->qp->o.client->device;

	*p = m->next;
	membership_count--;
	object_drop(&m->qp->o);
	if (!members_of(d, m->gid))
		leave(d, m->gid);
	free(m);
}

int mcast_detach(struct qp *qp, const uint8_t gid[16])
{
	for (struct membership **p = &memberships; *p; p = &(*p)->next)
		if ((*p)->qp == qp && memcmp((*p)->gid, gid, 16) == 0) {
			drop(p);
			return 0;
		}
	return -EINVAL;
}

void mcast_forget(struct qp *qp)
{
	struct membership **p = &memberships;

	while (*p) {
		if ((*p)->qp == qp)
			drop(p);
		else
			p = &(*p)->next;
	}
}

void mcast_each(const struct device *d, const uint8_t gid[16],
		void (*fn)(struct qp *qp, void *owner), void *owner)
{
	for (struct membership *m = memberships; m; m = m->next)
		if (is_in(m, d, gid))
			fn(m->qp, owner);
}
