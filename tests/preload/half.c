/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * half: two processes that end a connection one half after the other, as the
 * kernel sees it (/proc/net/tcp): its states, and at which end TIME_WAIT is.
 *
 *   half PORT SCENE [strangers]	one that listens on PORT, without
 *				SO_REUSEADDR; says at which end TIME_WAIT was.
 *				strangers: with the rights of two users
 *
 * The client is first in most scenes, and waits for the answer by the call that
 * the scene is named after.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define REQUEST 1000
#define ANSWER  5000
#define LARGE   3000000
#define SEED    7

/* As /proc/net/tcp has them. */
#define FIN_WAIT2  0x05
#define TIME_WAIT  0x06
#define CLOSE_WAIT 0x08

static int port, client_port;
static int to_client[2], to_server[2];
static pid_t client;
static bool strangers;

/* ---- what the kernel knows ---- */

static unsigned state_of(int local, int remote)
{
	FILE *f = fopen("/proc/net/tcp", "r");
	unsigned own, other, state, found = 0;
	char text[256];

	check(f != NULL, "/proc/net/tcp");
	while (!found && fgets(text, sizeof(text), f))
		if (sscanf(text, " %*u: %*x:%x %*x:%x %x", &own, &other,
			   &state) == 3 &&
		    own == (unsigned)local && other == (unsigned)remote)
			found = state;
	fclose(f);
	return found;
}

/* The watchdog ends it. */
static void await_states(unsigned at_client, unsigned at_server)
{
	while (state_of(client_port, port) != at_client ||
	       state_of(port, client_port) != at_server)
		nap_us(1000);
	progress();
}

static const char *time_wait_end(void)
{
	for (;; nap_us(1000)) {
		if (state_of(client_port, port) == TIME_WAIT)
			return state_of(port, client_port) ? "both" : "client";
		if (state_of(port, client_port) == TIME_WAIT)
			return state_of(client_port, port) ? "both" : "server";
	}
}

/* ---- one and the other ---- */

static void go(const int pair[2])
{
	check(write(pair[1], "", 1) == 1, "go");
}

static void await(const int pair[2])
{
	char byte;

	check(read(pair[0], &byte, 1) == 1, "the other process");
	progress();
}

static void put(int fd, size_t n)
{
	unsigned char *bytes = malloc(n);

	check(bytes != NULL, "malloc");
	bytes_fill(bytes, n, SEED, 0);
	send_all(fd, bytes, n);
	free(bytes);
}

static void take(int fd, size_t n, bool to_the_end)
{
	unsigned char *bytes = malloc(n + 1);
	size_t wrong;

	check(bytes != NULL, "malloc");
	check(recv_all(fd, bytes, to_the_end ? n + 1 : n) == n, "bytes");
	check(bytes_match(bytes, n, SEED, 0, &wrong), "other bytes");
	free(bytes);
	progress();
}

static void await_poll(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	check(poll(&p, 1, -1) == 1, "poll");
}

static void await_epoll(int fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	check(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	check(epoll_wait(epoll, &e, 1, -1) == 1, "epoll_wait");
	close(epoll);
}

static void await_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	check(select(fd + 1, &set, NULL, NULL, NULL) == 1, "select");
}

static void set_time_out(int fd, int name)
{
	struct timeval t = {1000, 0};

	check(!setsockopt(fd, SOL_SOCKET, name, &t, sizeof(t)), "time-out");
}

static void await_limited(int fd)
{
	set_time_out(fd, SO_RCVTIMEO);
}

static void await_nothing(int fd)
{
	(void)fd;
}

/* ---- scenes ---- */

static void shut(int fd)
{
	check(!shutdown(fd, SHUT_WR), "shutdown");
}

static void put_and_shut(int fd, size_t n)
{
	put(fd, n);
	shut(fd);
}

static void put_and_close(int fd, size_t n)
{
	put(fd, n);
	close(fd);
}

static void take_all_and_close(int fd, size_t n)
{
	take(fd, n, true);
	close(fd);
}

static void (*wait_for_answer)(int fd) = await_nothing;

/* A request, its end, the answer. */
static void ask(int fd)
{
	put_and_shut(fd, REQUEST);
	wait_for_answer(fd);
	take_all_and_close(fd, ANSWER);
}

static void answer(int fd)
{
	take(fd, REQUEST, true);
	await_states(FIN_WAIT2, CLOSE_WAIT);
	put_and_close(fd, ANSWER);
}

