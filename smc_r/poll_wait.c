/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* poll_wait: poll and select over mixed sets of descriptors. */
#include "poll_wait.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "bell.h"
#include "connection.h"
#include "epoll_common.h"
#include "epoll_set.h"
#include "handshake.h"
#include "inject.h"
#include "process.h"
#include "readiness.h"
#include "real.h"
#include "segment.h"
#include "sleepers.h"
#include "spin.h"
#include "stall.h"
#include "stream.h"
#include "sys.h"
#include "talk.h"
#include "wait.h"

#define ON_STACK 64 /* descriptors; larger sets get pages of their own */
#define PER_FD   3  /* kernel entries that one descriptor may need */
#define ENTRY    (PER_FD * sizeof(struct pollfd) + sizeof(short))

/* No limit of descriptors is that low, where somebody polls so many. */
#define FEW_ENTRIES 32

#define SPIN_ASK_NS   5000u
#define ASK_KERNEL_NS 50000u

#define SLICE_FIRST_MS 1
#define SLICE_MAX_MS   50

static struct connection *member_of(int fd)
{
	struct connection *c = connection_of(fd);

	return c && connection_phase(c) != PHASE_NATIVE ? c : NULL;
}

/* An epoll instance whose members only we know. */
static struct epoll *instance_of(int fd)
{
	struct epoll *e = epoll_of(fd);

	if (e && !epoll_is_settled(e))
		epoll_meet(e);
	return epoll_has_members(e) ? e : NULL;
}

bool poll_is_member(int fd)
{
	return member_of(fd) || instance_of(fd);
}

bool poll_has_members(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (poll_is_member(fds[i].fd))
			return true;
	return false;
}

/* ---- one look ---- */

static int look_members(struct pollfd *fds, nfds_t n)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++) {
		struct connection *c = member_of(fds[i].fd);
		uint32_t asked =
		    (unsigned short)fds[i].events | POLLERR | POLLHUP;

		if (!c) {
			/* A place that the caller left empty. */
			if (fds[i].fd < 0)
				fds[i].revents = 0;
			continue;
		}
		fds[i].revents =
		    (short)(readiness(c, fds[i].fd, asked) & asked);
		ready += fds[i].revents != 0;
	}
	return ready;
}

static short instance_bits(const struct pollfd *p)
{
	short asked = p->events & (POLLIN | POLLRDNORM);

	return asked && epoll_is_ready(instance_of(p->fd)) ? asked : 0;
}

/* What the kernel said of all: of the others, and whether peers of ours have
 * ended, *ended. */
static void take_answers(struct pollfd *fds, const struct pollfd *all, nfds_t n,
			 bool *ended)
{
	*ended = false;
	for (nfds_t i = 0; i < n; i++) {
		struct connection *c = member_of(fds[i].fd);

		if (!c) {
			fds[i].revents = instance_of(fds[i].fd)
					     ? instance_bits(&fds[i])
					     : all[i].revents;
		} else if (all[i].revents &&
			   connection_phase(c) == PHASE_ACTIVE &&
			   !atomic_load(&c->tcp_ended)) {
			*ended |= tcp_has_ended(c, fds[i].fd);
		}
	}
}

/* Asks it without waiting: 0 or -errno. */
static int look_kernel(struct pollfd *fds, struct pollfd *all, nfds_t n,
		       bool *ended)
{
	long result;

	for (nfds_t i = 0; i < n; i++) {
		all[i] = fds[i];
		if (member_of(fds[i].fd))
			all[i].events = POLLRDHUP;
	}
	result = SYS_CALL3(SYS_poll, all, n, 0);
	if (result < 0)
		return (int)result;
	take_answers(fds, all, n, ended);
	return 0;
}

/* A member may become the kernel's between two looks: the sum of both is not
 * what the array says. */
static int count_ready(const struct pollfd *fds, nfds_t n)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++)
		ready += fds[i].revents != 0;
	return ready;
}

/* Everything, without waiting. -1 with errno. */
static int look_all(struct pollfd *fds, struct pollfd *all, nfds_t n)
{
	bool ended;
	int error;

	look_members(fds, n);
	error = look_kernel(fds, all, n, &ended);
	if (error < 0) {
		errno = -error;
		return -1;
	}
	if (ended)
		look_members(fds, n);
	return count_ready(fds, n);
}

