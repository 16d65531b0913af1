/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll: threads that wait for the members of an instance.
 *
 * epoll_thread stands for a program's loop around epoll_wait_members(), with
 * epoll_scan(), epoll_arm(), epoll_drain() and epoll_wake(). A thread
 * that POLLS asks the instance with poll() before (poll_sleep(), with
 * epoll_is_ready()); then it calls epoll_wait() with a time of 0, which only
 * looks.
 *
 * A wait reports one member, and which one is found first is left open. Then
 * the thread may stay away for ever, if another one is there: it is busy with
 * what it was told of, perhaps until that other one has been told of the rest.
 *
 * What is abstracted: whether the kernel is asked before the first look, and
 * whether a bit is kept for some rounds, is left open. Spinning, handshakes and
 * the order of reports are not modelled.
 */

#define ARM_THEN_EMPTY      20 /* ALONE, PARKED_ONE, ALONE_BITS, PARKED_BITS: arm before empty, which wakes only others */
#define EMPTY_IN_LOOK       21 /* ALONE_BITS, PARKED_BITS: bells are emptied in the look behind arm */
#define NEVER_EMPTY         22 /* PARKED_ONE, PARKED_BITS: bells are not emptied */
#define EMPTY_WAKES_NOBODY  23 /* SHARED_ONE: empty without waking other instances */
#define COUNT_IS_BELIEVED   24 /* RECV_BESIDE: no second look at calls behind empty */
#define LOOK_THEN_ARM       25 /* ALONE, ALONE_BITS: look before arm */
#define ARM_THEN_DRAIN    26 /* ALONE_BITS: arm before drain */
#define COUNTED_LATE        27 /* THREADS, CANCELLED: a sleeper counts itself behind its look */
#define NO_PASS_ON          28 /* THREADS: no pass-on */
#define PASS_ON_BLINDLY     29 /* THREADS: pass on without a look */
#define PASS_ON_UNARMED     30 /* THREADS: pass on without arming */
#define LOOK_THEN_PASS_ON   31 /* THREADS: pass on with the look before arming */
#define BIT_TAKEN_BLINDLY   32 /* ALONE_BITS, THREADS_BITS: a bit is taken without a second look */
#define ROOM_IS_NOT_ARMED   33 /* ALONE_BITS: the look at a bit does not arm for room */
#define CANCELLED_SILENTLY  34 /* CANCELLED: a cancelled thread does not pass on */
#define POLL_IS_IGNORED     35 /* POLLED_BESIDE: pass on only to threads in epoll_wait */
#define SETTLE_UNARMED      36 /* POLLED, POLLED_BITS: drain of poll() behind arm, no arm again */
#define SETTLE_BLINDLY      37 /* POLLED, POLLED_BITS: no look behind drain and arm of poll() */
#define SETTLE_WAKES_NOBODY 38 /* POLLED_BESIDE, POLLED_BESIDE_BITS: poll() drains and wakes nobody */
#define EMPTY_WAKES_OTHERS  39 /* POLLED_EMPTIED: empty without waking its own instance */
#define DEAD_ONES_COUNT     40 /* RECV_DEAD: rings are left to a caller that was killed */

bool may_cancel; /* one thread may be cancelled */
bool may_ask;    /* the kernel may be asked before the first look */
bool may_keep;   /* a bit may be kept for another round */
bool sign_S[INSTANCES]; /* epoll.undrained */
bool sign_B[INSTANCES]; /* epoll.rung */

/* ---- the kernel's signs ---- */

/* epoll_pwait(E): a sign goes to one thread. What is not ready is dropped. */
inline take_signs(e) {
	sign_S[e] = sign_S[e] || (edge_E_S[e] && edge_S[e]);
	sign_B[e] = uses_bits[e] && (sign_B[e] || (edge_E_B[e] && B_READY(e)));
	edge_E_S[e] = false;
	edge_E_B[e] = false
}

/* drain() of S */
inline drain_S(e) {
	sign_S[e] = false;
	edge_S[e] = false
}

/* drain() of B: what rang has a bit from here on. */
inline drain_B(e) {
	sign_B[e] = false;
	ready = ready | (uses_bits[e] * (IN_B(e, 0) | IN_B(e, 3) |
		IN_B(e, 1) << 1 | IN_B(e, 2) << 2));
	IN_B(e, 0) = false;
	IN_B(e, 1) = false;
	IN_B(e, 2) = false;
	IN_B(e, 3) = false
}

/* epoll_drain(), if epoll_must_drain() */
inline epoll_drain(e) {
	if
	:: sign_S[e] -> drain_S(e)
	:: else
	fi;
	if
	:: sign_B[e] && uses_bits[e] -> drain_B(e)
	:: else
	fi
}

