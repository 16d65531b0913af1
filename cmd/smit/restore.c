/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* restore: gives the terminal back when a signal ends this program. */
#include "cmd/smit/restore.h"

#include <ctype.h>
#include <curses.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* Those that end a program: sent by others, and its own faults. */
static const int ending[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGALRM,
			     SIGPIPE, SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,
			     SIGABRT, SIGUSR1, SIGUSR2, SIGXCPU};

static struct {
	struct termios modes;
	bool has_modes;
	volatile sig_atomic_t is_armed;
	char text[512]; /* what brings the screen back */
	size_t length;
} kept;

/* Without its padding, as in $<20/>: nothing waits in a signal handler. */
static bool keep(const char *name)
{
	const char *text = tigetstr(name);

	if (!text || text == (const char *)-1)
		return false;
	while (*text && kept.length + 1 < sizeof(kept.text)) {
		const char *close = strchr(text, '>');

		if (text[0] == '$' && text[1] == '<' && close)
			text = close + 1;
		else
			kept.text[kept.length++] = *text++;
	}
	return true;
}

static void end(int signal_number)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t set;

	if (kept.is_armed) {
		kept.is_armed = 0;
		if (write(STDOUT_FILENO, kept.text, kept.length) < 0)
			kept.length = 0;
		if (kept.has_modes)
			tcsetattr(STDIN_FILENO, TCSADRAIN, &kept.modes);
	}
	sigaction(signal_number, &usual, NULL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signal_number);
}

void restore_remember(void)
{
	kept.has_modes = tcgetattr(STDIN_FILENO, &kept.modes) == 0;
}

void restore_arm(void)
{
	/* Last line, attributes, keypad, cursor, the screen that was there. */
	static const char *const names[] = {"sgr0", "rmkx", "cnorm"};
	struct sigaction action = {.sa_handler = end};
	struct sigaction old;

	kept.length = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		keep(names[i]);
	if (!keep("rmcup"))
		keep("clear");
	kept.text[kept.length++] = '\n';
	kept.is_armed = 1;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		/* What the caller ignores (nohup) stays ignored. */
		if (sigaction(ending[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
	}
}

void restore_disarm(void)
{
	kept.is_armed = 0;
}
