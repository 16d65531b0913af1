/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sheet: the fields of a dialog on the screen, and typing into them. */
#include "cmd/smit/sheet.h"

#include <stdlib.h>
#include <string.h>

/* As AIX has them. */
#define INSTRUCTION_ROW 2
#define HEADING_ROW     5
#define HEADING_COLUMN  56
#define FIRST_ROW       6
#define BRACKET_COLUMN  53
#define VALUE_COLUMN    54
#define BEHIND_VALUE    5 /* columns: bracket, blank, marks, blank */
#define RING_COLUMN     3 /* columns from the right, of the marks */

static const struct terminal_label labels[] = {
    {1, "Help"},  {2, "Refresh"}, {3, "Cancel"}, {4, "List"},
    {5, "Reset"}, {6, "Command"}, {7, "Edit"},   {8, "Image"},
    {9, "Shell"}, {10, "Exit"},   {0, "Do"}};

#define LABELS (sizeof(labels) / sizeof(labels[0]))

/* The row below the current field is that of what is wrong with it. */
static int row_in_page(const struct sheet *s, unsigned i)
{
	return (int)i % s->page_rows + (s->why[0] && i > s->current);
}

static int row_of(const struct sheet *s, unsigned i)
{
	return FIRST_ROW + row_in_page(s, i);
}

static int value_columns(void)
{
	return COLS - VALUE_COLUMN - BEHIND_VALUE;
}

static bool is_on_page(const struct sheet *s, unsigned i)
{
	return (int)i / s->page_rows == (int)s->current / s->page_rows;
}

/* ---- Making and drawing ------------------------------------------------- */

static void unmake(struct sheet *s)
{
	WINDOW *sub;

	if (!s->form)
		return;
	sub = form_sub(s->form);
	unpost_form(s->form);
	free_form(s->form);
	for (unsigned i = 0; i < s->count; i++)
		free_field(s->fields[i]);
	delwin(sub);
	memset(s->fields, 0, sizeof(s->fields));
	s->form = NULL;
	s->bracket = 0;
}

static FIELD *make_field(const struct sheet *s, unsigned i)
{
	const struct entry *e = &s->entries[i];
	FIELD *field =
	    new_field(1, value_columns(), row_in_page(s, i), 0, 0, 0);

	if (!field)
		return NULL;
	field_opts_off(field, O_AUTOSKIP | O_BLANK | O_PASSOK | O_STATIC);
	set_max_field(field, ENTRY_VALUE_SIZE - 1);
	field_opts_on(field, O_PASSOK);
	if (!entry_is_typed(e))
		field_opts_off(field, O_EDIT);
	set_field_buffer(field, 0, e->value);
	set_new_page(field, i > 0 && (int)i % s->page_rows == 0);
	return field;
}

static void make(struct sheet *s)
{
	WINDOW *sub = derwin(stdscr, s->page_rows + 1, value_columns(),
			     FIRST_ROW, VALUE_COLUMN);
	bool is_made = sub != NULL;

	for (unsigned i = 0; i < s->count && is_made; i++) {
		s->fields[i] = make_field(s, i);
		is_made = s->fields[i] != NULL;
	}
	s->form = is_made ? new_form(s->fields) : NULL;
	if (!s->form)
		return;
	/* Backspace in an empty field stays there. */
	form_opts_off(s->form, O_BS_OVERLOAD);
	set_form_win(s->form, stdscr);
	set_form_sub(s->form, sub);
	post_form(s->form);
	set_current_field(s->form, s->fields[s->current]);
	form_driver(s->form, REQ_END_LINE);
}

/* Columns of the whole text; more than there are when it cannot be told. */
static int text_columns(const struct sheet *s, unsigned i)
{
	const char *text = field_buffer(s->fields[i], 0);
	wchar_t wide[ENTRY_VALUE_SIZE];
	size_t length = text ? mbstowcs(wide, text, ENTRY_VALUE_SIZE) : 0;
	int width;

	if (length == (size_t)-1 || length >= ENTRY_VALUE_SIZE)
		return value_columns() + 1;
	while (length > 0 && wide[length - 1] == L' ')
		length--;
	width = wcswidth(wide, length);
	return width < 0 ? value_columns() + 1 : width;
}

