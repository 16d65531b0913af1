/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_group: messages, slots and time. */
#include <errno.h>
#include <string.h>

#include "smc_r/service/rc_group_parts.h"
#include "smc_r/service/rc_near.h"

#define IDLE_SERVER_NS (600 * RC_SECOND_NS)
#define IDLE_CLIENT_NS (610 * RC_SECOND_NS)
#define SLOT_NS        (10 * RC_SECOND_NS) /* for a slot, at most */
/* What closed here waits so long for the peer to do the same. */
#define CLOSE_NS       (10 * RC_SECOND_NS)

/* ---- slots ---- */

static void feed_messages(struct rc_group *g, uint64_t now_ns)
{
	while (g->messages > 0 && g->link.free_slots && !g->failed) {
		const uint8_t *bytes = g->message[g->first];

		if (rc_link_post(&g->link, NULL, 0, bytes, LLC_BYTES, 0) != 0)
			g->failed = true;
		else
			g->link.counts.llc_sent[bytes[0] % FAR_LLC_TYPES]++;
		rc_link_await(&g->link);
		g->first = (g->first + 1) % RC_GROUP_MESSAGES;
		g->messages--;
		g->stuck_ns = now_ns;
	}
	if (g->messages == 0)
		g->stuck_ns = 0;
}

static void queue_message(struct rc_group *g, const uint8_t *bytes,
			  uint64_t now_ns)
{
	unsigned i = (g->first + g->messages) % RC_GROUP_MESSAGES;

	/* A peer that asks on and takes no answer. */
	if (g->messages == RC_GROUP_MESSAGES) {
		g->failed = true;
		return;
	}
	memcpy(g->message[i], bytes, LLC_BYTES);
	if (g->messages++ == 0)
		g->stuck_ns = now_ns;
	feed_messages(g, now_ns);
}

static void set_waiting(struct rc_group *g, const struct rc_conn *c)
{
	g->waits[rc_place(c) / 64] |= 1ULL << rc_place(c) % 64;
}

/* It is the turn of this one, or of none: NULL. */
static struct rc_conn *next_waiting(struct rc_group *g)
{
	for (unsigned k = 0; k <= RC_GROUP_PLACES; k++) {
		unsigned i = (g->next_place + k) % (RC_GROUP_PLACES + 1);
		uint64_t word = g->waits[i / 64] >> i % 64;

		if (word == 0) {
			k += 63 - i % 64;
			continue;
		}
		i += (unsigned)__builtin_ctzll(word);
		g->waits[i / 64] &= ~(1ULL << i % 64);
		g->next_place = (i + 1) % (RC_GROUP_PLACES + 1);
		if (g->conn[i])
			return g->conn[i];
	}
	return NULL;
}

static void send_of(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	int n = rc_pump_send(&c->pump, (uint64_t)c->token << 16);

	if (n == -EPROTO) {
		rc_group_abort(g, c, ECONNRESET, now_ns);
		n = rc_pump_send(&c->pump, (uint64_t)c->token << 16);
	}
	if (n < 0)
		g->failed = true;
	else if (!g->link.free_slots) {
		rc_link_await(&g->link);
		set_waiting(g, c);
	}
}

static bool has_closed(const struct rc_stream *s)
{
	return (s->close.sent & (CDC_CLOSED | CDC_ABORTED)) && s->count == 0 &&
	       !s->due && !s->flush;
}

static void see_end(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	if (c->state != RC_CONN_ACTIVE || c->leaving)
		return;
	if (rc_stream_is_over(&c->pump.stream)) {
		c->leaving = RC_CONN_LEAVES;
		rc_group_ask_deletes(g, now_ns);
	} else if (!c->ended_ns && has_closed(&c->pump.stream)) {
		c->ended_ns = now_ns;
		g->ending++;
	}
}

void rc_group_feed(struct rc_group *g, uint64_t now_ns)
{
	struct rc_conn *c;

	feed_messages(g, now_ns);
	while (g->link.free_slots && !g->failed && (c = next_waiting(g))) {
		send_of(g, c, now_ns);
		see_end(g, c, now_ns);
	}
}

void rc_group_push(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	if (c->state != RC_CONN_ACTIVE || c->leaving || g->ended)
		return;
	set_waiting(g, c);
	rc_group_feed(g, now_ns);
	see_end(g, c, now_ns);
}

/* ---- ends ---- */

