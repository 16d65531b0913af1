/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * choose: lines to choose from, as the lines of a menu screen or in a box.
 *
 * Locking: none.
 */
#ifndef CMD_SMIT_CHOOSE_H
#define CMD_SMIT_CHOOSE_H

#include <stdbool.h>

#include "cmd/smit/terminal.h"

struct choose {
	const char *title;
	char *const *lines; /* each at least one character */
	unsigned count;     /* more than 0 */
	bool in_box; /* of which F7 takes one or more, with has_several */
	bool has_several;
	bool *is_taken;   /* one for each line; with has_several */
	unsigned current; /* the first one, and then the one chosen */
	const char *fast_path;
	const char *(*help)(void *owner, unsigned line); /* of a line; "" */
	void *owner;
};

/* true: Enter; false: F3. */
bool choose_run(struct choose *c);

#endif
