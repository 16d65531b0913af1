/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_service: the wire half, from its groups, ports and handshakes. */
#include "smc_r/service/rc_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "smc_r/protocol/reason.h"
#include "smc_r/service/rc_group.h"
#include "smc_r/service/rc_port.h"
#include "smc_r/service/rc_setup.h"

#define DONE_MAX 16

static void pad(char *to, size_t room, const char *from)
{
	size_t n = strlen(from);

	memset(to, ' ', room);
	memcpy(to, from, n < room ? n : room);
}

struct rc_service *rc_service_new(const uint8_t peer_id[8])
{
	struct rc_service *s = calloc(1, sizeof(*s));
	struct utsname name;

	if (!s)
		return NULL;
	memcpy(s->peer_id, peer_id, sizeof(s->peer_id));
	memcpy(&s->seed, peer_id, sizeof(s->seed));
	pad(s->host, sizeof(s->host), uname(&name) == 0 ? name.nodename : "");
	s->token = rc_draw(s) & ~0xffu;
	s->uid = rc_draw(s);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	return s;
}

int rc_service_add_eid(struct rc_service *s, const char *eid)
{
	if (s->eids == RC_EIDS_MAX)
		return -ENOSPC;
	if (strlen(eid) == 0 || strlen(eid) > CLC_EID_BYTES)
		return -EINVAL;
	pad(s->eid[s->eids++], CLC_EID_BYTES, eid);
	return 0;
}

bool rc_service_serves(struct rc_service *s, const struct in6_addr *local)
{
	return rc_port_get(s, local, 2) || rc_port_get(s, local, 1);
}

/* ---- handshakes ---- */

/* Each may end, and none but itself. */
static void step_all(struct rc_service *s, uint64_t now_ns)
{
	do {
		struct rc_setup *next;

		s->changed = false;
		for (struct rc_setup *u = s->setups; u; u = next) {
			next = u->next;
			rc_setup_step(u, now_ns);
		}
	} while (s->changed);
}

/* Links close where nobody holds a completion of theirs any more. */
static void settle(struct rc_service *s, uint64_t now_ns)
{
	struct rc_group *next;

	if (s->changed)
		step_all(s, now_ns);
	for (struct rc_group *g = s->groups; g; g = next) {
		next = g->next;
		if (rc_group_is_over(g, now_ns))
			rc_group_free(g);
	}
	rc_port_reap(s, false);
}

void rc_service_begin(struct rc_service *s, struct rc_conn *c, uint64_t now_ns)
{
	c->service = s;
	c->group = NULL;
	c->row = -1;
	c->joined = 0;
	c->has_early = false;
	c->told_key = false;
	c->leaving = RC_CONN_STAYS;
	c->ended_ns = 0;
	rc_setup_begin(s, c, now_ns);
	if (s->ending && c->setup)
		rc_setup_abort(c->setup, REASON_DISABLED, now_ns);
	settle(s, now_ns);
}

void rc_service_readable(struct rc_conn *c, uint64_t now_ns)
{
	struct rc_service *s = c->service;

	if (c->setup)
		rc_setup_readable(c->setup, now_ns);
	settle(s, now_ns);
}

int rc_service_work(struct rc_conn *c, uint64_t now_ns)
{
	if (c->state != RC_CONN_ACTIVE || !c->group)
		return 0;
	return rc_group_work(c->group, c, now_ns);
}

/* ---- completions ---- */

static void break_port(struct rc_service *s, struct rc_port *p, uint64_t now_ns)
{
	p->broken = true;
	rc_port_silence(s, p);
	for (struct rc_group *g = s->groups; g; g = g->next)
		if (g->port == p)
			rc_group_fail(g, now_ns);
}

static unsigned poll_port(struct rc_service *s, struct rc_port *p,
			  uint64_t now_ns)
{
	struct rc_done done[DONE_MAX];
	int n;

	if (p->broken)
		return 0;
	n = rc_device_poll(&p->device, done, DONE_MAX);
	if (n < 0)
		break_port(s, p, now_ns);
	for (int i = 0; i < n; i++) {
		struct rc_group *g = rc_port_find(p, done[i].qpn);

		if (g)
			rc_group_done(g, &done[i], now_ns);
	}
	return n > 0 ? (unsigned)n : 0;
}

unsigned rc_service_poll(struct rc_service *s, uint64_t now_ns)
{
	unsigned n = 0;

	for (struct rc_port *p = s->ports; p; p = p->next)
		n += poll_port(s, p, now_ns);
	settle(s, now_ns);
	return n;
}

/* A completion that nobody waits for would wake the service beside the peer
 * that works on what was sent. */
static bool is_lazy(const struct rc_service *s, const struct rc_port *p)
{
	bool lazy = false;

	for (const struct rc_group *g = s->groups; g; g = g->next) {
		if (g->port != p)
			continue;
		if (rc_link_sent(&g->link) & g->link.awaited)
			return false;
		lazy |= rc_link_sent(&g->link) != 0;
	}
	return lazy;
}

bool rc_service_arm(struct rc_service *s)
{
	bool armed = s->epoll >= 0;

	for (struct rc_port *p = s->ports; p; p = p->next) {
		bool lazy = is_lazy(s, p);

		if (!p->broken && rc_device_arm(&p->device, lazy) < 0)
			armed = false;
		armed &= !lazy;
	}
	return armed;
}

int rc_service_fd(const struct rc_service *s)
{
	return s->epoll;
}

void rc_service_heard(struct rc_service *s, uint64_t now_ns)
{
	/* Completions are taken before the event that tells of them. */
	rc_service_poll(s, now_ns);
	for (struct rc_port *p = s->ports; p; p = p->next)
		if (!p->broken && rc_device_heard(&p->device) < 0)
			break_port(s, p, now_ns);
	settle(s, now_ns);
}

/* ---- time ---- */

void rc_service_time(struct rc_service *s, uint64_t now_ns)
{
	for (struct rc_group *g = s->groups; g; g = g->next)
		rc_group_time(g, now_ns);
	s->changed = true;
	settle(s, now_ns);
}

uint64_t rc_service_next_ns(const struct rc_service *s)
{
	uint64_t due = UINT64_MAX;

	for (const struct rc_group *g = s->groups; g; g = g->next) {
		uint64_t one = rc_group_next_ns(g);

		due = one < due ? one : due;
	}
	for (const struct rc_setup *u = s->setups; u; u = u->next) {
		uint64_t one = rc_setup_next_ns(u);

		due = one < due ? one : due;
	}
	return due;
}

/* ---- the end ---- */

void rc_service_end(struct rc_service *s, uint64_t now_ns)
{
	struct rc_setup *next;

	s->ending = true;
	for (struct rc_setup *u = s->setups; u; u = next) {
		next = u->next;
		rc_setup_abort(u, REASON_DISABLED, now_ns);
	}
	for (struct rc_group *g = s->groups; g; g = g->next)
		rc_group_end(g, LLC_DELETE_OPERATOR, g->count == 0, now_ns);
	s->changed = true;
	settle(s, now_ns);
}

bool rc_service_is_done(const struct rc_service *s)
{
	return !s->groups && !s->setups;
}

void rc_service_free(struct rc_service *s)
{
	struct rc_setup *u;

	if (!s)
		return;
	while (s->groups)
		rc_group_free(s->groups);
	while ((u = s->setups)) {
		s->setups = u->next;
		u->conn->setup = NULL;
		free(u);
	}
	rc_port_reap(s, true);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}
