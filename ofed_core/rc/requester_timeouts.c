/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * requester_timeouts: how long a requester waits, and how often it tries again.
 */
#include "ofed_core/rc/requester.h"

#define RETRY_FOREVER 7 /* in rnr_retry; a plain number in retry_count */

uint64_t rnr_timer_ns(unsigned code)
{
	/* Units of 10 us; InfiniBand table 45. */
	static const uint32_t tens_of_us[32] = {
	    65536, 1,    2,    3,     4,     6,     8,     12,
	    16,    24,   32,   48,    64,    96,    128,   192,
	    256,   384,  512,  768,   1024,  1536,  2048,  3072,
	    4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return tens_of_us[code & 31] * 10 * NS_PER_US;
}

uint64_t ack_timeout_ns(unsigned code)
{
	return code & 31 ? UINT64_C(4096) << (code & 31) : 0;
}

/*
 * The timer is not moved with every packet: when it fires early it is set
 * again for the deadline that holds by then.
 */
static void set_timer(struct qp *qp)
{
	timer_set_earlier(&qp->timer, qp->req.deadline);
}

/*
 * The time-out of a program may be seconds. Packets are sent again earlier,
 * ever more slowly: first one, then all. Duplicates cost the peer little. Only
 * a whole time-out without progress counts as one of the retries.
 */
void requester_await_ack(struct qp *qp)
{
	struct requester *r = &qp->req;
	uint64_t ns = ack_timeout_ns(qp->attr.timeout);
	uint64_t now = clock_ns();

	if (!r->probe_ns)
		r->probe_ns = window_timeout_ns(&r->window);
	if (!r->quiet_since)
		r->quiet_since = now;
	r->wait = WAIT_ACK;
	window_time(&r->window, (r->send_psn - 1) & PSN_MASK, now);
	/* Without a time-out a lost packet is never sent again; but a peer
	 * in this core that becomes ready later is looked for. */
	if (!ns && !qp->is_local)
		return;
	if (!ns || ns > r->probe_ns)
		ns = r->probe_ns;
	r->deadline = now + ns;
	set_timer(qp);
}

void requester_await_rnr(struct qp *qp, unsigned timer_code)
{
	qp->req.wait = WAIT_RNR;
	qp->req.deadline = clock_ns() + rnr_timer_ns(timer_code);
	set_timer(qp);
}

void requester_progress(struct qp *qp)
{
	qp->req.wait = WAIT_NOTHING;
	qp->req.retries = 0;
	qp->req.rnr_retries = 0;
	qp->req.quiet_since = 0;
	qp->req.probe_ns = 0;
	qp->req.has_probed = false;
}

bool requester_may_retry(struct qp *qp)
{
	if (!qp->attr.timeout)
		return true;
	return qp->req.retries++ < qp->attr.retry_count;
}

bool requester_may_retry_rnr(struct qp *qp)
{
	if (qp->attr.rnr_retry == RETRY_FOREVER)
		return true;
	return qp->req.rnr_retries++ < qp->attr.rnr_retry;
}

/* True when the quiet time was no whole time-out yet, or may be repeated. */
static bool may_go_on(struct qp *qp, uint64_t now)
{
	struct requester *r = &qp->req;
	uint64_t ns = ack_timeout_ns(qp->attr.timeout);

	if (!ns)
		return true;
	if (r->probe_ns < ns)
		r->probe_ns *= 2;
	if (now - r->quiet_since < ns)
		return true;
	r->quiet_since = now;
	return requester_may_retry(qp);
}

void requester_timer(struct qp *qp)
{
	struct requester *r = &qp->req;
	enum requester_wait wait = r->wait;
	uint64_t now = clock_ns();

	if (wait == WAIT_NOTHING)
		return;
	if (now < r->deadline) {
		timer_set(&qp->timer, r->deadline);
		return;
	}
	r->wait = WAIT_NOTHING;
	if (wait == WAIT_RNR || r->tail == r->head)
		return;
	if (!may_go_on(qp, now)) {
		requester_fail(qp, WC_RETRY_EXC_ERR);
		return;
	}
	if (qp->is_local)
		return;
	window_untime(&r->window);
	/* Perhaps the answer is late, or only one packet was lost. */
	if (!r->has_probed && requester_resend(qp, r->una)) {
		r->has_probed = true;
		return;
	}
	r->went_back = false;
	window_close(&r->window);
	requester_go_back(qp, r->una);
}
