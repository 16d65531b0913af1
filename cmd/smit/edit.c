/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* edit: a value in a box that is as wide as the screen. */
#include "cmd/smit/edit.h"

#include <form.h>
#include <string.h>

#include "cmd/smit/popup.h"
#include "cmd/smit/sheet.h"

#define ROWS   7
#define ROW    2 /* of the value */
#define MARGIN 2

struct edit {
	struct terminal_layer layer;
	struct entry typed;
	PANEL *panel;
	FIELD *fields[2];
	FORM *form;
};

static void take(struct edit *ed)
{
	const char *text;

	if (!ed->form)
		return;
	form_driver(ed->form, REQ_VALIDATION);
	text = field_buffer(ed->fields[0], 0);
	if (text)
		entry_set(&ed->typed, text);
}

static void unmake(struct edit *ed)
{
	WINDOW *sub;

	if (ed->form) {
		sub = form_sub(ed->form);
		unpost_form(ed->form);
		free_form(ed->form);
		free_field(ed->fields[0]);
		delwin(sub);
	}
	ed->form = NULL;
	popup_close(ed->panel);
	ed->panel = NULL;
}

static void draw(void *owner)
{
	static const struct terminal_label labels[] = {{3, "Cancel"},
						       {0, "Do"}};
	struct edit *ed = owner;
	int columns = COLS - 2 * MARGIN;
	WINDOW *window, *sub;

	take(ed);
	unmake(ed);
	ed->panel = popup_open(ROWS, COLS);
	if (!ed->panel)
		return;
	window = panel_window(ed->panel);
	popup_dress(ed->panel, " EDIT ", labels, 2);
	sub = derwin(window, 1, columns, ROW, MARGIN);
	ed->fields[0] = sub ? new_field(1, columns, 0, 0, 0, 0) : NULL;
	if (!ed->fields[0])
		return;
	field_opts_off(ed->fields[0], O_AUTOSKIP | O_BLANK | O_STATIC);
	set_max_field(ed->fields[0], ENTRY_VALUE_SIZE - 1);
	set_field_back(ed->fields[0], A_UNDERLINE);
	set_field_buffer(ed->fields[0], 0, ed->typed.value);
	ed->form = new_form(ed->fields);
	if (!ed->form)
		return;
	set_form_win(ed->form, window);
	set_form_sub(ed->form, sub);
	post_form(ed->form);
	form_driver(ed->form, REQ_END_LINE);
	curs_set(1);
}

/* The box is on top, so its cursor is the terminal's. */
static void place_cursor(const struct edit *ed)
{
	int row, column;

	if (!ed->form)
		return;
	pos_form_cursor(ed->form);
	getyx(form_sub(ed->form), row, column);
	wmove(panel_window(ed->panel), ROW + row, MARGIN + column);
}

bool edit_run(struct entry *e)
{
	struct edit ed = {.typed = *e};
	int key;

	ed.layer = (struct terminal_layer){draw, &ed, NULL, NULL};
	terminal_push(&ed.layer);
	place_cursor(&ed);
	while ((key = popup_key()) != TERMINAL_F(3) && key != '\r' &&
	       key != '\n' && key != TERMINAL_FUNCTION(KEY_ENTER)) {
		if (!ed.form || !sheet_can_take(e, key) ||
		    !sheet_type(ed.form, key))
			beep();
		place_cursor(&ed);
	}
	take(&ed);
	unmake(&ed);
	terminal_pop();
	if (key == TERMINAL_F(3))
		return false;
	entry_set(e, ed.typed.value);
	return true;
}
