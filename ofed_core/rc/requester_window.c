/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * requester_window: how many packets may be under way, and for how long.
 *
 * Growth as in TCP's slow start up to a threshold, then by a sixteenth for
 * each windowful. Round trips are measured as in RFC 6298.
 */
#include "ofed_core/rc/requester.h"

#define PACKETS_FIRST  64
#define PACKETS_MAX    1024
#define PACKETS_RESEND 32  /* least, when all after a gap is sent again */
#define PACKETS_KEPT   256 /* the same when only what is missing is */
#define GROWTH         16
#define TIMEOUT_FIRST  (16 * NS_PER_MS)
#define TIMEOUT_MIN    (1 * NS_PER_MS)
#define TIMEOUT_MAX    (64 * NS_PER_MS)

void window_init(struct window *w)
{
	*w =
	    (struct window){.packets = PACKETS_FIRST, .threshold = PACKETS_MAX};
}

void window_open(struct window *w, uint32_t packets)
{
	if (packets > PACKETS_MAX)
		packets = PACKETS_MAX;
	if (w->packets < w->threshold) {
		w->packets += packets;
	} else {
		w->credit += packets;
		w->packets += w->credit / GROWTH;
		w->credit %= GROWTH;
	}
	if (w->packets > PACKETS_MAX)
		w->packets = PACKETS_MAX;
}

void window_narrow(struct window *w, uint32_t lost, uint32_t sent_end,
		   bool peer_keeps)
{
	uint32_t least = peer_keeps ? PACKETS_KEPT : PACKETS_RESEND;

	if (psn_diff(lost, w->narrowed) < 0)
		return;
	w->narrowed = sent_end;
	w->packets -= w->packets / (peer_keeps ? 4 : 2);
	if (w->packets < least)
		w->packets = least;
	w->threshold = w->packets;
	w->credit = 0;
}

void window_close(struct window *w)
{
	w->threshold = w->packets / 2;
	if (w->threshold < PACKETS_RESEND)
		w->threshold = PACKETS_RESEND;
	w->packets = 1;
	w->credit = 0;
}

void window_time(struct window *w, uint32_t psn, uint64_t now)
{
	if (w->timed_at)
		return;
	w->timed_psn = psn;
	w->timed_at = now;
}

void window_untime(struct window *w)
{
	w->timed_at = 0;
}

void window_answered(struct window *w, uint32_t una)
{
	uint64_t sample;
	uint64_t off;

	if (!w->timed_at || psn_diff(una, w->timed_psn) <= 0)
		return;
	sample = clock_ns() - w->timed_at;
	w->timed_at = 0;
	if (!w->rtt_ns) {
		w->rtt_ns = sample;
		w->rtt_var_ns = sample / 2;
		return;
	}
	off = sample > w->rtt_ns ? sample - w->rtt_ns : w->rtt_ns - sample;
	w->rtt_var_ns = w->rtt_var_ns - w->rtt_var_ns / 4 + off / 4;
	w->rtt_ns = w->rtt_ns - w->rtt_ns / 8 + sample / 8;
}

uint64_t window_timeout_ns(const struct window *w)
{
	uint64_t ns = w->rtt_ns + 4 * w->rtt_var_ns;

	if (!w->rtt_ns)
		return TIMEOUT_FIRST;
	if (ns < TIMEOUT_MIN)
		return TIMEOUT_MIN;
	return ns < TIMEOUT_MAX ? ns : TIMEOUT_MAX;
}
