/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_flow: LLC of one link group as a machine. It answers the peer's
 * requests, carries out our own one after the other, and finds out that a
 * link is dead. It accepts no second link from an Add Link: as a client it
 * rejects, as a server it offers one that a client rejects at once, because
 * clients wait for an offer.
 *
 * Use: each call may leave things to do; the owner pulls them with
 * rc_flow_next() until there are none, before it calls again. It calls
 * rc_flow_time() when rc_flow_next_ns() has come. A link is its index, 0 ..
 * RC_LINKS_MAX - 1; its number on the wire is inside. Times are nanoseconds
 * of any clock that does not go back.
 *
 * Answers leave at once, while a request of our own is open, too. The peer's
 * keys are in `keys`: the owner reads them, and adds with rc_keys_add() what
 * an Accept or a Confirm names. What does not belong (a response to nothing,
 * the wrong role or version) is dropped and counted.
 *
 * Ownership: fixed size, no heap; nothing that is passed in is kept.
 * Locking: none; the owner of the link group calls.
 */
#ifndef SMC_R_RC_FLOW_H
#define SMC_R_RC_FLOW_H

#include "smc_r/protocol/llc_wire.h"
#include "smc_r/service/rc_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RC_FLOW_KEYS_MAX     8  /* of one request to delete */
#define RC_FLOW_REQUESTS_MAX 16 /* of our own that wait */
#define RC_FLOW_ACTIONS_MAX  48

/* The owner does these things, or has to know of them. */
enum rc_flow_action_type {
	RC_FLOW_KEY_REMOVED, /* row: do not write there any more */
	RC_FLOW_KEY_ADDED,   /* row */
	RC_FLOW_SEND,        /* bytes, on link */
	RC_FLOW_RESULT,      /* of request id: error */
	RC_FLOW_CONFIRMED,   /* link: it carries data from now on */
	RC_FLOW_READY,       /* first contact is over, Add Link included */
	RC_FLOW_LINK_DEAD, /* link: its connections move, its QP and keys go */
	RC_FLOW_ENDED,     /* error, reason; always the last */
};

struct rc_flow_action {
	enum rc_flow_action_type type;
	int link;
	int row; /* of rc_keys; a removed one may be in use again */
	uint32_t id;
	/*
	 * Result: 0; -EREMOTEIO, the peer refused; -EAGAIN, it has no room
	 * now; -ETIMEDOUT; -ECONNRESET, the group ended or the link died.
	 * Ended: 0, ours or the peer's wish; -ETIMEDOUT, no answer; -ENOLINK,
	 * the last link died; -EPROTO, the peer's RMBEs have eyecatchers.
	 */
	int error;
	uint32_t reason; /* enum llc_delete, with error 0 */
	uint8_t bytes[LLC_BYTES];
};

enum rc_flow_role {
	RC_FLOW_CLIENT,
	RC_FLOW_SERVER,
};

struct rc_flow_terms {
	enum rc_flow_role role;
	uint8_t version;         /* 1 or 2 */
	uint8_t links_max;       /* agreed; 1: there is no Add Link stage */
	uint8_t connections_max; /* agreed in release 1, else 0 */
	uint64_t test_link_ns;   /* silence before a Test Link; 0: never */
};

/* Our end of a link. */
struct rc_flow_port {
	uint8_t mac[6];
	uint8_t gid[16];
	uint32_t qpn;
	uint8_t number; /* the server's choice; a client adopts it */
	uint32_t uid;
};

/* An RMB of ours, as each link names it. */
struct rc_flow_key {
	uint32_t rkey[RC_LINKS_MAX];
	uint64_t address[RC_LINKS_MAX];
};

/* The rest of the header is for rc_flow's own files and its tests. */
enum rc_flow_link_state {
	RC_FLOW_LINK_FREE,
	RC_FLOW_LINK_CONFIRMING,
	RC_FLOW_LINK_ACTIVE,
};

