/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* terminal: the screen and the keys. */
#include "cmd/smit/terminal.h"

#include <errno.h>
#include <panel.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <term.h>
#include <unistd.h>
#include <wctype.h>

#include "cmd/smit/restore.h"

#define ESCAPE     27
#define CELL       20  /* columns of a key in the bar */
#define CELLS      4   /* in a row of it */
#define READS_MAX  100 /* of nothing, from a terminal that is gone */
#define TAB_WIDTH  8
#define TITLE_ROW  0
#define LABEL_SIZE 32

static struct {
	struct terminal_layer *top;
	WINDOW *keys; /* a pad: reading from it draws nothing */
	PANEL *too_small;
	bool has_function_keys;
	volatile sig_atomic_t has_new_size;
} terminal;

static void note_size(int signal_number)
{
	(void)signal_number;
	terminal.has_new_size = 1;
}

static bool can(const char *capability)
{
	const char *text = tigetstr(capability);

	return text && text != (const char *)-1 && text[0];
}

/* Where the terminal has one screen only, ours would stay on it. */
static void leave_screen(void)
{
	if (!can("rmcup")) {
		clear();
		refresh();
	}
	endwin();
}

static void end(void)
{
	restore_disarm();
	leave_screen();
}

/* ---- Beginning ---------------------------------------------------------- */

/* Without a word from curses, which would end the program. */
static int check_type(char *why, size_t size)
{
	const char *type = getenv("TERM");
	int found = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		snprintf(why, size,
			 "standard input and output must be a "
			 "terminal.");
		return -ENOTTY;
	}
	if (!type || !type[0] || setupterm(NULL, STDOUT_FILENO, &found) != OK) {
		snprintf(why, size,
			 "nothing is known of the terminal type \"%s\"; set "
			 "TERM to that of this terminal.",
			 type ? type : "");
		return -ENOTTY;
	}
	if (!can("cup") || !can("clear")) {
		snprintf(why, size,
			 "a terminal of type \"%s\" cannot move its cursor; "
			 "set TERM to that of this terminal, or type mkdev, "
			 "chdev, rmdev and entstat yourself.",
			 type);
		return -ENOTTY;
	}
	return 0;
}

/* Shown while the terminal is smaller than AIX's screens. */
static int make_too_small(void)
{
	WINDOW *window = newwin(0, 0, 0, 0);

	terminal.too_small = window ? new_panel(window) : NULL;
	if (!terminal.too_small)
		return -ENOMEM;
	hide_panel(terminal.too_small);
	return 0;
}

static void take_signals(void)
{
	struct sigaction action = {.sa_handler = note_size};
	sigset_t set;

	/* It comes in while we wait for keys, and at no other time. */
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGWINCH, &action, NULL);
}

int terminal_begin(char *why, size_t size)
{
	int error = check_type(why, size);

	if (error)
		return error;
	restore_remember();
	take_signals();
	if (!initscr()) {
		snprintf(why, size, "curses does not begin.");
		return -EIO;
	}
	atexit(end);
	restore_arm();
	cbreak();
	noecho();
	nonl();
	terminal.has_function_keys = can("kf10");
	terminal.keys = newpad(1, 1);
	if (!terminal.keys || make_too_small() != 0) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	keypad(terminal.keys, TRUE);
	nodelay(terminal.keys, TRUE);
	return 0;
}

/* ---- Layers ------------------------------------------------------------- */

static bool is_too_small(void)
{
	return COLS < TERMINAL_COLUMNS_MIN || LINES < TERMINAL_LINES_MIN;
}

static void draw_too_small(void)
{
	WINDOW *window = panel_window(terminal.too_small);

	wresize(window, LINES, COLS);
	werase(window);
	mvwprintw(window, 0, 0, "%dx%d is too small: at least %dx%d", COLS,
		  LINES, TERMINAL_COLUMNS_MIN, TERMINAL_LINES_MIN);
	show_panel(terminal.too_small);
	top_panel(terminal.too_small);
}

/* From the lowest one up, without recursion: the pile is short. */
static void draw_layers(void)
{
	struct terminal_layer *above = NULL;

	while (above != terminal.top) {
		struct terminal_layer *layer = terminal.top;

		while (layer->below != above)
			layer = layer->below;
		layer->draw(layer->owner);
		above = layer;
	}
}

void terminal_redraw(bool is_whole)
{
	if (is_whole)
		clearok(curscr, TRUE);
	if (is_too_small()) {
		draw_too_small();
		return;
	}
	hide_panel(terminal.too_small);
	draw_layers();
}

void terminal_push(struct terminal_layer *layer)
{
	layer->below = terminal.top;
	terminal.top = layer;
	if (is_too_small())
		draw_too_small();
	else
		layer->draw(layer->owner);
}

void terminal_pop(void)
{
	terminal.top = terminal.top->below;
	if (terminal.top)
		terminal_redraw(false);
}

const char *terminal_fast_path(void)
{
	const struct terminal_layer *layer = terminal.top;

	while (layer && !layer->fast_path)
		layer = layer->below;
	return layer ? layer->fast_path : "";
}

/* ---- Keys --------------------------------------------------------------- */

void terminal_show(void)
{
	touchwin(stdscr);
	update_panels();
	doupdate();
}

static void take_new_size(void)
{
	struct winsize size;

	terminal.has_new_size = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 ||
	    size.ws_col == 0)
		return;
	resizeterm(size.ws_row, size.ws_col);
	terminal_redraw(true);
}

