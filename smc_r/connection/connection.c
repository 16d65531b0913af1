/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* connection: one TCP connection that matched, in one process. */
#include "smc_r/connection/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>

#include "smc_r/connection/sleepers.h"
#include "smc_r/link/shm/overflow_memory.h"
#include "smc_r/memory/bell.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

_Static_assert(sizeof(struct clc) <=
		   sizeof(((struct status_slot *)0)->handshake),
	       "the machine fits into the slot");

/* ---- making ---- */

void connection_name(const struct sockaddr_storage *a, struct in6_addr *out,
		     uint16_t *port)
{
	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)a;

		memset(out, 0, sizeof(*out));
		out->s6_addr[10] = out->s6_addr[11] = 0xff;
		memcpy(&out->s6_addr[12], &v4->sin_addr, 4);
		*port = ntohs(v4->sin_port);
	} else if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)a;

		*out = v6->sin6_addr;
		*port = ntohs(v6->sin6_port);
	}
}

void connection_set_local(struct connection *c,
			  const struct sockaddr_storage *a)
{
	connection_name(a, &c->slot->local, &c->slot->local_port);
}

void connection_set_peer(struct connection *c, const struct sockaddr_storage *a)
{
	connection_name(a, &c->slot->peer, &c->slot->peer_port);
}

static _Atomic uint32_t starting; /* clients */
static _Atomic uint32_t accepted;

uint32_t connections_starting(void)
{
	return relaxed_load(&starting);
}

bool connections_undecided(void)
{
	return relaxed_load(&starting) || relaxed_load(&accepted);
}

static void has_started(struct connection *c)
{
	if (c->opening.counted)
		atomic_fetch_sub(c->opening.counted, 1);
	c->opening.counted = NULL;
}

static void init(struct connection *c, struct status_slot *slot)
{
	c->entry.kind = FDENTRY_SOCKET;
	c->slot = slot;
	c->bells = BELLS_NONE;
}

struct connection *connection_new_passthrough(struct status_slot *slot)
{
	struct connection *c = slot ? pool_get(sizeof(*c)) : NULL;

	if (c)
		init(c, slot);
	return c;
}

static void begin(struct connection *c, int role, uint32_t flags)
{
	c->slot->role = (uint8_t)role;
	atomic_store(&c->slot->socket_flags, flags);
	atomic_store(&c->slot->phase, PHASE_CONNECTING);
	c->opening.counted = role == STATUS_CLIENT ? &starting : &accepted;
	atomic_fetch_add(c->opening.counted, 1);
}

void connection_init_passing(struct passing_connection *p, uint32_t flags)
{
	memset(p, 0, sizeof(*p));
	init(&p->connection, &p->slot);
	p->connection.no_slot = true;
	begin(&p->connection, STATUS_SERVER, flags | SOCKET_NO_SMC);
}

struct connection *connection_keep_passing(struct passing_connection *p)
{
	struct connection *c = pool_get_promised(sizeof(*c));
	struct status_slot *slot = pool_get_promised(sizeof(*slot));

	if (!c || !slot) {
		if (c)
			pool_put(c, sizeof(*c));
		return NULL;
	}
	memcpy(slot, &p->slot, sizeof(*slot));
	memcpy(c, &p->connection, sizeof(*c));
	c->slot = slot;
	p->connection.opening.counted = NULL;
	return c;
}

struct connection *connection_new(int role, uint32_t flags, bool must)
{
	struct status_slot *slot = segment_slot_get();
	bool no_slot = !slot && must;
	struct connection *c;

	ENGINE_LOCKED();
	/* The peer was promised an answer: give it one without the list. */
	if (no_slot) {
		slot = pool_get(sizeof(*slot));
		flags |= SOCKET_NO_SMC;
	}
	if (!slot)
		return NULL;
	c = connection_new_passthrough(slot);
	if (!c) {
		if (no_slot)
			pool_put(slot, sizeof(*slot));
		else if (segment_slot_leave(slot))
			segment_slot_free(slot);
		return NULL;
	}
	c->no_slot = no_slot;
	c->maker = process.pid;
	begin(c, role, flags);
	return c;
}

