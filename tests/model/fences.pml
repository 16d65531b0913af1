/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fences: what a processor does to the order of a ringer and a sleeper.
 *
 * The other parts of the model have each step seen by all at once. Here stores
 * of the ringer and of the sleeper lie in a buffer until they fence, or any
 * time later: so behave x86-64's stores, and on other machines (aarch64) a
 * store, also a seq_cst one or that of an exchange, in front of a relaxed load.
 *
 * ringer stands for publish() with connection_signal_data(), wake_waiter() and
 * take_arm(); for tell_taken() with connection_signal_room() in ROOM. sleeper
 * stands for a thread that sleeps in a call (connection_settle(),
 * wait_for_output()) or
 * in an instance (take_waiter_word(), ask_for_bits(), epoll_arm(), and with
 * BITS look_at()).
 *
 *   FENCED    a stream with fences, a call
 *   UNFENCED  one whose writer leaves the fence to sleepers: barrier_all()
 *   WAITER    the same; an instance takes the waiter word, meanwhile
 *   BITS      the same; it asks for ready bits
 *   ROOM      a reader that gives room without a fence, as it is registered
 *   ROOM_BARE one that is not registered, which fences
 *
 * A barrier may fail, where the kernel refuses it: then the sleeper looks by
 * the clock. What is abstracted: one message, one bell, which is a bit.
 */
c_decl {
\#include <stdlib.h>
}

#define FENCED    1 /* proof: a stream with fences */
#define UNFENCED  2 /* proof: a stream whose fences are left to sleepers */
#define WAITER    3 /* proof: an instance begins to listen to it */
#define BITS      4 /* proof: ... with ready bits */
#define ROOM      5 /* proof: room without a fence */
#define ROOM_BARE 6 /* proof: room by a reader that is not registered */

#define RINGER_WITHOUT_FENCE   1 /* FENCED: no fence between publish and look */
#define SLEEPER_WITHOUT_FENCE  2 /* FENCED: no fence between arm and look */
#define NO_BARRIER             3 /* UNFENCED: the barrier is left out */
#define BARRIER_THEN_ARM       4 /* UNFENCED: barrier before arm */
#define LOOK_THEN_BARRIER      5 /* UNFENCED: barrier behind the look */
#define BARRIER_IGNORED        6 /* UNFENCED: a barrier that fails is ignored */
#define NO_ATTACH_BARRIER      7 /* WAITER: no barrier when an instance comes */
#define ATTACH_BARRIER_IGNORED 8 /* WAITER: one that fails then is ignored */
#define WAITER_WITHOUT_FENCE   9 /* WAITER: no fence for a waiter */
#define NO_BITS_BARRIER       10 /* BITS: no barrier when bits are asked for */
#define NOT_MARKED            11 /* BITS: members are not marked then */
#define BIT_WITHOUT_FENCE     12 /* BITS: no fence between bit and look */
#define BITS_WITHOUT_FENCE    13 /* BITS: no fence between publish and the bit's look */
#define NO_ROOM_BARRIER       14 /* ROOM: no barrier of a thread that waits for room */
#define ROOM_BARRIER_IGNORED  15 /* ROOM: one that fails is ignored */
#define ROOM_WITHOUT_FENCE    16 /* ROOM_BARE: no fence of an unregistered reader */

byte mutation, scene;
#define M(m) (mutation == (m))

#define ARMED   1
#define RINGING 2

bool cursor;         /* the peer published */
byte armed;          /* armed_data, armed_room or armed[w] */
bool waiter;         /* names the instance of the sleeper */
bool waiter_bits;    /* RMB_WAITER_BITS beside it */
bool ready;          /* its ready bit */
bool bell;

/* ---- store buffers ---- */

bool cursor_stored, ready_stored; /* of the ringer */
bool armed_stored;                /* of the sleeper */

inline ringer_drains() {
	d_step {
		cursor = cursor || cursor_stored;
		cursor_stored = false;
		ready = ready || ready_stored;
		ready_stored = false
	}
}

inline sleeper_drains() {
	d_step {
		armed = (armed_stored -> ARMED : armed);
		armed_stored = false
	}
}

/* Stores leave the buffers some time, in order. */
active proctype processor() {
end:	do
	:: cursor_stored -> d_step { cursor = true; cursor_stored = false }
	:: !cursor_stored && ready_stored ->
		d_step { ready = true; ready_stored = false }
	:: armed_stored -> sleeper_drains()
	od
}

/* ---- the ringer ---- */

