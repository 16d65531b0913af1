/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * terminal: the screen and the keys, and the terminal's own state back at any
 * end of this program.
 *
 * What is on the screen is a pile of layers, the lowest one in stdscr, boxes in
 * panels above. Each can draw itself anew: when the terminal has another size,
 * and when a layer above it goes. The program ends by exit() or by a signal,
 * and both give the terminal back.
 *
 * Function keys are F1 to F10, or Esc and a digit, 0 for F10. Nothing here
 * needs colours.
 *
 * Locking: none; one in a process.
 */
#ifndef CMD_SMIT_TERMINAL_H
#define CMD_SMIT_TERMINAL_H

#include <curses.h>
#include <stdbool.h>
#include <stddef.h>

#define TERMINAL_COLUMNS_MIN 80
#define TERMINAL_LINES_MIN   24

/* A key that is no character: one of KEY_UP and so on. */
#define TERMINAL_FUNCTION(code) ((code) + 0x1000000)
#define TERMINAL_F(n)           TERMINAL_FUNCTION(KEY_F(n))

struct terminal_layer {
	void (*draw)(void *owner);
	void *owner;
	const char *fast_path; /* NULL: that of the layer below */
	struct terminal_layer *below;
};

/* 0, or -errno with the reason in why, and the terminal is as it was. */
int terminal_begin(char *why, size_t size);

/* Puts a layer on top and draws it. */
void terminal_push(struct terminal_layer *layer);
/* Takes the top one away; those below are drawn anew. */
void terminal_pop(void);
/* Draws all again; whole: as if the terminal had been cleared. */
void terminal_redraw(bool is_whole);
/* The fast path of the screen in sight; "" when it has none. */
const char *terminal_fast_path(void);

/* Brings what was drawn to the terminal; terminal_key() does that, too. */
void terminal_show(void);
/* Waits for a key: a character, or TERMINAL_FUNCTION(). Draws anew by itself.
 */
int terminal_key(void);

struct terminal_label {
	int number; /* of the function key; 0: Enter, otherwise a character */
	const char *word;
};

/* First row of a bar with so many keys, which end at the last row. */
int terminal_bar_row(unsigned count);
void terminal_title(const char *title);
void terminal_bar(const struct terminal_label *labels, unsigned count);
/* "F3=Cancel", or "Esc+3=Cancel" where there are no function keys. */
void terminal_label(const struct terminal_label *label, char *out, size_t size);

/* The screen as text, without blanks at the ends; from malloc(), or NULL. */
char *terminal_image(void);
/* Gives the terminal to a shell until that ends. */
void terminal_shell(void);
/* A copy of text in which tabs are blanks, and what cannot be shown is '?'.
 * From malloc(), or NULL. */
char *terminal_clean(const char *text, size_t length);

#endif