static struct rings rings_at_side(const struct rmb_map *m, uint32_t element,
				  int side)
{
	struct ring own = {rmb_ring(m, element, side), m->rmbe_bytes};
	struct ring overflow = {rmb_overflow(m, element, side),
				m->overflow_bytes};

	return (struct rings){{own, overflow.at ? overflow : own},
			      side == SIDE_SERVER ? m->rmbe_bytes - RMB_SHORT
						  : 0};
}

void connection_attach(struct connection *c, struct rmb *rmb, uint32_t element,
		       int side)
{
	struct rmb_element *e = rmb_element(&rmb->map, element);
	struct rmb_header *h = rmb_header(&rmb->map);

	ENGINE_LOCKED();
	c->rmb = rmb;
	c->element = element;
	connection_point(c, e, side);
	c->out = rings_at_side(&rmb->map, element, side);
	c->in = rings_at_side(&rmb->map, element, !side);
	c->size = rmb->map.rmbe_bytes + rmb->map.overflow_bytes;
	c->out_memory.bytes =
	    rmb->filled >> element & 1 ? UINT32_MAX : RMB_SHORT;
	c->own_waiters = &h->waiters[side];
	c->peer_waiters = &h->waiters[!side];
	c->peer_ready = rmb_ready(&rmb->map, !side);
	c->bells = rmb->bells[element];
	if (barrier_works())
		atomic_store(&c->in_consumer->barrier, barrier_reaches_us()
							   ? READER_REGISTERED
							   : READER_SLEEPS);
	atomic_store(&c->in_consumer->overflow, rmb->map.overflow_bytes);
	c->bell.drained_data = rings_of_data_bell(c);
	c->bell.drained_room = atomic_load(&c->own_wait->rings_room);
	c->spin_score = rmb->spin_score;
	c->stall.forks = process_note_forks();
	c->slot->rmbe_in = rmb->map.rmbe_bytes;
	c->slot->rmbe_out = rmb->map.rmbe_bytes;
	c->slot->link = STATUS_LINK_SHM;
	c->slot->peer_pid = rmb->group ? rmb->group->peer_pid : 0;
	c->slot->group = rmb->group ? rmb->group->number : 0;
}

/* What we read has been read; what we wrote the peer may still read. */
static void leave_overflow(struct connection *c, bool alone)
{
	if (alone)
		rmb_overflow_empty(&c->rmb->map, c->element, !c->side);
	if (c->out_memory.overflow == OVERFLOW_OURS)
		overflow_memory_give(c->rmb, alone);
	c->out_memory.overflow = OVERFLOW_NONE;
}

void connection_detach(struct connection *c, bool reuse)
{
	struct rmb *rmb = c->rmb;

	ENGINE_LOCKED();
	if (!rmb)
		return;
	leave_overflow(c, reuse);
	c->rmb = NULL;
	rmb->spin_score = c->spin_score;
	/* Rings of the last use must not wake the next one. */
	if (reuse && rmb->group) {
		if (rings_of_data_bell(c) != c->bell.drained_data)
			bell_drain(c->bells.data);
		if (!bells_are_one(&c->bells) &&
		    atomic_load(&c->own_wait->rings_room) !=
			c->bell.drained_room)
			bell_drain(c->bells.room);
	}
	linkgroup_give(rmb, c->element, reuse);
}

void connection_drop_knock(struct connection *c)
{
	struct knocks *k = &c->knock.k;
	bool looked = atomic_load(&c->knock.lookers) > 0;
	uint32_t state = atomic_exchange(&c->knock.state, KNOCK_NONE);

	ENGINE_LOCKED();
	if (state == KNOCK_NONE)
		return;
	if (c->epoll.members)
		connection_on_knock_settled(c, -1);
	/* An element that was taken by a server which has no such connection is
	 * lost. */
	for (struct knocked *at = k->at; at < k->at + k->count; at++)
		if (at->held)
			linkgroup_knock_give(
			    at, (state == KNOCK_SETTLED ||
				 linkgroup_knock_take_back(at, k->token)) &&
				    !looked);
}

/* ---- where it ends up ---- */

