/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wakeups: hunts for lost wake-ups. Many threads sleep on few connections in
 * every way there is to sleep; a wake-up that goes to nobody, or to the wrong
 * sleeper, stops the game for good, and the watchdog says so.
 *
 *   wakeups tokens THREADS ROUNDS SEED	a token on each connection
 *   wakeups shared THREADS ROUNDS SEED	all threads and tokens on one connection
 *   wakeups room THREADS ROUNDS SEED	writers that wait for room, slow readers
 *   wakeups narrow THREADS ROUNDS SEED	the same where sizes of buffers change
 *   wakeups duplex THREADS ROUNDS SEED	each connection read and written by two
 *   wakeups bursts THREADS ROUNDS SEED	streams that stop and go on
 *   wakeups idle THREADS ROUNDS SEED	one token among many idle connections
 *   wakeups crowd TOKENS ROUNDS SEED	tokens on few of a hundred connections
 *   wakeups twice THREADS ROUNDS SEED	each connection is in two entries of a
 *					poll() as well
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define TOKEN         64
#define THREADS_MAX   64
#define CROWD         100 /* more than an instance looks at one by one */
#define STILL_SECONDS 20

enum way {
	BLOCK,
	POLL,
	SELECT,
	EPOLL_LEVEL,
	EPOLL_EDGE,
	WAYS
};

/* How one thread waits for bytes; an epoll is its own. */
struct sleeper {
	int fd;
	enum way way;
	int epoll;
	uint32_t naps; /* before one of so many tokens */
	uint64_t random;
};

