/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* wait: a thread that has nothing to read, or no room to write. */
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>

#include "bell.h"
#include "direction.h"
#include "ear.h"
#include "inject.h"
#include "patience.h"
#include "process.h"
#include "real.h"
#include "segment.h"
#include "sleepers.h"
#include "spin.h"
#include "stall.h"
#include "stoppable.h"
#include "stream.h"
#include "sys.h"
#include "talk.h"
#include "tcp_end.h"

#define SLICE_FIRST_MS     1
#define SLICE_MAX_MS       50
#define SLEEPS_A_LOOK      64
#define POLLS_A_ROUND      8
#define POLLS_BEFORE_CLOCK 64
#define SPIN_ROOM_BYTES    8192

/* ---- spinning ---- */

static bool changed_in(const struct connection *c, uint64_t seen)
{
	return atomic_load_explicit(&c->in_producer->cursor,
				    memory_order_relaxed) != seen ||
	       atomic_load_explicit(&c->in_producer->flags,
				    memory_order_relaxed);
}

/* A writer that is awake goes on with little room; only one that has to be
 * woken waits for a third. */
static bool changed_out(const struct connection *c, uint64_t seen)
{
	uint64_t cursor = atomic_load_explicit(&c->out_consumer->cursor,
					       memory_order_relaxed);

	return cursor - seen >= SPIN_ROOM_BYTES;
}

/* Most answers come at once: without a clock, and before anything is asked that
 * only matters to who waits long. */
bool wait_briefly(struct connection *c)
{
	uint64_t seen =
	    __atomic_load_n(&c->slot->rx.peer_position, __ATOMIC_RELAXED);

	talk_end();
	if (process.spin_us == 0 || peer_is_on_our_core(c))
		return false;
	for (int i = 0; i < POLLS_BEFORE_CLOCK; i++) {
		if (changed_in(c, seen)) {
			/* It comes while we go back to where it is copied. */
			stream_expect(c);
			spin_hit(&c->spin_score);
			return true;
		}
		/* The other thread of this core may be whom we wait for. */
		sys_relax();
	}
	return false;
}

static bool spin(struct connection *c, uint64_t seen,
		 const struct timespec *timeout, struct spin *s,
		 bool (*changed)(const struct connection *, uint64_t))
{
	s->start_ns = 0;
	if (process.spin_us == 0 ||
	    !spin_begin(s, &c->spin_score, peer_is_on_our_core(c),
			sys_end_ns(timeout)))
		return false;
	do {
		for (int i = 0; i < POLLS_A_ROUND; i++) {
			if (changed(c, seen)) {
				spin_hit(&c->spin_score);
				return true;
			}
			sys_relax();
		}
	} while (spin_step(s));
	return false;
}

static void spin_judge(struct connection *c, const struct spin *s)
{
	if (s->start_ns)
		spin_missed(&c->spin_score, sys_now_ns() - s->start_ns);
}

/* ---- sleeping ---- */

/* shutdown() by another thread or process of ours ends waits, too. */
static bool is_shut(const struct connection *c)
{
	return (atomic_load(&c->slot->rx.flags) |
		atomic_load(&c->slot->tx.flags)) &
	       STREAM_SHUT;
}

/* Several threads sleep for the same thing: a ring wakes one of them, so the
 * others look by the clock. Nobody but the first takes rings; one that is not
 * taken must not end every slice. */
struct slices {
	unsigned ms;
	bool rung;     /* the last one was ended by a ring */
	bool has_part; /* of its bytes the call has moved already */
};

static bool is_last(const struct slices *s, const struct timespec *timeout)
{
	return timeout && timeout->tv_sec == 0 &&
	       timeout->tv_nsec <= (long)s->ms * 1000000;
}

static void lengthen(struct slices *s)
{
	s->ms = s->ms * 2 < SLICE_MAX_MS ? s->ms * 2 : SLICE_MAX_MS;
}

/* Does any handler end it, and a stop? */
static bool ends_early(const struct timespec *timeout, const struct slices *s)
{
	return timeout || s->has_part;
}

static int sleep_a_slice(struct pollfd *p, const struct timespec *timeout,
			 const struct slices *s)
{
	struct timespec slice = {0, (long)s->ms * 1000000};

	if (is_last(s, timeout))
		slice = *timeout;
	return ends_early(timeout, s) ? stoppable_poll(p, 1, &slice)
				      : real.ppoll(p, 1, &slice, NULL);
}

/* A sleep with a limit of ours ends for every handler, the program's only for
 * some. */
static int interrupted(const struct timespec *timeout, const struct slices *s)
{
	return ends_early(timeout, s) || patience_is_over(false) ? -EINTR : 0;
}

static int wait_in_slices(int bell, const struct timespec *timeout,
			  struct slices *s)
{
	struct pollfd p = {.fd = s->rung ? -1 : bell, .events = POLLIN};
	bool last = is_last(s, timeout);
	int n = sleep_a_slice(&p, timeout, s);

