/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * buffers: how much a writer gets rid of when nobody reads follows the sizes of
 * the socket's buffers, as on TCP.
 *
 * What TCP takes, measured on loopback with Linux 6.18, in writes of 100, 4096
 * and 65536 bytes (SO_SNDBUF and SO_RCVBUF as the program sets them, before the
 * connection is made; the kernel doubles them). So many bytes of it had to be
 * read before poll() told of room again: a third, and up to three quarters.
 *
 *   SNDBUF   RCVBUF   bytes that TCP takes
 *   2048     2048     3072 - 4948	(8192 - 65536 if set later)
 *   4096     4096     11000 - 12288
 *   16384    16384    40000 - 57344	(53248 - 90112 if set later)
 *   65536    65536    196608 - 274464
 *   1000000  1000000  2177429 - 4010953
 *   4096     -        81060 - 175616
 *   65536    -        163000 - 276480
 *   -        4096     2809856
 *   -        -        3932160 - 4041312
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define CHUNK     1000
#define SETTLE_MS 50     /* that nothing more fits */
#define WINDOW    200000 /* that a reader has offered without a word */
#define LEAST     16384  /* bytes that any ring has */
#define LARGE     65536  /* a larger one shows where this was less */

enum when {
	BEFORE,
	LATER,
	IN_CHILD,
	WHENS
};

struct trial {
	int sndbuf, rcvbuf; /* 0: left as it is */
	enum when when;
	bool back; /* the server writes */
};

static void set(int fd, int name, int value)
{
	if (value)
		check(!setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value)),
		      "setsockopt");
}

static size_t size_of(int fd, int name)
{
	int value = 0;
	socklen_t n = sizeof(value);

	check(!getsockopt(fd, SOL_SOCKET, name, &value, &n), "getsockopt");
	return (size_t)value;
}

static void set_end(const struct trial *t, int fd, bool writes)
{
	if (writes)
		set(fd, SO_SNDBUF, t->sndbuf);
	else
		set(fd, SO_RCVBUF, t->rcvbuf);
}

static void set_both(const struct trial *t, int writer, int reader)
{
	set_end(t, writer, true);
	set_end(t, reader, false);
}

static int connect_to(const struct trial *t, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(fd >= 0, "socket");
	if (t->when == BEFORE)
		set_end(t, fd, !t->back);
	check(!connect(fd, (struct sockaddr *)&a, sizeof(a)), "connect");
	return fd;
}

/* A connection of this process with itself that has carried a byte each way;
 * [0] is to write. */
static void make(const struct trial *t, int ends[2])
{
	int port, listener = helper_listen(&port);
	int client, server;
	char byte = 0;

	/* What a listener has, its connections have. */
	if (t->when == BEFORE)
		set_end(t, listener, t->back);
	client = connect_to(t, port);
	server = accept(listener, NULL, NULL);
	check(server >= 0, "accept");
	close(listener);
	send_all(client, &byte, 1);
	check(recv_all(server, &byte, 1) == 1, "first byte");
	send_all(server, &byte, 1);
	check(recv_all(client, &byte, 1) == 1, "first answer");
	ends[0] = t->back ? server : client;
	ends[1] = t->back ? client : server;
	if (t->when == LATER)
		set_both(t, ends[0], ends[1]);
	if (t->when == IN_CHILD) {
		pid_t child = fork();
		int status = 0;

		check(child >= 0, "fork");
		if (child == 0) {
			set_both(t, ends[0], ends[1]);
			_exit(0);
		}
		check(waitpid(child, &status, 0) == child && status == 0,
		      "child");
	}
}

static uint64_t fill(int fd, uint64_t at)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	char bytes[CHUNK];
	int refused = 0;

	/* TCP may tell of room where there is none for a segment. */
	while (refused < 20) {
		ssize_t n;

		bytes_fill(bytes, sizeof(bytes), 1, at);
		n = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			at += (uint64_t)n;
			continue;
		}
		check(n < 0 && errno == EAGAIN, "send");
		refused++;
		if (poll(&p, 1, SETTLE_MS) == 0)
			break;
	}
	progress();
	return at;
}

static void drain(int fd, uint64_t from, uint64_t to)
{
	char bytes[CHUNK];
	size_t wrong;

	while (from < to) {
		size_t n = to - from < CHUNK ? (size_t)(to - from) : CHUNK;

		check(recv_all(fd, bytes, n) == n, "early end");
		check(bytes_match(bytes, n, 1, from, &wrong), "bytes");
		from += n;
	}
	progress();
}

/* What is set counts from then on. */
static uint64_t enlarge(int fd, uint64_t at)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	uint64_t end;

	set(fd, SO_SNDBUF, 1000000);
	check(poll(&p, 1, -1) == 1 && p.revents == POLLOUT, "a larger one");
	end = fill(fd, at);
	check(end > at, "a larger one takes nothing");
	return end;
}

static void try(const struct trial *t)
{
	struct pollfd p = {.events = POLLOUT};
	uint64_t first, second, third;
	size_t least, most;
	int ends[2];

	make(t, ends);
	p.fd = ends[0];
	least = size_of(ends[0], SO_SNDBUF) / 4;
	least = least < LEAST ? least : LEAST;
	/* A window that was offered is not taken back. */
	most = 2 * size_of(ends[0], SO_SNDBUF) +
	       (t->when == BEFORE && t->rcvbuf ? 2 * size_of(ends[1], SO_RCVBUF)
					       : WINDOW);
	first = fill(ends[0], 0);
	printf("%d %d %d %d: %zu <= %zu <= %zu\n", t->sndbuf, t->rcvbuf,
	       t->when, t->back, least, (size_t)first, most);
	check(first >= least, "far less than TCP takes");
	check(first <= most, "far more than TCP takes");
	drain(ends[1], 0, first);
	check(poll(&p, 1, -1) == 1 && p.revents == POLLOUT, "room again");
	second = fill(ends[0], first);
	/* TCP enlarges what nobody has set, as it is read. */
	check(!t->rcvbuf || second - first <= most, "far more now");
	third = t->sndbuf < LARGE ? enlarge(ends[0], second) : second;
	drain(ends[1], first, third);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	static const int sizes[][2] = {{2048, 2048},   {4096, 4096},
				       {16384, 16384}, {65536, 65536},
				       {4096, 0},      {16384, 0}};
	struct trial t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	watchdog_start(60);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int k = 0; k < 2 * WHENS; k++) {
			t = (struct trial){sizes[i][0], sizes[i][1], k / 2,
					   k & 1};
			/* TCP stands still, more or less, in a window that is
			 * smaller than the one it offered. */
			if (t.when == BEFORE || !t.rcvbuf || t.rcvbuf >= LARGE)
				try(&t);
		}
	return 0;
}
