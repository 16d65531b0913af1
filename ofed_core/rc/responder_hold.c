/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * responder_hold: packets that arrived before one that is missing.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ofed_core/rc/responder.h"

#define HELD_MAX       1024       /* of one pair; a power of two */
#define HELD_BYTES_MAX (64 << 20) /* of all pairs */

struct held {
	struct packet p; /* first: it is handed out */
	size_t bytes;
	uint8_t payload[];
};

/* The low bits of the sequence number are the index. */
struct hold {
	uint32_t last; /* highest number that was put in */
	struct held *slots[HELD_MAX];
};

static _Atomic size_t held_bytes;

static void drop(struct held *h)
{
	if (h)
		atomic_fetch_sub(&held_bytes, h->bytes);
	free(h);
}

static struct held *copy(const struct packet *p)
{
	size_t bytes = sizeof(struct held) + p->payload_bytes;
	struct held *h;

	if (atomic_load(&held_bytes) + bytes > HELD_BYTES_MAX)
		return NULL;
	h = malloc(bytes);
	if (!h)
		return NULL;
	atomic_fetch_add(&held_bytes, bytes);
	h->bytes = bytes;
	h->p = *p;
	if (p->payload_bytes)
		memcpy(h->payload, p->payload, p->payload_bytes);
	h->p.payload = h->payload;
	return h;
}

void responder_hold(struct qp *qp, const struct packet *p)
{
	struct responder *r = &qp->resp;
	struct held **slot;

	if (psn_diff(p->psn, r->psn) >= HELD_MAX)
		return;
	if (!r->held) {
		r->held = calloc(1, sizeof(*r->held));
		if (!r->held)
			return;
		r->held->last = p->psn;
	}
	slot = &r->held->slots[p->psn % HELD_MAX];
	if (*slot && (*slot)->p.psn == p->psn)
		return;
	drop(*slot);
	*slot = copy(p);
	if (*slot && psn_diff(p->psn, r->held->last) > 0)
		r->held->last = p->psn;
}

unsigned responder_held(struct qp *qp, const struct packet **out, unsigned max)
{
	struct responder *r = &qp->resp;
	unsigned n = 0;

	for (; r->held && n < max; n++) {
		uint32_t psn = (r->psn + n) & PSN_MASK;
		struct held **slot = &r->held->slots[psn % HELD_MAX];

		if (!*slot || (*slot)->p.psn != psn)
			break;
		out[n] = &(*slot)->p;
		*slot = NULL;
	}
	return n;
}

void responder_release(const struct packet *const *p, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		drop((struct held *)(uintptr_t)p[i]);
}

void responder_release_all(struct qp *qp)
{
	struct hold *h = qp->resp.held;

	for (unsigned i = 0; h && i < HELD_MAX; i++)
		drop(h->slots[i]);
	free(h);
	qp->resp.held = NULL;
}

bool responder_has_held(const struct qp *qp)
{
	const struct responder *r = &qp->resp;

	return r->held && psn_diff(r->held->last, r->psn) >= 0;
}
