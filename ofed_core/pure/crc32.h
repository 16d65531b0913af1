/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * crc32: the CRC of Ethernet, over memory.
 *
 * Pure. Uses carry-less multiplication where the processor has it.
 */
#ifndef OFED_CORE_CRC32_H
#define OFED_CORE_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Start with 0, feed pieces in order. */
uint32_t crc32_update(uint32_t crc, const void *bytes, size_t count);

/* This one uses tables alone; the other is compared with it. */
uint32_t crc32_update_tables(uint32_t crc, const void *bytes, size_t count);

/*
 * Two inputs of one length differ in two neighbouring bytes, behind which
 * `after` bytes follow. Tells by what these differ from the difference of the
 * CRCs; false when no two bytes there explain it, which for any other
 * difference is so but once in 65536.
 */
bool crc32_two_bytes(uint32_t difference, size_t after, uint8_t out[2]);

#endif
