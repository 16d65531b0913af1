/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cancelled: a thread that is cancelled asleep in epoll_wait(), or with an
 * argument, one that leaves it by longjmp, leaves nothing behind. So the
 * instance, which has no members, is a forked child's as if nobody had ever
 * slept in it, and the child's connection stays on SMC.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20

static int ep;
static _Atomic int tid;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "cancelled: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *sleeper(void *unused)
{
	struct epoll_event e;

	(void)unused;
	tid = (int)syscall(SYS_gettid);
	epoll_wait(ep, &e, 1, -1);
	return NULL;
}

/* Looks at its system call, which is what the kernel says last of a sleeper. */
static int is_in_epoll(void)
{
	char path[64], text[64] = "";
	long number = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(text, sizeof(text), f))
		number = strtol(text, NULL, 10);
	fclose(f);
	return number == SYS_epoll_wait || number == SYS_epoll_pwait;
}

static void cancel_sleeper(void)
{
	struct timespec nap = {0, 1000000};
	pthread_t thread;
	void *result;

	check(pthread_create(&thread, NULL, sleeper, NULL) == 0, "thread");
	while (!is_in_epoll())
		nanosleep(&nap, NULL);
	check(pthread_cancel(thread) == 0, "cancel");
	check(pthread_join(thread, &result) == 0, "join");
	check(result == PTHREAD_CANCELED, "cancelled");
}

static sigjmp_buf out;

static void on_alarm(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

/* Signals come until one finds it asleep. A later call that is less deep on
 * the stack shows that this one was left. */
static void jump_out(void)
{
	volatile char deep[16384];
	struct itimerval often = {{0, 20000}, {0, 20000}}, never;
	struct epoll_event e;

	memset(&never, 0, sizeof(never));
	deep[0] = (char)(signal(SIGALRM, on_alarm) == SIG_ERR);
	check(deep[0] == 0, "signal");
	if (sigsetjmp(out, 1) == 0) {
		setitimer(ITIMER_REAL, &often, NULL);
		epoll_wait(ep, &e, 1, -1);
		check(0, "epoll_wait");
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

static void serve(int listener)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = accept(listener, NULL, NULL);
	char bytes[100];
	ssize_t n = 1;

	check(fd >= 0, "accept");
	check(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
	while (n > 0) {
		check(epoll_wait(ep, &e, 1, -1) == 1, "epoll_wait");
		n = recv(fd, bytes, sizeof(bytes), 0);
		check(n >= 0, "recv");
		check(send(fd, bytes, (size_t)n, MSG_NOSIGNAL) == n, "send");
	}
	exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof(a);
	int listener, fd, status;
	char bytes[100];

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	check(bind(listener, (void *)&a, n) == 0, "bind");
	check(listen(listener, 1) == 0, "listen");
	check(getsockname(listener, (void *)&a, &n) == 0, "getsockname");
	ep = epoll_create1(0);
	(void)argv;
	if (argc > 1)
		jump_out();
	else
		cancel_sleeper();
	if (fork() == 0)
		serve(listener);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	check(connect(fd, (void *)&a, n) == 0, "connect");
	for (int i = 0; i < ROUNDS; i++) {
		check(send(fd, "round", 5, 0) == 5, "send");
		check(recv(fd, bytes, sizeof(bytes), 0) == 5, "recv");
	}
	check(shutdown(fd, SHUT_WR) == 0, "shutdown");
	check(wait(&status) > 0 && status == 0, "child");
	return 0;
}
