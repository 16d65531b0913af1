/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * death_actors: the victim, the survivor, and a third one, the mate.
 */
#include "death.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "death_trace.h"
#include "socket_helpers.h"

#define MATE_SEED 700u
#define TRIES     1000 /* writes until a dead peer is noticed, 1 ms each */

int line_count(void)
{
	return board->life == BRIEF || board->life == FORK_PARENT ||
		       board->life == FORK_CHILD
		   ? 2
		   : 1;
}

uint32_t seed_of(const struct line *l, int who)
{
	return (uint32_t)(l - board->line) * 2 + (uint32_t)who + 1;
}

/* ---- the victim ---- */

static void put(int fd, struct line *l, int who, size_t n)
{
	static unsigned char bytes[LARGE];
	struct writer *w = &l->writer[who];

	bytes_fill(bytes, n, seed_of(l, who), w->done);
	w->begun += n;
	send_all(fd, bytes, n);
	w->done += n;
}

/* Answers. Where the one before us stopped may be unknown. */
static void take(int fd, struct line *l, size_t n, bool known)
{
	static unsigned char bytes[LARGE];
	size_t wrong;

	while (n > 0) {
		ssize_t k;

		l->taking = true;
		k = recv(fd, bytes, n, 0);
		check(k > 0, "an answer is missing");
		if (known)
			check(bytes_match(bytes, (size_t)k, ANSWER_SEED,
					  l->taken, &wrong),
			      "a wrong answer");
		l->taken += (uint64_t)k;
		l->taking = false;
		n -= (size_t)k;
	}
}

static void turn(int fd, struct line *l, int who, size_t n)
{
	put(fd, l, who, n);
	take(fd, l, n, true);
}

static void await_go(void)
{
	char byte;

	check(read(go[0], &byte, 1) == 1, "nobody says go");
}

static _Noreturn void use_then_close(int fd, struct line *l, int who)
{
	for (int i = 0; i < 3; i++)
		turn(fd, l, who, BLOCK);
	close(fd);
	_exit(0);
}

/* The heir of a stream that was cut anywhere: it only writes. */
static _Noreturn void go_on(int fd, struct line *l)
{
	await_go();
	put(fd, l, 1, BLOCK);
	put(fd, l, 1, LARGE);
	close(fd);
	_exit(0);
}

static _Noreturn void live_forked(int fds[LINES])
{
	struct line *l = board->line;
	pid_t pid;

	turn(fds[0], &l[0], 0, BLOCK);
	turn(fds[1], &l[1], 0, BLOCK);
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0) {
		close(fds[0]);
		if (board->life == FORK_PARENT)
			await_go();
		use_then_close(fds[1], &l[1], 1);
	}
	close(fds[1]);
	if (board->life == FORK_CHILD)
		await_go();
	turn(fds[0], &l[0], 0, BLOCK);
	use_then_close(fds[0], &l[0], 0);
}

static _Noreturn void live_shared(int fd)
{
	struct line *l = board->line;
	pid_t pid;

	turn(fd, l, 0, BLOCK);
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0)
		go_on(fd, l);
	turn(fd, l, 0, BLOCK);
	turn(fd, l, 0, LARGE);
	put(fd, l, 0, BLOCK);
	_exit(0);
}

/* Passes it to ourselves, by way of a message: the process that takes it out
 * has plain TCP. */
static int pass_on(int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} rights = {.bytes = {0}};
	char byte = 'x';
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &rights,
			   .msg_controllen = sizeof(rights)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2], result;

	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	check(sendmsg(pair[0], &m, 0) == 1, "sendmsg");
	close(fd);
	check(recvmsg(pair[1], &m, 0) == 1, "recvmsg");
	memcpy(&result, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(result));
	close(pair[0]);
	close(pair[1]);
	return result;
}

