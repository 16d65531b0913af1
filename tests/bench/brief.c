/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * brief: short connections, from several clients to servers of several shapes.
 *
 * A client is a thread: it connects, sends one request, reads its answer and
 * closes, again and again. What accepts is one process that serves in turn, one
 * with a thread or a child for each connection, or eight processes, which share
 * one listener or have one each (SO_REUSEPORT).
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/line.h"

#define WORKERS     8u
#define CLIENTS     256u
#define MESSAGE_MAX 65536u
#define LOOK_US     1000u
#define NS_PER_S    1e9

static const struct trial *trial;
static _Atomic bool counts, ends;

/* ---- Server -------------------------------------------------------------- */

static void serve_one(int fd)
{
	struct line l = {.fd = fd, .epoll_fd = -1};
	char m[MESSAGE_MAX];

	if (line_receive(&l, m, trial->size))
		line_send(&l, m, trial->size);
	line_close(&l);
}

static void *serve_thread(void *fd)
{
	serve_one((int)(intptr_t)fd);
	return NULL;
}

static void serve_by_thread(int fd)
{
	pthread_t id;

	if (pthread_create(&id, NULL, serve_thread, (void *)(intptr_t)fd))
		measure_fail("cannot make a thread");
	pthread_detach(id);
}

static void serve_by_child(int listener, int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		measure_fail("cannot fork");
	if (pid == 0) {
		close(listener);
		serve_one(fd);
		_exit(0);
	}
	close(fd);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static _Noreturn void accept_all(int listener)
{
	for (;;) {
		int fd = line_accept_fd(trial, listener);

		switch (trial->shape) {
		case SHAPE_THREADS:
			serve_by_thread(fd);
			break;
		case SHAPE_CHILDREN:
			serve_by_child(listener, fd);
			break;
		case SHAPE_ONE:
		case SHAPE_SHARE:
		case SHAPE_REUSE:
			serve_one(fd);
		}
	}
}

static pid_t start_worker(int listener, int ready)
{
	pid_t pid = fork();

	if (pid < 0)
		measure_fail("cannot fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (listener < 0)
		listener = line_listen_fd(trial);
	if (write(ready, "", 1) != 1)
		measure_fail("cannot tell that a worker is ready");
	close(ready);
	accept_all(listener);
}

static void await_workers(int ready, unsigned workers)
{
	char byte;

	while (workers--)
		if (read(ready, &byte, 1) != 1)
			measure_fail("a worker ended before it was ready");
	close(ready);
}

/* The client says here that it begins to count, and how many connections it
 * made when it has ended. */
static void await_client(const uint64_t *word)
{
	while (!*(const volatile uint64_t *)word)
		usleep(LOOK_US);
}

/* What its children used that it waited for, in clock ticks. */
static unsigned long ticks_of_children(pid_t pid)
{
	char path[32], text[1024] = "";
	unsigned long user = 0, system = 0;
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(text, sizeof(text), f)) {
		at = strrchr(text, ')');
		if (at)
			sscanf(at,
			       ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			       "%*s %*s %*s %lu %lu",
			       &user, &system);
	}
	fclose(f);
	return user + system;
}

/* Processor time of the workers and their children until now. */
static uint64_t workers_ns(const pid_t *pid, unsigned workers)
{
	const uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t ns = 0;

	for (unsigned i = 0; i < workers; i++) {
		struct timespec used = {0};
		clockid_t clock;

		if (clock_getcpuclockid(pid[i], &clock) == 0)
			clock_gettime(clock, &used);
		ns += (uint64_t)used.tv_sec * 1000000000u +
		      (uint64_t)used.tv_nsec +
		      ticks_of_children(pid[i]) * tick_ns;
	}
	return ns;
}

static void serve(struct trial *t)
{
	bool alone = t->shape != SHAPE_SHARE && t->shape != SHAPE_REUSE;
	unsigned workers = alone ? 1 : WORKERS;
	int listener = t->shape == SHAPE_SHARE ? line_listen_fd(t) : -1;
	pid_t pid[WORKERS];
	uint64_t before;
	int ready[2];

	trial = t;
	if (pipe(ready) < 0)
		measure_fail("cannot make a pipe");
	for (unsigned i = 0; i < workers; i++)
		pid[i] = start_worker(listener, ready[1]);
	close(ready[1]);
	await_workers(ready[0], workers);
	trial_ready(t);
	await_client(&t->shared->client.time_ns);
	before = workers_ns(pid, workers);
	await_client(&t->shared->client.calls);
	t->shared->server.usage.system_ns = workers_ns(pid, workers) - before;
	for (unsigned i = 0; i < workers; i++)
		kill(pid[i], SIGTERM);
	for (unsigned i = 0; i < workers; i++)
		waitpid(pid[i], NULL, 0);
	if (listener >= 0)
		line_listen_end(t, listener);
}

/* ---- Client -------------------------------------------------------------- */

struct client {
	pthread_t id;
	uint64_t made; /* while it was measured */
};

static void transact(char *m)
{
	struct line l = {.fd = line_connect_fd(trial), .epoll_fd = -1};

	line_send(&l, m, trial->size);
	if (!line_receive(&l, m, trial->size))
		measure_fail("the server closed too early");
	line_close(&l);
}

static void *ask_again(void *mine)
{
	struct client *c = mine;
	char m[MESSAGE_MAX] = {0};

	while (!atomic_load(&ends)) {
		transact(m);
		if (atomic_load(&counts))
			c->made++;
	}
	return NULL;
}

static void sleep_ns(uint64_t ns)
{
	usleep((useconds_t)(ns / 1000));
}

/* The first part, in which a port learns what its connections are like, is not
 * counted. */
static void ask(struct trial *t)
{
	static struct client clients[CLIENTS];
	struct finding *f = &t->shared->client;
	uint64_t begin, made = 0;
	struct usage before;

	trial = t;
	for (unsigned i = 0; i < t->busy; i++)
		if (pthread_create(&clients[i].id, NULL, ask_again,
				   &clients[i]))
			measure_fail("cannot make a thread");
	sleep_ns(trial_length_ns(t) / 2);
	atomic_store(&counts, true);
	usage_read(&before);
	begin = measure_now_ns();
	*(volatile uint64_t *)&f->time_ns = 1;
	sleep_ns(trial_length_ns(t));
	f->usage = usage_since(&before);
	f->time_ns = measure_now_ns() - begin;
	atomic_store(&ends, true);
	for (unsigned i = 0; i < t->busy; i++) {
		pthread_join(clients[i].id, NULL);
		made += clients[i].made;
	}
	*(volatile uint64_t *)&f->calls = made ? made : 1;
}

int main(int argc, char **argv)
{
	const struct finding *f;
	struct trial t;

	trial_options(&t, argc, argv, "TrapCStmdnA",
		      "connect, one request and its answer, close; -n clients");
	if (t.size > MESSAGE_MAX || t.busy < 1 || t.busy > CLIENTS) {
		errno = EINVAL;
		measure_fail("-m or -n");
	}
	trial_run(&t, serve, ask);
	if (t.role == ROLE_SERVER)
		return 0;
	f = &t.shared->client;
	printf("connections_s=%.1f cpu_ns=%.0f connections=%llu\n",
	       (double)f->calls * NS_PER_S / (double)f->time_ns,
	       trial_cpu_ns(t.shared), (unsigned long long)f->calls);
	return 0;
}
