/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* epoll_peek: would a wait return at once? Nothing is taken. */
#include "smc_r/epoll/epoll_set.h"

#include <errno.h>
#include <poll.h>
#include <sys/single_threaded.h>

#include "smc_r/epoll/epoll_arm.h"
#include "smc_r/epoll/epoll_judge.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/epoll/epoll_ready.h"
#include "smc_r/epoll/epoll_shadow.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/sys.h"
#include "smc_r/wait/readiness.h"
#include "smc_r/wait/stall.h"

/* This judges by the members alone, without entering the kernel. */
static bool members_ready(struct epoll *e)
{
	bool all = !e->uses_bits || epoll_has_others(e);
	uint32_t count = all ? epoll_awake(e) : 0;

	if (!all && epoll_ready_any(e, epoll_member_ready))
		return true;
	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);

		if (m && epoll_member_ready(m))
			return true;
	}
	return false;
}

/* The shadows' own signs of life are no events of the program's. Those that are
 * taken here were for all threads that sleep on e, and for us if we do so next.
 * A wake-up of ours is passed on no further: members that are ready, and that
 * nobody is to be told of, would keep everybody awake. */
static bool kernel_ready(struct epoll *e)
{
	struct pollfd p = {.fd = e->fd, .events = POLLIN};
	bool news = e->shadow >= 0 && epoll_drain_all(e);
	bool ready;

	inject_step(STEP_SETTLED);
	ready = SYS_CALL3(SYS_poll, &p, 1, 0) == 1;
	if (news)
		epoll_wake(e, WAKE_PASS_ON);
	return ready;
}

bool epoll_is_ready(struct epoll *e)
{
	/* The kernel tells what TCP brought to members, too. */
	return members_ready(e) || kernel_ready(e) || members_ready(e);
}

/* Milliseconds until a timer changes the readiness of m; -1: no timer. */
static int member_ms(struct epoll_member *m, uint64_t *now)
{
	int left =
	    readiness_left_ms(m->connection, epoll_waits_for_output(m), now);

	if (connection_phase(m->connection) == PHASE_HANDSHAKE) {
		if (left == 0)
			epoll_member_news(m);
		return left;
	}
	if (left < 0)
		return left;
	atomic_store(&m->epoll->stalled, 1);
	if (left == 0)
		epoll_ready_mark(m);
	return left;
}

int epoll_pending_ms(struct epoll *e)
{
	uint32_t count = epoll_awake(e);
	uint64_t now = 0;
	int least = -1;

	if (!atomic_exchange(&e->stalled, 0) && e->uses_bits &&
	    !epoll_has_others(e))
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		struct epoll_member *m = epoll_member_at(e, i);
		int left = m ? member_ms(m, &now) : -1;

		if (left >= 0 && (least < 0 || left < least))
			least = left;
	}
	return least;
}

/*
 * A ring wakes one of the threads that share an instance: it disarms all
 * members, and the kernel's sign of it goes to the first thread that looks. A
 * thread that may have taken it lets them ring again for those that sleep on,
 * and wakes one if there is more to tell, as the kernel does. A thread that
 * sleeps on e from outside, by poll(), looks at members alone.
 */
static bool is_more(struct epoll *e, bool asleep)
{
	if (epoll_is_anothers(e))
		return false;
	inject_step(STEP_TOOK);
	epoll_arm(e, true);
	inject_step(STEP_PASSED);
	/* There may be no other thread: one that arms for its own next sleep
	 * looks, but not at an instance that is the kernel's. */
	if (!asleep && __libc_single_threaded && !e->given)
		return false;
	return members_ready(e) || (asleep && epoll_pending_ms(e) >= 0);
}

void epoll_wake(struct epoll *e, enum epoll_wake why)
{
	bool asleep = atomic_load(&e->shared->sleepers) > 0;
	uint64_t one = 1;
	int error;

	if (!(asleep || e->is_polled) || e->poke < 0)
		return;
	error = errno;
	if (why == WAKE_CHANGE || is_more(e, asleep))
		SYS_CALL3(SYS_write, e->poke, &one, sizeof(one));
	errno = error;
}
