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
 *   parting full COUNT    reads, asleep, in a process that has all descriptors
 *			   that it may have; the other thread shuts the
 *			   connection for reading: that is the end of file, at
 *			   once
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "socket_helpers.h"

#define MUCH     (8u << 20)
#define FILES    256
#define LATE_MS  1000
#define PATIENCE 6

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

/* What the kernel says of its system call; -1: it is in none. */
static long call_of(int file)
{
	char text[64] = "";

	if (pread(file, text, sizeof(text) - 1, 0) <= 0 ||
	    !strncmp(text, "running", 7))
		return -1;
	return strtol(text, NULL, 10);
}

static int open_call(const struct part *p)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", p->tid);
	return open(path, O_RDONLY);
}

/* Looks at its system call: it may nap elsewhere, too. */
static bool sleeps(int file)
{
	long number = call_of(file);

	return number == SYS_read || number == SYS_recvfrom ||
	       number == SYS_sendto || number == SYS_ppoll ||
	       number == SYS_vmsplice || number == SYS_poll;
}

static void await_sleep(const struct part *p)
{
	int file;

	while (!p->tid)
		nap_us(100);
	file = open_call(p);
	check(file >= 0, "what it calls");
	while (!sleeps(file))
		nap_us(100);
	close(file);
}

static void part(bool writes, char *bytes, uint64_t *state)
{
	struct part p = {.bytes = bytes};
	pthread_t thread;
	int ends[2];
	char c;

	helper_pair(ends);
	send_all(ends[1], "x", 1);
	check(recv(ends[0], &c, 1, 0) == 1, "a byte");
	if (!writes && dice(state, 2))
		send_all(ends[0], "unread", 6);
	p.fd = ends[0];
	check(!pthread_create(&thread, NULL, writes ? writer : reader, &p),
	      "a thread");
	await_sleep(&p);
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

/* Every number below the limit is in use then. By a call that the library
 * answers, connections would go to TCP for it. */
static int take_all(int *files)
{
	int n = 0;

	while (n < FILES && (files[n] = (int)syscall(SYS_openat, AT_FDCWD, "/",
						     O_RDONLY)) >= 0)
		n++;
	check(n < FILES && errno == EMFILE, "all descriptors");
	return n;
}

static void part_full(char *bytes)
{
	struct part p = {.bytes = bytes};
	int files[FILES], ends[2], n;
	pthread_t thread;
	int64_t begin;
	char c;

	helper_pair(ends);
	send_all(ends[1], "x", 1);
	check(recv(ends[0], &c, 1, 0) == 1, "a byte");
	p.fd = ends[0];
	check(!pthread_create(&thread, NULL, reader, &p), "a thread");
	await_sleep(&p);
	n = take_all(files);
	begin = clock_ms();
	check(!shutdown(ends[0], SHUT_RD), "shutdown");
	pthread_join(thread, NULL);
	check(clock_ms() - begin < LATE_MS, "at once");
	check(p.result == 0, "the end of file");
	while (n > 0)
		close(files[--n]);
	close(ends[0]);
	close(ends[1]);
	progress();
}

static void limit_files(void)
{
	struct rlimit limit = {FILES, FILES};

	check(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

int main(int argc, char **argv)
{
	char *bytes = calloc(1, MUCH);
	uint64_t state = 1;
	bool writes = argc == 3 && !strcmp(argv[1], "write");
	bool full = argc == 3 && !strcmp(argv[1], "full");

	if (argc != 3 || (!writes && !full && strcmp(argv[1], "read") != 0))
		return 2;
	watchdog_start(full ? PATIENCE : 20);
	if (full)
		limit_files();
	for (int i = atoi(argv[2]); i > 0; i--)
		if (full)
			part_full(bytes);
		else
			part(writes, bytes, &state);
	free(bytes);
	return 0;
}
