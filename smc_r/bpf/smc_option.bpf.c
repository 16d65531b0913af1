/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_option: the kernel's side of the TCP option that announces SMC.
 *
 * Four programs on the cgroup root share the maps below. Two answer the
 * private socket option of option.h, by which a process marks its sockets and
 * asks what came of it; the third writes the option into SYN and SYN-ACK of
 * marked sockets, and reads it; the fourth sees the end of those that nobody
 * asked about.
 *
 * A connection that nobody marked costs one look at its empty storage when it
 * is made. The callbacks for header options are asked for marked sockets alone
 * and given back once the connection is established, so its packets cost
 * nothing.
 *
 * The answer to a SYN is decided on the request, from where the listener cannot
 * be reached. The flag that brings us there is the listener's, but somebody
 * else may have set it; so marked listeners stand in a map by their address and
 * port. And what was decided then must be known when the connection is
 * established, whatever the settings are by that time; so SYN-ACKs that carried
 * the option stand in a map by their connection.
 *
 * Runs on Linux 6.1 and later. Marking a socket that listens already needs
 * TCP_BPF_SOCK_OPS_CB_FLAGS, which came with 6.12.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "smc_r/bpf/smc_option_accounts.bpf.h"
#include "smc_r/bpf/smc_option_late.bpf.h"
#include "smc_r/bpf/smc_option_maps.bpf.h"
#include "smc_r/bpf/smc_option_worth.bpf.h"
#include "smc_r/os/option.h"

char licence[] SEC("license") = "Dual BSD/GPL";

#define STREAM           1 /* SOCK_STREAM */
#define PROTOCOL_TCP     6
#define LEVEL_TCP        6
#define TCP_FLAG_BIT_SYN 0x02
#define TCP_FLAG_BIT_ACK 0x10
#ifndef TCP_BPF_SOCK_OPS_CB_FLAGS
#define TCP_BPF_SOCK_OPS_CB_FLAGS 1008
#endif

/* Bytes of an option's value that every kernel passes through its buffer. */
#define SOCKOPT_BUFFER   4096
/* A SYN that was not answered twice goes out without the option. */
#define SYNS_WITH_OPTION 2
/* What a marked listener has set, and its connections inherit. */
#define LISTENER_FLAGS                                                         \
	(BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG)

/* Set before loading. */
const volatile __u32 instance SEC(".rodata.instance") = 0;

/* ---- The option --------------------------------------------------------- */

struct tcp_option {
	__u8 kind;
	__u8 length;
	__u32 magic;
} __attribute__((packed));

#define SMC_OPTION                                                             \
	{                                                                      \
		.kind = OPTION_KIND, .length = OPTION_LENGTH,                  \
		.magic = bpf_htonl(OPTION_MAGIC)                               \
	}

/*
 * 1, 0, or -ENOENT when there is no packet to look at. A longer option of even
 * length counts too, as it does for the kernel's SMC.
 */
static __always_inline int option_find(struct bpf_sock_ops *ops, __u64 flags)
{
	struct tcp_option option = SMC_OPTION;
	long n = bpf_load_hdr_opt(ops, &option, sizeof(option), flags);

	if (n == -ENOENT)
		return -ENOENT;
	return (n > 0 || n == -ENOSPC) && option.length % 2 == 0;
}

static __always_inline bool option_store(struct bpf_sock_ops *ops)
{
	struct tcp_option option = SMC_OPTION;
	long error = bpf_store_hdr_opt(ops, &option, sizeof(option), 0);

	/* It is there when another instance has written it. */
	return error == 0 || error == -EEXIST;
}

static __always_inline struct mark *mark_of(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;

	return sk ? bpf_sk_storage_get(&marks, sk, 0, 0) : 0;
}

static __always_inline void flags_add(struct bpf_sock_ops *ops, struct mark *m,
				      __u32 flags)
{
	__u32 now = ops->bpf_sock_ops_cb_flags;

	m->flags |= flags & ~now;
	bpf_sock_ops_cb_flags_set(ops, now | flags);
}

/* Takes back what we set, and leaves what was there before us. */
static __always_inline void flags_restore(struct bpf_sock_ops *ops,
					  struct mark *m)
{
	if (!m->flags)
		return;
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags & ~m->flags);
	m->flags = 0;
}

