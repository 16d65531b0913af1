/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kind: the flags -c, -s and -t, by which commands name a kind of devices.
 */
#ifndef CMD_KIND_H
#define CMD_KIND_H

#include <stdbool.h>

#include "attrdb/device.h"

#include "message.h"

/* False: the flag is another one. */
bool kind_take(struct attrdb_kind *kind, int flag, const char *argument);

/* Was any of them given? */
bool kind_is_named(const struct attrdb_kind *kind);

/* The one kind that they select. EXIT_REFUSED, and it was said why: the
 * database failed. EXIT_UNKNOWN: there is none, or there are several. */
int kind_find(const struct cmd *cmd, struct attrdb *db,
	      const struct attrdb_kind *kind, char uniquetype[ODM_UNIQUE_SIZE]);

#endif
