/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sim: RNICs. Chains arrive in the order of their queue pair, late, and their
 * bytes are read when they arrive and once more when they complete, as a
 * retransmission would. Completions come later still, several at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define QPS        256
#define REGIONS    512
#define DONE_MAX   1024
#define RETRIES    7
#define TIMEOUT_NS (67 * SIM_MS)
#define RNR_NS     (120 * SIM_US)
#define FIRST_QPN  17u
#define FIRST_KEY  0x1000u

struct device {
	bool open;
	struct sim_host *host;
	union ibv_gid gid;
	struct rc_done done[DONE_MAX];
	unsigned first, count;
};

struct chain {
	struct rc_write write[RC_LINK_WRITES];
	unsigned writes;
	uint8_t message[RC_LINK_MESSAGE];
	uint32_t bytes, slot;
	uint64_t sum;
};

enum state {
	INIT,
	READY,
	ERROR,
	CLOSED
};

struct qp {
	enum state state;
	struct device *device;
	uint32_t qpn, psn;
	struct rc_link_name peer;
	struct chain chain[RC_LINK_SLOTS];
	unsigned first, count; /* chains that have not completed */
	unsigned arrived;      /* of these, so many are there */
	bool delivering;
	bool told; /* the service knows that it is dead */
	unsigned tries;
	uint64_t posts, dies_at;
	bool dies_at_once;
	uint32_t free_receives[2];
	uint8_t receive[RC_LINK_RECEIVES][RC_LINK_MESSAGE];
};

struct mr {
	bool live, remote;
	struct qp *qp;
	uint8_t *at;
	size_t bytes;
};

static struct device devices[SIM_DEVICES];
static struct qp qps[QPS];
static struct mr mrs[REGIONS];
static unsigned qp_count, mr_count;

void sim_verbs_begin(void)
{
	memset(devices, 0, sizeof(devices));
	memset(qps, 0, sizeof(qps[0]) * qp_count);
	memset(mrs, 0, sizeof(mrs));
	qp_count = mr_count = 0;
}

static struct qp *qp_of(const struct rc_link *l)
{
	return (struct qp *)(void *)l->qp;
}

static struct device *device_of(const struct rc_device *d)
{
	return (struct device *)(void *)d->context;
}

static struct mr *mr_of(uint32_t key)
{
	uint32_t i = key - FIRST_KEY;

	return i < mr_count && mrs[i].live ? &mrs[i] : NULL;
}

/* ---- devices ---- */

int rc_device_find(const struct in6_addr *local, int roce_version,
		   union ibv_gid *gid)
{
	for (int i = 0; i < SIM_HOSTS; i++) {
		struct sim_host *h = &sim.host[i];

		if (memcmp(&h->address, local, sizeof(*local)) != 0)
			continue;
		if (!(roce_version == 1 ? h->has_v1 : h->has_v2) ||
		    sim_fails("rc_device_find"))
			return -ENODEV;
		memcpy(gid, local, sizeof(*gid));
		if (roce_version == 1) {
			memset(gid, 0, sizeof(*gid));
			gid->raw[0] = 0xfe;
			gid->raw[1] = 0x80;
			gid->raw[15] = (uint8_t)(i + 1);
		}
		return 0;
	}
	return -ENODEV;
}

int rc_device_open(struct rc_device *d, const union ibv_gid *gid)
{
	memset(d, 0, sizeof(*d));
	if (sim_fails("rc_device_open"))
		return -ENODEV;
	for (int i = 0; i < SIM_DEVICES; i++) {
		struct device *one = &devices[i];

		if (one->open)
			continue;
		memset(one, 0, sizeof(*one));
		one->open = true;
		one->host = &sim.host[gid->raw[15] - 1];
		one->gid = *gid;
		d->context = (void *)one;
		d->gid = *gid;
		d->port = 1;
		d->mtu = IBV_MTU_1024;
		d->mac[5] = gid->raw[15];
		return 0;
	}
	return -ENODEV;
}

void rc_device_close(struct rc_device *d)
{
	if (d->context)
		device_of(d)->open = false;
	memset(d, 0, sizeof(*d));
}

int rc_device_arm(struct rc_device *d, bool solicited_only)
{
	(void)d;
	(void)solicited_only;
	return 0;
}

int rc_device_heard(struct rc_device *d)
{
	(void)d;
	return 0;
}

/* ---- completions ---- */

