/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rx_moderation: whether a thread that receives a stream of packets lets some
 * come before it looks again, as adapters do with their interrupts.
 *
 * A thread that is as fast as the sender would be woken for each packet: by
 * the sender's processor, where it then often stays and takes turns with the
 * sender. It does not wait at the end of a message, as that may be all that the
 * peer has to say before it is answered; and a thread that found the end of a
 * message time after time has kept a peer waiting.
 *
 * Pure: the times are the caller's, in ns of one clock. A struct that is all
 * zero is a new one. Locking: the owner's.
 *
 * It waits for 80 us. A thread that found itself at the end of a message time
 * after time does not wait for 50 ms.
 */
#ifndef OFED_CORE_RX_MODERATION_H
#define OFED_CORE_RX_MODERATION_H

#include <stdbool.h>
#include <stdint.h>

struct rx_moderation {
	bool has_waited; /* before what it found now */
	unsigned vain;   /* the last times, in a row */
	uint64_t prompt_until;
};

/*
 * All that had come has been taken, and the last packet ended a message or
 * did not: how long not to look, in ns; 0: as always.
 */
uint64_t rx_moderation_ns(struct rx_moderation *m, bool ends_message,
			  uint64_t now);

#endif
