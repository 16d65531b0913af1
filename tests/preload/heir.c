/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heir: servers that do not accept from the listener that they made.
 *
 * usage: heir exec PORT PENDING COMMAND [ARGUMENT]...
 *	  heir spawn PORT PENDING COMMAND [ARGUMENT]...
 *	  heir pass PORT PENDING SOCKET
 *	  heir take SOCKET
 *	  heir ring PORT PENDING
 *	  heir serve
 *	  heir ask PORT TEXT
 *	  heir early PORT TEXT
 *	  heir stdio PORT
 *	  heir gift PORT BYTES
 *	  heir slow PORT
 *	  heir late PORT
 *
 * Listens on a port of 127.0.0.1 with descriptor 3 and waits until PENDING (0
 * or 1) connections are there. Then "exec" and "spawn" run a command that
 * inherits the listener and nothing of the environment; "pass"
 * gives it to a process that runs "take"; "ring" sets up io_uring and reads
 * past the C library, as its requests would. "serve" accepts from descriptor 3
 * and answers each line; "ask" prints the answer to one; so
 * does "early", by a stdio stream that it opened before it connected.
 * "gift" sends that many bytes, closes and ends;
 * "slow" accepts when that is done, and counts. "stdio" greets its only client
 *by a stdio stream; "late" is a client that connects without waiting, does
 *nothing for a while, and prints the greeting.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smc_r/os/sys.h"

extern char **environ;

#define LISTENER   3
#define LINE_BYTES 256

/* ---- a connection ---- */

static ssize_t libc_read(int fd, char *out, size_t n)
{
	return read(fd, out, n);
}

static ssize_t bare_read(int fd, char *out, size_t n)
{
	return SYS_CALL3(SYS_read, fd, out, n);
}

static void answer(int fd, ssize_t (*get)(int, char *, size_t))
{
	char line[LINE_BYTES + 8] = "got ";
	size_t n = 4;

	while (n < LINE_BYTES && !memchr(line, '\n', n)) {
		ssize_t k = get(fd, line + n, LINE_BYTES - n);

		if (k <= 0)
			break;
		n += (size_t)k;
	}
	if (write(fd, line, n) != (ssize_t)n)
		warn("write");
	close(fd);
}

static int serve(ssize_t (*get)(int, char *, size_t))
{
	for (;;) {
		int fd = accept(LISTENER, NULL, NULL);

		if (fd < 0)
			err(1, "accept");
		answer(fd, get);
	}
}

static struct sockaddr_in address_of(const char *port)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)atoi(port)),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return a;
}

static int ask(const char *port, const char *text)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char bytes[LINE_BYTES];
	ssize_t n;

	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		err(1, "connect");
	dprintf(fd, "%s\n", text);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		if (write(STDOUT_FILENO, bytes, (size_t)n) != n)
			err(1, "write");
	if (n < 0)
		err(1, "read");
	return 0;
}

static int early(const char *port, const char *text)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	FILE *f = fdopen(fd, "r+");
	char line[LINE_BYTES];

	if (!f || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		err(1, "connect");
	if (fprintf(f, "%s\n", text) < 0 || fflush(f) != 0)
		err(1, "write");
	if (!fgets(line, sizeof(line), f))
		err(1, "read");
	printf("%s", line);
	return 0;
}

static int gift(const char *port, size_t n)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const int size = 1 << 20;
	char *bytes = calloc(1, n);

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		err(1, "connect");
	if (write(fd, bytes, n) != (ssize_t)n)
		err(1, "write");
	close(fd);
	puts("closed");
	return 0;
}

static int late(const char *port)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char bytes[LINE_BYTES];
	ssize_t n;

	(void)connect(fd, (struct sockaddr *)&a, sizeof(a));
	usleep(300000);
	if (poll(&p, 1, 10000) != 1)
		errx(1, "no greeting");
	n = read(fd, bytes, sizeof(bytes));
	if (n <= 0 || write(STDOUT_FILENO, bytes, (size_t)n) != n)
		err(1, "read");
	return 0;
}

