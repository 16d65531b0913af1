/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_flow: LLC of one link group; requests of our own, links, time. */
#include "smc_r/service/rc_flow.h"

#include "smc_r/service/rc_flow_steps.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define CLIENT_CONFIRM_NS (4 * RC_FLOW_SECOND_NS)
#define SECOND_CONFIRM_NS (5 * RC_FLOW_SECOND_NS)
#define START_NS          (20 * RC_FLOW_SECOND_NS)

void rc_flow_init(struct rc_flow *f, const struct rc_flow_terms *terms)
{
	assert(terms->version == 1 || terms->version == 2);
	memset(f, 0, sizeof(*f));
	f->terms = *terms;
}

/* ---- Actions ------------------------------------------------------------- */

struct rc_flow_action *rc_flow_tell(struct rc_flow *f,
				    enum rc_flow_action_type type, int link)
{
	struct rc_flow_action *a;

	assert(f->action_count < RC_FLOW_ACTIONS_MAX);
	a = &f->action[f->action_count++];
	memset(a, 0, sizeof(*a));
	a->type = type;
	a->link = link;
	return a;
}

struct llc_message *rc_flow_begin(struct rc_flow *f, enum llc_type type,
				  bool response)
{
	struct llc_message *m = &f->out;

	memset(m, 0, sizeof(*m));
	m->type = (uint8_t)type;
	m->version = f->terms.version;
	m->response = response;
	m->low_byte_first = f->low_byte_first;
	return m;
}

void rc_flow_send(struct rc_flow *f, int link)
{
	struct rc_flow_action *a = rc_flow_tell(f, RC_FLOW_SEND, link);
	int n = llc_encode(&f->out, a->bytes, sizeof(a->bytes));

	assert(n == LLC_BYTES);
	(void)n;
}

/* Changes of rows go first, so that an answer never overtakes them. */
static bool next_news(struct rc_flow *f, struct rc_flow_action *out)
{
	for (int i = 0; i < RC_KEYS_ROWS; i++) {
		if (f->news[i] == 0)
			continue;
		memset(out, 0, sizeof(*out));
		out->row = i;
		if (f->news[i] & RC_FLOW_NEWS_REMOVED) {
			out->type = RC_FLOW_KEY_REMOVED;
			f->news[i] &= (uint8_t)~RC_FLOW_NEWS_REMOVED;
		} else {
			out->type = RC_FLOW_KEY_ADDED;
			f->news[i] = 0;
		}
		return true;
	}
	return false;
}

bool rc_flow_next(struct rc_flow *f, struct rc_flow_action *out)
{
	if (next_news(f, out))
		return true;
	if (f->action_done == f->action_count) {
		f->action_done = 0;
		f->action_count = 0;
		return false;
	}
	*out = f->action[f->action_done++];
	return true;
}

/* ---- Links --------------------------------------------------------------- */

int rc_flow_usable(const struct rc_flow *f, int but)
{
	for (int i = 0; i < RC_LINKS_MAX; i++)
		if (i != but && f->link[i].state == RC_FLOW_LINK_ACTIVE)
			return i;
	return -1;
}

int rc_flow_by_number(const struct rc_flow *f, uint8_t number)
{
	for (int i = 0; i < RC_LINKS_MAX; i++)
		if (f->link[i].state != RC_FLOW_LINK_FREE &&
		    f->link[i].port.number == number)
			return i;
	return -1;
}

