/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * splices: a proxy that moves bytes by splice(2) from one connection through a
 * pipe to another one, in ways that a seed says: pipes of all sizes, with
 * pieces of which few fit into a page; calls that wait and calls that do not;
 * time-outs, signals, tee(2); ends that are slow, and shut one half.
 *
 *   splices SEED [GAMES]
 *   splices empty	to a client that has made no call since it connected,
 *out of a pipe with nothing in it: nobody is waited for
 *
 * After each call the pipe has as many bytes as the calls said, and what comes
 * out at the far end is what went in.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define BYTES_MAX 1000000u

struct game {
	uint64_t dice;
	uint32_t seed;
	int from, to;  /* the connections */
	int pipe[2];   /* in between */
	int second[2]; /* what tee() gives */
	int pipe_bytes;
	bool waits;     /* sockets, and the pipe */
	unsigned flags; /* of splice() */
	uint32_t piece; /* at most, at a time */
	bool tees;
	uint64_t in, out; /* bytes of the stream until here */
};

/* ---- the ends ---- */

static void write_all(int fd, uint32_t seed, uint64_t dice_state)
{
	static char bytes[70000];
	uint64_t at = 0, all = dice(&dice_state, BYTES_MAX);
	uint32_t most = dice(&dice_state, 2) ? sizeof(bytes) : 3000;

	while (at < all) {
		size_t n = 1 + dice(&dice_state, most);

		n = n < all - at ? n : (size_t)(all - at);
		bytes_fill(bytes, n, seed, at);
		send_all(fd, bytes, n);
		at += n;
		if (dice(&dice_state, 40) == 0)
			nap_us(dice(&dice_state, 3000));
	}
	shutdown(fd, SHUT_WR);
	/* The proxy says nothing here, and ends when all was told. */
	check(recv(fd, bytes, 1, 0) == 0, "the end of the proxy");
	_exit(0);
}

static void read_all(int fd, uint32_t seed, uint64_t dice_state)
{
	static char bytes[70000];
	uint32_t lazy = dice(&dice_state, 2) ? 20 : 1000;
	uint64_t at = 0;
	ssize_t n;

	while ((n = recv(fd, bytes, 1 + dice(&dice_state, sizeof(bytes)), 0)) >
	       0) {
		size_t wrong;

		check(bytes_match(bytes, (size_t)n, seed, at, &wrong),
		      "the same bytes");
		at += (uint64_t)n;
		if (dice(&dice_state, lazy) == 0)
			nap_us(dice(&dice_state, 20000));
	}
	check(n == 0, "the end of the stream");
	send_all(fd, &at, sizeof(at));
	_exit(0);
}

/* ---- the proxy ---- */

static void nothing(int number)
{
	(void)number;
}

static void expect_pipe(const struct game *g)
{
	int there = -1;

	check(!ioctl(g->pipe[0], FIONREAD, &there), "FIONREAD");
	check((uint64_t)there == g->in - g->out, "the pipe has what was told");
}

static void may_fail(void)
{
	check(errno == EAGAIN || errno == EINTR, "a call that fails");
}

static void await(int fd, short events)
{
	struct pollfd p = {fd, events, 0};

	poll(&p, 1, 100);
}

/* The second pipe gets the same bytes, and the first one keeps them. */
static void copy(struct game *g)
{
	static char bytes[70000];
	ssize_t n = tee(g->pipe[0], g->second[1], 1 + dice(&g->dice, g->piece),
			SPLICE_F_NONBLOCK);
	size_t wrong;

	if (n <= 0)
		return;
	check(read(g->second[0], bytes, sizeof(bytes)) == n, "the copy");
	check(bytes_match(bytes, (size_t)n, g->seed, g->out, &wrong),
	      "the same bytes in the copy");
}

/* False at the end. A call that waits does so for room in the pipe, too, which
 * only we make. */
static bool take(struct game *g)
{
	ssize_t n;

	if (g->in > g->out && !(g->flags & SPLICE_F_NONBLOCK))
		return true;
	n = splice(g->from, NULL, g->pipe[1], NULL,
		   1 + dice(&g->dice, g->piece), g->flags);
	if (n < 0) {
		may_fail();
		if (!g->waits && g->in == g->out)
			await(g->from, POLLIN);
	}
	g->in += n > 0 ? (uint64_t)n : 0;
	expect_pipe(g);
	return n != 0;
}

static void give(struct game *g)
{
	ssize_t n;

	if (g->in == g->out)
		return;
	n = splice(g->pipe[0], NULL, g->to, NULL, 1 + dice(&g->dice, g->piece),
		   g->flags);
	check(n != 0, "bytes in the pipe are no end");
	if (n < 0) {
		may_fail();
		if (!g->waits)
			await(g->to, POLLOUT);
	}
	g->out += n > 0 ? (uint64_t)n : 0;
	expect_pipe(g);
}

