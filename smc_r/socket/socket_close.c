/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_close: descriptors that end, and numbers that get another meaning. */
#include "smc_r/socket/socket_close.h"

#include <errno.h>
#include <unistd.h>

#include "smc_r/connection/passthrough.h"
#include "smc_r/connection/sleepers.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/fallback/half_close.h"
#include "smc_r/handshake/first_burst.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/outcome.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/socket_listen.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/stream.h"

/* ---- close ---- */

/* Bytes that nobody read make TCP reset the connection at the last close. */
static void reset_if_unread(struct connection *c, int fd)
{
	struct linger l = {1, 0};

	if (stream_reads_tcp(c) || connection_is_far(c))
		return;
	if (stream_fill(c) > 0)
		real.setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* The program wants no end in order: SO_LINGER with no time. */
static bool close_resets(const struct connection *c, int fd)
{
	struct linger l = {0, 0};

	return c->closing.lingers &&
	       sys_getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)) == 0 &&
	       l.l_onoff && l.l_linger == 0;
}

/* An offer in the registry is, before the client makes another call. */
static bool may_be_answered(const struct connection *c)
{
	uint32_t phase = connection_phase(c);

	return phase == PHASE_HANDSHAKE ||
	       (phase == PHASE_CONNECTING && c->opening.offer_entry);
}

/* Before the kernel's close, when nobody else of this end holds it. The bell
 * rings after the close: the reader then finds the FIN without waiting.
 * SO_LINGER waits for the peer's system to have the bytes; those in the ring
 * outlive us, and for the FIN the kernel waits. */
static void say_goodbye(struct connection *c, int fd)
{
	enum ends_event end = ENDS_CLOSES;

	outcome_tell(c, fd);
	first_burst_end();
	/* A Confirm that crosses the close makes TCP reset the connection, as
	 * a program's bytes would; the client made no such call. */
	if (may_be_answered(c) && handshake_leave(c, fd) &&
	    !close_resets(c, fd))
		end = ENDS_CLOSES_UNHEARD;
	/* Handed over to a program without the engine: that one ends it. */
	if (connection_phase(c) != PHASE_ACTIVE || stream_is_frozen(c))
		return;
	demote_serve(c, fd);
	half_close_follow(c, fd);
	reset_if_unread(c, fd);
	stream_says_since(c);
	if (connection_is_far(c) && close_resets(c, fd))
		connection_end(c, ENDS_ABORTS);
	connection_end(c, end);
	inject_nap();
	if (end == ENDS_CLOSES_UNHEARD)
		handshake_left(c, fd);
}

/* This is the last descriptor of it here. */
static void begin_close(struct connection *c, int fd)
{
	c->closing.peer_told = segment_slot_is_mine(c->slot);
	c->closing.others_hold = !c->closing.peer_told;
	if (c->closing.peer_told)
		say_goodbye(c, fd);
}

/* There is nothing to tell of an end that other processes still hold. */
static void wake_reader(struct connection *c)
{
	if (!c->closing.peer_told)
		return;
	connection_signal_data(c);
	connection_signal_room(c);
}

/* The kernel serves one of several threads that close the same descriptor; the
 * others get EBADF, or close what has the number by then. Engine lock held. */
static bool is_still(const struct connection *c, int fd)
{
	return fdtable_get(fd) == &c->entry;
}

static bool is_called(const struct connection *c)
{
	sleepers_reap();
	return atomic_load(&c->closing.callers);
}

/*
 * Another thread is in a call on this descriptor, and slept there. The kernel
 * would keep the file until that call is over; so do we, under a number of our
 * own. False: nobody is, or others hold the connection as well.
 */
static bool leave_to_caller(struct connection *c, int fd, bool closed)
{
	struct fdentry *e;
	int kept;

	if (atomic_load(&c->entry.references) != 1 || !is_called(c))
		return false;
	kept = private_fd((int)SYS_CALL3(SYS_dup, fd, 0, 0));
	if (kept < 0)
		return false;
	engine_lock();
	if (!is_still(c, fd)) {
		private_fd_close(kept);
		engine_unlock();
		return false;
	}
	epoll_forget(c, fd);
	fdtable_clear(fd, &e);
	connection_keep(c, kept);
	/* From here on signals end such a sleep, so it must begin anew; but a
	 * poll() would find out what became of its number. */
	atomic_store(&c->closing.in_call, closed);
	if (closed && c->rmb && !atomic_load(&c->closing.pollers))
		connection_wake_readers(c);
	engine_unlock();
	return true;
}

