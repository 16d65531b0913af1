/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim: programs on real elements, and the near half between them and the
 * service. A program knows what its peer wants to write; so it sees each byte
 * that is wrong or missing.
 */
#include <errno.h>
#include <string.h>

#include "smc_r/protocol/reason.h"
#include "tests/sim/sim.h"

#define PIECE_MAX 20000u

static struct sim_end *end_of(struct rc_conn *c)
{
	return (struct sim_end *)(void *)((char *)c -
					  offsetof(struct sim_end, conn));
}

static uint8_t byte_of(const struct sim_end *writer, uint64_t position)
{
	return (uint8_t)((position * 2654435761u >> 13) + writer->salt);
}

static const struct rc_near_calls calls;

/* ---- plans ---- */

static uint64_t plan_bytes(void)
{
	switch (sim_random(4)) {
	case 0:
		return sim_random(3);
	case 1:
		return sim_random(2000);
	case 2:
		return sim_random(70000);
	default:
		return sim_random(400000);
	}
}

static void make_end(unsigned i, struct sim_host *host)
{
	struct sim_end *e = &sim.end[i];

	memset(e, 0, sizeof(*e));
	e->index = (int)i;
	e->host = host;
	e->other = &sim.end[i ^ 1];
	e->tcp = &sim.tcp[i / 2];
	e->style = sim_chance(15) ? SIM_RUDE : (enum sim_style)sim_random(2);
	e->is_slow = sim_chance(15);
	e->salt = (uint32_t)sim_random(256);
	e->plan = plan_bytes();
	element_make(&e->element, 16384u << sim_random(3));
	element_attach(&e->element, &e->conn.pump);
	e->conn.server = i & 1;
	e->conn.tcp = (int)i;
	e->conn.local = host->address;
	e->conn.local_port = (uint16_t)(1000 + i);
}

/* Even ends are clients, on either host. */
void sim_near_make(unsigned pairs)
{
	sim.ends = 2 * pairs;
	memset(sim.tcp, 0, sizeof(sim.tcp));
	for (unsigned i = 0; i < sim.ends; i += 2) {
		unsigned host = (unsigned)sim_random(SIM_HOSTS);
		uint64_t start =
		    sim_random(sim_chance(50) ? SIM_MS : SIM_SECOND);

		make_end(i, &sim.host[host]);
		make_end(i + 1, &sim.host[!host]);
		for (unsigned k = i; k < i + 2; k++) {
			struct sim_end *e = &sim.end[k];

			e->conn.peer = e->other->host->address;
			e->conn.peer_port = e->other->conn.local_port;
			sim_at(start + sim_random(SIM_MS) +
				   (sim_chance(8) ? sim_random(12 * SIM_SECOND)
						  : 0),
			       SIM_BEGIN, e, 0);
		}
		if (sim_chance(4))
			sim_at(start + sim_random(8 * SIM_MS), SIM_RESET,
			       &sim.tcp[i / 2], 0);
	}
}

void sim_near_begin(struct sim_end *e)
{
	if (e->over)
		return;
	e->began = true;
	e->close_ns = sim.now + sim_random(60 * SIM_MS);
	sim_trace("end %d of host %d begins, %s", e->index, e->host->index,
		  e->conn.server ? "server" : "client");
	sim_at(sim_random(SIM_MS), SIM_STEP, e, 0);
	e->conn.near = &calls;
	rc_service_begin(e->host->service, &e->conn, sim.now);
}

/* ---- a program ---- */

static void write_some(struct sim_end *e)
{
	static uint8_t bytes[PIECE_MAX];
	uint64_t n = 1 + sim_random(sim_chance(50) ? 200 : PIECE_MAX);
	ssize_t done;

	if (n > e->plan - e->wrote)
		n = e->plan - e->wrote;
	if (n == 0 || e->shut || e->closed)
		return;
	for (uint64_t i = 0; i < n; i++)
		bytes[i] = byte_of(e, e->wrote + i);
	done = element_put(&e->element, bytes, (size_t)n);
	if (done < 0)
		sim_fail("end %d cannot write: %zd", e->index, done);
	e->wrote += (uint64_t)done;
}