/* ---- Client ------------------------------------------------------------- */

/* Before the SYN; the local address is known. */
static __always_inline void on_connect(struct bpf_sock_ops *ops)
{
	struct mark *m = mark_of(ops);
	__u32 local[4];

	if (!m)
		return;
	/* A socket whose connect() failed may try again. */
	m->state &= OFFER_WANT;
	m->syns = 0;
	address_of(local, ops->family, ops->local_ip4, ops->local_ip6);
	m->offers = (m->state & OFFER_WANT) &&
		    settings_match(local, bpf_ntohl(ops->remote_port));
	if (m->offers)
		flags_add(ops, m, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	else
		flags_restore(ops, m);
}

static __always_inline void on_syn(struct bpf_sock_ops *ops, bool write)
{
	struct mark *m = mark_of(ops);

	if (!m || !m->offers || m->syns >= SYNS_WITH_OPTION)
		return;
	if (!write) {
		bpf_reserve_hdr_opt(ops, OPTION_LENGTH, 0);
	} else if (option_store(ops)) {
		m->syns++;
		m->state |= OFFER_SENT;
	}
}

/* The port is gone from a socket that was reset. What is known of an earlier
 * connection is no news of this one, which nobody can have accepted yet. */
static __always_inline void on_agreed(struct bpf_sock_ops *ops, struct mark *m)
{
	struct handshake h = {.netns = bpf_get_netns_cookie(ops),
			      .local_port = bpf_ntohl(ops->remote_port),
			      .remote_port = ops->local_port};

	address_of(h.remote, ops->family, ops->local_ip4, ops->local_ip6);
	address_of(h.local, ops->family, ops->remote_ip4, ops->remote_ip6);
	m->state |= OFFER_AGREED;
	m->port = h.remote_port;
	m->serves = 0;
	/* There is hardly ever one, and to look is cheaper than to remove. */
	if (bpf_map_lookup_elem(&accepted, &h))
		bpf_map_delete_elem(&accepted, &h);
	if (!m->knock.token)
		return;
	h.remote_port = bpf_htonl(h.remote_port);
	handshake_knock(&h, &m->knock);
}

/* The packet at hand is the SYN-ACK. */
static __always_inline void on_connected(struct bpf_sock_ops *ops)
{
	struct mark *m = mark_of(ops);

	if (!m)
		return;
	if ((m->state & OFFER_SENT) && option_find(ops, 0) > 0)
		on_agreed(ops, m);
	m->offers = 0;
	flags_restore(ops, m);
}

/* ---- Server ------------------------------------------------------------- */

static __always_inline void place_of(struct option_place *place,
				     struct bpf_sock_ops *ops)
{
	place->netns = bpf_get_netns_cookie(ops);
	address_of(place->address, ops->family, ops->local_ip4, ops->local_ip6);
	place->port = ops->local_port;
	place->pad = 0;
}

static __always_inline void note_others(__u32 now, const struct mark *m)
{
	__u32 others = now & LISTENER_FLAGS & ~m->flags;

	if (others & ~flags_of_others)
		__sync_fetch_and_or(&flags_of_others, others);
}

static __always_inline void on_listen(struct bpf_sock_ops *ops)
{
	struct mark *m = mark_of(ops);
	struct option_place place;

	if (!m || !(m->state & OFFER_WANT))
		return;
	place_of(&place, ops);
	if (!m->listed)
		m->listed = place_add(&place, m);
	if (!m->listed)
		return;
	note_others(ops->bpf_sock_ops_cb_flags, m);
	flags_add(ops, m, LISTENER_FLAGS);
}

static __always_inline void on_state(struct bpf_sock_ops *ops)
{
	struct mark *m;
	struct option_place place;

	if (ops->args[0] != BPF_TCP_LISTEN && ops->args[1] != BPF_TCP_CLOSE)
		return;
	m = mark_of(ops);
	if (m && m->watched)
		note_tcp(ops, m);
	if (!m || !m->listed || ops->args[0] != BPF_TCP_LISTEN)
		return;
	m->listed = 0;
	place_of(&place, ops);
	place_remove(&place, m, true);
}

/* Is there a marked listener that may have been given this SYN? A SYN-ACK that
 * is sent again says what it said before. */
static __always_inline bool is_marked_listener(const struct handshake *h)
{
	struct option_place to = {.netns = h->netns, .port = h->local_port};
	const struct option_listening *l;

	__builtin_memcpy(to.address, h->local, sizeof(to.address));
	l = place_find(&to);
	return l && ((!place_is_on_tcp(l) && !acceptor_is_late(l, h)) ||
		     handshake_is_known(h));
}

/* Were servers told that nothing is agreed at this place? */
static __always_inline bool place_left(const struct handshake *h)
{
	struct option_place to = {.netns = h->netns, .port = h->local_port};
	const struct option_listening *l;

	__builtin_memcpy(to.address, h->local, sizeof(to.address));
	l = place_find(&to);
	return l && place_is_left(l);
}

/* Did the SYN carry the option? Negative: it was not kept. */
static __always_inline int syn_offers(struct bpf_sock_ops *ops)
{
	/* A cookie remembers no option. */
	if (ops->args[0] == BPF_WRITE_HDR_TCP_SYNACK_COOKIE)
		return 0;
	return option_find(ops, BPF_LOAD_HDR_OPT_TCP_SYN);
}

/* Does the SYN-ACK? One that is sent again, when the SYN was not kept, as it
 * was before. */
static __always_inline bool synack_offers(const struct handshake *h, int syn)
{
	if (syn < 0)
		return handshake_is_known(h);
	return syn && settings_match(h->local, h->local_port) &&
	       is_marked_listener(h);
}

static __always_inline void on_synack(struct bpf_sock_ops *ops, bool write)
{
	struct handshake h;
	bool known;
	int syn;

	if (!listening)
		return;
	syn = syn_offers(ops);
	/* Most clients of most servers. */
	if (syn <= 0 && !handshakes_made)
		return;
	handshake_of(&h, ops);
	if (!synack_offers(&h, syn)) {
		handshake_drop(&h); /* of an earlier SYN */
		return;
	}
	if (!write) {
		bpf_reserve_hdr_opt(ops, OPTION_LENGTH, 0);
		return;
	}
	known = handshake_is_known(&h);
	/* The place may have been left before this was promised. */
	if (handshake_put(&h) &&
	    ((!known && place_left(&h)) || !option_store(ops)))
		handshake_drop(&h);
}

/* It was given by a marked listener, and has the listener's flags. */
static __always_inline void give_back(struct bpf_sock_ops *ops, bool agreed)
{
	__u32 flags = ops->bpf_sock_ops_cb_flags, port = ops->local_port;
	__u32 kept = flags & (~LISTENER_FLAGS | flags_of_others);
	struct port *p;

	if (kept == flags)
		return;
	p = bpf_map_lookup_elem(&ports, &port);
	if (!p || !(p->count & PORT_MARKED))
		return;
	if (!agreed && watch(ops, p))
		kept |= BPF_SOCK_OPS_STATE_CB_FLAG;
	bpf_sock_ops_cb_flags_set(ops, kept);
}

/* The SYN-ACK of this one had the option. */
static __always_inline bool mark_agreed(struct bpf_sock_ops *ops,
					const struct handshake *h,
					const struct answer *answer)
{
	struct bpf_sock *sk = ops->sk;
	struct mark *m =
	    sk && answer_is_fresh(answer)
		? bpf_sk_storage_get(&marks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE)
		: 0;

	if (!m)
		return false;
	m->serves = 1;
	m->met = 0;
	m->promised = 1;
	m->epoch = answer->epoch;
	m->port = h->local_port;
	__builtin_memcpy(m->local, h->local, sizeof(m->local));
	m->state = OFFER_WANT | OFFER_SENT | OFFER_AGREED;
	m->knock = answer->knock;
	m->since_us = bpf_ktime_get_ns() / US;
	wait_begins(m, h);
	return true;
}

/* Most have agreed to nothing, and need no mark. */
static __always_inline void on_accepted(struct bpf_sock_ops *ops)
{
	struct answer answer = {.sent = 0};
	struct handshake h;
	bool agreed = false;

	if (handshakes_made) {
		handshake_of(&h, ops);
		if (handshake_take(&h, &answer)) {
			agreed = mark_agreed(ops, &h, &answer);
			if (!agreed)
				promise_end(h.local_port, answer.epoch);
		}
	}
	give_back(ops, agreed);
}

/* A SYN goes out, with or without ACK; other packets are none of ours. */
static __always_inline void on_header(struct bpf_sock_ops *ops, bool write)
{
	__u32 flags = ops->skb_tcp_flags;

	if (!(flags & TCP_FLAG_BIT_SYN))
		return;
	if (!(flags & TCP_FLAG_BIT_ACK))
		on_syn(ops, write);
	else if (!ops->is_fullsock)
		on_synack(ops, write);
}

SEC("sockops")
int smc_option(struct bpf_sock_ops *ops)
{
	__u32 family = ops->family;

	if (family != INET && family != INET6)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		on_connect(ops);
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		on_listen(ops);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		on_state(ops);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		on_header(ops, false);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		on_header(ops, true);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		on_connected(ops);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		on_accepted(ops);
		break;
	default:
		break;
	}
	return 1;
}

