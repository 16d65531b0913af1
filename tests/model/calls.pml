/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * calls: threads that sleep for connection 0 in a call.
 *
 * call_thread stands for a program's loop of recv() or send():
 * wait_for_input() and wait_for_output(), with sleep_for_input() or
 * sleep_for_output(), wait_sleep_for_bytes() and bell_wait(). poll_thread is a
 * loop of poll() with two entries for that connection: poll_sleep(), prepare(),
 * leave(). shutter is another thread of the same process, which changes the
 * state and wakes sleepers: connection_wake_readers().
 *
 * The first of those that sleep on a bell takes all its bytes; the others look
 * by the clock, in slices, and that never fails. A caller is named by its view,
 * as in the C by its thread id.
 *
 * What is abstracted: bell monitors, with which several processes sleep on one bell, and
 * the end of a sleep by a limit of the program's.
 */

#define DRAIN_SILENTLY          50 /* RECV_BESIDE, RECV_CANCELLED: a call drains without waking instances */
#define ENTRIES_LEAVE_ONE_BY_ONE 51 /* POLL_TWICE: the second entry drains behind the first one's leave */
#define CALL_CANCELLED_SILENTLY 52 /* RECV_CANCELLED: a cancelled call does not pass on */
#define CALL_LOOK_THEN_ARM      53 /* RECV, RECV_TWICE: look before arm, in a call */
#define CALL_COUNTED_LATE       54 /* SHUTDOWN: a caller counts itself behind its look */
#define TWO_FIRSTS              55 /* RECV_SEND: one bell, and a first for each direction */
#define OWN_LOOK_THEN_CHANGE    56 /* SHUTDOWN: look for callers before the change */
#define ARM_THEN_FIRST          57 /* RECV_TWICE: a caller becomes the first behind arm */
#define POKE_THEN_DRAIN         58 /* POLL_BESIDE: poll() wakes instances before it drains */

byte may_die;       /* the view of a caller that may be killed, or 0 */
bool call_may_cancel;

#define ON_DATA 0
#define ON_ROOM 1

/* sleepers_first(): with one bell for both there is one first. */
#define FIRST_OF_DATA(on) ((on) == ON_DATA || (bells_one && !M(TWO_FIRSTS)))
#define FIRST(on) (FIRST_OF_DATA(on) -> first_data : first_room)
inline sleepers_first(on, me) {
	if
	:: FIRST_OF_DATA(on) && !LIVES(first_data) -> first_data = me
	:: !FIRST_OF_DATA(on) && !LIVES(first_room) -> first_room = me
	:: else
	fi
}

/* Slices of a sleep by the clock in which it finds nothing are left out. */
#define CLOCK_FINDS(me, on) (SEES(me, 0) || !LIVES(FIRST(on)))

/* sleepers_leave() */
inline sleepers_leave(me, count) {
	callers = callers - (count);
	if
	:: first_data == me -> first_data = 0
	:: else
	fi;
	if
	:: first_room == me -> first_room = 0
	:: else
	fi
}

inline call_takes(me) {
	unread[AT(me, 0)] = false;
	room[AT(me, 0)] = false
}

/* Nobody waits for what it would be told. */
inline call_ends(me) {
	call_takes(me);
	asks[AT(me, 0)] = 0
}