static void read_some(struct sim_end *e)
{
	static uint8_t bytes[PIECE_MAX];
	uint64_t most = 1 + sim_random(e->is_slow ? 3000 : PIECE_MAX);
	ssize_t n;

	if (e->closed)
		return;
	n = element_take(&e->element, bytes, (size_t)most);
	if (n < 0)
		sim_fail("end %d cannot read: %zd", e->index, n);
	for (ssize_t i = 0; i < n; i++)
		if (bytes[i] != byte_of(e->other, e->got + (uint64_t)i))
			sim_fail("end %d reads a wrong byte at %llu", e->index,
				 (unsigned long long)e->got +
				     (unsigned long long)i);
	e->got += (uint64_t)n;
	sim.bytes += (uint64_t)n;
	if (e->got > e->other->wrote)
		sim_fail("end %d reads what was never written", e->index);
}

static bool is_unread(const struct sim_end *e)
{
	return e->conn.state == RC_CONN_ACTIVE &&
	       e->got < e->conn.pump.stream.received;
}

static void close_end(struct sim_end *e)
{
	e->closed = true;
	e->closed_unread = is_unread(e);
	sim_trace("end %d closes: wrote %llu, read %llu%s", e->index,
		  (unsigned long long)e->wrote, (unsigned long long)e->got,
		  e->closed_unread ? ", some unread" : "");
	/* An end of file says that all is there. */
	if (e->conn.state == RC_CONN_ACTIVE && e->style != SIM_RUDE &&
	    (e->peer == RC_STREAM_FIN || e->peer == RC_STREAM_CLOSED) &&
	    e->got != e->other->wrote)
		sim_fail("end %d has the end of file at %llu of %llu", e->index,
			 (unsigned long long)e->got,
			 (unsigned long long)e->other->wrote);
}

static void end_some(struct sim_end *e)
{
	bool wrote_all = e->wrote == e->plan;
	bool at_end = e->peer >= RC_STREAM_FIN && !is_unread(e);

	if (e->peer == RC_STREAM_RESET ||
	    (e->style == SIM_RUDE && sim.now >= e->close_ns))
		close_end(e);
	else if (e->style == SIM_RUDE)
		return;
	else if (e->peer == RC_STREAM_CLOSED && at_end)
		close_end(e);
	else if (e->style == SIM_CLOSES && wrote_all &&
		 (e->got == e->other->plan || at_end))
		close_end(e);
	else if (e->style == SIM_SHUTS && e->shut && at_end)
		close_end(e);
	else if (e->style == SIM_SHUTS && wrote_all && !e->shut)
		e->shut = true;
}

static void tell_work(struct sim_end *e)
{
	if (e->work_due || e->over)
		return;
	e->work_due = true;
	sim_at(sim_random(sim_chance(5) ? 2 * SIM_MS : 20 * SIM_US), SIM_WORK,
	       e, 0);
}

void sim_near_step(struct sim_end *e)
{
	uint64_t wrote = e->wrote, got = e->got;
	bool shut = e->shut;

	if (e->over || e->closed)
		return;
	if (sim_chance(70))
		write_some(e);
	if (sim_chance(70) && e->conn.state == RC_CONN_ACTIVE)
		read_some(e);
	if (e->conn.state == RC_CONN_ACTIVE)
		end_some(e);
	if (e->wrote != wrote || e->got != got || e->shut != shut || e->closed)
		tell_work(e);
	sim_at(sim_random(e->is_slow            ? 20 * SIM_MS
			  : e->wrote == e->plan ? 10 * SIM_MS
						: 300 * SIM_US),
	       SIM_STEP, e, 0);
}

/* ---- the near half ---- */

