/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bell_monitor: how a thread sleeps on a bell that other processes may sleep
 * on. */
#include "smc_r/connection/bell_monitor.h"

#include "smc_r/memory/bell.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define RINGS_MAX 64u /* outstanding bytes in a bell before it is emptied */

/* Holders that have ended may still be counted. */
static bool is_watched_elsewhere(const struct connection *c)
{
	uint64_t holders = atomic_load(&c->slot->holders);

	return (relaxed_load(&c->slot->socket_flags) & SOCKET_WATCHED) &&
	       (holders & (holders - 1));
}

static int make(int bell)
{
	long fd = SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0);

	if (fd < 0)
		return -1;
	if (sys_epoll_ctl((int)fd, EPOLL_CTL_ADD, bell, EPOLLIN | EPOLLET, 0) <
	    0) {
		sys_close((int)fd);
		return -1;
	}
	return private_fd((int)fd);
}

/* 0 stands for none: no number of ours is that low. */
static int find(struct connection *c, _Atomic int *monitor, int bell)
{
	int fd = atomic_load_explicit(monitor, memory_order_acquire);

	if (__builtin_expect(fd == 0 && !is_watched_elsewhere(c), 1) ||
	    atomic_load(&c->bell.dead))
		return bell;
	if (fd > 0)
		return fd;
	engine_lock();
	fd = atomic_load(monitor);
	if (fd == 0 && !atomic_load(&c->dead)) {
		private_fd_begin();
		fd = make(bell);
		private_fd_end();
		atomic_store(monitor, fd > 0 ? fd : 0);
	}
	engine_unlock();
	return fd > 0 ? fd : bell;
}

int bell_monitor_data(struct connection *c)
{
	return find(c, &c->bell.monitor_data, c->bells.data);
}

int bell_monitor_room(struct connection *c)
{
	return bells_are_one(&c->bells)
		   ? bell_monitor_data(c)
		   : find(c, &c->bell.monitor_room, c->bells.room);
}

/* A ring that finds no place wakes nobody. A thread that has not heard those
 * that are taken here hears the one that is put back. */
static void empty_bell(struct connection *c, int bell, uint32_t rings,
		       uint32_t *drained)
{
	if (rings - *drained <= RINGS_MAX)
		return;
	*drained = rings;
	c->bell.dirty = true;
	bell_take(bell, bell_rings(bell));
	bell_ring_own(bell);
}

static void empty_bells(struct connection *c)
{
	empty_bell(c, c->bells.data, rings_of_data_bell(c),
		   &c->bell.drained_data);
	if (!bells_are_one(&c->bells))
		empty_bell(c, c->bells.room,
			   atomic_load(&c->own_wait->rings_room),
			   &c->bell.drained_room);
}

bool bell_monitor_drain(struct connection *c, int bell)
{
	bool over = bell_drain(bell);

	if (!bell_monitor_is(c, bell))
		return over;
	if (over)
		atomic_store(&c->bell.dead, 1);
	else
		empty_bells(c);
	return over;
}

/* They told us by a ring of their own, and the peer may have rung behind it.
 * Nothing is given back where the next sleep would be on the bell again, and
 * end with this ring. */
void bell_monitor_give_back(struct connection *c, int bell)
{
	if (__builtin_expect(
		bell_monitor_is(c, bell) || !is_watched_elsewhere(c), 1) ||
	    (bell == c->bells.data ? bell_monitor_data(c)
				   : bell_monitor_room(c)) == bell)
		return;
	c->bell.dirty = true;
	bell_ring_own(bell);
}
