/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wire: RoCE packets to and from other network namespaces and hosts.
 *
 * Locking: core_lock for reading. Packets to send collect per thread; they
 *          leave with wire_flush(), in order, while the lock of the queue
 *          pair that sent them is still held.
 */
#ifndef OFED_CORE_WIRE_H
#define OFED_CORE_WIRE_H

#include "ofed_core/pure/packet.h"
#include "ofed_core/verbs/verbs.h"

/*
 * Opens the sockets. -EADDRINUSE when another core (or the kernel's rxe) has
 * the port of this network namespace, -EPERM without CAP_NET_RAW; then only
 * queue pairs of this core reach each other. on_packets gets what arrives, in
 * order, with core_lock held for reading; it takes count arrivals at once.
 */
struct arrival;
int wire_open(void (*on_packets)(const struct arrival *a, unsigned count));
/* Gives the port back, so that the next core can have it. */
void wire_close(void);
bool wire_is_open(void);

/*
 * Room of the thread for payloads of packets that are sent next. What lies
 * there is not copied by wire_send(), and must stay as it is until
 * wire_flush(). NULL without memory. When little room is left, asking for
 * more, or sending a long payload from elsewhere, sends what was queued and
 * begins anew.
 */
#define WIRE_SPACE (64 * 4096)
uint8_t *wire_space(size_t bytes);

/* Queues a packet with its payload. */
int wire_send(const struct address *to, const struct packet *p);
void wire_flush(void);

/* Joins or leaves an IP multicast group on the device's interface. */
int wire_mcast(const struct device *d, const uint8_t gid[16], bool join);

/* Most packets that arrive, or leave, with one system call. */
#define WIRE_BATCH 64

/* A packet that passed every check on the way in. */
struct arrival {
	struct packet p;
	uint8_t sgid[16]; /* the sender's */
	uint8_t dgid[16];
	struct device *device;
	bool is_v1;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t grh[40];      /* as a UD receive shows it */
	uint64_t waits_until; /* a request for a listener; 0: it does not */
};

/* Packet counters of the core. */
enum wire_counter {
	WIRE_SENT,
	WIRE_FRAMES, /* of those: past the IP stack */
	WIRE_RECEIVED,
	WIRE_LOST_ON_PURPOSE,
	WIRE_DOUBLED_ON_PURPOSE,
	WIRE_DELAYED_ON_PURPOSE,
	WIRE_BAD_ICRC,
	WIRE_BAD_PACKET,
	WIRE_NO_QP,
	WIRE_SEND_ERRORS,
	WIRE_RETRANSMITS,
	WIRE_COUNTERS
};
void wire_count(enum wire_counter c, uint64_t n);
uint64_t wire_counter(enum wire_counter c);
extern const char *const wire_counter_name[WIRE_COUNTERS];

#endif
