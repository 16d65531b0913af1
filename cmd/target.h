/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * target: the flags -a, -l, -p and -w, by which commands name a device, what
 * is to be set of it, and its place.
 *
 * Ownership: target_fini() frees what -a said; the rest is the arguments'.
 */
#ifndef CMD_TARGET_H
#define CMD_TARGET_H

#include "assign.h"
#include "method.h"

struct target {
	struct assign assign;
	const char *name, *parent, *connection; /* NULL: not given */
};

/* An exit status, the reason printed; EXIT_REFUSED too if it is another flag.
 */
int target_take(const struct cmd *cmd, struct target *t, int flag,
		const char *argument);
void target_fini(struct target *t);

/* The device of that name in the database. */
int target_find(const struct method *m, const struct target *t,
		struct attrdb_device *out);

#endif