void rc_group_abort(struct rc_group *g, struct rc_conn *c, int error,
		    uint64_t now_ns)
{
	(void)now_ns;
	rc_stream_abort(&c->pump.stream);
	if (g->ended)
		rc_stream_expire(&c->pump.stream);
	rc_near_peer(c, error);
}

void rc_group_ask_deletes(struct rc_group *g, uint64_t now_ns)
{
	struct rc_flow_key key[RC_FLOW_KEYS_MAX];
	struct rc_conn *of[RC_FLOW_KEYS_MAX];
	int n = 0;

	if (g->deleting || g->ended)
		return;
	for (unsigned i = 0; i < RC_GROUP_PLACES && n < RC_FLOW_KEYS_MAX; i++) {
		struct rc_conn *c = g->conn[i];

		if (!c || c->leaving != RC_CONN_LEAVES)
			continue;
		key[n] = (struct rc_flow_key){.rkey = {c->in.rkey},
					      .address = {c->in.address}};
		of[n++] = c;
	}
	/* Where too much waits, the next result comes back here. */
	if (n == 0 ||
	    rc_flow_delete_rkeys(&g->flow, RC_ID_DELETE, key, n, now_ns) != 0)
		return;
	g->deleting = true;
	for (int i = 0; i < n; i++)
		of[i]->leaving = RC_CONN_ASKED;
}

static void on_deleted(struct rc_group *g, uint64_t now_ns)
{
	g->deleting = false;
	/* With the group all go, behind its link. */
	if (g->ended)
		return;
	for (unsigned i = 0; i < RC_GROUP_PLACES; i++) {
		struct rc_conn *c = g->conn[i];

		if (!c || c->leaving != RC_CONN_ASKED)
			continue;
		rc_group_forget(g, c, now_ns);
		c->state = RC_CONN_OVER;
		rc_near_over(c);
	}
}

static void on_result(struct rc_group *g, const struct rc_flow_action *a,
		      uint64_t now_ns)
{
	struct rc_conn *c = rc_group_at(g, a->id);

	g->service->changed = true;
	if (a->id == RC_ID_DELETE)
		on_deleted(g, now_ns);
	else if (c && c->state == RC_CONN_SETUP)
		c->joined = a->error;
	rc_group_ask_deletes(g, now_ns);
}

static void on_key_removed(struct rc_group *g, int row, uint64_t now_ns)
{
	for (unsigned i = 0; i < RC_GROUP_PLACES; i++) {
		struct rc_conn *c = g->conn[i];

		if (!c || c->row != row)
			continue;
		c->row = -1;
		/* One that has closed gets no bytes any more. */
		if (c->state != RC_CONN_ACTIVE ||
		    rc_stream_peer(&c->pump.stream) >= RC_STREAM_CLOSED)
			continue;
		rc_group_abort(g, c, ECONNRESET, now_ns);
	}
}

static void join_all(struct rc_group *g, int joined)
{
	for (unsigned i = 0; i < RC_GROUP_PLACES; i++)
		if (g->conn[i] && g->conn[i]->state == RC_CONN_SETUP)
			g->conn[i]->joined = joined;
	g->service->changed = true;
}

static bool is_quiet(const struct rc_group *g)
{
	return g->messages == 0 &&
	       g->link.free_slots == (1u << RC_LINK_SLOTS) - 1;
}

/* A client's first connection begins when the server has its answers: until
 * then the server may decline. */
static void see_ready(struct rc_group *g)
{
	if (g->peer.server || !g->ready || g->begun || !is_quiet(g))
		return;
	g->begun = true;
	join_all(g, 0);
}

static void on_ended(struct rc_group *g, int error, uint64_t now_ns)
{
	bool is_late = error == -ETIMEDOUT || error == -ENOLINK;

	g->ended = true;
	g->ended_ns = now_ns;
	g->heard_ns = now_ns;
	join_all(g, error == -EPROTO ? -EPROTO : -ECONNRESET);
	for (unsigned i = 0; i < RC_GROUP_PLACES; i++) {
		struct rc_conn *c = g->conn[i];

		if (!c || c->state != RC_CONN_ACTIVE || c->leaving)
			continue;
		if (!rc_stream_is_over(&c->pump.stream))
			rc_group_abort(g, c, is_late ? ETIMEDOUT : ECONNRESET,
				       now_ns);
	}
}

