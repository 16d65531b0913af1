/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* wait: a thread that has nothing to read, or no room to write. */
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>

#include "bell.h"
#include "demote.h"
#include "inject.h"
#include "patience.h"
#include "process.h"
#include "real.h"
#include "segment.h"
#include "sleepers.h"
#include "spin.h"
#include "stall.h"
#include "stream.h"
#include "sys.h"
#include "talk.h"

#define SLICE_FIRST_MS     1
#define SLICE_MAX_MS       50
#define LOOKS_A_CLOCK      8
#define SLEEPS_A_LOOK      64
#define ASK_TCP_NS         1000000u
#define POLLS_A_ROUND      8
#define POLLS_BEFORE_CLOCK 64
#define SPIN_ROOM_BYTES    8192
#define SHORT_WAIT_NS      120000u

/* ---- conditions ---- */

/* After the peer's FIN a reset is EPIPE to TCP, and nothing when ours is out,
 * too; the kernel has not seen those that went by the ring. */
int tcp_error_of(struct connection *c, int error)
{
	uint32_t peer = atomic_load(&c->in_producer->flags);

	if (error != ECONNRESET ||
	    (peer & (PRODUCER_FIN | PRODUCER_SEALED)) != PRODUCER_FIN)
		return error;
	return atomic_load(&c->slot->tx.flags) & STREAM_SHUT ? 0 : EPIPE;
}

/* A process that dies with bytes unread makes TCP reset the connection. Its
 * kernel did not know of ours, so the cursors decide. Once, by whoever of this
 * end sees it first. */
static void judge_end(struct connection *c, short bits)
{
	uint32_t flags;

	/* Before it is attached there is nothing to judge by. */
	if (connection_phase(c) != PHASE_ACTIVE)
		return;
	/* The kernel knows of a reset, and tells it. */
	if (bits & POLLERR)
		return;
	flags = atomic_load(&c->in_producer->flags);
	/* After a seal it may be one that the program shut there, and a frozen
	 * cursor says nothing. */
	if ((flags & (PRODUCER_CLOSED | PRODUCER_SHUT | PRODUCER_SEALED)) ||
	    atomic_load(&c->out_consumer->flags) & CONSUMER_FROZEN ||
	    atomic_load(&c->out_consumer->cursor) ==
		atomic_load(&c->slot->tx.position))
		return;
	if (!(atomic_fetch_or(&c->slot->rx.flags, STREAM_RESET) & STREAM_RESET))
		atomic_store(&c->slot->error,
			     (uint32_t)tcp_error_of(c, ECONNRESET));
}

int tcp_error(struct connection *c, int fd)
{
	socklen_t n = sizeof(int);
	int error = 0;

	SYS_CALL6(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &n, 0);
	return tcp_error_of(c, error);
}

/* A server that died with our Confirm unread: its kernel reset the connection,
 * and not because of anything that the program sent. */
static void forgive_confirm(struct connection *c, int fd)
{
	uint32_t flags;
	int error;

	if (connection_phase(c) != PHASE_ACTIVE || c->side != SIDE_CLIENT ||
	    atomic_load(&c->control->confirmed) ==
		atomic_load(&c->control->epoch) ||
	    atomic_load(&c->out_consumer->cursor) !=
		atomic_load(&c->slot->tx.position))
		return;
	flags = atomic_load(&c->in_producer->flags) |
		atomic_load(&c->out_producer->flags);
	if (flags & (PRODUCER_CLOSED | PRODUCER_SHUT | PRODUCER_SEALED))
		return;
	error = tcp_error(c, fd);
	if (error != 0 && error != ECONNRESET && error != EPIPE)
		atomic_store(&c->slot->error, (uint32_t)error);
}

/* What the program shut for reading looks to poll() as if the peer had ended.
 */
