/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* outcome: the screen COMMAND STATUS. */
#include "cmd/smit/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/smit/journal.h"
#include "cmd/smit/popup.h"
#include "cmd/smit/shell.h"

#define FIRST_ROW    6
#define PATTERN_SIZE 64

struct view {
	struct terminal_layer layer;
	const char *command, *state;
	struct shell_result result;
	char *text;   /* as it can be shown */
	char **lines; /* into text */
	int count, top;
	bool follows; /* shows the end */
	char pattern[PATTERN_SIZE];
};

static const struct terminal_label labels[] = {
    {1, "Help"},    {2, "Refresh"}, {3, "Cancel"},
    {6, "Command"}, {8, "Image"},   {9, "Shell"},
    {10, "Exit"},   {'/', "Find"},  {'n', "Find Next"}};

#define LABELS (sizeof(labels) / sizeof(labels[0]))

static int rows_of_text(void)
{
	return terminal_bar_row(LABELS) - FIRST_ROW - 2;
}

/* ---- Lines -------------------------------------------------------------- */

static void cut_lines(struct view *v, const char *bytes, size_t length)
{
	int count = 1;

	free(v->text);
	free(v->lines);
	v->count = 0;
	v->text = terminal_clean(bytes, length);
	for (const char *c = v->text; c && *c; c++)
		count += *c == '\n';
	v->lines = v->text ? calloc((size_t)count, sizeof(*v->lines)) : NULL;
	for (char *next = v->text; v->lines && next && *next;)
		v->lines[v->count++] = strsep(&next, "\n");
}

static void draw(void *owner)
{
	struct view *v = owner;
	int rows = rows_of_text(), last = v->count - rows;

	if (v->top > last || v->follows)
		v->top = last;
	if (v->top < 0)
		v->top = 0;
	erase();
	curs_set(0);
	terminal_title("COMMAND STATUS");
	mvprintw(2, 0, "Command: %-14sstdout: %-14sstderr: %s", v->state,
		 v->result.out.length ? "yes" : "no",
		 v->result.err.length ? "yes" : "no");
	mvaddstr(4, 0,
		 "Before command completion, additional instructions may "
		 "appear below.");
	if (v->count > rows)
		mvaddstr(FIRST_ROW - 1, 0, v->top ? "[MORE ABOVE]" : "[TOP]");
	for (int i = 0; i < rows && v->top + i < v->count; i++)
		mvaddnstr(FIRST_ROW + i, 0, v->lines[v->top + i], COLS);
	if (v->count > rows && v->top < last)
		mvprintw(FIRST_ROW + rows, 0, "[MORE...%d]", last - v->top);
	else if (v->count > rows)
		mvaddstr(FIRST_ROW + rows, 0, "[BOTTOM]");
	terminal_bar(labels, LABELS);
}

static void progress(void *owner)
{
	struct view *v = owner;

	cut_lines(v, v->result.both.bytes, v->result.both.length);
	terminal_redraw(false);
	terminal_show();
}

/* ---- Keys --------------------------------------------------------------- */

static void find_next(struct view *v)
{
	for (int i = 1; v->pattern[0] && i <= v->count; i++) {
		int line = (v->top + i) % v->count;

		if (strstr(v->lines[line], v->pattern)) {
			v->top = line;
			return;
		}
	}
	beep();
}

static void find(struct view *v)
{
	size_t n = 0;
	int key = 0;

	while (key != '\r' && key != '\n') {
		mvprintw(FIRST_ROW - 1, 0, "Find: %.*s_ ", (int)n, v->pattern);
		key = terminal_key();
		if (key == TERMINAL_F(3)) {
			n = 0;
			break;
		}
		if (key == TERMINAL_FUNCTION(KEY_BACKSPACE) || key == 127 ||
		    key == '\b')
			n -= n > 0;
		else if (key >= ' ' && key < 127 && n + 1 < PATTERN_SIZE)
			v->pattern[n++] = (char)key;
	}
	v->pattern[n] = '\0';
	if (n > 0)
		find_next(v);
}

/* true for a key that moves the text. */
static bool move_text(struct view *v, int key)
{
	switch (key) {
	case TERMINAL_FUNCTION(KEY_UP):
		v->top--;
		break;
	case TERMINAL_FUNCTION(KEY_DOWN):
		v->top++;
		break;
	case TERMINAL_FUNCTION(KEY_PPAGE):
		v->top -= rows_of_text();
		break;
	case TERMINAL_FUNCTION(KEY_NPAGE):
	case ' ':
		v->top += rows_of_text();
		break;
	case TERMINAL_FUNCTION(KEY_HOME):
		v->top = 0;
		break;
	case TERMINAL_FUNCTION(KEY_END):
		v->top = v->count;
		break;
	default:
		return false;
	}
	return true;
}

static void read_keys(struct view *v)
{
	int key;

	while ((key = popup_key()) != TERMINAL_F(3) && key != '\r' &&
	       key != '\n') {
		if (key == TERMINAL_F(6))
			popup_message(" SHOW COMMAND ", v->command);
		else if (key == TERMINAL_F(1))
			popup_message(" HELP ",
				      "What the command printed. The arrows "
				      "move it; F3 and Enter go back.");
		else if (key == '/')
			find(v);
		else if (key == 'n')
			find_next(v);
		else if (!move_text(v, key))
			beep();
		terminal_redraw(false);
	}
}

/* ---- Running ------------------------------------------------------------ */

static void note_end(const struct shell_result *r)
{
	int status = r->status;

	journal_text("---- end ----\n", 14);
	journal_note("The command ended with %s %d.",
		     WIFSIGNALED(status) ? "signal" : "status",
		     WIFSIGNALED(status) ? WTERMSIG(status)
					 : WEXITSTATUS(status));
}

static enum outcome run(struct view *v)
{
	int error;

	journal_text("---- start ----\n", 16);
	error = shell_run(v->command, &v->result, progress, v);
	journal_text(v->result.both.bytes, v->result.both.length);
	if (error) {
		cut_lines(v, strerror(-error), strlen(strerror(-error)));
		return OUTCOME_FAILED;
	}
	note_end(&v->result);
	cut_lines(v, v->result.both.bytes, v->result.both.length);
	return shell_is_done(&v->result) ? OUTCOME_DONE : OUTCOME_FAILED;
}

static enum outcome log_only(struct view *v)
{
	char *text = NULL;
	int n =
	    asprintf(&text, "Not run, as -x says; it is in the script:\n\n%s",
		     v->command);

	if (n >= 0)
		cut_lines(v, text, (size_t)n);
	free(text);
	return OUTCOME_NOT_RUN;
}

enum outcome outcome_show(const char *command, bool is_run, char *errors,
			  size_t size)
{
	static const char *const states[] = {
	    [OUTCOME_DONE] = "OK",
	    [OUTCOME_FAILED] = "failed",
	    [OUTCOME_NOT_RUN] = "not run",
	};
	struct view v = {.command = command, .state = "running"};
	enum outcome outcome;

	v.layer = (struct terminal_layer){draw, &v, NULL, NULL};
	v.follows = true;
	journal_note("Command:\n%s", command);
	journal_command(command);
	terminal_push(&v.layer);
	terminal_show();
	outcome = is_run ? run(&v) : log_only(&v);
	v.state = states[outcome];
	v.follows = false;
	v.top = 0;
	snprintf(errors, size, "%s",
		 v.result.err.bytes ? v.result.err.bytes : "");
	terminal_redraw(false);
	read_keys(&v);
	free(v.text);
	free(v.lines);
	shell_fini(&v.result);
	terminal_pop();
	return outcome;
}