void (*connection_on_native)(struct connection *c, bool gone);
void (*connection_on_rings)(struct connection *c);
void (*connection_on_knock_settled)(struct connection *c, int taken);

void connection_pass_on(void *owner)
{
	struct connection *c = owner;

	if (c->epoll.members)
		connection_on_rings(c);
}

static void count_opened(const struct connection *c)
{
	if (c->slot->role == STATUS_CLIENT)
		segment_count(client_connections);
	else
		segment_count(server_connections);
}

void connection_use_smc(struct connection *c)
{
	ENGINE_LOCKED();
	has_started(c);
	count_opened(c);
	segment_count(smc_connections);
	atomic_store(&c->slot->phase, PHASE_ACTIVE);
	atomic_store(&c->slot->state, STATUS_ACTIVE);
	/* A thread that sleeps in an instance does not hear the bell yet, and
	 * what TCP would have told it may be what we have just read. */
	if (c->epoll.members && !__libc_single_threaded)
		connection_on_rings(c);
}

void connection_set_native(struct connection *c)
{
	ENGINE_LOCKED();
	if (c->epoll.members)
		connection_on_native(c, false);
	atomic_store(&c->slot->phase, PHASE_NATIVE);
}

static int tcp_option(int fd, int name)
{
	int value = 0;

	sys_getsockopt(fd, IPPROTO_TCP, name, &value, sizeof(value));
	return value;
}

static void send_ring(struct connection *c, int fd, uint64_t at, uint64_t end)
{
	while (at < end) {
		size_t n = (size_t)(end - at);
		uint8_t *from = rings_piece(&c->out, c->out_producer, at, &n);
		long sent;

		sent = SYS_CALL6(SYS_sendto, fd, from, n,
				 MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
		if (sent > 0)
			at += (uint64_t)sent;
		atomic_store(&c->out_producer->resent, at);
		if (sent == -EAGAIN)
			sys_poll(fd, POLLOUT, 1000);
		else if (sent <= 0 && sent != -EINTR)
			return;
	}
}

struct push connection_push_begin(int fd)
{
	struct push p = {tcp_option(fd, TCP_CORK),
			 !tcp_option(fd, TCP_NODELAY)};

	if (p.cork)
		sys_set_option(fd, IPPROTO_TCP, TCP_CORK, 0);
	if (p.delays)
		sys_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	return p;
}

void connection_push_end(int fd, struct push p)
{
	if (p.delays)
		sys_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 0);
	if (p.cork)
		sys_set_option(fd, IPPROTO_TCP, TCP_CORK, 1);
}

void connection_send_ring(struct connection *c, int fd, uint64_t at,
			  uint64_t end)
{
	struct push p;

	if (at >= end)
		return;
	p = connection_push_begin(fd);
	send_ring(c, fd, at, end);
	connection_push_end(fd, p);
}

void connection_use_tcp(struct connection *c, uint32_t reason,
			uint32_t peer_reason)
{
	uint32_t shown = peer_reason ? peer_reason : reason;

	ENGINE_LOCKED();
	has_started(c);
	count_opened(c);
	segment_count(tcp_connections);
	segment_count(fallbacks[reason_index(shown)]);
	c->slot->reason = reason;
	c->slot->peer_reason = peer_reason;
	c->slot->link = STATUS_LINK_NONE;
	connection_set_native(c);
	atomic_store(&c->slot->state, STATUS_TCP);
}

/* Another thread may be copying out of the ring, and must not find the next
 * connection's bytes there, or none; or into it, and must not give them to the
 * next one. A thread that comes later finds us dead. */
static void await_thread(struct status_stream *stream)
{
	stream_unlock(stream, stream_lock(stream));
}

/* Write only if needed: after fork() a write would copy the page. */
static void close_monitor(_Atomic int *monitor)
{
	if (atomic_load(monitor) > 0)
		private_fd_close(atomic_exchange(monitor, 0));
}

static void close_monitors(struct connection *c)
{
	close_monitor(&c->bell.monitor_data);
	close_monitor(&c->bell.monitor_room);
}

/* The lease begins before we leave the slot: from then on it may be another
 * connection's. */