static bool is_our_own_end(const struct connection *c, int fd, short bits)
{
	uint8_t state = TCP_CLOSE; /* the first byte of struct tcp_info */
	socklen_t n = sizeof(state);

	if (!(atomic_load(&c->slot->rx.flags) & STREAM_SHUT) ||
	    (bits & POLLERR))
		return false;
	SYS_CALL6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &state, &n, 0);
	return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 ||
	       state == TCP_FIN_WAIT2;
}

bool tcp_has_ended(struct connection *c, int fd)
{
	int orphan = atomic_load_explicit(&c->orphan, memory_order_relaxed);
	struct pollfd p = {.fd = orphan ? orphan : fd, .events = POLLRDHUP};

	if (atomic_load_explicit(&c->tcp_ended, memory_order_relaxed))
		return true;
	if (SYS_CALL3(SYS_poll, &p, 1, 0) != 1 || (p.revents & POLLNVAL) ||
	    is_our_own_end(c, p.fd, p.revents))
		return false;
	judge_end(c, p.revents);
	forgive_confirm(c, p.fd);
	atomic_store(&c->tcp_ended, 1);
	return true;
}

/* For programs that only ever call without waiting: the kernel must be asked
 * now and then, or the death of a peer would go unnoticed. By the clock, which
 * is looked at every few calls in vain. */
static bool tcp_ended_now_and_then(struct connection *c, int fd)
{
	uint64_t now;

	if (atomic_load_explicit(&c->tcp_ended, memory_order_relaxed))
		return true;
	if (++c->idle_looks % LOOKS_A_CLOCK)
		return false;
	now = sys_now_ns();
	if (now - c->asked_ns < ASK_TCP_NS)
		return false;
	c->asked_ns = now;
	return tcp_has_ended(c, fd);
}

void output_ask(struct connection *c, int fd)
{
	uint64_t now = sys_now_ns();

	if ((now - c->asked_ns < ASK_TCP_NS && !c->deaf) ||
	    connection_phase(c) != PHASE_ACTIVE)
		return;
	c->deaf = false;
	c->asked_ns = now;
	tcp_has_ended(c, fd);
}

static enum input settle_on_tcp(struct connection *c, int fd)
{
	demote_input(c, fd);
	return INPUT_KERNEL;
}

/* An empty ring is no end when its bytes go to TCP: they come there in a
 * moment. To be asked after the look that found it empty. */
static bool is_handed_over(const struct connection *c)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load(&c->slot->rx.flags) & (STREAM_FROZEN | STREAM_TCP);
}

/* The writer published bytes before its flags, so look at the flags first. */
enum input input_look(struct connection *c, int fd, size_t need)
{
	uint32_t own =
	    atomic_load_explicit(&c->slot->rx.flags, memory_order_relaxed);
	uint32_t flags =
	    atomic_load_explicit(&c->in_producer->flags, memory_order_acquire);
	bool ended = atomic_load_explicit(&c->tcp_ended, memory_order_acquire);
	size_t fill = stream_fill(c);

	if (own & STREAM_BROKEN)
		return INPUT_ERROR;
	if (own & STREAM_TCP)
		return INPUT_KERNEL;
	if (fill >= need)
		return INPUT_DATA;
	/* Or it would be waited out, as no look ever found anything. */
	if (fill == 0 && stream_input_is_broken(c))
		return INPUT_ERROR;
	if (!flags && !ended && !(own & STREAM_SHUT))
		return INPUT_NONE;
	if (fill > 0)
		return INPUT_DATA;
	if ((flags & (PRODUCER_FIN | PRODUCER_SEALED)) == PRODUCER_FIN)
		return is_handed_over(c) ? INPUT_DATA : INPUT_END;
	if (own & STREAM_RESET)
		return INPUT_ERROR;
	/* Shut both ways, TCP is, too, and knows what the peer did then. */
	if ((flags & (PRODUCER_SEALED | PRODUCER_CLOSED)) || ended ||
	    atomic_load(&c->out_producer->flags) & PRODUCER_SHUT)
		return settle_on_tcp(c, fd);
	return INPUT_END;
}

