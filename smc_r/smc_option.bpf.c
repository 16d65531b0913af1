/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_option: the kernel's side of the TCP option that announces SMC.
 *
 * Three programs on the cgroup root share the maps below. Two answer the
 * private socket option of option.h, by which a process marks its sockets and
 * asks what came of it; the third writes the option into SYN and SYN-ACK of
 * marked sockets, and reads it.
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

#include "option.h"

char licence[] SEC("license") = "Dual BSD/GPL";

#define INET             2  /* AF_INET */
#define INET6            10 /* AF_INET6 */
#define STREAM           1  /* SOCK_STREAM */
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

#define SECOND         1000000000ULL
/* Longer than the default number of SYN-ACKs takes (tcp_synack_retries 5). */
#define HANDSHAKE_AGE  (127 * SECOND)
#define HANDSHAKES_MAX 16384
#define LISTENERS_MAX  16384

struct mark {
	__u32 state; /* OFFER_* */
	__u8 offers; /* the SYN of this connection carries the option */
	__u8 syns;   /* SYNs sent with it */
	__u8 listed; /* counted in "listeners" */
	__u8 flags;  /* callback flags that were not set before us */
};

/* Where a marked socket listens; address as in struct option_settings. */
struct place {
	__u64 netns;
	__u32 address[4];
	__u32 port; /* host order */
	__u32 pad;
};

struct handshake {
	__u64 netns;
	__u32 local[4], remote[4];
	__u32 local_port;  /* host order */
	__u32 remote_port; /* as the kernel gives it */
};

/* Set before loading. */
const volatile __u32 instance SEC(".rodata.instance") = 0;

/* When "handshakes" was last searched for old ones. */
static __u64 swept;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct mark);
} marks SEC(".maps");

/* A hash of one: replacing its element is atomic, unlike an array's. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct option_settings);
} settings SEC(".maps");

/*
 * Marked listeners at a place. Places that are empty again keep their element
 * until room is needed: no listener that opens meanwhile can lose its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LISTENERS_MAX);
	__type(key, struct place);
	__type(value, __u32);
} listeners SEC(".maps");

/*
 * When a SYN-ACK with the option was sent last. Full means that no more options
 * are sent, never that one is forgotten: the client would speak CLC to a server
 * that expects none.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, HANDSHAKES_MAX);
	__type(key, struct handshake);
	__type(value, __u64);
} handshakes SEC(".maps");

/* ---- What the settings say ------------------------------------------------
 */

/*
 * The verifier wants each access to a context on its own and with a constant
 * offset; volatile keeps the compiler from merging them.
 */
#define read_field(field)         (*(const volatile __u32 *)&(field))
#define write_field(field, value) (*(volatile __s32 *)&(field) = (value))

/*
 * A macro, because the contexts are of different types. All fields are read,
 * whatever the family: of two branches the compiler would make one that reads
 * from a chosen offset.
 */
#define address_of(out, family, four, six)                                     \
	do {                                                                   \
		bool is_six = (family) == INET6;                               \
		__u32 v4 = read_field(four), v6[4];                            \
                                                                               \
		v6[0] = read_field((six)[0]);                                  \
		v6[1] = read_field((six)[1]);                                  \
		v6[2] = read_field((six)[2]);                                  \
		v6[3] = read_field((six)[3]);                                  \
		(out)[0] = is_six ? v6[0] : 0;                                 \
		(out)[1] = is_six ? v6[1] : 0;                                 \
		(out)[2] = is_six ? v6[2] : bpf_htonl(0xffff);                 \
		(out)[3] = is_six ? v6[3] : v4;                                \
	} while (0)