/* ---- the listener ---- */

static void listen_at(const char *port, const char *pending)
{
	struct sockaddr_in a = address_of(port);
	struct pollfd p = {.fd = LISTENER, .events = POLLIN};
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 8) < 0)
		err(1, "port %s", port);
	if (fd != LISTENER) {
		dup2(fd, LISTENER);
		close(fd);
	}
	if (atoi(pending) && poll(&p, 1, -1) < 0)
		err(1, "poll");
}

static int run(char **argv, bool spawn)
{
	char path[] = "PATH=/usr/bin:/bin";
	char *env[] = {path, NULL};
	pid_t pid;

	/* As programs do that show a title in ps. */
	for (char **e = environ; *e; e++)
		memset(*e, 'x', strlen(*e));

	if (!spawn) {
		execve(argv[0], argv, env);
		err(1, "%s", argv[0]);
	}
	errno = posix_spawn(&pid, argv[0], NULL, NULL, argv, env);
	if (errno)
		err(1, "%s", argv[0]);
	close(LISTENER);
	waitpid(pid, NULL, 0);
	return 0;
}

/* ---- from hand to hand ---- */

static int meet(const char *path, bool first)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (first) {
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
		    listen(fd, 1) < 0)
			err(1, "%s", path);
		return accept(fd, NULL, NULL);
	}
	while (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		usleep(10000);
	return fd;
}

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

static int pass(const char *path)
{
	union control control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	char byte = 0;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	const int fd = LISTENER;

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(meet(path, false), &m, 0) != 1)
		err(1, "sendmsg");
	return 0;
}

static int take(const char *path)
{
	union control control;
	char byte;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	int fd;

	if (recvmsg(meet(path, true), &m, 0) != 1)
		err(1, "recvmsg");
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	dup2(fd, LISTENER);
	return serve(libc_read);
}

static int ring(void)
{
	struct io_uring_params p = {0};

	if (syscall(SYS_io_uring_setup, 4, &p) < 0) {
		puts("no io_uring");
		return 77;
	}
	return serve(bare_read);
}

static int slow(void)
{
	struct pollfd p = {.fd = LISTENER, .events = POLLIN};
	char bytes[4096];
	size_t sum = 0;
	ssize_t n;
	int fd;

	/* However long the client took to come. */
	poll(&p, 1, -1);
	sleep(1);
	fd = accept(LISTENER, NULL, NULL);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		sum += (size_t)n;
	if (n < 0)
		warn("read");
	printf("%zu\n", sum);
	return 0;
}

static int stdio(void)
{
	int fd = accept(LISTENER, NULL, NULL);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r+");
	int c;

	if (!f)
		err(1, "accept");
	fprintf(f, "hello\n");
	fflush(f);
	while ((c = fgetc(f)) != EOF)
		putchar(c);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "serve") == 0)
		return serve(libc_read);
	if (strcmp(what, "take") == 0 && argc == 3)
		return take(argv[2]);
	if (strcmp(what, "ask") == 0 && argc == 4)
		return ask(argv[2], argv[3]);
	if (strcmp(what, "early") == 0 && argc == 4)
		return early(argv[2], argv[3]);
	if (strcmp(what, "late") == 0 && argc == 3)
		return late(argv[2]);
	if (strcmp(what, "gift") == 0 && argc == 4)
		return gift(argv[2], (size_t)atol(argv[3]));
	if (argc == 3) {
		listen_at(argv[2], "0");
		return strcmp(what, "stdio") == 0 ? stdio() : slow();
	}
	if (argc < 4)
		errx(2, "usage: see the head of heir.c");
	listen_at(argv[2], argv[3]);
	if (strcmp(what, "ring") == 0)
		return ring();
	if (strcmp(what, "pass") == 0 && argc == 5)
		return pass(argv[4]);
	return run(argv + 4, strcmp(what, "spawn") == 0);
}