bool demotion_is_due(const struct connection *c)
{
	return (atomic_load(&c->out_consumer->flags) & CONSUMER_DEMOTE) &&
	       !(atomic_load(&c->slot->tx.flags) & STREAM_TCP);
}

enum input input_state(struct connection *c, int fd, size_t need)
{
	enum input state = input_look(c, fd, need);

	/* The peer may wait for our seal, whatever this call finds. */
	if (demotion_is_due(c))
		tcp_has_ended(c, fd);
	demote_serve(c, fd);
	if (state != INPUT_NONE)
		return state;
	/* A writer that waits for room must not wait for an empty ring. */
	atomic_thread_fence(memory_order_seq_cst);
	connection_signal_room(c);
	return tcp_ended_now_and_then(c, fd) ? input_look(c, fd, need)
					     : INPUT_NONE;
}

bool output_is_ready(struct connection *c, int fd)
{
	uint32_t peer =
	    atomic_load_explicit(&c->in_producer->flags, memory_order_relaxed);

	if (stream_has_room(c, stream_free(c)))
		return true;
	if (atomic_load(&c->slot->tx.flags) || (peer & PRODUCER_CLOSED) ||
	    (atomic_load(&c->out_consumer->flags) & CONSUMER_DEMOTE) ||
	    stall_is_over(c, fd))
		return true;
	return tcp_ended_now_and_then(c, fd);
}

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

static uint64_t end_of(const struct timespec *timeout)
{
	return timeout
		   ? sys_now_ns() + (uint64_t)timeout->tv_sec * 1000000000u +
			 (uint64_t)timeout->tv_nsec
		   : UINT64_MAX;
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
			end_of(timeout)))
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

/* A sleep with a limit of ours ends for every handler, the program's only for
 * some. */
static int interrupted(const struct timespec *timeout, const struct slices *s)
{
	return timeout || patience_is_over(s->has_part) ? -EINTR : 0;
}

static int wait_in_slices(int bell, const struct timespec *timeout,
			  struct slices *s)
{
	struct timespec slice = {0, (long)s->ms * 1000000};
	struct pollfd p = {.fd = s->rung ? -1 : bell, .events = POLLIN};
	bool last = is_last(s, timeout);
	int n = real.ppoll(&p, 1, last ? timeout : &slice, NULL);

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
	struct timespec slice = {0, (long)s->ms * 1000000};
	struct pollfd p = {.fd = fd, .events = POLLRDHUP | POLLIN};
	bool last = is_last(s, timeout);
	int n;

	if (tcp_has_ended(c, fd) || is_shut(c))
		return 0;
	n = real.ppoll(&p, 1, last ? timeout : &slice, NULL);
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

	if (c->sleeps++ % SLEEPS_A_LOOK)
		return false;
	flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);
	if (flags < 0 || !(flags & O_NONBLOCK) || atomic_load(&c->orphan))
		return false;
	atomic_fetch_or(&c->slot->socket_flags, SOCKET_NONBLOCK);
	return true;
}

/* With a time-out a signal ends the sleep in any case, as it does for TCP. So
 * the end of TCP alone can end it as well. */
