/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_rare: moves that few programs make: signal masks of waits, other kinds
 * of descriptors beside sockets, programs that are started, moves of another
 * thread or out of a handler, instances and listeners that are passed, queues
 * that are full.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "duel.h"

/* A signal that waits to be let in by a wait's mask. */
static void make_masked(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), n = 0;
	struct pollfd p = {fd, (short)(POLLIN | pick(r, 2) * POLLOUT), 0};
	struct timespec t = {0, (long)pick(r, 2) * 20000000};
	struct epoll_event e = {.events = (uint32_t)p.events};
	unsigned how = pick(r, 3);
	sigset_t blocked, open, pending;
	fd_set set;
	int ep = epoll_create1(0);

	sigemptyset(&open);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGURG);
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
	FD_ZERO(&set);
	if (fd >= 0)
		FD_SET(fd, &set);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	if (chance(r, 70))
		raise(SIGURG);
	e.events = 0;
	if (how == 0)
		n = ppoll(&p, 1, &t, &open);
	else if (how == 1)
		n = pselect(fd + 1, &set, NULL, NULL, &t, &open);
	else
		n = epoll_pwait(ep, &e, 1, (int)(t.tv_nsec / 1000000), &open);
	say(g, "masked %d fd=%d how=%u %ld", slot, fd, how, t.tv_nsec);
	say_result(g, n);
	sigpending(&pending);
	say(g, " %x pending=%d",
	    n < 1      ? 0
	    : how == 0 ? (unsigned)p.revents
		       : e.events,
	    sigismember(&pending, SIGURG));
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	close(ep);
}

/* Another kind of descriptor where the eventfd was: ready, or not. */
static void make_thing(struct game *g, struct random *r)
{
	struct itimerspec soon = {{0, 0}, {0, 1}}, late = {{0, 0}, {500, 0}};
	bool ready = chance(r, 60);
	unsigned how = pick(r, 4);
	struct pollfd p;
	sigset_t set;
	int fd = -1, status, old = in(g, EVENT);
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (old >= 0)
		close(old);
	switch (how) {
	case 0:
		fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		timerfd_settime(fd, 0, ready ? &soon : &late, NULL);
		break;
	case 1:
		sigprocmask(SIG_BLOCK, &set, NULL);
		fd = signalfd(-1, &set, SFD_NONBLOCK);
		if (ready)
			raise(SIGUSR2);
		break;
	case 2:
		pid = fork();
		if (!pid)
			_exit(0);
		fd = (int)syscall(SYS_pidfd_open, pid, 0);
		p = (struct pollfd){fd, POLLIN, 0};
		poll(&p, 1, 2000);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		break;
	default:
		fd = epoll_create1(0);
	}
	p = (struct pollfd){fd, POLLIN, 0};
	if (ready && how < 3)
		poll(&p, 1, 2000);
	say(g, "thing how=%u %s", how, ready ? "ready" : "-");
	say_result(g, fd);
	put(g, EVENT, fd);
	known_as(g, fd, 0, 0);
}

struct moved {
	struct game *g;
	struct random *r;
};

static void *thread_main(void *of)
{
	struct moved *m = of;

	game_child(m->g, m->r);
	return NULL;
}

/* A move that another thread makes; it hears the guard. */
static void make_thread(struct game *g, struct random *r)
{
	struct moved m = {g, r};
	pthread_t thread;
	sigset_t alarm;

	say(g, "thread");
	say_end(g);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_create(&thread, NULL, thread_main, &m);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
}

static int handled_fd;
static volatile ssize_t handled;
static volatile int handled_error;

