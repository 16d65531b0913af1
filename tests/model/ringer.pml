/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ringer: the peer, which publishes a cursor and looks for sleepers.
 *
 * data_ringer stands for publish() and connection_signal_data(), room_ringer
 * for tell_taken() and connection_signal_room(), both with wake_waiter(); their
 * fences are in fences.pml. A ringer may be killed where it has an arm and has
 * not rung: what it published itself is not waited for then, as a peer that
 * dies is told by the hang-up of its bells.
 */

#define DROP_BY_STORE     1 /* THREADS: an arm is dropped by a plain store */
#define LOOK_THEN_SET_BIT 2 /* ALONE_BITS, THREADS_BITS: look before the bit is set */
#define LOOK_THEN_PUBLISH 3 /* ALONE, SHARED_ONE: look before publish */
#define RINGING_IS_ZERO   4 /* DYING: a word that is being rung for is not rung for */
#define DROP_THEN_RING    5 /* DYING: the arm is dropped before the ring */

bool uses_data_words; /* somebody ever arms armed_data */

/* take_arm(). RINGING counts as armed: that ringer may have died. */
#define IS_ARMED(word) (word != 0 && !(M(RINGING_IS_ZERO) && word == RINGING))
inline take_arm(word, took) {
	if
	:: IS_ARMED(word) ->
		d_step {
			took = IS_ARMED(word);
			word = RINGING
		}
	:: atomic { !IS_ARMED(word) -> took = false }
	fi
}

/* drop_arm(): unless it is armed again already. */
inline drop_arm(word) {
	d_step {
		if
		:: word == RINGING || M(DROP_BY_STORE) -> word = 0
		:: else
		fi
	}
}

/* A message on connection 1 comes with each, whose ringer finds nothing armed,
 * as this one's ring is on its way. */
bool come_both;

inline publish_data(x) {
	d_step {
		unread[AT(0, 1)] = unread[AT(0, 1)] || come_both;
		unread[AT(0, x)] = WANTS_IN(0, x);
		unread[AT(1, x)] = WANTS_IN(1, x);
		unread[AT(2, x)] = WANTS_IN(2, x);
		unread[AT(3, x)] = WANTS_IN(3, x)
	}
}

inline publish_room() {
	d_step {
		room[AT(0, 0)] = WANTS_OUT(0, 0);
		room[AT(1, 0)] = WANTS_OUT(1, 0);
		room[AT(2, 0)] = WANTS_OUT(2, 0);
		room[AT(3, 0)] = WANTS_OUT(3, 0)
	}
}

/* connection_signal_data() and wake_waiter(): a message on connection x, and
 * then one on `then`, if there is to be one. */
proctype data_ringer(byte x; byte then) {
	bool took;

publish:
	atomic {
		if
		:: !M(LOOK_THEN_PUBLISH) -> publish_data(x)
		:: else
		fi;
		if
		:: !uses_data_words -> goto wake_waiter
		:: else
		fi
	};
STEP_PUBLISHED_data:
	take_arm(armed_data[x], took);
	if
	:: took ->
STEP_TAKEN_data:
		bell_ring(DATA_BELL(x));
STEP_RUNG_data:
		drop_arm(armed_data[x])
	:: else
	fi;
wake_waiter:
	if
	:: waiter[x] != 0 && uses_bits[waiter[x] - 1] && !M(LOOK_THEN_SET_BIT) ->
		ready = ready | BIT(x)
	:: else
	fi;
STEP_BIT_SET_data:
	if
	:: waiter[x] != 0 -> take_arm(armed[waiter[x] - 1], took)
	:: else -> took = false
	fi;
	if
	:: took ->
STEP_TAKEN_waiter:
		bell_ring(DATA_BELL(x));
STEP_RUNG_waiter:
		drop_arm(armed[waiter[x] - 1])
	:: else
	fi;
	atomic {
		if
		:: M(LOOK_THEN_PUBLISH) -> publish_data(x)
		:: M(LOOK_THEN_SET_BIT) -> ready = ready | BIT(x)
		:: else
		fi;
		took = false;
		if
		:: then != NONE ->
			x = then;
			then = NONE;
			goto publish
		:: else -> ringing--
		fi
	}
}

/* connection_signal_room(): a waiter is woken only behind an arm. */
proctype room_ringer() {
	bool took;

	publish_room();
STEP_PUBLISHED_room:
	take_arm(armed_room, took);
	if
	:: took ->
STEP_TAKEN_room:
		bell_ring(ROOM_BELL);
STEP_RUNG_room:
		drop_arm(armed_room);
		if
		:: waiter[0] != 0 && uses_bits[waiter[0] - 1] ->
			ready = ready | BIT(0)
		:: else
		fi;
STEP_BIT_SET_room:
		if
		:: waiter[0] != 0 -> take_arm(armed[waiter[0] - 1], took)
		:: else -> took = false
		fi;
		if
		:: took ->
			bell_ring(DATA_BELL(0));
			drop_arm(armed[waiter[0] - 1])
		:: else
		fi
	:: else
	fi;
	ringing--
}

/*
 * A ringer that is killed as soon as it has the arms. Nobody waits for what it
 * published, as its end hangs up when the last process of it goes; the others
 * of that end ring in its place.
 */
proctype dying_ringer(byte x) {
	bool took;

	take_arm(armed_data[x], took);
	if
	:: took && M(DROP_THEN_RING) -> drop_arm(armed_data[x])
	:: else
	fi;
	take_arm(armed[waiter[x] - 1], took);
STEP_TAKEN_dying:
	if
	:: took && M(DROP_THEN_RING) -> drop_arm(armed[waiter[x] - 1])
	:: else
	fi
}
