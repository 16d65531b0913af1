/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* choose: lines to choose from, as a menu screen or in a box. */
#include "cmd/smit/choose.h"

#include <menu.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/smit/popup.h"

#define INSTRUCTION   "Move cursor to desired item and press Enter."
#define SCREEN_ROW    4 /* of the first line */
#define BOX_ROW       3
#define BOX_COLS      76
#define BOX_ROWS_MORE 7 /* frame, instruction, keys, empty lines */
#define PATTERN_SIZE  64

struct chooser {
	struct terminal_layer layer;
	struct choose *what;
	ITEM **items; /* ends with NULL */
	MENU *menu;
	PANEL *panel;
	char pattern[PATTERN_SIZE];
};

static void unmake(struct chooser *c)
{
	WINDOW *sub = c->menu ? menu_sub(c->menu) : NULL;

	if (c->menu) {
		unpost_menu(c->menu);
		free_menu(c->menu);
		delwin(sub);
	}
	c->menu = NULL;
	popup_close(c->panel);
	c->panel = NULL;
}

/* Without reverse video the chosen line has a mark. */
static const char *mark(void)
{
	bool has_reverse = termattrs() & (A_REVERSE | A_STANDOUT);

	return has_reverse ? "  " : " -";
}

static void make(struct chooser *c, WINDOW *window, int row, int rows)
{
	const struct choose *what = c->what;
	WINDOW *sub = derwin(window, rows, getmaxx(window) - 3, row,
			     what->in_box ? 2 : 0);

	c->menu = sub ? new_menu(c->items) : NULL;
	if (!c->menu)
		return;
	set_menu_win(c->menu, window);
	set_menu_sub(c->menu, sub);
	menu_opts_off(c->menu, O_SHOWDESC);
	set_menu_mark(c->menu, mark());
	set_menu_format(c->menu, rows, 1);
	set_menu_fore(c->menu, A_REVERSE);
	post_menu(c->menu);
	set_current_item(c->menu, c->items[what->current]);
}

/* The menu library's own marks do not tell what is taken from what is current.
 */
static void draw_taken(const struct chooser *c)
{
	WINDOW *sub = menu_sub(c->menu);
	unsigned top = (unsigned)top_row(c->menu);

	for (int row = 0; row < getmaxy(sub); row++) {
		unsigned line = top + (unsigned)row;

		if (line < c->what->count && c->what->is_taken[line])
			mvwaddch(sub, row, 0, '>');
		else
			mvwaddch(sub, row, 0, ' ');
	}
}

/* What the reader cannot see has to be told of. */
static void draw_more(const struct chooser *c)
{
	WINDOW *window = menu_win(c->menu), *sub = menu_sub(c->menu);
	int top = top_row(c->menu), rows = getmaxy(sub);
	int below = (int)c->what->count - top - rows;
	int row = c->what->in_box ? BOX_ROW - 1 : SCREEN_ROW - 1;

	if (c->what->has_several)
		draw_taken(c);
	if ((int)c->what->count <= rows)
		return;
	mvwprintw(window, row, 2, "%-14s", top > 0 ? "[MORE ABOVE]" : "[TOP]");
	if (below > 0)
		mvwprintw(window, row + rows + 1, 2, "[MORE...%d]   ", below);
	else
		mvwprintw(window, row + rows + 1, 2, "%-14s", "[BOTTOM]");
}

static void draw_screen(struct chooser *c)
{
	static const struct terminal_label labels[] = {
	    {1, "Help"},  {2, "Refresh"}, {3, "Cancel"}, {8, "Image"},
	    {9, "Shell"}, {10, "Exit"},   {0, "Do"}};
	unsigned count = sizeof(labels) / sizeof(labels[0]);

	erase();
	terminal_title(c->what->title);
	mvaddstr(2, 0, INSTRUCTION);
	make(c, stdscr, SCREEN_ROW, terminal_bar_row(count) - SCREEN_ROW - 2);
	terminal_bar(labels, count);
}

static void draw_box(struct chooser *c)
{
	static const struct terminal_label one[] = {
	    {1, "Help"}, {2, "Refresh"}, {3, "Cancel"},
	    {0, "Do"},   {'/', "Find"},  {'n', "Find Next"}};
	static const struct terminal_label several[] = {
	    {1, "Help"}, {3, "Cancel"}, {7, "Select"},
	    {0, "Do"},   {'/', "Find"}, {'n', "Find Next"}};
	int rows = (int)c->what->count, most = LINES - BOX_ROWS_MORE - 4;
	int columns = BOX_COLS;

	if (rows > most)
		rows = most;
	c->panel = popup_open(rows + BOX_ROWS_MORE, columns);
	if (!c->panel)
		return;
	popup_dress(c->panel, c->what->title,
		    c->what->has_several ? several : one, 6);
	mvwaddstr(panel_window(c->panel), 1, 2,
		  c->what->has_several
		      ? "ONE OR MORE items can be selected, with F7."
		      : INSTRUCTION);
	make(c, panel_window(c->panel), BOX_ROW, rows);
}

