/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_instance: the program's instances, and the shadows inside them. */
#include "smc_r/epoll/epoll_instance.h"

#include <string.h>
#include <sys/eventfd.h>

#include "smc_r/epoll/epoll_attach.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/pool.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

static uint32_t waiters_used = 1; /* bit 0 stands for "none" */

/* ---- memory ---- */

/* They are enough for nearly all programs, without a call of ours. They are
 * used in turn, so that a thread that looks at one that was closed finds it as
 * it was. */
#define READY 128u

static _Alignas(64) struct epoll ready[READY];
static _Atomic uint32_t ready_used[READY];
static _Atomic uint32_t ready_turn;

static struct epoll *take_memory(void)
{
	uint32_t turn = atomic_fetch_add(&ready_turn, 1);
	struct epoll *e;

	for (uint32_t i = 0; i < READY; i++) {
		uint32_t at = (turn + i) % READY;
		uint32_t free = 0;

		if (atomic_compare_exchange_strong(&ready_used[at], &free, 1))
			return memset(&ready[at], 0, sizeof(ready[at]));
	}
	engine_lock();
	e = pool_get(sizeof(*e));
	engine_unlock();
	return e;
}

static void give_memory(struct epoll *e)
{
	if (e >= ready && e < ready + READY)
		atomic_store(&ready_used[e - ready], 0);
	else
		pool_put_late(e, sizeof(*e));
}

/* ---- life ---- */

static void look_again(struct connection *c)
{
	epoll_wake_members(c, AGAIN_NOTHING);
}

void epoll_created(int fd)
{
	struct epoll *e = take_memory();

	if (!e)
		return;
	e->shared = epoll_shared_get(&e->cookie);
	e->entry.kind = FDENTRY_EPOLL;
	e->fd = fd;
	e->shadow = e->bells = e->poke = -1;
	e->forks = process_note_forks();
	if (!e->shared) {
		give_memory(e);
		return;
	}
	connection_on_native = epoll_members_leave;
	connection_on_rings = look_again;
	connection_on_knock_settled = epoll_knock_over;
	fdtable_set(fd, &e->entry);
}

static uint32_t take_waiter(void)
{
	for (uint32_t w = 1; w < RMB_WAITERS; w++)
		if (!(waiters_used >> w & 1)) {
			waiters_used |= 1u << w;
			return w;
		}
	return 0;
}

/* In E are the deaths that this process has now, and not its parent's. */
static bool hears_deaths(const struct epoll *e)
{
	return e->hears_deaths &&
	       e->hears_deaths == linkgroup_deaths_generation();
}

void epoll_draw_cookie(struct epoll *e)
{
	uint64_t cookie;

	if (SYS_CALL3(SYS_getrandom, &cookie, sizeof(cookie), 0) ==
	    sizeof(cookie))
		/* The lowest bits tell the cookies of an instance apart. */
		e->cookie = cookie & ~(uint64_t)(EPOLL_COOKIES - 1);
	if (hears_deaths(e))
		sys_epoll_ctl(e->fd, EPOLL_CTL_MOD, linkgroup_deaths(),
			      EPOLLIN | EPOLLET, e->cookie | EPOLL_DEATHS);
	if (e->shadow >= 0) {
		sys_epoll_ctl(e->fd, EPOLL_CTL_MOD, e->shadow,
			      EPOLLIN | EPOLLET, e->cookie);
		sys_epoll_ctl(e->fd, EPOLL_CTL_MOD, e->bells, EPOLLIN | EPOLLET,
			      e->cookie | EPOLL_RUNG);
	}
}

static int make_private(long fd)
{
	return fd < 0 ? (int)fd : private_fd((int)fd);
}

/* fd sits in e under this cookie, edge-triggered. 0 or the first -errno. */
static int put_in(int e, int fd, uint64_t cookie)
{
	if (e < 0 || fd < 0)
		return e < 0 ? e : fd;
	return (int)sys_epoll_ctl(e, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET,
				  cookie);
}

/* Closes this process's S and B; other processes that have them keep them. */
static void epoll_drop_shadow(struct epoll *e)
{
	if (e->waiter)
		waiters_used &= ~(1u << e->waiter);
	private_fd_close(e->poke);
	private_fd_close(e->bells);
	private_fd_close(e->shadow);
	e->waiter = 0;
	e->shadow = e->bells = e->poke = -1;
}

int epoll_make_shadow(struct epoll *e)
{
	uint32_t nobody = EPOLL_NOBODY;
	int result;

	if (e->shadow >= 0)
		return 0;
	atomic_compare_exchange_strong(&e->shared->user, &nobody,
				       (uint32_t)process.pid);
	e->shadow =
	    make_private(SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0));
	e->bells =
	    make_private(SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0));
	e->poke = make_private(
	    SYS_CALL3(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK, 0));
	result = put_in(e->shadow, e->poke, 0);
	if (result == 0)
		result = put_in(e->fd, e->bells, e->cookie | EPOLL_RUNG);
	if (result == 0)
		result = put_in(e->fd, e->shadow, e->cookie);
	if (result < 0)
		epoll_drop_shadow(e);
	else
		e->waiter = take_waiter();
	e->bare_waits = 0;
	return result;
}

/* An instance that has something of ours has shadows as well: so another
 * process that has it does not take it as it is. */
static void begin_hearing(struct epoll *e)
{
	engine_lock();
	if (linkgroup_deaths_generation() && !hears_deaths(e) && !e->given &&
	    epoll_is_settled(e) &&
	    (e->shadow >= 0 || e->forks == atomic_load(&process.forks)) &&
	    epoll_make_shadow(e) == 0)
		put_in(e->fd, linkgroup_deaths(), e->cookie | EPOLL_DEATHS);
	e->hears_deaths = linkgroup_deaths_generation();
	engine_unlock();
}

void epoll_hear_deaths(struct epoll *e)
{
	int deaths = linkgroup_deaths();

	if (__builtin_expect(deaths >= 0 && !hears_deaths(e), 0))
		begin_hearing(e);
	if (__builtin_expect(e->bereaved, 0)) {
		e->bereaved = false;
		linkgroup_deaths_heard();
	}
}

void epoll_remove_shadow(struct epoll *e)
{
	if (hears_deaths(e))
		sys_epoll_ctl(e->fd, EPOLL_CTL_DEL, linkgroup_deaths(), 0, 0);
	e->hears_deaths = 0;
	sys_epoll_ctl(e->fd, EPOLL_CTL_DEL, e->shadow, 0, 0);
	sys_epoll_ctl(e->fd, EPOLL_CTL_DEL, e->bells, 0, 0);
	epoll_drop_shadow(e);
}

void epoll_closing(int fd)
{
	struct epoll *e = epoll_of(fd);
	struct fdentry *entry;

	if (!e || !fdtable_clear(fd, &entry))
		return;
	epoll_members_end(e);
	epoll_drop_shadow(e);
	epoll_shared_put(e);
	/* A thread that sleeps on it comes back to it, whenever that is. */
	e->fd = -1;
	if (atomic_load(&e->shared->sleepers) == 0)
		give_memory(e);
}

bool epoll_close_bare(int fd)
{
	struct epoll *e = epoll_of(fd);

	if (!e || e < ready || e >= ready + READY ||
	    (fdtable_connections_end() > 0 &&
	     (!process.confined || epoll_has_members(e) || e->shadow >= 0)))
		return false;
	epoll_closing(fd);
	return true;
}
