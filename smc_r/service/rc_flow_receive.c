/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_flow: LLC of one link group; what the messages of the peer do. */
#include "smc_r/service/rc_flow_steps.h"

#include <errno.h>
#include <string.h>

static bool is_server(const struct rc_flow *f)
{
	return f->terms.role == RC_FLOW_SERVER;
}

/* ---- Confirm Link and the Add Link stage --------------------------------- */

/*
 * An offer without a queue pair. Clients wait for an offer, and a QP MTU of 0
 * makes them reject it at once.
 */
static void offer_link(struct rc_flow *f, int link)
{
	struct llc_add_link *a =
	    &rc_flow_begin(f, LLC_ADD_LINK, false)->add_link;
	const struct rc_flow_port *port = &f->link[link].port;

	memcpy(a->mac, port->mac, sizeof(a->mac));
	memcpy(a->gid, port->gid, sizeof(a->gid));
	a->link = (uint8_t)(port->number + 1);
	rc_flow_send(f, link);
}

static void activate_link(struct rc_flow *f, int link, uint64_t now_ns)
{
	f->link[link].state = RC_FLOW_LINK_ACTIVE;
	rc_flow_tell(f, RC_FLOW_CONFIRMED, link);
	rc_flow_finish(f, 0);
	if (f->ready || f->terms.links_max <= 1) {
		rc_flow_set_ready(f);
		rc_flow_start(f, now_ns);
		return;
	}
	f->kind = RC_FLOW_ADD_LINK;
	f->kind_link = link;
	f->deadline_ns = now_ns + RC_FLOW_ANSWER_NS;
	if (is_server(f))
		offer_link(f, link);
}

/* Does another link have this number? A server has given ours itself. */
static bool is_taken(const struct rc_flow *f, int link, uint8_t number)
{
	int other = rc_flow_by_number(f, number);

	return !is_server(f) && other >= 0 && other != link;
}

static bool on_confirm_link(struct rc_flow *f, int link,
			    const struct llc_message *m, uint64_t now_ns)
{
	struct rc_flow_link *l = &f->link[link];

	if (f->kind != RC_FLOW_CONFIRM_LINK || f->kind_link != link ||
	    m->response != is_server(f))
		return false;
	if (!m->confirm_link.no_eyecatcher ||
	    is_taken(f, link, m->confirm_link.link)) {
		rc_flow_remove_link(f, link, -EPROTO);
		return true;
	}
	l->peer_uid = m->confirm_link.uid;
	if (!is_server(f)) {
		l->port.number = m->confirm_link.link;
		struct llc_confirm_link *c =
		    &rc_flow_begin(f, LLC_CONFIRM_LINK, true)->confirm_link;

		*c = m->confirm_link;
		memcpy(c->mac, l->port.mac, sizeof(c->mac));
		memcpy(c->gid, l->port.gid, sizeof(c->gid));
		c->qpn = l->port.qpn;
		c->uid = l->port.uid;
		c->links_max = f->terms.links_max;
		c->connections_max = f->terms.connections_max;
		rc_flow_send(f, link);
	}
	activate_link(f, link, now_ns);
	return true;
}

/* A client that accepts the offer hears that there is no such link. */
static void undo_offer(struct rc_flow *f, int link,
		       const struct llc_add_link *a)
{
	rc_flow_begin(f, LLC_DELETE_LINK, false)->delete_link =
	    (struct llc_delete_link){.link = a->link,
				     .reason = LLC_DELETE_LOST_PATH};
	rc_flow_send(f, link);
}

static void reject_link(struct rc_flow *f, int link,
			const struct llc_add_link *a)
{
	struct llc_add_link *out =
	    &rc_flow_begin(f, LLC_ADD_LINK, true)->add_link;

	memcpy(out->mac, a->mac, sizeof(out->mac));
	memcpy(out->gid, a->gid, sizeof(out->gid));
	out->qpn = a->qpn;
	out->link = a->link;
	out->mtu = a->mtu;
	out->psn = a->psn;
	out->reject = true;
	out->reason = LLC_REJECT_NO_PATH;
	rc_flow_send(f, link);
}

static bool on_add_link(struct rc_flow *f, int link,
			const struct llc_message *m, uint64_t now_ns)
{
	/* The request of a client is a hint that it has a second port. */
	if (m->response != is_server(f))
		return false;
	if (is_server(f) && f->kind != RC_FLOW_ADD_LINK)
		return false;
	if (!is_server(f))
		reject_link(f, link, &m->add_link);
	else if (!m->add_link.reject)
		undo_offer(f, link, &m->add_link);
	if (f->kind == RC_FLOW_ADD_LINK) {
		rc_flow_finish(f, 0);
		rc_flow_set_ready(f);
		rc_flow_start(f, now_ns);
	}
	return true;
}