static void move_all(struct game *g)
{
	bool more = true;

	while (more || g->in > g->out) {
		uint32_t takes = dice(&g->dice, 4), gives = dice(&g->dice, 4);

		for (uint32_t i = 0; more && i < takes; i++)
			more = take(g);
		if (g->tees && g->in > g->out)
			copy(g);
		for (uint32_t i = 0; i < gives; i++)
			give(g);
		progress();
	}
}

/* ---- a game ---- */

static void alarms(long us)
{
	struct itimerval t = {{0, us}, {0, us}};

	setitimer(ITIMER_REAL, &t, NULL);
}

static void nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* A listener, to which a child connects that plays an end. */
static int begin(void (*end)(int, uint32_t, uint64_t), const struct game *g)
{
	int port, listener = helper_listen(&port);

	fflush(stdout);
	if (fork() == 0)
		end(helper_connect(port), g->seed, g->dice);
	return listener;
}

/* After the forks: what both have would be TCP's. */
static int meet(int listener)
{
	int fd = accept(listener, NULL, NULL);

	check(fd >= 0, "accept");
	close(listener);
	return fd;
}

static void make_ways(struct game *g)
{
	static const uint32_t pieces[] = {60, 300, 2100, 5000, 70000, 1100000};
	static const int sizes[] = {4096, 8192, 65536, 1 << 20};
	struct timeval limit = {0, 1000 + (int)dice(&g->dice, 20000)};

	check(!pipe(g->pipe) && !pipe2(g->second, O_NONBLOCK), "pipes");
	g->pipe_bytes =
	    fcntl(g->pipe[1], F_SETPIPE_SZ, sizes[dice(&g->dice, 4)]);
	g->piece = pieces[dice(&g->dice, 6)];
	g->waits = dice(&g->dice, 2);
	g->flags = dice(&g->dice, 2) ? SPLICE_F_NONBLOCK : 0;
	g->tees = dice(&g->dice, 3) == 0 && g->piece <= 70000;
	if (!g->waits) {
		nonblocking(g->from);
		nonblocking(g->to);
	}
	if (dice(&g->dice, 2)) {
		nonblocking(g->pipe[0]);
		nonblocking(g->pipe[1]);
	}
	if (dice(&g->dice, 2))
		setsockopt(g->to, SOL_SOCKET, SO_SNDTIMEO, &limit,
			   sizeof(limit));
}

static void play(uint32_t seed)
{
	struct game g = {.dice = seed, .seed = seed};
	uint64_t told = 0;
	int status;

	g.from = begin(write_all, &g);
	g.to = begin(read_all, &g);
	g.from = meet(g.from);
	g.to = meet(g.to);
	make_ways(&g);
	if (dice(&g.dice, 3) == 0)
		alarms(700);
	move_all(&g);
	alarms(0);
	fcntl(g.to, F_SETFL, 0);
	shutdown(g.to, SHUT_WR);
	check(recv(g.to, &told, sizeof(told), MSG_WAITALL) == sizeof(told) &&
		  told == g.in,
	      "all of it came");
	close(g.to);
	close(g.from);
	for (int i = 0; i < 2; i++) {
		close(g.pipe[i]);
		close(g.second[i]);
		check(wait(&status) > 0 && status == 0, "an end");
	}
}

/* Its handshake goes on with its next call, here the send(). */
static void client_main(int port, int told)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	char c;

	check(connect(fd, (struct sockaddr *)&a, sizeof(a)) == -1 &&
		  errno == EINPROGRESS,
	      "connect");
	check(read(told, &c, 1) == 1, "the server's word");
	fcntl(fd, F_SETFL, 0);
	send_all(fd, "x", 1);
	check(recv(fd, &c, 1, 0) == 0, "the end");
	_exit(0);
}

static void splice_empty(void)
{
	int port, listener = helper_listen(&port), fd, told[2], empty[2],
		  status;
	char c;

	check(!pipe(told) && !pipe(empty), "pipe");
	if (fork() == 0)
		client_main(port, told[0]);
	fd = accept(listener, NULL, NULL);
	check(splice(empty[0], NULL, fd, NULL, 10, SPLICE_F_NONBLOCK) == -1 &&
		  errno == EAGAIN,
	      "splice");
	check(write(told[1], "x", 1) == 1, "the client is told");
	check(recv(fd, &c, 1, 0) == 1, "a byte");
	close(fd);
	check(wait(&status) > 0 && status == 0, "the client");
}

int main(int argc, char **argv)
{
	struct sigaction a = {.sa_handler = nothing};
	uint32_t seed = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
	uint32_t games = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;

	sigaction(SIGALRM, &a, NULL);
	watchdog_start(20);
	if (argc == 2 && !strcmp(argv[1], "empty")) {
		splice_empty();
		return 0;
	}
	for (uint32_t i = 0; i < games; i++) {
		printf("%u ", seed + i);
		play(seed + i);
	}
	puts("well");
	return 0;
}