/* All was read when the half is shut. */
static void ask_late(int fd)
{
	put(fd, REQUEST);
	await(to_client);
	shut(fd);
	take_all_and_close(fd, ANSWER);
}

static void ask_nothing(int fd)
{
	shut(fd);
	take_all_and_close(fd, ANSWER);
}

static void answer_nothing(int fd)
{
	take(fd, 0, true);
	await_states(FIN_WAIT2, CLOSE_WAIT);
	put_and_close(fd, ANSWER);
}

static void answer_late(int fd)
{
	take(fd, REQUEST, false);
	go(to_client);
	answer_nothing(fd);
}

/* Makes no call on the socket before its peer has closed. */
static void ask_busy(int fd)
{
	put_and_shut(fd, REQUEST);
	go(to_server);
	await(to_client);
	take_all_and_close(fd, ANSWER);
}

static void answer_busy(int fd)
{
	await(to_server);
	take(fd, REQUEST, true);
	put_and_close(fd, ANSWER);
	go(to_client);
}

/* The answer ends with its process. */
static void answer_and_exit(int fd)
{
	int status;
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (!pid) {
		await(to_server);
		take(fd, REQUEST, true);
		put(fd, ANSWER);
		exit(0);
	}
	close(fd);
	check(waitpid(pid, &status, 0) == pid && !status, "the server");
	go(to_client);
}

/* Both halves are shut before anybody closes: the last to shut closes first. */
static void ask_both(int fd)
{
	put_and_shut(fd, REQUEST);
	take(fd, ANSWER, true);
	go(to_server);
	await(to_client);
	close(fd);
}

static void answer_both(int fd)
{
	take(fd, REQUEST, true);
	put_and_shut(fd, ANSWER);
	await(to_server);
	close(fd);
	go(to_client);
}

/* As HTTP servers do: they are the first to shut, and close last. */
static void ask_lingering(int fd)
{
	put(fd, REQUEST);
	take_all_and_close(fd, ANSWER);
}

static void answer_lingering(int fd)
{
	take(fd, REQUEST, false);
	put_and_shut(fd, ANSWER);
	wait_for_answer(fd);
	take_all_and_close(fd, 0);
}

/* No half is shut. */
static void close_first(int fd)
{
	put(fd, REQUEST);
	await(to_client);
	close(fd);
}

static void close_second(int fd)
{
	take(fd, REQUEST, false);
	go(to_client);
	take_all_and_close(fd, 0);
}

static void close_last(int fd)
{
	put(fd, REQUEST);
	take_all_and_close(fd, 0);
}

static void close_early(int fd)
{
	take(fd, REQUEST, false);
	close(fd);
}

/* ---- answers that the client does not read for a while ---- */

