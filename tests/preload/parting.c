/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * parting: what one thread does to a descriptor, as another one is in a call on
 * it.
 *
 *   parting read COUNT	   reads, asleep; the other thread shuts the connection
 *			   and closes it: that is the end of file, and nothing
 *			   else, whether or not the peer has read everything
 *   parting write COUNT   writes, asleep; the same: all that it can be told is
 *			   how much was written, or that the pipe is broken
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "duct.h"

#define MUCH (8u << 20)

struct part {
	int fd;
	_Atomic int tid;
	char *bytes;
	ssize_t result;
	int error;
};

static void *reader(void *of)
{
	struct part *p = of;

	p->tid = (int)syscall(SYS_gettid);
	p->result = recv(p->fd, p->bytes, 100, 0);
	p->error = errno;
	return NULL;
}

static void *writer(void *of)
{
	struct part *p = of;

	p->tid = (int)syscall(SYS_gettid);
	p->result = send(p->fd, p->bytes, MUCH, MSG_NOSIGNAL);
	p->error = errno;
	return NULL;
}

/* By its system call: it may nap elsewhere, too. */
static bool sleeps(const struct part *p)
{
	char path[64], text[64] = "";
	long number = -1;
	FILE *f;

	if (!p->tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", p->tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fgets(text, sizeof(text), f) && strncmp(text, "running", 7) != 0)
		number = strtol(text, NULL, 10);
	fclose(f);
	return number == SYS_read || number == SYS_recvfrom ||
	       number == SYS_sendto || number == SYS_ppoll ||
	       number == SYS_vmsplice || number == SYS_poll;
}

static void part(bool writes, char *bytes, uint64_t *state)
{
	struct part p = {.bytes = bytes};
	pthread_t thread;
	int ends[2];
	char c;

	duct_pair(ends);
	send_all(ends[1], "x", 1);
	check(recv(ends[0], &c, 1, 0) == 1, "a byte");
	if (!writes && dice(state, 2))
		send_all(ends[0], "unread", 6);
	p.fd = ends[0];
	check(!pthread_create(&thread, NULL, writes ? writer : reader, &p),
	      "a thread");
	while (!sleeps(&p))
		nap_us(100);
	check(!shutdown(ends[0], SHUT_RDWR), "shutdown");
	/* Anywhere in what the other thread does when it was woken. */
	nap_us(dice(state, 150));
	check(!close(ends[0]), "close");
	pthread_join(thread, NULL);
	if (writes)
		check(p.result > 0 || (p.result < 0 && p.error == EPIPE),
		      "how much was written");
	else
		check(p.result == 0, "the end of file");
	close(ends[1]);
	progress();
}

int main(int argc, char **argv)
{
	char *bytes = calloc(1, MUCH);
	uint64_t state = 1;
	bool writes = argc == 3 && !strcmp(argv[1], "write");

	if (argc != 3 || (!writes && strcmp(argv[1], "read") != 0))
		return 2;
	watchdog_start(20);
	for (int i = atoi(argv[2]); i > 0; i--)
		part(writes, bytes, &state);
	free(bytes);
	return 0;
}