static _Noreturn void live_alone(int fds[LINES])
{
	struct line *l = board->line;
	int fd = fds[0];

	switch (board->life) {
	case UNREAD:
		put(fd, l, 0, BLOCK);
		put(fd, l, 0, BLOCK);
		take(fd, l, BLOCK, true);
		break;
	case BRIEF:
		close(fd);
		use_then_close(fds[1], &l[1], 0);
		break;
	case HALF:
		turn(fd, l, 0, BLOCK);
		shutdown(fd, SHUT_WR);
		nap_us(2000);
		break;
	case DEMOTED:
		turn(fd, l, 0, BLOCK);
		put(fd, l, 0, BLOCK);
		fcntl(fd, F_SETOWN, getpid());
		take(fd, l, BLOCK, true);
		use_then_close(fd, l, 0);
		break;
	case HANDED:
		put(fd, l, 0, BLOCK);
		put(fd, l, 0, BLOCK);
		fd = pass_on(fd);
		take(fd, l, 2 * BLOCK, true);
		use_then_close(fd, l, 0);
		break;
	default:
		turn(fd, l, 0, BLOCK);
		turn(fd, l, 0, LARGE);
		use_then_close(fd, l, 0);
	}
	close(fd);
	_exit(0);
}

void victim(void)
{
	int fds[LINES], listener = -1;

	close(go[1]);
	if (board->side == ACCEPTS)
		listener = helper_listen(&board->victim_port);
	death_offer();
	for (int i = 0; i < line_count(); i++) {
		fds[i] = listener < 0 ? helper_connect(board->survivor_port)
				      : accept(listener, NULL, NULL);
		check(fds[i] >= 0, "accept");
		board->line[i].held = true;
	}
	if (listener >= 0)
		close(listener);
	if (board->life == FORK_PARENT || board->life == FORK_CHILD)
		live_forked(fds);
	if (board->life == SHARED)
		live_shared(fds[0]);
	live_alone(fds);
}

/* ---- the survivor ---- */

struct end {
	struct line *line;
	int fd;
};

static void await_input(int fd, int epoll)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct epoll_event e;

	if (board->mode == POLLS)
		check(poll(&p, 1, ROUND_MS) == 1, "poll: nobody is there");
	else if (board->mode == EPOLLS)
		check(epoll_wait(epoll, &e, 1, ROUND_MS) == 1,
		      "epoll: nobody is there");
}

/* An answer for each whole block that came. */
static void answer(int fd, struct line *l)
{
	unsigned char bytes[BLOCK];

	while (l->sent + BLOCK <= l->got) {
		bytes_fill(bytes, BLOCK, ANSWER_SEED, l->sent);
		l->sending = true;
		if (send(fd, bytes, BLOCK, MSG_NOSIGNAL) != BLOCK)
			return;
		l->sent += BLOCK;
		l->sending = false;
	}
}

/* TCP takes a byte or two before it knows. */
static void write_to_the_dead(int fd, struct line *l)
{
	l->stuck = true;
	for (int i = 0; !board->dead && i < ROUND_MS; i++)
		nap_us(1000);
	for (int i = 0; l->stuck && i < TRIES; i++) {
		if (send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
			nap_us(1000);
			continue;
		}
		check(errno == EPIPE || errno == ECONNRESET,
		      "a strange error of send()");
		l->stuck = false;
	}
}

static void await_victim(const struct line *l)
{
	while (board->mode == LATE && !board->dead && !l->taking)
		nap_us(100);
}

static void *serve(void *argument)
{
	struct end *e = argument;
	struct line *l = e->line;
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	ssize_t n;

	await_victim(l);
	check(!epoll_ctl(epoll, EPOLL_CTL_ADD, e->fd, &event), "epoll_ctl");
	do {
		await_input(e->fd, epoll);
		n = recv(e->fd, l->bytes + l->got, BUFFER - l->got, 0);
		if (n > 0)
			l->got += (uint64_t)n;
		if (n > 0)
			answer(e->fd, l);
		progress();
	} while (n > 0);
	l->ending = n < 0 ? errno : 0;
	write_to_the_dead(e->fd, l);
	close(epoll);
	close(e->fd);
	return NULL;
}