/* ---- sleeping ---- */

static nfds_t add(struct pollfd *all, nfds_t at, int fd, short events)
{
	all[at] = (struct pollfd){.fd = fd, .events = events};
	return at + 1;
}

/* What of a connection on rings is the kernel's to tell. */
static short kernel_share(const struct connection *c)
{
	short events = POLLRDHUP | POLLPRI;

	if (atomic_load(&c->slot->rx.flags) & STREAM_TCP)
		events |= POLLIN;
	if (atomic_load(&c->slot->tx.flags) & STREAM_TCP)
		events |= POLLOUT;
	return events;
}

/*
 * What is noted of a member: where we are counted among the sleepers. The first
 * of them takes the rings of that bell, and the others look by the clock
 * (sleepers.h).
 */
#define IS_MEMBER  1
#define ON_DATA    2
#define FIRST_DATA 4
#define ON_ROOM    8
#define FIRST_ROOM 16
#define ON_MESSAGE 32 /* of the handshake */
#define SEEN_SHIFT 6  /* above: slot->messages when we looked */

static short seen_of(const struct connection *c)
{
	return (short)((atomic_load(&c->slot->messages) << SEEN_SHIFT) &
		       0x7fff);
}

struct poll_call {
	struct pollfd *fds;
	struct pollfd *all; /* for the kernel: each of fds, then bells */
	nfds_t entries;     /* of it */
	short *notes;       /* of each of fds */
	nfds_t n;
	const sigset_t *mask;
	bool for_ever;
	bool only_looks;
	uint64_t wait_ns;
	uint64_t end_ns;
	struct connection *spun; /* whose spin was in vain */
	uint64_t spin_start;
	bool crowded;      /* the clock must be looked at, too */
	bool unfenced;     /* some writers leave fences to us */
	bool rung;         /* the last slice was ended by a ring */
	bool slept;        /* what the kernel said of all is in there */
	bool gathered;     /* but not of each bell */
	unsigned slice_ms; /* the next one */
};

/* What keeps the place: `on`, and `first` if we are. */
static short join(struct poll_call *p, struct status_stream *s, short on,
		  short first)
{
	sleepers_join(s);
	if (sleepers_first(s))
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

/* The end of the peer concerns everybody, the rest who asks for it. After a
 * seal, what the program shut for reading looks like that end, for ever. */
static short everybodys(const struct connection *c)
{
	return atomic_load(&c->slot->rx.flags) & STREAM_SHUT &&
		       atomic_load(&c->slot->tx.flags) & STREAM_TCP
		   ? 0
		   : POLLRDHUP;
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
		*events = c->unread ? POLLRDHUP : POLLIN | POLLRDHUP;
		p->crowded |= c->unread > 0;
		if (connection_phase(c) == PHASE_CONNECTING)
			*events |= POLLOUT;
		return at;
	}
	*events = kernel_share(c) & (asked | everybodys(c));
	*note |= join(p, &c->slot->rx, ON_DATA, FIRST_DATA);
	if (asked & (POLLOUT | POLLWRNORM)) {
		*note |= join(p, &c->slot->tx, ON_ROOM, FIRST_ROOM);
		if (!stream_knows_room(c))
			stall_begin(c);
	}
	p->unfenced |= readiness_arm(c, (uint32_t)(unsigned short)asked);
	at = add_bell(p, at, c->bell_in, *note & FIRST_DATA);
	if (*note & ON_ROOM)
		at = add_bell(p, at, c->bell_out, *note & FIRST_ROOM);
	return at;
}

static void prepare(struct poll_call *p)
{
	nfds_t at = p->n;

	p->crowded = p->unfenced = p->slept = p->gathered = false;
	for (nfds_t i = 0; i < p->n; i++) {
		int fd = p->fds[i].fd;
		struct connection *c = member_of(fd);

		p->all[i] = p->fds[i];
		p->notes[i] = 0;
		if (instance_of(fd)) {
			instance_of(fd)->is_nested = true;
			epoll_arm(instance_of(fd));
		}
		if (c)
			at = add_member(p, at, c, i);
	}
	p->entries = at;
}

