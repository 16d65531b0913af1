/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clc_frame: what all handshake messages have in common: the eyecatchers at
 * both ends, type, length and flags. For the codecs of clc_wire.h only.
 */
#ifndef SMC_R_CLC_FRAME_H
#define SMC_R_CLC_FRAME_H

#include "smc_r/protocol/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Byte 7 of every message: version in the high half, then two fields of two
 * bits. Accept, Confirm and Decline use one bit of the first field as a flag,
 * and Accept and Confirm the second one for the chosen path.
 */
#define CLC_VERSION_SHIFT 4
#define CLC_PATH_MASK     0x03

#define CLC_TRAILER_BYTES 4

/* Begins to read a message; *flags is byte 7. False if it is not that type. */
bool clc_read_header(struct wire_reader *r, const void *bytes, size_t n,
		     int type, uint8_t *flags);
/* True when the trailer is all that was left, and everything was read well. */
bool clc_read_trailer(struct wire_reader *r);

/* The length is not known yet; clc_write_trailer() fills it in. */
void clc_write_header(struct wire_writer *w, void *out, size_t room, int type,
		      uint8_t flags);
/* Returns the length of the message, or -ENOSPC. */
int clc_write_trailer(struct wire_writer *w, void *out);

#endif
