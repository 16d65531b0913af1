/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * verbs: the objects that programs make on a device, and their numbers.
 *
 * The numbers are those of the kernel's user ABI (ib_user_verbs.h) and of the
 * public verbs interface; programs see them.
 *
 * Ownership: a client owns its objects; an object holds (refs) those it
 *            needs, which cannot be destroyed while held (EBUSY).
 * Locking:   making, changing by command and destroying: core_lock for
 *            writing. Everything else: core_lock for reading and the object's
 *            own lock. Order: sq_lock of a queue pair, rq_lock of a queue
 *            pair (its peer's included; one at a time), srq lock, cq lock.
 */
#ifndef OFED_CORE_VERBS_H
#define OFED_CORE_VERBS_H

#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ofed_core/base/memory.h"
#include "ofed_core/base/notifier.h"
#include "ofed_core/base/ring.h"
#include "ofed_core/base/worker.h"
#include "ofed_core/device/device.h"

struct client;
struct qp;

enum object_type {
	OBJECT_PD = 1,
	OBJECT_AH,
	OBJECT_MR,
	OBJECT_MW,
	OBJECT_CHANNEL,
	OBJECT_CQ,
	OBJECT_SRQ,
	OBJECT_QP,
};

enum qp_type {
	QP_RC = 2,
	QP_UC = 3,
	QP_UD = 4
};

enum qp_state {
	QP_RESET,
	QP_INIT,
	QP_RTR,
	QP_RTS,
	QP_SQD,
	QP_SQE,
	QP_ERR
};

enum access_flag {
	ACCESS_LOCAL_WRITE = 1,
	ACCESS_REMOTE_WRITE = 2,
	ACCESS_REMOTE_READ = 4,
	ACCESS_REMOTE_ATOMIC = 8,
	ACCESS_MW_BIND = 16,
	ACCESS_ZERO_BASED = 32,
	ACCESS_OPTIONAL = 0x3ff00000, /* hints that may be ignored */
};

enum wc_status {
	WC_SUCCESS = 0,
	WC_LOC_LEN_ERR = 1,
	WC_LOC_QP_OP_ERR = 2,
	WC_LOC_PROT_ERR = 4,
	WC_WR_FLUSH_ERR = 5,
	WC_MW_BIND_ERR = 6,
	WC_BAD_RESP_ERR = 7,
	WC_LOC_ACCESS_ERR = 8,
	WC_REM_INV_REQ_ERR = 9,
	WC_REM_ACCESS_ERR = 10,
	WC_REM_OP_ERR = 11,
	WC_RETRY_EXC_ERR = 12,
	WC_RNR_RETRY_EXC_ERR = 13,
	WC_FATAL_ERR = 19,
};

enum wc_opcode {
	WC_ATOMIC_WRITE = 9,
	WC_RECV = 128,
	WC_RECV_RDMA_WITH_IMM = 129
};

enum wc_flag {
	WC_GRH = 1,
	WC_WITH_IMM = 2,
	WC_WITH_INV = 8
};

enum send_flag {
	SEND_FENCE = 1,
	SEND_SIGNALED = 2,
	SEND_SOLICITED = 4,
	SEND_INLINE = 8,
};

enum event_type {
	EVENT_CQ_ERR = 0,
	EVENT_QP_FATAL = 1,
	EVENT_QP_REQ_ERR = 2,
	EVENT_QP_ACCESS_ERR = 3,
	EVENT_COMM_EST = 4,
	EVENT_SQ_DRAINED = 5,
	EVENT_DEVICE_FATAL = 8,
	EVENT_PORT_ACTIVE = 9,
	EVENT_PORT_ERR = 10,
	EVENT_LID_CHANGE = 11,
	EVENT_SRQ_LIMIT = 15,
	EVENT_QP_LAST_WQE = 16,
	EVENT_GID_CHANGE = 18,
};

struct object {
	enum object_type type;
	uint32_t handle;
	struct client *client;
	uint64_t user_handle;
	atomic_uint refs;
	uint32_t async_sent; /* events put on the async descriptor */
};

struct pd {
	struct object o;
};

/* Where packets of a queue pair or address handle go. */
struct address {
	struct device *device;
	uint8_t sgid[16];
	uint8_t dgid[16];
	bool is_v1; /* RoCE version 1 */
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
};

struct ah {
	struct object o;
	struct pd *pd;
	struct address address;
};

struct mr {
	struct object o;
	struct pd *pd;
	struct owner *owner;
	uint32_t key; /* lkey and rkey */
	uint32_t access;
	uint64_t start; /* in the owner */
	uint64_t length;
	uint64_t iova;    /* address programs and peers use */
	unsigned windows; /* bound to it */
};

/* A memory window; see mw.c. */
struct mw {
	struct object o;
	struct pd *pd;
	uint32_t key;
	bool is_type_2;
	struct mr *mr; /* it is bound to, or NULL */
	struct qp *qp; /* type 2: that bound it */
	uint32_t access;
	uint64_t address;
	uint64_t length;
};

struct channel {
	struct object o;
	struct notifier notifier;
};

struct cq {
	struct object o;
	pthread_mutex_t lock;
	struct ring *ring;
	struct channel *channel; /* or NULL */
	uint32_t comp_sent;
	uint32_t untold;          /* completions since the last event */
	uint32_t since_solicited; /* of those, from the last solicited on */
	bool has_overflowed;
};

struct sge {
	uint64_t address;
	uint32_t length;
	uint32_t lkey;
};

struct recv_wqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the sges */
	uint32_t sge_count;
	struct sge sge[MAX_SGE];
};

