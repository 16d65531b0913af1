/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * demote: two processes stream checked bytes both ways over one connection
 * while things are done to it, at random moments, that no ring can follow and
 * that send it back to TCP in mid-stream. Not a byte may be lost or doubled.
 *
 *   demote SEED [KILOBYTES]
 *
 * The seed chooses what is done, when and at which end, how each side reads
 * and writes, and whether a side is now and then busy or stopped meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define STILL_SECONDS 20
#define CHUNK_MAX     20000

extern char **environ;

enum part {
	QUIET,
	STAYS,
	LEAVES
};

struct side {
	enum part part;
	_Atomic int fd;   /* the descriptor to use now; changes when passed */
	uint32_t out, in; /* seeds of the two streams */
	uint64_t size;    /* bytes of each stream */
	uint64_t random;
	bool nonblocking, lazy;
	const char *name;
	_Atomic uint64_t sent, received;
	_Atomic bool ended;
};

/* Through an AF_UNIX socket to itself: the new descriptor is used from now. */
static void pass_to_self(struct side *s)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 'x';
	struct iovec part = {&byte, 1};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	int pair[2], fd = s->fd;

	memset(&control, 0, sizeof(control));
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	check(sendmsg(pair[0], &m, 0) == 1, "pass");
	check(recvmsg(pair[1], &m, 0) == 1, "receive");
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	/* The old one stays open: another thread may be asleep on it. */
	s->fd = fd;
	close(pair[0]);
	close(pair[1]);
}

/* A child that inherits the connection and does nothing with it. */
static void spawn_heir(struct side *s)
{
	char *argv[] = {(char[]){"true"}, NULL};
	pid_t pid;

	(void)s;
	if (!posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
		waitpid(pid, NULL, 0);
}

static void fork_and_exec(struct side *s)
{
	pid_t pid = fork();

	(void)s;
	if (!pid) {
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/* A child that shares it for a while and dies without a word. */
static void fork_and_die(struct side *s)
{
	pid_t pid = fork();

	if (!pid) {
		struct pollfd p = {s->fd, POLLIN, 0};

		poll(&p, 1, 5);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

static void open_stream(struct side *s)
{
	int copy = dup(s->fd);
	FILE *f = fdopen(copy, "r+");

	check(f != NULL, "fdopen");
	fclose(f);
}

static void ask_signals(struct side *s)
{
	fcntl(s->fd, F_SETOWN, getpid());
	fcntl(s->fd, F_SETSIG, SIGURG);
	fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) | O_ASYNC);
	fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) & ~O_ASYNC);
}

static void unknown_control(struct side *s)
{
	char nothing[256] = "";

	ioctl(s->fd, 0x89ff, nothing);
	fcntl(s->fd, 1077, 0);
}

/* Lets everything through. */
static void filter_packets(struct side *s)
{
	struct sock_filter all = {BPF_RET | BPF_K, 0, 0, UINT32_MAX};
	struct sock_fprog program = {1, &all};

	setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		   sizeof(program));
}

#define TRIGGER(name)                                                          \
	{                                                                      \
#name, name                                                    \
	}

struct trigger {
	const char *name;
	void (*run)(struct side *s);
};

/* After these the process goes on with the connection itself. */
static const struct trigger stays[] = {
    TRIGGER(ask_signals),
    TRIGGER(unknown_control),
    TRIGGER(filter_packets),
    TRIGGER(fork_and_die),
};

/* After these somebody without the engine may go on with it. When both ends do
 * that at once a relay may take the place of the socket, which threads that
 * are in a call do not follow; so here only one end does. */
static const struct trigger leaves[] = {
    TRIGGER(pass_to_self), TRIGGER(spawn_heir),   TRIGGER(fork_and_exec),
    TRIGGER(open_stream),  TRIGGER(fork_and_die),
};

static const struct trigger *pick(const struct side *s, uint64_t *random)
{
	switch (s->part) {
	case STAYS:
		return &stays[dice(random, sizeof(stays) / sizeof(*stays))];
	case LEAVES:
		return &leaves[dice(random, sizeof(leaves) / sizeof(*leaves))];
	case QUIET:
		break;
	}
	return NULL;
}

static void set_nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void *stream_send(void *argument)
{
	struct side *s = argument;
	uint64_t random = s->random + 1;
	static _Thread_local unsigned char bytes[CHUNK_MAX];

	while (s->sent < s->size) {
		size_t n = 1 + dice(&random, CHUNK_MAX);

		if (n > s->size - s->sent)
			n = s->size - s->sent;
		bytes_fill(bytes, n, s->out, s->sent);
		send_all(s->fd, bytes, n);
		s->sent += n;
		if (s->lazy && !dice(&random, 8))
			nap_us(1000);
	}
	return NULL;
}