static void on_signal(int number)
{
	int error = errno;
	char bytes[7] = "signal";

	(void)number;
	handled =
	    send(handled_fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
	handled_error = errno;
	errno = error;
}

/* A handler sends while the call that it interrupts waits, or does not. */
static void make_handler(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), n;
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART},
			 old;
	struct itimerval t = {{0, 0}, {0, 20000}};
	struct timespec late = {0, 200000000};
	struct pollfd p = {fd, POLLPRI, 0};
	unsigned how = pick(r, 3);
	char bytes[64];

	if (sendable(g, fd, 7) < 7)
		return;
	handled_fd = fd;
	handled = -2;
	handled_error = 0;
	sigaction(SIGALRM, &a, &old);
	setitimer(ITIMER_REAL, &t, NULL);
	if (how == 0)
		n = poll(&p, 1, 200);
	else if (how == 1)
		n = pselect(0, NULL, NULL, NULL, &late, NULL);
	else
		n = (int)recv(fd, bytes, sizeof(bytes),
			      MSG_PEEK | MSG_DONTWAIT);
	say(g, "handler %d fd=%d how=%u", slot, fd, how);
	say_result(g, n);
	if (how == 0 && n == 1)
		say(g, " %x", (unsigned)p.revents);
	for (int i = 0; i < 1000 && handled == -2; i++)
		usleep(1000);
	sigaction(SIGALRM, &old, NULL);
	was_sent(g, fd, handled);
	errno = handled_error;
	say_result(g, handled);
}

/* All that has been sent is here. */
static bool arrived(const struct game *g, int fd)
{
	const struct table *t = g->table;
	unsigned c = connection_of(g, fd);
	uint32_t due = c ? t->flight[c][t->end[g->side][fd]] : 0;
	int there = 0;

	for (int i = 0; due && !t->odd[c] && i < 200; i++) {
		if (ioctl(fd, FIONREAD, &there) || there == (int)due)
			break;
		usleep(1000);
	}
	return due && there == (int)due && !t->odd[c];
}

