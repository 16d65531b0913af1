/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_ctl: what happens to tracked descriptors besides data. */
#include "socket_ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "bell.h"
#include "demote.h"
#include "epoll_set.h"
#include "handshake.h"
#include "inject.h"
#include "lock.h"
#include "offer.h"
#include "plain.h"
#include "process.h"
#include "real.h"
#include "reason.h"
#include "registry.h"
#include "segment.h"
#include "settings.h"
#include "sleepers.h"
#include "socket_io.h"
#include "stream.h"
#include "sys.h"
#include "talk.h"
#include "traits.h"
#include "wait.h"

/* ---- listeners ---- */

static struct listener *listener_of(int fd)
{
	return (struct listener *)(void *)fdtable_kind(fd, FDENTRY_LISTENER);
}

static uint16_t local_port(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	memset(&a, 0, sizeof(a));
	if (SYS_CALL3(SYS_getsockname, fd, &a, &n) < 0 ||
	    (a.ss_family != AF_INET && a.ss_family != AF_INET6))
		return 0;
	return ntohs(((struct sockaddr_in *)(void *)&a)->sin_port);
}

static bool is_tcp_listener(int fd)
{
	int value[2] = {0, 0};
	socklen_t n = sizeof(int);

	return SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &value[0],
			 &n, 0) == 0 &&
	       value[0] == IPPROTO_TCP &&
	       SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN,
			 &value[1], &n, 0) == 0 &&
	       value[1];
}

/* Marked whatever the port is: the settings may come to match later, and then
 * the BPF program alone decides. */
static void mark(struct listener *l, int fd)
{
	uint32_t reason;
	const struct snapshot *s = settings_now(&reason);

	if (l->marked_at == settings_generation() &&
	    l->marked_by == process.pid)
		return;
	l->marked_at = settings_generation();
	l->marked_by = process.pid;
	if (!s)
		return;
	/* Once true it stays: a client may have been answered before the
	 * settings changed. */
	if (settings_match(s, NULL, l->port) == REASON_NONE)
		l->matched = true;
	/* The client's first message would be taken for its first bytes. */
	if (traits_deferred(fd))
		l->given = true;
	if (!l->given && offer_mark(fd) < 0)
		registry_listen(l->port);
}

/* Whoever listened marked it, and clients may have been answered. */
static bool is_marked(int fd)
{
	int state = offer_state(fd);

	return state > 0 && (state & OFFER_WANT);
}

static struct listener *track_listener(int fd)
{
	struct listener *l = listener_of(fd);

	if (l || process.off || !is_tcp_listener(fd))
		return l;
	l = pool_get(sizeof(*l));
	if (!l)
		return NULL;
	l->entry.kind = FDENTRY_LISTENER;
	l->port = local_port(fd);
	l->matched = is_marked(fd);
	l->forks = atomic_load(&process.forks);
	fdtable_set(fd, &l->entry);
	return l;
}

void socket_listening(int fd)
{
	struct listener *l;
	sigset_t saved;

	engine_lock(&saved);
	l = track_listener(fd);
	if (l)
		mark(l, fd);
	engine_unlock(&saved);
}

bool socket_before_accept(int fd)
{
	struct listener *l = listener_of(fd);
	sigset_t saved;

	if (!l && fdtable_get(fd))
		return false;
	if (l && !settings_moved(l->marked_at) && l->marked_by == process.pid)
		return l->matched;
	/* An inherited listener is met here for the first time. */
	engine_lock(&saved);
	l = track_listener(fd);
	if (l)
		mark(l, fd);
	engine_unlock(&saved);
	return l && l->matched;
}

/* ---- shutdown ---- */

static void shut_output(struct connection *c)
{
	struct status_stream *tx = &c->slot->tx;
	bool taken = stream_lock(tx);

	atomic_fetch_or(&tx->flags, STREAM_SHUT);
	stream_says_since(c);
	if (!(atomic_load(&tx->flags) & STREAM_TCP))
		atomic_fetch_or(&c->out_producer->flags, PRODUCER_FIN);
	stream_unlock(tx, taken);
	connection_signal_data(c);
	connection_wake_own(c, tx, c->bell_out);
}

static bool is_shut_already(const struct connection *c, int how)
{
	uint32_t in = atomic_load(&c->slot->rx.flags) & STREAM_SHUT;
	uint32_t out = atomic_load(&c->slot->tx.flags) & STREAM_SHUT;

	return (how == SHUT_WR || in) && (how == SHUT_RD || out);
}