static void sleeper_make(struct sleeper *s, int fd, uint64_t random)
{
	struct epoll_event e = {.events = EPOLLIN};

	s->fd = fd;
	s->random = random;
	s->way = (enum way)dice(&s->random, WAYS);
	s->epoll = -1;
	s->naps = 4;
	if (s->way < EPOLL_LEVEL)
		return;
	if (s->way == EPOLL_EDGE)
		e.events |= (unsigned)EPOLLET;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	check(!epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
}

/* Sleeps without a limit until there may be something to read. */
static void sleeper_wait(struct sleeper *s)
{
	struct pollfd p = {s->fd, POLLIN, 0};
	struct epoll_event e;
	fd_set set;

	switch (s->way) {
	case POLL:
		poll(&p, 1, -1);
		break;
	case SELECT:
		FD_ZERO(&set);
		FD_SET(s->fd, &set);
		select(s->fd + 1, &set, NULL, NULL, NULL);
		break;
	case EPOLL_LEVEL:
	case EPOLL_EDGE:
		epoll_wait(s->epoll, &e, 1, -1);
		break;
	case BLOCK:
	case WAYS:
		break;
	}
}

/* One token, however it comes; false at the end of the stream. */
static bool sleeper_take(struct sleeper *s, char *token)
{
	size_t have = 0;

	/* A short delay puts the arrival before, into and behind the wait. */
	if (!dice(&s->random, s->naps))
		nap_us((long)dice(&s->random, 120));
	while (have < TOKEN) {
		ssize_t n = recv(s->fd, token + have, TOKEN - have,
				 s->way == BLOCK ? MSG_WAITALL : MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			sleeper_wait(s);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		check(n >= 0, "recv");
		if (!n) {
			check(!have, "half a token");
			return false;
		}
		have += (size_t)n;
	}
	progress();
	return true;
}

struct game {
	int threads, rounds;
	uint64_t seed;
	int connections;
	int fds[CROWD];
};

struct player {
	const struct game *game;
	int index, fd;
	bool starts;
};

/* Takes a token, sends it back; the side that starts sends first. */
static void *play(void *argument)
{
	const struct player *p = argument;
	struct sleeper s;
	char token[TOKEN];
	size_t wrong;

	sleeper_make(&s, p->fd,
		     p->game->seed * 977 + (unsigned)p->index * 2 + p->starts);
	bytes_fill(token, TOKEN, 7, 0);
	if (p->starts)
		send_all(p->fd, token, TOKEN);
	for (int i = 0; i < p->game->rounds; i++) {
		if (!sleeper_take(&s, token))
			break;
		check(bytes_match(token, TOKEN, 7, 0, &wrong), "token");
		if (!p->starts || i + 1 < p->game->rounds)
			send_all(p->fd, token, TOKEN);
	}
	return NULL;
}

static void run_threads(void *(*body)(void *), struct player *players,
			int count)
{
	pthread_t threads[THREADS_MAX];

	for (int i = 0; i < count; i++)
		check(!pthread_create(&threads[i], NULL, body, &players[i]),
		      "thread");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* One connection for each pair of threads. */
static void tokens(struct game *g, bool starts)
{
	struct player players[THREADS_MAX];

	for (int i = 0; i < g->threads; i++)
		players[i] = (struct player){g, i, g->fds[i], starts};
	run_threads(play, players, g->threads);
}

/* The order of threads and tokens is nobody's business. */
static void shared(struct game *g, bool starts)
{
	struct player players[THREADS_MAX];

	for (int i = 0; i < g->threads; i++)
		players[i] = (struct player){g, i, g->fds[0], starts};
	run_threads(play, players, g->threads);
}

/* Writes or reads one stream of rounds * 1000 bytes. */
static void *stream_write(void *argument)
{
	const struct player *p = argument;
	uint64_t random = p->game->seed + (unsigned)p->index, at = 0;
	uint64_t total = (uint64_t)p->game->rounds * 1000;
	static _Thread_local char bytes[200];

	while (at < total) {
		size_t n = 1 + dice(&random, sizeof(bytes));

		if (n > total - at)
			n = total - at;
		bytes_fill(bytes, n, (unsigned)p->index, at);
		send_all(p->fd, bytes, n);
		at += n;
		if (!dice(&random, 64))
			nap_us((long)dice(&random, 100));
	}
	return NULL;
}

static void *stream_read(void *argument)
{
	const struct player *p = argument;
	uint64_t random = p->game->seed + 99 + (unsigned)p->index, at = 0;
	uint64_t total = (uint64_t)p->game->rounds * 1000;
	static _Thread_local char bytes[400];
	size_t wrong;

	while (at < total) {
		size_t n = 1 + dice(&random, sizeof(bytes));

		if (n > total - at)
			n = total - at;
		check(recv_all(p->fd, bytes, n) == n, "early end");
		check(bytes_match(bytes, n, (unsigned)p->index, at, &wrong),
		      "bytes");
		at += n;
		if (!dice(&random, 64))
			nap_us((long)dice(&random, 100));
	}
	return NULL;
}

/* A small socket buffer makes writers wait for room much of the time. */
static void room(struct game *g, bool starts)
{
	struct player players[THREADS_MAX];

	for (int i = 0; i < g->threads; i++)
		players[i] = (struct player){g, i, g->fds[i], starts};
	run_threads(starts ? stream_write : stream_read, players, g->threads);
}

/* On TCP a small one makes a writer wait as well. */
static void *narrow_body(void *argument)
{
	const struct player *p = argument;
	uint64_t random = p->game->seed + 7 * (unsigned)p->index + p->starts;
	uint64_t total = (uint64_t)p->game->rounds * 3000, at = 0;
	static _Thread_local char bytes[9000];
	size_t wrong;

	while (at < total) {
		int size = 8192 << dice(&random, 4);
		size_t n =
		    1 + dice(&random, dice(&random, 4) ? 500 : sizeof(bytes));

		if (n > total - at)
			n = total - at;
		if (p->starts)
			size /= 4;
		if (!dice(&random, 16))
			check(!setsockopt(p->fd, SOL_SOCKET,
					  p->starts ? SO_SNDBUF : SO_RCVBUF,
					  &size, sizeof(size)),
			      "setsockopt");
		if (p->starts)
			bytes_fill(bytes, n, (unsigned)p->index, at);
		if (p->starts)
			send_all(p->fd, bytes, n);
		else
			check(recv_all(p->fd, bytes, n) == n &&
				  bytes_match(bytes, n, (unsigned)p->index, at,
					      &wrong),
			      "bytes");
		at += n;
		if (!dice(&random, 64))
			nap_us((long)dice(&random, 100));
	}
	return NULL;
}

static void narrow(struct game *g, bool starts)
{
	struct player players[THREADS_MAX];

	for (int i = 0; i < g->threads; i++)
		players[i] = (struct player){g, i, g->fds[i], starts};
	run_threads(narrow_body, players, g->threads);
}

static void *duplex_body(void *argument)
{
	struct player *p = argument;

	/* Even players write, odd ones read, the same connection. */
	return p->starts ? stream_write(p) : stream_read(p);
}

static void duplex(struct game *g, bool starts)
{
	struct player players[THREADS_MAX];
	int count = g->threads > THREADS_MAX / 2 ? THREADS_MAX / 2 : g->threads;

	(void)starts;
	for (int i = 0; i < 2 * count; i++)
		players[i] = (struct player){g, i / 2, g->fds[i / 2], !(i & 1)};
	run_threads(duplex_body, players, 2 * count);
}

/* Long enough without a pause for a writer to leave fences to the reader, which
 * is then asleep, or about to be, when the next burst comes. */
static void *burst_write(void *argument)
{
	const struct player *p = argument;
	uint64_t random = p->game->seed + (unsigned)p->index;
	char token[TOKEN];

	bytes_fill(token, TOKEN, 7, 0);
	for (int i = 0; i < p->game->rounds; i++) {
		for (unsigned n = 60 + dice(&random, 200); n > 0; n--)
			send_all(p->fd, token, TOKEN);
		nap_us((long)dice(&random, 200));
	}
	check(!shutdown(p->fd, SHUT_WR), "shutdown");
	return NULL;
}

/* In another way now and then. */
static void *burst_read(void *argument)
{
	const struct player *p = argument;
	uint64_t random = p->game->seed * 31 + (unsigned)p->index;
	char token[TOKEN];
	bool more = true;
	size_t wrong;

	while (more) {
		struct sleeper s;

		sleeper_make(&s, p->fd, dice(&random, 1u << 30));
		s.naps = 512;
		for (unsigned n = dice(&random, 1000); more && n > 0; n--) {
			more = sleeper_take(&s, token);
			check(!more || bytes_match(token, TOKEN, 7, 0, &wrong),
			      "token");
		}
		if (s.epoll >= 0)
			close(s.epoll);
	}
	return NULL;
}

static void bursts(struct game *g, bool starts)
{
	struct player players[THREADS_MAX];

	for (int i = 0; i < g->threads; i++)
		players[i] = (struct player){g, i, g->fds[i], starts};
	run_threads(starts ? burst_write : burst_read, players, g->threads);
}

/* One epoll over many connections; the token comes back on a random one. */
static void idle(struct game *g, bool starts)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), sent = 0;
	uint64_t random = g->seed + starts;
	char token[TOKEN];

	for (int i = 0; i < g->threads; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.fd = i};

		if (i & 1)
			e.events |= (unsigned)EPOLLET;
		check(!epoll_ctl(ep, EPOLL_CTL_ADD, g->fds[i], &e), "ctl");
	}
	bytes_fill(token, TOKEN, 7, 0);
	if (starts)
		send_all(g->fds[0], token, TOKEN);
	while (sent < g->rounds) {
		struct epoll_event e;
		int ready = epoll_wait(ep, &e, 1, -1);

		if (ready < 0 && errno == EINTR)
			continue;
		check(ready == 1, "epoll_wait without an event");
		if (recv(g->fds[e.data.fd], token, TOKEN, MSG_DONTWAIT) !=
		    TOKEN)
			continue;
		/* The side that started keeps the last token. */
		if (++sent == g->rounds && starts)
			break;
		send_all(g->fds[dice(&random, (unsigned)g->threads)], token,
			 TOKEN);
	}
}

