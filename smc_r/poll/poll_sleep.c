/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* poll_sleep: one sleep in the kernel, among bells and descriptors. */
#include "smc_r/poll/poll_call.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "smc_r/connection/bell_monitor.h"
#include "smc_r/connection/connection_ends.h"
#include "smc_r/connection/sleepers.h"
#include "smc_r/epoll/epoll_arm.h"
#include "smc_r/epoll/epoll_member.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/memory/bell.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/status/segment.h"
#include "smc_r/stream/stream.h"
#include "smc_r/wait/readiness.h"
#include "smc_r/wait/stall.h"

/* No limit of descriptors is that low, where somebody polls so many. */
#define FEW_ENTRIES 32

#define SLICE_MAX_MS 50

/*
 * The kernel keeps a file for as long as somebody sleeps on it in poll(). So a
 * sleep counts as a call on each member, up to so many. They are noted where
 * they are found after a longjmp; a poll in a handler, on top of another one's
 * sleep, holds none.
 */
#define HELD_MAX 16

static __thread struct held {
	struct connection *members[HELD_MAX];
	_Atomic uint32_t calls; /* nobody asks */
	bool busy;
} held;

/* It does not go below 0: a fork on top of the sleep has set it to that. */
static void one_less(_Atomic uint32_t *count)
{
	uint32_t now = atomic_load(count);

	while (now > 0 && !atomic_compare_exchange_weak(count, &now, now - 1))
		;
}

static void release(struct connection *c)
{
	one_less(&c->closing.pollers);
	one_less(&c->closing.callers);
	socket_call_over(c);
}

static void let_go(void *owner)
{
	struct connection *members[HELD_MAX];
	struct held *h = owner;

	memcpy(members, h->members, sizeof(members));
	memset(h->members, 0, sizeof(members));
	h->busy = false;
	for (int i = 0; i < HELD_MAX; i++)
		if (members[i])
			release(members[i]);
}

static void hold(struct poll_call *p)
{
	p->call = (struct sleeper){
	    .count = &held.calls, .over = let_go, .owner = &held};
	sleepers_reap();
	if (held.busy)
		return;
	sleeper_begin(&p->call, NULL);
	held.busy = p->call.begun;
	for (nfds_t i = 0; p->call.begun && i < p->n && i < HELD_MAX; i++) {
		struct connection *c = poll_member(p->fds[i].fd);

		held.members[i] = c;
		if (!c)
			continue;
		atomic_fetch_add(&c->closing.callers, 1);
		atomic_fetch_add(&c->closing.pollers, 1);
	}
}

/* The member stays the same for all of a sleep, whatever becomes of the number.
 */
static struct connection *member_of(const struct poll_call *p, nfds_t i)
{
	return p->call.begun && i < HELD_MAX ? held.members[i]
					     : poll_member(p->fds[i].fd);
}

uint64_t poll_left_ns(const struct poll_call *p)
{
	return p->for_ever ? UINT64_MAX : sys_left_ns(p->end_ns);
}

static nfds_t add(struct pollfd *all, nfds_t at, int fd, short events)
{
	all[at] = (struct pollfd){.fd = fd, .events = events};
	return at + 1;
}

/* The kernel tells these events of a connection on rings. */
static short kernel_share(const struct connection *c)
{
	short events = POLLRDHUP | POLLPRI;

	if (stream_reads_tcp(c))
		events |= POLLIN;
	if (stream_writes_tcp(c))
		events |= POLLOUT;
	return events;
}

/* The notes of a member tell where we are counted among the sleepers. The first
 * of them takes the rings of that bell, and the others look by the clock
 * (sleepers.h). */
#define IS_MEMBER  1
#define ON_DATA    2
#define FIRST_DATA 4
#define ON_ROOM    8
#define FIRST_ROOM 16
#define ON_MESSAGE 32 /* a message of the handshake */
#define SEEN_SHIFT 6  /* above: slot->messages when we looked */

/* The member of fds[i], also when it became plain TCP meanwhile. */
static struct connection *left_member(const struct poll_call *p, nfds_t i)
{
	return p->call.begun && i < HELD_MAX ? held.members[i]
					     : connection_of(p->fds[i].fd);
}

static short seen_of(const struct connection *c)
{
	return (short)((atomic_load(&c->slot->messages) << SEEN_SHIFT) &
		       0x7fff);
}

/* Returns what keeps the place: `on`, and `first` if we are. */
static short join(struct poll_call *p, struct sleep_place at, short on,
		  short first)
{
	sleepers_join(at);
	if (sleepers_first(at))
		return (short)(on | first);
	p->crowded = true;
	return on;
}

