/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm_address: addresses and ports of ids; which device a destination needs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/base/params.h"
#include "ofed_core/cm/cm_id.h"
#include "ofed_core/device/route.h"

#define PORT_FIRST 32768 /* chosen ports, as net.ipv4.ip_local_port_range */
#define PORT_LAST  60999

bool cm_ip_is_any(const uint8_t ip[16])
{
	static const uint8_t zero[16];

	return memcmp(ip, zero, 16) == 0 ||
	       (gid_is_ip4(ip) && memcmp(ip + 12, zero, 4) == 0);
}

static bool is_loopback(const uint8_t ip[16])
{
	static const uint8_t one[16] = {[15] = 1};

	return memcmp(ip, one, 16) == 0 || (gid_is_ip4(ip) && ip[12] == 127);
}

int cm_end_from_sockaddr(struct cm_end *out, const struct sockaddr_in6 *in)
{
	const struct sockaddr_in *in4 = (const void *)in;

	*out = (struct cm_end){.port = 0};
	if (in->sin6_family == AF_INET) {
		out->is_ip4 = true;
		out->port = ntohs(in4->sin_port);
		gid_from_ip4(out->ip, in4->sin_addr.s_addr);
		return 0;
	}
	if (in->sin6_family != AF_INET6)
		return -EAFNOSUPPORT;
	out->port = ntohs(in->sin6_port);
	memcpy(out->ip, &in->sin6_addr, 16);
	out->scope = in->sin6_scope_id;
	return 0;
}

void cm_end_to_sockaddr(const struct cm_end *in, struct sockaddr_in6 *out)
{
	struct sockaddr_in *out4 = (void *)out;

	memset(out, 0, sizeof(*out));
	if (in->is_ip4) {
		out4->sin_family = AF_INET;
		out4->sin_port = htons(in->port);
		memcpy(&out4->sin_addr, in->ip + 12, 4);
		return;
	}
	out->sin6_family = AF_INET6;
	out->sin6_port = htons(in->port);
	memcpy(&out->sin6_addr, in->ip, 16);
	out->sin6_scope_id = in->scope;
}

/* ---- Ports ---- */

/* The wildcard of IPv6 is IPv4's as well, unless the program said otherwise. */
static bool is_wild_for(const struct cm_end *any, bool v6_only,
			const struct cm_end *other)
{
	return cm_ip_is_any(any->ip) &&
	       (any->is_ip4 == other->is_ip4 || (!any->is_ip4 && !v6_only));
}

static bool overlaps(const struct cm_id *id, const struct cm_id *self,
		     const struct cm_end *end)
{
	return memcmp(id->source.ip, end->ip, 16) == 0 ||
	       is_wild_for(&id->source, id->v6_only, end) ||
	       is_wild_for(end, self->v6_only, &id->source);
}

static bool is_taken(const struct cm_id *self, const struct cm_end *end)
{
	for (const struct cm_id *id = cm_ids; id; id = id->next) {
		if (id == self || !id->is_bound || id->space != self->space ||
		    id->source.port != end->port || id->is_passive)
			continue;
		if (id->reuse_address && self->reuse_address &&
		    id->state != CM_LISTEN)
			continue;
		/* Connections may share a port with one of another host. */
		if (overlaps(id, self, end))
			return true;
	}
	return false;
}

