/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * escape: an echo between two processes over one connection, and on demand a
 * system call that goes past every wrapper, to see the leak detector notice.
 *
 *   escape none|read|write|poll
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 50

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "escape: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* As a program without the C library does it. Not inlined: beside its number
 * the instruction would be found, and the program stay on TCP (raw_syscalls.h).
 */
__attribute__((noinline)) static long bare_syscall(long number, long a, long b,
						   long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

static void serve(int listener)
{
	char bytes[1000];
	int fd = accept(listener, NULL, NULL);
	ssize_t n;

	check(fd >= 0, "accept");
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		check(send(fd, bytes, (size_t)n, 0) == n, "send");
	_exit(0);
}

static void escape(const char *how, int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	char byte = 0;

	if (!strcmp(how, "read"))
		bare_syscall(SYS_read, fd, (long)&byte, 0);
	else if (!strcmp(how, "write"))
		bare_syscall(SYS_write, fd, (long)&byte, 0);
	else if (!strcmp(how, "poll"))
		bare_syscall(SYS_poll, (long)&p, 1, 0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	char bytes[1000] = "";
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int fd;
	pid_t pid;

	check(!bind(listener, (struct sockaddr *)&a, len) &&
		  !listen(listener, 1) &&
		  !getsockname(listener, (struct sockaddr *)&a, &len),
	      "listen");
	pid = fork();
	if (!pid)
		serve(listener);
	close(listener);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	check(!connect(fd, (struct sockaddr *)&a, len), "connect");
	for (int i = 0; i < ROUNDS; i++) {
		check(send(fd, bytes, sizeof(bytes), 0) == sizeof(bytes),
		      "send");
		check(recv(fd, bytes, sizeof(bytes), MSG_WAITALL) ==
			  sizeof(bytes),
		      "recv");
	}
	if (argc > 1)
		escape(argv[1], fd);
	close(fd);
	waitpid(pid, NULL, 0);
	return 0;
}