static void tell_end(struct sim_end *e)
{
	int end = e->closed ? 2 : e->shut ? 1 : 0;

	if (end <= e->told)
		return;
	e->told = end;
	rc_stream_end(&e->conn.pump.stream,
		      end == 2 ? CLOSE_RELEASE : CLOSE_SHUTDOWN_WRITE,
		      e->got < e->conn.pump.stream.received);
}

void sim_near_work(struct sim_end *e)
{
	e->work_due = false;
	if (e->over || e->conn.state != RC_CONN_ACTIVE)
		return;
	tell_end(e);
	/* A link that dies over it is told by rc_near_peer(). */
	if (rc_service_work(&e->conn, sim.now) < 0 &&
	    !(sim.any_fault && e->peer == RC_STREAM_RESET))
		sim_fail("end %d is said to have broken the rules", e->index);
}

static void hear_outcome(struct rc_conn *c, enum rc_outcome outcome,
			 uint32_t reason, uint32_t peer_reason)
{
	struct sim_end *e = end_of(c);
	static const enum rc_conn_state states[] = {RC_CONN_ACTIVE, RC_CONN_TCP,
						    RC_CONN_OVER};

	sim_trace("end %d: outcome %d, reason %u, the peer's %u", e->index,
		  (int)outcome, reason, peer_reason);
	if (e->has_outcome || e->over || c->state != states[outcome])
		sim_fail("end %d has an outcome that cannot be", e->index);
	e->has_outcome = true;
	e->outcome = outcome;
	e->gave_up = reason == REASON_TIMEOUT ||
		     reason == REASON_TIMEOUT_CONFIRM_LINK ||
		     reason == REASON_TIMEOUT_ADD_LINK;
	if (outcome == RC_OUTCOME_SMC) {
		sim.smc++;
		c->tcp = -1;
		tell_work(e);
		return;
	}
	if (outcome == RC_OUTCOME_TCP) {
		struct sim_dir *d = &e->tcp->dir[e->index & 1];

		sim.fallbacks++;
		memset(d->bytes + d->sent, 'a', SIM_APP);
		d->sent += SIM_APP;
		if (!d->arriving)
			sim_at(sim_random(SIM_MS), SIM_ARRIVE, e->tcp,
			       (uint64_t)(e->index & 1));
		d->arriving = true;
	} else {
		sim.broken++;
		e->disturbed = e->other->disturbed = true;
		sim_at(0, SIM_RESET, e->tcp, 0);
	}
	e->over = true;
}

static void hear_peer(struct rc_conn *c, int error)
{
	struct sim_end *e = end_of(c);
	enum rc_stream_end peer = rc_stream_peer(&c->pump.stream);

	if (e->over || c->state == RC_CONN_SETUP)
		sim_fail("end %d hears of its peer too late", e->index);
	sim_trace("end %d: its peer's end is %d, error %d", e->index, (int)peer,
		  error);
	if (peer < e->peer)
		sim_fail("the end of %d's peer goes back", e->index);
	if (peer == RC_STREAM_RESET && e->peer != RC_STREAM_RESET)
		sim.resets++;
	e->peer = peer;
}

static void hear_moved(struct rc_conn *c)
{
	if (end_of(c)->over)
		sim_fail("bytes move on a connection that is over");
}

static void hear_over(struct rc_conn *c)
{
	struct sim_end *e = end_of(c);
	const struct rmb_map *m = &e->element.rmb.map;

	sim_trace("end %d is over", e->index);
	if (e->over || c->state != RC_CONN_OVER)
		sim_fail("end %d is over twice", e->index);
	if (sim_verbs_reaches(m->base, m->bytes))
		sim_fail("end %d is over, and a key leads to its rings",
			 e->index);
	e->over = true;
}

void sim_near_drop(struct sim_end *e)
{
	if (e->began && !e->over)
		sim_trace("end %d goes with its host", e->index);
	if (!(e->over && e->has_outcome))
		e->disturbed = e->other->disturbed = true;
	e->over = e->began = true;
	e->conn.tcp = -1;
}