/* A ring that is not ours to take must not end every sleep. */
static nfds_t add_bell(const struct poll_call *p, nfds_t at, int bell,
		       bool first)
{
	return first || !p->rung ? add(p->all, at, bell, POLLIN) : at;
}

/* The end of the peer concerns every poll, until it is known; other events only
 * a poll that asks for them. After a seal, what the program shut for reading
 * looks like that end, for ever. */
static short everybodys(const struct connection *c)
{
	return connection_tcp_ended(c) ||
		       (connection_reads_no_more(c) && stream_writes_tcp(c))
		   ? 0
		   : tcp_end_events(c);
}

/* If its bells do not fit beside what others may need, the clock makes us look
 * at it. */
static nfds_t add_knock(struct poll_call *p, nfds_t at, struct connection *c,
			nfds_t i)
{
	const struct knocks *k = &c->knock.k;
	nfds_t others = (p->n - i - 1) * (POLL_PER_FD - 1);

	if (at + k->count + others > p->room) {
		p->crowded = true;
		return at;
	}
	if (!knock_hear(c))
		return at;
	for (uint32_t b = 0; b < k->count; b++)
		at = add(p->all, at, k->at[b].bell, POLLIN);
	return at;
}

static nfds_t add_member(struct poll_call *p, nfds_t at, struct connection *c,
			 nfds_t i)
{
	short asked = p->fds[i].events;
	short *events = &p->all[i].events;
	short *note = &p->notes[i];

	*note = (short)(seen_of(c) | IS_MEMBER);
	if (connection_phase(c) != PHASE_ACTIVE) {
		/* A piece of a message, which only more of it makes news. */
		*events = c->opening.unread ? POLLRDHUP : POLLIN | POLLRDHUP;
		p->crowded |= c->opening.unread > 0;
		if (connection_phase(c) == PHASE_CONNECTING)
			*events |= POLLOUT;
		return knock_is_pending(c) ? add_knock(p, at, c, i) : at;
	}
	*events = kernel_share(c) & (asked | everybodys(c));
	if (connection_is_far(c))
		p->all[i].fd = -1;
	*note |= join(p, place_for_data(c), ON_DATA, FIRST_DATA);
	if (asked & (POLLOUT | POLLWRNORM)) {
		*note |= join(p, place_for_room(c), ON_ROOM, FIRST_ROOM);
		if (!stream_knows_room(c))
			stall_begin(c);
	}
	p->unfenced |= readiness_arm(c, (uint32_t)(unsigned short)asked);
	/* It would end every sleep, and only we ourselves could ring. */
	if (relaxed_load(&c->bell.dead)) {
		p->crowded = true;
		return at;
	}
	at = add_bell(p, at, bell_monitor_data(c), *note & FIRST_DATA);
	if (*note & ON_ROOM)
		at = add_bell(p, at, bell_monitor_room(c), *note & FIRST_ROOM);
	return at;
}

static void prepare(struct poll_call *p)
{
	nfds_t at = p->n;
	int deaths;

	p->crowded = p->unfenced = p->slept = p->gathered = false;
	for (nfds_t i = 0; i < p->n; i++) {
		int fd = p->fds[i].fd;
		struct connection *c = member_of(p, i);

		p->all[i] = p->fds[i];
		p->notes[i] = 0;
		if (poll_instance(fd)) {
			poll_instance(fd)->is_polled = true;
			p->crowded |= !epoll_arm(poll_instance(fd), true).sure;
		}
		if (c)
			at = add_member(p, at, c, i);
	}
	p->deaths = 0;
	deaths = linkgroup_deaths();
	if (deaths >= 0 && at < p->room) {
		p->deaths = at;
		at = add(p->all, at, deaths, POLLIN);
	}
	p->entries = at;
}

/* Nothing was ready. False: a message was taken since we looked (messages.h).
 */
static bool enter_handshakes(struct poll_call *p)
{
	bool enters = true;

	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *c = member_of(p, i);
		short seen = p->notes[i];

		if (!c || (seen & (IS_MEMBER | ON_DATA)) != IS_MEMBER)
			continue;
		p->notes[i] |= ON_MESSAGE;
		sleepers_join(place_for_data(c));
		if ((seen_of(c) | IS_MEMBER) != seen)
			enters = false;
	}
	return enters;
}

static void leave_handshakes(const struct poll_call *p)
{
	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *c = left_member(p, i);

		if (c && (p->notes[i] & ON_MESSAGE))
			sleepers_leave(place_for_data(c));
	}
}

