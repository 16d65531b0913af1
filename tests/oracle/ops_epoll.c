/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_epoll: epoll instances. An event carries the place of the descriptor's
 * name, so that the log tells names; the order of events is not told.
 */
#include "actor.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENTS_MAX 32

/* epnew E */
static void run_new(struct call *c)
{
	int fd =
	    call_has(c, "old") ? epoll_create(8) : epoll_create1(EPOLL_CLOEXEC);

	reply_result(c, fd < 0 ? -1 : 0);
	name_set(c->argv[1], fd);
}

/* epctl E add|mod|del NAME [events=...] */
static void run_control(struct call *c)
{
	static const struct word actions[] = {{"add", EPOLL_CTL_ADD},
					      {"mod", EPOLL_CTL_MOD},
					      {"del", EPOLL_CTL_DEL},
					      {NULL, 0}};
	struct epoll_event e = {0};
	unsigned action;

	if (!words_parse(actions, c->argv[2], &action)) {
		reply_bad(c, "action");
		return;
	}
	e.events = call_bits(c, "events", epoll_words);
	e.data.u64 = 0x6f7261636c650000u +
		     (unsigned)name_index(call_text(c, "as", c->argv[3]));
	reply_result(c, epoll_ctl(name_fd(c->argv[1]), (int)action,
				  name_fd(c->argv[3]),
				  action == EPOLL_CTL_DEL ? NULL : &e));
}

static int wait_via(struct call *c, struct epoll_event *events, int max, int ms)
{
	const char *via = call_text(c, "via", "epoll_wait");
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	int fd = name_fd(c->argv[1]);
	sigset_t none;

	sigemptyset(&none);
	if (!strcmp(via, "epoll_pwait"))
		return epoll_pwait(fd, events, max, ms, &none);
	if (!strcmp(via, "epoll_pwait2"))
		return epoll_pwait2(fd, events, max, ms < 0 ? NULL : &t, &none);
	if (!strcmp(via, "epoll_pwait2_number"))
		return (int)syscall(SYS_epoll_pwait2, fd, events, max,
				    ms < 0 ? NULL : &t, NULL, 0);
	if (!strcmp(via, "syscall"))
		return (int)syscall(SYS_epoll_pwait, fd, events, max, ms, NULL,
				    0);
	return epoll_wait(fd, events, max, ms);
}

static int by_place(const void *a, const void *b)
{
	const struct epoll_event *x = a, *y = b;

	return (x->data.u64 > y->data.u64) - (x->data.u64 < y->data.u64);
}

static void reply_events(struct call *c, struct epoll_event *events, int count)
{
	char text[160];

	if (count > 0)
		qsort(events, (size_t)count, sizeof(*events), by_place);
	for (int i = 0; i < count; i++) {
		words_print(epoll_words, events[i].events, text, sizeof(text));
		if (events[i].data.u64 >> 16 != 0x6f7261636c65u)
			reply(c, " FOREIGN DATA:%s", text);
		else
			reply(c, " %s:%s",
			      name_at((int)(events[i].data.u64 & 0xffff)),
			      text);
	}
}

/* epwait E MS [max=N] [via=...] */
static void run_wait(struct call *c)
{
	struct epoll_event events[EVENTS_MAX];
	int ms = atoi(c->argv[2]);
	int max = (int)call_number(c, "max", EVENTS_MAX);
	int64_t start = now_ms();
	int ret = wait_via(c, events, max, ms);

	if (!ret && now_ms() - start < ms - 2)
		reply(c, " EARLY");
	reply_result(c, ret);
	reply_events(c, events, ret);
}

/*
 * eprounds E ROUNDS max=N: which names were told in so many waits; with fewer
 * places than ready descriptors none may starve.
 */
static void run_rounds(struct call *c)
{
	struct epoll_event events[EVENTS_MAX], seen[NAMES_MAX];
	int max = (int)call_number(c, "max", 1), rounds = atoi(c->argv[2]);
	int count = 0, ret = 0;

	while (rounds-- > 0) {
		ret = epoll_wait(name_fd(c->argv[1]), events, max, 1000);
		for (int i = 0; i < ret; i++) {
			int j = 0;

			while (j < count &&
			       seen[j].data.u64 != events[i].data.u64)
				j++;
			if (j == count && count < NAMES_MAX)
				count++;
			seen[j] = events[i];
		}
	}
	reply(c, " last=%d", ret);
	reply_events(c, seen, count);
}

const struct operation epoll_operations[] = {
    {"epnew", 1, run_new},   {"epctl", 3, run_control},
    {"epwait", 2, run_wait}, {"eprounds", 2, run_rounds},
    {NULL, 0, NULL},
};
