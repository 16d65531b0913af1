/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * burst: clients that offer SMC and then say nothing, and what they cost
 * somebody else. Anybody can mark a socket, without the engine.
 *
 *   burst server WAY PORT       echoes, in one thread; WAY is "epoll", "edge"
 *                               which asks for output as well, and for edges,
 *                               or "poll"
 *   burst silent PORT N RUNDIR  connects N times and waits for a signal
 *   burst echo PORT N           N connections one after another, each with
 *                               one echo: prints microseconds
 *   burst held PORT N           N echoes over one connection; the same
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "smc_r/peer/offer.h"

#define CONNECTIONS_MAX 16384
#define BACKLOG         4096
#define EVENTS          256
#define SECONDS_MAX     60

static struct sockaddr_in address_of(const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)atoi(port))};

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Room for all connections, and for what the engine keeps for itself. */
static void raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		die("getrlimit");
	if (l.rlim_cur < CONNECTIONS_MAX) {
		l.rlim_cur =
		    l.rlim_max < CONNECTIONS_MAX ? l.rlim_max : CONNECTIONS_MAX;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* ---- the server ---- */

static int listen_at(const char *port)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (void *)&a, sizeof(a)) < 0 || listen(fd, BACKLOG) < 0)
		die("listen");
	return fd;
}

/* False: it has ended. */
static bool echo_one(int fd)
{
	char bytes[1024];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	if (n < 0)
		return errno == EAGAIN;
	return n > 0 && send(fd, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static void serve_epoll(int listener, uint32_t asked)
{
	struct epoll_event events[EVENTS];
	struct epoll_event e = {.events = EPOLLIN, .data.fd = listener};
	int instance = epoll_create1(0);

	epoll_ctl(instance, EPOLL_CTL_ADD, listener, &e);
	for (;;) {
		int n = epoll_wait(instance, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd != listener && (events[i].events & EPOLLIN) &&
			    !echo_one(fd))
				close(fd);
			if (fd != listener)
				continue;
			fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
			if (fd < 0)
				die("accept");
			e.data.fd = fd;
			e.events = asked;
			epoll_ctl(instance, EPOLL_CTL_ADD, fd, &e);
		}
	}
}

static void serve_poll(int listener)
{
	static struct pollfd fds[CONNECTIONS_MAX];
	nfds_t n = 1;

	fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
	for (;;) {
		if (poll(fds, n, -1) < 0)
			die("poll");
		for (nfds_t i = n - 1; i > 0; i--)
			if (fds[i].revents && !echo_one(fds[i].fd)) {
				close(fds[i].fd);
				fds[i] = fds[--n];
			}
		if (fds[0].revents && n < CONNECTIONS_MAX) {
			fds[n] = (struct pollfd){.events = POLLIN};
			fds[n].fd =
			    accept4(listener, NULL, NULL, SOCK_NONBLOCK);
			if (fds[n++].fd < 0)
				die("accept");
		}
	}
}

/* ---- the clients ---- */

static int connect_to(const char *port, bool marks)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		die("socket");
	if (marks && offer_mark(fd) < 0)
		die("mark");
	if (connect(fd, (void *)&a, sizeof(a)) < 0)
		die("connect");
	return fd;
}

static void be_silent(const char *port, int n, const char *rundir)
{
	uint64_t begun = now_us();

	if (rundir[0] && offer_init(rundir) < 0)
		die("run directory");
	for (int i = 0; i < n; i++)
		connect_to(port, rundir[0]);
	printf("connected in %llu us\n",
	       (unsigned long long)(now_us() - begun));
	fflush(stdout);
	pause();
}

static void ask(int fd)
{
	char bytes[16] = "say this again";
	char back[16];

	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) != sizeof(bytes) ||
	    recv(fd, back, sizeof(back), MSG_WAITALL) != sizeof(back) ||
	    memcmp(bytes, back, sizeof(back)) != 0)
		die("echo");
}

static void ask_often(const char *port, int n, bool held)
{
	uint64_t begun = now_us();
	int fd = held ? connect_to(port, false) : -1;

	for (int i = 0; i < n; i++) {
		if (!held)
			fd = connect_to(port, false);
		ask(fd);
		if (!held)
			close(fd);
	}
	printf("%llu\n", (unsigned long long)(now_us() - begun));
}

int main(int count, char **word)
{
	alarm(SECONDS_MAX);
	raise_limit();
	if (count == 4 && strcmp(word[1], "server") == 0) {
		if (strcmp(word[2], "poll") == 0)
			serve_poll(listen_at(word[3]));
		serve_epoll(listen_at(word[3]),
			    strcmp(word[2], "edge") == 0
				? EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET
				: EPOLLIN);
	}
	if (count == 5 && strcmp(word[1], "silent") == 0)
		be_silent(word[2], atoi(word[3]), word[4]);
	else if (count == 4)
		ask_often(word[2], atoi(word[3]), word[1][0] == 'h');
	return count < 4;
}
