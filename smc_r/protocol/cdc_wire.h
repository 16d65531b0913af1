/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cdc_wire: the message that follows data written into the peer's RMBE, as
 * bytes and as a struct (CDC, RFC 7609 appendix A.4). The same on links of
 * version 1 and 2.
 *
 * Integers are in host order. The cursors of a decoded message are what the
 * peer says; cursor_distance() tells whether they can be.
 *
 * Locking: none; nothing is shared.
 */
#ifndef SMC_R_CDC_WIRE_H
#define SMC_R_CDC_WIRE_H

#include "smc_r/protocol/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CDC_TYPE  0xfe /* first byte; all other values are LLC */
#define CDC_BYTES 44

enum cdc_producer_flag {
	CDC_WRITE_BLOCKED = 0x80,    /* at least as much data as room */
	CDC_URGENT_PENDING = 0x40,   /* an urgent byte is on its way */
	CDC_URGENT_PRESENT = 0x20,   /* it is the one before the cursor */
	CDC_UPDATE_REQUESTED = 0x10, /* send your consumer cursor */
	CDC_FAILOVER = 0x08,         /* checks the sequence, nothing else */
};

enum cdc_state_flag {
	CDC_SENDING_DONE = 0x80, /* shut down for writing */
	CDC_CLOSED = 0x40,
	CDC_ABORTED = 0x20,
};

struct cdc_message {
	uint16_t sequence;      /* per connection and direction, from 1 */
	uint32_t token;         /* the receiver's alert token */
	struct cursor producer; /* in the receiver's RMBE */
	struct cursor consumer; /* in the sender's RMBE */
	uint8_t producer_flags; /* enum cdc_producer_flag */
	uint8_t state_flags;    /* enum cdc_state_flag */
};

void cdc_encode(const struct cdc_message *m, uint8_t out[CDC_BYTES]);

/* n is what arrived, at least CDC_BYTES. 0 or -EPROTO. */
int cdc_decode(struct cdc_message *out, const void *bytes, size_t n);

/*
 * Is the sequence number older than the last accepted one? Such a message was
 * overtaken on its way over two links and is dropped; an equal one is not.
 */
bool cdc_is_older(uint16_t sequence, uint16_t last);

#endif
