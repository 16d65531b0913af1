/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * connection: one TCP connection that matched, in one process.
 *
 * What all processes of this end must agree on (phase, cursors, flags,
 * handshake) is in the slot, in memory that forked processes share. What only
 * this process needs (where the rings are mapped, its bells) is here.
 *
 * Ownership: fdtable counts the descriptors; the last one that goes releases
 *            slot and element. The memory of a connection is used again but
 *            never unmapped; `dead` tells a late thread.
 * Locking:   making, attaching, releasing: engine lock. rx and tx of the slot:
 *            their stream locks.
 */
#ifndef SMC_R_CONNECTION_H
#define SMC_R_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "smc_r/connection/sleepers.h"
#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/link/shm/linkgroup_knock.h"
#include "smc_r/memory/bell.h"
#include "smc_r/memory/rings.h"
#include "smc_r/os/barrier.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/status.h"
#include "smc_r/protocol/clc.h"

/* slot->phase */
enum phase {
	PHASE_CONNECTING = 1, /* the kernel's connect is not over */
	PHASE_HANDSHAKE,      /* CLC messages are still due */
	PHASE_ACTIVE,         /* rings, as far as ends.h says */
	PHASE_NATIVE,         /* plain TCP; kept for the list only */
};

/* slot->socket_flags: what the kernel knows as well, to save asking */
#define SOCKET_NONBLOCK 1u
#define SOCKET_RCVTIMEO 2u /* a time-out is set: ask the kernel which */
#define SOCKET_SNDTIMEO 4u
#define SOCKET_RCVLOWAT 8u
#define SOCKET_NO_SMC   16u  /* forked while connecting and the like */
#define SOCKET_INQ      64u  /* recvmsg says how much is left */
#define SOCKET_OFFERED  32u  /* the TCP option was put on the SYN */
#define SOCKET_GUARDED  128u /* SO_LINGER is ours: demote_guard() */
#define SOCKET_UNFENCED 256u /* our stream: see barrier.h */
#define SOCKET_STAMPED  512u /* recvmsg may ask when bytes came */
/* The time-out is less than nothing: no call waits, and the kernel says 0. */
#define SOCKET_RCVNEVER 1024u
#define SOCKET_SNDNEVER 2048u
#define SOCKET_BUFFERS  4096u  /* SO_SNDBUF or SO_RCVBUF may be set: ask */
#define SOCKET_WATCHED  8192u  /* was in an epoll instance: bell_monitor.h */
#define SOCKET_APPENDS  16384u /* O_APPEND: sendfile() is refused */

struct epoll_member;

/* The overflow ring that we write is in one of these states: overflow.h */
enum overflow {
	OVERFLOW_NONE,
	OVERFLOW_OURS,   /* has memory, which this process pays for */
	OVERFLOW_REFUSED /* none was to be had */
};

/* A client's, that is undecided: knock.h */
enum knock_state {
	KNOCK_NONE,
	KNOCK_PENDING,
	KNOCK_SETTLED, /* decided, while a thread looked at the elements */
};

/*
 * Fields: handshake/ connection/connection.c epoll/epoll_attach.c
 *	   poll/poll_sleep.c
 */
struct knock {
	_Atomic uint32_t state;   /* enum knock_state */
	_Atomic uint32_t lookers; /* threads of ours, without the lock */
	bool withdrawn;           /* taken back; `at` says by number where */
	struct knocks k;          /* what is not held was given back */
};

/*
 * What decides for how long the handshake is waited for, and hidden from a
 * program that asks whether it can write: handshake_clock.h
 *
 * Fields: handshake/
 */
struct handshake_wait {
	uint64_t begun_ns;
	uint64_t late_ns;   /* the first look after that; 0: none */
	bool told;          /* the program knows that it can write */
	bool in_crowd;      /* many others began beside it */
	bool to_self;       /* only this process would accept it */
	bool deferred;      /* client: no Proposal yet, deferred.h */
	bool client_silent; /* server: the client let its time pass */
	bool unheard;       /* server: counted as such, unheard.h */
};

