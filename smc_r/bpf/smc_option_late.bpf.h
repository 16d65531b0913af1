/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_option_late: is a server prompt to accept? Part of smc_option.bpf.c, not
 * a header for others.
 *
 * The server's side of CLC begins when its process has accepted. The Linux
 * kernel's connect() on SMC-R fails when that takes more than 6 seconds, where
 * TCP would wait. So the SYN-ACK to another host has no option while a
 * connection that agreed has waited for too long; clients of this host knock
 * (knock.h), and are answered in time.
 *
 * Locking: counts change by atomic additions; they are hints that may be off
 *          when a listener closes.
 */
#ifndef SMC_R_SMC_OPTION_LATE_BPF_H
#define SMC_R_SMC_OPTION_LATE_BPF_H

#include "smc_r/bpf/smc_option_worth.bpf.h"

#define ACCEPTOR_LATE_MS 100

/* An address of the device is one of this host. */
static __always_inline bool is_remote(const struct handshake *h)
{
	const struct option_settings *s;
	__u32 key = 0;

	if (same_address(h->local, h->remote))
		return false;
	s = bpf_map_lookup_elem(&settings, &key);
	if (!s)
		return true;
	for (__u32 i = 0; i < OPTION_ADDRESSES_MAX; i++)
		if (i < s->address_count &&
		    same_address(s->addresses[i], h->remote))
			return false;
	return true;
}

static __always_inline bool acceptor_is_late(const struct option_listening *l,
					     const struct handshake *h)
{
	return l->waiting &&
	       now_ms() - l->waiting_since_ms > ACCEPTOR_LATE_MS &&
	       is_remote(h);
}

/* A connection that agreed is in the listener's queue. */
static __always_inline void wait_begins(struct mark *m,
					const struct handshake *h)
{
	struct option_listening *l;

	if (!is_remote(h))
		return;
	l = place_of_mark(m, h->netns);
	if (!l)
		return;
	m->waits = 1;
	if (__sync_fetch_and_add(&l->waiting, 1) == 0)
		l->waiting_since_ms = now_ms();
}

/* Its process has asked, or it is gone. */
static __always_inline void wait_ends(struct mark *m, __u64 netns)
{
	struct option_listening *l;

	if (!m->waits)
		return;
	m->waits = 0;
	l = place_of_mark(m, netns);
	if (!l)
		return;
	l->waiting_since_ms = now_ms();
	if (l->waiting)
		__sync_fetch_and_add(&l->waiting, -1);
}

#endif
