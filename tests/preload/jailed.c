/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * jailed: a server that confines itself between listen() and accept(), while
 * clients are in its queue, to as few calls as such a server needs. Two more
 * come when the filter stands.
 *
 *   jailed accept|poll|select|epoll|late PORT
 *	accept: without asking first; late: registers the listener with its
 *	epoll instance when it is confined
 *   jailed client PORT NUMBER
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EARLY 4
#define LATE  2
#define ROOM  100

extern char **environ;

static int listener, ep = -1;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void nap_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static struct sockaddr_in at(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return a;
}

/* ---- client ---- */

static int client(int port, const char *number)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = at(port);
	char text[ROOM], answer[ROOM];
	int n = snprintf(text, sizeof(text), "I am number %s.\n", number);

	alarm(10);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    write(fd, text, (size_t)n) != n)
		fail("client");
	if (read(fd, answer, sizeof(answer)) != n || memcmp(text, answer, n)) {
		fprintf(stderr, "client %s: no echo\n", number);
		return 1;
	}
	return read(fd, answer, sizeof(answer)) != 0;
}

static pid_t spawn_client(char *self, char *port, int number)
{
	char text[16];
	char *argv[] = {self, (char *)(uintptr_t) "client", port, text, NULL};
	pid_t pid;

	snprintf(text, sizeof(text), "%d", number);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
		fail("spawn");
	return pid;
}

/* ---- server ---- */

static void confine(void)
{
	static const int allowed[] = {
	    SYS_accept,     SYS_read,        SYS_write,      SYS_close,
	    SYS_poll,       SYS_select,      SYS_pselect6,   SYS_epoll_ctl,
	    SYS_epoll_wait, SYS_epoll_pwait, SYS_exit_group, SYS_wait4,
	};
	enum {
		COUNT = sizeof(allowed) / sizeof(*allowed)
	};
	struct sock_filter f[COUNT + 3];
	struct sock_fprog p = {COUNT + 3, f};

	f[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr));
	for (int i = 0; i < COUNT; i++)
		f[i + 1] = (struct sock_filter)BPF_JUMP(
		    BPF_JMP | BPF_JEQ | BPF_K, allowed[i], (uint8_t)(COUNT - i),
		    0);
	f[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						    SECCOMP_RET_KILL_PROCESS);
	f[COUNT + 2] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		fail("filter");
}

static void register_listener(void)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = 4711};

	if (epoll_ctl(ep, EPOLL_CTL_ADD, listener, &e))
		fail("epoll_ctl");
}

/* Until somebody waits in the queue. */
static void await(const char *how)
{
	struct pollfd p = {listener, POLLIN, 0};
	struct epoll_event e;
	fd_set s;

	FD_ZERO(&s);
	FD_SET(listener, &s);
	if (ep >= 0 && (epoll_wait(ep, &e, 1, 8000) != 1 || e.data.u64 != 4711))
		fail("epoll_wait");
	if (!strcmp(how, "poll") && (poll(&p, 1, 8000) != 1 || p.revents != 1))
		fail("poll");
	if (!strcmp(how, "select") &&
	    (select(listener + 1, &s, NULL, NULL, NULL) != 1 ||
	     !FD_ISSET(listener, &s)))
		fail("select");
}

static void serve(const char *how)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);
	char text[ROOM];
	ssize_t got;
	int fd;

	await(how);
	fd = accept(listener, (struct sockaddr *)&a, &n);
	if (fd < 0 || a.sin_family != AF_INET || n != sizeof(a))
		fail("accept");
	got = read(fd, text, sizeof(text));
	if (got <= 0 || write(fd, text, (size_t)got) != got)
		fail("echo");
	close(fd);
}

/* When nobody is in the queue, none is reported. */
static void check_empty(const char *how)
{
	struct pollfd p = {listener, POLLIN, 0};
	struct epoll_event e;

	if (ep >= 0 && epoll_wait(ep, &e, 1, 0) != 0)
		fail("epoll_wait of nobody");
	if (!strcmp(how, "poll") && poll(&p, 1, 0) != 0)
		fail("poll of nobody");
}

/* So many have come, and their Proposals, if they make one. */
static void await_queue(unsigned clients)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);

	while (info.tcpi_unacked < clients) {
		nap_ms(20);
		if (getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &n))
			fail("TCP_INFO");
	}
	nap_ms(100);
}

static int server(char *self, const char *how, char *port)
{
	struct sockaddr_in a = at(atoi(port));
	int status, failed = 0, yes = 1, go[2];
	char text[1];

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(listener, 64))
		fail("listen");
	if (!strcmp(how, "epoll") || !strcmp(how, "late"))
		ep = epoll_create1(EPOLL_CLOEXEC);
	if (!strcmp(how, "epoll"))
		register_listener();
	for (int i = 0; i < EARLY; i++)
		spawn_client(self, port, i);
	if (pipe(go))
		fail("pipe");
	if (fork() == 0) {
		close(listener);
		if (read(go[0], text, 1) != 1)
			fail("go");
		for (int i = 0; i < LATE; i++)
			spawn_client(self, port, EARLY + i);
		while (wait(&status) > 0)
			failed |= status;
		_exit(failed != 0);
	}
	await_queue(EARLY);
	confine();
	if (!strcmp(how, "late"))
		register_listener();
	for (int i = 0; i < EARLY; i++)
		serve(how);
	check_empty(how);
	if (write(go[1], "", 1) != 1)
		fail("go");
	for (int i = 0; i < LATE; i++)
		serve(how);
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "client"))
		return client(atoi(argv[2]), argv[3]);
	if (argc == 3)
		return server(argv[0], argv[1], argv[2]);
	fprintf(stderr, "usage: jailed accept|poll|select|epoll|late PORT\n"
			"       jailed client PORT NUMBER\n");
	return 2;
}
