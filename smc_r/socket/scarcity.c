/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* scarcity: the program has used up its descriptors. */
#include "smc_r/socket/scarcity.h"

#include <fcntl.h>

#include "smc_r/connection/connection.h"
#include "smc_r/epoll/epoll_instance.h"
#include "smc_r/epoll/epoll_set.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/fallback/demote.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/identity.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/stream.h"

#define KEPT SCARCITY_KEPT

/* The program's call takes no longer, where peers have to be waited for. */
#define LONGEST_NS 1000000000u

/* A thread that slept in a call is out of it by then. */
#define NAP_NS 1000000
#define NAPS   20

/* ---- what connections have ---- */

static bool is_idle(struct connection *c)
{
	return stream_fill(c) == 0 && !stream_is_shut(c) &&
	       !atomic_load(&c->closing.callers);
}

static void drop(const struct connection *c, int fd)
{
	engine_lock();
	if (connection_of(fd) == c && connection_phase(c) == PHASE_NATIVE) {
		if (c->epoll.members)
			connection_on_native(connection_of(fd), true);
		connection_drop_if_native(fd);
	}
	engine_unlock();
}

/* It goes to TCP, if it is not there yet, and what it had is given back. One
 * without an element has nothing, but its instance has. */
static void leave(int fd, bool idle)
{
	struct connection *c = connection_of(fd);

	if (!c || atomic_load(&c->dead) || (!c->rmb && idle))
		return;
	/* What it needs to be on SMC-R may have come. */
	if (connection_phase(c) == PHASE_HANDSHAKE)
		handshake_step(c, fd);
	if (!c->rmb && connection_phase(c) == PHASE_HANDSHAKE)
		handshake_abort(c, fd, REASON_DESCRIPTORS);
	else if (!idle || (connection_phase(c) == PHASE_ACTIVE && is_idle(c)))
		demote_for_successor(c, fd, REASON_DESCRIPTORS,
				     SUCCESSOR_GIVEN);
	if (connection_phase(c) == PHASE_NATIVE)
		drop(c, fd);
}

/* The youngest have the highest numbers, as a rule. */
static void leave_until(unsigned in_use, bool idle)
{
	uint64_t end = sys_end_in_ns(LONGEST_NS);

	for (int fd = fdtable_program_end();
	     --fd >= 0 && private_fd_in_use() > in_use && sys_left_ns(end);)
		leave(fd, idle);
}

/* Calls that slept when their connection left end now. */
static void await_calls(unsigned in_use)
{
	for (int i = 0; i < NAPS && private_fd_in_use() > in_use; i++) {
		sys_nap(NAP_NS);
		engine_lock();
		connection_drop_native();
		engine_unlock();
	}
}

/* ---- what the engine has ---- */

/* All of it can be made again. */
static void give_back_own(void)
{
	engine_lock();
	for (int fd = 0; fd < fdtable_program_end(); fd++) {
		struct epoll *e = epoll_of(fd);

		if (e && e->shadow >= 0 && !e->is_polled &&
		    !epoll_has_members(e) && epoll_is_ours(e))
			epoll_remove_shadow(e);
	}
	linkgroup_shed();
	linkgroup_deaths_give_back();
	identity_give_back();
	segment_give_back_descriptors();
	engine_unlock();
}

/* How many are to be given back; what belongs to no connection is. */
static unsigned begin(void)
{
	unsigned n;

	engine_lock();
	n = private_fd_in_the_way();
	if (n > 0)
		linkgroup_shed();
	engine_unlock();
	return n;
}

/* A connection with unread bytes takes some to go to TCP: the peer's socket, or
 * those of a relay. */
static bool has_some(void)
{
	int a[2], b[2];
	bool some = SYS_CALL3(SYS_pipe2, a, O_CLOEXEC, 0) == 0;

	if (!some)
		return false;
	some = SYS_CALL3(SYS_pipe2, b, O_CLOEXEC, 0) == 0;
	sys_close(a[0]);
	sys_close(a[1]);
	if (some) {
		sys_close(b[0]);
		sys_close(b[1]);
	}
	return some;
}

static void give_back(unsigned before, unsigned n)
{
	unsigned target = before > n + KEPT ? before - n : KEPT;

	leave_until(target, true);
	if (private_fd_in_use() <= target)
		return;
	give_back_own();
	if (private_fd_in_use() <= target || !has_some())
		return;
	leave_until(target, false);
	await_calls(target);
	give_back_own();
}

bool scarcity_relieve(void)
{
	unsigned before = private_fd_in_use();
	bool relieved = false;
	int error = errno;
	unsigned n;

	if (before <= KEPT || process.confined || process_may_be_foreign())
		return false;
	n = begin();
	if (n > 0 && private_fd_in_use() + n > before)
		give_back(before, n);
	relieved = n > 0 && private_fd_in_use() < before;
	errno = error;
	return relieved;
}
