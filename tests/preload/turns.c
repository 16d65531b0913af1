/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * turns: a server of several connections finds them in the order in which its
 * client used them.
 *
 *   turns ROUNDS	in each round a client writes to all connections, one
 *			after another in an order that changes, and closes
 *			another one in between; the server, which sleeps or
 *			does not, must be told of them in that order
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define PEERS     6
#define SHORT     1 /* of them; one that is closed in each round */
#define BATCH_MAX 16

struct message {
	uint32_t turn;
	char text[12];
};

static int watch(int instance, int listener, int number)
{
	/* Both kinds, in one instance. */
	struct epoll_event e = {.events = EPOLLIN | (number % 2 ? EPOLLET : 0)};
	char c;

	e.data.fd = accept(listener, NULL, NULL);
	check(e.data.fd >= 0, "accept");
	/* The handshake is over. */
	check(recv_all(e.data.fd, &c, 1) == 1, "recv");
	check(!epoll_ctl(instance, EPOLL_CTL_ADD, e.data.fd, &e), "epoll_ctl");
	return e.data.fd;
}

/* The turn that this connection tells of; an end has none of its own. */
static void take_turn(int fd, uint32_t *expected, unsigned *wrong)
{
	struct message m;
	size_t n = recv_all(fd, &m, sizeof(m));

	if (n == sizeof(m) && m.turn != *expected)
		(*wrong)++;
	check(n == sizeof(m) || n == 0, "half a message");
	if (n == 0)
		close(fd);
	(*expected)++;
}

/* Answers when all had their turn, and nobody is in the instance's list any
 * more. */
static unsigned serve(int listener, int rounds)
{
	int peers[PEERS];
	int instance = epoll_create1(0);
	struct epoll_event e[BATCH_MAX];
	uint32_t expected = 0;
	unsigned wrong = 0;

	for (int i = 0; i < PEERS; i++)
		peers[i] = watch(instance, listener, i);
	for (int i = 0; i < rounds; i++) {
		uint32_t end = expected + PEERS + SHORT;

		send_all(watch(instance, listener, i), "r", 1);
		while (expected < end) {
			int n = epoll_wait(instance, e, BATCH_MAX, -1);

			check(n > 0, "epoll_wait");
			for (int k = 0; k < n; k++)
				take_turn(e[k].data.fd, &expected, &wrong);
		}
		check(epoll_wait(instance, e, BATCH_MAX, 0) == 0, "too many");
		for (int k = 0; k < PEERS; k++)
			send_all(peers[k], "e", 1);
	}
	return wrong;
}

static void shuffle(int *order, int n, uint64_t *state)
{
	for (int i = n - 1; i > 0; i--) {
		int k = (int)dice(state, (uint32_t)i + 1);
		int other = order[k];

		order[k] = order[i];
		order[i] = other;
	}
}

static int join(int port)
{
	int fd = helper_connect(port);

	send_all(fd, "j", 1);
	return fd;
}

static void await(int fd)
{
	char c;

	check(recv_all(fd, &c, 1) == 1, "the server is gone");
}

static void use(int port, int rounds)
{
	int fds[PEERS + SHORT];
	int order[PEERS + SHORT];
	uint64_t state = 7;
	uint32_t turn = 0;

	for (int i = 0; i < PEERS; i++)
		fds[i] = join(port);
	for (int i = 0; i < PEERS + SHORT; i++)
		order[i] = i;
	for (int i = 0; i < rounds; i++) {
		fds[PEERS] = join(port);
		await(fds[PEERS]);
		shuffle(order, PEERS + SHORT, &state);
		if (i % 2)
			nap_us(1000);
		for (int k = 0; k < PEERS + SHORT; k++, turn++) {
			struct message m = {turn, "of it"};

			if (order[k] == PEERS)
				close(fds[PEERS]);
			else
				send_all(fds[order[k]], &m, sizeof(m));
		}
		for (int k = 0; k < PEERS; k++)
			await(fds[k]);
		progress();
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	int status = -1;
	int listener;
	int port;
	pid_t pid;

	if (rounds <= 0)
		return 2;
	listener = helper_listen(&port);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		status = (int)serve(listener, rounds);
		printf("out of turn: %d\n", status);
		exit(status != 0);
	}
	close(listener);
	watchdog_start(20);
	use(port, rounds);
	check(waitpid(pid, &status, 0) == pid && !status, "the server");
	return 0;
}
