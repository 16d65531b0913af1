/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_listen: listeners, and the marks by which they offer SMC. */
#include "smc_r/socket/socket_listen.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "smc_r/connection/connection.h"
#include "smc_r/connection/socket_history.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/lock.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/no_smc_cache.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/peer/settings.h"
#include "smc_r/protocol/reason.h"

/* Where nobody tells, it is as if it listened at all addresses. */
static void find_name(struct listener *l, int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	struct in6_addr where;

	l->any = true;
	memset(&a, 0, sizeof(a));
	if (SYS_CALL3(SYS_getsockname, fd, &a, &n) < 0 ||
	    (a.ss_family != AF_INET && a.ss_family != AF_INET6))
		return;
	connection_name(&a, &where, &l->port);
	l->any = IN6_IS_ADDR_UNSPECIFIED(&where) ||
		 (IN6_IS_ADDR_V4MAPPED(&where) && where.s6_addr32[3] == 0);
}

static bool is_tcp_listener(int fd)
{
	return sys_socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP &&
	       sys_socket_option(fd, SO_ACCEPTCONN);
}

/* The registry knows no clients that wait with their offer: deferred.h. */
static void offer(struct listener *l, int fd)
{
	int error;

	l->deferred = socket_history_is_deferred(fd);
	if (l->given)
		return;
	error = l->deferred ? offer_mark_deferred(fd) : offer_mark(fd);
	if (error < 0 && l->deferred)
		registry_unlisten(l->port);
	else if (error < 0)
		l->listed = registry_listen(l->port) == 0 || l->listed;
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
	l->left_until_ns = 0;
	l->marked_at = settings_generation();
	l->marked_by = process.pid;
	no_smc_cache_clear();
	if (!s || !settings_serve())
		return;
	/* Once true it stays: a client may have been answered before the
	 * settings changed. */
	if (settings_match(s, NULL, l->port) == REASON_NONE)
		l->matched = true;
	offer(l, fd);
}

/* The process that listened marked it, and clients may have been answered. */
static bool is_marked(int fd)
{
	int state = offer_state(fd);

	return state > 0 && (state & OFFER_WANT);
}

/* ---- those that nobody is served by ---- */

/* They have no entry, so that nothing of ours has to be done when they are
 * closed or handed on. Looked at when the settings were these. */
static _Atomic uint64_t idle_generation;
static int idle_end;

static void note_idle(int fd)
{
	uint64_t now = settings_generation();

	if (idle_generation != now)
		for (int i = 0; i < idle_end; i++)
			socket_history_note_idle(i, false);
	idle_generation = now;
	idle_end = fd < idle_end ? idle_end : fd + 1;
	socket_history_note_idle(fd, true);
}

static bool is_idle(int fd)
{
	return socket_history_is_idle(fd) && !settings_moved(idle_generation);
}

/* ---- those that are marked ---- */

void (*listener_on_end)(struct listener *l);

/* Closed without the lock. */
FORK_PAGE static struct listener *_Atomic closed;

static void free_closed(void)
{
	struct listener *l = atomic_exchange(&closed, NULL);

	while (l) {
		struct listener *next = l->next;

		pool_put(l, sizeof(*l));
		l = next;
	}
}

static bool may_serve(int fd)
{
	uint32_t reason;

	return (settings_now(&reason) && settings_serve()) || is_marked(fd);
}

static struct listener *track_listener(int fd)
{
	struct listener *l = listener_of(fd);

	if (l || process.off || !is_tcp_listener(fd))
		return l;
	if (!may_serve(fd)) {
		note_idle(fd);
		return NULL;
	}
	free_closed();
	socket_history_note_idle(fd, false);
	l = pool_get(sizeof(*l));
	if (!l)
		return NULL;
	l->entry.kind = FDENTRY_LISTENER;
	find_name(l, fd);
	l->matched = is_marked(fd);
	l->forks = process_note_forks();
	fdtable_set(fd, &l->entry);
	return l;
}

bool socket_before_listen(int fd)
{
	uint32_t reason;
	bool serves;

	if (fdtable_get(fd) || process.off ||
	    sys_socket_option(fd, SO_PROTOCOL) != IPPROTO_TCP)
		return false;
	engine_lock();
	serves = settings_now(&reason) && settings_serve();
	engine_unlock();
	return serves &&
	       (socket_history_is_deferred(fd) ? offer_mark_deferred(fd)
					       : offer_mark(fd)) == 0;
}

void socket_listening(int fd)
{
	struct listener *l;
	bool matched;

	engine_lock();
	l = track_listener(fd);
	if (l)
		mark(l, fd);
	matched = l && l->matched;
	engine_unlock();
	if (matched)
		private_fd_make_room();
}

bool socket_before_accept(int fd)
{
	struct listener *l = listener_of(fd);

	if (!l && (fdtable_get(fd) || is_idle(fd)))
		return false;
	if (l && !settings_moved(l->marked_at) && l->marked_by == process.pid)
		return l->matched;
	/* An inherited listener is met here for the first time. */
	engine_lock();
	l = track_listener(fd);
	if (l)
		mark(l, fd);
	engine_unlock();
	/* Without memory for it what it promised holds all the same. */
	return l ? l->matched : !is_idle(fd) && is_marked(fd);
}

/* A program that stays on TCP, as on the list of excluded ones, gets no mark by
 * it. */
void socket_defer_changed(int fd)
{
	struct listener *l = listener_of(fd);
	uint32_t reason;

	if (!l || l->deferred == socket_history_is_deferred(fd))
		return;
	engine_lock();
	if ((settings_now(&reason) && settings_serve()) || is_marked(fd))
		offer(l, fd);
	engine_unlock();
}

bool socket_is_deferred(int fd)
{
	const struct listener *l = listener_of(fd);

	return l && l->deferred;
}

void listener_free(struct listener *l)
{
	if (l->listed)
		registry_unlisten(l->port);
	pool_put(l, sizeof(*l));
}

void listener_unmark(int fd)
{
	struct listener *l = listener_of(fd);

	offer_unmark(fd);
	engine_lock();
	l->given = true;
	if (l->listed)
		registry_unlisten(l->port);
	l->listed = false;
	engine_unlock();
}

FORK_TEXT bool listener_drop(int fd)
{
	struct listener *l = listener_of(fd);

	if (!l || l->listed)
		return false;
	if (process_is_empty_copy && __libc_single_threaded && !l->held &&
	    fdtable_leave(fd, &l->entry))
		return true;
	if (!fdtable_drop(fd, &l->entry))
		return true;
	if (l->held)
		listener_on_end(l);
	l->next = atomic_load(&closed);
	while (!atomic_compare_exchange_weak(&closed, &l->next, l))
		;
	return true;
}