static int wait_beside_tcp(struct connection *c, int fd, int bell,
			   const struct timespec *timeout)
{
	int orphan = atomic_load(&c->orphan);
	struct pollfd p[2] = {
	    {.fd = bell, .events = POLLIN},
	    {.fd = orphan ? orphan : fd, .events = POLLRDHUP},
	};
	int n = real.ppoll(p, 2, timeout, NULL);

	if (n < 0)
		return -errno;
	if (n == 0)
		return BELL_TIMEOUT;
	/* Closed by another thread: the bell will tell. */
	if (p[1].revents & POLLNVAL)
		return bell_wait(bell, timeout);
	if (p[1].revents)
		return BELL_HUNG_UP;
	return bell_drain(bell) ? BELL_HUNG_UP : BELL_RUNG;
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
	else
		result = slices->has_part ? bell_wait_once(bell)
					  : bell_wait(bell, NULL);
	if (result == BELL_TIMEOUT)
		return -EAGAIN;
	if (result == BELL_HUNG_UP)
		return wait_on_tcp(c, fd, timeout, slices);
	return result;
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
		d->end_ns = end_of(timeout);
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
	d->left.tv_sec = (time_t)(left / 1000000000u);
	d->left.tv_nsec = (long)(left % 1000000000u);
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
		first = sleepers_first(&c->slot->rx);
		inject_nap();
		atomic_store(&c->own_wait->armed_data, RMB_ARMED);
		inject_nap();
		/* Without the barrier a ring may never come. */
		if (!connection_settle(c))
			first = false;
		if (input_state(c, fd, need) != INPUT_NONE ||
		    demotion_is_due(c) || atomic_load(&c->dead))
			break;
		result = sleep_on(c, fd, c->bell_in, first, &slices,
				  deadline_left(&d));
	} while (result == 0 && input_state(c, fd, need) == INPUT_NONE &&
		 !demotion_is_due(c));
	return result;
}

int wait_for_input(struct connection *c, int fd, size_t need,
		   const struct timespec *timeout, bool has_part)
{
	uint64_t seen = atomic_load(&c->in_producer->cursor);
	struct sleeper sleeper;
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
	sleeper_begin(&sleeper, &c->slot->rx, &c->sleepers_data);
	pthread_cleanup_push(sleeper_end, &sleeper);
	result = sleep_for_input(c, fd, need, timeout, has_part);
	pthread_cleanup_pop(1);
	spin_judge(c, &s);
	return result;
}

/* At most as long as a stall may last; 0 also when that is over. */
static int sleep_for_room(struct connection *c, int fd, struct slices *s,
			  const struct timespec *timeout)
{
	int ms = stall_left_ms(c);
	struct timespec limit = {ms / 1000, (long)(ms % 1000) * 1000000};
	bool shorter;
	int result;

	if (ms < 0)
		return sleep_on(c, fd, c->bell_out, true, s, timeout);
	if (is_nonblocking(c, fd))
		return -EAGAIN;
	segment_count(sleeps);
	inject_nap();
	shorter = timeout && (timeout->tv_sec < limit.tv_sec ||
			      (timeout->tv_sec == limit.tv_sec &&
			       timeout->tv_nsec <= limit.tv_nsec));
	if (timeout)
		result = wait_beside_tcp(c, fd, c->bell_out,
					 shorter ? timeout : &limit);
	else
		result = patience_wait(c->bell_out, ms, s->has_part);
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
		first = sleepers_first(&c->slot->tx);
		inject_nap();
		atomic_store(&c->own_wait->armed_room, RMB_ARMED);
		inject_nap();
		if (output_is_ready(c, fd) || atomic_load(&c->dead))
			break;
		result = first
			     ? sleep_for_room(c, fd, &slices, deadline_left(&d))
			     : sleep_on(c, fd, c->bell_out, false, &slices,
					deadline_left(&d));
	} while (result == 0 && !output_is_ready(c, fd));
	return result;
}

int wait_for_output(struct connection *c, int fd,
		    const struct timespec *timeout, bool has_part)
{
	uint64_t seen = atomic_load(&c->out_consumer->cursor);
	struct sleeper sleeper;
	struct spin s;
	int result;

	segment_count(buffer_full);
	stall_begin(c);
	if (output_is_ready(c, fd))
		return 0;
	if (spin(c, seen, timeout, &s, changed_out))
		return 0;
	sleeper_begin(&sleeper, &c->slot->tx, &c->sleepers_room);
	pthread_cleanup_push(sleeper_end, &sleeper);
	result = sleep_for_output(c, fd, timeout, has_part);
	pthread_cleanup_pop(1);
	spin_judge(c, &s);
	return result;
}