/* It holds what TCP was asked of the peer's end, and said: tcp_end.h.
 * Fields: connection/connection_ends fallback/ epoll/epoll_member far/ */
struct tcp_watch {
	_Atomic uint32_t ended; /* enum ends_tcp, as far as it is one */
	uint32_t idle_looks;    /* EAGAINs since TCP was last asked */
	uint64_t asked_ticks;   /* when that was (sys_ticks) */
	/* That time of an epoll instance that has it, or NULL. */
	_Atomic uint64_t *_Atomic instance_asked;
	bool silent;         /* the peer is on another host: far_begin.h */
	bool recall_awaited; /* recall_is_done() has waited */
	bool end_woke;       /* half_close_tell(): the peer slept then */
};

/* Is this a stream, or a conversation? stream_steps.h
 * Fields: stream/ socket/fastpath socket/socket_receive fallback/tcp_end */
struct pace {
	uint32_t streak;       /* reads in a row that found bytes, none sent */
	uint32_t writes;       /* in a row, none read, nobody woken */
	uint64_t heard_before; /* bytes received when `writes` was 0 */
	uint64_t rewind_at;    /* our cursor when the ring is looked at */
	uint64_t heard;        /* bytes received at the last look */
	uint32_t rewind_step;  /* between looks whether the ring is empty */
	bool rang;             /* the last write found a sleeper */
	bool slow;             /* the last ones took long: no stream */
};

/* How this process uses the bells: bell_monitor.h.
 * Fields: connection/ wait/ poll/poll_sleep epoll/epoll_arm handshake/ */
struct bell_use {
	_Atomic int monitor_data; /* descriptors of bell_monitor.h, 0 none */
	_Atomic int monitor_room;
	_Atomic uint32_t dead; /* nobody can ring: they are used no more */
	uint32_t drained_data; /* rings_of_data_bell() when last emptied */
	uint32_t drained_room;
	uint32_t told_cpu; /* out_producer->cpu, without reading it */
	uint32_t sleeps;   /* begun; the kernel is asked now and then */
	bool dirty;        /* we rang a bell of ours: not to be used again */
};

/* Descriptors that end, also under calls that sleep: socket_close.h.
 * Fields: connection/ socket/ wait/ poll/poll_sleep fallback/demote handshake/
 * preload/preload_option */
struct closing {
	_Atomic uint32_t callers; /* calls that slept, of this process */
	_Atomic uint32_t pollers; /* callers that are in poll() */
	_Atomic int fd;           /* descriptor kept for them, 0 none */
	_Atomic uint32_t in_call; /* because theirs was closed */
	int fd_held;              /* that descriptor, until it is closed */
	struct connection *next_held;
	bool disconnected; /* connect() to AF_UNSPEC did it; dead, too */
	bool peer_told;    /* the peer was told that this end goes */
	bool others_hold;  /* it was not: others hold this end too */
	bool lingers;      /* SO_LINGER may be set */
};

/* Memory of the ring that we write: overflow.h, ring_memory.h.
 * Fields: connection/connection stream/ */
struct out_memory {
	uint64_t return_at; /* cursor when it may leave the overflow ring */
	uint32_t bytes;     /* that have memory, from the short ones on */
	uint8_t overflow;   /* enum overflow */
};

/* A ring that is full: stall.h.
 * Fields: connection/connection wait/stall epoll/ */
struct stall {
	_Atomic uint64_t full_ns; /* since then: stall_clock.h */
	_Atomic uint64_t full_at; /* and the reader has stood here */
	/* tx.position, plus one: no room; 0 when the program was told of room.
	 */
	_Atomic uint64_t refused_at;
	uint32_t forks; /* process.forks, when it was attached */
};

