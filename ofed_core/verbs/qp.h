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

#define PSN_MASK 0xffffffu

/* Difference of two PSNs, -2^23 .. 2^23-1. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* Of the verbs; not in the kernel's headers of Debian 12. */
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

struct qp {
	struct object o;
	enum qp_type type;
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
	unsigned mcast_count; /* groups attached to */

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

/* Attribute masks of MODIFY_QP, as programs give them. */
enum qp_attr_mask {
	ATTR_STATE = 1 << 0,
	ATTR_CUR_STATE = 1 << 1,
	ATTR_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	ATTR_ACCESS_FLAGS = 1 << 3,
	ATTR_PKEY_INDEX = 1 << 4,
	ATTR_PORT = 1 << 5,
	ATTR_QKEY = 1 << 6,
	ATTR_AV = 1 << 7,
	ATTR_PATH_MTU = 1 << 8,
	ATTR_TIMEOUT = 1 << 9,
	ATTR_RETRY_CNT = 1 << 10,
	ATTR_RNR_RETRY = 1 << 11,
	ATTR_RQ_PSN = 1 << 12,
	ATTR_MAX_QP_RD_ATOMIC = 1 << 13,
	ATTR_ALT_PATH = 1 << 14,
	ATTR_MIN_RNR_TIMER = 1 << 15,
	ATTR_SQ_PSN = 1 << 16,
	ATTR_MAX_DEST_RD_ATOMIC = 1 << 17,
	ATTR_PATH_MIG_STATE = 1 << 18,
	ATTR_CAP = 1 << 19,
	ATTR_DEST_QPN = 1 << 20,
};

/* 0 when the step is allowed with exactly these attributes, else -EINVAL. */
int qp_attr_check(enum qp_type type, enum qp_state from, enum qp_state to,
		  uint32_t mask);

int qps_init(void);
/* By number, of any client; NULL. */
struct qp *qp_find(uint32_t qpn);
int qp_register(struct qp *qp); /* gives it a number */
void qp_destroy(struct qp *qp);
/* Command side of MODIFY_QP, with core_lock held for writing. */
int qp_modify(struct qp *qp, const struct ib_uverbs_modify_qp *m);
unsigned qp_total(void);

/* Anything may have happened to the send queue: look. */
void qp_run(struct qp *qp);

/* Workers that stay awake look at pairs that were busy (qp_watch.c). */
void qp_watch_init(void);
void qp_watch_busy(const struct qp *qp);

/* The worker whose sockets bring packets for this number. */
static inline struct worker *qpn_worker(uint32_t qpn)
{
	return worker_at(qpn >> 16);
}

/* Marks the pair broken; the flush of the send queue follows as work. */
void qp_set_error(struct qp *qp);
/* Under rq_lock: completes every receive with WR_FLUSH_ERR. */
void qp_flush_receives(struct qp *qp);

/* Adds a completion of this pair; an overflow breaks the pair. */
void qp_complete(struct qp *qp, struct cq *cq, struct ib_uverbs_wc *wc,
		 bool is_solicited);

/* ---- requester.c, under sq_lock ---- */
void requester_reset(struct qp *qp);
void requester_run(struct qp *qp);
void requester_flush(struct qp *qp);
struct wqe *requester_wqe(struct qp *qp, uint32_t counter);
/* Memory for all requests of the pair. */
static inline uint64_t wqe_bytes(const struct qp *qp)
{
	return qp->req.slots * sizeof(struct wqe);
}
/* Completes the oldest request. */
void requester_complete(struct qp *qp, enum wc_status status);
/* Pieces of the request's own memory; access 0 or ACCESS_LOCAL_WRITE. */
int wqe_spans(const struct qp *qp, const struct wqe *w, uint32_t access,
	      struct span *out, unsigned *count);

/* ---- responder.c, under rq_lock ---- */
void responder_reset(struct qp *qp);
/* Takes a receive for the message that begins; -EAGAIN: none (RNR). */
int responder_take_recv(struct qp *qp);
/* Completes the receive that was taken. */
void responder_complete(struct qp *qp, struct ib_uverbs_wc *wc,
			bool is_solicited);
void responder_established(struct qp *qp);

/* What a peer wants done with one 64-bit word of ours. */
struct atomic_request {
	uint32_t opcode; /* IB_UVERBS_WR_ATOMIC_... */
	uint32_t rkey;
	uint64_t address;
	uint64_t compare_add;
	uint64_t swap;
};

/* 0 and what the word was before, or -errno. */
int responder_atomic(struct qp *qp, const struct atomic_request *a,
		     uint64_t *original);
/* Writes a word at once, as its bytes came. */
int responder_atomic_write(struct qp *qp, uint32_t rkey, uint64_t address,
			   uint64_t value);

/* ---- local.c: the peer is in this core; under sq_lock ---- */
void local_run(struct qp *qp);

/* ---- ud.c ---- */
void ud_run(struct qp *qp);
/* A datagram for a pair of this core: the 40 bytes, then the payload. */
struct datagram {
	uint32_t qkey;
	uint32_t source_qpn;
	uint32_t imm;
	bool has_imm;
	bool is_solicited;
	const uint8_t *grh;
	const uint8_t *payload;
	size_t payload_bytes;
};
void ud_deliver(struct qp *qp, const struct datagram *d);

#endif