proctype call_thread(byte me; byte on) {
	byte its = (on == ON_DATA -> DATA_BELL(0) : ROOM_BELL);
	bool is_first;

call:
	/* sleeper_begin(), sleepers_join() */
	atomic {
		if
		:: !M(CALL_COUNTED_LATE) -> callers++
		:: else
		fi;
		sleepers_first(on, me)
	};
again:
	/* sleep_for_input(): the first is found before it arms, as the one
	 * before it may have taken rings until now. */
	atomic {
		if
		:: !M(ARM_THEN_FIRST) ->
			sleepers_first(on, me);
			is_first = FIRST(on) == me
		:: else
		fi;
		if
		:: M(CALL_LOOK_THEN_ARM) && SEES(me, 0) -> goto found
		:: else
		fi
	};
	atomic {
		if
		:: on == ON_DATA -> armed_data[0] = ARMED
		:: on == ON_ROOM -> armed_room = ARMED
		fi
	};
STEP_ARMED_call:
	atomic {
		if
		:: SEES(me, 0) && !M(CALL_LOOK_THEN_ARM) -> goto found
		:: else
		fi
	};
STEP_LOOKED_call:
	atomic {
		if
		:: M(ARM_THEN_FIRST) ->
			sleepers_first(on, me);
			is_first = FIRST(on) == me
		:: M(CALL_COUNTED_LATE) -> callers++
		:: else
		fi;
		if
		:: !is_first -> goto by_clock
		:: else
		fi
	};
	/* bell_wait(): read() takes all bytes. */
	atomic {
		if
		:: bell[its] > 0 ->
			bell_take(its, FULL)
		:: may_die == me ->
			may_die = 0;
			dead = me;
			call_ends(me);
			goto over
		:: ALL_TOLD ->
			sleepers_leave(me, 1);
			goto over
		fi
	};
STEP_DRAINED_call:
	atomic {
		if
		:: call_may_cancel ->
			/* sleeper_end() passes on for it. */
			call_may_cancel = false;
			call_ends(me);
			sleepers_leave(me, 1);
			goto cancelled
		:: true
		fi
	};
	/* pass_on() */
	atomic {
		if
		:: !M(DRAIN_SILENTLY) -> epoll_wake_members(0)
		:: else
		fi;
		if
		:: M(CALL_COUNTED_LATE) -> callers--
		:: else
		fi;
		if
		:: SEES(me, 0) -> goto found
		:: else -> goto again
		fi
	};
by_clock:
	/* sleep_by_clock() */
	atomic {
		if
		:: CLOCK_FINDS(me, on) -> goto again
		:: ALL_TOLD ->
			sleepers_leave(me, 1);
			goto over
		fi
	};
found:
	atomic {
		/* sleeper_wake() */
		is_first = false;
		sleepers_leave(me, (M(CALL_COUNTED_LATE) -> 0 : 1))
	};
	atomic {
		call_takes(me);
		goto call
	};
cancelled:
	atomic {
		if
		:: !M(CALL_CANCELLED_SILENTLY) -> epoll_wake_members(0)
		:: else
		fi
	};
over:
	skip
}

proctype poll_thread(byte me) {
	bool is_first;

call:
	/* prepare(): the two entries join the sleepers, and arm. */
	atomic {
		callers = callers + 2;
		sleepers_first(ON_DATA, me);
		is_first = first_data == me
	};
	armed_data[0] = ARMED;
	/* poll_look_members() */
	atomic {
		if
		:: SEES(me, 0) -> goto leave
		:: else
		fi
	};
	/* sleep_now(): one that is not the first has a limit. */
	atomic {
		if
		:: is_first && bell[0] > 0
		:: !is_first && CLOCK_FINDS(me, ON_DATA)
		:: ALL_TOLD ->
			sleepers_leave(me, 2);
			goto over
		fi
	};
leave:
	/* The bell is emptied for both, and then both leave. */
	atomic {
		if
		:: is_first && M(POKE_THEN_DRAIN) -> epoll_wake_members(0)
		:: else
		fi
	};
	atomic {
		if
		:: is_first -> bell_take(0, FULL)
		:: else
		fi
	};
	atomic {
		if
		:: M(ENTRIES_LEAVE_ONE_BY_ONE) -> sleepers_leave(me, 1)
		:: else
		fi
	};
	atomic {
		if
		:: is_first -> bell_take(0, FULL)
		:: else
		fi
	};
STEP_DRAINED_poll:
	sleepers_leave(me, (M(ENTRIES_LEAVE_ONE_BY_ONE) -> 1 : 2));
	atomic {
		is_first = false;
		if
		:: !M(POKE_THEN_DRAIN) -> epoll_wake_members(0)
		:: else
		fi
	};
	atomic {
		call_takes(me);
		goto call
	};
over:
	skip
}

/* shutdown() by another thread: the state changes, then its own sleepers are rung for. */
proctype shutter() {
	bool sleep;

	atomic {
		if
		:: M(OWN_LOOK_THEN_CHANGE) -> sleep = callers > 0
		:: else -> publish_data(0)
		fi
	};
	atomic {
		if
		:: M(OWN_LOOK_THEN_CHANGE) -> publish_data(0)
		:: else -> sleep = callers > 0
		fi
	};
	atomic {
		if
		:: sleep -> bell_ring(DATA_BELL(0))
		:: else
		fi;
		ringing--
	}
}