static void push(struct qp *q, struct rc_done done)
{
	struct device *d = q->device;
	struct sim_host *h = d->host;

	if (d->count == DONE_MAX)
		sim_fail("a completion queue of host %d overflows", h->index);
	done.qpn = q->qpn;
	d->done[(d->first + d->count++) % DONE_MAX] = done;
	if (h->poll_due)
		return;
	h->poll_due = true;
	sim_at(SIM_US + sim_random(sim_chance(5) ? 5 * SIM_MS : 60 * SIM_US),
	       SIM_POLL, h, h->lives);
}

bool sim_verbs_has_completions(const struct sim_host *h)
{
	for (int i = 0; i < SIM_DEVICES; i++)
		if (devices[i].open && devices[i].host == h && devices[i].count)
			return true;
	return false;
}

int rc_device_poll(struct rc_device *d, struct rc_done *out, int most)
{
	struct device *one = device_of(d);
	int n = 0;

	if (sim_fails("rc_device_poll"))
		return -EIO;
	while (n < most && one->count > 0) {
		out[n++] = one->done[one->first];
		one->first = (one->first + 1) % DONE_MAX;
		one->count--;
	}
	return n;
}

/* What is on its way is flushed, and so are the receives. */
static void break_pair(struct qp *q, enum ibv_wc_status status)
{
	if (q->state == ERROR || q->state == CLOSED)
		return;
	sim_trace("queue pair %u of host %d dies: %s", q->qpn,
		  q->device->host->index, ibv_wc_status_str(status));
	q->state = ERROR;
	sim.any_fault = true;
	for (unsigned i = 0; i < q->count + 4; i++) {
		push(q, (struct rc_done){RC_DONE_FAILED, .status = status});
		status = IBV_WC_WR_FLUSH_ERR;
	}
	q->count = q->arrived = 0;
}

int rc_link_done(struct rc_link *l, const struct rc_done *done, uint64_t *tag,
		 void *out)
{
	struct qp *q = qp_of(l);
	uint32_t i = (uint32_t)done->id;

	switch (done->what) {
	case RC_DONE_SENT:
		l->free_slots |= 1u << i;
		*tag = l->tag[i];
		return 0;
	case RC_DONE_RECEIVED:
		memcpy(out, q->receive[i], done->bytes);
		q->free_receives[i / 32] |= 1u << i % 32;
		if (sim_fails("ibv_post_recv")) {
			q->told = true;
			return -EIO;
		}
		return 0;
	case RC_DONE_FAILED:
		break;
	}
	q->told = true;
	return -EIO;
}

/* ---- links ---- */

int rc_link_open(struct rc_link *l, struct rc_device *d, uint32_t psn)
{
	struct qp *q = &qps[qp_count];

	memset(l, 0, sizeof(*l));
	if (sim_fails("rc_link_open"))
		return -ENOMEM;
	if (qp_count == QPS)
		sim_fail("too many queue pairs");
	memset(q, 0, sizeof(*q));
	q->device = device_of(d);
	q->qpn = FIRST_QPN + qp_count++;
	q->psn = psn;
	memset(q->free_receives, 0xff, sizeof(q->free_receives));
	if (sim.link_faults && sim_chance(40)) {
		q->dies_at = 1 + sim_random(sim_chance(50) ? 8 : 200);
		q->dies_at_once = sim_chance(50);
	}
	l->device = d;
	l->qp = (void *)q;
	l->psn = psn;
	l->free_slots = (1u << RC_LINK_SLOTS) - 1;
	sim_trace("host %d opens queue pair %u", q->device->host->index,
		  q->qpn);
	return 0;
}

void rc_link_close(struct rc_link *l)
{
	struct qp *q = qp_of(l);
	struct device *d;
	unsigned kept = 0;

	if (!q)
		return;
	d = q->device;
	for (unsigned i = 0; i < d->count; i++) {
		struct rc_done *from = &d->done[(d->first + i) % DONE_MAX];

		if (from->qpn != q->qpn)
			d->done[(d->first + kept++) % DONE_MAX] = *from;
	}
	d->count = kept;
	for (unsigned i = 0; i < mr_count; i++)
		if (mrs[i].live && mrs[i].qp == q)
			sim_fail("queue pair %u has regions at its end",
				 q->qpn);
	sim_trace("host %d closes queue pair %u", d->host->index, q->qpn);
	q->state = CLOSED;
	q->count = 0;
	memset(l, 0, sizeof(*l));
}

