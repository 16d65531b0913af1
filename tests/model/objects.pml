/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * objects: the words in the RMB, the bells and the kernel's instances.
 *
 * A connection x of one RMB has bytes for us that nobody has read (unread) and
 * room for what we write (room). Every sleeper has its own view of both, as it
 * must be woken even if others look at the same bytes; a view is taken by its
 * report, as with EPOLLET. So no report that stands for long hides that
 * somebody was not woken.
 *
 * The bells are pipes. Bell x is that for data of connection x; only connection
 * 0 has one for room, which is its bell for data with BELLS_ONE. B of instance e
 * has the bells of e's members, S its eventfd "poke", and E has both, all of
 * them edge-triggered:
 *
 *   edge_B     the bell is on B's list of those that may be ready
 *   edge_S     the eventfd is on S's list
 *   edge_E_B   B is on E's list: it was woken since somebody took that
 *   edge_E_S   S is
 *
 * A byte that finds a place wakes B, even if the bell is on B's list already;
 * one that finds none wakes nobody. What is on a list and not ready counts for
 * nothing: the kernel drops it when it looks.
 *
 * What is abstracted: a bell is emptied behind 64 rings, here behind none or
 * one (limit); a pipe has place for 4096 bytes, here for FULL.
 */

#define CONNECTIONS 3
#define INSTANCES   2
#define VIEWS       4 /* of instance 0, of instance 1, of two calls */
#define BELLS       4
#define FULL        3
#define NONE        255

#define ARMED   1 /* RMB_ARMED */
#define RINGING 2 /* RMB_RINGING */

byte mutation; /* 0: the protocol as it is */
#define M(m) (mutation == (m))

/* ---- what there is ---- */

bool bells_one;              /* BELLS_ONE */
byte asks[VIEWS * 3];        /* 0: no member, else: */
#define PARKED 1             /*   a member that reports nothing */
#define INPUT  2             /*   asks for input */
#define BOTH   3             /*   asks for input and output */
#define OUTPUT 4             /*   asks for output */

#define AT(view, x)     ((view) * CONNECTIONS + (x))
#define HAS(e, x)       (asks[AT(e, x)] != 0)
#define WANTS_IN(v, x)  (asks[AT(v, x)] == INPUT || asks[AT(v, x)] == BOTH)
#define WANTS_OUT(v, x) (asks[AT(v, x)] >= BOTH)

#define DATA_BELL(x) (x)
#define ROOM_BELL    (bells_one -> 0 : 3)
#define OF_BELL(b)   ((b) == 3 -> 0 : (b)) /* its connection */

bool unread[VIEWS * 3];      /* the peer's cursor is ahead of this view */
bool room[VIEWS * 3];        /* the peer has read: there is room */
#define SEES(v, x) (unread[AT(v, x)] || room[AT(v, x)])

byte ringing;                /* ringers that have not sent everything */
#define ALL_TOLD (ringing == 0 && \
	!SEES(0, 0) && !SEES(0, 1) && !SEES(1, 0) && !SEES(1, 1) && \
	!SEES(2, 0) && !SEES(3, 0))

/* ---- the RMB ---- */

byte armed_data[CONNECTIONS];
byte armed_room;             /* of connection 0 */
byte armed[INSTANCES];       /* rmb_waiters.armed, of instance w - 1 */
byte waiter[CONNECTIONS];    /* 0: none, else w = instance + 1 */
bool uses_bits[INSTANCES];   /* RMB_WAITER_BITS is set beside w */
byte ready;                  /* rmb_ready.bits */
byte full_bells;             /* epoll_group.full: their bells are to be emptied */
#define BIT(x) (1 << (x))

/* An instance that has not got the connection's waiter word is `shared`. */
#define SHARED(e, x) (waiter[x] != (e) + 1)

/* ---- the kernel ---- */

byte limit;                  /* RINGS_MAX */
byte bell[BELLS];            /* bytes in the pipe */
bool edge_B[INSTANCES * 4];
bool edge_E_B[INSTANCES];
bool edge_E_S[INSTANCES];
bool edge_S[INSTANCES];

#define IN_B(e, b) edge_B[(e) * BELLS + (b)]
#define B_READY(e) (IN_B(e, 0) || IN_B(e, 1) || IN_B(e, 2) || IN_B(e, 3))
#define E_READY(e) ((edge_E_B[e] && B_READY(e)) || (edge_E_S[e] && edge_S[e]))

/* The callback of bell b's wait queue. */
inline kernel_wakes(e, b) {
	if
	:: HAS(e, OF_BELL(b)) ->
		IN_B(e, b) = true;
		edge_E_B[e] = true
	:: else
	fi
}

/* bell_ring() */
inline bell_ring(b) {
	d_step {
		if
		:: bell[b] < FULL ->
			bell[b]++;
			kernel_wakes(0, b);
			kernel_wakes(1, b)
		:: else
		fi
	}
}

/* n bytes leave bell b, or those that are there. */
inline bell_take(b, n) {
	d_step {
		if
		:: (n) >= bell[b] ->
			bell[b] = 0;
			IN_B(0, b) = false;
			IN_B(1, b) = false
		:: else ->
			bell[b] = bell[b] - (n)
		fi
	}
}

/* ---- sleepers ---- */

byte sleepers[INSTANCES];    /* epoll_shared.sleepers */
bool is_polled;              /* instance 0 is polled */
byte callers;                /* rx.sleepers and tx.sleepers of connection 0 */
byte first_data, first_room; /* rx.first and tx.first of it: 0 or a view */
byte dead;                   /* the view of a caller that was killed */
byte threads[INSTANCES];     /* that still come back to epoll_wait */

#define LIVES(tid) ((tid) != 0 && (tid) != dead)

/* epoll_wake() */
inline epoll_wake(e) {
	d_step {
		if
		:: sleepers[e] > 0 || (is_polled && (e) == 0) ->
			edge_S[e] = true;
			edge_E_S[e] = true
		:: else
		fi
	}
}

/* epoll_wake_members(): all instances that have connection x */
inline epoll_wake_members(x) {
	if
	:: HAS(0, x) ->
		ready = ready | BIT(x); /* epoll_ready_mark() */
		epoll_wake(0)
	:: else
	fi;
	if
	:: HAS(1, x) -> epoll_wake(1)
	:: else
	fi
}
