/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wakeups: the protocol of arm, bell, empty, look, sleep and pass on.
 *
 * This file puts the parts together: objects.pml has the words of the RMB and
 * what the kernel does, ringer.pml the peer, epoll.pml threads that wait for an
 * instance, calls.pml those that sleep in recv(), send() and poll(). Fences and
 * barriers are in fences.pml, a model of its own.
 *
 * Peers send a few messages, and the sleepers must be told of all of them: a
 * wake-up that is lost, the last one too, leaves a thread asleep where nobody
 * rings any more, which spin calls an invalid end state. No clock wakes anybody
 * but the threads that look by the clock in the C as well, and those are told of
 * their own messages only.
 *
 * A label STEP_* is a gap that enum inject_step of smc_r/os/inject.h names; its
 * suffix tells apart several places with that gap. An atomic { } or d_step { } is
 * one access to what others see, with what a thread decides for itself around
 * it; others may come in between any two of them.
 *
 * A scene says which threads and peers there are. A mutation has an ordering of
 * the protocol exchanged or left out, and spin must refute it in each scene that
 * its line names. check.sh runs all of them; SCENE and MUTATION in the
 * environment choose one when the model runs.
 *
 * What is left out: handshakes, spinning, TCP's own news in S, bell monitors, that a
 * thread with a clock wakes another one for its clock (pending_ms()), and that
 * an outer instance of several threads passes on the sign of an inner one.
 */
#include "objects.pml"
#include "ringer.pml"
#include "epoll.pml"
#include "calls.pml"

c_decl {
\#include <stdlib.h>
}

#define ALONE          1 /* proof: two connections of an RMB, room and data */
#define ALONE_BITS     2 /* proof: the same with ready bits */
#define ONE_BELL       3 /* proof: room and data on one bell */
#define PARKED_ONE     4 /* proof: a member that reports nothing */
#define PARKED_BITS    5 /* proof: the same with ready bits */
#define THREADS        6 /* proof: two threads in an instance */
#define THREADS_BITS   7 /* proof: the same with ready bits */
#define CANCELLED      8 /* proof: two threads, one is cancelled */
#define SHARED_ONE     9 /* proof: a connection in two instances */
#define DYING         10 /* proof: a ringer that is killed */
#define POLLED        11 /* proof: poll() on an instance */
#define POLLED_BITS   12 /* proof: the same with ready bits */
#define POLLED_BESIDE 13 /* proof: poll() beside epoll_wait() */
#define POLLED_BESIDE_BITS 14 /* proof: the same with ready bits */
#define POLLED_EMPTIED 15 /* proof: the same where each arm empties bells */
#define RECV          17 /* proof: recv() */
#define RECV_TWICE    18 /* proof: two threads in recv() */
#define RECV_SEND     19 /* proof: recv() and send() on one bell */
#define RECV_BESIDE   20 /* proof: recv() beside an instance */
#define POLL_TWICE    21 /* proof: poll() of two entries beside recv() */
#define POLL_BESIDE   22 /* proof: poll() of two entries beside an instance */
#define RECV_CANCELLED 23 /* proof: recv() is cancelled beside an instance */
#define RECV_KILLED   24 /* proof: recv() is killed beside an instance */
#define RECV_DEAD     25 /* proof: recv() was killed beside an instance */
#define SHUTDOWN      26 /* proof: recv() beside another thread's shutdown() */

byte scene;
#define IN(s) (scene == (s))

/* A member of instance e; the first instance gets the waiter word. */
inline member(e, x, what) {
	asks[AT(e, x)] = what;
	if
	:: waiter[x] == 0 -> waiter[x] = e + 1
	:: else
	fi
}

inline epoll(e, how) {
	threads[e] = threads[e] + 1;
	run epoll_thread(e, how)
}

inline recv(view) {
	asks[AT(view, 0)] = INPUT;
	run call_thread(view, ON_DATA)
}

inline send(view) {
	asks[AT(view, 0)] = OUTPUT;
	run call_thread(view, ON_ROOM)
}

inline poll(view) {
	asks[AT(view, 0)] = INPUT;
	run poll_thread(view)
}

inline data(x, then) {
	ringing = ringing + 1;
	run data_ringer(x, then)
}

inline rooms() {
	ringing = ringing + 1;
	run room_ringer()
}

/* Where they are more than 64 members it says so at once. */
inline begin_bits() {
	uses_bits[0] = true;
	ready = BIT(0) | BIT(1)
}