/* A connection that is not active yet has it beside its CLC machine.
 * Fields: connection/connection handshake/ socket/socket_close poll/poll_sleep
 * epoll/epoll_member */
struct opening {
	_Atomic uint32_t *counted; /* counter while it begins, or NULL */
	uint32_t offer_entry;      /* registry entry plus one, 0 none */
	uint32_t unread;        /* bytes of a CLC message seen, not yet taken */
	_Atomic uint32_t said;  /* bytes of CLC messages that we sent */
	bool connected;         /* the kernel's connect is over */
	bool peer_closed_early; /* the peer closed during the handshake */
	bool declined;          /* the client, right behind its Proposal */
	bool withdrawn;         /* our Accept: messages_withdraw */
	bool in_first_burst;    /* first_burst.h */
};

/* The epoll instances that have it: epoll_set.h. */
struct epoll_link {
	struct epoll_member *members;
	bool watched_by_kernel; /* epoll_ctl.c: it is no member */
};

struct connection {
	struct fdentry entry; /* FDENTRY_SOCKET */
	_Atomic uint32_t dead;
	struct status_slot *slot;
	bool no_slot; /* it is ours alone, as the segment had none left */
	pid_t maker;  /* the process that has connected or accepted it */

	/* The element, once attached. */
	struct rmb *rmb;
	uint32_t element;
	int side;
	uint32_t
	    size; /* bytes that lie in both rings of a direction, at most */
	struct rings out;
	struct rings in;
	struct rmb_producer *out_producer;
	struct rmb_consumer *out_consumer;
	struct rmb_producer *in_producer;
	struct rmb_consumer *in_consumer;
	struct rmb_wait *own_wait;
	struct rmb_wait *peer_wait;
	struct rmb_waiters *own_waiters;
	struct rmb_waiters *peer_waiters;
	_Atomic uint64_t *peer_ready; /* one bit an element */
	struct tcp_watch tcp;
	struct pace pace;

	/* All before this is read with each message. */
	struct rmb_element *control;
	struct bells bells;
	struct bell_use bell;
	struct closing closing;
	struct out_memory out_memory;
	struct stall stall;
	uint32_t spin_score; /* how well spinning did here */
	struct opening opening;
	struct handshake_wait handshake;
	struct knock knock;
	struct epoll_link epoll;
};

static inline struct connection *connection_of(int fd)
{
	struct fdentry *e = fdtable_get(fd);

	if (__builtin_expect(!e, 1))
		return NULL;
	return e->kind == FDENTRY_SOCKET ? (struct connection *)(void *)e
					 : NULL;
}

/* The number that the kernel knows it by, for a call which may outlive the one
 * that it began with. */
static inline int connection_fd(const struct connection *c, int fd)
{
	int kept = atomic_load_explicit(&c->closing.fd, memory_order_acquire);

	return kept > 0 ? kept : fd;
}

/* Returns how many bytes may lie in a ring of so many: all of it, unless the
 * program made the buffers of its socket small. */
static inline uint32_t connection_limit(uint32_t bytes,
					const struct rmb_producer *p)
{
	uint32_t allowed = relaxed_load(&p->limit);

	return __builtin_expect(allowed < RMB_LIMIT_MIN || allowed >= bytes, 1)
		   ? bytes
		   : allowed;
}

/* The ring that we write. */
static inline const struct ring *connection_ring_out(const struct connection *c)
{
	return rings_of(&c->out,
			window_shift(relaxed_load(&c->slot->tx.window)));
}

/* The ring that the peer writes. We may still read the other one: what we see
 * ends there then. */
static inline const struct ring *connection_ring_in(const struct connection *c)
{
	const struct status_stream *rx = &c->slot->rx;
	uint64_t window = relaxed_load(&rx->window);
	uint32_t seen =
	    (uint32_t)__atomic_load_n(&rx->peer_position, __ATOMIC_RELAXED);

	if (__builtin_expect((uint32_t)window != seen, 0))
		return rings_of(&c->in, relaxed_load(&c->in_producer->shift));
	return rings_of(&c->in, window_shift(window));
}

