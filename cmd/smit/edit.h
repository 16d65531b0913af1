/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * edit: a value in a box that is as wide as the screen (F7).
 *
 * Locking: none.
 */
#ifndef CMD_SMIT_EDIT_H
#define CMD_SMIT_EDIT_H

#include <stdbool.h>

#include "cmd/smit/entry.h"

/* true: Enter, and the entry has what was typed; false: F3. */
bool edit_run(struct entry *e);

#endif
