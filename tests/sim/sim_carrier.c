/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sim: TCP streams whose messages come late and in pieces; and interfaces. */
#include <errno.h>
#include <string.h>

#include "smc_r/service/rc_carrier.h"
#include "smc_r/service/rc_paths.h"
#include "tests/sim/sim.h"

static struct sim_tcp *tcp_of(int tcp)
{
	if (tcp < 0 || (unsigned)tcp >= sim.ends)
		sim_fail("a socket that is closed is used");
	return sim.end[tcp].tcp;
}

ssize_t rc_carrier_peek(int tcp, void *out, size_t n)
{
	struct sim_tcp *t = tcp_of(tcp);
	struct sim_dir *d = &t->dir[!(tcp & 1)];
	size_t there = d->arrived - d->taken;

	if (there == 0)
		return t->reset ? -ECONNRESET : -EAGAIN;
	n = there < n ? there : n;
	memcpy(out, d->bytes + d->taken, n);
	return (ssize_t)n;
}

int rc_carrier_take(int tcp, size_t n)
{
	struct sim_dir *d = &tcp_of(tcp)->dir[!(tcp & 1)];

	if (n > d->arrived - d->taken)
		sim_fail("end %d takes bytes that no peek has shown", tcp);
	d->taken += n;
	sim_trace("end %d takes %zu bytes of TCP", tcp, n);
	return 0;
}

int rc_carrier_send(int tcp, const void *bytes, size_t n)
{
	struct sim_tcp *t = tcp_of(tcp);
	struct sim_dir *d = &t->dir[tcp & 1];

	sim_trace("end %d sends %zu bytes on TCP, type %d", tcp, n,
		  n > 4 ? ((const uint8_t *)bytes)[4] : -1);
	if (t->reset)
		return -EPIPE;
	if (d->sent + n > SIM_STREAM)
		sim_fail("end %d sends too much on TCP", tcp);
	memcpy(d->bytes + d->sent, bytes, n);
	d->sent += n;
	if (!d->arriving)
		sim_at(20 * SIM_US + sim_random(SIM_MS), SIM_ARRIVE, t,
		       (uint64_t)(tcp & 1));
	d->arriving = true;
	return 0;
}

void sim_carrier_arrive(struct sim_tcp *t, uint64_t side)
{
	struct sim_dir *d = &t->dir[side];
	struct sim_end *to = &sim.end[2 * (size_t)(t - sim.tcp) + !side];
	size_t n = d->sent - d->arrived;

	d->arriving = false;
	if (n > 1 && sim_chance(30))
		n = 1 + sim_random(n - 1);
	d->arrived += n;
	if (d->arrived < d->sent) {
		d->arriving = true;
		sim_at(sim_random(sim_chance(5) ? 2 * SIM_SECOND : SIM_MS),
		       SIM_ARRIVE, t, side);
	}
	if (to->began && !to->over && to->conn.state == RC_CONN_SETUP)
		rc_service_readable(&to->conn, sim.now);
}

void sim_carrier_reset(struct sim_tcp *t)
{
	struct sim_end *first = &sim.end[2 * (size_t)(t - sim.tcp)];

	t->reset = true;
	for (int i = 0; i < 2; i++) {
		struct sim_end *e = &first[i];

		if (e->conn.state == RC_CONN_SETUP)
			e->disturbed = e->other->disturbed = true;
		if (e->began && !e->over && e->conn.state == RC_CONN_SETUP)
			rc_service_readable(&e->conn, sim.now);
	}
}

/* ---- interfaces: 10.0.0.1/24 and 10.0.0.2/24 ---- */

struct in6_addr rc_prefix_of(const struct in6_addr *address, unsigned bits)
{
	struct in6_addr out = *address;

	for (unsigned i = 0; i < 128; i++)
		if (i >= bits)
			out.s6_addr[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	return out;
}

int rc_prefixes(const struct in6_addr *local,
		struct rc_prefix out[RC_PREFIXES_MAX])
{
	out[0].bits = 120;
	out[0].address = rc_prefix_of(local, out[0].bits);
	return 1;
}

unsigned rc_interface(const struct in6_addr *local)
{
	return local->s6_addr[15];
}
