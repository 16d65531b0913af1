/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * vforked: a client whose children share its memory, and close its connection:
 * it stays in their parent's list.
 *
 *	vforked PORT vfork|clone
 *
 * Says "open" when the children have ended, and waits for a line; then it
 * closes the connection, says "closed", and waits for another one.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define STACK_BYTES 65536

static int fd;

static void by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		close(fd);
		_exit(0);
	}
	check(waitpid(pid, NULL, 0) == pid, "vfork");
	/* Its own calls between two of them. */
	close(dup(0));
}

static int end_of_clone(void *unused)
{
	(void)unused;
	close(fd);
	_exit(0);
}

/* The parent runs on meanwhile: its own calls say nothing of the child. */
static void by_clone(int more)
{
	char *stack = malloc(STACK_BYTES);
	pid_t pid;

	check(stack != NULL, "malloc");
	pid = clone(end_of_clone, stack + STACK_BYTES,
		    CLONE_VM | more | SIGCHLD, NULL);
	close(dup(0));
	check(waitpid(pid, NULL, 0) == pid, "clone");
	free(stack);
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
}

int main(int argc, char **argv)
{
	char byte;

	check(argc == 3, "vforked PORT vfork|clone");
	fd = helper_connect(atoi(argv[1]));
	for (int i = 0; i < 3; i++)
		if (argv[2][0] == 'v')
			by_vfork();
		else
			by_clone(i ? 0 : CLONE_VFORK);
	send_all(fd, "x", 1);
	check(recv_all(fd, &byte, 1) == 1, "the connection is as it was");
	say("open");
	close(fd);
	say("closed");
	return 0;
}