/* ---- emptying and arming ---- */

/* The bells of e's members, one bit each. */
#define OWN_BELLS(e) (HAS(e, 0) * 9 | HAS(e, 1) * 2 | HAS(e, 2) * 4)
/* Those of connections that the last look noted. */
#define BELLS_OF(bits) ((bits) | ((bits) & 1) << 3)

/* `left` are bells that epoll_arm() has not seen to yet. */
#define TO_EMPTY(b) (bell[b] > limit && (left & BIT(b)) && \
		     !M(NEVER_EMPTY) && !M(EMPTY_IN_LOOK))

/* A thread that sleeps in a call takes its rings itself, unless it was killed:
 * empty_bell() leaves them to the first, if that still lives. */
#define IS_SLEPT_ON(b) (OF_BELL(b) == 0 && (M(DEAD_ONES_COUNT) -> callers > 0 : \
	LIVES(first_data) || LIVES(first_room)))

#define WAKES_OTHERS (M(EMPTY_WAKES_OTHERS) || M(ARM_THEN_EMPTY))

/* wake_callers() and epoll_wake_members(): what e took out of bell b may have been for a
 * thread that began to sleep in a call since, and for those of any instance, e
 * as well. */
inline wake_others(e, b) {
	atomic {
		if
		:: OF_BELL(b) == 0 && callers > 0 && !M(COUNT_IS_BELIEVED) ->
			bell_ring(b)
		:: else
		fi
	};
	atomic {
		if
		:: M(EMPTY_WAKES_NOBODY)
		:: WAKES_OTHERS && HAS(1 - (e), OF_BELL(b)) ->
			epoll_wake(1 - (e))
		:: WAKES_OTHERS && !HAS(1 - (e), OF_BELL(b))
		:: else -> epoll_wake_members(OF_BELL(b))
		fi
	}
}

/* epoll_ready_arm() and arm_member(): the word that members have in common,
 * then those of connection 0, as no other one is shared or asks for output.
 * epoll_arm_marked() comes with all arming that no gather follows. */
#define COMMON_WORD(e)  (waiter[0] == e + 1 || waiter[1] == e + 1)
#define OWN_WORD(e)     (HAS(e, 0) && (SHARED(e, 0) || WANTS_OUT(e, 0)))
inline arm_common(e) {
	if
	:: COMMON_WORD(e) -> armed[e] = ARMED
	:: else
	fi
}
inline arm_own(e, marked) {
	if
	:: HAS(e, 0) && SHARED(e, 0) -> armed_data[0] = ARMED
	:: WANTS_OUT(e, 0) && !SHARED(e, 0) && (!uses_bits[e] ||
	   ((marked) && (ready & BIT(0)))) -> armed_room = ARMED
	:: else
	fi
}

/* ---- looking ---- */

/* epoll_judge(): what is told is taken, by one thread. */
inline epoll_judge(e, x, found) {
	if
	:: SEES(e, x) ->
		found = x;
		unread[AT(e, x)] = false;
		room[AT(e, x)] = false
	:: else
	fi
}

/* look_one(), of members with a bit: it notes bells for epoll_arm(), and says
 * that it waits for room. */
inline look_one(e, x, found) {
	atomic {
		if
		:: bell[x] > limit && M(EMPTY_IN_LOOK) -> bell_take(x, FULL)
		:: (bell[x] > limit || (x == 0 && bell[3] > limit)) &&
		   !M(EMPTY_IN_LOOK) -> full_bells = full_bells | BIT(x)
		:: else
		fi;
		epoll_judge(e, x, found)
	};
	if
	:: atomic {
			found == NONE && WANTS_OUT(e, x) &&
			!M(ROOM_IS_NOT_ARMED) -> armed_room = ARMED
		};
		atomic { epoll_judge(e, x, found) }
	:: else
	fi
}

/* members_ready(): nothing is taken. */
#define READY(e, x) (SEES(e, x) && (!uses_bits[e] || (ready & BIT(x))))
inline members_ready(e, result) {
	result = READY(e, 0);
	atomic {
		if
		:: !result -> result = READY(e, 1)
		:: else
		fi
	}
}

/* ---- a thread ---- */

#define WAITS 0
#define POLLS 1

/* Where epoll_scan() was called from. */
#define FIRST_LOOK 0 /* epoll_kernel_first() */
#define ARMED_LOOK 1 /* sleep_round(), before its sleep */
#define WOKEN_LOOK 2 /* sleep_round(), behind it: join_members() */

