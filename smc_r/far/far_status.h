/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * far_status: what the link service tells of its ports and link groups, and how
 * commands ask for it: a far_hello of FAR_STATUS or FAR_RESET, without a
 * descriptor, is answered with one message, a struct far_status that ends
 * behind its last group. Rows of ports that are not used are zeros.
 *
 * The counters begin with the service, or with the last FAR_RESET. Root and the
 * owner of the run directory may reset them, and see link groups; others get
 * the ports.
 *
 * Locking: none.
 */
#ifndef SMC_R_FAR_STATUS_H
#define SMC_R_FAR_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "smc_r/far/far_hello.h"

#define FAR_PORTS_MAX  8
#define FAR_GROUPS_MAX 64
#define FAR_LLC_TYPES  16 /* by enum llc_type; what is none has 0 */

/* Nothing but counters. */
struct far_counts {
	uint64_t connections;   /* that became active */
	uint64_t registrations; /* of memory regions */
	uint64_t bytes_sent;    /* by WRITEs that were posted */
	uint64_t bytes_received;
	uint64_t writes; /* that were posted */
	uint64_t cdc_sent, cdc_received;
	uint64_t llc_sent[FAR_LLC_TYPES], llc_received[FAR_LLC_TYPES];
};

/* A port of an RDMA device, for one local address and version of RoCE. */
struct far_port_row {
	char device[64];
	char interface[16];
	uint8_t gid[16];
	uint8_t local[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t number;
	uint32_t roce_version;
	uint32_t groups;          /* now */
	uint32_t broken;          /* 1: it goes with its last group */
	struct far_counts counts; /* those of its groups, and of former ones */
};

enum far_group_state {
	FAR_GROUP_BEGINS, /* first contact */
	FAR_GROUP_ACTIVE,
	FAR_GROUP_ENDS,
};

/* A link group with its link. */
struct far_group_row {
	char interface[16];
	uint8_t peer_id[8];
	uint8_t peer_gid[16];
	uint8_t gid[16];
	uint32_t qpn, peer_qpn;
	uint32_t link; /* its number on the wire */
	uint32_t server;
	uint32_t version;     /* of SMC-R */
	uint32_t state;       /* enum far_group_state */
	uint32_t connections; /* now, as are the next two */
	uint32_t rmbs;
	uint64_t rmb_bytes;
	struct far_counts counts;
};

struct far_status {
	uint32_t magic;
	uint32_t version;
	uint32_t refused; /* 1: nothing was reset */
	uint32_t ports;
	uint32_t groups;
	uint32_t groups_all; /* that there are, with those that are not told */
	struct far_port_row port[FAR_PORTS_MAX];
	struct far_group_row group[FAR_GROUPS_MAX];
};

_Static_assert(sizeof(struct far_counts) == 312, "the same for all revisions");
_Static_assert(sizeof(struct far_port_row) == 440, "the same, and no gaps");
_Static_assert(sizeof(struct far_group_row) == 408, "the same, and no gaps");
_Static_assert(offsetof(struct far_status, group) ==
		   24 + FAR_PORTS_MAX * sizeof(struct far_port_row),
	       "the same, and no gaps");

static inline size_t far_status_bytes(uint32_t groups)
{
	return offsetof(struct far_status, group) +
	       groups * sizeof(struct far_group_row);
}

static inline void far_counts_add(struct far_counts *to,
				  const struct far_counts *more)
{
	to->connections += more->connections;
	to->registrations += more->registrations;
	to->bytes_sent += more->bytes_sent;
	to->bytes_received += more->bytes_received;
	to->writes += more->writes;
	to->cdc_sent += more->cdc_sent;
	to->cdc_received += more->cdc_received;
	for (int i = 0; i < FAR_LLC_TYPES; i++) {
		to->llc_sent[i] += more->llc_sent[i];
		to->llc_received[i] += more->llc_received[i];
	}
}

/* ---- for commands ---- */

/* A channel to the service of this network namespace and run directory, which
 * does not block; -ENOENT, -ECONNREFUSED where there is none; -errno. */
int far_status_connect(const char *rundir);

/* Asks over a channel, FAR_STATUS or FAR_RESET, and checks the answer: 0;
 * -ETIMEDOUT: none within a second; -EPROTO; -EPERM; another -errno. */
int far_status_ask(int channel, enum far_kind kind, struct far_status *out);

/* Can bytes that somebody sent be an answer? Makes its names printable, and
 * what it does not hold zeros. 0, -EPROTO, -EPERM. */
int far_status_check(struct far_status *s, size_t bytes);

#endif