static struct lease begin_lease(struct connection *c)
{
	static uint64_t leases;
	struct rmb *rmb = c->rmb;

	if (!rmb || !rmb->group || c->no_slot)
		return (struct lease){NULL, 0};
	c->slot->cookie = ++leases;
	return (struct lease){c->slot, leases};
}

/* The parent lends it to those that go on with it. */
static void lend(struct connection *c, struct lease lease)
{
	struct rmb *rmb = c->rmb;

	leave_overflow(c, false);
	c->rmb = NULL;
	rmb->spin_score = c->spin_score;
	linkgroup_lend(rmb, c->element, lease);
}

void connection_release(struct connection *c)
{
	struct lease lease = begin_lease(c);
	bool last = c->closing.others_hold ? segment_slot_leave_shared(c->slot)
					   : segment_slot_leave(c->slot);
	bool asleep = atomic_load(&c->closing.callers);
	bool overflowed = c->out_memory.overflow == OVERFLOW_OURS;

	ENGINE_LOCKED();
	has_started(c);
	connection_drop_knock(c);
	close_monitors(c);
	atomic_store(&c->dead, 1);
	if (c->rmb) {
		await_thread(&c->slot->rx);
		if (last)
			await_thread(&c->slot->tx);
		/* Other holders may have gone since the close began, when they
		 * still were there and nobody told the peer. Its bells say it
		 * then, by their end. */
		if (lease.slot && !last && !asleep && !c->bell.dirty &&
		    !overflowed)
			lend(c, lease);
		else
			connection_detach(c, last && c->closing.peer_told &&
						 !asleep && !c->bell.dirty);
	}
	if (last)
		segment_slot_free(c->slot);
	/* A thread that is late in a call may still hold the pointer, and finds
	 * `dead` set. */
	if (c->no_slot)
		pool_put_late(c->slot, sizeof(*c->slot));
	if (!asleep)
		pool_put_late(c, sizeof(*c));
}

void connection_drop_if_native(int fd)
{
	struct connection *c = connection_of(fd);
	struct fdentry *e;

	if (c && connection_phase(c) == PHASE_NATIVE && !c->epoll.members &&
	    !atomic_load(&c->closing.callers) && fdtable_clear(fd, &e))
		connection_release(c);
}

void connection_drop_native(void)
{
	ENGINE_LOCKED();
	for (int fd = 0; fd < fdtable_program_end(); fd++)
		connection_drop_if_native(fd);
}

static struct connection *kept;

void connection_keep(struct connection *c, int fd)
{
	ENGINE_LOCKED();
	c->closing.fd_held = fd;
	c->closing.next_held = kept;
	kept = c;
	atomic_store(&c->closing.fd, fd);
}

void connection_unkeep(struct connection *c)
{
	struct connection **at = &kept;

	ENGINE_LOCKED();
	while (*at && *at != c)
		at = &(*at)->closing.next_held;
	if (*at)
		*at = c->closing.next_held;
	private_fd_close(c->closing.fd_held);
}

static void drop_kept(void)
{
	struct connection *c = kept;

	while (c) {
		struct connection *next = c->closing.next_held;

		/* A fork in a handler, on top of the call: it goes on here. */
		if (atomic_load(&c->closing.callers) == 0) {
			atomic_store(&c->closing.fd, 0);
			connection_unkeep(c);
			connection_release(c);
		}
		c = next;
	}
}

static void none_calls(struct connection *c)
{
	atomic_store(&c->closing.callers, 0);
	atomic_store(&c->closing.pollers, 0);
}

/* A close in the child must not keep the socket for calls of the parent's
 * threads. */
void connection_forked(void)
{
	for (struct connection *c = kept; c; c = c->closing.next_held)
		none_calls(c);
	for (int fd = 0; fd < fdtable_program_end(); fd++) {
		struct connection *c = connection_of(fd);

		if (!c)
			continue;
		close_monitors(c);
		if (c->rmb && !barrier_register())
			atomic_store(&c->in_consumer->barrier, READER_SLEEPS);
		/* Write only if needed: after fork() a write would copy the
		 * page. */
		if (atomic_load(&c->closing.callers))
			none_calls(c);
		if (c->out_memory.overflow != OVERFLOW_NONE)
			c->out_memory.overflow =
			    OVERFLOW_NONE; /* the parent pays */
	}
	overflow_memory_forked();
	sleepers_forked();
	drop_kept();
}