static char **environment(bool engine)
{
	static char *without[200];
	extern char **environ;
	int n = 0;

	if (engine)
		return environ;
	for (char **e = environ; *e && n < 199; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
			without[n++] = *e;
	without[n] = NULL;
	return without;
}

/* Starts a program with these as its first two descriptors. */
static int start(int in_fd, int out_fd, char **argv, char **env, bool spawns)
{
	posix_spawn_file_actions_t a;
	int status = -1, error;
	pid_t pid;

	if (!spawns) {
		pid = fork();
		if (!pid) {
			dup2(in_fd, 0);
			dup2(out_fd, 1);
			execve(argv[0], argv, env);
			_exit(127);
		}
	} else {
		posix_spawn_file_actions_init(&a);
		posix_spawn_file_actions_adddup2(&a, in_fd, 0);
		posix_spawn_file_actions_adddup2(&a, out_fd, 1);
		error = posix_spawn(&pid, argv[0], &a, NULL, argv, env);
		posix_spawn_file_actions_destroy(&a);
		if (error)
			return -error;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* A program that reads or writes once, on a descriptor it was given. */
static void make_program(struct game *g, struct random *r)
{
	char count[32], path[] = "/bin/dd", word[] = "if=/dev/zero", block[32],
			status[] = "status=none";
	char *reads[] = {path, count, block, status, NULL};
	char *writes[] = {path, word, count, block, status, NULL};
	int slot = socket_slot(g, r), fd = in(g, slot), pipes[2], ret;
	bool engine = chance(r, 50), spawns = chance(r, 50);
	unsigned size = 1 + pick(r, 400);
	struct pollfd p = {fd, POLLOUT, 0};
	ssize_t n;

	snprintf(count, sizeof(count), "count=1");
	snprintf(block, sizeof(block), "bs=%u", size);
	if (fd < 0 || poll(&p, 1, 0) != 1 || p.revents != POLLOUT ||
	    !connection_of(g, fd))
		return;
	say(g, "program %d fd=%d %s %s %u", slot, fd,
	    engine ? "engine" : "plain", spawns ? "spawn" : "fork", size);
	if (arrived(g, fd)) {
		if (pipe(pipes))
			return;
		ret = start(fd, pipes[1], reads, environment(engine), spawns);
		close(pipes[1]);
		n = read(pipes[0], g->bytes, size);
		close(pipes[0]);
		was_taken(g, fd, n);
		say(g, " read status=%x", (unsigned)ret);
		say_result(g, n);
		say(g, " %08x", sum(g->bytes, n > 0 ? (size_t)n : 0));
	} else if (sendable(g, fd, size) == size &&
		   !g->table->odd[connection_of(g, fd)]) {
		ret = start(0, fd, writes, environment(engine), spawns);
		if (!ret)
			was_sent(g, fd, size);
		say(g, " wrote status=%x", (unsigned)ret);
	}
}

/* Several descriptors in one message: an instance, a listener, sockets. */
static void make_gift(struct game *g, struct random *r)
{
	union {
		struct cmsghdr h;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} u = {0};
	char byte = 'x';
	struct iovec part = {&byte, 1};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = u.bytes,
			   .msg_controllen = sizeof(u.bytes)};
	int slots[2] = {chance(r, 50) ? EPOLL : LISTENER, EPOLL + 1};
	int fds[2] = {in(g, slots[0]), in(g, slots[1])};
	bool closes = chance(r, 30);

	if (g->phase == 0) {
		if (fds[0] < 0)
			fds[0] = FD_UNIX + g->side;
		if (fds[1] < 0)
			fds[1] = FD_UNIX + g->side;
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(sizeof(fds));
		memcpy(CMSG_DATA(&u.h), fds, sizeof(fds));
		say(g, "gift %d %d", slots[0], slots[1]);
		say_result(g, sendmsg(FD_UNIX + g->side, &m, 0));
		if (closes && fds[0] < FD_MAX)
			close(fds[0]);
		return;
	}
	say(g, "gift");
	say_result(g, recvmsg(FD_UNIX + g->side, &m, MSG_DONTWAIT));
	if (m.msg_controllen < CMSG_LEN(sizeof(fds)))
		return;
	memcpy(fds, CMSG_DATA(&u.h), sizeof(fds));
	for (int i = 0; i < 2; i++) {
		int old = in(g, slots[i]);

		say(g, " fd=%d", fds[i]);
		if (old >= 0 && old < FD_MAX)
			close(old);
		known_as(g, fds[i], 0, 0);
		put(g, slots[i], fds[i]);
	}
	if (slots[0] == LISTENER) {
		struct sockaddr_in a = {0};
		socklen_t len = sizeof(a);

		getsockname(fds[0], (struct sockaddr *)&a, &len);
		g->table->ports[g->side] = ntohs(a.sin_port);
	}
}

/* More clients than a listener's queue takes. None is served. */
static void make_backlog(struct game *g, struct random *r)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	static int listener = -1;
	int backlog = (int)pick(r, 2), clients[4];
	struct pollfd p[4];

	if (g->phase == 0) {
		listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (bind(listener, (struct sockaddr *)&a, len) ||
		    listen(listener, backlog) ||
		    getsockname(listener, (struct sockaddr *)&a, &len))
			return;
		g->table->flight[0][0] = ntohs(a.sin_port);
		say(g, "backlog %d fd=%d", backlog, listener);
	} else if (g->phase == 1 && g->table->flight[0][0]) {
		a.sin_port = htons((uint16_t)g->table->flight[0][0]);
		say(g, "backlog clients");
		for (int i = 0; i < 4; i++) {
			clients[i] =
			    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
			say_result(
			    g, connect(clients[i], (struct sockaddr *)&a, len));
			p[i] = (struct pollfd){clients[i], POLLOUT, 0};
			poll(&p[i], 1, 30);
			say(g, " %x", (unsigned)p[i].revents);
		}
		for (int i = 0; i < 4; i++)
			close(clients[i]);
	} else if (g->phase == 2 && g->table->flight[0][0]) {
		int fd;

		g->table->flight[0][0] = 0;
		do {
			fd = accept(listener, NULL, NULL);
			say_result(g, fd);
			if (fd >= 0) {
				char c;

				say_result(g, recv(fd, &c, 1, 0));
				close(fd);
			}
		} while (fd >= 0);
		close(listener);
	}
}

const struct kind rare_kinds[] = {
    {"masked", 1, 6, make_masked},   {"thing", 1, 6, make_thing},
    {"thread", 1, 8, make_thread},   {"handler", 1, 4, make_handler},
    {"program", 1, 5, make_program}, {"gift", 2, 2, make_gift},
    {"backlog", 3, 2, make_backlog}, {0}};
