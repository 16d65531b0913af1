/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * predefined: brings the stanzas that came with this program into the
 * database: smc_r.stanza, kinds of devices, and smit.stanza, screens.
 *
 * Locking: called between attrdb_begin() and attrdb_commit(), or on a
 *	    database in memory.
 */
#ifndef CONF_PREDEFINED_H
#define CONF_PREDEFINED_H

#include "attrdb/attrdb.h"

/*
 * Replaces what the database knew about the kinds of devices and the screens
 * in the files: 0, or -errno with the reason, which names file and line, in
 * why. It is "" when the database failed, and nothing is wrong with the file:
 * attrdb_words().
 */
int predefined_load(struct attrdb *db, char *why, size_t size);

#endif
