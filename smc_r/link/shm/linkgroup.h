/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup: what two processes of one host share for all their connections
 * in one role: a control channel, and RMBs whose elements are used again.
 *
 * The process that accepted makes the RMBs and their bells and sends them to
 * the peer with SCM_RIGHTS, over a control channel to the rendezvous socket
 * that the peer named by its peer ID. A nonce ties the channel to the TCP
 * connection: it comes over both; a second secret, the proof, goes over the
 * channel only and comes back in the CLC Confirm.
 *
 * Ownership: a group owns its RMBs, an RMB its elements. A connection has
 *            taken one element and gives it back. Groups of peers that are
 *            gone are freed when they have no connection left.
 * Locking:   engine lock held by the caller, everywhere.
 * Fork:      a child starts without groups and with a new peer ID; elements
 *            in use stay mapped, and go back to their RMB in the parent only:
 *            one that the parent has closed is lent to its children.
 *
 * Memory: the acceptor makes both rings of an element, where in the RFC each
 * end makes the buffer that it receives into. So the server has everything when
 * it sends its Accept, nothing more has to cross before the client's first
 * byte, and an element serves the next connection without a descriptor being
 * passed. RMBEs have what the caller asks for: 256 KiB stay in the caches of
 * two processors, and a wire needs more on the way. They have less, down to 16
 * KiB, as max_memory fills.
 *
 * Spares: an RMB that nobody uses is freed, except for one element. A server
 * keeps more if it soon had to make again what it had freed, or if its clients
 * close after it: up to 16 elements, or 3 where an eighth of max_memory is in
 * use. It keeps up to 1024 if less than half of max_memory is in use and it
 * sleeps in epoll_wait(), which frees them after a second without new
 * connections.
 *
 * Leases: a server that forks for each connection lends its element to the
 * child. It gives up every descriptor that could ring the bells, so that the
 * client still learns when the last child is gone; it keeps a path to each
 * (O_PATH) and opens them again when the slot tells that the lease has ended. A
 * client that forks does the same, and its server may give it that element for
 * the next connection.
 */
#ifndef SMC_R_LINKGROUP_H
#define SMC_R_LINKGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/snapshot.h"
#include "smc_r/memory/bell.h"
#include "smc_r/memory/rmb.h"
#include "smc_r/os/status.h"
#include "smc_r/peer/identity.h"

#define NONCE_BYTES 16
#define KNOCK_PORTS 4
#define KNOCK_MET   8

#define RMBE_NEAR_MAX 262144u      /* bytes */
#define RMBE_FAR_MAX  RMB_RMBE_MAX /* bytes */

struct linkgroup {
	struct linkgroup *next;
	int side; /* ours: SIDE_SERVER or SIDE_CLIENT */
	uint8_t peer_id[PEER_ID_BYTES];
	uint8_t nonce[NONCE_BYTES];
	uint32_t rmbe_max; /* server: bytes */
	uint8_t proof[NONCE_BYTES];
	int channel;        /* control channel, -1 when the peer is gone */
	uint64_t silent_ns; /* client: the server is to speak by then, or 0 */
	bool waits;         /* client: no Accept has named it yet */
	uint32_t peer_user;
	int32_t peer_pid;
	uint32_t number;      /* for the tools */
	uint32_t connections; /* elements in use */
	uint32_t rmb_number;  /* number of the newest RMB */
	struct rmb *rmbs;
	uint32_t spare;   /* server: elements that are worth keeping */
	uint32_t takes;   /* since that was found */
	uint64_t soon_ns; /* server: an RMB was given back soon before */
	bool unused;      /* linkgroup_retire() found it so */
	/* Server: of memory, when an RMB was last made. */
	bool plenty;
	bool enough;

	/* Client: linkgroup_knock.h. */
	uint16_t ports[KNOCK_PORTS]; /* that it accepted at, lately */
	uint32_t used;               /* when it last did; a count */
	uint32_t holds_back;         /* connections that do not knock */
	uint32_t held_back;          /* so many, the last time */
	uint32_t met;                /* knocks in a row, KNOCK_MET at most */
};

/* An element that forked processes of this side's use. */
struct lease {
	struct status_slot *slot; /* theirs, while it has the cookie */
	uint64_t cookie;
};

struct rmb {
	struct rmb *next;
	struct linkgroup *group; /* NULL in a forked child */
	int side;                /* ours */
	uint32_t number;         /* within the group, from 1 */
	struct rmb_map map;
	uint32_t busy;       /* bit: element taken on this side */
	uint32_t filled;     /* bit: all of the ring that we write has memory */
	uint32_t leaked;     /* bit: never to be used again */
	uint32_t lent;       /* bit: not before its lease has ended */
	uint32_t references; /* elements taken */
	uint64_t reserved;   /* bytes of max_memory that we pay */
	uint64_t overflowed; /* ... for overflow rings of either side */
	uint32_t spin_score; /* what connections learnt: spin.h */
	struct bells bells[RMB_ELEMENTS_MAX];
	struct lease lease[RMB_ELEMENTS_MAX];
};

/*
 * Server: takes a fresh element for a connection with this peer; makes group
 * and RMB as needed and has told the peer of them when it returns.
 * 0, or a reason (reason.h): REASON_FORK in a child that shares our memory, but
 * not our descriptors. *first says whether the group is new. One that is there
 * keeps its rmbe_max.
 */
uint32_t linkgroup_take(const uint8_t peer_id[PEER_ID_BYTES],
			const struct snapshot *s, uint32_t rmbe_max,
			struct rmb **rmb, uint32_t *element, bool *first);

/* Client: takes the element that a CLC Accept names. 0 or a reason, as above.
 */
uint32_t linkgroup_take_named(const uint8_t peer_id[PEER_ID_BYTES],
			      const uint8_t nonce[NONCE_BYTES],
			      uint32_t rmb_number, uint32_t element,
			      struct rmb **rmb);

/* Client: a server could not make its channel to us. Strangers may have filled
 * the queue, which an Accept alone would empty. */
void linkgroup_empty_queue(void);

/* Server: the client does not know what it should of this RMB. Its group serves
 * the connections that it has, and the next one makes a new group. */
void linkgroup_out_of_step(struct rmb *rmb);

/* Gives an element back. reuse false: it is never used again. */
void linkgroup_give(struct rmb *rmb, uint32_t element, bool reuse);

/* Leaves it to forked processes, and it is used again when the lease has ended.
 */
void linkgroup_lend(struct rmb *rmb, uint32_t element, struct lease lease);

/* What a server keeps for the next burst of connections goes when none has come
 * for a while. Milliseconds until then, -1: nothing is kept. A thread that
 * sleeps no longer than that gives it back then. */
int linkgroup_rest_ms(void);
void linkgroup_rest(void); /* takes the engine lock */

/* Gives back every descriptor that no connection uses: of elements, and of
 * groups without connections. Engine lock held. */
void linkgroup_shed(void);

/* Gives back each group that had no connection the last time, and none since.
 */
void linkgroup_retire(void);

/* In the child of a fork. */
void linkgroup_forked(void);

#endif
