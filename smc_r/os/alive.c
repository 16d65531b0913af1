/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * alive: reads /proc/<pid>/stat.
 */
#include "smc_r/os/alive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields after the name, which ends with the last ')' of the line. */
#define FIELD_STATE   3
#define FIELD_FLAGS   9
#define FIELD_THREADS 20
#define FIELD_START   22

#define FORK_NO_EXEC 0x40u /* PF_FORKNOEXEC of the kernel */

struct life {
	uint64_t start;
	bool executed; /* another program, since it was forked */
};

static int read_stat(pid_t pid, char *text, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return 0;
}

static const char *find_field(const char *text, int wanted)
{
	const char *at = strrchr(text, ')');
	int field;

	if (!at)
		return NULL;
	for (field = FIELD_STATE - 1; field < wanted; field++) {
		at = strchr(at, ' ');
		if (!at)
			return NULL;
		at++;
	}
	return at;
}

/* -ENOENT: no such file, so no such process or a hidden one. */
static int look_up(pid_t pid, struct life *out)
{
	const char *state, *flags, *threads, *start;
	char text[1024];
	int error = pid > 0 ? read_stat(pid, text, sizeof(text)) : -ESRCH;

	if (error)
		return error;
	state = find_field(text, FIELD_STATE);
	flags = find_field(text, FIELD_FLAGS);
	threads = find_field(text, FIELD_THREADS);
	start = find_field(text, FIELD_START);
	if (!state || !flags || !threads || !start)
		return -EPROTO;
	/* The first thread may end and stay a zombie while others work on. */
	if ((*state == 'Z' || *state == 'X') && strtoul(threads, NULL, 10) <= 1)
		return -ESRCH;
	out->start = strtoull(start, NULL, 10);
	out->executed = !(strtoul(flags, NULL, 10) & FORK_NO_EXEC);
	return 0;
}

static bool exists(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

int alive_start(pid_t pid, uint64_t *out)
{
	struct life now;
	int error = look_up(pid, &now);

	if (error == 0)
		*out = now.start;
	return error == -ENOENT ? -ESRCH : error;
}

static bool is_same(pid_t pid, uint64_t start, bool executes)
{
	struct life now;
	int error = look_up(pid, &now);

	if (error != 0)
		return error != -ESRCH && exists(pid);
	if (executes && now.executed)
		return false;
	/* One that did not know its own start, without /proc; or that is being
	 * forked. */
	return now.start == start || start >> 63;
}

bool alive_is_same(pid_t pid, uint64_t start)
{
	return is_same(pid, start, false);
}

bool alive_is_same_program(pid_t pid, uint64_t start)
{
	return is_same(pid, start, true);
}

bool alive_is_elder(pid_t pid, uint64_t start)
{
	struct life now;
	int error = look_up(pid, &now);

	if (error == 0)
		return now.start <= start;
	return error != -ESRCH && exists(pid);
}