int rc_flow_open_link(struct rc_flow *f, int link,
		      const struct rc_flow_port *port, uint64_t now_ns)
{
	bool is_server = f->terms.role == RC_FLOW_SERVER;
	struct rc_flow_link *l;
	struct llc_confirm_link *c;

	assert(link >= 0 && link < RC_LINKS_MAX);
	l = &f->link[link];
	if (f->ended)
		return -ECONNRESET;
	if (f->kind != RC_FLOW_IDLE || l->state != RC_FLOW_LINK_FREE)
		return -EBUSY;
	*l = (struct rc_flow_link){.state = RC_FLOW_LINK_CONFIRMING,
				   .port = *port,
				   .heard_ns = now_ns};
	f->kind = RC_FLOW_CONFIRM_LINK;
	f->kind_link = link;
	f->deadline_ns =
	    now_ns + (is_server ? RC_FLOW_ANSWER_NS : CLIENT_CONFIRM_NS);
	if (rc_flow_usable(f, link) >= 0)
		f->deadline_ns = now_ns + SECOND_CONFIRM_NS;
	if (!is_server)
		return 0;
	c = &rc_flow_begin(f, LLC_CONFIRM_LINK, false)->confirm_link;
	c->no_eyecatcher = true;
	memcpy(c->mac, port->mac, sizeof(c->mac));
	memcpy(c->gid, port->gid, sizeof(c->gid));
	c->qpn = port->qpn;
	c->link = port->number;
	c->uid = port->uid;
	c->links_max = f->terms.links_max;
	c->connections_max = f->terms.connections_max;
	rc_flow_send(f, link);
	return 0;
}

void rc_flow_remove_link(struct rc_flow *f, int link, int error)
{
	f->link[link].state = RC_FLOW_LINK_FREE;
	rc_keys_drop_link(&f->keys, link);
	rc_flow_tell(f, RC_FLOW_LINK_DEAD, link);
	if (f->kind != RC_FLOW_IDLE && f->kind_link == link)
		rc_flow_finish(f, -ECONNRESET);
	if (rc_flow_usable(f, link) < 0)
		rc_flow_finish_group(f, error, LLC_DELETE_LOST_PATH);
}

/* A link died under us: the peer hears of it on another one. */
static void lose_link(struct rc_flow *f, int link, int error, uint64_t now_ns)
{
	struct llc_delete_link d = {.orderly = true,
				    .link = f->link[link].port.number,
				    .reason = LLC_DELETE_LOST_PATH};
	int other = rc_flow_usable(f, link);

	rc_flow_remove_link(f, link, error);
	if (other < 0)
		return;
	if (f->terms.role == RC_FLOW_SERVER && f->kind == RC_FLOW_IDLE) {
		rc_flow_ask_delete(f, &d, now_ns);
	} else {
		rc_flow_begin(f, LLC_DELETE_LINK, false)->delete_link = d;
		rc_flow_send(f, other);
	}
	rc_flow_start(f, now_ns);
}

void rc_flow_fail_link(struct rc_flow *f, int link, uint64_t now_ns)
{
	if (!f->ended && f->link[link].state != RC_FLOW_LINK_FREE)
		lose_link(f, link, -ENOLINK, now_ns);
}

/* ---- The flow ------------------------------------------------------------ */

static void tell_result(struct rc_flow *f, uint32_t id, int error)
{
	struct rc_flow_action *a = rc_flow_tell(f, RC_FLOW_RESULT, -1);

	a->id = id;
	a->error = error;
}

void rc_flow_finish(struct rc_flow *f, int error)
{
	enum rc_flow_kind kind = f->kind;

	f->kind = RC_FLOW_IDLE;
	if (kind == RC_FLOW_CONFIRM_RKEY || kind == RC_FLOW_DELETE_RKEY)
		tell_result(f, f->current.id, error);
}

void rc_flow_finish_group(struct rc_flow *f, int error, uint32_t reason)
{
	struct rc_flow_action *a;

	rc_flow_finish(f, -ECONNRESET);
	for (int i = 0; i < f->waiting_count; i++)
		tell_result(f, f->waiting[i].id, -ECONNRESET);
	f->waiting_count = 0;
	f->has_kept = false;
	f->ended = true;
	a = rc_flow_tell(f, RC_FLOW_ENDED, -1);
	a->error = error;
	a->reason = reason;
}

void rc_flow_set_ready(struct rc_flow *f)
{
	if (!f->ready)
		rc_flow_tell(f, RC_FLOW_READY, -1);
	f->ready = true;
}