/* Nothing was ready. False: a message was taken since we looked (messages.h).
 */
static bool enter_handshakes(struct poll_call *p)
{
	bool enters = true;

	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *c = member_of(p->fds[i].fd);
		short seen = p->notes[i];

		if (!c || (seen & (IS_MEMBER | ON_DATA)) != IS_MEMBER)
			continue;
		p->notes[i] |= ON_MESSAGE;
		sleepers_join(&c->slot->rx);
		if ((seen_of(c) | IS_MEMBER) != seen)
			enters = false;
	}
	return enters;
}

static void leave_handshakes(const struct poll_call *p)
{
	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *c = connection_of(p->fds[i].fd);

		if (c && (p->notes[i] & ON_MESSAGE))
			sleepers_leave(&c->slot->rx);
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

/* Empties the bells that rang: a byte that stays would wake every poll from
 * here on. One who waits for the same in an epoll instance looks again, as his
 * ring may have been among them. */
static void leave_member(const struct poll_call *p, nfds_t *at,
			 struct connection *c, nfds_t i)
{
	bool active = c->rmb && connection_phase(c) == PHASE_ACTIVE;
	short on = p->notes[i];

	/* As long as we are the first; then rings are another's to take. */
	if (active && (on & FIRST_DATA) && has_rung(p, at, c->bell_in) &&
	    bell_drain(c->bell_in))
		tcp_has_ended(c, p->fds[i].fd);
	if (active && (on & FIRST_ROOM) && has_rung(p, at, c->bell_out))
		bell_drain(c->bell_out);
	inject_nap();
	sleepers_leave(&c->slot->rx);
	if (on & ON_ROOM)
		sleepers_leave(&c->slot->tx);
	if (active && c->members)
		epoll_poke(c);
}

static void leave(const struct poll_call *p)
{
	nfds_t at = p->n;

	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *c = connection_of(p->fds[i].fd);

		if (c && (p->notes[i] & ON_DATA))
			leave_member(p, &at, c, i);
	}
}

/* In which a member changes by the clock, or -1. */
static int member_ms(struct connection *c, short asked)
{
	int left;

	if (connection_phase(c) != PHASE_HANDSHAKE)
		return asked & (POLLOUT | POLLWRNORM) ? stall_left_ms(c) : -1;
	left = handshake_left_ms(c);
	return left > 0 ? left : -1;
}

static int pending_ms(const struct pollfd *fds, nfds_t n)
{
	int least = -1;

	for (nfds_t i = 0; i < n; i++) {
		struct connection *c = member_of(fds[i].fd);
		int left;

		if (!c)
			continue;
		left = member_ms(c, fds[i].events);
		if (left >= 0 && (least < 0 || left < least))
			least = left;
	}
	return least;
}

static uint64_t left_ns(const struct poll_call *p)
{
	uint64_t now = sys_now_ns();

	if (p->for_ever)
		return UINT64_MAX;
	return now < p->end_ns ? p->end_ns - now : 0;
}

/*
 * The kernel takes no more entries than the program may have descriptors. Those
 * that are too many are bells, and go into an epoll instance for this sleep.
 * It, or -1: then they are looked at by the clock.
 */
static int gather_bells(struct poll_call *p, nfds_t entries)
{
	sigset_t saved;
	long instance;

	engine_lock(&saved);
	hidden_begin();
	instance = SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0);
	if (instance >= 0)
		instance = hidden_fd((int)instance);
	hidden_end();
	engine_unlock(&saved);
	for (nfds_t i = p->n; i < entries && instance >= 0; i++) {
		struct epoll_event e = {.events = EPOLLIN};
		long result = SYS_CALL4(SYS_epoll_ctl, instance, EPOLL_CTL_ADD,
					p->all[i].fd, &e);

		/* One that is there came with the same descriptor twice. */
		p->crowded |= result < 0 && result != -EEXIST;
	}
	return (int)instance;
}

static void drop_bells(int instance)
{
	sigset_t saved;

	if (instance < 0)
		return;
	engine_lock(&saved);
	hidden_close(instance);
	engine_unlock(&saved);
}

static nfds_t entries_max(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_NOFILE, &l) == 0 ? l.rlim_cur : 0;
}

