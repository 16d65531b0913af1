/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_option_worth: what ended at a place, and whether it offers SMC. Part of
 * smc_option.bpf.c, not a header for others.
 *
 * Every end of a connection on SMC-R is noted. Some of those on TCP stand for
 * the others, where there are many: to note one costs a storage, and a callback
 * for each change of its state.
 *
 * Locking: a word changes by compare-and-swap. What is said of a port is a hint
 *          that may be off.
 */
#ifndef SMC_R_SMC_OPTION_WORTH_BPF_H
#define SMC_R_SMC_OPTION_WORTH_BPF_H

#include "smc_r/bpf/smc_option_maps.bpf.h"

/* No hint is good for longer. */
#define HINT_MS  2000
#define US       1000ULL
#define PER_MS   1000000ULL
#define PAUSE_US 1000000ULL

static __always_inline __u32 now_ms(void)
{
	return (__u32)(bpf_ktime_get_ns() / PER_MS);
}

static __always_inline bool settings_learn(void)
{
	const struct option_settings *s;
	__u32 key = 0;

	s = bpf_map_lookup_elem(&settings, &key);
	return s && s->learns;
}

/* ---- The place of a listener --------------------------------------------- */

static __always_inline struct option_listening *
place_at(const struct option_place *place)
{
	struct option_listening *l = bpf_map_lookup_elem(&listeners, place);

	return l && l->count ? l : 0;
}

/* The marked listener that a connection to this address may be given to: one
 * that is bound to the address, or to every address; "::" takes IPv4 as well.
 */
static __always_inline struct option_listening *
place_find(const struct option_place *to)
{
	bool four = to->address[0] == 0 && to->address[1] == 0 &&
		    to->address[2] == bpf_htonl(0xffff);
	struct option_place place = *to;
	struct option_listening *l = place_at(&place);

	if (l)
		return l;
	__builtin_memset(place.address, 0, sizeof(place.address));
	l = place_at(&place);
	if (l || !four)
		return l;
	place.address[2] = bpf_htonl(0xffff); /* 0.0.0.0 */
	return place_at(&place);
}

/* ... of a server's socket. */
static __always_inline struct option_listening *
place_of_mark(const struct mark *m, __u64 netns)
{
	struct option_place place = {.netns = netns, .port = m->port};

	__builtin_memcpy(place.address, m->local, sizeof(place.address));
	return place_find(&place);
}

/* Servers were told that it stays so for a while. */
static __always_inline bool place_is_left(const struct option_listening *l)
{
	__u32 until = *(const volatile __u32 *)&l->left_until_ms;

	return until && until - now_ms() - 1 <= OPTION_LEFT_MS;
}

static __always_inline bool place_is_on_tcp(const struct option_listening *l)
{
	__u64 word = l->worth.word;

	return ((word & WORTH_TCP) &&
		worth_tcp_us(word, bpf_ktime_get_ns() / US)) ||
	       place_is_left(l);
}

/*
 * OPTION_LEFT_*, or 0. A SYN-ACK promises first, and looks then whether the
 * place is left; here it is the other way round, so that one of the two sees
 * the other.
 */
static __always_inline __u16 place_leave(const struct option_place *to)
{
	struct port *p = bpf_map_lookup_elem(&ports, &to->port);
	struct option_listening *one = place_at(to);
	struct option_listening *l = one ? one : place_find(to);
	__u32 before;

	if (!l || !p || !place_is_on_tcp(l))
		return 0;
	before = *(volatile __u32 *)&l->left_until_ms;
	if (__sync_val_compare_and_swap(&l->left_until_ms, before,
					(now_ms() + OPTION_LEFT_MS) | 1) !=
		before ||
	    (__u32) * (volatile __u64 *)&p->promises)
		return 0;
	return OPTION_LEFT_FOR | (one ? OPTION_LEFT_ONE : 0);
}

/* ---- Hints by port ------------------------------------------------------- */

/* Some place with the port is on TCP for so long. */
static __always_inline void port_hint(__u32 port, __u64 tcp_us)
{
	struct port *p = bpf_map_lookup_elem(&ports, &port);

	if (p && tcp_us)
		p->tcp_until_ms = now_ms() + (__u32)(tcp_us / US) + 1;
}

static __always_inline bool port_may_be_on_tcp(__u32 port)
{
	const struct port *p = bpf_map_lookup_elem(&ports, &port);

	return p && p->tcp_until_ms && p->tcp_until_ms - now_ms() <= HINT_MS;
}

/* Does a marked listener there offer no SMC now? */
static __always_inline bool place_refuses(const struct option_place *to)
{
	const struct option_listening *l;

	if (!port_may_be_on_tcp(to->port))
		return false;
	l = place_find(to);
	return l && place_is_on_tcp(l);
}

static __always_inline void place_pause(const struct option_place *place)
{
	struct option_listening *l = bpf_map_lookup_elem(&listeners, place);
	__u64 word, now = bpf_ktime_get_ns() / US;

	if (!l)
		return;
	word = l->worth.word;
	__sync_val_compare_and_swap(&l->worth.word, word,
				    worth_paused(word, PAUSE_US, now));
	port_hint(place->port, PAUSE_US);
}

/* ---- Ends ---------------------------------------------------------------- */

static __always_inline void note_ends(const struct mark *m, __u64 netns,
				      struct worth_ends *e)
{
	__u64 now = bpf_ktime_get_ns() / US;
	struct option_listening *l = place_of_mark(m, netns);

	if (!l)
		return;
	e->life_us = now - m->since_us;
	worth_note(&l->worth, e, now);
	port_hint(m->port, worth_tcp_us(l->worth.word, now));
}

static __always_inline __u32 this_process(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

/* A connection on SMC-R, when the last process that has it closes it. */
static __always_inline void note_smc(const struct mark *m, __u64 netns)
{
	struct worth_ends e = {.bytes = m->bytes,
			       .requests = m->requests,
			       .count = 1,
			       .began = m->knock.token ? WORTH_BY_KNOCK
						       : WORTH_BY_CLC};

	if (m->acceptor && m->acceptor != this_process())
		e.began = WORTH_FOR_ANOTHER;

	if (settings_learn())
		note_ends(m, netns, &e);
}

/* True: the connection, which is on TCP, is to tell of its end. */
static __always_inline bool watch(struct bpf_sock_ops *ops, struct port *p)
{
	struct bpf_sock *sk = ops->sk;
	__u32 count, local[4];
	struct mark *m;

	if (!sk || !settings_learn())
		return false;
	count = worth_stands_for(&p->notes, now_ms());
	if (!count)
		return false;
	address_of(local, ops->family, ops->local_ip4, ops->local_ip6);
	if (!settings_match(local, ops->local_port))
		return false;
	m = bpf_sk_storage_get(&marks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!m)
		return false;
	m->watched = count;
	m->since_us = bpf_ktime_get_ns() / US;
	m->port = ops->local_port;
	__builtin_memcpy(m->local, local, sizeof(m->local));
	return true;
}

static __always_inline void note_tcp(struct bpf_sock_ops *ops, struct mark *m)
{
	struct worth_ends e = {.bytes = ops->bytes_received + ops->bytes_acked,
			       .requests = ops->data_segs_in,
			       .count = m->watched,
			       .began = WORTH_ON_TCP};

	m->watched = 0;
	note_ends(m, bpf_get_netns_cookie(ops), &e);
}

#endif