static void act(struct rc_group *g, const struct rc_flow_action *a,
		uint64_t now_ns)
{
	switch (a->type) {
	case RC_FLOW_KEY_REMOVED:
		on_key_removed(g, a->row, now_ns);
		break;
	case RC_FLOW_KEY_ADDED:
		break;
	case RC_FLOW_READY:
		g->ready = true;
		see_ready(g);
		break;
	case RC_FLOW_SEND:
		queue_message(g, a->bytes, now_ns);
		break;
	case RC_FLOW_RESULT:
		on_result(g, a, now_ns);
		break;
	case RC_FLOW_CONFIRMED:
		g->confirmed = true;
		if (g->peer.server)
			join_all(g, 0);
		else
			g->service->changed = true;
		break;
	case RC_FLOW_LINK_DEAD:
		break;
	case RC_FLOW_ENDED:
		on_ended(g, a->error, now_ns);
		break;
	}
}

void rc_group_run(struct rc_group *g, uint64_t now_ns)
{
	struct rc_flow_action a;

	for (;;) {
		while (rc_flow_next(&g->flow, &a))
			act(g, &a, now_ns);
		if (!g->failed || g->told)
			return;
		g->told = true;
		rc_flow_fail_link(&g->flow, 0, now_ns);
		if (!g->flow.ended)
			rc_flow_end(&g->flow, LLC_DELETE_LOST_PATH, false);
	}
}

void rc_group_fail(struct rc_group *g, uint64_t now_ns)
{
	g->failed = true;
	rc_group_run(g, now_ns);
}

void rc_group_end(struct rc_group *g, enum llc_delete reason, bool orderly,
		  uint64_t now_ns)
{
	rc_flow_end(&g->flow, reason, orderly);
	rc_group_run(g, now_ns);
}

/* ---- what comes ---- */

int rc_group_work(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	bool was = rc_stream_peer(&c->pump.stream) == RC_STREAM_RESET;

	rc_group_push(g, c, now_ns);
	rc_group_run(g, now_ns);
	return !was && rc_stream_peer(&c->pump.stream) == RC_STREAM_RESET
		   ? -EPROTO
		   : 0;
}

static void take_cdc(struct rc_group *g, struct rc_conn *c,
		     const struct cdc_message *m, uint64_t now_ns)
{
	struct rc_stream *s = &c->pump.stream;
	enum rc_stream_end before = rc_stream_peer(s);
	uint64_t received = s->received;

	if (rc_pump_receive(&c->pump, m) < 0) {
		rc_group_abort(g, c, ECONNRESET, now_ns);
		before = RC_STREAM_RESET;
	}
	g->link.counts.bytes_received += s->received - received;
	if (s->received != received)
		rc_near_moved(c);
	if (rc_stream_peer(s) != before)
		rc_near_peer(
		    c, rc_stream_peer(s) == RC_STREAM_RESET ? ECONNRESET : 0);
	rc_group_push(g, c, now_ns);
}

static void on_cdc(struct rc_group *g, uint32_t bytes, uint64_t now_ns)
{
	struct cdc_message m;
	struct rc_conn *c;

	if (cdc_decode(&m, g->service->bytes, bytes) != 0)
		return;
	g->link.counts.cdc_received++;
	rc_flow_heard(&g->flow, 0, now_ns);
	c = rc_group_at(g, m.token);
	if (!c || c->leaving || g->ended)
		return;
	if (c->state == RC_CONN_ACTIVE) {
		take_cdc(g, c, &m, now_ns);
		return;
	}
	/* They add up, but for a request. */
	if (c->has_early)
		m.producer_flags |=
		    c->early.producer_flags & CDC_UPDATE_REQUESTED;
	c->early = m;
	c->has_early = true;
}

void rc_group_start(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	c->state = RC_CONN_ACTIVE;
	g->link.counts.connections++;
	rc_near_outcome(c, RC_OUTCOME_SMC, 0, 0);
	if (g->ended)
		rc_group_abort(g, c, ECONNRESET, now_ns);
	else if (c->has_early)
		take_cdc(g, c, &c->early, now_ns);
	rc_group_push(g, c, now_ns);
	rc_group_run(g, now_ns);
}

/* Its Confirm may be under way, with bytes behind it: the region stays until
 * the key is deleted. */
static void break_unmet(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	uint32_t bytes = (uint32_t)c->pump.near.out.ring[0].bytes;

	rc_stream_init(&c->pump.stream, bytes, bytes, 0);
	c->state = RC_CONN_ACTIVE;
	c->leaving = RC_CONN_LEAVES;
	rc_near_outcome(c, RC_OUTCOME_SMC, 0, 0);
	rc_group_abort(g, c, ECONNRESET, now_ns);
	rc_group_ask_deletes(g, now_ns);
	rc_group_run(g, now_ns);
}