/* What one end of a crowd does; the tokens like four connections, for a while.
 */
struct end {
	const struct game *g;
	uint64_t random;
	int moved;
	int home; /* tokens that are not sent back any more */
	bool starts;
};

static void crowd_send(struct end *t, const char *token)
{
	unsigned to = (unsigned)t->moved / 256 * 7 + dice(&t->random, 4);

	if (dice(&t->random, 8) == 0)
		to = dice(&t->random, CROWD);
	if (dice(&t->random, 64) == 0)
		nap_us((long)dice(&t->random, 200));
	send_all(t->g->fds[to % CROWD], token, TOKEN);
	t->moved++;
	progress();
}

/* False: the other end has all it wanted. */
static bool crowd_take(struct end *t, int fd)
{
	char token[TOKEN];
	ssize_t n;

	while ((n = recv(fd, token, TOKEN, MSG_DONTWAIT)) == TOKEN)
		if (t->starts && t->moved >= t->g->rounds * t->g->threads)
			t->home++;
		else
			crowd_send(t, token);
	check(n == 0 || (n < 0 && errno == EAGAIN), "recv");
	return n < 0 && !(t->starts && t->home == t->g->threads);
}

static void crowd(struct game *g, bool starts)
{
	struct end t = {.g = g, .random = g->seed + starts, .starts = starts};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	char token[TOKEN] = "";
	bool more = true;

	for (int i = 0; i < CROWD; i++) {
		struct epoll_event e = {.events = EPOLLIN,
					.data.fd = g->fds[i]};

		if (i % 3 == 0)
			e.events |= (unsigned)EPOLLET;
		check(!epoll_ctl(ep, EPOLL_CTL_ADD, g->fds[i], &e), "ctl");
	}
	for (int i = 0; starts && i < g->threads; i++)
		crowd_send(&t, token);
	while (more) {
		struct epoll_event e[4];
		int n = epoll_wait(ep, e, 1 + (int)dice(&t.random, 4), -1);

		for (int i = 0; more && i < n; i++)
			more = crowd_take(&t, e[i].data.fd);
	}
	for (int i = 0; starts && i < CROWD; i++)
		close(g->fds[i]);
}