/* ---- The private socket option ------------------------------------------ */

static __always_inline bool is_asked(struct bpf_sockopt *ctx)
{
	return ctx->level == OPTION_LEVEL && ctx->optname == (__s32)instance;
}

static __always_inline bool is_ours(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return is_asked(ctx) && sk &&
	       (sk->family == INET || sk->family == INET6) &&
	       sk->type == STREAM && sk->protocol == PROTOCOL_TCP;
}

/*
 * What is longer than the buffer would be refused, or cut, after us: 0 says
 * that the kernel's own data counts.
 */
static __always_inline int leave_alone(struct bpf_sockopt *ctx)
{
	if (ctx->optlen > SOCKOPT_BUFFER)
		write_field(ctx->optlen, 0);
	return 1;
}

/*
 * Brings the callbacks to a socket that listens already. 0, or -EOPNOTSUPP on a
 * kernel without this way.
 */
static __always_inline int listener_flags(struct bpf_sock *sk, struct mark *m)
{
	const int wanted = LISTENER_FLAGS;
	int now = 0, next;

	if (bpf_getsockopt(sk, LEVEL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &now,
			   sizeof(now)))
		return (m->flags & wanted) == wanted ? 0 : -EOPNOTSUPP;
	note_others(now, m);
	next = now | wanted;
	if (bpf_setsockopt(sk, LEVEL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &next,
			   sizeof(next)))
		return -EOPNOTSUPP;
	m->flags |= wanted & ~now;
	return 0;
}