/* ---- the oracle ---- */

void sim_near_check(const struct sim_end *e)
{
	const struct rc_stream *s = &e->conn.pump.stream;
	const struct rc_stream_view *v = &e->conn.pump.view;

	if (e->over || e->conn.state != RC_CONN_ACTIVE)
		return;
	if (s->completed > s->posted || s->posted > e->wrote ||
	    v->written > e->wrote)
		sim_fail("end %d: sent is not within what was written",
			 e->index);
	if (s->consumed > s->posted || s->posted - s->consumed > s->peer_size)
		sim_fail("end %d: sent does not fit the peer's RMBE", e->index);
	if (s->told > v->consumed || v->consumed > s->received ||
	    s->received - s->told > s->own_size)
		sim_fail("end %d: received is out of range", e->index);
	if (s->received > e->other->wrote)
		sim_fail("end %d: received is no prefix of what was sent",
			 e->index);
	if (s->consumed > e->other->got && !e->other->closed)
		sim_fail("end %d: the peer has not read so much", e->index);
}

void sim_near_sweep(void)
{
	for (unsigned i = 0; i < sim.ends; i++) {
		struct sim_end *e = &sim.end[i];

		if (!e->over || e->freed)
			continue;
		if (sim_verbs_reaches(e->element.rmb.map.base,
				      e->element.rmb.map.bytes))
			sim_fail("the rings of end %d are freed below a region",
				 e->index);
		element_free(&e->element);
		e->freed = true;
	}
}

bool sim_near_is_done(void)
{
	for (unsigned i = 0; i < sim.ends; i++)
		if (!sim.end[i].over)
			return false;
	return true;
}

static void judge_tcp(const struct sim_end *e)
{
	const struct sim_dir *d = &e->tcp->dir[!(e->index & 1)];
	size_t left = d->sent - d->taken;

	if (left != SIM_APP)
		sim_fail("end %d finds %zu bytes on TCP in place of %d",
			 e->index, left, SIM_APP);
	for (size_t i = 0; i < left; i++)
		if (d->bytes[d->taken + i] != 'a')
			sim_fail("end %d finds a message on TCP", e->index);
}

static void judge(const struct sim_end *e)
{
	if (!e->over || !e->freed)
		sim_fail("end %d is not over at the end", e->index);
	if (e->disturbed || sim.fail_at)
		return;
	if (!e->has_outcome)
		sim_fail("end %d has no outcome", e->index);
	if (e->outcome != e->other->outcome && !sim.any_fault)
		sim_fail("ends %d and %d do not agree", e->index,
			 e->other->index);
	/* One that gave up looks a second for what was said meanwhile. */
	if (e->outcome == RC_OUTCOME_TCP &&
	    e->other->outcome == RC_OUTCOME_TCP && !e->gave_up)
		judge_tcp(e);
	if (e->outcome != RC_OUTCOME_SMC || sim.any_fault ||
	    e->style == SIM_RUDE)
		return;
	/* What a program wrote before it closed comes all the same, but behind
	 * an abort. */
	if (!e->other->closed_unread && e->peer != RC_STREAM_RESET &&
	    e->got != e->other->wrote)
		sim_fail("end %d has got %llu bytes of %llu", e->index,
			 (unsigned long long)e->got,
			 (unsigned long long)e->other->wrote);
	if (e->other->style == SIM_RUDE)
		return;
	if (e->peer == RC_STREAM_RESET || e->wrote != e->plan)
		sim_fail("end %d is reset without a fault", e->index);
}

void sim_near_end(void)
{
	for (unsigned i = 0; i < sim.ends; i++)
		judge(&sim.end[i]);
}

static const struct rc_near_calls calls = {.outcome = hear_outcome,
					   .peer = hear_peer,
					   .moved = hear_moved,
					   .over = hear_over};