/* Waits until a key may be there; false: the terminal is gone. */
static bool wait_for_input(void)
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	sigset_t set;
	int n;

	sigprocmask(SIG_SETMASK, NULL, &set);
	sigdelset(&set, SIGWINCH);
	terminal_show();
	n = ppoll(&input, 1, NULL, &set);
	if (terminal.has_new_size)
		take_new_size();
	return n < 0 || !(input.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static int next_key(void)
{
	int reads = 0;
	wint_t code;

	for (;;) {
		switch (wget_wch(terminal.keys, &code)) {
		case KEY_CODE_YES:
			if (code != KEY_RESIZE)
				return TERMINAL_FUNCTION((int)code);
			break;
		case OK:
			return (int)code;
		default:
			if (!wait_for_input() || ++reads > READS_MAX)
				exit(EXIT_FAILURE);
			break;
		}
	}
}

int terminal_key(void)
{
	for (;;) {
		int key = next_key();

		/* However long the digit takes: over a line it may be slow. */
		if (key == ESCAPE) {
			key = next_key();
			if (key >= '0' && key <= '9')
				key = TERMINAL_F(key == '0' ? 10 : key - '0');
		}
		if (key == TERMINAL_F(10) || !is_too_small())
			return key;
	}
}

/* ---- What is in every screen -------------------------------------------- */

int terminal_bar_row(unsigned count)
{
	return LINES - (int)((count + CELLS - 1) / CELLS);
}

void terminal_title(const char *title)
{
	int length = (int)strlen(title);

	attron(A_BOLD);
	mvaddnstr(TITLE_ROW, length < COLS ? (COLS - length) / 2 : 0, title,
		  COLS);
	attroff(A_BOLD);
}

void terminal_label(const struct terminal_label *label, char *out, size_t size)
{
	if (label->number == 0)
		snprintf(out, size, "Enter=%s", label->word);
	else if (label->number >= ' ')
		snprintf(out, size, "%c=%s", label->number, label->word);
	else if (terminal.has_function_keys)
		snprintf(out, size, "F%d=%s", label->number, label->word);
	else
		snprintf(out, size, "Esc+%d=%s", label->number % 10,
			 label->word);
}

void terminal_bar(const struct terminal_label *labels, unsigned count)
{
	int row = terminal_bar_row(count);

	for (unsigned i = 0; i < count; i++) {
		char text[LABEL_SIZE];

		terminal_label(&labels[i], text, sizeof(text));
		mvaddnstr(row + (int)(i / CELLS), (int)(i % CELLS) * CELL, text,
			  CELL - 1);
	}
}

char *terminal_image(void)
{
	char *image = NULL;
	size_t length;
	FILE *file = open_memstream(&image, &length);

	if (!file)
		return NULL;
	for (int row = 0; row < LINES; row++) {
		char line[2048];
		int n = mvwinnstr(curscr, row, 0, line, (int)sizeof(line) - 1);

		while (n > 0 && line[n - 1] == ' ')
			n--;
		fprintf(file, "%.*s\n", n > 0 ? n : 0, line);
	}
	return fclose(file) == 0 ? image : NULL;
}

/* ---- Others at the terminal --------------------------------------------- */

static void become_shell(void)
{
	static const int ours[] = {SIGINT, SIGQUIT, SIGTERM,
				   SIGHUP, SIGTSTP, SIGWINCH};
	const char *shell = getenv("SHELL");
	sigset_t none;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (shell && shell[0] == '/')
		execl(shell, shell, (char *)NULL);
	execl("/bin/sh", "sh", (char *)NULL);
	_exit(127);
}

void terminal_shell(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int, old_quit;
	pid_t child;

	def_prog_mode();
	leave_screen();
	printf("Type exit to go back to smit.\n");
	fflush(stdout);
	sigaction(SIGINT, &ignore, &old_int);
	sigaction(SIGQUIT, &ignore, &old_quit);
	child = fork();
	if (child == 0)
		become_shell();
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
	reset_prog_mode();
	take_new_size();
	terminal_redraw(true);
}

/* ---- Text --------------------------------------------------------------- */

static void clean_character(FILE *file, const char *bytes, size_t length,
			    wchar_t character, size_t *column)
{
	if (character == L'\n') {
		fputc('\n', file);
		*column = 0;
		return;
	}
	if (character == L'\t') {
		do
			fputc(' ', file);
		while (++*column % TAB_WIDTH != 0);
		return;
	}
	if (character == L'\r')
		return;
	if (iswprint((wint_t)character))
		fwrite(bytes, 1, length, file);
	else
		fputc('?', file);
	++*column;
}

char *terminal_clean(const char *text, size_t length)
{
	char *out = NULL;
	size_t size, column = 0;
	FILE *file = open_memstream(&out, &size);
	mbstate_t state = {0};

	if (!file)
		return NULL;
	for (size_t i = 0; i < length;) {
		wchar_t character = L'\0';
		size_t n = mbrtowc(&character, text + i, length - i, &state);

		if (n == 0 || n == (size_t)-1 || n == (size_t)-2) {
			memset(&state, 0, sizeof(state));
			character = L'\0';
			n = 1;
		}
		clean_character(file, text + i, n, character, &column);
		i += n;
	}
	return fclose(file) == 0 ? out : NULL;
}