	if (n < 0)
		return interrupted(timeout, s);
	lengthen(s);
	s->rung = n > 0;
	return n == 0 && last ? -EAGAIN : 0;
}

/* The bell told that the peer's end is gone. Nearly always its TCP end is gone
 * too; if not, TCP is the one that will tell, and the ring may still move. */
static int wait_on_tcp(struct connection *c, int fd,
		       const struct timespec *timeout, struct slices *s)
{
	short events = tcp_end_is_half(c) ? 0 : POLLRDHUP | POLLIN;
	struct pollfd p = {.fd = fd, .events = events};
	bool last = is_last(s, timeout);
	int n;

	if (tcp_has_ended(c, fd) || is_shut(c))
		return 0;
	n = sleep_a_slice(&p, timeout, s);
	if (n < 0)
		return interrupted(timeout, s);
	lengthen(s);
	return n == 0 && last ? -EAGAIN : 0;
}

/* Somebody may have changed that by a way that we do not see: before the first
 * sleep, and now and then, the kernel is asked. */
static bool is_nonblocking(struct connection *c, int fd)
{
	long flags;

	/* Those that sleep on began before it was changed. */
	if (c->sleeps++ % SLEEPS_A_LOOK ||
	    (atomic_load(&c->slot->socket_flags) & SOCKET_NONBLOCK))
		return false;
	flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);
	if (flags < 0 || !(flags & O_NONBLOCK) || atomic_load(&c->orphan))
		return false;
	atomic_fetch_or(&c->slot->socket_flags, SOCKET_NONBLOCK);
	return true;
}

/* With a time-out a signal ends the sleep in any case, as it does for TCP, and
 * so does a stop. So the end of TCP alone can end it as well. */
static int wait_beside_tcp(struct connection *c, int fd, int bell,
			   const struct timespec *timeout)
{
	struct pollfd p[2] = {
	    {.fd = bell, .events = POLLIN},
	    {.fd = connection_fd(c, fd), .events = tcp_end_events(c)},
	};
	int n = stoppable_poll(p, 2, timeout);

	if (n < 0)
		return -errno;
	if (n == 0)
		return BELL_TIMEOUT;
	/* Closed by another thread: the bell will tell. */
	if (p[1].revents & POLLNVAL)
		return bell_wait(bell, timeout);
	if (p[1].revents)
		return BELL_HUNG_UP;
	return ear_drain(c, bell) ? BELL_HUNG_UP : BELL_RUNG;
}

/* The kernel restarts no such sleep by itself. */
static int listen_for(struct connection *c, int ear, const struct slices *s)
{
	struct pollfd p = {.fd = ear, .events = POLLIN};
	int n = s->has_part ? stoppable_poll(&p, 1, NULL)
			    : real.ppoll(&p, 1, NULL, NULL);

	if (n < 0)
		return interrupted(NULL, s);
	return ear_drain(c, ear) ? BELL_HUNG_UP : BELL_RUNG;
}

static int sleep_on(struct connection *c, int fd, int bell, bool first,
		    struct slices *slices, const struct timespec *timeout)
{
	int result;

	if (is_nonblocking(c, fd))
		return -EAGAIN;
	segment_count(sleeps);
	inject_nap();
	if (!first)
		return wait_in_slices(bell, timeout, slices);
	if (timeout)
		result = wait_beside_tcp(c, fd, bell, timeout);
	else if (ear_is(c, bell))
		result = listen_for(c, bell, slices);
	else
		result = slices->has_part ? bell_wait_once(bell, NULL)
					  : bell_wait(bell, NULL);
	if (result == BELL_RUNG)
		ear_give_back(c, bell);
	if (result == BELL_TIMEOUT)
		return -EAGAIN;
	if (result == BELL_HUNG_UP)
		return wait_on_tcp(c, fd, timeout, slices);
	return result;
}

/* Among the rings that the first took there may be one for who waits in an
 * epoll instance. */
static void pass_on(struct connection *c, bool first)
{
	if (first && c->members)
		connection_on_rings(c);
}

struct wait_deadline {
	bool set;
	uint64_t end_ns;
	struct timespec left;
};

static void deadline_start(struct wait_deadline *d,
			   const struct timespec *timeout)
{
	d->set = timeout != NULL;
	if (timeout)
		d->end_ns = sys_end_ns(timeout);
}

/* NULL: no limit. */
static const struct timespec *deadline_left(struct wait_deadline *d)
{
	uint64_t now;
	uint64_t left;

	if (!d->set)
		return NULL;
	now = sys_now_ns();
	left = now < d->end_ns ? d->end_ns - now : 0;
	d->left = sys_timespec(left);
	return &d->left;
}

