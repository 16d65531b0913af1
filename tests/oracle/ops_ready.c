/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_ready: poll, ppoll, select, pselect, and waiting until a state is
 * reached.
 */
/* Only what says so may reach the checked entry points. */
#undef _FORTIFY_SOURCE
#include "actor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLL_MAX 12

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *t,
		const sigset_t *mask, size_t size);

struct polled {
	struct pollfd fds[POLL_MAX];
	const char *names[POLL_MAX];
	nfds_t count;
};

/* Arguments of the form "name:events"; an unknown name is the number -1. */
static bool polled_parse(struct call *c, struct polled *p)
{
	p->count = 0;
	for (int i = 2; i < c->argc && p->count < POLL_MAX; i++) {
		char *colon = strchr(c->argv[i], ':');
		unsigned events;

		if (!colon)
			continue;
		*colon = 0;
		if (!words_parse(poll_words, colon + 1, &events)) {
			reply_bad(c, "events");
			return false;
		}
		p->names[p->count] = c->argv[i];
		p->fds[p->count].fd = name_fd(c->argv[i]);
		p->fds[p->count].events = (short)events;
		p->fds[p->count].revents = 0x5a5a;
		p->count++;
	}
	return true;
}

static struct timespec *limit_of(struct timespec *t, int ms)
{
	t->tv_sec = ms / 1000;
	t->tv_nsec = ms % 1000 * 1000000L;
	return ms < 0 ? NULL : t;
}

static int poll_via(const char *via, struct polled *p, int ms)
{
	size_t size = p->count * sizeof(*p->fds);
	struct timespec t;
	sigset_t none;

	sigemptyset(&none);
	if (!strcmp(via, "ppoll"))
		return ppoll(p->fds, p->count, limit_of(&t, ms), &none);
	if (!strcmp(via, "poll_chk"))
		return __poll_chk(p->fds, p->count, ms, size);
	if (!strcmp(via, "ppoll_chk"))
		return __ppoll_chk(p->fds, p->count, limit_of(&t, ms), NULL,
				   size);
	if (!strcmp(via, "syscall"))
		return (int)syscall(SYS_poll, p->fds, p->count, ms);
	return poll(p->fds, p->count, ms);
}

static void reply_waited(struct call *c, int64_t start, int ms, int ret)
{
	int error = errno;

	if (!ret && now_ms() - start < ms - 2)
		reply(c, " EARLY");
	errno = error;
}

/* poll MS name:events ... [via=...] */
static void run_poll(struct call *c)
{
	struct polled p;
	int ms = atoi(c->argv[1]);
	int64_t start;
	char text[128];
	int ret;

	if (!polled_parse(c, &p))
		return;
	start = now_ms();
	ret = poll_via(call_text(c, "via", "poll"), &p, ms);
	reply_waited(c, start, ms, ret);
	reply_result(c, ret);
	for (nfds_t i = 0; ret >= 0 && i < p.count; i++) {
		words_print(poll_words, (unsigned short)p.fds[i].revents, text,
			    sizeof(text));
		reply(c, " %s:%s", p.names[i], text);
	}
}

/* More than FD_SETSIZE bits: the kernel takes any number, and descriptors may
 * have high ones. */
#define SET_BITS  4096
#define WORD_BITS (8 * (int)sizeof(unsigned long))

struct set {
	unsigned long words[SET_BITS / (8 * sizeof(unsigned long))];
};

static void set_add(struct set *s, int fd)
{
	if (fd >= 0 && fd < SET_BITS)
		s->words[fd / WORD_BITS] |= 1ul << fd % WORD_BITS;
}

static bool set_has(const struct set *s, int fd)
{
	return fd >= 0 && fd < SET_BITS &&
	       s->words[fd / WORD_BITS] >> fd % WORD_BITS & 1;
}

static int select_via(const char *via, int highest, struct set sets[3], int ms)
{
	struct timeval v = {ms / 1000, ms % 1000 * 1000};
	fd_set *in = (fd_set *)&sets[0];
	fd_set *out = (fd_set *)&sets[1];
	fd_set *other = (fd_set *)&sets[2];
	struct timespec t;
	sigset_t none;

	sigemptyset(&none);
	if (!strcmp(via, "pselect"))
		return pselect(highest + 1, in, out, other, limit_of(&t, ms),
			       &none);
	return select(highest + 1, in, out, other, ms < 0 ? NULL : &v);
}