struct rc_link_name rc_link_name(const struct rc_link *l)
{
	return (struct rc_link_name){.gid = l->device->gid,
				     .qpn = qp_of(l)->qpn,
				     .psn = l->psn,
				     .mtu = l->device->mtu};
}

int rc_link_connect(struct rc_link *l, const struct rc_link_name *peer)
{
	struct qp *q = qp_of(l);

	if (sim_fails("rc_link_connect"))
		return -EINVAL;
	if (q->state != INIT)
		sim_fail("queue pair %u is connected twice", q->qpn);
	q->peer = *peer;
	q->state = READY;
	return 0;
}

/* ---- regions ---- */

int rc_region_make(struct rc_region *r, struct rc_link *l, void *at,
		   size_t bytes, bool remote)
{
	struct mr *m = &mrs[mr_count];

	if (sim_fails("rc_region_make"))
		return -ENOMEM;
	if (mr_count == REGIONS)
		sim_fail("too many regions");
	*m = (struct mr){true, remote, qp_of(l), at, bytes};
	r->mr = (void *)m;
	r->lkey = FIRST_KEY + mr_count++;
	r->rkey = remote ? r->lkey : 0;
	r->address = (uintptr_t)at;
	return 0;
}

void rc_region_drop(struct rc_region *r)
{
	struct mr *m = (void *)r->mr;

	if (m && !m->live)
		sim_fail("a region is dropped twice");
	if (m)
		m->live = false;
	memset(r, 0, sizeof(*r));
}

bool sim_verbs_reaches(const void *at, size_t bytes)
{
	const uint8_t *from = at;

	for (unsigned i = 0; i < mr_count; i++)
		if (mrs[i].live && mrs[i].at < from + bytes &&
		    from < mrs[i].at + mrs[i].bytes)
			return true;
	return false;
}

/* ---- chains ---- */

int rc_link_post(struct rc_link *l, const struct rc_write *writes,
		 unsigned count, const void *message, uint32_t bytes,
		 uint64_t tag)
{
	struct qp *q = qp_of(l);
	uint32_t slot = (uint32_t)__builtin_ctz(l->free_slots | 0x80000000u);
	struct chain *c;

	if (l->free_slots == 0)
		return -EAGAIN;
	if (q->told)
		sim_fail("a post on queue pair %u, which is dead", q->qpn);
	if (q->state == INIT)
		sim_fail("a post on queue pair %u, which is not connected",
			 q->qpn);
	if (sim_fails("rc_link_post") ||
	    (++q->posts == q->dies_at && q->dies_at_once)) {
		break_pair(q, IBV_WC_WR_FLUSH_ERR);
		q->told = true;
		return -EIO;
	}
	if (q->posts == q->dies_at)
		break_pair(q, IBV_WC_RETRY_EXC_ERR);
	l->free_slots &= ~(1u << slot);
	l->tag[slot] = tag;
	if (q->state == ERROR) {
		push(q, (struct rc_done){RC_DONE_FAILED,
					 .status = IBV_WC_WR_FLUSH_ERR});
		return 0;
	}
	c = &q->chain[(q->first + q->count++) % RC_LINK_SLOTS];
	memcpy(c->write, writes, sizeof(*writes) * count);
	c->writes = count;
	memcpy(c->message, message, bytes);
	c->bytes = bytes;
	c->slot = slot;
	if (!q->delivering)
		sim_at(2 * SIM_US + sim_random(20 * SIM_US), SIM_DELIVER, q, 0);
	q->delivering = true;
	return 0;
}

static struct qp *peer_of(const struct qp *q)
{
	uint32_t i = q->peer.qpn - FIRST_QPN;

	if (i >= qp_count ||
	    memcmp(&qps[i].device->gid, &q->peer.gid, sizeof(q->peer.gid)) != 0)
		return NULL;
	return &qps[i];
}

