/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wide: selects up to getdtablesize(), with sets of the ordinary size, as many
 * old programs do; and with larger ones.
 */
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include "socket_helpers.h"

#define WIDE 4096 /* descriptors, of a limit above FD_SETSIZE */
#define HIGH 3001

/* There is room in `set` alone for FD_SETSIZE of them. */
struct wide {
	fd_set set;
	unsigned char behind[WIDE / 8];
};

/* This one is ready, and nothing changes behind the set. */
static void select_beyond(int fd, bool masked)
{
	const struct timespec limit = {10, 0};
	struct timeval t = {10, 0};
	struct wide w;
	int ready;

	memset(&w, 0xff, sizeof(w));
	FD_ZERO(&w.set);
	FD_SET(fd, &w.set);
	ready = masked
		    ? pselect(getdtablesize(), &w.set, NULL, NULL, &limit, NULL)
		    : select(getdtablesize(), &w.set, NULL, NULL, &t);
	check(ready == 1 && FD_ISSET(fd, &w.set), "select");
	for (size_t i = 0; i < sizeof(w.behind); i++)
		check(w.behind[i] == 0xff, "what lies behind a set");
}

/* A program that does have so many brings larger sets. */
static void select_large(int fd)
{
	struct wide w = {.behind = {0}};
	unsigned char *byte = (unsigned char *)&w + HIGH / 8;

	check(dup2(fd, HIGH) == HIGH, "dup2");
	FD_ZERO(&w.set);
	*byte = 1 << HIGH % 8;
	check(select(HIGH + 1, &w.set, NULL, NULL, NULL) == 1 &&
		  *byte == 1 << HIGH % 8,
	      "select of a high number");
	close(HIGH);
}

int main(void)
{
	const struct rlimit limit = {WIDE, WIDE};
	int fds[2], ends[2];

	watchdog_start(20);
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit");
	helper_pair(fds);
	check(pipe(ends) == 0, "a pipe");
	send_all(fds[0], "x", 1);
	check(write(ends[1], "x", 1) == 1, "write");
	for (int masked = 0; masked < 2; masked++) {
		select_beyond(fds[1], masked);
		select_beyond(ends[0], masked);
	}
	select_large(fds[1]);
	select_large(ends[0]);
	return 0;
}
