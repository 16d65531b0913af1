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
	void (*destroy)(struct object *o); /* frees it; it has no handle */
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
	struct source end; /* the program closes its end */
	bool has_ended;
};

struct cq {
	struct object o;
	pthread_mutex_t lock;
	struct ring *ring;
	struct channel *channel; /* or NULL */
	int channel_number;      /* of the program's descriptor */
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

/* What a program asks for when it binds a window. */
struct mw_bind {
	uint64_t address;
	uint64_t length;
	uint32_t lkey;
	uint32_t rkey; /* the window's until now */
	uint32_t new_rkey;
	uint32_t access;
};

#endif