void rc_flow_ask_delete(struct rc_flow *f, const struct llc_delete_link *d,
			uint64_t now_ns)
{
	int gone = rc_flow_by_number(f, d->link);
	int link = rc_flow_usable(f, gone);

	assert(f->kind == RC_FLOW_IDLE);
	f->kind = RC_FLOW_DELETE_LINK;
	f->kind_link = link >= 0 ? link : gone;
	f->deadline_ns = now_ns + RC_FLOW_ANSWER_NS;
	f->delete_number = d->link;
	rc_flow_begin(f, LLC_DELETE_LINK, false)->delete_link = *d;
	rc_flow_send(f, f->kind_link);
}

static void send_confirm_rkey(struct rc_flow *f, int link)
{
	struct llc_confirm_rkey *c =
	    &rc_flow_begin(f, LLC_CONFIRM_RKEY, false)->confirm_rkey;
	const struct rc_flow_key *key = &f->current.key[0];

	c->rkey = key->rkey[link];
	c->address = key->address[link];
	for (int i = 0; i < RC_LINKS_MAX; i++) {
		if (i == link || f->link[i].state != RC_FLOW_LINK_ACTIVE)
			continue;
		c->other[c->other_count++] =
		    (struct llc_key){.link = f->link[i].port.number,
				     .rkey = key->rkey[i],
				     .address = key->address[i]};
	}
	rc_flow_send(f, link);
}

static void send_delete_rkey(struct rc_flow *f, int link)
{
	struct llc_delete_rkey *d =
	    &rc_flow_begin(f, LLC_DELETE_RKEY, false)->delete_rkey;

	d->count = (uint8_t)f->current.count;
	for (int i = 0; i < d->count; i++)
		d->rkey[i] = f->current.key[i].rkey[link];
	rc_flow_send(f, link);
}

static void start_request(struct rc_flow *f, int link, uint64_t now_ns)
{
	f->current = f->waiting[0];
	f->waiting_count--;
	memmove(f->waiting, f->waiting + 1,
		(size_t)f->waiting_count * sizeof(f->waiting[0]));
	f->kind = f->current.kind;
	f->kind_link = link;
	f->deadline_ns = now_ns + RC_FLOW_ANSWER_NS;
	if (f->kind == RC_FLOW_CONFIRM_RKEY)
		send_confirm_rkey(f, link);
	else
		send_delete_rkey(f, link);
}

void rc_flow_start(struct rc_flow *f, uint64_t now_ns)
{
	int link = rc_flow_usable(f, -1);

	if (f->ended || f->kind != RC_FLOW_IDLE || link < 0)
		return;
	if (f->has_kept) {
		f->has_kept = false;
		if (rc_flow_by_number(f, f->kept.link) >= 0) {
			rc_flow_ask_delete(f, &f->kept, now_ns);
			return;
		}
	}
	if (f->waiting_count > 0)
		start_request(f, link, now_ns);
}

/* ---- Requests ------------------------------------------------------------ */

static int request(struct rc_flow *f, const struct rc_flow_request *r,
		   uint64_t now_ns)
{
	if (f->ended)
		return -ECONNRESET;
	if (f->waiting_count == RC_FLOW_REQUESTS_MAX)
		return -EAGAIN;
	f->waiting[f->waiting_count++] = *r;
	rc_flow_start(f, now_ns);
	return 0;
}

int rc_flow_confirm_rkey(struct rc_flow *f, uint32_t id,
			 const struct rc_flow_key *key, uint64_t now_ns)
{
	struct rc_flow_request r = {.kind = RC_FLOW_CONFIRM_RKEY,
				    .id = id,
				    .start_ns = now_ns + START_NS,
				    .count = 1,
				    .key = {*key}};

	return request(f, &r, now_ns);
}

int rc_flow_delete_rkeys(struct rc_flow *f, uint32_t id,
			 const struct rc_flow_key *key, int count,
			 uint64_t now_ns)
{
	struct rc_flow_request r = {.kind = RC_FLOW_DELETE_RKEY,
				    .id = id,
				    .start_ns = now_ns + START_NS,
				    .count = count};

	assert(count >= 1 && count <= RC_FLOW_KEYS_MAX);
	memcpy(r.key, key, (size_t)count * sizeof(*key));
	return request(f, &r, now_ns);
}

