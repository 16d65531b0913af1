/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_option_maps: what the programs of smc_option.bpf.c remember, and the
 * questions they ask of it. Part of that program, not a header for others.
 *
 * Locking: programs run on all processors at once. Counts change by atomic
 *          additions, elements by the maps' own operations; a mark is changed
 *          with its socket's lock held.
 */
#ifndef SMC_R_SMC_OPTION_MAPS_BPF_H
#define SMC_R_SMC_OPTION_MAPS_BPF_H

#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "smc_r/os/option.h"

#define INET  2  /* AF_INET */
#define INET6 10 /* AF_INET6 */

#define SECOND         1000000000ULL
/* Longer than the default number of SYN-ACKs takes (tcp_synack_retries 5). */
#define HANDSHAKE_AGE  (127 * SECOND)
#define HANDSHAKES_MAX 16384
#define LISTENERS_MAX  16384
#define ACCEPTED_MAX   16384
#define PORTS          65536

struct mark {
	__u32 state;    /* OFFER_* */
	__u8 offers;    /* the SYN of this connection carries the option */
	__u8 syns;      /* SYNs sent with it */
	__u8 listed;    /* counted in "listeners" */
	__u8 flags;     /* callback flags that were not set before us */
	__u16 port;     /* its own, host order */
	__u8 serves;    /* came from a listener */
	__u8 defers;    /* listener with TCP_DEFER_ACCEPT */
	__u8 met;       /* serves: stands in "accepted" */
	__u8 watched;   /* server's, on TCP: for how many ends its own counts */
	__u8 waits;     /* serves: counted as waiting at its place */
	__u8 promised;  /* serves: one of its port's promises */
	__u32 local[4]; /* serves, watched: its own address */
	__u32 acceptor; /* serves: the process that asked first, or 0 */
	__u32 epoch;    /* promised: likewise */
	__u64 since_us; /* likewise: when it was established */
	/* serves: what its process says that it carried. */
	__u64 bytes;
	__u64 requests;
	struct option_knock
	    knock; /* a client's own; a server's: its client's */
};

/* What is kept of a SYN-ACK that carried the option. */
struct answer {
	__u64 sent;  /* when, the last time */
	__u32 epoch; /* of the promise to its port */
	__u32 pad;
	struct option_knock knock; /* of the client that got it */
};

struct handshake {
	__u64 netns;
	__u32 local[4], remote[4];
	__u32 local_port;  /* host order */
	__u32 remote_port; /* as the kernel gives it */
};

/* An element of the map "ports" holds this of a port of this host. */
struct port {
	__u32 count;              /* marked listeners, see PORT_MARKED */
	struct worth_notes notes; /* connections on TCP */
	__u32 tcp_until_ms; /* some place with it offers no SMC; 0: none did */
	__u64 promises;     /* see promise() */
};

/* When "handshakes" was last searched for old ones. */
static __u64 swept;

/* Marked sockets that listen. An instance that has none need not look at the
 * SYN-ACKs to which another one brought it. */
static __u32 listening;

/* Elements of "handshakes", or more: where there are none nobody needs to look
 * for one. */
static __u32 handshakes_made;

/* Callback flags that some listener had before we marked it: another program's,
 * which its connections keep. */
static __u32 flags_of_others;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
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
	__type(key, struct option_place);
	__type(value, struct option_listening);
} listeners SEC(".maps");

/*
 * Marked listeners of the host with a port, whatever their address and network
 * namespace: an address of this host may be in another namespace. The upper
 * half counts those of them that have TCP_DEFER_ACCEPT.
 */
#define PORT_MARKED 0xffffu
#define PORT_DEFERS 0x10000u
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, struct port);
} ports SEC(".maps");

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
	__type(value, struct answer);
} handshakes SEC(".maps");

/*
 * Connections, as the server sees them, that its process has asked about, or
 * that ended before it could: so it had accepted them. They outlive their
 * sockets, for a client that was reset wants to know why. Both ports are in
 * host order.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ACCEPTED_MAX);
	__type(key, struct handshake);
	__type(value, __u32);
} accepted SEC(".maps");

/* ---- What the settings say ---------------------------------------------- */

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

/* ---- Promises ------------------------------------------------------------ */

