/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stopped: a program that is stopped in a poll() until its time-out is over.
 * That time goes on meanwhile, so the poll ends when the program goes on.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define TIME_OUT_MS 2500
#define SOON_MS     1800 /* less than what was left when it was stopped */

/* It is nowhere asleep but in poll(). Several looks, as it may wait for a page
 * before. */
static void await_sleep(pid_t pid)
{
	char path[32], line[512];
	int looks = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (looks < 5) {
		FILE *f = fopen(path, "r");
		const char *end;

		check(f && fgets(line, sizeof(line), f), path);
		fclose(f);
		end = strrchr(line, ')');
		looks = end && end[2] == 'S' ? looks + 1 : 0;
		nap_us(5000);
	}
}

/* When it went on is told. */
static void stop_parent(int told)
{
	pid_t parent = getppid();
	int64_t now;

	await_sleep(parent);
	kill(parent, SIGSTOP);
	nap_us(TIME_OUT_MS * 1100);
	now = clock_ms();
	check(write(told, &now, sizeof(now)) == sizeof(now), "write");
	kill(parent, SIGCONT);
	_exit(0);
}

int main(void)
{
	int ends[2], told[2];
	struct pollfd p = {.events = POLLIN};
	int64_t now, went_on;
	char byte = 0;

	watchdog_start(20);
	helper_pair(ends);
	send_all(ends[0], &byte, 1);
	check(recv_all(ends[1], &byte, 1) == 1, "recv");
	check(!pipe(told), "pipe");
	if (fork() == 0)
		stop_parent(told[1]);
	p.fd = ends[0];
	check(poll(&p, 1, TIME_OUT_MS) == 0, "the time-out");
	now = clock_ms();
	check(read(told[0], &went_on, sizeof(went_on)) == sizeof(went_on),
	      "read");
	check(now - went_on < SOON_MS, "not after the time-out");
	check(wait(NULL) > 0, "wait");
	return 0;
}
