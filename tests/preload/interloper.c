/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * interloper: a process of another user connects to whatever listens, at the
 * worst moment.
 *
 *   interloper WAY COMMAND...   runs the command, stops it in its second
 *		connect() over IPv4 or IPv6, connects there before it does, with
 *		bytes, and says "interloper: ADDRESS"; WAY says how:
 *		one       once
 *		many      as often as a queue could hold, and more
 *		likeness  from the port that the command connects from
 *   interloper heir FAMILY      has both ends of a connection over IPv4 or 6,
 *		of which one sends a line and is closed; the other becomes the
 *		input of cat, which has no engine
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define NOBODY       65534
#define MANY         16
#define SYSCALL_STOP (SIGTRAP | 0x80)

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* ---- the command that is stopped ---- */

static void become_cat(int fd)
{
	char words[] = "cat", off[] = "SMC_R=0";
	char *const argv[] = {words, NULL};
	char *const environment[] = {off, NULL};

	check(dup2(fd, 0) == 0, "dup2");
	execve("/bin/cat", argv, environment);
	check(false, "execve");
}

static int heir(int family)
{
	union address a = {.v6 = {.sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT}};
	socklen_t n = sizeof(a);
	int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int server;
	char c;

	if (family == AF_INET)
		a.v4 = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_addr.s_addr =
						htonl(INADDR_LOOPBACK)};
	check(!bind(listener, &a.any, n) && !listen(listener, 1) &&
		  !getsockname(listener, &a.any, &n) &&
		  !connect(client, &a.any, n),
	      "a connection");
	server = accept(listener, NULL, NULL);
	send_all(client, "!what was sent\n", 15);
	check(recv(server, &c, 1, 0) == 1 && c == '!', "a byte");
	check(!close(client), "close");
	become_cat(server);
	return 1;
}

/* ---- the other user ---- */

static void intrude(const union address *to, const union address *from)
{
	socklen_t n = sizeof(*to);
	int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);

	check(fd >= 0, "socket");
	if (from)
		check(!bind(fd, &from->any, n), "bind");
	if (!connect(fd, &to->any, n) || errno == EINPROGRESS) {
		(void)!send(fd, "what was not\n", 13, MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
	}
}

/* The address is no longer known: any other one of this host. */
static union address likeness_of(pid_t pid, int number)
{
	union address from;
	socklen_t n = sizeof(from);
	int handle = (int)syscall(SYS_pidfd_open, pid, 0);
	int fd = (int)syscall(SYS_pidfd_getfd, handle, number, 0);

	check(!getsockname(fd, &from.any, &n), "getsockname");
	close(fd);
	close(handle);
	check(from.any.sa_family == AF_INET, "no other address");
	from.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	return from;
}

/* Returns when it has connected; it stays until its parent ends. */
static void come_before(pid_t pid, int number, const union address *to,
			const char *way)
{
	union address from;
	int done[2];
	char c;

	if (!strcmp(way, "likeness"))
		from = likeness_of(pid, number);
	check(!pipe(done), "pipe");
	if (fork() == 0) {
		close(done[0]);
		if (syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = strcmp(way, "many") ? 1 : MANY; i > 0; i--)
			intrude(to, strcmp(way, "likeness") ? NULL : &from);
		close(done[1]);
		for (;;)
			pause();
	}
	close(done[1]);
	check(read(done[0], &c, 1) == 0, "the other user");
	close(done[0]);
}

/* ---- the moment ---- */

static void attack(pid_t pid, int number, const union address *to,
		   const char *way)
{
	char text[INET6_ADDRSTRLEN];
	const void *at = to->any.sa_family == AF_INET
			     ? (const void *)&to->v4.sin_addr
			     : (const void *)&to->v6.sin6_addr;

	come_before(pid, number, to, way);
	fprintf(stderr, "interloper: %s\n",
		inet_ntop(to->any.sa_family, at, text, sizeof(text)));
}

/* Stopped at a system call. Its number of such connects so far. */
static int at_call(pid_t pid, int connects, const char *way)
{
	struct __ptrace_syscall_info i;
	union address to;
	struct iovec here = {&to, sizeof(to)};
	struct iovec there = {NULL, sizeof(to)};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(i), &i) <= 0 ||
	    i.op != PTRACE_SYSCALL_INFO_ENTRY || i.entry.nr != SYS_connect)
		return connects;
	there.iov_base = (void *)(uintptr_t)i.entry.args[1];
	memset(&to, 0, sizeof(to));
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) < 16 ||
	    (to.any.sa_family != AF_INET && to.any.sa_family != AF_INET6))
		return connects;
	if (++connects == 2)
		attack(pid, (int)i.entry.args[0], &to, way);
	return connects;
}

static int watch(pid_t pid, const char *way)
{
	int connects = 0, status, signal = 0;

	check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "a stop");
	check(!ptrace(PTRACE_SETOPTIONS, pid, 0,
		      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
			  PTRACE_O_EXITKILL),
	      "ptrace");
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, 0, signal);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		signal = WSTOPSIG(status);
		if (signal == SYSCALL_STOP)
			connects = at_call(pid, connects, way);
		if (signal == SYSCALL_STOP || signal == SIGTRAP)
			signal = 0;
	}
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "heir"))
		return heir(atoi(argv[2]) == 6 ? AF_INET6 : AF_INET);
	pid = fork();
	if (pid == 0) {
		check(!ptrace(PTRACE_TRACEME, 0, 0, 0), "ptrace");
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		check(false, argv[2]);
	}
	return watch(pid, argv[1]);
}