static inline uint32_t connection_limit_out(const struct connection *c)
{
	return connection_limit(connection_ring_out(c)->bytes, c->out_producer);
}

static inline uint32_t connection_limit_in(const struct connection *c)
{
	return connection_limit(connection_ring_in(c)->bytes, c->in_producer);
}

/* They enclose sends over TCP of what the reader had already: it must not wait
 * for the acknowledgement of other bytes (Nagle), or be held back by a cork. */
struct push {
	int cork;
	bool delays;
};
struct push connection_push_begin(int fd);
void connection_push_end(int fd, struct push p);

/*
 * Sends what lies in the ring that we write, from cursor `at` to `end`, over
 * TCP. Where TCP is full it waits: the other end reads it, so this ends. Gives
 * up at an error.
 */
void connection_send_ring(struct connection *c, int fd, uint64_t at,
			  uint64_t end);

static inline uint32_t connection_phase(const struct connection *c)
{
	return atomic_load_explicit(&c->slot->phase, memory_order_acquire);
}

/* Its program is told that it may write. */
static inline void connection_told_room(struct connection *c)
{
	if (__builtin_expect(relaxed_load(&c->stall.refused_at) != 0, 0))
		atomic_store(&c->stall.refused_at, 0);
}

static inline struct clc *connection_clc(struct connection *c)
{
	return (struct clc *)(void *)c->slot->handshake;
}

/* A connection in PHASE_CONNECTING with these SOCKET_* flags; NULL when there
 * is no slot or no memory. must: the peer expects CLC from us, so do without a
 * slot in the list if need be, and decline. */
struct connection *connection_new(int role, uint32_t flags, bool must);

/*
 * A server that was promised, and for which there is no memory: its client is
 * declined while accept() has it on its stack. One that is not done by then is
 * kept, in memory that was there before the promise; NULL: there is none left.
 */
struct passing_connection {
	struct connection connection;
	struct status_slot slot;
};
void connection_init_passing(struct passing_connection *p, uint32_t flags);
struct connection *connection_keep_passing(struct passing_connection *p);

/* Makes one in PHASE_NATIVE, for a slot that has the rest; NULL: no memory. */
struct connection *connection_new_passthrough(struct status_slot *slot);

/* Counts clients of this process that are in their handshake. */
uint32_t connections_starting(void);
/* Is there one, of either role? */
bool connections_undecided(void);

/* A name of the kernel's as the list has it. */
void connection_name(const struct sockaddr_storage *a, struct in6_addr *out,
		     uint16_t *port);
/* They set addresses for the list; the local one is also what settings match.
 */
void connection_set_local(struct connection *c,
			  const struct sockaddr_storage *a);
void connection_set_peer(struct connection *c,
			 const struct sockaddr_storage *a);

/* Comes after arming, before the last look: a writer without fences sees that
 * we are armed, or we see its bytes. False: neither is sure, so look by the
 * clock. */
static inline bool connection_settle(const struct connection *c)
{
	return !atomic_load(&c->in_producer->unfenced) || barrier_all();
}

/* Does the reader of what we write leave the fence between its cursor and its
 * look for a writer that sleeps to us? It does not where barriers do not reach
 * it. */
static inline bool connection_reader_is_unfenced(const struct connection *c)
{
	return relaxed_load(&c->out_consumer->barrier) == READER_REGISTERED;
}

/* Does connection_settle() for a writer that waits for room. */
static inline bool connection_settle_room(const struct connection *c)
{
	return !connection_reader_is_unfenced(c) || barrier_all();
}

/* Do we, as a reader? */
static inline bool connection_reads_unfenced(const struct connection *c)
{
	return relaxed_load(&c->in_consumer->barrier) == READER_REGISTERED &&
	       barrier_reaches_us();
}