static int sleep_for_input(struct connection *c, int fd, size_t need,
			   const struct timespec *timeout, bool has_part)
{
	struct slices slices = {.ms = SLICE_FIRST_MS, .has_part = has_part};
	struct wait_deadline d;
	bool first;
	int result;

	deadline_start(&d, timeout);
	do {
		result = 0;
		/* Before arming: the first one before us may have taken rings
		 * until now. */
		first = sleepers_first(place_for_data(c));
		inject_nap();
		atomic_store(&c->own_wait->armed_data, RMB_ARMED);
		inject_nap();
		/* Without the barrier a ring may never come. */
		if (!connection_settle(c))
			first = false;
		if (input_state(c, fd, need) != INPUT_NONE ||
		    demotion_is_due(c) || atomic_load(&c->dead))
			break;
		result = sleep_on(c, fd, ear_data(c), first, &slices,
				  deadline_left(&d));
		pass_on(c, first);
		fd = connection_fd(c, fd);
	} while (result == 0 && input_state(c, fd, need) == INPUT_NONE &&
		 !demotion_is_due(c));
	return result;
}

int wait_for_input(struct connection *c, int fd, size_t need,
		   const struct timespec *timeout, bool has_part,
		   struct sleeper *call)
{
	uint64_t seen = atomic_load(&c->in_producer->cursor);
	struct sleep_place place = place_for_data(c);
	struct spin s;
	int result;

	if (input_state(c, fd, need) != INPUT_NONE)
		return 0;
	talk_end();
	if (spin(c, seen, timeout, &s, changed_in)) {
		/* It comes while we go back to where it is copied. */
		stream_expect(c);
		return 0;
	}
	sleeper_begin(call, &place);
	pthread_cleanup_push(sleeper_end, call);
	result = sleep_for_input(c, fd, need, timeout, has_part);
	pthread_cleanup_pop(0);
	sleeper_wake(call);
	spin_judge(c, &s);
	return result;
}

/* At most as long as a stall may last; 0 also when that is over. */
static int sleep_for_room(struct connection *c, int fd, struct slices *s,
			  const struct timespec *timeout)
{
	int ms = stall_left_ms(c);
	int bell = ear_room(c);
	struct timespec limit = {ms / 1000, (long)(ms % 1000) * 1000000};
	bool shorter;
	int result;

	if (ms < 0)
		return sleep_on(c, fd, bell, true, s, timeout);
	if (is_nonblocking(c, fd))
		return -EAGAIN;
	segment_count(sleeps);
	inject_nap();
	shorter = timeout && (timeout->tv_sec < limit.tv_sec ||
			      (timeout->tv_sec == limit.tv_sec &&
			       timeout->tv_nsec <= limit.tv_nsec));
	if (timeout)
		result =
		    wait_beside_tcp(c, fd, bell, shorter ? timeout : &limit);
	else
		result = patience_wait(bell, ms, s->has_part);
	if (result == BELL_RUNG && ear_is(c, bell))
		ear_drain(c, bell);
	else if (result == BELL_RUNG)
		ear_give_back(c, bell);
	if (result == BELL_TIMEOUT)
		return shorter ? -EAGAIN : 0;
	if (result == BELL_HUNG_UP)
		return wait_on_tcp(c, fd, timeout, s);
	return result;
}

static int sleep_for_output(struct connection *c, int fd,
			    const struct timespec *timeout, bool has_part)
{
	struct slices slices = {.ms = SLICE_FIRST_MS, .has_part = has_part};
	struct wait_deadline d;
	bool first;
	int result;

	deadline_start(&d, timeout);
	do {
		result = 0;
		first = sleepers_first(place_for_room(c));
		inject_nap();
		atomic_store(&c->own_wait->armed_room, RMB_ARMED);
		inject_nap();
		if (output_is_ready(c, fd) || atomic_load(&c->dead))
			break;
		result = first
			     ? sleep_for_room(c, fd, &slices, deadline_left(&d))
			     : sleep_on(c, fd, ear_room(c), false, &slices,
					deadline_left(&d));
		pass_on(c, first);
		fd = connection_fd(c, fd);
	} while (result == 0 && !output_is_ready(c, fd));
	return result;
}

int wait_for_output(struct connection *c, int fd,
		    const struct timespec *timeout, bool has_part,
		    struct sleeper *call)
{
	uint64_t seen = atomic_load(&c->out_consumer->cursor);
	struct sleep_place place = place_for_room(c);
	struct spin s;
	int result;

	segment_count(buffer_full);
	stall_begin(c);
	if (output_is_ready(c, fd))
		return 0;
	if (spin(c, seen, timeout, &s, changed_out))
		return 0;
	sleeper_begin(call, &place);
	pthread_cleanup_push(sleeper_end, call);
	result = sleep_for_output(c, fd, timeout, has_part);
	pthread_cleanup_pop(0);
	sleeper_wake(call);
	spin_judge(c, &s);
	return result;
}
