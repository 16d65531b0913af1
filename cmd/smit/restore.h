/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * restore: gives the terminal back when a signal ends this program.
 *
 * Locking: none; the handlers call nothing that a signal handler may not call.
 */
#ifndef CMD_SMIT_RESTORE_H
#define CMD_SMIT_RESTORE_H

/* Remembers the terminal's modes; before curses begins. */
void restore_remember(void);
/* Installs the handlers; after curses has begun. */
void restore_arm(void);
/* Nothing is to be given back any more. */
void restore_disarm(void);

#endif