/* What the close began. */
static void end_closed(struct connection *c)
{
	int fd = atomic_exchange(&c->closing.fd, 0);

	if (fd <= 0)
		return;
	begin_close(c, fd);
	engine_lock();
	connection_unkeep(c);
	if (c->rmb)
		wake_reader(c);
	connection_release(c);
	engine_unlock();
}

/* Asked again after the close, as the call may have ended beside it. */
void socket_call_over(void *owner)
{
	struct connection *c = owner;

	if (__builtin_expect(
		atomic_load_explicit(&c->closing.fd, memory_order_acquire) > 0,
		0) &&
	    !atomic_load(&c->closing.callers))
		end_closed(c);
}

static int close_socket(struct connection *c, int fd)
{
	struct fdentry *e;
	bool active;
	bool last;
	int result;
	int error;

	if (leave_to_caller(c, fd, true)) {
		result = real.close(fd);
		socket_call_over(c);
		return result;
	}
	if (!atomic_load(&c->dead) && atomic_load(&c->entry.references) == 1)
		begin_close(c, fd);
	/* A close that may take its time (SO_LINGER) does so without the lock.
	 */
	active = c->rmb != NULL;
	engine_lock();
	if (!is_still(c, fd)) {
		engine_unlock();
		return socket_close(fd);
	}
	epoll_forget(c, fd);
	last = fdtable_clear(fd, &e);
	if (c->closing.lingers) {
		engine_unlock();
		result = real.close(fd);
		error = errno;
		engine_lock();
	} else {
		error = (int)-sys_close(fd);
		result = error ? -1 : 0;
	}
	if (last) {
		if (active)
			wake_reader(c);
		connection_release(c);
	}
	engine_unlock();
	if (result < 0)
		errno = error;
	return result;
}

static void forget_locked(int fd)
{
	struct fdentry *e = fdtable_get(fd);

	if (!e || e->kind == FDENTRY_PRIVATE)
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
		listener_free((struct listener *)(void *)e);
}

/* A child by vfork has numbers of its own, and the tables are its parent's. */
static bool is_parents(void)
{
	return !(process_is_empty_copy && !process_vforks) &&
	       process_may_be_foreign();
}

/* A call slept on the connection when the program confined itself, so it is
 * still known here; it is plain TCP, and what is ours of it stays. */
static bool drop_confined(int fd)
{
	struct connection *c = connection_of(fd);

	if (!process.confined || !c || connection_phase(c) != PHASE_NATIVE)
		return false;
	fdtable_drop(fd, &c->entry);
	return true;
}

FORK_TEXT bool socket_drop(int fd)
{
	return !is_parents() &&
	       (listener_drop(fd) || epoll_close_bare(fd) || drop_confined(fd));
}

/* A second number for what needs no lock. */
static bool share(int from, int to)
{
	struct fdentry *e = fdtable_get(from);

	return e && (e->kind == FDENTRY_LISTENER || e->kind == FDENTRY_EPOLL) &&
	       !fdtable_get(to) && !is_parents() && fdtable_share(e, to);
}

FORK_TEXT int socket_close(int fd)
{
	struct fdentry *e = fdtable_get(fd);

	if (e && (e->kind != FDENTRY_SOCKET || process.confined) &&
	    socket_drop(fd))
		return real.close(fd);
	/* Another thread may have closed it since the caller looked. */
	if (!e || process_is_foreign())
		return real.close(fd);
	/* It may have been the parent's. */
	e = fdtable_get(fd);
	if (!e)
		return real.close(fd);
	if (e->kind == FDENTRY_PRIVATE) {
		errno = EBADF;
		return -1;
	}
	if (e->kind == FDENTRY_SOCKET)
		return close_socket((struct connection *)(void *)e, fd);
	engine_lock();
	forget_locked(fd);
	engine_unlock();
	return real.close(fd);
}

void socket_forget(int fd)
{
	struct fdentry *e = fdtable_get(fd);
	struct connection *c = connection_of(fd);
	bool active;

	if (!e || process_is_foreign())
		return;
	if (c && atomic_load(&c->entry.references) == 1)
		begin_close(c, fd);
	active = c && c->rmb;
	engine_lock();
	if (active)
		wake_reader(c);
	forget_locked(fd);
	engine_unlock();
}