static __always_inline bool same_address(const __u32 *a, const __u32 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static __always_inline bool settings_match(const __u32 *local, __u16 port)
{
	const struct option_settings *s;
	__u32 key = 0;

	s = bpf_map_lookup_elem(&settings, &key);
	if (!s || !s->enabled || !(s->ports[port / 64] >> (port % 64) & 1))
		return false;
	for (__u32 i = 0; i < OPTION_ADDRESSES_MAX; i++)
		if (i < s->address_count &&
		    same_address(s->addresses[i], local))
			return true;
	return false;
}

/* ---- Marked listeners -----------------------------------------------------
 */

struct bpf_map;

static long drop_empty(struct bpf_map *map, const struct place *place,
		       const __u32 *count, void *unused)
{
	(void)unused;
	if (*count == 0)
		bpf_map_delete_elem(map, place);
	return 0;
}

static __always_inline bool place_add(const struct place *place)
{
	__u32 one = 1, *count;
	long error;

	count = bpf_map_lookup_elem(&listeners, place);
	if (!count) {
		error =
		    bpf_map_update_elem(&listeners, place, &one, BPF_NOEXIST);
		if (error == -E2BIG) {
			bpf_for_each_map_elem(&listeners, drop_empty, 0, 0);
			error = bpf_map_update_elem(&listeners, place, &one,
						    BPF_NOEXIST);
		}
		if (error != -EEXIST)
			return error == 0;
		count = bpf_map_lookup_elem(&listeners, place);
		if (!count)
			return false;
	}
	__sync_fetch_and_add(count, 1);
	return true;
}

static __always_inline void place_remove(const struct place *place)
{
	__u32 *count = bpf_map_lookup_elem(&listeners, place);

	if (count)
		__sync_fetch_and_add(count, -1);
}

static __always_inline bool place_is_marked(const struct place *place)
{
	const __u32 *count = bpf_map_lookup_elem(&listeners, place);

	return count && *count;
}

/* ---- SYN-ACKs under way ---------------------------------------------------
 */

static long drop_old(struct bpf_map *map, const struct handshake *handshake,
		     const __u64 *sent, const __u64 *now)
{
	if (*now - *sent > HANDSHAKE_AGE)
		bpf_map_delete_elem(map, handshake);
	return 0;
}

static __always_inline bool handshake_put(const struct handshake *h)
{
	__u64 now = bpf_ktime_get_ns();
	long error = bpf_map_update_elem(&handshakes, h, &now, BPF_ANY);

	/* Clients that never answer fill it; look once in a second. */
	if (error == -E2BIG && now - swept > SECOND) {
		swept = now;
		bpf_for_each_map_elem(&handshakes, drop_old, &now, 0);
		error = bpf_map_update_elem(&handshakes, h, &now, BPF_ANY);
	}
	return error == 0;
}

static __always_inline bool handshake_is_known(const struct handshake *h)
{
	const __u64 *sent = bpf_map_lookup_elem(&handshakes, h);

	return sent && bpf_ktime_get_ns() - *sent <= HANDSHAKE_AGE;
}

static __always_inline void handshake_of(struct handshake *h,
					 struct bpf_sock_ops *ops)
{
	__u32 family = ops->family;

	h->netns = bpf_get_netns_cookie(ops);
	address_of(h->local, family, ops->local_ip4, ops->local_ip6);
	address_of(h->remote, family, ops->remote_ip4, ops->remote_ip6);
	h->local_port = ops->local_port;
	h->remote_port = ops->remote_port;
}

/* ---- The option -----------------------------------------------------------
 */

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

/* ---- Client ---------------------------------------------------------------
 */

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

/* The packet at hand is the SYN-ACK. */
static __always_inline void on_connected(struct bpf_sock_ops *ops)
{
	struct mark *m = mark_of(ops);

	if (!m)
		return;
	if ((m->state & OFFER_SENT) && option_find(ops, 0) > 0)
		m->state |= OFFER_AGREED;
	m->offers = 0;
	flags_restore(ops, m);
}

/* ---- Server ---------------------------------------------------------------
 */

static __always_inline void place_of(struct place *place,
				     struct bpf_sock_ops *ops)
{
	place->netns = bpf_get_netns_cookie(ops);
	address_of(place->address, ops->family, ops->local_ip4, ops->local_ip6);
	place->port = ops->local_port;
	place->pad = 0;
}

static __always_inline void on_listen(struct bpf_sock_ops *ops)
{
	struct mark *m = mark_of(ops);
	struct place place;

	if (!m || !(m->state & OFFER_WANT))
		return;
	place_of(&place, ops);
	if (!m->listed)
		m->listed = place_add(&place);
	if (m->listed)
		flags_add(ops, m,
			  BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG |
			      BPF_SOCK_OPS_STATE_CB_FLAG);
}

static __always_inline void on_state(struct bpf_sock_ops *ops)
{
	struct mark *m;
	struct place place;

	if (ops->args[0] != BPF_TCP_LISTEN)
		return;
	m = mark_of(ops);
	if (!m || !m->listed)
		return;
	m->listed = 0;
	place_of(&place, ops);
	place_remove(&place);
}

/*
 * Is there a marked listener that may have been given this SYN? One that is
 * bound to the address, or to every address; "::" takes IPv4 as well.
 */
static __always_inline bool is_marked_listener(const struct handshake *h)
{
	struct place place = {.netns = h->netns, .port = h->local_port};

	__builtin_memcpy(place.address, h->local, sizeof(place.address));
	if (place_is_marked(&place))
		return true;
	__builtin_memset(place.address, 0, sizeof(place.address));
	if (place_is_marked(&place))
		return true;
	place.address[2] = bpf_htonl(0xffff); /* 0.0.0.0 */
	return h->local[0] == 0 && h->local[1] == 0 &&
	       h->local[2] == place.address[2] && place_is_marked(&place);
}

/* Does the SYN-ACK carry the option? */
static __always_inline bool synack_offers(struct bpf_sock_ops *ops,
					  const struct handshake *h)
{
	int found = -ENOENT;
	bool cookie = ops->args[0] == BPF_WRITE_HDR_TCP_SYNACK_COOKIE;

	if (!cookie)
		found = option_find(ops, BPF_LOAD_HDR_OPT_TCP_SYN);
	/* A cookie remembers no option; a SYN without it is a new one. */
	if (cookie || found == 0) {
		bpf_map_delete_elem(&handshakes, h);
		return false;
	}
	/* Sent again, and the SYN was not kept: as it was before. */
	if (found < 0)
		return handshake_is_known(h);
	return settings_match(h->local, h->local_port) && is_marked_listener(h);
}

static __always_inline void on_synack(struct bpf_sock_ops *ops, bool write)
{
	struct handshake h;

	handshake_of(&h, ops);
	if (!synack_offers(ops, &h))
		return;
	if (!write)
		bpf_reserve_hdr_opt(ops, OPTION_LENGTH, 0);
	else if (handshake_put(&h) && !option_store(ops))
		bpf_map_delete_elem(&handshakes, &h);
}

/* The storage is a copy of the listener's. */
static __always_inline void on_accepted(struct bpf_sock_ops *ops)
{
	struct mark *m = mark_of(ops);
	struct handshake h;

	if (!m)
		return;
	m->listed = 0;
	m->offers = 0;
	m->state &= OFFER_WANT;
	flags_restore(ops, m);
	handshake_of(&h, ops);
	if (handshake_is_known(&h))
		m->state |= OFFER_SENT | OFFER_AGREED;
	bpf_map_delete_elem(&handshakes, &h);
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

/* ---- The private socket option --------------------------------------------
 */

static __always_inline bool is_ours(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	return ctx->level == OPTION_LEVEL && ctx->optname == (__s32)instance &&
	       sk && (sk->family == INET || sk->family == INET6) &&
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
	const int wanted =
	    BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG;
	int now = 0, next;

	if (bpf_getsockopt(sk, LEVEL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &now,
			   sizeof(now)))
		return (m->flags & wanted) == wanted ? 0 : -EOPNOTSUPP;
	next = now | wanted;
	if (bpf_setsockopt(sk, LEVEL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &next,
			   sizeof(next)))
		return -EOPNOTSUPP;
	m->flags |= wanted & ~now;
	return 0;
}

/* Enters a listener in the map of places, or takes it out. */
static __always_inline int listener_set(struct bpf_sockopt *ctx,
					struct bpf_sock *sk, struct mark *m,
					bool wanted)
{
	struct place place = {.netns = bpf_get_netns_cookie(ctx),
			      .port = sk->src_port};
	int error;

	address_of(place.address, sk->family, sk->src_ip4, sk->src_ip6);
	if (!wanted) {
		if (m->listed)
			place_remove(&place);
		m->listed = 0;
		return 0;
	}
	error = listener_flags(sk, m);
	if (error)
		return error;
	if (!m->listed)
		m->listed = place_add(&place);
	return m->listed ? 0 : -ENOSPC;
}

static __always_inline int mark_set(struct bpf_sockopt *ctx, bool wanted)
{
	struct bpf_sock *sk = ctx->sk;
	struct mark *m;
	int error = 0;

	if (!sk)
		return -EINVAL;
	m = bpf_sk_storage_get(&marks, sk, 0,
			       wanted ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!m)
		return wanted ? -ENOMEM : 0;
	if (sk->state == BPF_TCP_LISTEN)
		error = listener_set(ctx, sk, m, wanted);
	if (error)
		return error;
	if (wanted)
		m->state |= OFFER_WANT;
	else
		m->state &= ~OFFER_WANT;
	return 0;
}

SEC("cgroup/setsockopt")
int smc_mark(struct bpf_sockopt *ctx)
{
	__s32 *value = ctx->optval;
	int error;

	if (!is_ours(ctx))
		return leave_alone(ctx);
	if (ctx->optlen != sizeof(*value) ||
	    (void *)(value + 1) > ctx->optval_end || (*value & ~1) != 0)
		error = -EINVAL;
	else
		error = mark_set(ctx, *value);
	if (error) {
		bpf_set_retval(error);
		return 0;
	}
	/* The kernel, which knows no such option, is not asked. */
	write_field(ctx->optlen, -1);
	return 1;
}

SEC("cgroup/getsockopt")
int smc_state(struct bpf_sockopt *ctx)
{
	__u32 *value = ctx->optval;
	const struct mark *m;

	if (!is_ours(ctx) || (void *)(value + 1) > ctx->optval_end)
		return leave_alone(ctx);
	m = bpf_sk_storage_get(&marks, ctx->sk, 0, 0);
	*value = OPTION_ANSWER | (m ? m->state : 0);
	write_field(ctx->optlen, sizeof(*value));
	write_field(ctx->retval, 0);
	return 1;
}