#define IS_UNFENCED (scene != FENCED && scene != ROOM_BARE)
#define HAS_WAITER  (scene == WAITER || scene == BITS)

/* take_arm(), bell_ring() and drop_arm(); an exchange drains the buffer. */
inline signal() {
	if
	:: armed != 0 ->
		ringer_drains();
		d_step {
			took = armed != 0;
			armed = RINGING
		};
		if
		:: took ->
			bell = true;
			d_step {
				if
				:: armed == RINGING -> armed = 0
				:: else
				fi
			}
		:: else
		fi
	:: else
	fi
}

proctype ringer() {
	bool took, bits;

	/* publish(), publish_bytes() or tell_taken() */
	cursor_stored = true;
	if
	:: !IS_UNFENCED && !M(RINGER_WITHOUT_FENCE) && !M(ROOM_WITHOUT_FENCE) ->
		ringer_drains()
	:: else
	fi;
STEP_PUBLISHED_fences:
	if
	:: !HAS_WAITER -> signal()
	:: HAS_WAITER && waiter ->
		/* wake_waiter() */
		bits = waiter_bits;
		if
		:: !M(WAITER_WITHOUT_FENCE) && !M(BITS_WITHOUT_FENCE) ->
			ringer_drains()
		:: else
		fi;
		if
		:: bits && !ready ->
			ready_stored = true;
			if
			:: !M(BIT_WITHOUT_FENCE) -> ringer_drains()
			:: else
			fi
		:: else
		fi;
STEP_BIT_SET_fences:
		signal()
	:: HAS_WAITER && !waiter
	fi
}

/* ---- the sleeper ---- */

bool by_clock;

/* barrier_all(): all processors drain their buffers, or it fails. */
inline barrier_all(ignored) {
	if
	:: ringer_drains()
	:: by_clock = !(ignored)
	fi
}

proctype sleeper() {
	/* An instance comes: take_waiter_word(), ask_for_bits() */
	if
	:: HAS_WAITER ->
		waiter = true;
		if
		:: !M(NO_ATTACH_BARRIER) && !(M(NO_BITS_BARRIER)) ->
			barrier_all(M(ATTACH_BARRIER_IGNORED))
		:: else
		fi
	:: else
	fi;
	if
	:: scene == BITS ->
		waiter_bits = true;
		if
		:: !M(NO_BITS_BARRIER) -> barrier_all(false)
		:: else
		fi;
		if
		:: !M(NOT_MARKED) -> ready = true
		:: else
		fi
	:: else
	fi;
	if
	:: scene == BITS && ready ->
		/* A look before it arms takes the bit. */
		ready = false;
		if
		:: cursor -> goto over
		:: else
		fi
	:: else
	fi;
	if
	:: M(BARRIER_THEN_ARM) -> barrier_all(false)
	:: else
	fi;
	armed_stored = true;
	if
	:: !M(SLEEPER_WITHOUT_FENCE) -> sleeper_drains()
	:: else
	fi;
	if
	:: (scene == UNFENCED || scene == ROOM) && !M(NO_BARRIER) &&
	   !M(BARRIER_THEN_ARM) && !M(LOOK_THEN_BARRIER) &&
	   !M(NO_ROOM_BARRIER) ->
		barrier_all(M(BARRIER_IGNORED) || M(ROOM_BARRIER_IGNORED))
	:: else
	fi;
STEP_ARMED_fences:
	if
	:: scene != BITS && cursor -> goto over
	:: scene == BITS && ready && cursor -> goto over
	:: else
	fi;
	if
	:: scene == BITS && ready ->
		/* look_at(): the bit is taken, then comes another look. */
		ready = false;
STEP_BIT_TAKEN_fences:
		if
		:: cursor -> goto over
		:: else
		fi
	:: else
	fi;
	if
	:: M(LOOK_THEN_BARRIER) -> barrier_all(false)
	:: else
	fi;
STEP_LOOKED_fences:
	if
	:: bell
	:: by_clock && cursor -> goto over
	fi;
	/* A ring: with bits it looks at those that have one. */
	if
	:: scene != BITS && cursor
	:: scene == BITS && ready && cursor
	:: by_clock && cursor
	fi;
over:
	skip
}

init {
	atomic {
		c_code {
			now.mutation = atoi(getenv("MUTATION") ? getenv("MUTATION") : "0");
			now.scene = atoi(getenv("SCENE") ? getenv("SCENE") : "1");
		};
		run ringer();
		run sleeper()
	}
}