/*
 * A SYN-ACK with the option is a promise that its client may send CLC. It lasts
 * until the process that accepts the connection has asked about it. While a
 * port has given none, and gives none, nobody needs to ask.
 *
 * The lower half counts those that last. Some never end, as their sockets are
 * closed in a listener's queue, which no program sees; so the upper half is an
 * epoch, which ends with the last marked listener of the port, and with it all
 * promises. Too many are safe, too few are not: one that listens on without its
 * mark may give what was promised, and then no epoch of its port ends any more.
 */
#define PROMISES_EPOCH   (1ULL << 32)
#define PROMISES_SPOILED (1ULL << 63)
#define PROMISES_TRIES   4

/* The epoch in which it was given. It is seen before what its caller looks at
 * next. */
static __always_inline __u32 promise(__u32 port)
{
	struct port *p = bpf_map_lookup_elem(&ports, &port);

	return p ? __sync_fetch_and_add(&p->promises, 1) >> 32 : 0;
}

/* The verifier looks at it once, and not for each of its callers, as it has a
 * name of its own. */
__attribute__((noinline)) int promise_end(__u32 port, __u32 epoch)
{
	struct port *p = bpf_map_lookup_elem(&ports, &port);

	for (int i = 0; p && i < PROMISES_TRIES; i++) {
		__u64 now = *(volatile __u64 *)&p->promises;

		if (now >> 32 != epoch || !(__u32)now ||
		    __sync_val_compare_and_swap(&p->promises, now, now - 1) ==
			now)
			return 1;
	}
	return 0;
}

/* None was given since they were these. */
static __always_inline void promises_forget(struct port *p, __u64 before)
{
	__u64 next = (before / PROMISES_EPOCH + 1) * PROMISES_EPOCH;

	if (!((before | next) & PROMISES_SPOILED))
		__sync_val_compare_and_swap(&p->promises, before, next);
}

static __always_inline void promises_spoil(struct port *p)
{
	if (!(p->promises & PROMISES_SPOILED))
		__sync_fetch_and_add(&p->promises, PROMISES_SPOILED + 1);
}

/* ---- Marked listeners --------------------------------------------------- */

struct bpf_map;

static long drop_empty(struct bpf_map *map, const struct option_place *place,
		       const struct option_listening *l, void *unused)
{
	(void)unused;
	if (l->count == 0)
		bpf_map_delete_elem(map, place);
	return 0;
}

static __always_inline bool place_count_up(const struct option_place *place)
{
	struct option_listening one = {.count = 1}, *l;
	long error;

	l = bpf_map_lookup_elem(&listeners, place);
	if (!l) {
		error =
		    bpf_map_update_elem(&listeners, place, &one, BPF_NOEXIST);
		if (error == -E2BIG) {
			bpf_for_each_map_elem(&listeners, drop_empty, 0, 0);
			error = bpf_map_update_elem(&listeners, place, &one,
						    BPF_NOEXIST);
		}
		if (error != -EEXIST)
			return error == 0;
		l = bpf_map_lookup_elem(&listeners, place);
		if (!l)
			return false;
	}
	__sync_fetch_and_add(&l->count, 1);
	return true;
}

static __always_inline void port_count(__u32 port, __s32 change)
{
	struct port *p = bpf_map_lookup_elem(&ports, &port);

	if (p)
		__sync_fetch_and_add(&p->count, change);
}

static __always_inline bool port_is_marked(__u32 port)
{
	const struct port *p = bpf_map_lookup_elem(&ports, &port);

	return p && (p->count & PORT_MARKED);
}

/* All of them. */
static __always_inline bool port_defers(__u32 port)
{
	const struct port *p = bpf_map_lookup_elem(&ports, &port);
	__u32 marked = p ? p->count & PORT_MARKED : 0;

	return marked && p->count / PORT_DEFERS == marked;
}

static __always_inline __s32 port_weight(const struct mark *m)
{
	return m->defers ? PORT_DEFERS + 1 : 1;
}

static __always_inline bool place_add(const struct option_place *place,
				      const struct mark *m)
{
	if (!place_count_up(place))
		return false;
	port_count(place->port, port_weight(m));
	__sync_fetch_and_add(&listening, 1);
	return true;
}

