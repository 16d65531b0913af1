/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* poll_wait: poll over mixed sets of descriptors. */
#include "smc_r/poll/poll_wait.h"

#include <errno.h>
#include <sys/mman.h>

#include "smc_r/connection/connection.h"
#include "smc_r/connection/sleepers.h"
#include "smc_r/connection/spin.h"
#include "smc_r/handshake/first_burst.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/poll/poll_call.h"
#include "smc_r/socket/socket_listen.h"

#define ON_STACK 64 /* descriptors; larger sets get pages of their own */
#define ENTRY    (POLL_PER_FD * sizeof(struct pollfd) + sizeof(short))

#define SPIN_ASK_NS 5000u

static int spin(struct poll_call *p)
{
	bool alone = poll_only_members(p->fds, p->n);
	struct connection *c = NULL;
	uint64_t asked = 0;
	bool shares = false;
	struct spin s;
	int ready;

	if (p->n > 16)
		return 0;
	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *other = poll_member(p->fds[i].fd);

		if (!other || connection_phase(other) != PHASE_ACTIVE)
			continue;
		c = c ? c : other;
		shares |= peer_is_on_our_core(other);
	}
	if (!c || !spin_begin(&s, &c->spin_score, shares,
			      p->for_ever ? UINT64_MAX : p->end_ns))
		return 0;
	do {
		for (int i = 0; i < 8; i++) {
			ready = poll_look_members(p->fds, p->n);
			if (ready) {
				spin_hit(&c->spin_score);
				return ready;
			}
		}
		if (alone || s.spent_ns - asked < SPIN_ASK_NS)
			continue;
		asked = s.spent_ns;
		ready = poll_look_all(p->fds, p->all, p->n);
		if (ready)
			return ready;
	} while (spin_step(&s));
	p->spun = c;
	p->spin = s;
	return 0;
}

/* The clock starts once, and late: a poll that is ready at once needs none. */
static void start_clock(struct poll_call *p)
{
	if (!p->for_ever && p->end_ns == 0)
		p->end_ns = sys_end_in_ns(p->wait_ns);
}

/* Connections that hide that they can be written to are told, as far as `tells`
 * says so; behind: only those that stand behind a listener which has something
 * to accept. */
static int look_told(struct poll_call *p, int ready, bool behind,
		     bool (*tells)(struct connection *))
{
	bool may = !behind, any = false;

	for (nfds_t i = 0; i < p->n; i++) {
		short hidden = p->fds[i].events & ~p->fds[i].revents &
			       (POLLOUT | POLLWRNORM);
		struct connection *c;

		if (behind && listener_of(p->fds[i].fd))
			may |= p->fds[i].revents & (POLLIN | POLLRDNORM);
		if (!hidden || !may)
			continue;
		c = poll_member(p->fds[i].fd);
		any |= c && tells(c);
	}
	return any ? poll_look_all(p->fds, p->all, p->n) : ready;
}

static int wait_rounds(struct poll_call *p)
{
	int ready = poll_look_members(p->fds, p->n);

	if (ready == 0) {
		/* The spin may take all the time that there is. */
		sleepers_reap();
		first_burst_end();
		start_clock(p);
		ready = spin(p);
	}
	/* What a spin found may be the kernel's alone. */
	if (ready > 0 && !poll_kernel_is_due(p) && poll_without_kernel(p) > 0)
		return poll_count_ready(p->fds, p->n);
	/* The sleep asks for the ends of members. */
	if (ready != 0 || p->only_looks || !poll_only_members(p->fds, p->n) ||
	    poll_left_ns(p) == 0)
		ready = poll_look_all(p->fds, p->all, p->n);
	/* A connection to ourselves, which nobody accepts while we sleep here:
	 * nothing else is ready, so that it is as writable as it will be. */
	if (ready == 0)
		ready = look_told(p, 0, false, handshake_tells_alone);
	if (ready != 0)
		return ready;
	start_clock(p);
	while (poll_left_ns(p) > 0) {
		ready = poll_sleep(p);
		if (ready != 0 && p->spun)
			spin_slept(&p->spun->spin_score, &p->spin);
		if (ready != 0)
			return ready;
	}
	return look_told(p, 0, false, handshake_tells_output);
}

static int call(struct poll_call p)
{
	struct pollfd stack[ON_STACK * POLL_PER_FD];
	short notes[ON_STACK];
	size_t bytes = p.n * ENTRY;
	int result;

	p.all = stack;
	p.notes = notes;
	p.room = (p.n > ON_STACK ? p.n : ON_STACK) * POLL_PER_FD;
	p.slice_ms = POLL_SLICE_FIRST_MS;
	p.only_looks = !p.for_ever && p.wait_ns == 0;
	if (p.n > ON_STACK) {
		p.all = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p.all == MAP_FAILED) {
			errno = ENOMEM;
			return -1;
		}
		p.notes = (short *)(void *)(p.all + p.n * POLL_PER_FD);
	}
	result = wait_rounds(&p);
	/* A poll that only looks is told all that TCP would tell. Only in one
	 * that would have waited does what else is ready take the place of a
	 * connection that hides; but on TCP a connection to ourselves can be
	 * written to with the very poll that tells of it at the listener. So it
	 * is told where that is ahead of it in the array, which programs go
	 * through in its order. */
	if (p.only_looks && result > 0)
		result = look_told(&p, result, false, handshake_tells_output);
	else if (result > 0 && connections_starting() == 1)
		result = look_told(&p, result, true, handshake_tells_first);
	if (p.n > ON_STACK) {
		int error = errno;

		munmap(p.all, bytes);
		errno = error;
	}
	return result;
}

int poll_members(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		 const sigset_t *mask)
{
	struct poll_call p = {.fds = fds, .n = n, .mask = mask};
	struct timespec none = {0, 0};
	int result;

	p.for_ever = timeout == NULL;
	p.wait_ns = timeout ? sys_timeout_ns(timeout) : 0;
	result = call(p);
	/* A signal that the mask lets in ends the call though it does not
	 * sleep. */
	return result == 0 && mask ? real.ppoll(NULL, 0, &none, mask) : result;
}

int poll_members_ms(struct pollfd *fds, nfds_t n, int ms)
{
	struct poll_call p = {.fds = fds, .n = n, .by_clock = true};

	p.for_ever = ms < 0;
	p.wait_ns = ms > 0 ? (uint64_t)ms * 1000000u : 0;
	return call(p);
}
