/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * numbers: a program and its server use up all their descriptors. What they
 * could have is printed: the library must not take any of it away, and each
 * connection must carry its bytes to the end.
 *
 *   numbers sockets LIMIT	connections that are used, until either has no
 *				number left; then sockets
 *   numbers unread LIMIT	the server reads nothing before it has none left
 *   numbers files LIMIT	some connections, and then files and pipes
 *   numbers CALL LIMIT	some connections, and then what this call makes
 *
 * Prints what the server accepted, and what the client opened in all.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "socket_helpers.h"

#define BLOCK    1000
#define FDS_MAX  2048
#define SOME     10  /* connections before the files */
#define QUIET_MS 300 /* the server has accepted what it can */

static void limit_to(rlim_t n)
{
	struct rlimit l = {n, n};

	closefrom(3);
	check(setrlimit(RLIMIT_NOFILE, &l) == 0, "setrlimit");
}

/* ---- the server ---- */

static void echo_once(int fd)
{
	char block[BLOCK];
	size_t n = recv_all(fd, block, sizeof(block));

	if (n == 0)
		close(fd);
	else
		send_all(fd, block, n);
}

static void watch(int ep, int fd, int op)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	check(epoll_ctl(ep, op, fd, &e) == 0, "epoll_ctl");
}

/* False: none is left. */
static bool accept_one(int listener, int ep)
{
	int fd = accept(listener, NULL, NULL);

	if (fd >= 0)
		watch(ep, fd, EPOLL_CTL_ADD);
	else
		check(errno == EMFILE, "accept");
	return fd >= 0;
}

/* What it accepted goes to the client when it has stopped to accept. */
static void serve(int listener, int report, bool first_all)
{
	int ep = epoll_create1(0);
	int accepted = 0;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	watch(ep, listener, EPOLL_CTL_ADD);
	for (;;) {
		struct epoll_event e;

		if (epoll_wait(ep, &e, 1, -1) != 1)
			continue;
		if (e.data.fd != listener) {
			echo_once(e.data.fd);
			continue;
		}
		do {
			if (accept_one(listener, ep)) {
				accepted++;
				continue;
			}
			watch(ep, listener, EPOLL_CTL_DEL);
			check(write(report, &accepted, sizeof(accepted)) ==
				  sizeof(accepted),
			      "report");
			first_all = false;
		} while (first_all);
	}
}

/* ---- the client ---- */

static int opened[FDS_MAX];
static int count, connected;

static bool keep(int fd)
{
	if (fd < 0)
		check(errno == EMFILE, "a descriptor");
	else
		opened[count++] = fd;
	return fd >= 0;
}

static bool is_answered(int fd, uint32_t seed)
{
	unsigned char block[BLOCK];
	size_t wrong;

	if (recv(fd, block, 1, 0) != 1)
		return false;
	check(recv_all(fd, block + 1, BLOCK - 1) == BLOCK - 1, "an answer");
	check(bytes_match(block, BLOCK, seed, 0, &wrong), "its bytes");
	return true;
}

static void ask(int fd, uint32_t seed)
{
	unsigned char block[BLOCK];

	bytes_fill(block, BLOCK, seed, 0);
	send_all(fd, block, BLOCK);
}

/* One connection more; false: no number is left. */
static bool add_connection(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval quiet = {0, QUIET_MS * 1000};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (!keep(fd))
		return false;
	check(!connect(fd, (struct sockaddr *)&a, sizeof(a)), "connect");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet));
	ask(fd, (uint32_t)count);
	progress();
	return true;
}

/* Until the server answers no more, or nothing is left. */
static void connect_many(int port, int most, bool answers)
{
	while (connected < most && add_connection(port)) {
		if (answers && !is_answered(opened[count - 1], (uint32_t)count))
			break;
		connected++;
	}
}

static void open_files(void)
{
	int ends[2];

	while (keep(open("/dev/null", O_RDONLY | O_CLOEXEC)) &&
	       keep(openat(AT_FDCWD, "/dev/null", O_RDONLY)) && pipe(ends) == 0)
		check(keep(ends[0]) && keep(ends[1]), "a pipe");
	while (keep(dup(0)))
		;
}

static int open_creat(void)
{
	return creat("/dev/null", 0600);
}

static int open_timerfd(void)
{
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static int open_signalfd(void)
{
	sigset_t none;

	sigemptyset(&none);
	return signalfd(-1, &none, 0);
}

static int open_memfd(void)
{
	return memfd_create("numbers", 0);
}

static int open_inotify(void)
{
	return inotify_init1(0);
}

static const struct call {
	const char *name;
	int (*open)(void);
} calls[] = {
    {"creat", open_creat},           {"timerfd_create", open_timerfd},
    {"signalfd", open_signalfd},     {"memfd_create", open_memfd},
    {"inotify_init1", open_inotify}, {"inotify_init", inotify_init},
};

static const struct call *call_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	return NULL;
}

static void use_all(int n)
{
	for (int i = 0; i < n; i++)
		ask(opened[i], (uint32_t)i + 7);
	for (int i = 0; i < n; i++)
		check(is_answered(opened[i], (uint32_t)i + 7), "all are used");
	progress();
}

static void play(const char *what, int port, int report)
{
	const struct call *call = call_of(what);
	int accepted = 0;

	if (call || strcmp(what, "files") == 0) {
		connect_many(port, SOME, true);
		if (call)
			while (keep(call->open()))
				;
		else
			open_files();
		accepted = connected;
	} else {
		bool unread = strcmp(what, "unread") == 0;

		connect_many(port, FDS_MAX, !unread);
		while (keep(socket(AF_INET, SOCK_STREAM, 0)))
			;
		check(read(report, &accepted, sizeof(accepted)) ==
			  sizeof(accepted),
		      "what was accepted");
		for (int i = 0; unread && i < accepted; i++)
			check(is_answered(opened[i], (uint32_t)i + 1),
			      "what was unread");
	}
	use_all(accepted);
	use_all(accepted);
	printf("%d %d\n", accepted, count);
}

int main(int argc, char **argv)
{
	int report[2];
	int port;
	int listener;
	pid_t pid;

	check(argc == 3, "two arguments");
	watchdog_start(20);
	limit_to((rlim_t)atoi(argv[2]));
	listener = helper_listen(&port);
	check(pipe(report) == 0, "pipe");
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0)
		serve(listener, report[1], strcmp(argv[1], "unread") == 0);
	close(listener);
	close(report[1]);
	play(argv[1], port, report[0]);
	kill(pid, SIGKILL);
	return 0;
}