/* Enters a listener in the map of places, or takes it out. One that is there is
 * entered anew, as it may have begun to defer. */
static __always_inline int listener_set(struct bpf_sockopt *ctx,
					struct bpf_sock *sk, struct mark *m,
					__u32 wanted)
{
	struct option_place place = {.netns = bpf_get_netns_cookie(ctx),
				     .port = sk->src_port};
	__s32 before;
	int error;

	address_of(place.address, sk->family, sk->src_ip4, sk->src_ip6);
	if (wanted & OPTION_PAUSES) {
		place_pause(&place);
		return 0;
	}
	if (!wanted) {
		if (m->listed)
			place_remove(&place, m, false);
		m->listed = 0;
		return 0;
	}
	error = listener_flags(sk, m);
	if (error)
		return error;
	if (m->listed) {
		before = port_weight(m);
		m->defers = (wanted & OPTION_DEFERS) != 0;
		port_count(place.port, port_weight(m) - before);
		return 0;
	}
	m->defers = (wanted & OPTION_DEFERS) != 0;
	m->listed = place_add(&place, m);
	return m->listed ? 0 : -ENOSPC;
}

static __always_inline int mark_set(struct bpf_sockopt *ctx, __u32 wanted)
{
	struct bpf_sock *sk = ctx->sk;
	struct mark *m;
	int error = 0;

	if (!sk || ((wanted & OPTION_PAUSES) && sk->state != BPF_TCP_LISTEN))
		return -EINVAL;
	m = bpf_sk_storage_get(&marks, sk, 0,
			       wanted ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!m)
		return wanted ? -ENOMEM : 0;
	if (sk->state == BPF_TCP_LISTEN)
		error = listener_set(ctx, sk, m, wanted);
	else
		m->defers = (wanted & OPTION_DEFERS) != 0;
	if (error)
		return error;
	m->knock.token = 0;
	if (wanted)
		m->state |= OFFER_WANT;
	else
		m->state &= ~OFFER_WANT;
	return 0;
}