static bool on_request_add_link(struct rc_flow *f, int link,
				const struct llc_message *m)
{
	struct llc_request_add_link *out;

	if (m->response || !is_server(f))
		return false;
	out = &rc_flow_begin(f, LLC_REQUEST_ADD_LINK, true)->request_add_link;
	out->reject = true;
	out->reason = LLC_REJECT_NO_PATH;
	rc_flow_send(f, link);
	return true;
}

/* ---- Delete Link --------------------------------------------------------- */

static bool on_delete_response(struct rc_flow *f,
			       const struct llc_delete_link *d, uint64_t now_ns)
{
	int gone;

	if (f->kind != RC_FLOW_DELETE_LINK || d->link != f->delete_number)
		return false;
	rc_flow_finish(f, 0);
	gone = rc_flow_by_number(f, d->link);
	if (gone >= 0)
		rc_flow_remove_link(f, gone, 0);
	rc_flow_start(f, now_ns);
	return true;
}

static void on_delete_all(struct rc_flow *f, int link,
			  const struct llc_delete_link *d)
{
	if (is_server(f)) {
		rc_flow_begin(f, LLC_DELETE_LINK, false)->delete_link =
		    (struct llc_delete_link){
			.all = true, .orderly = true, .reason = d->reason};
		rc_flow_send(f, link);
	}
	rc_flow_finish_group(f, 0, d->reason);
}

/* The server carries out what a client asks for by a request of its own. */
static bool on_delete_at_server(struct rc_flow *f,
				const struct llc_delete_link *d,
				uint64_t now_ns)
{
	if (rc_flow_by_number(f, d->link) < 0 || f->has_kept)
		return false;
	f->kept = *d;
	f->has_kept = true;
	rc_flow_start(f, now_ns);
	return true;
}

static bool on_delete_link(struct rc_flow *f, int link,
			   const struct llc_message *m, uint64_t now_ns)
{
	const struct llc_delete_link *d = &m->delete_link;
	struct llc_delete_link *out;
	int gone;

	if (m->response)
		return on_delete_response(f, d, now_ns);
	if (d->all) {
		on_delete_all(f, link, d);
		return true;
	}
	if (is_server(f))
		return on_delete_at_server(f, d, now_ns);
	gone = rc_flow_by_number(f, d->link);
	out = &rc_flow_begin(f, LLC_DELETE_LINK, true)->delete_link;
	*out = *d;
	out->reason = gone < 0 ? LLC_DELETE_UNKNOWN_LINK : 0;
	rc_flow_send(f, link);
	if (gone >= 0)
		rc_flow_remove_link(f, gone, 0);
	rc_flow_start(f, now_ns);
	return true;
}

/* ---- Keys ---------------------------------------------------------------- */

/* An addition that nobody heard of is taken back without a word. */
static void note_removed(struct rc_flow *f, int row)
{
	if (f->news[row] & RC_FLOW_NEWS_ADDED)
		f->news[row] &= (uint8_t)~RC_FLOW_NEWS_ADDED;
	else
		f->news[row] |= RC_FLOW_NEWS_REMOVED;
}

/* 0, -ENOSPC or -EEXIST. */
static int add_key(struct rc_flow *f, int link,
		   const struct llc_confirm_rkey *c)
{
	bool was = rc_keys_find(&f->keys, link, c->rkey, c->address) >= 0;
	int row;

	if (c->other_count > 2)
		return -ENOSPC;
	row = rc_keys_add(&f->keys, link, c->rkey, c->address);
	if (row < 0)
		return row;
	for (int i = 0; i < c->other_count; i++) {
		const struct llc_key *key = &c->other[i];
		int other = rc_flow_by_number(f, key->link);

		if (other < 0 || rc_keys_join(&f->keys, row, other, key->rkey,
					      key->address) == 0)
			continue;
		if (!was)
			rc_keys_delete(&f->keys, link, c->rkey);
		return -EEXIST;
	}
	if (!was)
		f->news[row] |= RC_FLOW_NEWS_ADDED;
	return 0;
}

