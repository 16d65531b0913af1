/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_adopt: registrations that were made before connect(). */
#include "smc_r/epoll/epoll_adopt.h"

#include <errno.h>

#include "smc_r/epoll/epoll_attach.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/wait/registrations.h"

/* A descriptor has one bit: was it once put into an instance? The table is not
 * made when it is needed, as that would be a call of ours. */
static _Alignas(64) _Atomic uint64_t registered[FDTABLE_SIZE / 64];

/* An fd that is registered with the kernel may become a candidate later. */
void epoll_remember(int fd)
{
	if ((unsigned)fd < FDTABLE_SIZE)
		atomic_fetch_or(&registered[fd / 64], 1ull << fd % 64);
}

static bool was_registered(int fd)
{
	uint64_t bit = 1ull << fd % 64;

	return (atomic_load(&registered[fd / 64]) & bit) &&
	       (atomic_fetch_and(&registered[fd / 64], ~bit) & bit);
}

/* The list knows numbers only, and ours may be another file in a parent. */
static bool is_registered(struct epoll *e, int fd, struct epoll_event *event)
{
	long result;

	if (!registrations_find(e->fd, fd, event))
		return false;
	result = sys_epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, 0, 0);
	if (result == 0)
		sys_epoll_ctl(e->fd, EPOLL_CTL_DEL, fd, 0, 0);
	return result == -EEXIST;
}

/* The reason why that instance is the kernel's. */
static uint32_t adopt_one(struct epoll *e, struct connection *c, int fd)
{
	struct epoll_event event;
	struct epoll_member *m;

	if (epoll_is_anothers(e) || !is_registered(e, fd, &event))
		return REASON_NONE;
	if (e->given || epoll_make_shadow(e) < 0)
		return e->given;
	m = epoll_member_add(e, c, fd, &event);
	if (!m)
		return REASON_NONE;
	/* The kernel adds these to all but what EPOLLONESHOT has silenced. */
	if (!(event.events & (EPOLLERR | EPOLLHUP)))
		atomic_store(&m->enabled, 0);
	sys_epoll_ctl(e->fd, EPOLL_CTL_DEL, fd, 0, 0);
	epoll_member_attach(m);
	epoll_wake(e, WAKE_CHANGE);
	return e->given;
}

uint32_t epoll_adopt(struct connection *c, int fd)
{
	struct epoll_event event;
	uint32_t reason = REASON_NONE;

	if (!was_registered(fd))
		return reason;
	for (int ep = 0; ep < fdtable_program_end(); ep++) {
		struct epoll *e = epoll_of(ep);

		if (e && epoll_user(e) == EPOLL_NOBODY &&
		    is_registered(e, fd, &event))
			epoll_claim(e);
	}
	engine_lock();
	for (int ep = 0; ep < fdtable_program_end(); ep++) {
		uint32_t given =
		    epoll_of(ep) ? adopt_one(epoll_of(ep), c, fd) : REASON_NONE;

		reason = reason ? reason : given;
	}
	engine_unlock();
	return reason;
}