static long used_ms(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000 +
	       (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1000;
}

static void ask_slowly(int fd)
{
	put_and_shut(fd, REQUEST);
	await(to_client);
	await_poll(fd);
	nap_us(300000);
	take_all_and_close(fd, LARGE);
}

/* Never sleeps in the call that sends. */
static void put_large_by(int fd, void (*await_room)(int what), int what)
{
	unsigned char *bytes = malloc(LARGE);

	check(bytes != NULL, "malloc");
	bytes_fill(bytes, LARGE, SEED, 0);
	for (size_t done = 0; done < LARGE;) {
		ssize_t n = send(fd, bytes + done, LARGE - done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		check(n > 0 || errno == EAGAIN, "send");
		if (n > 0)
			done += (size_t)n;
		else
			await_room(what);
	}
	free(bytes);
}

static void await_room(int fd)
{
	struct pollfd p = {fd, POLLOUT, 0};

	check(poll(&p, 1, -1) == 1, "poll");
}

static void put_by_poll(int fd)
{
	put_large_by(fd, await_room, fd);
}

static void await_event(int epoll)
{
	struct epoll_event e;

	check(epoll_wait(epoll, &e, 1, -1) == 1, "epoll_wait");
}

static void put_by_epoll(int fd)
{
	struct epoll_event e = {.events = EPOLLOUT};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	check(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	put_large_by(fd, await_event, epoll);
	close(epoll);
}

static void put_large(int fd)
{
	put(fd, LARGE);
}

static void put_limited(int fd)
{
	set_time_out(fd, SO_SNDTIMEO);
	put(fd, LARGE);
}

/* nginx gives up a peer when it is told that that has shut its half, and it has
 * not sent all; but not for what TCP takes at once. */
static size_t put_until_told(int fd, size_t n, uint32_t edge)
{
	struct epoll_event e = {.events =
				    EPOLLIN | EPOLLOUT | EPOLLRDHUP | edge};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	unsigned char *bytes = malloc(LARGE);
	size_t done = 0;
	char byte;

	check(bytes != NULL, "malloc");
	bytes_fill(bytes, LARGE, SEED, 0);
	take(fd, REQUEST, false);
	check(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	go(to_client);
	for (bool told = false; !told && done < n;) {
		size_t at = done % LARGE;
		ssize_t put = send(fd, bytes + at, LARGE - at,
				   MSG_DONTWAIT | MSG_NOSIGNAL);

		check(put > 0 || errno == EAGAIN, "send");
		done += put > 0 ? (size_t)put : 0;
		if (put > 0)
			continue;
		check(epoll_wait(epoll, &e, 1, -1) == 1, "epoll_wait");
		told = e.events & (EPOLLIN | EPOLLRDHUP);
		progress();
	}
	/* The end is not kept from the writer for ever. */
	while (!(e.events & EPOLLRDHUP))
		check(epoll_wait(epoll, &e, 1, -1) == 1, "epoll_wait");
	check(recv(fd, &byte, 1, 0) == 0, "no end");
	close(epoll);
	free(bytes);
	return done;
}

static void answer_all(int fd)
{
	check(put_until_told(fd, LARGE, EPOLLET) == LARGE, "given up");
	close(fd);
}

static void answer_all_level(int fd)
{
	check(put_until_told(fd, LARGE, 0) == LARGE, "given up");
	close(fd);
}

static void answer_without_end(int fd)
{
	check(put_until_told(fd, SIZE_MAX, EPOLLET) > 0, "nothing sent");
	close(fd);
}

/* The answer has begun, and stands still, when the half is shut. */
static void ask_for_all(int fd)
{
	put(fd, REQUEST);
	await(to_client);
	nap_us(50000);
	shut(fd);
	nap_us(50000);
	take_all_and_close(fd, LARGE);
}

static void ask_without_end(int fd)
{
	char bytes[65536];

	put(fd, REQUEST);
	await(to_client);
	nap_us(50000);
	shut(fd);
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		progress();
	close(fd);
}

static void (*put_answer)(int fd) = put_large;

/* A writer that waits for room behind the FIN sleeps. */
static void answer_slowly(int fd)
{
	int64_t begin;
	long used;

	take(fd, REQUEST, true);
	go(to_client);
	await_states(FIN_WAIT2, CLOSE_WAIT);
	begin = clock_ms();
	used = used_ms();
	put_answer(fd);
	used = used_ms() - used;
	check(used < 100 + (clock_ms() - begin) / 2, "it did not sleep");
	close(fd);
}

/* ---- a client that is killed behind its FIN ---- */

static void ask_and_die(int fd)
{
	put_and_shut(fd, REQUEST);
	await_poll(fd);
	go(to_server);
	pause();
}

static void kill_client(void)
{
	await(to_server);
	check(!kill(client, SIGKILL), "kill");
}

/* A process that kills when the server sleeps, or is about to. */
static pid_t start_killer(void)
{
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (pid)
		return pid;
	nap_us(50000);
	kill_client();
	_exit(0);
}

static void await_error(int fd)
{
	struct pollfd p = {fd, 0, 0};

	check(poll(&p, 1, -1) == 1, "poll");
	check(p.revents & POLLERR, "no error");
}

static void await_error_epoll(int fd)
{
	struct epoll_event e = {.events = 0};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	check(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	check(epoll_wait(epoll, &e, 1, -1) == 1, "epoll_wait");
	check(e.events & EPOLLERR, "no error");
	close(epoll);
}

static void await_error_writing(int fd)
{
	char byte = 0;

	while (send(fd, &byte, 1, MSG_NOSIGNAL) == 1)
		;
	check(errno == EPIPE || errno == ECONNRESET, "no error");
}

static void (*wait_for_error)(int fd) = await_error;

/* Bytes that the client has not read make its death a reset. */
static void answer_dead(int fd)
{
	pid_t killer;

	take(fd, REQUEST, true);
	await_states(FIN_WAIT2, CLOSE_WAIT);
	killer = start_killer();
	put(fd, ANSWER);
	wait_for_error(fd);
	check(waitpid(killer, NULL, 0) == killer, "the killer");
	close(fd);
}

struct scene {
	const char *name;
	void (*client)(int fd);
	void (*server)(int fd);
	void (*wait)(int fd);
	void (*put)(int fd);
	void (*error)(int fd);
};

static const struct scene scenes[] = {
    {"recv", ask, answer, await_nothing, 0, 0},
    {"limited", ask, answer, await_limited, 0, 0},
    {"poll", ask, answer, await_poll, 0, 0},
    {"select", ask, answer, await_select, 0, 0},
    {"epoll", ask, answer, await_epoll, 0, 0},
    {"late", ask_late, answer_late, 0, 0, 0},
    {"nothing", ask_nothing, answer_nothing, 0, 0, 0},
    {"busy", ask_busy, answer_busy, 0, 0, 0},
    {"exit", ask_busy, answer_and_exit, 0, 0, 0},
    {"both", ask_both, answer_both, 0, 0, 0},
    {"close", close_first, close_second, 0, 0, 0},
    {"linger", ask_lingering, answer_lingering, await_nothing, 0, 0},
    {"linger-epoll", ask_lingering, answer_lingering, await_epoll, 0, 0},
    {"early", close_last, close_early, 0, 0, 0},
    {"slow", ask_slowly, answer_slowly, 0, put_large, 0},
    {"slow-limited", ask_slowly, answer_slowly, 0, put_limited, 0},
    {"slow-poll", ask_slowly, answer_slowly, 0, put_by_poll, 0},
    {"slow-epoll", ask_slowly, answer_slowly, 0, put_by_epoll, 0},
    {"all", ask_for_all, answer_all, 0, 0, 0},
    {"all-level", ask_for_all, answer_all_level, 0, 0, 0},
    {"endless", ask_without_end, answer_without_end, 0, 0, 0},
    {"dead-poll", ask_and_die, answer_dead, 0, 0, await_error},
    {"dead-epoll", ask_and_die, answer_dead, 0, 0, await_error_epoll},
    {"dead-send", ask_and_die, answer_dead, 0, 0, await_error_writing},
};

static const struct scene *find(const char *name)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		if (!strcmp(scenes[i].name, name))
			return &scenes[i];
	return NULL;
}

/* ---- the two ---- */

static int listen_here(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(fd >= 0, "socket");
	check(!bind(fd, (struct sockaddr *)&a, sizeof(a)), "bind");
	check(!listen(fd, 16), "listen");
	return fd;
}

static void become(uid_t user)
{
	if (strangers)
		check(!setresuid(user, user, user), "setresuid");
}

static pid_t start_client(const struct scene *s, int listener)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);
	pid_t pid = fork();
	int fd;

	check(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	watchdog_start(60);
	close(listener);
	fd = helper_connect(port);
	check(!getsockname(fd, (struct sockaddr *)&a, &n), "getsockname");
	client_port = ntohs(a.sin_port);
	/* On SMC-R before the rights go. */
	put(fd, 1);
	await(to_client);
	become(65533);
	s->client(fd);
	_exit(0);
}

static void serve(const struct scene *s, int listener)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);
	int fd = accept(listener, (struct sockaddr *)&a, &n);

	check(fd >= 0, "accept");
	client_port = ntohs(a.sin_port);
	close(listener);
	take(fd, 1, false);
	go(to_client);
	become(65534);
	s->server(fd);
}

int main(int argc, char **argv)
{
	const struct scene *s = argc > 2 ? find(argv[2]) : NULL;
	int listener, status = 0;

	check(s != NULL, "usage: half PORT SCENE [strangers]");
	port = atoi(argv[1]);
	strangers = argc > 3;
	if (s->wait)
		wait_for_answer = s->wait;
	if (s->put)
		put_answer = s->put;
	if (s->error)
		wait_for_error = s->error;
	check(!pipe(to_client) && !pipe(to_server), "pipe");
	listener = listen_here();
	client = start_client(s, listener);
	watchdog_start(60);
	serve(s, listener);
	check(waitpid(client, &status, 0) == client, "the client");
	if (s->error)
		return 0;
	check(!status, "the client failed");
	puts(time_wait_end());
	return 0;
}