/* May a writer of this process leave the fence to sleepers, on this stream? */
static inline bool connection_is_unfenced(const struct connection *c)
{
	return (relaxed_load(&c->slot->socket_flags) & SOCKET_UNFENCED) &&
	       barrier_reaches_us();
}

/* The words of an element, as one side of it names them. */
static inline void connection_point(struct connection *c, struct rmb_element *e,
				    int side)
{
	c->side = side;
	c->control = e;
	c->out_producer = &e->side[side].producer;
	c->out_consumer = &e->side[!side].consumer;
	c->in_producer = &e->side[!side].producer;
	c->in_consumer = &e->side[side].consumer;
	c->own_wait = &e->side[side].wait;
	c->peer_wait = &e->side[!side].wait;
}

/* The rings of this element are ours. */
void connection_attach(struct connection *c, struct rmb *rmb, uint32_t element,
		       int side);
/* Gives the element back; the peer must not be using it. */
void connection_detach(struct connection *c, bool reuse);

/* Whatever became of the elements that it knocked at, it has them no longer. */
void connection_drop_knock(struct connection *c);

/* The connection is plain TCP from here on. */
void connection_set_native(struct connection *c);
/* Called before that, with the engine lock, if anybody waits for the connection
 * in an epoll instance. gone: it will be released. */
extern void (*connection_on_native)(struct connection *c, bool gone);
/* Called for one that is in an epoll instance, by a thread that took rings of
 * it that may have been for that, or made it active. */
extern void (*connection_on_rings)(struct connection *c);
/* Passes rings on for a connection that may be in no instance; takes a struct
 * connection. */
void connection_pass_on(void *c);
/* Called for one that is in an epoll instance, before the elements that it
 * knocked at are given back; but for the taken one of `at`, or -1. */
extern void (*connection_on_knock_settled)(struct connection *c, int taken);

/* Final: on TCP, for this reason. Counts it. */
void connection_use_tcp(struct connection *c, uint32_t reason,
			uint32_t peer_reason);
void connection_use_smc(struct connection *c);

/* The last descriptor of this process went. Releases everything that no
 * other process of this end holds. */
void connection_release(struct connection *c);

/* Forgets all that are plain TCP by now and have no call asleep: they need
 * nothing of us. */
void connection_drop_native(void);
void connection_drop_if_native(int fd); /* the one of this number */

/* The number was closed under a call that sleeps, which goes on with this
 * private descriptor; and the call is over. Engine lock held. */
void connection_keep(struct connection *c, int fd);
void connection_unkeep(struct connection *c);

/* Runs in the child of a fork: no other thread sleeps on any of them, and what
 * only such a thread still had is none of the child's. */
void connection_forked(void);

/* Wakes threads and processes of our own that sleep for bytes, or room. */
void connection_wake_readers(struct connection *c);
void connection_wake_writers(struct connection *c);

/* They say where a thread sleeps for bytes, or for room. */
static inline struct sleep_place place_for_data(const struct connection *c)
{
	return (struct sleep_place){&c->slot->rx, &c->slot->rx.first};
}

static inline struct sleep_place place_for_room(const struct connection *c)
{
	return (struct sleep_place){&c->slot->tx, bells_are_one(&c->bells)
						      ? &c->slot->rx.first
						      : &c->slot->tx.first};
}

/* Counts the rings that our bell for bytes has had. */
static inline uint32_t rings_of_data_bell(const struct connection *c)
{
	const struct rmb_wait *w = c->own_wait;
	uint32_t rings = relaxed_load(&w->rings_data);

	if (bells_are_one(&c->bells))
		rings += relaxed_load(&w->rings_room);
	return rings;
}

/* Is the peer where we are? Tells it where that is. */
bool peer_is_on_our_core(struct connection *c);

/* Tells the peer that bytes, or room, are there. */
bool connection_signal_data(struct connection *c); /* one slept */
void connection_signal_room(struct connection *c);

#endif