static void draw(void *owner)
{
	struct chooser *c = owner;

	unmake(c);
	curs_set(0);
	if (c->what->in_box)
		draw_box(c);
	else
		draw_screen(c);
	if (c->menu)
		draw_more(c);
}

/* ---- Find --------------------------------------------------------------- */

static void find_next(struct chooser *c)
{
	struct choose *what = c->what;

	for (unsigned i = 1; c->pattern[0] && i <= what->count; i++) {
		unsigned line = (what->current + i) % what->count;

		if (strstr(what->lines[line], c->pattern)) {
			what->current = line;
			set_current_item(c->menu, c->items[line]);
			return;
		}
	}
	beep();
}

/* The pattern is typed where the instruction stands. */
static void find(struct chooser *c)
{
	WINDOW *window = menu_win(c->menu);
	int row = c->what->in_box ? 1 : 2;
	size_t n = 0;
	int key = 0;

	while (key != '\r' && key != '\n') {
		wmove(window, row, 2);
		wclrtoeol(window);
		mvwprintw(window, row, 2, "Find: %.*s_", (int)n, c->pattern);
		key = terminal_key();
		if (key == TERMINAL_F(3)) {
			n = 0;
			break;
		}
		if (key == TERMINAL_FUNCTION(KEY_BACKSPACE) || key == 127 ||
		    key == '\b')
			n -= n > 0;
		else if (key >= ' ' && key < 127 && n + 1 < PATTERN_SIZE)
			c->pattern[n++] = (char)key;
	}
	c->pattern[n] = '\0';
	draw(c);
	find_next(c);
}

/* ---- Running ------------------------------------------------------------ */

static int request_of(int key)
{
	switch (key) {
	case TERMINAL_FUNCTION(KEY_UP):
	case TERMINAL_FUNCTION(KEY_BTAB):
	case 'k':
		return REQ_UP_ITEM;
	case TERMINAL_FUNCTION(KEY_DOWN):
	case '\t':
	case 'j':
		return REQ_DOWN_ITEM;
	case TERMINAL_FUNCTION(KEY_PPAGE):
		return REQ_SCR_UPAGE;
	case TERMINAL_FUNCTION(KEY_NPAGE):
		return REQ_SCR_DPAGE;
	case TERMINAL_FUNCTION(KEY_HOME):
		return REQ_FIRST_ITEM;
	case TERMINAL_FUNCTION(KEY_END):
		return REQ_LAST_ITEM;
	default:
		return 0;
	}
}

static void show_help(const struct choose *what)
{
	const char *text =
	    what->help ? what->help(what->owner, what->current) : "";

	popup_message(" HELP ", text[0] ? text
					: "There is no help for this line. "
					  "Enter takes it, F3 goes back.");
}

static void take(struct chooser *c)
{
	struct choose *what = c->what;

	if (!what->has_several)
		return;
	what->is_taken[what->current] = !what->is_taken[what->current];
}

static bool run(struct chooser *c)
{
	for (;;) {
		int key = popup_key(), request = request_of(key);

		if (key == '\r' || key == '\n' ||
		    key == TERMINAL_FUNCTION(KEY_ENTER))
			return true;
		if (key == TERMINAL_F(3) || !c->menu)
			return false;
		if (request)
			menu_driver(c->menu, request);
		else if (key == TERMINAL_F(1))
			show_help(c->what);
		else if (key == TERMINAL_F(7))
			take(c);
		else if (key == '/')
			find(c);
		else if (key == 'n')
			find_next(c);
		else
			beep();
		c->what->current = (unsigned)item_index(current_item(c->menu));
		draw_more(c);
	}
}

static bool make_items(struct chooser *c)
{
	/* Pointers it is that the menu library takes. NOLINTNEXTLINE */
	c->items = calloc(c->what->count + 1, sizeof(*c->items));
	for (unsigned i = 0; c->items && i < c->what->count; i++) {
		c->items[i] = new_item(c->what->lines[i], "");
		if (!c->items[i])
			return false;
	}
	return c->items != NULL;
}

bool choose_run(struct choose *what)
{
	struct chooser c = {.what = what};
	bool is_chosen = false;

	c.layer = (struct terminal_layer){draw, &c, what->fast_path, NULL};
	if (make_items(&c)) {
		terminal_push(&c.layer);
		is_chosen = run(&c);
		unmake(&c);
		terminal_pop();
	}
	for (unsigned i = 0; c.items && i < what->count; i++)
		free_item(c.items[i]);
	free(c.items);
	return is_chosen;
}
