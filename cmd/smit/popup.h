/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * popup: framed boxes above a screen, and the keys that do the same everywhere.
 *
 * Locking: none.
 */
#ifndef CMD_SMIT_POPUP_H
#define CMD_SMIT_POPUP_H

#include <panel.h>

#include "cmd/smit/terminal.h"

/* A framed panel in the middle, on top; NULL without memory. */
PANEL *popup_open(int rows, int columns);
/* Accepts NULL. */
void popup_close(PANEL *panel);
/* Puts a title into the frame and keys into the last row inside. */
void popup_dress(PANEL *panel, const char *title,
		 const struct terminal_label *labels, unsigned count);

/*
 * Shows a text, in lines that fit, until Enter or F3 is pressed: true for
 * Enter. F10 ends the program.
 */
bool popup_message(const char *title, const char *text);

/*
 * As terminal_key(); but F2 (draw anew), F8 (image), F9 (shell) and F10 (exit)
 * are done here and not returned.
 */
int popup_key(void);

#endif
