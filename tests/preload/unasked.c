/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * unasked: a server that is killed between the kernel's accept and the first
 * question that the engine asks about the socket. To its client it has closed:
 * the first write goes.
 *
 *   unasked waits	the client's connect() waited, and its write waits
 *   unasked polls	the client does not block, and polled before
 *
 * Prints how the server ended: "asked", or "alone" where it asks nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "socket_helpers.h"

#define LEVEL        0x534d4358 /* of the engine's questions: option.h */
#define SYSCALL_STOP (SIGTRAP | 0x80)

static pid_t server_start(int listener)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	check(!ptrace(PTRACE_TRACEME, 0, 0, 0), "ptrace");
	raise(SIGSTOP);
	if (accept(listener, NULL, NULL) >= 0)
		raise(SIGKILL);
	_exit(1);
}

/* At the entry of the question? */
static bool asks(pid_t pid)
{
	struct __ptrace_syscall_info info = {.op = 0};

	ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
	return info.op == PTRACE_SYSCALL_INFO_ENTRY &&
	       info.entry.nr == SYS_getsockopt && info.entry.args[1] == LEVEL;
}

/* True: killed as it asked. */
static bool server_end(pid_t pid)
{
	bool asked = false;
	int status;

	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) == SYSCALL_STOP && asks(pid)) {
			asked = true;
			kill(pid, SIGKILL);
			continue;
		}
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
	}
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "the server was not killed");
	return asked;
}

static void trace(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status),
	      "the server does not stop");
	check(!ptrace(PTRACE_SETOPTIONS, pid, 0,
		      PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
	      "ptrace");
}

static int client_make(int port, bool waits)
{
	int fd = socket(AF_INET, SOCK_STREAM | (waits ? 0 : SOCK_NONBLOCK), 0);
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int result = connect(fd, (struct sockaddr *)&a, sizeof(a));

	check(result == 0 || errno == EINPROGRESS, "connect");
	check(waits || poll(&p, 1, 0) == 0, "news of a young connection");
	return fd;
}

/* In a process of its own, as it writes while the server is being killed. */
static pid_t client_start(int port, bool waits, int ready)
{
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	fd = client_make(port, waits);
	check(write(ready, "", 1) == 1, "a pipe");
	if (!waits) {
		struct pollfd p = {.fd = fd, .events = POLLRDHUP};

		check(poll(&p, 1, 10000) == 1, "no end of the server");
	}
	check(send(fd, "first", 5, MSG_NOSIGNAL) == 5, "the first write");
	_exit(0);
}

int main(int argc, char **argv)
{
	bool waits = argc > 1 && !strcmp(argv[1], "waits");
	int port, listener = helper_listen(&port), ready[2], status;
	pid_t server, client;
	bool asked;
	char byte;

	watchdog_start(20);
	check(!pipe(ready), "pipe");
	server = server_start(listener);
	trace(server);
	client = client_start(port, waits, ready[1]);
	check(read(ready[0], &byte, 1) == 1, "no client");
	/* Its Proposal lies in the queue when the server is killed. */
	nap_us(waits ? 50000 : 0);
	ptrace(PTRACE_SYSCALL, server, 0, 0);
	asked = server_end(server);
	check(waitpid(client, &status, 0) == client && status == 0,
	      "the client failed");
	puts(asked ? "asked" : "alone");
	return 0;
}