/* Did it ring, or may it have? *at goes along the bells in p->all. */
static bool has_rung(const struct poll_call *p, nfds_t *at, int bell)
{
	if (p->gathered)
		return true;
	for (nfds_t i = *at; i < p->entries; i++)
		if (p->all[i].fd == bell) {
			*at = i + 1;
			return p->all[i].revents != 0;
		}
	return false;
}

static bool is_on_rings(const struct connection *c)
{
	return c->rmb && connection_phase(c) == PHASE_ACTIVE;
}

/* Empties the bells that rang: a byte that stays would wake every poll from
 * here on. */
static void drain_member(const struct poll_call *p, nfds_t *at,
			 struct connection *c, nfds_t i)
{
	short on = p->notes[i];

	if ((on & FIRST_DATA) && has_rung(p, at, bell_monitor_data(c)) &&
	    bell_monitor_drain(c, bell_monitor_data(c))) {
		atomic_store(&c->bell.dead, 1);
		tcp_has_ended(c, p->fds[i].fd);
	}
	if ((on & FIRST_ROOM) && has_rung(p, at, bell_monitor_room(c)))
		bell_monitor_drain(c, bell_monitor_room(c));
}

/* From here on another thread takes the rings. One that waits for the same in
 * an epoll instance looks again, as its ring may have been among ours. */
static void leave_member(const struct poll_call *p, struct connection *c,
			 nfds_t i)
{
	sleepers_leave(place_for_data(c));
	if (p->notes[i] & ON_ROOM)
		sleepers_leave(place_for_room(c));
	if (is_on_rings(c) && c->epoll.members)
		epoll_wake_members(c, AGAIN_NOTHING);
}

/* All bells come first: two entries may name one connection, and the first of
 * them gives up its place. */
static void leave(const struct poll_call *p)
{
	nfds_t at = p->n;

	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *c = left_member(p, i);

		if (c && (p->notes[i] & ON_DATA) && is_on_rings(c))
			drain_member(p, &at, c, i);
	}
	inject_step(STEP_DRAINED);
	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *c = left_member(p, i);

		if (c && (p->notes[i] & ON_DATA))
			leave_member(p, c, i);
	}
}

/* Milliseconds until a timer changes the readiness of one; -1: no timer. */
static int pending_ms(const struct pollfd *fds, nfds_t n)
{
	uint64_t now = 0;
	int least = -1;

	for (nfds_t i = 0; i < n; i++) {
		struct connection *c = poll_member(fds[i].fd);
		int left;

		if (!c)
			continue;
		left = readiness_left_ms(
		    c, fds[i].events & (POLLOUT | POLLWRNORM), &now);
		if (left >= 0 && (least < 0 || left < least))
			least = left;
	}
	return least;
}

/*
 * The kernel takes no more entries than the program may have descriptors. Those
 * that are too many are bells, and go into an epoll instance for this sleep.
 * It, or -1: then they are looked at by the clock.
 */
static int gather_bells(struct poll_call *p, nfds_t entries)
{
	long instance;

	engine_lock();
	private_fd_begin();
	instance = SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0);
	if (instance >= 0)
		instance = private_fd((int)instance);
	private_fd_end();
	engine_unlock();
	for (nfds_t i = p->n; i < entries && instance >= 0; i++) {
		long result = sys_epoll_ctl((int)instance, EPOLL_CTL_ADD,
					    p->all[i].fd, EPOLLIN, 0);

		/* One that is there came with the same descriptor twice. */
		p->crowded |= result < 0 && result != -EEXIST;
	}
	return (int)instance;
}

static void drop_bells(int instance)
{
	if (instance < 0)
		return;
	engine_lock();
	private_fd_close(instance);
	engine_unlock();
}

static nfds_t entries_max(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_NOFILE, &l) == 0 ? l.rlim_cur : 0;
}

/* Returns as many entries as the kernel takes. *instance: to be dropped, or -1.
 */
static nfds_t fit(struct poll_call *p, int *instance)
{
	nfds_t entries = p->entries;
	nfds_t most = entries > FEW_ENTRIES ? entries_max() : entries;

	*instance = -1;
	if (entries <= most)
		return entries;
	p->gathered = true;
	*instance = gather_bells(p, entries);
	if (*instance >= 0 && p->n < most)
		return add(p->all, p->n, *instance, POLLIN);
	p->crowded = true;
	return p->n;
}

/* The kernel goes on with ppoll() behind a stop of the process for the time
 * that was left then, with poll() until it is over. That one counts
 * milliseconds; what is left of one is for the next sleep. */