struct srq {
	struct object o;
	pthread_mutex_t lock;
	struct ring *ring;
	struct pd *pd;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit; /* 0: not armed */
};

/* Numbers for struct object of every kind, by type. */
extern const char *const object_type_name[];

/* Registers a new object with its client; on 0 the client owns it. */
int object_add(struct client *c, struct object *o, enum object_type type);
/* NULL unless the handle names an object of that type of this client. */
void *object_find(struct client *c, uint32_t handle, enum object_type type);
/* Takes it from its client again. */
void object_remove(struct object *o);
/* Destroys it whatever its type; the caller has checked refs. */
void object_destroy(struct object *o);

static inline void object_hold(struct object *o)
{
	atomic_fetch_add(&o->refs, 1);
}

static inline void object_drop(struct object *o)
{
	atomic_fetch_sub(&o->refs, 1);
}

/* Makes a ring and puts it on the list of what the client may map. */
struct ring *object_ring(struct client *c, uint32_t entries, uint32_t element);
void object_ring_drop(struct client *c, struct ring *r);

/* async events; o NULL: of port 1 or the device. */
void event_send(struct client *c, struct object *o, enum event_type type);
/* For DESTROY_x: events the program has taken and must acknowledge. */
uint32_t event_reported(struct object *o);

/* ---- memory regions ---- */

/* Pieces for a list of sges; -EINVAL on a bad key, protection or range. */
int mr_resolve_local(const struct pd *pd, const struct sge *sge, unsigned count,
		     uint32_t access, struct span *out);
/* What a peer of the pair addresses; access is one of ACCESS_REMOTE_*. */
struct remote_range {
	uint64_t address;
	uint64_t length;
	uint32_t access;
	const struct mr *mr; /* out: where it lies */
};
/* -EACCES. */
int mr_resolve_remote(const struct qp *qp, uint32_t rkey,
		      struct remote_range range, struct span *out);
void mr_destroy(struct mr *mr);
/* NULL unless the key is that of a region. */
struct mr *mr_by_key(uint32_t key);

/* Keys of regions and windows come from one table: *key is the new one. */
int key_add(struct client *c, struct object *o, uint32_t *key);
void key_remove(struct client *c, uint32_t key);
/* By the table's part of the key; the caller compares the rest. */
struct object *key_find(uint32_t key);

/* ---- memory windows ---- */

struct mw_bind {
	uint64_t address;
	uint64_t length;
	uint32_t lkey;
	uint32_t rkey; /* of the window until now */
	uint32_t new_rkey;
	uint32_t access;
};
/* Under sq_lock of the pair. -EINVAL. */
int mw_bind(struct qp *qp, const struct mw_bind *b);
/* A window of type 2 that the pair may use; under one of its locks. */
int mw_invalidate(struct qp *qp, uint32_t rkey);
int mw_resolve(const struct mw *mw, const struct qp *qp, uint32_t key,
	       struct remote_range *range);
/* Windows bound by a pair that is destroyed. */
void mw_forget(const struct qp *qp);
void mw_destroy(struct mw *mw);

/* ---- completion queues ---- */

/* Adds a completion; false when the queue overflowed (and says so once). */
bool cq_push(struct cq *cq, const struct ib_uverbs_wc *wc, bool is_solicited);
void cq_destroy(struct cq *cq);

/* ---- shared receive queues ---- */

/* Takes the next receive; -EAGAIN when there is none. */
int srq_take(struct srq *srq, struct recv_wqe *out);
void srq_destroy(struct srq *srq);

/* Copies a receive element out of a ring, with its geometry checked. */
int recv_wqe_copy(struct recv_wqe *out, const struct ring *r, uint32_t max_sge);

#endif
