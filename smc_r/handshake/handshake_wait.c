/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* handshake_wait: data calls that come before the handshake is over. */
#include "smc_r/handshake/handshake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/connection/sleepers.h"
#include "smc_r/connection/spin.h"
#include "smc_r/handshake/first_burst.h"
#include "smc_r/handshake/handshake_timeout.h"
#include "smc_r/handshake/knock.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/reason.h"

#define OWED_MS 900

enum way handshake_way(struct connection *c, bool write)
{
	switch (connection_phase(c)) {
	case PHASE_ACTIVE:
		return WAY_RING;
	case PHASE_NATIVE:
	case PHASE_CONNECTING:
		return WAY_KERNEL;
	default:
		break;
	}
	if (write && clc_can_write(connection_clc(c)))
		return WAY_KERNEL;
	/* A server that accepted may fill the client's buffer already. */
	if (write && c->rmb && connection_clc(c)->state == CLC_AWAIT_CONFIRM)
		return WAY_RING;
	return WAY_AGAIN;
}

/* messages.h tells how this goes with threads that take messages. */
static bool sleep_begin(struct connection *c, uint32_t seen)
{
	sleepers_join(place_for_data(c));
	return atomic_load(&c->slot->messages) == seen;
}

/* c is a struct connection; void, as a cleanup handler has it. */
static void sleep_end(void *c)
{
	sleepers_leave(place_for_data(c));
}

/* Sleeps until then. 0: as a read of the TCP socket does, whose time-outs,
 * signals and restarts are the kernel's; it wakes when there is one byte more
 * than the message so far. */
static int wait_for_message(struct connection *c, int fd, uint32_t seen,
			    uint64_t until)
{
	uint8_t bytes[CLC_BYTES_MAX];
	size_t have = c->opening.unread;
	volatile ssize_t n = 0;

	if (!until && have >= sizeof(bytes))
		return 0;
	pthread_cleanup_push(sleep_end, c);
	if (sleep_begin(c, seen)) {
		inject_nap();
		if (until)
			handshake_wait_until(fd, until);
		else
			n = real.recvfrom(fd, bytes, have + 1,
					  MSG_PEEK | MSG_WAITALL, NULL, NULL);
	}
	pthread_cleanup_pop(1);
	if (n < 0 && (errno == ECONNRESET || errno == EPIPE) &&
	    handshake_error_of(c, fd, errno) == 0)
		return 0;
	return n < 0 ? -1 : 0;
}

/* A connection that is closed meanwhile goes on under another number. */
static int wait_as_call(struct connection *c, int fd, uint32_t seen,
			uint64_t until, struct sleeper *call)
{
	volatile int result;

	if (!call)
		return wait_for_message(c, fd, seen, until);
	sleeper_begin(call, NULL);
	pthread_cleanup_push(sleeper_end, call);
	result = wait_for_message(c, fd, seen, until);
	pthread_cleanup_pop(0);
	return result;
}

static bool has_bytes(const void *fd)
{
	return sys_poll(*(const int *)fd, POLLIN, 0);
}

/*
 * The peer is about to answer: it was just woken, or just sent. Waiting awake
 * saves both of us a sleep that costs more than all messages together. A look
 * is a system call here, so the bound is what counts. The peer may have been
 * woken on this very core.
 */
static bool spin_for_message(int fd, size_t have)
{
	static uint32_t score;

	/* More of a piece cannot be seen without taking an error. */
	return have == 0 && spin_for(&score, true, has_bytes, &fd);
}

bool handshake_wait_until(int fd, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now = sys_now_ns();
	struct timespec left;

	if (now >= until_ns)
		return false;
	left = sys_timespec(until_ns - now);
	real.ppoll(&p, 1, &left, NULL);
	return true;
}

void handshake_step_until(struct connection *c, int fd, uint64_t until_ns,
			  bool (*is_due)(struct connection *),
			  uint32_t (*step)(struct connection *, int))
{
	while (is_due(c) && handshake_wait_until(fd, until_ns))
		step(c, fd);
}

enum way handshake_for_read(struct connection *c, int fd, bool wait,
			    struct sleeper *call)
{
	uint32_t seen = atomic_load(&c->slot->messages);
	enum way way;