/* With unify_tcp_port_space the port is taken from TCP as well. */
static int hold_tcp_port(struct cm_id *id, const struct cm_end *end)
{
	const int on = 1;
	struct sockaddr_in6 a;
	int fd;
	int rc;

	if (!param(PARAMETER_UNIFY_TCP_PORT_SPACE) || id->space != RDMA_PS_TCP)
		return 0;
	cm_end_to_sockaddr(end, &a);
	fd = socket(a.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (id->v6_only)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	id->tcp_holder = fd;
	return 0;
}

static int choose_port(struct cm_id *id, struct cm_end *end)
{
	static uint16_t last;

	if (!last)
		last = (uint16_t)(PORT_FIRST + (unsigned)getpid() %
						   (PORT_LAST - PORT_FIRST));
	for (int i = 0; i <= PORT_LAST - PORT_FIRST; i++) {
		last = last == PORT_LAST ? PORT_FIRST : last + 1;
		end->port = last;
		if (!is_taken(id, end) && hold_tcp_port(id, end) == 0)
			return 0;
	}
	return -EADDRNOTAVAIL;
}

int cm_bind(struct cm_id *id, const struct cm_end *to)
{
	struct cm_end end = *to;
	struct device *d = NULL;
	int rc = 0;

	if (id->state != CM_IDLE)
		return -EINVAL;
	if (!cm_ip_is_any(end.ip) && !is_loopback(end.ip)) {
		d = device_by_gid(end.ip, NULL);
		if (!d)
			return -EADDRNOTAVAIL;
	}
	if (!end.port)
		rc = choose_port(id, &end);
	else if (is_taken(id, &end))
		rc = -EADDRINUSE;
	else
		rc = hold_tcp_port(id, &end);
	if (rc < 0)
		return rc;
	id->source = end;
	id->device = d;
	id->is_bound = true;
	id->state = CM_BOUND;
	return 0;
}

struct cm_id *cm_find_listener(uint16_t space, const struct cm_end *to)
{
	struct cm_id *wild = NULL;

	for (struct cm_id *id = cm_ids; id; id = id->next) {
		if (id->state != CM_LISTEN || id->space != space ||
		    id->source.port != to->port || !id->channel)
			continue;
		if (memcmp(id->source.ip, to->ip, 16) == 0)
			return id;
		if (is_loopback(id->source.ip))
			continue;
		if (is_wild_for(&id->source, id->v6_only, to))
			wild = id;
	}
	return wild;
}

/* ---- Destinations ---- */

/* The loopback address means the first device that has an address. */
static int resolve_loopback(struct cm_id *id)
{
	for (unsigned i = 0; i < device_count; i++)
		for (unsigned k = 0; k < GIDS_MAX; k++) {
			const struct gid *g = &devices[i].gids[k];

			if (!g->is_used || devices[i].is_gone ||
			    gid_is_ip4(g->raw) != id->dest.is_ip4)
				continue;
			memcpy(id->dest.ip, g->raw, 16);
			return 0;
		}
	return -ENODEV;
}

static int find_source(struct cm_id *id, uint8_t source[16])
{
	bool is_any = !id->is_bound || cm_ip_is_any(id->source.ip) ||
		      is_loopback(id->source.ip);
	unsigned ifindex;
	int rc;

	if (device_by_gid(id->dest.ip, NULL)) {
		/* This host: from the address to itself. */
		memcpy(source, is_any ? id->dest.ip : id->source.ip, 16);
		return 0;
	}
	if (!is_any && param(PARAMETER_BIND_ROUTE_INTERFACE)) {
		memcpy(source, id->source.ip, 16);
		return 0;
	}
	rc = route_find(id->dest.ip, is_any ? NULL : id->source.ip,
			id->dest.scope, &ifindex, source);
	/* The route leaves by another interface than the bound address has. */
	if (rc == 0 && !is_any &&
	    device_by_ifindex(ifindex) != device_by_gid(source, NULL))
		rc = route_find(id->dest.ip, NULL, id->dest.scope, &ifindex,
				source);
	return rc;
}

void cm_path_init(struct cm_id *id, struct device *d, unsigned index,
		  uint8_t hop_limit)
{
	id->path = (struct address){.device = d,
				    .sgid_index = (uint8_t)index,
				    .hop_limit = hop_limit,
				    .is_v1 = d->gids[index].is_v1};
	memcpy(id->path.sgid, d->gids[index].raw, 16);
}

int cm_resolve(struct cm_id *id)
{
	struct cm_end from = id->source;
	uint8_t source[16];
	unsigned index;
	struct device *d;
	int rc = 0;

	if (is_loopback(id->dest.ip))
		rc = resolve_loopback(id);
	if (rc == 0)
		rc = find_source(id, source);
	if (rc < 0)
		return rc;
	d = device_by_gid(source, &index);
	if (!d)
		return -ENODEV;
	if (!d->is_up && param(PARAMETER_ENFORCE_INTERFACE_STATE))
		return -ENETDOWN;
	memcpy(from.ip, source, 16);
	from.is_ip4 = id->dest.is_ip4;
	if (!id->is_bound) {
		from.port = 0;
		rc = choose_port(id, &from);
	}
	if (rc < 0)
		return rc;
	id->is_bound = true;
	id->source = from;
	id->device = d;
	cm_path_init(id, d, index, 64);
	id->path.traffic_class = id->tos;
	id->path.sl = (uint8_t)param(PARAMETER_DEF_PREC2SL);
	memcpy(id->path.dgid, id->dest.ip, 16);
	return 0;
}
