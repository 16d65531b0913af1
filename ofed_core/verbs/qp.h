/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp: a queue pair: its attributes, its requester and its responder.
 *
 * Locking: sq_lock guards the requester and the send ring; rq_lock guards the
 *          responder and the receive ring. state is atomic: it leaves RTS for
 *          SQE or ERR under either lock, every other change comes from a
 *          command with core_lock held for writing.
 */
#ifndef OFED_CORE_QP_H
#define OFED_CORE_QP_H

#include "ofed_core/verbs/verbs.h"

struct packet;

#define PSN_MASK 0xffffffu

/* Difference of two PSNs, -2^23 .. 2^23-1. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* An opcode of the verbs that the kernel's headers of Debian 12 lack. */
#define WR_ATOMIC_WRITE 15

/* A send work request, copied out of the ring. */
struct wqe {
	uint64_t wr_id;
	uint32_t opcode; /* enum ib_uverbs_wr_opcode */
	uint32_t flags;
	uint32_t imm; /* or the key to invalidate */
	uint32_t rkey;
	uint64_t remote_address;
	uint64_t compare_add;
	uint64_t swap;
	uint32_t ud_qpn;
	uint32_t ud_qkey;
	uint32_t ah_number;
	struct mw_bind bind;
	uint32_t length;
	uint32_t sge_count;
	bool is_inline;
	enum wc_status error; /* found while copying */

	uint32_t first_psn;
	uint32_t last_psn;
	/* READ, atomic: next response expected, and next request to send. */
	uint32_t response_psn;
	union {
		struct sge sge[MAX_SGE];
		unsigned char data[MAX_INLINE];
	};
};

enum requester_wait {
	WAIT_NOTHING,
	WAIT_ACK,
	WAIT_RNR
};

/* How much may be under way, and how long an answer takes. */
struct window {
	uint32_t packets;   /* that may be unacknowledged */
	uint32_t threshold; /* below it every answer opens it as much */
	uint32_t credit;    /* above it: packets accepted since it grew */
	uint32_t narrowed;  /* PSN: losses before it were counted */
	uint32_t timed_psn;
	uint64_t timed_at; /* ns; 0: none is timed */
	uint64_t rtt_ns;   /* smoothed; 0: never measured */
	uint64_t rtt_var_ns;
};

struct requester {
	struct wqe *wqes;
	uint32_t slots; /* a power of two */
	/* Free-running counters: tail <= head. */
	uint32_t head;     /* next to copy from the ring */
	uint32_t tail;     /* oldest not complete */
	uint32_t psn;      /* for the next request */
	uint32_t send_psn; /* next to put on the wire */
	uint32_t sent_end; /* one after the highest ever sent */
	uint32_t una;      /* oldest not acknowledged */
	uint32_t cursor;   /* the request that send_psn lies in, or before */
	struct window window;
	unsigned retries;
	unsigned rnr_retries;
	enum requester_wait wait;
	uint64_t deadline;    /* of the wait, ns */
	uint64_t quiet_since; /* last progress, ns */
	uint64_t probe_ns;    /* quiet time until packets are sent again */
	bool has_probed;      /* one packet was, and nothing came yet */
	bool has_drained;     /* SQ_DRAINED was reported */
	bool has_gap;         /* a missing answer was asked for again */
	/* A peer may keep what arrived behind a gap: learnt from its answers.
	 */
	bool peer_keeps;
	bool went_back;    /* all since the gap is being sent again */
	bool has_repaired; /* only this one was */
	uint32_t repaired_psn;
	/* READ and atomic requests on the wire: last PSN of each answer. */
	unsigned read_count;
	uint32_t read_ends[MAX_RD_ATOM];
};

enum message_kind {
	MESSAGE_NONE,
	MESSAGE_SEND,
	MESSAGE_WRITE
};

struct atomic_result {
	uint32_t psn;
	uint64_t original;
	bool is_used;
	bool is_write; /* an atomic WRITE, which brings nothing back */
};

/* A READ that is being answered (responder_read.c). */
struct reading {
	bool is_active; /* more is to be sent */
	bool is_repeat; /* asked for again */
	uint32_t psn;
	uint32_t rkey;
	uint64_t address;
	uint32_t bytes;
	uint32_t sent; /* packets */
};

struct responder {
	uint32_t psn; /* expected */
	uint32_t msn;
	bool has_nak;      /* a sequence NAK was sent for this gap */
	uint8_t nak;       /* that ended the pair, or 0 */
	bool owes_ack;     /* for everything up to psn */
	struct hold *held; /* responder_hold.c */
	enum message_kind open;
	bool has_recv;
	struct recv_wqe recv;
	uint64_t received; /* bytes of the open message */
	uint64_t address;  /* of the open WRITE */
	uint64_t left;     /* of the open WRITE */
	uint32_t rkey;
	bool has_comm_est;
	struct atomic_result results[MAX_RD_ATOM];
	unsigned next_result;
	struct reading reading;
};

struct qp_attr {
	struct address address;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qpn;
	uint32_t access;
	uint8_t path_mtu; /* enum */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t timeout;
	uint8_t retry_count;
	uint8_t rnr_retry;
	bool sqd_notify;
	struct ib_uverbs_qp_dest raw; /* as given, for query */
};

/* What the type of a queue pair decides; set when the pair is made. */
struct qp_ops {
	uint8_t transport; /* the top bits of its opcodes */
	/* Sends what the program has posted. sq_lock is held. */
	void (*run)(struct qp *qp);
	/* Connected pairs only: the timer fired. sq_lock is held. */
	void (*timer)(struct qp *qp);
	/* Connected pairs only: sends more of a READ. rq_lock is held. */
	void (*answer)(struct qp *qp);
	/* Connected pairs only: packets of the peer. rq_lock is held. */
	void (*take_requests)(struct qp *qp, const struct packet *const *p,
			      unsigned count);
	/* NULL: the peer does not answer. sq_lock is held. */
	void (*take_answers)(struct qp *qp, const struct packet *const *p,
			     unsigned count);
};

struct qp {
	struct object o;
	enum qp_type type;
	const struct qp_ops *ops;
	uint32_t qpn;
	uint32_t slot; /* in the table of queue pairs */
	struct pd *pd;
	struct cq *send_cq;
	struct cq *recv_cq;
	struct srq *srq; /* or NULL */
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
	bool sig_all;
	bool is_local; /* the peer's GID is one of this core */
	_Atomic enum qp_state state;
	struct qp_attr attr;

	pthread_mutex_t sq_lock;
	struct ring *sq;
	bool is_watched; /* qp_watch.c */
	struct requester req;
	struct work work;
	struct timer timer;

	pthread_mutex_t rq_lock;
	struct ring *rq; /* NULL with a shared receive queue */
	struct responder resp;
	struct work answer; /* more of a READ */
};

#endif