int socket_shut_state(struct connection *c)
{
	uint32_t own = atomic_load(&c->slot->tx.flags);
	uint32_t in = atomic_load(&c->slot->rx.flags);
	bool peer_ended;

	if (connection_phase(c) != PHASE_ACTIVE || (own & STREAM_TCP) ||
	    (in & STREAM_RESET))
		return 0;
	peer_ended = (atomic_load(&c->in_producer->flags) &
		      (PRODUCER_FIN | PRODUCER_CLOSED | PRODUCER_SHUT)) ||
		     atomic_load(&c->tcp_ended);
	/* TCP tells, but for an end that went by the ring: input_look(). */
	if ((in & STREAM_TCP) &&
	    !(peer_ended &&
	      atomic_load(&c->out_producer->flags) & PRODUCER_SHUT))
		return 0;
	if (own & STREAM_SHUT)
		return peer_ended ? TCP_CLOSE : TCP_FIN_WAIT2;
	return peer_ended ? TCP_CLOSE_WAIT : 0;
}

/* The end of reading alone waits until the ring is empty: demote_input(). */
static int shut_tcp(struct connection *c, int fd, int how)
{
	if (connection_is_shut(c))
		return real.shutdown(fd, SHUT_RDWR);
	if (how == SHUT_RD && !(atomic_load(&c->slot->rx.flags) & STREAM_TCP) &&
	    !tcp_has_ended(c, fd))
		return 0;
	return (int)SOCKET_KERNEL;
}

int socket_shutdown(struct connection *c, int fd, int how)
{
	uint32_t phase = connection_phase(c);

	if (phase == PHASE_CONNECTING || phase == PHASE_HANDSHAKE) {
		if (handshake_for_write(c, fd, true) != WAY_RING)
			return (int)SOCKET_KERNEL;
		/* A thread that sleeps for the Confirm must wake, whenever
		 * that comes; both halves shut, the kernel wakes it. */
		if (how == SHUT_RD && handshake_withdraw(c, fd))
			return (int)SOCKET_KERNEL;
	} else if (phase == PHASE_NATIVE) {
		return (int)SOCKET_KERNEL;
	}
	talk_end();
	demote_serve(c, fd);
	demote_settle(c);
	if (connection_phase(c) == PHASE_NATIVE)
		return (int)SOCKET_KERNEL;
	/* TIME_WAIT: there is nothing left to shut. */
	if (socket_shut_state(c) == TCP_CLOSE) {
		epoll_again(c);
		epoll_poke(c);
		errno = ENOTCONN;
		return -1;
	}
	if (is_shut_already(c, how))
		epoll_again(c);
	if (how == SHUT_WR || how == SHUT_RDWR)
		shut_output(c);
	if (how == SHUT_RD || how == SHUT_RDWR) {
		atomic_fetch_or(&c->slot->rx.flags, STREAM_SHUT);
		connection_wake_own(c, &c->slot->rx, c->bell_in);
	}
	epoll_poke(c);
	if (atomic_load(&c->slot->tx.flags) & STREAM_TCP)
		return shut_tcp(c, fd, how);
	/* Half closed, TCP must stay open: demotion may still need it. */
	if (!is_shut_already(c, SHUT_RDWR))
		return 0;
	/* One half after the other is the same to it as both at once. */
	atomic_fetch_or(&c->out_producer->flags, PRODUCER_SHUT);
	return real.shutdown(fd, SHUT_RDWR);
}

/* ---- close ---- */

/* SO_LINGER with a time: until the reader has it all. */
static void linger(struct connection *c, int fd)
{
	struct linger l = {0, 0};
	socklen_t n = sizeof(l);
	uint64_t end;

	if (!c->lingers || connection_phase(c) != PHASE_ACTIVE ||
	    SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_LINGER, &l, &n, 0) <
		0 ||
	    !l.l_onoff || l.l_linger <= 0)
		return;
	end = sys_now_ns() + (uint64_t)l.l_linger * 1000000000u;
	while (stream_free(c) < c->size && sys_now_ns() < end) {
		struct pollfd p = {.fd = fd, .events = POLLRDHUP};

		if (real.poll(&p, 1, 1) != 0)
			return;
	}
}

