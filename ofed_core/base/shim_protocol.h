/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_protocol: the messages between the shim library and the core.
 *
 * A SOCK_SEQPACKET connection to ofed_rundir_path("verbs") stands for one open
 * device node. The shim sends struct shim_request followed by `bytes` bytes.
 * Requests that want an answer carry the write end of a fresh socket pair in
 * SCM_RIGHTS; the answer goes there. So threads and forked processes that
 * share the connection need no lock, and cannot take each other's answers.
 * A second descriptor may follow: the one the command names (the completion
 * channel of CREATE_CQ, the event channel of MIGRATE_ID).
 *
 * On a connection opened for rdma_cm the core sends one byte per event.
 * Both ends are of one build: the first request carries SHIM_PROTOCOL.
 */
#ifndef OFED_CORE_SHIM_PROTOCOL_H
#define OFED_CORE_SHIM_PROTOCOL_H

#include <stdint.h>

#define SHIM_PROTOCOL      5
#define SHIM_COMMAND_BYTES 8192 /* longest command or reply */
#define SHIM_NAME_BYTES    64
#define SHIM_DEVICES_MAX   32

/* Character device numbers that the kernel gives these nodes. */
#define SHIM_UVERBS_MAJOR      231
#define SHIM_UVERBS_MINOR_BASE 192
#define SHIM_CM_MAJOR          10
#define SHIM_CM_MINOR          124

/* Numbers of our devices in netlink and rdma_cm; the kernel's start at 0. */
#define SHIM_DEVICE_INDEX(uverbs) (1000 + (uverbs))

enum shim_kind {
	SHIM_OPEN_UVERBS = 1, /* argument: uverbs number; offset: protocol */
	SHIM_OPEN_CM,         /* offset: protocol */
	SHIM_LIST,            /* answer: struct shim_device[] */
	SHIM_COMMAND,         /* bytes as given to write() */
	SHIM_DOORBELL,        /* argument: QP handle; no answer */
	SHIM_MAP,             /* offset: as given to mmap(); answer: memfd */
};

struct shim_request {
	uint32_t kind;
	uint32_t argument;
	uint64_t offset;
	uint32_t bytes;
	uint32_t reserved;
};
_Static_assert(sizeof(struct shim_request) == 24, "shared layout");

struct shim_reply {
	int32_t result; /* 0 or -errno */
	uint32_t bytes; /* that follow */
	/* Where in the bytes the number of the passed descriptor belongs. */
	uint32_t fd_offset;
	uint32_t reserved;
};
_Static_assert(sizeof(struct shim_reply) == 16, "shared layout");

/*
 * Words of a ring's header that the provider leaves unused (pad_3 of struct
 * rxe_queue_buf): the first two of a send ring, written by the core; the last
 * of a completion ring, which the program sets and the core clears.
 */
enum shim_ring_word {
	SHIM_RING_STATE,  /* of the queue pair: enum ib_qp_state */
	SHIM_RING_POLLED, /* the core polls the ring: no doorbell needed */
	SHIM_RING_ARM,    /* enum shim_arm */
};

/*
 * A completion ring has this word beside its producer index (pad_2). The core
 * writes into it how many completions came since the last event.
 */
#define SHIM_RING_UNTOLD 0

/* What the next completion is to announce. */
enum shim_arm {
	SHIM_NOT_ARMED,
	SHIM_ARMED_SOLICITED,
	SHIM_ARMED_ANY
};

struct shim_device {
	char name[SHIM_NAME_BYTES]; /* ent0 */
	uint64_t node_guid;         /* network order */
	uint32_t uverbs;            /* N of uverbsN */
	uint32_t index;             /* of the device, for netlink */
	char netdev[16];
	uint32_t ifindex;
	uint32_t is_up;
};
_Static_assert(sizeof(struct shim_device) == 104, "shared layout");

#endif
