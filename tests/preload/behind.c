/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * behind: a thread sleeps in an epoll instance with a connection whose acceptor
 * is late, and another thread looks at that instance for something else. What
 * it meets there, perhaps the end of the handshake, and then looks no more, the
 * sleeper must still be told of.
 *
 *   behind ROUNDS
 *
 * The sleeper runs when nothing else does, on the processor of the other one.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

/* Longer than a handshake has time (SMC_R_HANDSHAKE), after which nobody looks
 * by the clock. */
#define ACCEPT_US 30000
#define BYTE_US   20000
#define LOOKS_MAX 20u

/* The acceptor is at it. */
static _Atomic int *accepts;

/* Accepts late, and says one byte when the looks are over. */
_Noreturn static void server(int listener)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd, instance = epoll_create1(0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	epoll_ctl(instance, EPOLL_CTL_ADD, listener, &e);
	for (;;) {
		epoll_wait(instance, &e, 1, -1);
		nap_us(ACCEPT_US);
		atomic_store(accepts, 1);
		fd = accept(listener, NULL, NULL);
		check(fd >= 0, "accept");
		nap_us(BYTE_US);
		send_all(fd, "x", 1);
		check(recv(fd, &(char){0}, 1, 0) == 0, "the end");
		close(fd);
	}
}

static void watch(int instance, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.fd = fd};

	check(!epoll_ctl(instance, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
}

struct sleeper {
	int instance, fd;
};

static void *sleep_for(void *of)
{
	struct sched_param none = {0};
	const struct sleeper *s = of;
	struct epoll_event e;
	int n;

	pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
	do
		n = epoll_wait(s->instance, &e, 1, -1);
	while ((n < 0 && errno == EINTR) || (n == 1 && e.data.fd != s->fd));
	check(n == 1 && e.events == EPOLLIN, "epoll_wait");
	return NULL;
}

static void round_of(int port, unsigned looks)
{
	struct sleeper s = {epoll_create1(0), helper_connect(port)};
	int other = eventfd(0, EFD_NONBLOCK);
	struct epoll_event e[2];
	pthread_t thread;
	char c;

	watch(s.instance, s.fd, EPOLLIN);
	watch(s.instance, other, EPOLLIN | EPOLLET);
	check(!pthread_create(&thread, NULL, sleep_for, &s), "thread");
	nap_us(ACCEPT_US - 5000);
	while (!atomic_load(accepts) || looks-- > 0) {
		eventfd_write(other, 1);
		epoll_wait(s.instance, e, 2, 0);
	}
	pthread_join(thread, NULL);
	check(recv(s.fd, &c, 1, 0) == 1, "the byte");
	atomic_store(accepts, 0);
	close(s.fd);
	close(s.instance);
	close(other);
	progress();
}

int main(int argc, char **argv)
{
	int port, listener = helper_listen(&port);
	uint64_t random = 1;
	cpu_set_t one;
	pid_t pid;

	check(argc == 2, "behind ROUNDS");
	accepts = mmap(NULL, sizeof(*accepts), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		server(listener);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	watchdog_start(5);
	for (int i = 0; i < (int)strtol(argv[1], NULL, 10); i++)
		round_of(port, dice(&random, LOOKS_MAX));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
