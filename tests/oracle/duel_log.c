/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_log: what a side writes down, what interrupts it, and whether a thread
 * of it sleeps.
 */
#include "duel.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define GUARD_MS 450

static char text[16384];
static size_t used;
volatile int alarms;
static volatile int signals[65];

void say(struct game *g, const char *format, ...)
{
	va_list args;

	if (!used)
		used = (size_t)snprintf(text, sizeof(text), "%d.%d%s %c ",
					g->move, g->phase, g->child ? "c" : "",
					'A' + g->side);
	va_start(args, format);
	used +=
	    (size_t)vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	if (used >= sizeof(text))
		used = sizeof(text) - 1;
}

void say_result(struct game *g, long ret)
{
	int error = errno;

	say(g, " = %ld", ret);
	if (ret < 0)
		say(g, " %s", strerrorname_np(error));
}

void say_end(struct game *g)
{
	for (int s = 1; s < 65; s++)
		if (signals[s] && s != SIGUSR1) {
			say(g, " SIG%s*%d", sigabbrev_np(s), signals[s]);
			signals[s] = 0;
		}
	say(g, "\n");
	if (write(FD_LOG, text, used) != (ssize_t)used)
		_exit(3);
	used = 0;
}

bool has_said(void)
{
	return used > 0;
}

static void on_signal(int number)
{
	if (number == SIGALRM)
		alarms++;
	else if (number < 65)
		signals[number]++;
}

static void guard_every(long ms)
{
	struct itimerval t = {{0, ms ? 50000 : 0}, {0, ms * 1000}};

	setitimer(ITIMER_REAL, &t, NULL);
}

void guard_set(void)
{
	alarms = 0;
	guard_every(GUARD_MS);
}

void guard_end(void)
{
	int error = errno;

	guard_every(0);
	errno = error;
}

void signals_catch(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_flags = SA_RESTART;
	sigaction(SIGPIPE, &a, NULL);
	sigaction(SIGURG, &a, NULL);
	sigaction(SIGIO, &a, NULL);
}

bool thread_rests(pid_t tid, const volatile bool *over)
{
	char path[64], line[512];
	int same = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	for (int i = 0; i < 2000 && same < 6 && !*over; i++) {
		FILE *f = fopen(path, "r");
		const char *state = f && fgets(line, sizeof(line), f)
					? strrchr(line, ')')
					: NULL;

		same = state && state[2] == 'S' ? same + 1 : 0;
		if (f)
			fclose(f);
		usleep(1000);
	}
	return !*over;
}