void rc_group_break(struct rc_group *g, struct rc_conn *c, uint64_t now_ns)
{
	if (c->row < 0) {
		break_unmet(g, c, now_ns);
		return;
	}
	rc_group_start(g, c, now_ns);
	if (rc_stream_peer(&c->pump.stream) != RC_STREAM_RESET)
		rc_group_abort(g, c, ECONNRESET, now_ns);
	rc_group_push(g, c, now_ns);
	rc_group_run(g, now_ns);
}

static void on_llc(struct rc_group *g, uint32_t bytes, uint64_t now_ns)
{
	uint64_t *counts = g->link.counts.llc_received;
	struct llc_message m;

	if (llc_decode(&m, g->service->bytes, bytes) != 0) {
		counts[0]++;
		return;
	}
	counts[m.type % FAR_LLC_TYPES]++;
	rc_flow_receive(&g->flow, 0, &m, now_ns);
}

static void on_sent(struct rc_group *g, uint64_t tag, uint64_t now_ns)
{
	struct rc_conn *c = rc_group_at(g, (uint32_t)(tag >> 16));

	if (c && c->state == RC_CONN_ACTIVE) {
		rc_pump_completed(&c->pump, (uint16_t)tag);
		rc_near_moved(c);
		rc_group_push(g, c, now_ns);
	}
	rc_group_feed(g, now_ns);
	see_ready(g);
}

static void on_received(struct rc_group *g, uint32_t bytes, uint64_t now_ns)
{
	g->heard_ns = now_ns;
	if (bytes > 0 && g->service->bytes[0] == CDC_TYPE)
		on_cdc(g, bytes, now_ns);
	else
		on_llc(g, bytes, now_ns);
}

void rc_group_done(struct rc_group *g, const struct rc_done *done,
		   uint64_t now_ns)
{
	uint64_t tag = 0;

	if (rc_link_done(&g->link, done, &tag, g->service->bytes) < 0)
		g->failed = true;
	else if (done->what == RC_DONE_SENT)
		on_sent(g, tag, now_ns);
	else
		on_received(g, done->bytes, now_ns);
	rc_group_run(g, now_ns);
}

/* ---- time ---- */

static uint64_t idle_due(const struct rc_group *g)
{
	if (g->count > 0 || g->ended || !g->confirmed)
		return UINT64_MAX;
	return g->idle_ns + (g->peer.server ? IDLE_SERVER_NS : IDLE_CLIENT_NS);
}

static void expire_ended(struct rc_group *g, uint64_t now_ns)
{
	for (unsigned i = 0; i < RC_GROUP_PLACES && g->ending > 0; i++) {
		struct rc_conn *c = g->conn[i];

		if (!c || !c->ended_ns || c->leaving ||
		    now_ns < c->ended_ns + CLOSE_NS)
			continue;
		rc_stream_expire(&c->pump.stream);
		see_end(g, c, now_ns);
	}
}

void rc_group_time(struct rc_group *g, uint64_t now_ns)
{
	if (g->ended)
		return;
	if (g->stuck_ns && now_ns >= g->stuck_ns + SLOT_NS)
		g->failed = true;
	rc_flow_time(&g->flow, now_ns);
	rc_group_run(g, now_ns);
	if (now_ns >= idle_due(g))
		rc_group_end(g, LLC_DELETE_PROGRAM, true, now_ns);
	expire_ended(g, now_ns);
	rc_group_run(g, now_ns);
}

uint64_t rc_group_next_ns(const struct rc_group *g)
{
	uint64_t due = rc_flow_next_ns(&g->flow);

	if (g->ended)
		return rc_group_over_ns(g);
	if (g->stuck_ns && g->stuck_ns + SLOT_NS < due)
		due = g->stuck_ns + SLOT_NS;
	if (idle_due(g) < due)
		due = idle_due(g);
	for (unsigned i = 0; i < RC_GROUP_PLACES && g->ending > 0; i++) {
		const struct rc_conn *c = g->conn[i];

		if (c && c->ended_ns && !c->leaving &&
		    c->ended_ns + CLOSE_NS < due)
			due = c->ended_ns + CLOSE_NS;
	}
	return due;
}

void rc_group_test(struct rc_group *g, uint64_t now_ns)
{
	rc_flow_test_link(&g->flow, 0, now_ns);
	rc_group_run(g, now_ns);
}