/* Where nobody can answer, or nobody will, a mark would be for nothing. */
static __always_inline int mark_visitor(struct bpf_sockopt *ctx)
{
	const struct option_visit *visit = ctx->optval;
	struct option_place to = {.netns = bpf_get_netns_cookie(ctx)};

	if ((void *)(visit + 1) > ctx->optval_end || visit->mark != 1)
		return -EINVAL;
	to.port = visit->port;
	__builtin_memcpy(to.address, visit->address, sizeof(to.address));
	if (!port_is_marked(to.port))
		return -ENOENT;
	return place_refuses(&to) ? -EBUSY : mark_set(ctx, OPTION_MARK);
}

/* Its process says it once, before the end. */
static __always_inline int note_moved(struct bpf_sockopt *ctx)
{
	const struct option_moved *moved = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	struct mark *m = sk ? bpf_sk_storage_get(&marks, sk, 0, 0) : 0;

	if (!m || !m->serves || (void *)(moved + 1) > ctx->optval_end)
		return -EINVAL;
	m->bytes = moved->bytes;
	m->requests = moved->requests;
	return 0;
}

static __always_inline int mark_knocking(struct bpf_sockopt *ctx)
{
	const struct option_knocking *knocking = ctx->optval;
	int error = mark_visitor(ctx);
	struct bpf_sock *sk = ctx->sk;
	struct mark *m;

	if (error || (void *)(knocking + 1) > ctx->optval_end)
		return error ? error : -EINVAL;
	m = sk ? bpf_sk_storage_get(&marks, sk, 0, 0) : 0;
	if (m)
		m->knock = knocking->knock;
	return 0;
}

SEC("cgroup/setsockopt")
int smc_mark(struct bpf_sockopt *ctx)
{
	__s32 *value = ctx->optval;
	int error;

	if (is_asked(ctx) && ctx->optlen == sizeof(struct option_account_name))
		error = account_name(ctx);
	else if (is_asked(ctx) &&
		 ctx->optlen == sizeof(struct option_account_bytes))
		error = account_hold(ctx);
	else if (!is_ours(ctx))
		return leave_alone(ctx);
	else if (ctx->optlen == sizeof(struct option_visit))
		error = mark_visitor(ctx);
	else if (ctx->optlen == sizeof(struct option_knocking))
		error = mark_knocking(ctx);
	else if (ctx->optlen == sizeof(struct option_moved))
		error = note_moved(ctx);
	else if (ctx->optlen != sizeof(*value) ||
		 (void *)(value + 1) > ctx->optval_end ||
		 (*value & ~(OPTION_MARK | OPTION_DEFERS | OPTION_PAUSES)) != 0)
		error = -EINVAL;
	else
		error = mark_set(ctx, *value & OPTION_MARK ? *value : 0);
	if (error) {
		bpf_set_retval(error);
		return 0;
	}
	/* The kernel, which knows no such option, is not asked. */
	write_field(ctx->optlen, -1);
	return 1;
}

/* Notes that a server's socket was accepted; h has its netns and the client's
 * name. */
static __always_inline bool note_accepted(struct handshake *h, struct mark *m)
{
	__u32 one = 1;

	__builtin_memcpy(h->local, m->local, sizeof(m->local));
	h->local_port = m->port;
	m->met = bpf_map_update_elem(&accepted, h, &one, BPF_ANY) == 0;
	wait_ends(m, h->netns);
	if (m->promised)
		promise_end(m->port, m->epoch);
	m->promised = 0;
	return m->met;
}

