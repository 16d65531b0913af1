/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* popup: framed boxes above a screen, and keys that do the same everywhere. */
#include "cmd/smit/popup.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/smit/journal.h"

#define MARGIN       2
#define MESSAGE_COLS 78
#define ROWS_AROUND  5 /* frame, an empty line above, one below, keys */
#define LABEL_COLS   20

struct message {
	struct terminal_layer layer;
	PANEL *panel;
	const char *title, *text;
};

PANEL *popup_open(int rows, int columns)
{
	WINDOW *window;
	PANEL *panel;

	rows = rows < LINES ? rows : LINES;
	columns = columns < COLS ? columns : COLS;
	window =
	    newwin(rows, columns, (LINES - rows) / 2, (COLS - columns) / 2);
	if (!window)
		return NULL;
	panel = new_panel(window);
	if (!panel) {
		delwin(window);
		return NULL;
	}
	box(window, 0, 0);
	return panel;
}

void popup_close(PANEL *panel)
{
	WINDOW *window;

	if (!panel)
		return;
	window = panel_window(panel);
	del_panel(panel);
	delwin(window);
}

void popup_dress(PANEL *panel, const char *title,
		 const struct terminal_label *labels, unsigned count)
{
	WINDOW *window = panel_window(panel);
	int columns = getmaxx(window), row = getmaxy(window) - 2;
	int length = (int)strlen(title);
	int cells = columns < LABEL_COLS + 4 ? 1 : (columns - 4) / LABEL_COLS;

	if (length > columns - 4)
		length = columns - 4;
	mvwaddnstr(window, 0, (columns - length) / 2, title, length);
	row -= ((int)count - 1) / cells;
	for (int i = 0; i < (int)count; i++) {
		char text[LABEL_COLS + 1];

		terminal_label(&labels[i], text, sizeof(text));
		mvwaddnstr(window, row + i / cells,
			   MARGIN + i % cells * LABEL_COLS, text,
			   LABEL_COLS - 1);
	}
}

/* ---- A message ---------------------------------------------------------- */

/* Bytes of text that go onto one line of so many columns, and the blanks behind
 * them. */
static size_t line_length(const char *text, size_t columns, size_t *skipped)
{
	size_t length = strcspn(text, "\n"), end;

	*skipped = text[length] == '\n';
	if (length <= columns)
		return length;
	for (end = columns; end > 0 && text[end] != ' '; end--)
		;
	*skipped = end > 0;
	return end > 0 ? end : columns;
}

/* Number of lines; onto a window if there is one. */
static int put_lines(WINDOW *window, const char *text, int columns, int max)
{
	int row = 0;

	while (*text && row < max) {
		size_t skipped,
		    n = line_length(text, (size_t)columns, &skipped);

		if (window)
			mvwaddnstr(window, row + 2, MARGIN, text, (int)n);
		text += n + skipped;
		row++;
	}
	return row;
}

static void draw_message(void *owner)
{
	static const struct terminal_label labels[] = {{3, "Cancel"},
						       {0, "Do"}};
	struct message *m = owner;
	int columns = MESSAGE_COLS;
	int rows =
	    put_lines(NULL, m->text, columns - 2 * MARGIN, LINES - ROWS_AROUND);

	popup_close(m->panel);
	m->panel = popup_open(rows + ROWS_AROUND, columns);
	if (!m->panel)
		return;
	put_lines(panel_window(m->panel), m->text, columns - 2 * MARGIN, rows);
	popup_dress(m->panel, m->title, labels, 2);
}

bool popup_message(const char *title, const char *text)
{
	char *clean = terminal_clean(text, strlen(text));
	struct message m = {.title = title, .text = clean ? clean : title};
	int key;

	m.layer.draw = draw_message;
	m.layer.owner = &m;
	curs_set(0);
	terminal_push(&m.layer);
	do {
		key = terminal_key();
		if (key == TERMINAL_F(10))
			exit(EXIT_SUCCESS);
	} while (key != TERMINAL_F(3) && key != '\r' && key != '\n' &&
		 key != TERMINAL_FUNCTION(KEY_ENTER));
	popup_close(m.panel);
	terminal_pop();
	free(clean);
	return key != TERMINAL_F(3);
}

/* ---- Keys --------------------------------------------------------------- */

static void print_screen(void)
{
	char *image = terminal_image();
	char text[512];

	snprintf(text, sizeof(text),
		 "Enter puts an image of this screen into the log file,\n%s.\n"
		 "F3 leaves it.\n\nThe fast path of this screen is: %s",
		 journal_log_path(), terminal_fast_path());
	if (popup_message(" PRINT SCREEN ", text) && image) {
		journal_note("Image of the screen, fast path \"%s\":",
			     terminal_fast_path());
		journal_text(image, strlen(image));
	}
	free(image);
}

int popup_key(void)
{
	for (;;) {
		int key = terminal_key();

		if (key == TERMINAL_F(2) || key == '\f')
			terminal_redraw(true);
		else if (key == TERMINAL_F(8))
			print_screen();
		else if (key == TERMINAL_F(9))
			terminal_shell();
		else if (key == TERMINAL_F(10))
			exit(EXIT_SUCCESS);
		else
			return key;
	}
}