struct rc_flow_link {
	enum rc_flow_link_state state;
	struct rc_flow_port port;
	uint32_t peer_uid;
	uint64_t heard_ns; /* something came */
	uint64_t test_ns;  /* Test Link is answered by then; 0: none is out */
	/* Requests to delete keys whose time was over before their response. */
	uint32_t unanswered;
};

/* The machine waits for one of these at a time. */
enum rc_flow_kind {
	RC_FLOW_IDLE,
	RC_FLOW_CONFIRM_LINK, /* a client waits for the request */
	RC_FLOW_ADD_LINK,     /* so here */
	RC_FLOW_DELETE_LINK,
	RC_FLOW_CONFIRM_RKEY,
	RC_FLOW_DELETE_RKEY,
};

struct rc_flow_request {
	enum rc_flow_kind kind; /* one of the last two */
	uint32_t id;
	uint64_t start_ns; /* it fails if it did not start by then */
	int count;
	struct rc_flow_key key[RC_FLOW_KEYS_MAX];
};

struct rc_flow {
	struct rc_flow_terms terms;
	bool low_byte_first; /* as the peer's last message of version 2 */
	bool ready;
	bool ended;
	struct rc_flow_link link[RC_LINKS_MAX];
	struct rc_keys keys;
	uint8_t news[RC_KEYS_ROWS]; /* rows that changed, not yet pulled */

	enum rc_flow_kind kind;
	int kind_link;                  /* messages of the flow use it */
	uint64_t deadline_ns;           /* of the flow */
	uint8_t delete_number;          /* the link that goes; Delete Link */
	struct rc_flow_request current; /* the last two kinds */

	struct rc_flow_request waiting[RC_FLOW_REQUESTS_MAX]; /* oldest first */
	int waiting_count;
	bool has_kept; /* a client's Delete Link came during a flow */
	struct llc_delete_link kept;

	struct rc_flow_action action[RC_FLOW_ACTIONS_MAX]; /* oldest first */
	int action_count;
	int action_done;
	uint64_t dropped; /* messages that did not belong */
	struct llc_message out;
};

void rc_flow_init(struct rc_flow *f, const struct rc_flow_terms *terms);

/*
 * A queue pair is ready for Confirm Link, which a server sends and a client
 * awaits. 0; -EBUSY while there is a flow or the link is in use; -ECONNRESET.
 */
int rc_flow_open_link(struct rc_flow *f, int link,
		      const struct rc_flow_port *port, uint64_t now_ns);

/* A message came on the link. */
void rc_flow_receive(struct rc_flow *f, int link, const struct llc_message *m,
		     uint64_t now_ns);

/* Something else came on the link: it lives. */
void rc_flow_heard(struct rc_flow *f, int link, uint64_t now_ns);

/* The queue pair failed, or the port. */
void rc_flow_fail_link(struct rc_flow *f, int link, uint64_t now_ns);

void rc_flow_time(struct rc_flow *f, uint64_t now_ns);

/* Does the link live? It is dead if a Test Link has no answer. */
void rc_flow_test_link(struct rc_flow *f, int link, uint64_t now_ns);

/* When rc_flow_time() is due; UINT64_MAX for never. */
uint64_t rc_flow_next_ns(const struct rc_flow *f);

/*
 * Requests of our own; RC_FLOW_RESULT with the id tells how each ended, once.
 * count is 1 .. RC_FLOW_KEYS_MAX. 0; -EAGAIN when too many wait; -ECONNRESET
 * after the end.
 */
int rc_flow_confirm_rkey(struct rc_flow *f, uint32_t id,
			 const struct rc_flow_key *key, uint64_t now_ns);
int rc_flow_delete_rkeys(struct rc_flow *f, uint32_t id,
			 const struct rc_flow_key *key, int count,
			 uint64_t now_ns);

/*
 * Ends the group: tells the peer, fails what is open. The queue pairs go when
 * the last SEND has completed. Orderly: no connection is left.
 */
void rc_flow_end(struct rc_flow *f, enum llc_delete reason, bool orderly);

/* The next thing to do; false when there is none. */
bool rc_flow_next(struct rc_flow *f, struct rc_flow_action *out);

#endif