/* The form reads back what stands in a field, so a bracket must not. */
static void hide_bracket(struct sheet *s)
{
	if (s->bracket && s->bracket < VALUE_COLUMN + value_columns())
		mvaddch(row_of(s, s->current), s->bracket, ' ');
	s->bracket = 0;
}

static void draw_brackets(struct sheet *s, unsigned i)
{
	bool is_current = i == s->current;
	bool begins = is_current && data_behind(s->form);
	int width = text_columns(s, i), row = row_of(s, i);
	bool goes_on =
	    is_current ? data_ahead(s->form) : width > value_columns();

	if (!entry_is_typed(&s->entries[i]))
		return;
	if (begins || goes_on || width > value_columns())
		width = value_columns();
	mvaddch(row, BRACKET_COLUMN, begins ? '<' : '[');
	mvaddch(row, VALUE_COLUMN + width, goes_on ? '>' : ']');
	if (is_current)
		s->bracket = VALUE_COLUMN + width;
}

static void draw_row(struct sheet *s, unsigned i)
{
	const struct entry *e = &s->entries[i];
	int row = row_of(s, i);
	char marks[4];

	entry_marks(e, marks);
	mvaddstr(row, 0, entry_is_required(e) ? "* " : "  ");
	if (i == s->current)
		attron(A_REVERSE);
	mvaddnstr(row, 2, entry_word(e, "name"), BRACKET_COLUMN - 3);
	attroff(A_REVERSE);
	draw_brackets(s, i);
	mvaddstr(row, COLS - RING_COLUMN, marks);
}

static void draw_why(const struct sheet *s)
{
	if (!s->why[0])
		return;
	attron(A_BOLD | A_REVERSE);
	mvprintw(row_of(s, s->current) + 1, 4, "^ %.*s", COLS - 8, s->why);
	attroff(A_BOLD | A_REVERSE);
}

static void draw_more(const struct sheet *s)
{
	int page = (int)s->current / s->page_rows;
	int below = (int)s->count - (page + 1) * s->page_rows;
	int row = FIRST_ROW + s->page_rows + (s->why[0] != '\0');

	if ((int)s->count <= s->page_rows)
		return;
	mvaddstr(HEADING_ROW, 0, page > 0 ? "[MORE ABOVE]" : "[TOP]");
	if (below > 0)
		mvprintw(row, 0, "[MORE...%d]", below);
	else
		mvaddstr(row, 0, "[BOTTOM]");
}

static void place_cursor(const struct sheet *s)
{
	WINDOW *sub = form_sub(s->form);
	int row, column;

	pos_form_cursor(s->form);
	getyx(sub, row, column);
	curs_set(1);
	move(FIRST_ROW + row, VALUE_COLUMN + column);
}

static void draw(void *owner)
{
	struct sheet *s = owner;

	if (s->form)
		sheet_take(s);
	unmake(s);
	s->page_rows = terminal_bar_row(LABELS) - FIRST_ROW - 2;
	erase();
	terminal_title(s->title);
	mvaddstr(INSTRUCTION_ROW, 0, "Type or select values in entry fields.");
	mvaddstr(INSTRUCTION_ROW + 1, 0,
		 "Press Enter AFTER making all desired changes.");
	mvaddstr(HEADING_ROW, HEADING_COLUMN, "[Entry Fields]");
	terminal_bar(labels, LABELS);
	make(s);
	if (!s->form)
		return;
	for (unsigned i = 0; i < s->count; i++)
		if (is_on_page(s, i))
			draw_row(s, i);
	draw_more(s);
	draw_why(s);
	place_cursor(s);
}

