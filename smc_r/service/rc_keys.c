/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_keys: the peer's RMBs of one link group. */
#include "smc_r/service/rc_keys.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

static uint8_t bit_of(int link)
{
	assert(link >= 0 && link < RC_LINKS_MAX);
	return (uint8_t)(1U << link);
}

static bool has_rkey(const struct rc_keys_row *row, int link, uint32_t rkey)
{
	return (row->links & bit_of(link)) && row->rkey[link] == rkey;
}

static void name(struct rc_keys_row *row, int link, uint32_t rkey,
		 uint64_t address)
{
	row->links |= bit_of(link);
	row->rkey[link] = rkey;
	row->address[link] = address;
}

int rc_keys_find(const struct rc_keys *k, int link, uint32_t rkey,
		 uint64_t address)
{
	for (int i = 0; i < RC_KEYS_ROWS; i++)
		if (has_rkey(&k->row[i], link, rkey) &&
		    k->row[i].address[link] == address)
			return i;
	return -ENOENT;
}

int rc_keys_add(struct rc_keys *k, int link, uint32_t rkey, uint64_t address)
{
	int row = rc_keys_find(k, link, rkey, address);

	for (int i = 0; row < 0 && i < RC_KEYS_ROWS; i++)
		if (k->row[i].links == 0)
			row = i;
	if (row < 0)
		return -ENOSPC;
	name(&k->row[row], link, rkey, address);
	return row;
}

int rc_keys_join(struct rc_keys *k, int row, int link, uint32_t rkey,
		 uint64_t address)
{
	struct rc_keys_row *at;

	assert(row >= 0 && row < RC_KEYS_ROWS);
	at = &k->row[row];
	assert(at->links);
	if ((at->links & bit_of(link)) &&
	    (at->rkey[link] != rkey || at->address[link] != address))
		return -EEXIST;
	name(at, link, rkey, address);
	return 0;
}

int rc_keys_delete(struct rc_keys *k, int link, uint32_t rkey)
{
	for (int i = 0; i < RC_KEYS_ROWS; i++) {
		if (has_rkey(&k->row[i], link, rkey)) {
			k->row[i].links = 0;
			return i;
		}
	}
	return -ENOENT;
}

void rc_keys_drop_link(struct rc_keys *k, int link)
{
	for (int i = 0; i < RC_KEYS_ROWS; i++)
		k->row[i].links &= (uint8_t)~bit_of(link);
}