	/* A call that would only wait makes a step, too: another thread may
	 * have counted a message, as it is in `seen`, and be about to take it.
	 */
	handshake_step(c, fd);
	while ((way = handshake_way(c, false)) == WAY_AGAIN && wait &&
	       !connection_reads_no_more(c)) {
		first_burst_end();
		if (!spin_for_message(fd, c->opening.unread) &&
		    wait_as_call(c, fd, seen, 0, call) < 0)
			return WAY_ERROR;
		fd = connection_fd(c, fd);
		seen = atomic_load(&c->slot->messages);
		handshake_step(c, fd);
	}
	return way == WAY_AGAIN && connection_reads_no_more(c) ? WAY_END : way;
}

/* Data now goes ahead of what the machine would still say. */
static void note_write(struct connection *c)
{
	engine_lock();
	if (connection_phase(c) == PHASE_HANDSHAKE)
		clc_wrote(connection_clc(c));
	engine_unlock();
}

/* Waits for the acceptor, as long as that pays. False: it is to go on over TCP.
 */
static bool wait_to_write(struct connection *c, int *fd,
			  enum handshake_asker asker, uint32_t seen,
			  struct sleeper *call)
{
	uint64_t now = sys_now_ns();
	struct handshake_clock k = handshake_clock_of(c, asker, now);
	struct handshake_verdict v;

	for (;; now = sys_now_ns()) {
		if (handshake_way(c, true) != WAY_AGAIN)
			return true;
		/* It waits longer while the acceptor is at work. */
		k.answered_ns = handshake_clock_of(c, asker, now).answered_ns;
		v = handshake_judge(&k, now);
		if (v.turn == HANDSHAKE_GIVE_UP)
			break;
		if (!spin_for_message(*fd, c->opening.unread))
			wait_as_call(c, *fd, seen, v.until_ns, call);
		*fd = connection_fd(c, *fd);
		seen = atomic_load(&c->slot->messages);
		handshake_step(c, *fd);
	}
	/* A wait that took no time is no reason to take none later. */
	if (v.until_ns > k.asked_ns)
		handshake_note_timeout(c, now);
	return false;
}

static void await_knock(struct connection *c)
{
	uint64_t now = sys_now_ns();
	struct handshake_clock k = handshake_clock_of(c, HANDSHAKE_WRITE, now);
	struct handshake_verdict v = handshake_judge(&k, now);

	if (v.turn == HANDSHAKE_KNOCK)
		knock_await(c, v.until_ns - now);
}

enum way handshake_for_write(struct connection *c, int fd, bool wait,
			     struct sleeper *call)
{
	uint32_t seen = atomic_load(&c->slot->messages);
	enum way way;

	/* A call that would only wait makes a step, too: handshake_for_read()
	 * tells why. */
	if (wait && knock_is_pending(c))
		await_knock(c);
	handshake_step(c, fd);
	handshake_speak(c, fd);
	if (handshake_way(c, true) == WAY_AGAIN) {
		if (wait)
			first_burst_begin(c);
		if (!wait_to_write(c, &fd,
				   wait ? HANDSHAKE_WRITE : HANDSHAKE_WRITE_NOW,
				   seen, call))
			handshake_abort(c, fd, REASON_TIMEOUT);
	}
	way = handshake_way(c, true);
	if (way == WAY_KERNEL && connection_phase(c) == PHASE_HANDSHAKE)
		note_write(c);
	return way;
}

/* ---- before somebody else follows ---- */

/* Has the peer nothing more to say that only we can read? It may have declined
 * as we did; then that left before ours was seen, and is here at once. Any
 * other message is still due, and waited for longer. */
static uint64_t owed_until(struct connection *c, uint64_t end)
{
	uint64_t crossing = sys_now_ns() + CROSSING_MS * 1000000u;

	return (connection_clc(c)->state == CLC_LOOK ||
		c->handshake.client_silent) &&
		       crossing < end
		   ? crossing
		   : end;
}

void handshake_for_successor(struct connection *c, int fd)
{
	uint64_t end = sys_now_ns() + OWED_MS * 1000000ull;
	uint32_t seen = atomic_load(&c->slot->messages);
	bool looks = false;

	if (handshake_withdraw(c, fd))
		return;
	while (handshake_step(c, fd) == PHASE_HANDSHAKE) {
		if (!looks) {
			end = owed_until(c, end);
			looks = connection_clc(c)->state == CLC_LOOK;
		}
		if (sys_now_ns() >= end) {
			handshake_give_up(c, fd);
			return;
		}
		/* TCP looks readable for ever. */
		if (connection_reads_no_more(c))
			sys_nap(1000000);
		wait_for_message(c, fd, seen, end);
		seen = atomic_load(&c->slot->messages);
	}
}