/* Bytes that nobody read make TCP reset the connection at the last close. */
static void reset_if_unread(struct connection *c, int fd)
{
	struct linger l = {1, 0};

	if (atomic_load(&c->slot->rx.flags) & STREAM_TCP)
		return;
	if (stream_fill(c) > 0)
		real.setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* Before the kernel's close, when nobody else of this end holds it. The bell
 * rings after the close: the reader then finds the FIN without waiting. */
static void say_goodbye(struct connection *c, int fd)
{
	uint32_t end = PRODUCER_CLOSED;

	talk_end();
	/* A Confirm that crosses the close makes TCP reset the connection, as
	 * a program's bytes would; the client made no such call. */
	if (connection_phase(c) == PHASE_HANDSHAKE && handshake_leave(c, fd))
		end |= PRODUCER_FIN;
	/* Handed over to a program without the engine: that one ends it. */
	if (connection_phase(c) != PHASE_ACTIVE ||
	    atomic_load(&c->slot->rx.flags) & STREAM_FROZEN)
		return;
	demote_serve(c, fd);
	linger(c, fd);
	reset_if_unread(c, fd);
	stream_says_since(c);
	atomic_fetch_or(&c->out_producer->flags, end);
	inject_nap();
	if (end & PRODUCER_FIN)
		handshake_left(c, fd);
}

/* This is the last descriptor of it here. */
static void begin_close(struct connection *c, int fd)
{
	c->parted = segment_slot_is_mine(c->slot);
	if (c->parted)
		say_goodbye(c, fd);
}

static void wake_reader(struct connection *c)
{
	connection_signal_data(c);
	connection_signal_room(c);
}

static void free_listener(struct listener *l)
{
	registry_unlisten(l->port);
	pool_put(l, sizeof(*l));
}

/*
 * Of threads that close the same descriptor the kernel serves one; the others
 * get EBADF, or close what has the number by then. Engine lock held.
 */
static bool is_still(const struct connection *c, int fd)
{
	return fdtable_get(fd) == &c->entry;
}

/*
 * Another thread is asleep in a call on this descriptor. The kernel would keep
 * the file until that call is over; so do we, under a number of our own, and
 * the sleeper ends what the close began.
 */
static int close_under_sleeper(struct connection *c, int fd)
{
	struct fdentry *e;
	sigset_t saved;
	int kept;

	kept = hidden_fd((int)SYS_CALL3(SYS_dup, fd, 0, 0));
	if (kept < 0)
		return -1;
	engine_lock(&saved);
	if (!is_still(c, fd)) {
		hidden_close(kept);
		engine_unlock(&saved);
		return -1;
	}
	epoll_forget(c, fd);
	fdtable_clear(fd, &e);
	atomic_store(&c->orphan, kept);
	engine_unlock(&saved);
	return real.close(fd);
}

void socket_end_orphan(struct connection *c)
{
	int fd = atomic_exchange(&c->orphan, 0);
	sigset_t saved;

	if (fd <= 0)
		return;
	begin_close(c, fd);
	engine_lock(&saved);
	hidden_close(fd);
	if (c->rmb)
		wake_reader(c);
	connection_release(c);
	engine_unlock(&saved);
}

static bool is_slept_on(const struct connection *c)
{
	sleepers_reap();
	return atomic_load(&c->sleepers_data) || atomic_load(&c->sleepers_room);
}

static int close_socket(struct connection *c, int fd)
{
	struct fdentry *e;
	bool active;
	bool last;
	int result;
	int error;
	sigset_t saved;

	if (atomic_load(&c->entry.references) == 1 && is_slept_on(c)) {
		result = close_under_sleeper(c, fd);
		if (result == 0)
			return 0;
	}
	if (!atomic_load(&c->dead) && atomic_load(&c->entry.references) == 1)
		begin_close(c, fd);
	/* A close that may take its time (SO_LINGER) does so without the lock.
	 */
	active = c->rmb != NULL;
	engine_lock(&saved);
	if (!is_still(c, fd)) {
		engine_unlock(&saved);
		return socket_close(fd);
	}
	epoll_forget(c, fd);
	last = fdtable_clear(fd, &e);
	if (c->lingers) {
		engine_unlock(&saved);
		result = real.close(fd);
		error = errno;
		engine_lock(&saved);
	} else {
		error = (int)-sys_close(fd);
		result = error ? -1 : 0;
	}
	if (last) {
		if (active)
			wake_reader(c);
		connection_release(c);
	}
	engine_unlock(&saved);
	if (result < 0)
		errno = error;
	return result;
}

static void forget_locked(int fd)
{
	struct fdentry *e = fdtable_get(fd);

	if (!e || e->kind == FDENTRY_HIDDEN)
		return;
	if (e->kind == FDENTRY_EPOLL) {
		epoll_closing(fd);
		return;
	}
	if (e->kind == FDENTRY_SOCKET)
		epoll_forget((struct connection *)(void *)e, fd);
	if (!fdtable_clear(fd, &e))
		return;
	if (e->kind == FDENTRY_SOCKET)
		connection_release((struct connection *)(void *)e);
	else
		free_listener((struct listener *)(void *)e);
}

int socket_close(int fd)
{
	struct fdentry *e = fdtable_get(fd);
	sigset_t saved;

	/* Another thread may have closed it since the caller looked. */
	if (!e || process_is_foreign())
		return real.close(fd);
	if (e->kind == FDENTRY_HIDDEN) {
		errno = EBADF;
		return -1;
	}
	if (e->kind == FDENTRY_SOCKET)
		return close_socket((struct connection *)(void *)e, fd);
	engine_lock(&saved);
	forget_locked(fd);
	engine_unlock(&saved);
	return real.close(fd);
}

void socket_forget(int fd)
{
	struct fdentry *e = fdtable_get(fd);
	struct connection *c = connection_of(fd);
	sigset_t saved;
	bool active;

	if (!e || process_is_foreign())
		return;
	if (c && atomic_load(&c->entry.references) == 1)
		begin_close(c, fd);
	active = c && c->rmb;
	engine_lock(&saved);
	if (active)
		wake_reader(c);
	forget_locked(fd);
	engine_unlock(&saved);
}

void socket_disconnected(int fd)
{
	struct connection *c = connection_of(fd);
	sigset_t saved;

	if (!c || process_is_foreign())
		return;
	engine_lock(&saved);
	if (c->members)
		connection_on_native(c, true);
	/* Reset: what follows the ring's bytes TCP tells. */
	if (c->rmb) {
		atomic_fetch_or(&c->out_producer->flags, PRODUCER_CLOSED);
		c->parted = true;
		wake_reader(c);
	}
	forget_locked(fd);
	engine_unlock(&saved);
}

void socket_number_is_new(int fd)
{
	struct fdentry *e = fdtable_get(fd);
	sigset_t saved;

	if (__builtin_expect(!e || e->kind == FDENTRY_HIDDEN, 1) ||
	    process_is_foreign())
		return;
	engine_lock(&saved);
	forget_locked(fd);
	engine_unlock(&saved);
}

/* ---- dup ---- */

void socket_dup(int from, int to)
{
	struct fdentry *e;
	sigset_t saved;

	if (from == to)
		return;
	if (process_is_foreign()) {
		struct connection *c = connection_of(from);

		/* A vfork child prepares an exec: what it will run cannot
		 * read rings. */
		if (c)
			demote_for_successor(c, to, REASON_DEMOTED_EXEC,
					     HEIR_GIVEN);
		return;
	}
	engine_lock(&saved);
	if (fdtable_get(to))
		forget_locked(to);
	e = fdtable_get(from);
	if (e && e->kind != FDENTRY_HIDDEN)
		fdtable_set(to, e);
	engine_unlock(&saved);
	/* printf writes there below us; or it is for a program to execute. */
	if (to <= STDERR_FILENO && connection_of(to))
		demote_for_successor(connection_of(to), to,
				     REASON_DEMOTED_STDIO, HEIR_GIVEN);
}

bool socket_make_way(int to)
{
	struct fdentry *e = fdtable_get(to);

	/* Numbers of ours lie where programs do not go; one that insists is
	 * told so rather than served with a broken engine. */
	return !e || e->kind != FDENTRY_HIDDEN;
}

void socket_close_range(unsigned first, unsigned last, bool cloexec_only)
{
	unsigned end = (unsigned)fdtable_end();

	if (cloexec_only || process_is_foreign())
		return;
	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		struct fdentry *e = fdtable_get((int)fd);

		if (e && e->kind != FDENTRY_HIDDEN)
			socket_close((int)fd);
	}
	plain_drop_range(first, last);
}