inline play_instance() {
	if
	:: IN(ALONE) ->
		member(0, 0, BOTH); member(0, 1, INPUT);
		epoll(0, WAITS);
		data(0, 1); rooms()
	:: IN(ALONE_BITS) || IN(ONE_BELL) ->
		member(0, 0, BOTH);
		epoll(0, WAITS);
		data(0, NONE); rooms()
	:: IN(PARKED_ONE) || IN(PARKED_BITS) ->
		/* Rings for the second one lie there already. */
		limit = 1;
		bell[2] = FULL - 1;
		full_bells = uses_bits[0] * BIT(2);
		member(0, 0, INPUT); member(0, 2, PARKED);
		epoll(0, WAITS);
		data(0, NONE); data(2, 2)
	:: IN(THREADS) ->
		limit = 1;
		member(0, 0, INPUT); member(0, 1, INPUT);
		epoll(0, WAITS); epoll(0, WAITS);
		data(0, 1)
	:: IN(THREADS_BITS) ->
		may_keep = false;
		member(0, 0, INPUT); member(0, 1, INPUT);
		unread[AT(0, 1)] = true;
		epoll(0, WAITS); epoll(0, WAITS);
		data(0, NONE)
	:: IN(CANCELLED) ->
		may_ask = true;
		may_cancel = true;
		member(0, 0, INPUT);
		epoll(0, WAITS); epoll(0, WAITS);
		data(0, NONE)
	:: IN(SHARED_ONE) ->
		member(0, 0, INPUT); member(1, 0, INPUT);
		epoll(0, WAITS); epoll(1, WAITS);
		data(0, NONE)
	:: IN(DYING) ->
		member(0, 0, INPUT);
		epoll(0, WAITS);
		run dying_ringer(0);
		data(0, NONE)
	fi
}

inline play_polled() {
	is_polled = true;
	if
	:: IN(POLLED) || IN(POLLED_BITS) ->
		limit = 1;
		member(0, 0, INPUT); member(0, 2, PARKED);
		epoll(0, POLLS);
		data(0, NONE); data(2, NONE)
	:: IN(POLLED_BESIDE) || IN(POLLED_BESIDE_BITS) || IN(POLLED_EMPTIED) ->
		may_keep = false;
		member(0, 0, INPUT); member(0, 1, INPUT);
		epoll(0, POLLS);
		epoll(0, WAITS);
		come_both = IN(POLLED_BESIDE);
		limit = IN(POLLED_BESIDE);
		data(0, NONE)
	fi
}

inline play_calls() {
	if
	:: IN(RECV) ->
		recv(2);
		data(0, 0)
	:: IN(RECV_TWICE) ->
		recv(2); recv(3);
		data(0, 0)
	:: IN(RECV_SEND) ->
		recv(2); send(3);
		data(0, NONE); rooms()
	:: IN(POLL_TWICE) ->
		recv(2); poll(3);
		data(0, 0)
	:: IN(SHUTDOWN) ->
		recv(2);
		data(0, NONE);
		ringing = ringing + 1;
		run shutter()
	:: IN(RECV_BESIDE) ->
		member(0, 0, INPUT);
		recv(2); epoll(0, WAITS);
		data(0, 0)
	:: IN(POLL_BESIDE) ->
		/* A ring lies there that is nobody's any more. */
		bell[0] = 1;
		member(0, 0, INPUT);
		poll(3); epoll(0, WAITS);
		data(0, NONE)
	:: IN(RECV_CANCELLED) || IN(RECV_KILLED) ->
		call_may_cancel = IN(RECV_CANCELLED);
		may_die = (IN(RECV_KILLED) -> 2 : 0);
		member(0, 0, INPUT);
		recv(2); epoll(0, WAITS);
		data(0, NONE)
	:: IN(RECV_DEAD) ->
		dead = 2;
		first_data = dead;
		callers = 1;
		armed_data[0] = ARMED;
		bell[0] = FULL - 2;
		member(0, 0, INPUT);
		epoll(0, WAITS);
		data(0, 0)
	fi
}

init {
	atomic {
		c_code {
			const char *s = getenv("SCENE");
			const char *m = getenv("MUTATION");

			now.scene = s ? atoi(s) : 1;
			now.mutation = m ? atoi(m) : 0;
		};
		may_keep = true;
		bells_one = IN(RECV_SEND) || IN(ONE_BELL);
		uses_data_words = IN(SHARED_ONE) || IN(DYING) || scene >= RECV;
		if
		:: IN(ALONE_BITS) || IN(PARKED_BITS) || IN(THREADS_BITS) ||
		   IN(POLLED_BITS) || IN(POLLED_BESIDE_BITS) -> begin_bits()
		:: else
		fi;
		if
		:: scene < POLLED -> play_instance()
		:: scene >= POLLED && scene < RECV -> play_polled()
		:: scene >= RECV -> play_calls()
		fi
	}
}