/* As many entries as the kernel takes. *instance: to be dropped, or -1. */
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

/* In the kernel, for as long as nobody has to look by the clock. */
static int sleep_now(struct poll_call *p)
{
	uint64_t left = left_ns(p);
	int pending = pending_ms(p->fds, p->n);
	struct timespec t;
	nfds_t entries;
	int ready = 0;
	int instance;
	int error;

	entries = fit(p, &instance);
	if (pending >= 0 && left > (uint64_t)pending * 1000000u)
		left = (uint64_t)pending * 1000000u;
	if (p->crowded && left > p->slice_ms * 1000000ull)
		left = p->slice_ms * 1000000ull;
	t.tv_sec = (time_t)(left / 1000000000u);
	t.tv_nsec = (long)(left % 1000000000u);
	segment_count(sleeps);
	if (enter_handshakes(p)) {
		inject_nap();
		ready = real.ppoll(p->all, entries,
				   left == UINT64_MAX ? NULL : &t, p->mask);
		p->slept = ready >= 0;
	}
	error = errno;
	inject_nap();
	leave_handshakes(p);
	drop_bells(instance);
	errno = error;
	p->rung = p->crowded && ready > 0;
	p->slice_ms =
	    p->slice_ms * 2 < SLICE_MAX_MS ? p->slice_ms * 2 : SLICE_MAX_MS;
	return ready;
}

static bool only_members(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd >= 0 && !member_of(fds[i].fd))
			return false;
	return true;
}

/*
 * Ready members need not wait for what the kernel has to say, of the others or
 * of the end of a peer behind bytes that nobody reads, as long as it is heard
 * often enough. Where there are others, never late for a call that only looks,
 * nor for another set than the last one, which may be asked about in turn.
 */
static bool kernel_is_due(const struct poll_call *p)
{
	static __thread struct {
		uint64_t set;
		uint64_t asked_ns;
	} last;
	uint64_t set = (uint64_t)p->n << 48 ^ (uint64_t)p->fds[0].fd << 24 ^
		       (uint64_t)p->fds[p->n - 1].fd;
	uint64_t now = sys_now_ns();

	if (now - last.asked_ns < ASK_KERNEL_NS &&
	    ((!p->only_looks && set == last.set) || only_members(p->fds, p->n)))
		return false;
	last.set = set;
	last.asked_ns = now;
	return true;
}

/* The kernel was not asked about the others: nothing is known of them. */
static int without_kernel(struct poll_call *p)
{
	for (nfds_t i = 0; i < p->n; i++)
		if (!member_of(p->fds[i].fd))
			p->fds[i].revents = 0;
	return count_ready(p->fds, p->n);
}

/* The kernel was asked of the others in our sleep; but those that became its
 * own since then were asked for other things. */
static bool has_answers(const struct poll_call *p)
{
	if (!p->slept)
		return false;
	for (nfds_t i = 0; i < p->n; i++)
		if ((p->notes[i] & IS_MEMBER) && !member_of(p->fds[i].fd))
			return false;
	return true;
}

/* What there is after arming, and perhaps a sleep. */
static int look_after(struct poll_call *p, int ready)
{
	bool ended;

	if (!p->slept && ready > 0 && !kernel_is_due(p) &&
	    without_kernel(p) > 0)
		return count_ready(p->fds, p->n);
	if (!has_answers(p))
		return look_all(p->fds, p->all, p->n);
	take_answers(p->fds, p->all, p->n, &ended);
	look_members(p->fds, p->n);
	return count_ready(p->fds, p->n);
}

/* Ready descriptors, 0 to go on, -1 with errno. */
static int sleep_round(struct poll_call *p)
{
	int ready;
	int error;

	prepare(p);
	atomic_thread_fence(memory_order_seq_cst);
	if (p->unfenced && !barrier_all())
		p->crowded = true;
	inject_nap();
	ready = look_members(p->fds, p->n);
	for (nfds_t i = 0; i < p->n && ready == 0; i++)
		if (instance_of(p->fds[i].fd))
			ready = instance_bits(&p->fds[i]) != 0;
	if (ready == 0)
		ready = sleep_now(p);
	error = errno;
	leave(p);
	errno = error;
	return ready < 0 ? -1 : look_after(p, ready);
}

