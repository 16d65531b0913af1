/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_port: opened devices, and their links by number. */
#include "smc_r/service/rc_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* Without the instance's ear it is looked at by the clock. */
static void listen_to(struct rc_service *s, struct rc_port *p)
{
	struct epoll_event e = {.events = EPOLLIN};

	if (s->epoll >= 0 && p->device.channel)
		(void)epoll_ctl(s->epoll, EPOLL_CTL_ADD, p->device.channel->fd,
				&e);
}

/* Its channel would be readable for ever. */
void rc_port_silence(struct rc_service *s, struct rc_port *p)
{
	if (s->epoll >= 0 && p->device.channel)
		(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, p->device.channel->fd,
				NULL);
}

static struct rc_port *open_port(struct rc_service *s,
				 const struct in6_addr *local, int version)
{
	struct rc_port *p;
	union ibv_gid gid;

	if (rc_device_find(local, version, &gid) < 0)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->local = *local;
	p->version = version;
	if (rc_device_open(&p->device, &gid) < 0) {
		free(p);
		return NULL;
	}
	listen_to(s, p);
	p->next = s->ports;
	s->ports = p;
	return p;
}

struct rc_port *rc_port_get(struct rc_service *s, const struct in6_addr *local,
			    int version)
{
	for (struct rc_port *p = s->ports; p; p = p->next)
		if (!p->broken && p->version == version &&
		    memcmp(&p->local, local, sizeof(*local)) == 0)
			return p;
	return open_port(s, local, version);
}

bool rc_port_is_same(const struct rc_port *a, const struct rc_port *b)
{
	return a == b || (memcmp(&a->device.gid, &b->device.gid,
				 sizeof(a->device.gid)) == 0 &&
			  strcmp(a->device.name, b->device.name) == 0);
}

void rc_port_add(struct rc_port *p, struct rc_group *g)
{
	struct rc_group **at = &p->by_qpn[g->end.qpn % RC_PORT_BUCKETS];

	g->next_of_bucket = *at;
	*at = g;
	p->groups++;
}

void rc_port_remove(struct rc_port *p, struct rc_group *g)
{
	struct rc_group **at = &p->by_qpn[g->end.qpn % RC_PORT_BUCKETS];

	while (*at != g)
		at = &(*at)->next_of_bucket;
	*at = g->next_of_bucket;
	p->groups--;
}

struct rc_group *rc_port_find(const struct rc_port *p, uint32_t qpn)
{
	struct rc_group *g = p->by_qpn[qpn % RC_PORT_BUCKETS];

	while (g && g->end.qpn != qpn)
		g = g->next_of_bucket;
	return g;
}

void rc_port_reap(struct rc_service *s, bool all)
{
	for (struct rc_port **at = &s->ports; *at;) {
		struct rc_port *p = *at;

		if (p->groups > 0 || !(p->broken || all)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		rc_device_close(&p->device);
		free(p);
	}
}
