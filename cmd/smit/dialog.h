/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dialog: the screens that end in a command: a selector, which asks for one
 * name, and a dialog, which has fields.
 *
 * Locking: none.
 */
#ifndef CMD_SMIT_DIALOG_H
#define CMD_SMIT_DIALOG_H

#include <stdbool.h>

#include "cmd/smit/command_line.h"

/* Asks for the name, and puts it to the others: true; false: F3. */
bool dialog_select(const struct screen *selector, struct names *names);

/* Runs a dialog until it is left. */
void dialog_run(const struct screen *dialog, const struct names *names,
		const char *fast_path, bool is_run);

#endif