/* The socket listens on, without a mark, or it ends. */
static __always_inline void place_remove(const struct option_place *place,
					 const struct mark *m, bool ends)
{
	struct option_listening *l = bpf_map_lookup_elem(&listeners, place);
	struct port *p = bpf_map_lookup_elem(&ports, &place->port);
	__u64 before = p ? p->promises : 0;

	__sync_fetch_and_add(&listening, -1);
	port_count(place->port, -port_weight(m));
	if (p && !ends)
		promises_spoil(p);
	else if (p && !(p->count & PORT_MARKED))
		promises_forget(p, before);
	if (!l)
		return;
	__sync_fetch_and_add(&l->count, -1);
	/* Those in its queue are gone without a question. */
	l->waiting = 0;
}

/* ---- SYN-ACKs under way ------------------------------------------------- */

/* The promise stands, and is the caller's. */
static __always_inline bool handshake_remove(const struct handshake *h)
{
	if (bpf_map_delete_elem(&handshakes, h))
		return false;
	__sync_fetch_and_add(&handshakes_made, -1);
	return true;
}

static long drop_old(struct bpf_map *map, const struct handshake *handshake,
		     const struct answer *answer, const __u64 *now)
{
	__u32 epoch = answer->epoch;

	if (*now - answer->sent > HANDSHAKE_AGE &&
	    bpf_map_delete_elem(map, handshake) == 0) {
		__sync_fetch_and_add(&handshakes_made, -1);
		promise_end(handshake->local_port, epoch);
	}
	return 0;
}

/* Counted before it is there. One that is sent again has promised already. */
static __always_inline long handshake_add(const struct handshake *h, __u64 now)
{
	struct answer answer = {.sent = now}, *sent;
	long error;

	__sync_fetch_and_add(&handshakes_made, 1);
	answer.epoch = promise(h->local_port);
	error = bpf_map_update_elem(&handshakes, h, &answer, BPF_NOEXIST);
	if (error)
		__sync_fetch_and_add(&handshakes_made, -1);
	if (error != -EEXIST) {
		if (error)
			promise_end(h->local_port, answer.epoch);
		return error;
	}
	sent = bpf_map_lookup_elem(&handshakes, h);
	if (!sent || sent->epoch == answer.epoch)
		promise_end(h->local_port, answer.epoch);
	return bpf_map_update_elem(&handshakes, h, &answer, BPF_EXIST);
}

static __always_inline bool handshake_put(const struct handshake *h)
{
	__u64 now = bpf_ktime_get_ns();
	long error = handshake_add(h, now);

	/* Clients that never answer fill it; look once in a second. */
	if (error == -E2BIG && now - swept > SECOND) {
		swept = now;
		bpf_for_each_map_elem(&handshakes, drop_old, &now, 0);
		error = handshake_add(h, now);
	}
	return error == 0;
}

static __always_inline bool answer_is_fresh(const struct answer *answer)
{
	return bpf_ktime_get_ns() - answer->sent <= HANDSHAKE_AGE;
}

static __always_inline bool handshake_is_known(const struct handshake *h)
{
	const struct answer *answer = bpf_map_lookup_elem(&handshakes, h);

	return answer && answer_is_fresh(answer);
}

/* The client, on this host, has the SYN-ACK: leave its knock to the process
 * that will accept it. */
static __always_inline void handshake_knock(const struct handshake *h,
					    const struct option_knock *knock)
{
	struct answer *answer = bpf_map_lookup_elem(&handshakes, h);

	if (answer)
		answer->knock = *knock;
}

/* A lookup is cheaper than a removal, and mostly there is nothing. True: there
 * was one, whose promise is the caller's now. */
static __always_inline bool handshake_take(const struct handshake *h,
					   struct answer *taken)
{
	const struct answer *answer;

	if (!handshakes_made)
		return false;
	answer = bpf_map_lookup_elem(&handshakes, h);
	if (!answer)
		return false;
	*taken = *answer;
	return handshake_remove(h);
}

static __always_inline void handshake_drop(const struct handshake *h)
{
	struct answer taken;

	if (handshake_take(h, &taken))
		promise_end(h->local_port, taken.epoch);
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

#endif
