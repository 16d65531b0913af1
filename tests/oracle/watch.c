/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * watch: what /proc tells about a thread or a process.
 */
#include "watch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "actor.h"

static bool slurp(char *text, size_t size, pid_t tid, const char *file)
{
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, file);
	f = fopen(path, "r");
	if (!f)
		return false;
	n = fread(text, 1, size - 1, f);
	fclose(f);
	text[n] = 0;
	return true;
}

bool thread_asleep(pid_t tid, unsigned long *switches)
{
	char text[4096], *at;
	long number = -1;
	unsigned long first = 0;

	if (!slurp(text, sizeof(text), tid, "syscall"))
		return false;
	if (sscanf(text, "%ld %lx", &number, &first) < 1 || number < 0)
		return false;
	if (number == SYS_read && first >= ACTOR_PIPE_BASE &&
	    first < ACTOR_PIPE_BASE + 2 * ACTOR_TASKS)
		return false;
	if (!slurp(text, sizeof(text), tid, "status"))
		return false;
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	*switches = at ? strtoul(at + 25, NULL, 10) : 0;
	at = strstr(text, "\nState:");
	return at && strchr("SDtT", at[8]);
}

/* How many threads there still are; a thread that is gone has let go of all. */
static int thread_count(pid_t pid)
{
	char path[64];
	int count = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return 0;
	for (const struct dirent *e = readdir(d); e; e = readdir(d))
		count += e->d_name[0] != '.';
	closedir(d);
	return count;
}

bool process_stopped(pid_t pid)
{
	char path[64], text[4096], *state;
	bool all = true;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return false;
	for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
		if (e->d_name[0] == '.' ||
		    !slurp(text, sizeof(text), atoi(e->d_name), "stat"))
			continue;
		state = strrchr(text, ')');
		all &= state && state[2] == 'T';
	}
	closedir(d);
	return all;
}

bool process_gone(pid_t pid)
{
	char text[4096], *state;

	if (!slurp(text, sizeof(text), pid, "stat"))
		return true;
	state = strrchr(text, ')');
	if (state && state[2] != 'Z' && state[2] != 'X')
		return false;
	return thread_count(pid) <= 1;
}