/* select MS name:in|out|pri ... [via=pselect] */
static void run_select(struct call *c)
{
	struct set sets[3] = {{{0}}};
	struct polled p;
	int highest = -1, ms = atoi(c->argv[1]), ret;
	int64_t start;

	if (!polled_parse(c, &p))
		return;
	for (nfds_t i = 0; i < p.count; i++) {
		int fd = p.fds[i].fd;

		if (p.fds[i].events & POLLIN)
			set_add(&sets[0], fd);
		if (p.fds[i].events & POLLOUT)
			set_add(&sets[1], fd);
		if (p.fds[i].events & POLLPRI)
			set_add(&sets[2], fd);
		if (fd > highest)
			highest = fd;
	}
	start = now_ms();
	ret = select_via(call_text(c, "via", "select"), highest, sets, ms);
	reply_waited(c, start, ms, ret);
	reply_result(c, ret);
	for (nfds_t i = 0; ret >= 0 && i < p.count; i++)
		reply(c, " %s:%s%s%s", p.names[i],
		      set_has(&sets[0], p.fds[i].fd) ? "r" : "-",
		      set_has(&sets[1], p.fds[i].fd) ? "w" : "-",
		      set_has(&sets[2], p.fds[i].fd) ? "x" : "-");
}

static bool reached(int fd, unsigned events, long bytes)
{
	struct pollfd p = {fd, (short)events, 0};
	int count = 0;

	if (bytes >= 0 && (ioctl(fd, FIONREAD, &count) || count < bytes))
		return false;
	if (!events)
		return true;
	if (poll(&p, 1, 0) < 0)
		return false;
	return ((unsigned)p.revents & events) == events;
}

/*
 * await FD [bytes=N] [events=...]: until so many bytes can be read and all of
 * these events hold. What a script expects by now, so that timing decides
 * nothing; says LATE if it never comes.
 */
static void run_await(struct call *c)
{
	int64_t end = now_ms() + AWAIT_MS;
	int fd = name_fd(c->argv[1]);
	unsigned events = call_bits(c, "events", poll_words);
	long bytes = call_number(c, "bytes", -1);
	int pause = 0;

	while (!reached(fd, events, bytes)) {
		if (now_ms() > end) {
			int count = -1;

			ioctl(fd, FIONREAD, &count);
			reply(c, " LATE, readable %d", count);
			return;
		}
		pause_ms(pause);
		if (pause < 5)
			pause++;
	}
	reply(c, " = reached");
}

/* meet FD FD: until both are writable, looked at together as a loop does. */
static void run_meet(struct call *c)
{
	int64_t end = now_ms() + AWAIT_MS;
	struct pollfd fds[2] = {{name_fd(c->argv[1]), POLLOUT, 0},
				{name_fd(c->argv[2]), POLLOUT, 0}};

	while (poll(fds, 2, 0) != 2 && now_ms() < end)
		pause_ms(1);
	reply(c, "%s", now_ms() < end ? " = met" : " LATE");
}

/* settle FD: until readiness and readable bytes have not moved for 60 ms. */
static void run_settle(struct call *c)
{
	int64_t end = now_ms() + AWAIT_MS, since = now_ms();
	int fd = name_fd(c->argv[1]);
	short events = -1;
	int bytes = -1;

	while (now_ms() - since < 60 && now_ms() < end) {
		struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP | POLLPRI,
				   0};
		int count = 0;

		poll(&p, 1, 0);
		ioctl(fd, FIONREAD, &count);
		if (p.revents != events || count != bytes)
			since = now_ms();
		events = p.revents;
		bytes = count;
		pause_ms(3);
	}
	reply(c, now_ms() < end ? " = settled" : " LATE");
}

const struct operation ready_operations[] = {
    {"poll", 1, run_poll},   {"select", 1, run_select},
    {"await", 1, run_await}, {"settle", 1, run_settle},
    {"meet", 2, run_meet},   {NULL, 0, NULL},
};