static void *stream_receive(void *argument)
{
	struct side *s = argument;
	uint64_t random = s->random + 2;
	static _Thread_local unsigned char bytes[CHUNK_MAX];
	size_t wrong = 0;

	while (s->received < s->size) {
		size_t n = 1 + dice(&random, CHUNK_MAX), got;
		char text[128];

		if (n > s->size - s->received)
			n = s->size - s->received;
		got = recv_all(s->fd, bytes, n);
		if (!bytes_match(bytes, got, s->in, s->received, &wrong)) {
			snprintf(text, sizeof(text), "wrong byte at %lu",
				 s->received + wrong);
			check(false, text);
		}
		s->received += got;
		check(got == n, "the stream ended early");
		if (s->lazy && !dice(&random, 8))
			nap_us(1000);
	}
	return NULL;
}

/* One to three triggers, at positions of the streams or after a time. */
static void *disturb(void *argument)
{
	struct side *s = argument;
	uint64_t random = s->random + 3;
	int count = 1 + (int)dice(&random, 3);

	while (count-- > 0 && s->part != QUIET && !s->ended) {
		uint64_t at = dice(&random, (uint32_t)s->size);
		const struct trigger *t = pick(s, &random);
		bool sending = dice(&random, 2);

		while (!s->ended && (sending ? s->sent : s->received) < at)
			nap_us(200);
		printf("%s: %s at %lu sent, %lu received\n", s->name, t->name,
		       s->sent, s->received);
		t->run(s);
	}
	return NULL;
}

static void side_run(struct side *s)
{
	pthread_t threads[3];

	watchdog_start(STILL_SECONDS);
	signal(SIGURG, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	if (s->nonblocking)
		set_nonblocking(s->fd);
	check(!pthread_create(&threads[0], NULL, stream_send, s), "thread");
	check(!pthread_create(&threads[1], NULL, stream_receive, s), "thread");
	check(!pthread_create(&threads[2], NULL, disturb, s), "thread");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	s->ended = true;
	pthread_join(threads[2], NULL);
	shutdown(s->fd, SHUT_WR);
	check(recv(s->fd, &(char){0}, 1, MSG_WAITALL) <= 0, "more bytes");
}

static void side_make(struct side *s, uint64_t *random, bool first,
		      uint64_t size)
{
	memset(s, 0, sizeof(*s));
	s->size = size;
	s->name = first ? "server" : "client";
	s->out = first ? 1 : 2;
	s->in = first ? 2 : 1;
	s->random = (uint64_t)dice(random, 1u << 30) << 8;
	s->nonblocking = dice(random, 3) == 0;
	s->lazy = dice(random, 3) == 0;
}

/* Stops one of the two for a moment now and then. */
static int supervise(pid_t *pids, uint64_t random)
{
	bool stops = dice(&random, 3) == 0;
	int status, failed = 0, left = 2;

	while (left) {
		pid_t ended = waitpid(-1, &status, WNOHANG);

		if (ended > 0) {
			left--;
			failed |= status != 0;
			pids[ended == pids[1]] = 0;
			continue;
		}
		nap_us(3000);
		if (stops && !dice(&random, 8)) {
			pid_t victim = pids[dice(&random, 2)];

			if (!victim)
				continue;
			kill(victim, SIGSTOP);
			nap_us(20000);
			kill(victim, SIGCONT);
		}
	}
	return failed;
}

int main(int argc, char **argv)
{
	uint64_t random, size;
	struct side sides[2];
	int port, listener;
	pid_t pids[2];

	if (argc < 2)
		return 2;
	random = strtoul(argv[1], NULL, 10) * 7919 + 1;
	size = 1000 * (argc > 2 ? strtoul(argv[2], NULL, 10) : 1500);
	size += dice(&random, 100000);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < 2; i++)
		side_make(&sides[i], &random, !i, size);
	if (dice(&random, 2))
		sides[0].part = sides[1].part = STAYS;
	else
		sides[dice(&random, 2)].part = LEAVES;
	listener = helper_listen(&port);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		sides[i].fd =
		    i ? helper_connect(port) : accept(listener, NULL, NULL);
		check(sides[i].fd >= 0, "accept");
		close(listener);
		side_run(&sides[i]);
		_exit(0);
	}
	close(listener);
	return supervise(pids, random);
}