/* ---- staying awake ---- */

static int spin(struct poll_call *p)
{
	bool alone = only_members(p->fds, p->n);
	struct connection *c = NULL;
	uint64_t asked = 0;
	bool shares = false;
	struct spin s;
	int ready;

	if (p->n > 16)
		return 0;
	for (nfds_t i = 0; i < p->n; i++) {
		struct connection *other = member_of(p->fds[i].fd);

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
			ready = look_members(p->fds, p->n);
			if (ready) {
				spin_hit(&c->spin_score);
				return ready;
			}
		}
		if (alone || s.spent_ns - asked < SPIN_ASK_NS)
			continue;
		asked = s.spent_ns;
		ready = look_all(p->fds, p->all, p->n);
		if (ready)
			return ready;
	} while (spin_step(&s));
	p->spun = c;
	p->spin_start = s.start_ns;
	return 0;
}

/* Once, and late: who is ready at once needs no clock. */
static void start_clock(struct poll_call *p)
{
	if (!p->for_ever && p->end_ns == 0)
		p->end_ns = sys_now_ns() + p->wait_ns;
}

/* The time is over. */
static int look_overdue(struct poll_call *p)
{
	bool any = false;

	for (nfds_t i = 0; i < p->n && !p->only_looks; i++) {
		struct connection *c = member_of(p->fds[i].fd);

		if (c && (p->fds[i].events & (POLLOUT | POLLWRNORM)))
			any |= handshake_tells_output(c);
	}
	return any ? look_all(p->fds, p->all, p->n) : 0;
}

/* A connection to ourselves, which nobody accepts while we sleep here: nothing
 * else is ready, so that it is as writable as it will be. */
static int look_alone(struct poll_call *p)
{
	for (nfds_t i = 0; i < p->n; i++) {
		short asked = p->fds[i].events & (POLLOUT | POLLWRNORM);
		struct connection *c = asked ? member_of(p->fds[i].fd) : NULL;

		if (c && handshake_tells_alone(c))
			p->fds[i].revents = asked;
	}
	return count_ready(p->fds, p->n);
}

static int wait_rounds(struct poll_call *p)
{
	int ready = look_members(p->fds, p->n);

	if (ready == 0) {
		talk_end();
		start_clock(p);
		ready = spin(p);
	}
	/* What a spin found may be the kernel's alone. */
	if (ready > 0 && !kernel_is_due(p) && without_kernel(p) > 0)
		return count_ready(p->fds, p->n);
	/* The sleep asks for the ends of members. */
	if (ready != 0 || p->only_looks || !only_members(p->fds, p->n) ||
	    left_ns(p) == 0)
		ready = look_all(p->fds, p->all, p->n);
	if (ready == 0)
		ready = look_alone(p);
	if (ready != 0)
		return ready;
	start_clock(p);
	while (left_ns(p) > 0) {
		ready = sleep_round(p);
		if (ready != 0 && p->spun)
			spin_missed(&p->spun->spin_score,
				    sys_now_ns() - p->spin_start);
		if (ready != 0)
			return ready;
	}
	return look_overdue(p);
}

int poll_members(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		 const sigset_t *mask)
{
	struct pollfd stack[ON_STACK * PER_FD];
	short notes[ON_STACK];
	size_t bytes = n * ENTRY;
	struct poll_call p = {.fds = fds,
			      .all = stack,
			      .notes = notes,
			      .n = n,
			      .mask = mask,
			      .for_ever = timeout == NULL,
			      .only_looks = timeout && timeout->tv_sec == 0 &&
					    timeout->tv_nsec == 0,
			      .slice_ms = SLICE_FIRST_MS};
	int result;

	if (timeout)
		p.wait_ns = (uint64_t)timeout->tv_sec * 1000000000u +
			    (uint64_t)timeout->tv_nsec;
	if (n > ON_STACK) {
		p.all = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p.all == MAP_FAILED) {
			errno = ENOMEM;
			return -1;
		}
		p.notes = (short *)(void *)(p.all + n * PER_FD);
	}
	result = wait_rounds(&p);
	if (n > ON_STACK) {
		int error = errno;

		munmap(p.all, bytes);
		errno = error;
	}
	return result;
}