/* ---- waking the peer ---- */

/* A thread that takes an armed word rings, and then says so. If it dies in
 * between the word stays, and the next one rings: another thread, or a process
 * that has the connection from the same parent. */
static bool take_arm(_Atomic uint32_t *armed)
{
	/* The look is sequentially consistent, as the store of the cursor in
	 * front of it is: neither passes the other. */
	return atomic_load(armed) && atomic_exchange(armed, RMB_RINGING);
}

static void drop_arm(_Atomic uint32_t *armed)
{
	uint32_t ringing = RMB_RINGING;

	/* It may be armed again already. */
	atomic_compare_exchange_strong(armed, &ringing, 0);
}

static void ring_data(struct connection *c)
{
	inject_step(STEP_TAKEN);
	segment_count(doorbells);
	relaxed_add(&c->peer_wait->rings_data, 1);
	bell_ring(c->bells.peer_data);
	inject_step(STEP_RUNG);
}

/* An epoll instance of the peer that has this connection sleeps: any bell of
 * the connection is in its set. */
static bool wake_waiter(struct connection *c)
{
	uint32_t told = atomic_load(&c->peer_wait->waiter);
	uint32_t w = told & ~RMB_WAITER_BITS;
	_Atomic uint32_t *armed;

	if (w == 0 || w >= RMB_WAITERS)
		return false;
	if (connection_is_unfenced(c))
		atomic_thread_fence(memory_order_seq_cst);
	if (told & RMB_WAITER_BITS) {
		uint64_t bit = 1ull << c->element;

		if (!(atomic_load(c->peer_ready) & bit))
			atomic_fetch_or(c->peer_ready, bit);
		inject_step(STEP_BIT_SET);
	}
	armed = &c->peer_waiters->armed[w];
	if (!take_arm(armed))
		return false;
	ring_data(c);
	drop_arm(armed);
	return true;
}

/* The first of them has the bell, the others look by the clock. The next use of
 * the element must neither hear that ring nor take it from a sleeper. */
static void wake_own(struct connection *c, const struct status_stream *s,
		     int bell)
{
	if (atomic_load(&s->sleepers) == 0)
		return;
	c->bell.dirty = true;
	bell_ring_own(bell);
}

void connection_wake_readers(struct connection *c)
{
	wake_own(c, &c->slot->rx, c->bells.data);
}

void connection_wake_writers(struct connection *c)
{
	wake_own(c, &c->slot->tx, c->bells.room);
}

/* The caller's publishing store was a full barrier, or the stream is unfenced:
 * then a sleeper on armed_data makes one, before its last look. */
bool connection_signal_data(struct connection *c)
{
	struct rmb_wait *w = c->peer_wait;
	bool rang = false;

	inject_step(STEP_PUBLISHED);
	if (take_arm(&w->armed_data)) {
		ring_data(c);
		drop_arm(&w->armed_data);
		rang = true;
	}
	return wake_waiter(c) || rang;
}

void connection_signal_room(struct connection *c)
{
	struct rmb_wait *w = c->peer_wait;

	inject_step(STEP_PUBLISHED);
	if (take_arm(&w->armed_room)) {
		inject_step(STEP_TAKEN);
		segment_count(doorbells);
		relaxed_add(&w->rings_room, 1);
		bell_ring(c->bells.peer_room);
		inject_step(STEP_RUNG);
		drop_arm(&w->armed_room);
		wake_waiter(c);
	}
}

bool peer_is_on_our_core(struct connection *c)
{
	int cpu = sched_getcpu();
	uint32_t peer = relaxed_load(&c->in_producer->cpu);

	if (cpu < 0)
		return false;
	if (c->bell.told_cpu != (uint32_t)cpu + 1) {
		c->bell.told_cpu = (uint32_t)cpu + 1;
		relaxed_store(&c->out_producer->cpu, c->bell.told_cpu);
	}
	return peer == (uint32_t)cpu + 1;
}
