/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rc_keys: the peer's RMBs of one link group: a row is an RMB, and says under
 * which rkey and address each link reaches it (the rtoken table).
 *
 * A link is its index, 0 .. RC_LINKS_MAX - 1, not its number on the wire.
 * Fixed size; all zeros is an empty table.
 *
 * Locking: none; the owner of the link group calls.
 */
#ifndef SMC_R_RC_KEYS_H
#define SMC_R_RC_KEYS_H

#include <stdint.h>

#define RC_LINKS_MAX 2
#define RC_KEYS_ROWS 255

struct rc_keys_row {
	uint8_t links; /* bit n: link n has a name here; 0: the row is free */
	uint32_t rkey[RC_LINKS_MAX];
	uint64_t address[RC_LINKS_MAX];
};

struct rc_keys {
	struct rc_keys_row row[RC_KEYS_ROWS];
};

/* The row, which may have been there; or -ENOSPC. */
int rc_keys_add(struct rc_keys *k, int link, uint32_t rkey, uint64_t address);

/*
 * Names the RMB of a used row on one more link. 0, also when that is its name
 * there; -EEXIST when it has another one.
 */
int rc_keys_join(struct rc_keys *k, int row, int link, uint32_t rkey,
		 uint64_t address);

/* The row or -ENOENT. */
int rc_keys_find(const struct rc_keys *k, int link, uint32_t rkey,
		 uint64_t address);

/* Frees the RMB on all links. Returns the row that was freed, or -ENOENT. */
int rc_keys_delete(struct rc_keys *k, int link, uint32_t rkey);

/* The link is gone: rows that had no other link are free. */
void rc_keys_drop_link(struct rc_keys *k, int link);

#endif
