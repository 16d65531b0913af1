/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * llc_layout: bits and lengths that the encoder and the decoder of control
 * messages share. For llc_encode.c and llc_decode.c only.
 */
#ifndef SMC_R_LLC_LAYOUT_H
#define SMC_R_LLC_LAYOUT_H

#define HEADER_BYTES 4

/* Byte 0: version and type. */
#define VERSION_1 0
#define VERSION_2 2
#define TYPE_MASK 0x0f

/* Byte 3. */
#define FLAG_RESPONSE      0x80
#define FLAG_REJECT        0x40 /* Add Link, Request Add Link */
#define FLAG_ALL           0x40 /* Delete Link */
#define FLAG_ORDERLY       0x20 /* Delete Link */
#define FLAG_NEGATIVE      0x20 /* keys */
#define FLAG_RETRY         0x10 /* keys */
#define FLAG_NO_EYECATCHER 0x03 /* Confirm Link; one of the bits will do */

/* Why a link is rejected: byte 2 in version 1, byte 3 in version 2. */
#define REASON_MASK 0x0f

#define FLAG_DIRECT      0x80
#define DELETE_RKEY_KEYS 8 /* in version 1, and in a response */

#endif