static int kernel_sleep(struct poll_call *p, nfds_t entries, uint64_t left)
{
	bool hears = p->deaths && !p->gathered;
	struct timespec t = sys_timespec(left);
	uint64_t ms = left / 1000000u;
	int ready;

	if (p->by_clock && ms > 0 && ms <= INT_MAX) {
		ready = real.poll(p->all, entries, (int)ms);
		if (ready > 0 && hears && p->all[p->deaths].revents)
			linkgroup_deaths_heard();
		return ready;
	}
	if (hears)
		return linkgroup_deaths_poll(
		    p->all, entries, p->deaths,
		    left == UINT64_MAX ? left : sys_end_in_ns(left), p->mask);
	return real.ppoll(p->all, entries, left == UINT64_MAX ? NULL : &t,
			  p->mask);
}

/* A cancelled thread holds nothing any more. */
static int call_kernel(struct poll_call *p, nfds_t entries, uint64_t left)
{
	volatile int ready;

	pthread_cleanup_push(sleeper_end, &p->call);
	ready = kernel_sleep(p, entries, left);
	pthread_cleanup_pop(0);
	return ready;
}

/* Sleeps in the kernel, for as long as nobody has to look by the clock. */
static int sleep_now(struct poll_call *p)
{
	uint64_t left = poll_left_ns(p);
	int pending = pending_ms(p->fds, p->n);
	nfds_t entries;
	int ready = 0;
	int instance;
	int error;

	entries = fit(p, &instance);
	if (pending >= 0 && left > (uint64_t)pending * 1000000u)
		left = (uint64_t)pending * 1000000u;
	if (p->crowded && left > p->slice_ms * 1000000ull)
		left = p->slice_ms * 1000000ull;
	segment_count(sleeps);
	if (enter_handshakes(p)) {
		inject_step(STEP_LOOKED);
		ready = call_kernel(p, entries, left);
		p->slept = ready >= 0;
	}
	error = errno;
	inject_step(STEP_WOKEN);
	leave_handshakes(p);
	drop_bells(instance);
	errno = error;
	p->rung = p->crowded && ready > 0;
	p->slice_ms =
	    p->slice_ms * 2 < SLICE_MAX_MS ? p->slice_ms * 2 : SLICE_MAX_MS;
	return ready;
}

/* The kernel was asked of the others in our sleep; but those that became its
 * own since then were asked for other things. */
static bool has_answers(const struct poll_call *p)
{
	if (!p->slept)
		return false;
	for (nfds_t i = 0; i < p->n; i++)
		if ((p->notes[i] & IS_MEMBER) && !poll_member(p->fds[i].fd))
			return false;
	return true;
}

/* Looks at what there is after arming, and perhaps a sleep. */
static int look_after(struct poll_call *p, int ready)
{
	bool ended;

	if (!p->slept && ready > 0 && !poll_kernel_is_due(p) &&
	    poll_without_kernel(p) > 0)
		return poll_count_ready(p->fds, p->n);
	if (!has_answers(p))
		return poll_look_all(p->fds, p->all, p->n);
	poll_take_answers(p->fds, p->all, p->n, &ended);
	poll_look_members(p->fds, p->n);
	return poll_count_ready(p->fds, p->n);
}

/* Before it tells of a signal the kernel looks once more, at what the numbers
 * name by then. */
static bool names_others(const struct poll_call *p)
{
	for (nfds_t i = 0; i < p->n; i++)
		if ((p->notes[i] & IS_MEMBER) &&
		    left_member(p, i) != connection_of(p->fds[i].fd))
			return true;
	return false;
}

static int look_interrupted(const struct poll_call *p)
{
	int error = errno;
	int ready = poll_look_all(p->fds, p->all, p->n);

	errno = error;
	return ready > 0 ? ready : -1;
}

int poll_sleep(struct poll_call *p)
{
	bool renamed;
	int ready;
	int error;

	hold(p);
	prepare(p);
	atomic_thread_fence(memory_order_seq_cst);
	if (p->unfenced && !barrier_all())
		p->crowded = true;
	inject_step(STEP_ARMED);
	ready = poll_look_members(p->fds, p->n);
	for (nfds_t i = 0; i < p->n && ready == 0; i++)
		if (poll_instance(p->fds[i].fd))
			ready = poll_instance_bits(&p->fds[i]) != 0;
	if (ready == 0)
		ready = sleep_now(p);
	error = errno;
	leave(p);
	renamed = ready < 0 && names_others(p);
	sleeper_end(&p->call);
	errno = error;
	if (ready < 0)
		return renamed ? look_interrupted(p) : -1;
	return look_after(p, ready);
}
