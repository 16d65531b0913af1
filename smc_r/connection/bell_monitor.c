/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ear: how a thread sleeps on a bell that other processes may sleep on. */
#include "smc_r/connection/bell_monitor.h"

#include "smc_r/memory/bell.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define RINGS_MAX 64u /* outstanding bytes in a bell before it is emptied */

/* Holders that have ended may still be counted. */
static bool is_watched_elsewhere(const struct connection *c)
{
	uint64_t holders = atomic_load(&c->slot->holders);

	return (atomic_load_explicit(&c->slot->socket_flags,
				     memory_order_relaxed) &
		SOCKET_WATCHED) &&
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
	return hidden_fd((int)fd);
}

/* 0 stands for none: no number of ours is that low. */
static int find(struct connection *c, _Atomic int *ear, int bell)
{
	int fd = atomic_load_explicit(ear, memory_order_acquire);
	sigset_t saved;

	if (__builtin_expect(fd == 0 && !is_watched_elsewhere(c), 1) ||
	    atomic_load(&c->deaf))
		return bell;
	if (fd > 0)
		return fd;
	engine_lock(&saved);
	fd = atomic_load(ear);
	if (fd == 0 && !atomic_load(&c->dead)) {
		hidden_begin();
		fd = make(bell);
		hidden_end();
		atomic_store(ear, fd > 0 ? fd : 0);
	}
	engine_unlock(&saved);
	return fd > 0 ? fd : bell;
}

int ear_data(struct connection *c)
{
	return find(c, &c->ear_data, c->bells.data);
}

int ear_room(struct connection *c)
{
	return bells_are_one(&c->bells) ? ear_data(c)
					: find(c, &c->ear_room, c->bells.room);
}

/* A ring that finds no place wakes nobody. A thread that has not heard those
 * that are taken here hears the one that is put back. */
static void empty_bell(struct connection *c, int bell, uint32_t rings,
		       uint32_t *drained)
{
	if (rings - *drained <= RINGS_MAX)
		return;
	*drained = rings;
	c->spoilt = true;
	bell_take(bell, bell_rings(bell));
	bell_ring_own(bell);
}

static void empty_bells(struct connection *c)
{
	empty_bell(c, c->bells.data, rings_of_data_bell(c), &c->drained_data);
	if (!bells_are_one(&c->bells))
		empty_bell(c, c->bells.room,
			   atomic_load(&c->own_wait->rings_room),
			   &c->drained_room);
}

bool ear_drain(struct connection *c, int bell)
{
	bool over = bell_drain(bell);

	if (!ear_is(c, bell))
		return over;
	if (over)
		atomic_store(&c->deaf, 1);
	else
		empty_bells(c);
	return over;
}

/* They told us by a ring of their own, and the peer may have rung behind it.
 * Nothing is given back where the next sleep would be on the bell again, and
 * end with this ring. */
void ear_give_back(struct connection *c, int bell)
{
	if (__builtin_expect(ear_is(c, bell) || !is_watched_elsewhere(c), 1) ||
	    (bell == c->bells.data ? ear_data(c) : ear_room(c)) == bell)
		return;
	c->spoilt = true;
	bell_ring_own(bell);
}
