/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_verbs: what the link service needs of an RNIC: a device with one
 * completion queue, links (RC queue pairs) with receives that are always
 * posted, and chains of WRITEs with a SEND behind them (RFC 7609, 4.1; verbs
 * as ibv_post_send(3) and ibv_create_qp(3) say).
 *
 * A link has RC_LINK_SLOTS transmit slots: a chain takes one, and gives it back
 * when its SEND completes. Receives hold RC_LINK_BYTES, and are posted again
 * before what they brought is looked at.
 *
 * Ownership: a device outlives its links and regions. Bytes of a completion
 *            belong to the link until the next poll.
 * Locking: none; one thread.
 */
#ifndef SMC_R_RC_VERBS_H
#define SMC_R_RC_VERBS_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/far/far_status.h"

#define RC_LINK_SLOTS    16u /* as Linux has them (5.9) */
#define RC_LINK_RECEIVES 64u
#define RC_LINK_BYTES    4224u /* the longest LLC message, and some */
#define RC_LINK_MESSAGE  64u   /* bytes of one that is sent, at most */
#define RC_LINK_WRITES   2u    /* of a chain */
#define RC_WRITE_PIECES  2u

struct rc_device {
	struct ibv_context *context;
	struct ibv_comp_channel *channel; /* its descriptor is polled */
	struct ibv_cq *cq;
	uint8_t port;
	int gid_index;
	union ibv_gid gid;
	char name[IBV_SYSFS_NAME_MAX];
	char interface[IF_NAMESIZE]; /* of the GID */
	uint8_t mac[6];              /* ... */
	enum ibv_mtu mtu;
	unsigned unacked; /* events */
};

/* Memory that links of one protection domain reach. All zeros: none. */
struct rc_region {
	struct ibv_mr *mr;
	uint32_t lkey;
	uint32_t rkey; /* 0 without remote rights */
	uint64_t address;
};

/* How the peer's end of a link is called, and ours for the peer. */
struct rc_link_name {
	union ibv_gid gid;
	uint32_t qpn; /* 24 bits */
	uint32_t psn; /* 24 bits */
	enum ibv_mtu mtu;
};

struct rc_link {
	struct rc_device *device;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_mr *mr; /* of memory: receives, then slots */
	uint8_t *memory;
	uint32_t psn;
	uint32_t free_slots; /* bit: not on its way */
	uint32_t awaited;    /* bit: somebody waits until it has completed */
	uint64_t tag[RC_LINK_SLOTS];
	struct far_counts counts; /* its users keep them */
};

/* One WRITE, gathered out of pieces of one region. */
struct rc_write {
	unsigned pieces; /* 1 .. RC_WRITE_PIECES */
	struct {
		const void *at;
		uint32_t bytes;
	} piece[RC_WRITE_PIECES];
	uint32_t lkey;
	uint32_t rkey;
	uint64_t remote; /* address */
};

enum rc_done_what {
	RC_DONE_SENT,     /* tag: the chain's */
	RC_DONE_RECEIVED, /* bytes */
	RC_DONE_FAILED,   /* the link is dead: status */
};

struct rc_done {
	enum rc_done_what what;
	uint32_t qpn; /* of the link */
	uint64_t id;  /* for rc_link_done() */
	uint32_t bytes;
	enum ibv_wc_status status;
};

/*
 * Opens the device and port that has this GID: 0; -ENODEV when there is none
 * that is active, else what verbs said.
 */
int rc_device_open(struct rc_device *d, const union ibv_gid *gid);
void rc_device_close(struct rc_device *d);

/*
 * Fills in the GID that this local address has on an active device: for
 * version 2 of RoCE ::ffff:a.b.c.d or the IPv6 address itself, for version 1
 * that of its interface. 0 or -ENODEV.
 */
int rc_device_find(const struct in6_addr *local, int roce_version,
		   union ibv_gid *gid);

/* Registers memory for a link: to gather from, and with `remote` for the peer's
 * WRITEs. 0 or -errno. */
int rc_region_make(struct rc_region *r, struct rc_link *l, void *at,
		   size_t bytes, bool remote);
void rc_region_drop(struct rc_region *r);

/* Makes a link with all its receives posted (INIT). 0 or -errno. */
int rc_link_open(struct rc_link *l, struct rc_device *d, uint32_t psn);
void rc_link_close(struct rc_link *l);
struct rc_link_name rc_link_name(const struct rc_link *l);
/* The peer's end is known: RTR and RTS. 0 or -errno. */
int rc_link_connect(struct rc_link *l, const struct rc_link_name *peer);

/*
 * Posts up to RC_LINK_WRITES WRITEs and a SEND of the message behind them, as
 * one chain. 0; -EAGAIN without a free slot; else the link is dead: -errno.
 */
int rc_link_post(struct rc_link *l, const struct rc_write *writes,
		 unsigned count, const void *message, uint32_t bytes,
		 uint64_t tag);

/* Takes up to `most` completions, of all links: how many, or -errno. */
int rc_device_poll(struct rc_device *d, struct rc_done *out, int most);
/*
 * The link whose number a completion names takes it: its tag, or its bytes,
 * copied, and the receive is posted again. `out` has RC_LINK_BYTES of room.
 * 0, or -errno: the link is dead.
 */
int rc_link_done(struct rc_link *l, const struct rc_done *done, uint64_t *tag,
		 void *out);

/* Bit: on its way. */
static inline uint32_t rc_link_sent(const struct rc_link *l)
{
	return ~l->free_slots & ((1u << RC_LINK_SLOTS) - 1);
}

/* Somebody waits for all that is on its way. */
static inline void rc_link_await(struct rc_link *l)
{
	l->awaited = rc_link_sent(l);
}

/* The next completion makes the channel readable; solicited_only: the next
 * message from a peer that asks for it, or failure (ibv_req_notify_cq(3)). Poll
 * once more behind it. 0 or -errno. */
int rc_device_arm(struct rc_device *d, bool solicited_only);
/* The channel was readable. 0; -errno, the device is gone. */
int rc_device_heard(struct rc_device *d);

#endif