/* Gathers it, out of memory that must be registered. */
static uint64_t gather(const struct qp *q, const struct rc_write *w,
		       uint8_t *out)
{
	const struct mr *m = mr_of(w->lkey);
	uint64_t sum = 14695981039346656037ull;

	if (!m || m->qp != q)
		sim_fail("queue pair %u sends out of a region that is gone",
			 q->qpn);
	for (unsigned i = 0; i < w->pieces; i++) {
		const uint8_t *at = w->piece[i].at;
		uint32_t n = w->piece[i].bytes;

		if (at < m->at || at + n > m->at + m->bytes)
			sim_fail("queue pair %u sends from outside its region",
				 q->qpn);
		if (out)
			memcpy(out, at, n);
		out = out ? out + n : NULL;
		for (uint32_t k = 0; k < n; k++)
			sum = (sum ^ at[k]) * 1099511628211ull;
	}
	return sum;
}

static uint64_t write_all(const struct qp *q, struct qp *to, struct chain *c,
			  bool store)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->writes; i++) {
		const struct rc_write *w = &c->write[i];
		const struct mr *m = mr_of(w->rkey);
		uint64_t n = 0;

		for (unsigned k = 0; k < w->pieces; k++)
			n += w->piece[k].bytes;
		if (!store) {
			sum = sum * 31 + gather(q, w, NULL);
			continue;
		}
		if (!m || !m->remote || m->qp != to)
			sim_fail("queue pair %u writes by a key of a region "
				 "that is gone",
				 q->qpn);
		if (w->remote < (uintptr_t)m->at ||
		    w->remote + n > (uintptr_t)m->at + m->bytes)
			sim_fail("queue pair %u writes outside the RMBE",
				 q->qpn);
		sum = sum * 31 + gather(q, w, (uint8_t *)(uintptr_t)w->remote);
	}
	return sum;
}

static bool receive(struct qp *to, const struct chain *c)
{
	for (unsigned i = 0; i < RC_LINK_RECEIVES; i++) {
		if (!(to->free_receives[i / 32] >> i % 32 & 1))
			continue;
		to->free_receives[i / 32] &= ~(1u << i % 32);
		memcpy(to->receive[i], c->message, c->bytes);
		push(to, (struct rc_done){RC_DONE_RECEIVED, .id = i,
					  .bytes = c->bytes});
		return true;
	}
	return false;
}

static void again(struct qp *q, uint64_t delay)
{
	q->delivering = true;
	sim_at(delay, SIM_DELIVER, q, 0);
}

void sim_verbs_deliver(void *of)
{
	struct qp *q = of, *to = peer_of(q);
	struct chain *c = &q->chain[(q->first + q->arrived) % RC_LINK_SLOTS];

	q->delivering = false;
	if (q->state != READY || q->arrived == q->count)
		return;
	if (!to || to->state != READY) {
		if (++q->tries <= RETRIES)
			again(q, TIMEOUT_NS);
		else
			break_pair(q, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	q->tries = 0;
	if (sim_chance(1) || !(to->free_receives[0] | to->free_receives[1])) {
		again(q, RNR_NS);
		return;
	}
	c->sum = write_all(q, to, c, true);
	receive(to, c);
	sim_trace("queue pair %u: a chain of %u WRITEs, type %#x, arrives",
		  q->qpn, c->writes, c->message[0]);
	q->arrived++;
	/* One event acknowledges what has come by then. */
	if (q->arrived == 1)
		sim_at(2 * SIM_US +
			   sim_random(sim_chance(5) ? 3 * SIM_MS : 30 * SIM_US),
		       SIM_ACK, q, 0);
	if (q->arrived < q->count)
		again(q, SIM_US + sim_random(10 * SIM_US));
}

void sim_verbs_ack(void *of, uint64_t n)
{
	struct qp *q = of;

	(void)n;
	while (q->state == READY && q->arrived > 0) {
		struct chain *c = &q->chain[q->first];

		if (write_all(q, NULL, c, false) != c->sum)
			sim_fail("bytes of queue pair %u changed before they "
				 "were known to be there",
				 q->qpn);
		q->first = (q->first + 1) % RC_LINK_SLOTS;
		q->arrived--;
		q->count--;
		push(q, (struct rc_done){RC_DONE_SENT, .id = c->slot});
	}
}

void sim_verbs_end(void)
{
	for (int i = 0; i < SIM_DEVICES; i++)
		if (devices[i].open)
			sim_fail("a device is open at the end");
	for (unsigned i = 0; i < qp_count; i++)
		if (qps[i].state != CLOSED)
			sim_fail("queue pair %u is left at the end",
				 qps[i].qpn);
	for (unsigned i = 0; i < mr_count; i++)
		if (mrs[i].live)
			sim_fail("a region is left at the end");
}