void socket_replaced(int fd)
{
	struct connection *c = connection_of(fd);

	if (!c || process_is_foreign() || !leave_to_caller(c, fd, false))
		socket_forget(fd);
	else
		socket_call_over(c);
}

/* All numbers of the socket lead to the kernel alone. A thread that sleeps in a
 * call sees that by `dead`. */
static void forget_numbers(struct connection *c)
{
	c->closing.disconnected = true;
	atomic_store(&c->dead, 1);
	if (c->rmb) {
		connection_wake_readers(c);
		connection_wake_writers(c);
	}
	for (int fd = 0; fd < fdtable_program_end(); fd++)
		if (connection_of(fd) == c)
			forget_locked(fd);
}

void socket_disconnected(int fd)
{
	struct connection *c = connection_of(fd);

	if (!c || process_is_foreign())
		return;
	engine_lock();
	if (c->epoll.members)
		connection_on_native(c, true);
	/* Reset: what follows the ring's bytes TCP tells. */
	if (c->rmb) {
		connection_end(c, ENDS_CLOSES);
		c->closing.peer_told = true;
		wake_reader(c);
	}
	forget_numbers(c);
	engine_unlock();
}

void socket_number_was_ours(int fd)
{
	if (fdtable_kind(fd, FDENTRY_PRIVATE) || process_is_foreign())
		return;
	engine_lock();
	forget_locked(fd);
	engine_unlock();
}

/* ---- dup ---- */

void socket_dup(int from, int to)
{
	struct fdentry *e;

	if (from == to || (!fdtable_get(from) && !fdtable_get(to)) ||
	    share(from, to))
		return;
	if (process_is_foreign()) {
		struct connection *c = connection_of(from);

		/* A vfork child prepares an exec: what it will run cannot
		 * read rings. */
		if (c)
			demote_for_successor(c, to, REASON_DEMOTED_EXEC,
					     SUCCESSOR_GIVEN);
		return;
	}
	engine_lock();
	if (fdtable_get(to))
		forget_locked(to);
	e = fdtable_get(from);
	if (e && e->kind != FDENTRY_PRIVATE)
		fdtable_set(to, e);
	engine_unlock();
	/* printf writes there below us; or it is for a program to execute. */
	if (to <= STDERR_FILENO && connection_of(to))
		demote_for_successor(connection_of(to), to,
				     REASON_DEMOTED_STDIO, SUCCESSOR_GIVEN);
}

bool socket_may_replace(int to)
{
	struct fdentry *e = fdtable_get(to);

	if (!e || e->kind != FDENTRY_PRIVATE)
		return true;
	/* It may have been the parent's. */
	process_tid();
	e = fdtable_get(to);
	/* Numbers of ours lie where programs do not go; one that insists is
	 * told so rather than served with a broken engine. */
	return !e || e->kind != FDENTRY_PRIVATE;
}

bool socket_range_is_simple(unsigned first, unsigned last)
{
	unsigned end = (unsigned)fdtable_end();

	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		const struct fdentry *e = fdtable_get((int)fd);

		if (e &&
		    (e->kind == FDENTRY_PRIVATE || e->kind == FDENTRY_SOCKET ||
		     (e->kind == FDENTRY_EPOLL &&
		      fdtable_connections_end() > 0) ||
		     (e->kind == FDENTRY_LISTENER &&
		      ((const struct listener *)(const void *)e)->listed)))
			return false;
	}
	return !passthrough_table;
}

void socket_drop_range(unsigned first, unsigned last)
{
	unsigned end = (unsigned)fdtable_end();

	for (unsigned fd = first; fd <= last && fd < end; fd++)
		if (fdtable_get((int)fd))
			socket_drop((int)fd);
}

void socket_close_range(unsigned first, unsigned last, bool cloexec_only)
{
	unsigned end = (unsigned)fdtable_end();

	if (cloexec_only || process_is_foreign())
		return;
	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		struct fdentry *e = fdtable_get((int)fd);

		if (e && e->kind != FDENTRY_PRIVATE && !socket_drop((int)fd))
			socket_close((int)fd);
	}
	passthrough_drop_range(first, last);
}