/* The socket is a server's, and has agreed to nothing. */
static __always_inline __u16 leave(struct bpf_sockopt *ctx,
				   const struct option_answer *answer)
{
	struct option_place to = {.netns = bpf_get_netns_cookie(ctx),
				  .port = answer->port};

	__builtin_memcpy(to.address, answer->address, sizeof(to.address));
	return place_leave(&to);
}

/* A server's question is what makes its client's answer. */
static __always_inline bool has_met(struct bpf_sockopt *ctx,
				    struct bpf_sock *sk, struct mark *m)
{
	struct handshake h = {.netns = bpf_get_netns_cookie(ctx)};
	__u32 own[4], other[4], port = bpf_ntohs(sk->dst_port);

	address_of(own, sk->family, sk->src_ip4, sk->src_ip6);
	address_of(other, sk->family, sk->dst_ip4, sk->dst_ip6);
	if (m->serves) {
		__builtin_memcpy(h.remote, other, sizeof(other));
		h.remote_port = port;
		return note_accepted(&h, m);
	}
	__builtin_memcpy(h.local, other, sizeof(other));
	__builtin_memcpy(h.remote, own, sizeof(own));
	h.local_port = port;
	h.remote_port = m->port;
	return bpf_map_lookup_elem(&accepted, &h);
}

SEC("cgroup/getsockopt")
int smc_state(struct bpf_sockopt *ctx)
{
	struct option_answer *answer = ctx->optval;
	__u32 *value = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	struct mark *m;
	bool named = (void *)answer + OPTION_ANSWER_SHORT <= ctx->optval_end;
	bool knocks = (void *)(answer + 1) <= ctx->optval_end;

	if (is_asked(ctx) && ctx->optlen == sizeof(struct option_account) &&
	    account_tell(ctx)) {
		write_field(ctx->retval, 0);
		return 1;
	}
	if (!is_ours(ctx) || (void *)(value + 1) > ctx->optval_end)
		return leave_alone(ctx);
	m = sk ? bpf_sk_storage_get(&marks, sk, 0, 0) : 0;
	if (m && m->serves && !m->acceptor)
		m->acceptor = this_process();
	*value = OPTION_ANSWER | (m ? m->state : 0);
	if (m && (m->state & OFFER_AGREED) && has_met(ctx, sk, m))
		*value |= OFFER_MET;
	if (sk && !(m && (m->state & OFFER_AGREED)) &&
	    port_may_be_on_tcp(m && (m->state & OFFER_WANT)
				   ? bpf_ntohs(sk->dst_port)
				   : sk->src_port))
		*value |= OFFER_UNWORTHY;
	if (sk && m && (m->state & OFFER_AGREED) && !m->serves &&
	    port_defers(bpf_ntohs(sk->dst_port)))
		*value |= OFFER_DEFERS;
	if (sk && named) {
		answer->port = sk->src_port;
		address_of(answer->address, sk->family, sk->src_ip4,
			   sk->src_ip6);
		answer->left = (*value & OFFER_UNWORTHY) && !(m && m->state)
				   ? leave(ctx, answer)
				   : 0;
	}
	knocks = knocks && m && m->serves && m->knock.token;
	if (knocks)
		answer->knock = m->knock;
	write_field(ctx->optlen, knocks        ? sizeof(*answer)
				 : sk && named ? OPTION_ANSWER_SHORT
					       : sizeof(*value));
	write_field(ctx->retval, 0);
	return 1;
}

/* ---- The end of a socket ------------------------------------------------- */

/*
 * A process that was killed when it had accepted, and before it asked, has
 * accepted all the same: a socket that waits in its listener's queue comes by
 * here never. Its name cannot be read here; the peer's can.
 */
SEC("cgroup/sock_release")
int smc_release(struct bpf_sock *sk)
{
	struct mark *m = bpf_sk_storage_get(&marks, sk, 0, 0);
	struct handshake h = {.netns = 0};

	if (!m || !m->serves)
		return 1;
	h.netns = bpf_get_netns_cookie(sk);
	note_smc(m, h.netns);
	if (m->met)
		return 1;
	address_of(h.remote, sk->family, sk->dst_ip4, sk->dst_ip6);
	h.remote_port = bpf_ntohs(sk->dst_port);
	note_accepted(&h, m);
	return 1;
}