/* Where epoll_arm() was called from. */
#define TO_SLEEP   0 /* sleep_round() */
#define TO_PASS_ON 1 /* epoll_wake(), WAKE_PASS_ON */
#define TO_POLL    2 /* poll_sleep() */
#define TO_SETTLE  3 /* kernel_ready(), behind epoll_drain_all() */

proctype epoll_thread(byte e; byte how) {
	byte i, there, left, call;
	byte found = NONE;
	bool took, any, news;

begin:
	/* epoll_wait_members(): the kernel is asked now and then. */
	atomic {
		took = false;
		call = FIRST_LOOK;
		if
		:: how == WAITS -> goto gather
		:: how != WAITS || may_ask ->
			take_signs(e);
			took = true
		fi
	};
	atomic {
		epoll_drain(e);
		goto gather
	};

round:
	/* sleep_round() */
	atomic {
		took = true;
		call = ARMED_LOOK;
		if
		:: !M(COUNTED_LATE) -> sleepers[e]++
		:: else
		fi
	};
	atomic {
		if
		:: !M(ARM_THEN_DRAIN) -> epoll_drain(e)
		:: else
		fi;
		if
		:: M(LOOK_THEN_ARM) -> goto gather
		:: else -> call = TO_SLEEP
		fi
	};

arm:
	/* epoll_arm(): bells are emptied, then words are armed. */
	atomic {
		if
		:: M(ARM_THEN_EMPTY) ->
			arm_common(e);
			arm_own(e, call != TO_SLEEP)
		:: else
		fi;
		left = OWN_BELLS(e);
		if
		:: uses_bits[e] ->
			left = left & BELLS_OF(full_bells);
			full_bells = 0
		:: else
		fi
	};
	do
	:: atomic {
			/* empty_bell() */
			if
			:: TO_EMPTY(0) -> i = 0
			:: TO_EMPTY(1) -> i = 1
			:: TO_EMPTY(2) -> i = 2
			:: TO_EMPTY(3) -> i = 3
			fi;
			left = left & ~BIT(i);
			there = bell[i]
		};
STEP_COUNTED_arm:
		if
		:: !IS_SLEPT_ON(i) ->
			bell_take(i, there);
STEP_EMPTIED_arm:
			wake_others(e, i)
		:: else
		fi
	:: atomic {
			!TO_EMPTY(0) && !TO_EMPTY(1) &&
			!TO_EMPTY(2) && !TO_EMPTY(3) ->
			left = 0;
			there = 0;
			i = 0;
			break
		}
	od;
	atomic {
		if
		:: M(ARM_THEN_EMPTY) || (M(PASS_ON_UNARMED) && call == TO_PASS_ON) ||
		   (M(SETTLE_UNARMED) && call == TO_SETTLE) -> goto words_armed
		:: else -> arm_common(e)
		fi;
		if
		:: OWN_WORD(e)
		:: else -> goto words_armed
		fi
	};
	atomic {
		arm_own(e, call != TO_SLEEP);
words_armed:
		if
		:: call == TO_PASS_ON -> goto passed
		:: call == TO_POLL -> goto poll_armed
		:: call == TO_SETTLE -> goto settled
		:: else -> call = ARMED_LOOK
		fi;
		if
		:: M(ARM_THEN_DRAIN) -> epoll_drain(e)
		:: M(LOOK_THEN_ARM) -> goto looked
		:: else
		fi
	};
STEP_ARMED_epoll:
gather:
	/* epoll_scan(), with some member first */
	atomic {
		left = OWN_BELLS(e) & 7;
		if
		:: uses_bits[e] -> left = left & ready
		:: else
		fi
	};
gather_next:
	atomic {
		if
		:: left & BIT(0) -> i = 0
		:: left & BIT(1) -> i = 1
		:: (left & 7) == BIT(2) -> i = 2
		:: left == 0 -> goto gathered
		fi;
		left = left & ~BIT(i);
		if
		:: uses_bits[e] -> goto look_at
		:: else -> epoll_judge(e, i, found)
		fi;
		if
		:: left != 0 && found == NONE -> goto gather_next
		:: else -> goto gathered
		fi
	};
look_at:
	look_one(e, i, found);
	atomic {
		if
		:: found == NONE -> ready = ready & ~BIT(i)
		:: found != NONE || may_keep -> goto looked_at
		fi;
		if
		:: M(BIT_TAKEN_BLINDLY) -> goto looked_at
		:: else
		fi
	};
STEP_BIT_TAKEN_gather:
	look_one(e, i, found);
	atomic {
		if
		:: found == i -> ready = ready | BIT(i)
		:: else
		fi
	};
looked_at:
	atomic {
		if
		:: left != 0 && found == NONE -> goto gather_next
		:: else
		fi
	};
gathered:
	atomic {
		i = 0;
		left = 0;
		if
		:: found != NONE && call == ARMED_LOOK && !M(COUNTED_LATE) ->
			sleepers[e]--;
			goto told
		:: found != NONE && (call != ARMED_LOOK || M(COUNTED_LATE)) ->
			goto told
		:: found == NONE && call == FIRST_LOOK && how != WAITS ->
			goto told
		:: found == NONE && call == FIRST_LOOK && how == WAITS ->
			goto round
		:: found == NONE && call == WOKEN_LOOK -> goto round
		:: found == NONE && call == ARMED_LOOK && M(LOOK_THEN_ARM) ->
			call = TO_SLEEP;
			goto arm
		:: found == NONE && call == ARMED_LOOK && M(COUNTED_LATE) ->
			sleepers[e]++
		:: found == NONE && call == ARMED_LOOK && !M(LOOK_THEN_ARM) &&
		   !M(COUNTED_LATE)
		fi
	};
looked:
STEP_LOOKED_epoll:
	/* epoll_pwait() */
	atomic {
		if
		:: E_READY(e) -> take_signs(e)
		:: ALL_TOLD -> goto over
		fi
	};
STEP_WOKEN_epoll:
	/* epoll_end_sleep() */
	atomic {
		call = WOKEN_LOOK;
		sleepers[e]--;
		if
		:: may_cancel -> may_cancel = false; goto cancelled
		:: true
		fi
	};
	/* join_members() */
	atomic {
		if
		:: M(ARM_THEN_DRAIN) -> goto round
		:: else -> epoll_drain(e)
		fi;
		goto gather
	};

told:
	/* A report, or none of a wait that only looked. */
	atomic {
		any = (found != NONE);
		found = NONE;
		if
		:: took && !M(NO_PASS_ON) && (sleepers[e] > 0 ||
		   (is_polled && !M(POLL_IS_IGNORED))) -> call = TO_PASS_ON
		:: else -> goto passed_on
		fi
	};
STEP_TOOK_pass_on:
	atomic {
		if
		:: M(LOOK_THEN_PASS_ON) -> took = READY(e, 0) || READY(e, 1)
		:: else
		fi;
		goto arm
	};
passed:
STEP_PASSED_pass_on:
	atomic {
		if
		:: M(PASS_ON_BLINDLY) -> goto passed_on
		:: M(LOOK_THEN_PASS_ON) && took -> goto passed_on_wake
		:: M(LOOK_THEN_PASS_ON) && !took -> goto passed_on
		:: else
		fi;
		if
		:: READY(e, 0) -> goto passed_on_wake
		:: else
		fi
	};
	atomic {
		if
		:: READY(e, 1)
		:: else -> goto passed_on
		fi
	};
passed_on_wake:
	epoll_wake(e);
passed_on:
	atomic {
		took = false;
		call = 0;
		if
		:: any && threads[e] > 1 -> any = false; goto away
		:: any || how == WAITS -> any = false; goto begin
		:: !any && how != WAITS
		fi
	};

poll:
	/* poll_sleep(), epoll_is_ready() */
	atomic { call = TO_POLL; goto arm };
poll_armed:
STEP_ARMED_poll:
	members_ready(e, any);
	atomic {
		if
		:: any -> goto poll_told
		:: else
		fi;
		/* epoll_drain_all(): a poke alone is no news, and goes no further. */
		news = IN_B(e, 0) || IN_B(e, 1) || IN_B(e, 2) || IN_B(e, 3);
		drain_S(e);
		drain_B(e)
	};
STEP_SETTLED_poll:
	atomic {
		if
		:: news -> call = TO_SETTLE; goto arm
		:: else
		fi
	};
settled:
	atomic {
		if
		:: M(SETTLE_BLINDLY) -> any = false; goto poll_looked
		:: else
		fi
	};
	members_ready(e, any);
	atomic {
		if
		:: any && news && !M(SETTLE_WAKES_NOBODY) ->
			epoll_wake(e);
			goto poll_told
		:: any && (!news || M(SETTLE_WAKES_NOBODY)) -> goto poll_told
		:: !any
		fi
	};
poll_looked:
STEP_LOOKED_poll:
	atomic {
		if
		:: E_READY(e)
		:: ALL_TOLD -> goto over
		fi;
		goto poll
	};
poll_told:
	atomic {
		any = false;
		if
		:: threads[e] > 1 -> goto away /* it never asks what there is */
		:: true -> goto begin
		fi
	};

cancelled:
	/* sleeper_end() passes on for a thread that is cancelled. */
	if
	:: !M(CANCELLED_SILENTLY) -> epoll_wake(e)
	:: else
	fi;
away:
	threads[e]--;
over:
	skip
}