/* -1: they are all dead, and nobody waits to be accepted. */
static int accept_victim(int listener)
{
	struct pollfd p[2] = {{listener, POLLIN, 0}, {orders[0], POLLIN, 0}};
	char order;

	for (;;) {
		check(poll(p, board->dead ? 1 : 2,
			   board->dead ? 0 : ROUND_MS) >= 0,
		      "poll");
		if (p[0].revents)
			return accept(listener, NULL, NULL);
		if (board->dead)
			return -1;
		if (p[1].revents)
			check(read(orders[0], &order, 1) == 1, "order");
	}
}

/* A connection that has nothing to do with it. */
static void talk_to_mate(int fd, uint32_t seed)
{
	unsigned char bytes[BLOCK];
	size_t wrong;

	bytes_fill(bytes, BLOCK, seed, 0);
	send_all(fd, bytes, BLOCK);
	check(recv_all(fd, bytes, BLOCK) == BLOCK, "the mate is silent");
	check(bytes_match(bytes, BLOCK, seed, 0, &wrong), "the mate errs");
}

static void new_mate(void)
{
	int fd = helper_connect(board->mate_port);

	talk_to_mate(fd, MATE_SEED);
	close(fd);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 65536; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* RMBs, in use or kept. */
static int count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char text[512];
	int n = 0;

	check(f != NULL, "maps");
	while (fgets(text, sizeof(text), f))
		n += strstr(text, "/memfd:smc_r") != NULL;
	fclose(f);
	return n;
}

static void play_round(int listener, int mate)
{
	pthread_t threads[LINES];
	struct end ends[LINES];
	int n = 0;
	char order;

	for (int i = 0; i < line_count(); i++) {
		struct line *l = &board->line[i];
		int fd = board->side == CONNECTS
			     ? accept_victim(listener)
			     : helper_connect(board->victim_port);

		if (fd < 0)
			break;
		l->open = true;
		ends[n] = (struct end){l, fd};
		check(!pthread_create(&threads[n], NULL, serve, &ends[n]),
		      "thread");
		n++;
	}
	talk_to_mate(mate, MATE_SEED + 1);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	while (!board->dead)
		check(read(orders[0], &order, 1) == 1, "order");
	talk_to_mate(mate, MATE_SEED + 2);
	/* Groups of the dead are looked for every 10 ms at most. */
	if (board->measured)
		nap_us(20000);
	new_mate();
	if (board->measured) {
		board->fds = count_fds();
		board->maps = count_maps();
	}
}

void survive(void)
{
	int listener = helper_listen(&board->survivor_port);
	int mate = helper_connect(board->mate_port);
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(orders[1]);
	talk_to_mate(mate, MATE_SEED);
	for (;;) {
		board->finished++;
		do {
			if (read(orders[0], &order, 1) != 1)
				_exit(0);
		} while (order != 'r');
		play_round(listener, mate);
	}
}

/* ---- the mate: echoes, on any number of connections ---- */

void mate(int listener)
{
	static unsigned char bytes[LARGE];
	struct pollfd p[16] = {{listener, POLLIN, 0}};
	int n = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		check(poll(p, (nfds_t)n, -1) > 0, "poll");
		if (p[0].revents && n < 16)
			p[n++] = (struct pollfd){accept(listener, NULL, NULL),
						 POLLIN, 0};
		for (int i = n - 1; i > 0; i--) {
			ssize_t k;

			if (!p[i].revents)
				continue;
			k = recv(p[i].fd, bytes, sizeof(bytes), 0);
			if (k > 0) {
				send_all(p[i].fd, bytes, (size_t)k);
				continue;
			}
			close(p[i].fd);
			p[i] = p[--n];
		}
	}
}