void rc_flow_end(struct rc_flow *f, enum llc_delete reason, bool orderly)
{
	int link = rc_flow_usable(f, -1);

	if (f->ended)
		return;
	if (link >= 0) {
		rc_flow_begin(f, LLC_DELETE_LINK, false)->delete_link =
		    (struct llc_delete_link){
			.all = true, .orderly = orderly, .reason = reason};
		rc_flow_send(f, link);
	}
	rc_flow_finish_group(f, 0, reason);
}

/* ---- Time ---------------------------------------------------------------- */

static void send_test(struct rc_flow *f, int link, uint64_t now_ns)
{
	rc_flow_begin(f, LLC_TEST_LINK, false);
	rc_flow_send(f, link);
	f->link[link].test_ns = now_ns + RC_FLOW_ANSWER_NS;
}

void rc_flow_test_link(struct rc_flow *f, int link, uint64_t now_ns)
{
	if (!f->ended && f->link[link].state == RC_FLOW_LINK_ACTIVE &&
	    f->link[link].test_ns == 0)
		send_test(f, link, now_ns);
}

/* Nobody answered; a link that is silent over requests is tested at once. */
static void expire_flow(struct rc_flow *f, uint64_t now_ns)
{
	int link = f->kind_link;
	int gone;

	switch (f->kind) {
	case RC_FLOW_IDLE:
		break;
	case RC_FLOW_CONFIRM_LINK:
		rc_flow_finish(f, -ETIMEDOUT);
		lose_link(f, link, -ETIMEDOUT, now_ns);
		break;
	case RC_FLOW_ADD_LINK:
		rc_flow_finish(f, 0);
		rc_flow_set_ready(f);
		break;
	case RC_FLOW_DELETE_LINK:
		rc_flow_finish(f, 0);
		gone = rc_flow_by_number(f, f->delete_number);
		if (gone >= 0)
			rc_flow_remove_link(f, gone, -ENOLINK);
		break;
	case RC_FLOW_CONFIRM_RKEY:
	case RC_FLOW_DELETE_RKEY:
		f->link[link].unanswered += f->kind == RC_FLOW_DELETE_RKEY;
		rc_flow_finish(f, -ETIMEDOUT);
		rc_flow_test_link(f, link, now_ns);
		break;
	}
}

static void expire_waiting(struct rc_flow *f, uint64_t now_ns)
{
	int kept = 0;

	for (int i = 0; i < f->waiting_count; i++) {
		if (now_ns < f->waiting[i].start_ns)
			f->waiting[kept++] = f->waiting[i];
		else
			tell_result(f, f->waiting[i].id, -ETIMEDOUT);
	}
	f->waiting_count = kept;
}

static uint64_t test_due(const struct rc_flow *f, int link)
{
	const struct rc_flow_link *l = &f->link[link];

	if (l->state != RC_FLOW_LINK_ACTIVE)
		return UINT64_MAX;
	if (l->test_ns)
		return l->test_ns;
	return f->terms.test_link_ns ? l->heard_ns + f->terms.test_link_ns
				     : UINT64_MAX;
}

void rc_flow_time(struct rc_flow *f, uint64_t now_ns)
{
	for (int i = 0; i < RC_LINKS_MAX && !f->ended; i++) {
		if (now_ns < test_due(f, i))
			continue;
		if (f->link[i].test_ns)
			lose_link(f, i, -ETIMEDOUT, now_ns);
		else
			send_test(f, i, now_ns);
	}
	if (f->ended)
		return;
	if (f->kind != RC_FLOW_IDLE && now_ns >= f->deadline_ns)
		expire_flow(f, now_ns);
	expire_waiting(f, now_ns);
	rc_flow_start(f, now_ns);
}

uint64_t rc_flow_next_ns(const struct rc_flow *f)
{
	uint64_t due = UINT64_MAX;

	if (f->ended)
		return due;
	if (f->kind != RC_FLOW_IDLE)
		due = f->deadline_ns;
	if (f->waiting_count > 0 && f->waiting[0].start_ns < due)
		due = f->waiting[0].start_ns;
	for (int i = 0; i < RC_LINKS_MAX; i++)
		if (test_due(f, i) < due)
			due = test_due(f, i);
	return due;
}