static bool on_confirm_rkey(struct rc_flow *f, int link,
			    const struct llc_message *m, uint64_t now_ns)
{
	const struct llc_confirm_rkey *c = &m->confirm_rkey;
	struct llc_confirm_rkey *out;
	int r;

	if (m->response) {
		if (f->kind != RC_FLOW_CONFIRM_RKEY || f->kind_link != link ||
		    c->rkey != f->current.key[0].rkey[link])
			return false;
		rc_flow_finish(f, !c->negative ? 0
				  : c->retry   ? -EAGAIN
					       : -EREMOTEIO);
		rc_flow_start(f, now_ns);
		return true;
	}
	if (f->link[link].state != RC_FLOW_LINK_ACTIVE)
		return false;
	r = add_key(f, link, c);
	out = &rc_flow_begin(f, LLC_CONFIRM_RKEY, true)->confirm_rkey;
	*out = *c;
	out->negative = r < 0;
	out->retry = r == -ENOSPC;
	rc_flow_send(f, link);
	return true;
}

/* The answer names the unknown ones in the form of its version. */
static void delete_keys(struct rc_flow *f, int link,
			const struct llc_delete_rkey *d,
			struct llc_delete_rkey *out)
{
	out->count = d->count;
	for (int i = 0; i < d->count; i++) {
		int row = rc_keys_delete(&f->keys, link, d->rkey[i]);

		if (f->terms.version == 1)
			out->rkey[i] = d->rkey[i];
		if (row >= 0) {
			note_removed(f, row);
			continue;
		}
		out->negative = true;
		if (f->terms.version == 1)
			out->error_mask |= (uint8_t)(0x80U >> (i & 7));
		else if (out->invalid_count < RC_FLOW_KEYS_MAX)
			out->rkey[out->invalid_count++] = d->rkey[i];
	}
}

/* Is it the response to the request that is open? Linux names no key in one of
 * version 2, so those that are late come first, as they were asked first. */
static bool is_answer(struct rc_flow *f, int link, const struct llc_message *m)
{
	if (m->version == 2 && f->link[link].unanswered > 0) {
		f->link[link].unanswered--;
		return false;
	}
	return f->kind == RC_FLOW_DELETE_RKEY && f->kind_link == link &&
	       (m->version == 2 ||
		m->delete_rkey.rkey[0] == f->current.key[0].rkey[link]);
}

static bool on_delete_rkey(struct rc_flow *f, int link,
			   const struct llc_message *m, uint64_t now_ns)
{
	struct llc_message *out;

	if (m->response) {
		if (!is_answer(f, link, m))
			return false;
		rc_flow_finish(f, m->delete_rkey.negative ? -EREMOTEIO : 0);
		rc_flow_start(f, now_ns);
		return true;
	}
	if (f->link[link].state != RC_FLOW_LINK_ACTIVE)
		return false;
	out = rc_flow_begin(f, LLC_DELETE_RKEY, true);
	delete_keys(f, link, &m->delete_rkey, &out->delete_rkey);
	rc_flow_send(f, link);
	return true;
}

/* ---- Test Link, and the way in ------------------------------------------- */

static bool on_test_link(struct rc_flow *f, int link,
			 const struct llc_message *m)
{
	if (m->response) {
		f->link[link].test_ns = 0;
		return true;
	}
	rc_flow_begin(f, LLC_TEST_LINK, true)->test_link = m->test_link;
	rc_flow_send(f, link);
	return true;
}

/* Did the message belong? */
static bool dispatch(struct rc_flow *f, int link, const struct llc_message *m,
		     uint64_t now_ns)
{
	switch ((enum llc_type)m->type) {
	case LLC_CONFIRM_LINK:
		return on_confirm_link(f, link, m, now_ns);
	case LLC_ADD_LINK:
		return on_add_link(f, link, m, now_ns);
	case LLC_DELETE_LINK:
		return on_delete_link(f, link, m, now_ns);
	case LLC_REQUEST_ADD_LINK:
		return on_request_add_link(f, link, m);
	case LLC_CONFIRM_RKEY:
		return on_confirm_rkey(f, link, m, now_ns);
	case LLC_TEST_LINK:
		return on_test_link(f, link, m);
	case LLC_DELETE_RKEY:
		return on_delete_rkey(f, link, m, now_ns);
	case LLC_ADD_LINK_CONT:
	case LLC_CONFIRM_RKEY_CONT:
		break;
	}
	return false;
}

void rc_flow_heard(struct rc_flow *f, int link, uint64_t now_ns)
{
	f->link[link].heard_ns = now_ns;
}

void rc_flow_receive(struct rc_flow *f, int link, const struct llc_message *m,
		     uint64_t now_ns)
{
	if (f->ended || f->link[link].state == RC_FLOW_LINK_FREE ||
	    m->version != f->terms.version) {
		f->dropped++;
		return;
	}
	rc_flow_heard(f, link, now_ns);
	if (m->version == 2)
		f->low_byte_first = m->low_byte_first;
	if (!dispatch(f, link, m, now_ns))
		f->dropped++;
}