void sheet_open(struct sheet *s, const char *fast_path)
{
	s->layer = (struct terminal_layer){draw, s, fast_path, NULL};
	s->form = NULL;
	terminal_push(&s->layer);
}

void sheet_close(struct sheet *s)
{
	unmake(s);
	terminal_pop();
}

void sheet_take(struct sheet *s)
{
	const char *text;

	if (!s->form || !entry_is_typed(&s->entries[s->current]))
		return;
	hide_bracket(s);
	form_driver(s->form, REQ_VALIDATION);
	text = field_buffer(s->fields[s->current], 0);
	if (text)
		entry_set(&s->entries[s->current], text);
}

void sheet_update(struct sheet *s)
{
	/* What stands in the fields is older than the entries. */
	unmake(s);
	draw(s);
}

/* ---- Keys --------------------------------------------------------------- */

static void go_to(struct sheet *s, unsigned i)
{
	sheet_take(s);
	s->current = i;
	sheet_update(s);
}

/* true for a key that leads to another field. */
static bool move_between(struct sheet *s, int key)
{
	unsigned last = s->count - 1, page = (unsigned)s->page_rows;
	unsigned i = s->current;

	switch (key) {
	case TERMINAL_FUNCTION(KEY_UP):
		go_to(s, i > 0 ? i - 1 : last);
		return true;
	case TERMINAL_FUNCTION(KEY_DOWN):
		go_to(s, i < last ? i + 1 : 0);
		return true;
	case TERMINAL_FUNCTION(KEY_PPAGE):
		go_to(s, i > page ? i - page : 0);
		return true;
	case TERMINAL_FUNCTION(KEY_NPAGE):
		go_to(s, i + page < last ? i + page : last);
		return true;
	default:
		return false;
	}
}

static int request_of(int key)
{
	switch (key) {
	case TERMINAL_FUNCTION(KEY_LEFT):
		return REQ_PREV_CHAR;
	case TERMINAL_FUNCTION(KEY_RIGHT):
		return REQ_NEXT_CHAR;
	case TERMINAL_FUNCTION(KEY_HOME):
	case 'A' - '@':
		return REQ_BEG_LINE;
	case TERMINAL_FUNCTION(KEY_END):
	case 'E' - '@':
		return REQ_END_LINE;
	case TERMINAL_FUNCTION(KEY_BACKSPACE):
	case '\b':
	case 127:
		return REQ_DEL_PREV;
	case TERMINAL_FUNCTION(KEY_DC):
	case 'D' - '@':
		return REQ_DEL_CHAR;
	case 'K' - '@':
		return REQ_CLR_EOL;
	case 'U' - '@':
		return REQ_CLR_FIELD;
	default:
		return 0;
	}
}

static bool is_character(int key)
{
	return key >= ' ' && key != 127 && key < TERMINAL_FUNCTION(0);
}

bool sheet_can_take(const struct entry *e, int key)
{
	return !is_character(key) || entry_can_have(e, key);
}

bool sheet_type(FORM *form, int key)
{
	int request = request_of(key);
	bool is_text = is_character(key);

	if (is_text)
		form_driver_w(form, OK, (wchar_t)key);
	else if (request)
		form_driver(form, request);
	/* So that what was typed can be read from the field. */
	form_driver(form, REQ_VALIDATION);
	return is_text || request;
}

static void refuse(struct sheet *s)
{
	snprintf(s->why, sizeof(s->why), "Only a number can be typed here.");
	beep();
	sheet_take(s);
	sheet_update(s);
}

bool sheet_key(struct sheet *s, int key)
{
	bool is_typing;

	if (!s->form)
		return false;
	if (move_between(s, key))
		return true;
	if (!sheet_can_take(&s->entries[s->current], key)) {
		refuse(s);
		return true;
	}
	hide_bracket(s);
	is_typing = sheet_type(s->form, key);
	draw_row(s, s->current);
	place_cursor(s);
	return is_typing;
}