/* ---- flags and options ---- */

static void note(struct connection *c, uint32_t bit, bool on)
{
	if (on)
		atomic_fetch_or(&c->slot->socket_flags, bit);
	else
		atomic_fetch_and(&c->slot->socket_flags, ~bit);
}

void socket_note_nonblock(int fd, bool on)
{
	struct connection *c = connection_of(fd);

	if (c)
		note(c, SOCKET_NONBLOCK, on);
}

void socket_note_option(int fd, int level, int name)
{
	struct connection *c = connection_of(fd);

	if (c && level == IPPROTO_TCP && name == TCP_INQ)
		note(c, SOCKET_INQ, traits_tells_input(fd));
	if (!c || level != SOL_SOCKET)
		return;
	if (name == SO_RCVTIMEO)
		note(c, SOCKET_RCVTIMEO, true);
	else if (name == SO_SNDTIMEO)
		note(c, SOCKET_SNDTIMEO, true);
	else if (name == SO_RCVLOWAT)
		note(c, SOCKET_RCVLOWAT, true);
	else if (name == SO_TIMESTAMP || name == SO_TIMESTAMPNS)
		note(c, SOCKET_STAMPED, traits_tells_time(fd));
}

void socket_listener_deferred(int fd)
{
	struct listener *l = listener_of(fd);

	if (!l || !traits_deferred(fd))
		return;
	l->given = true;
	if (offer_unmark(fd) < 0)
		registry_unlisten(l->port);
}

bool socket_option_demotes(int level, int name)
{
	if (level == SOL_SOCKET)
		return name == SO_TIMESTAMPING || name == SO_ATTACH_FILTER ||
		       name == SO_ATTACH_BPF;
	return level == IPPROTO_TCP && (name == TCP_REPAIR || name == TCP_ULP);
}