static void *twice_read(void *argument)
{
	const struct player *p = argument;
	uint64_t random = p->game->seed * 31 + (unsigned)p->index;
	char token[TOKEN];

	bytes_fill(token, TOKEN, 7, 0);
	for (int i = 0; i < p->game->rounds; i++) {
		if (p->starts)
			send_all(p->fd, token, TOKEN);
		check(recv_all(p->fd, token, TOKEN) == TOKEN, "the end");
		if (!p->starts)
			send_all(p->fd, token, TOKEN);
		if (!dice(&random, 4))
			nap_us((long)dice(&random, 60));
	}
	return NULL;
}

/* Sleeps beside the reader, until the process ends. */
static void *twice_poll(void *argument)
{
	const struct player *p = argument;

	for (;;) {
		struct pollfd twice[2] = {{p->fd, POLLIN, 0},
					  {p->fd, POLLIN, 0}};

		check(poll(twice, 2, -1) > 0, "poll");
	}
	return NULL;
}

static void twice(struct game *g, bool starts)
{
	static struct player players[THREADS_MAX];
	pthread_t thread;

	for (int i = 0; i < g->threads; i++)
		players[i] = (struct player){g, i, g->fds[i], starts};
	for (int i = 0; i < g->threads; i++)
		check(!pthread_create(&thread, NULL, twice_poll, &players[i]),
		      "thread");
	run_threads(twice_read, players, g->threads);
}

struct kind {
	const char *name;
	void (*run)(struct game *g, bool starts);
};

static const struct kind kinds[] = {
    {"tokens", tokens}, {"shared", shared}, {"room", room},
    {"narrow", narrow}, {"duplex", duplex}, {"bursts", bursts},
    {"idle", idle},     {"crowd", crowd},   {"twice", twice}};

static void side(struct game *g, const struct kind *k, int port, int listener)
{
	int small = 65536, on = 1;

	watchdog_start(STILL_SECONDS);
	g->connections = k->run == crowd ? CROWD : g->threads;
	for (int i = 0; i < g->connections; i++) {
		g->fds[i] = listener < 0 ? helper_connect(port)
					 : accept(listener, NULL, NULL);
		check(g->fds[i] >= 0, "accept");
		setsockopt(g->fds[i], IPPROTO_TCP, TCP_NODELAY, &on,
			   sizeof(on));
		if (k->run == room)
			setsockopt(g->fds[i], SOL_SOCKET, SO_RCVBUF, &small,
				   sizeof(small));
	}
	k->run(g, listener < 0);
}

int main(int argc, char **argv)
{
	struct game g;
	const struct kind *k = NULL;
	int port, listener, status = 0;
	pid_t child;

	for (size_t i = 0; argc == 5 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			k = &kinds[i];
	if (!k) {
		fprintf(
		    stderr,
		    "usage: wakeups tokens|shared|room|narrow|duplex|bursts|"
		    "idle|crowd|twice THREADS ROUNDS SEED\n");
		return 2;
	}
	g.threads = atoi(argv[2]);
	g.rounds = atoi(argv[3]);
	g.seed = strtoul(argv[4], NULL, 10);
	check(g.threads > 0 && g.threads <= THREADS_MAX, "THREADS");
	listener = helper_listen(&port);
	child = fork();
	if (!child) {
		close(listener);
		side(&g, k, port, -1);
		_exit(0);
	}
	side(&g, k, port, listener);
	waitpid(child, &status, 0);
	check(status == 0, "the other process");
	return 0;
}
