/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * idle: what open connections cost while nothing happens on them.
 *
 * -k connections carry one message each and are then left alone while both
 * processes sleep in epoll_wait for -t seconds. Counted are the context
 * switches of all threads in that time, the processor time, and how much
 * memory the processes gained by the connections. The line "idle" is
 * printed when the wait begins, for a script that looks from outside.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "tests/bench/crowd.h"

/* The value after `name` in a file of /proc; 0 when it is not there. */
static uint64_t field_of(const char *path, const char *name)
{
	unsigned long long value = 0;
	char text[256];
	FILE *f = fopen(path, "r");

	if (!f)
		return 0;
	while (fgets(text, sizeof(text), f))
		if (!strncmp(text, name, strlen(name)))
			value = strtoull(text + strlen(name), NULL, 10);
	fclose(f);
	return value;
}

/* Context switches of every thread of this process so far. */
static uint64_t switches(void)
{
	char path[512];
	struct dirent *d;
	uint64_t sum = 0;
	DIR *tasks = opendir("/proc/self/task");

	if (!tasks)
		measure_fail("cannot list the threads in /proc/self/task");
	while ((d = readdir(tasks))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status",
			 d->d_name);
		sum += field_of(path, "voluntary_ctxt_switches:");
	}
	closedir(tasks);
	return sum;
}

/* This process's share of memory, in bytes. */
static uint64_t memory(void)
{
	return field_of("/proc/self/smaps_rollup", "Pss:") * 1024;
}

static void sleep_beside(struct crowd *c, const struct trial *t,
			 struct finding *f)
{
	uint64_t end = measure_now_ns() + trial_length_ns(t);
	struct epoll_event e;
	struct usage before;
	uint64_t at_start;
	uint64_t now;

	at_start = switches();
	usage_read(&before);
	while ((now = measure_now_ns()) < end)
		if (epoll_wait(c->epoll_fd, &e, 1,
			       (int)((end - now) / 1000000 + 1)) > 0)
			measure_fail("an idle connection became ready");
	/* One switch is the wait that was asked for. */
	f->wakeups = switches() - at_start - 1;
	f->usage = usage_since(&before);
}

static void serve(struct trial *t)
{
	struct finding *f = &t->shared->server;
	struct trial shorter = *t;
	uint64_t empty = memory();
	struct crowd c;

	crowd_accept(&c, t, t->idle);
	crowd_echo(&c, t, t->idle);
	f->memory_bytes = memory() - empty;
	/* The client closes when its time is over: be done before that. */
	shorter.seconds *= 0.8;
	sleep_beside(&c, &shorter, f);
	crowd_echo(&c, t, 0);
	crowd_close(&c);
}

static void ask(struct trial *t)
{
	struct finding *f = &t->shared->client;
	uint64_t empty = memory();
	uint64_t took_ns;
	struct crowd c;

	crowd_connect(&c, t, t->idle);
	crowd_ask(&c, t, t->idle, 0, &took_ns);
	f->memory_bytes = memory() - empty;
	puts("idle");
	fflush(stdout);
	sleep_beside(&c, t, f);
	crowd_close(&c);
}

static void print_end(const char *end, const struct finding *f, double seconds)
{
	printf("%s_wakeups_s=%.2f %s_cpu_us_s=%.1f %s_memory_bytes=%llu ", end,
	       (double)f->wakeups / seconds, end,
	       (double)(f->usage.user_ns + f->usage.system_ns) / 1e3 / seconds,
	       end, (unsigned long long)f->memory_bytes);
}

int main(int argc, char **argv)
{
	struct trial t;

	trial_options(&t, argc, argv, "TrapuCStmk",
		      "what open connections cost while nothing happens");
	if (!t.idle || t.size > 65536) {
		fprintf(stderr, "idle: -k from 1, -m up to 65536\n");
		return 2;
	}
	trial_run(&t, serve, ask);
	if (t.role != ROLE_SERVER)
		print_end("client", &t.shared->client, t.seconds);
	if (t.role != ROLE_CLIENT)
		print_end("server", &t.shared->server, t.seconds * 0.8);
	printf("connections=%u\n", t.idle);
	return 0;
}
