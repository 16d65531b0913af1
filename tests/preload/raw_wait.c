/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * raw_wait: a server that makes its sockets, and reads and writes, by libc, and
 * waits by an instruction of its own, as Bun and Rust's rustix do.
 *
 *   raw_wait PORT COUNT [deferred]
 *
 * Answers so many lines, each with "got LINE"; with "deferred" its listener has
 * TCP_DEFER_ACCEPT, set after listen(), as Bun's has.
 *
 * Exit: 77 where we know no such instruction.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
/* epoll_pwait2 without a time-out; its number is an immediate. */
static long next_event(int set, struct epoll_event *e)
{
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long result;

	__asm__ volatile("movl %1, %%eax\n\tsyscall"
			 : "=&a"(result)
			 : "i"(SYS_epoll_pwait2), "D"(set), "S"(e), "d"(1),
			   "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}

static int add(int set, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
}

static int answer(int fd)
{
	char line[200] = "got ";
	ssize_t n = recv(fd, line + 4, sizeof(line) - 4, 0);

	if (n <= 0 || send(fd, line, (size_t)n + 4, 0) != n + 4)
		return 1;
	return close(fd) != 0;
}

static int listener_on(int port, bool deferred)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 8)) {
		perror("raw_wait");
		return -1;
	}
	if (deferred &&
	    setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof(one)))
		return -1;
	return fd;
}

static int serve(int port, int count, bool deferred)
{
	int listener = listener_on(port, deferred);
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e;

	if (listener < 0 || set < 0 || add(set, listener))
		return 1;
	while (count > 0) {
		if (next_event(set, &e) != 1)
			return 1;
		if (e.data.fd == listener) {
			int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

			if (fd >= 0 && add(set, fd))
				return 1;
		} else {
			if (answer(e.data.fd))
				return 1;
			count--;
		}
	}
	return 0;
}
#endif

int main(int argc, char **argv)
{
#ifdef __x86_64__
	return argc >= 3 ? serve(atoi(argv[1]), atoi(argv[2]), argc > 3) : 2;
#else
	(void)argc;
	(void)argv;
	return 77;
#endif
}
