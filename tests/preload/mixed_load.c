/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mixed_load: hundreds of connections in epoll instances, and steps that a seed
 * chooses: bytes, full rings, ends, changes of what is waited for, connections
 * that come, go, and move to TCP. After each of them it is known which waiters
 * must be told of what, which may be, and which must not. Plain TCP shows that
 * it is.
 *
 *   mixed_load CONNECTIONS STEPS SEED [THREADS]
 *
 * The waiters: this thread, in each way there is to wait for an instance; or
 * THREADS that sleep in the first one while it acts. A wake-up that does not
 * come stops the game, and the watchdog says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "remote_process.h"
#include "socket_helpers.h"

#define STILL_SECONDS 90
#define INSTANCES     2
#define SEATS         3 /* of an end: in either instance, and of its dup */
#define ALWAYS        (EPOLLERR | EPOLLHUP)
#define EDGE          ((uint32_t)EPOLLET)
#define THREADS_MAX   8
#define PIPE_NUMBER   UINT32_MAX
#define VAIN_MAX      2000
#define PILED_MAX     32768u

enum room {
	ROOM_THERE,
	ROOM_NONE, /* a write was refused; TCP may find some yet */
};

/* A registration. */
struct seat {
	bool taken;
	bool enabled;
	uint32_t events;
	uint32_t told; /* since it was changed */
	bool due;      /* must be told */
};

struct end {
	size_t bytes; /* to read */
	size_t piled; /* written since there were none */
	size_t sent;  /* and not taken */
	bool peer_shut, own_shut, demoted;
	enum room room;
	int twin; /* dup of its descriptor, or -1 */
	struct seat seats[SEATS];
};

static struct mixed_load {
	struct remote remote;
	struct end ends[REMOTE_ENDS];
	int instances[INSTANCES];
	uint32_t ways; /* to wait; 3 without those outside of an instance */
	int pipe[2];   /* in the first one */
	bool pipe_due;
	uint64_t random;
	int threads;
	int told[2];
	int step;
} t;

static uint32_t roll(uint32_t below)
{
	return dice(&t.random, below);
}

/* ---- what must be, and what may be ---- */

static uint32_t level(const struct end *e)
{
	uint32_t bits = 0;

	if (e->bytes || e->peer_shut)
		bits |= EPOLLIN;
	if (e->peer_shut)
		bits |= EPOLLRDHUP;
	if (e->own_shut || e->room == ROOM_THERE)
		bits |= EPOLLOUT;
	if (e->peer_shut && e->own_shut)
		bits |= EPOLLHUP;
	return bits;
}

/*
 * Bytes wait at the writer when TCP's window has no room for them, and the FIN
 * behind them; it was refused none. How much is unread then depends on the
 * sizes of writes and reads: 29 KB were seen, as a buffer that was read in part
 * counts whole. Once all is read they come.
 */
static bool is_all_sure(const struct end *e)
{
	return e->piled <= PILED_MAX;
}

static uint32_t sure(const struct end *e)
{
	uint32_t bits = level(e);

	if (!is_all_sure(e))
		bits &= ~(uint32_t)(EPOLLRDHUP | EPOLLHUP);
	return bits;
}

static uint32_t must(const struct end *e, const struct seat *s)
{
	if (!s->taken || !s->enabled)
		return 0;
	return sure(e) & (s->events | ALWAYS);
}

static int seat_instance(int seat)
{
	return t.instances[seat == 1];
}

static int seat_fd(int i, int seat)
{
	return seat == 2 ? t.ends[i].twin : t.remote.fds[i];
}

/* This became true: those that ask for it are told; of more of the same only
 * when it comes. */
static void news(struct end *e, uint32_t bits)
{
	for (int k = 0; k < SEATS; k++) {
		struct seat *s = &e->seats[k];

		if ((bits & EPOLLIN) && (s->events & EDGE) && !is_all_sure(e))
			continue;
		if (must(e, s) & bits)
			s->due = true;
	}
}

/* So has the end, of which some may have been told before. */
static void news_of_end(struct end *e)
{
	uint32_t bits = EPOLLIN | EPOLLRDHUP | EPOLLHUP;

	for (int k = 0; k < SEATS; k++)
		if (must(e, &e->seats[k]) & bits & ~e->seats[k].told)
			e->seats[k].due = true;
}

/* This may have ceased to be true. */
static void less(struct end *e)
{
	for (int k = 0; k < SEATS; k++)
		if (!must(e, &e->seats[k]))
			e->seats[k].due = false;
}

static void fail(const char *what, int i, int seat, uint32_t bits)
{
	const struct end *e = &t.ends[i];
	const struct seat *s = &e->seats[seat];

	fprintf(stderr,
		"step %d: end %d (fd %d) seat %d: %s: told %#x, asked %#x, "
		"enabled %d; %zu bytes, %zu sent, room %d, shut %d %d\n",
		t.step, i, t.remote.fds[i], seat, what, bits, s->events,
		s->enabled, e->bytes, e->sent, e->room, e->peer_shut,
		e->own_shut);
	_exit(1);
}

static void take_report(const struct epoll_event *event, bool settled)
{
	uint32_t number = event->data.u32;
	uint32_t bits = event->events;
	int i = (int)(number / SEATS), seat = (int)(number % SEATS);
	struct end *e = &t.ends[i];
	struct seat *s = &e->seats[seat];
	uint32_t may = level(e) | EPOLLOUT;

	/* A thread may have been told before it was changed. */
	if (!t.threads && (!s->taken || !s->enabled))
		fail("silent", i, seat, bits);
	if (!t.threads && (bits & ~(may & (s->events | ALWAYS))))
		fail("not ready", i, seat, bits);
	if (bits & EPOLLOUT)
		e->room = ROOM_THERE;
	s->told |= bits;
	if (s->events & EPOLLONESHOT)
		s->enabled = false;
	/* What TCP has yet to bring is told behind it. */
	s->due = settled && (must(e, s) & ~bits);
}

static void take_event(const struct epoll_event *event, bool settled)
{
	char c;

	progress();
	if (event->data.u32 != PIPE_NUMBER) {
		take_report(event, settled);
		return;
	}
	check(read(t.pipe[0], &c, 1) == 1, "the pipe");
	t.pipe_due = false;
}

/* ---- waiting ---- */

static bool is_due(int instance)
{
	if (instance == 0 && t.pipe_due)
		return true;
	for (int i = 0; i < t.remote.count; i++)
		for (int k = 0; k < SEATS; k++)
			if (t.ends[i].seats[k].due && (k == 1) == instance)
				return true;
	return false;
}

static int sleep_outside(int instance, uint32_t way)
{
	int ep = t.instances[instance];
	struct pollfd p = {.fd = ep, .events = POLLIN};
	fd_set set;

	if (way == 0)
		return poll(&p, 1, -1);
	FD_ZERO(&set);
	FD_SET(ep, &set);
	return select(ep + 1, &set, NULL, NULL, NULL);
}

static int take_some(int instance, bool settled, int ms)
{
	struct epoll_event e[REMOTE_ENDS];
	int max = roll(3) ? 1 + (int)roll(REMOTE_ENDS) : 1 + (int)roll(3);
	int n = epoll_wait(t.instances[instance], e, max, ms);

	check(n >= 0, "epoll_wait");
	for (int k = 0; k < n; k++)
		take_event(&e[k], settled);
	return n;
}

static void await_alone(int instance, bool settled)
{
	int vain = 0;

	while (is_due(instance)) {
		uint32_t way = roll(t.ways);
		int n;

		if (way < 3) {
			n = take_some(instance, settled, -1);
		} else {
			check(sleep_outside(instance, way - 3) == 1, "outside");
			n = take_some(instance, settled, 0);
		}
		vain = n ? 0 : vain + 1;
		check(vain < VAIN_MAX, "woken for nothing, again and again");
	}
}

static void await_threads(void)
{
	while (is_due(0)) {
		struct epoll_event e;

		check(read(t.told[0], &e, sizeof(e)) == sizeof(e), "told");
		take_event(&e, false);
	}
}

static void await_all(bool settled)
{
	if (t.threads)
		await_threads();
	else
		await_alone(0, settled);
	await_alone(1, settled);
}

static void *sleep_in_first(void *unused)
{
	struct epoll_event e[64];
	uint64_t random = (uintptr_t)&e;

	(void)unused;
	for (;;) {
		int n = epoll_wait(t.instances[0], e,
				   1 + (int)dice(&random, 64), -1);

		for (int k = 0; k < n; k++)
			check(write(t.told[1], &e[k], sizeof(e[k])) ==
				  sizeof(e[k]),
			      "told");
	}
	return NULL;
}

/* ---- an audit: all that is ready is told, level-triggered ---- */

static void expect_level(int instance)
{
	for (int i = 0; i < t.remote.count; i++)
		for (int k = 0; k < SEATS; k++) {
			struct seat *s = &t.ends[i].seats[k];

			if ((k == 1) != instance || (s->events & EDGE) ||
			    !must(&t.ends[i], s))
				continue;
			s->due = true;
		}
}

static void audit(int instance)
{
	int64_t end = clock_ms() + 1000 * (STILL_SECONDS - 30);
	int max = 1 + (int)roll(100);
	struct epoll_event e[100];

	expect_level(instance);
	while (is_due(instance) && clock_ms() < end) {
		int n = epoll_wait(t.instances[instance], e, max, 0);

		for (int k = 0; k < n; k++)
			take_event(&e[k], true);
	}
	for (int i = 0; i < t.remote.count; i++)
		for (int k = 0; k < SEATS; k++)
			if ((k == 1) == instance && t.ends[i].seats[k].due)
				fail("no turn", i, k, 0);
}

/* Does each say what it must, and nothing else? */
static bool is_told(const struct pollfd *p, bool late)
{
	bool all = true;

	for (int i = 0; i < t.remote.count; i++) {
		uint32_t asked = (uint32_t)(uint16_t)p[i].events | ALWAYS;
		uint32_t bits = (uint32_t)(uint16_t)p[i].revents;
		uint32_t now = sure(&t.ends[i]) & asked;
		uint32_t may = level(&t.ends[i]) | EPOLLOUT;

		if (bits & ~(may & asked))
			fail("poll", i, 0, bits);
		if (bits & EPOLLOUT)
			t.ends[i].room = ROOM_THERE;
		if (late && (now & ~bits))
			fail("poll, silent", i, 0, bits);
		all &= !(now & ~bits);
	}
	return all;
}

static void look_at_all(void)
{
	int64_t end = clock_ms() + 1000 * (STILL_SECONDS - 30);
	struct pollfd p[REMOTE_ENDS];
	int n, ready;

	for (int i = 0; i < t.remote.count; i++) {
		const short asks[] = {POLLIN, POLLOUT, POLLIN | POLLOUT,
				      POLLRDHUP};

		p[i] = (struct pollfd){t.remote.fds[i], asks[roll(4)], 0};
	}
	/* Again while TCP has something to bring. */
	do {
		ready = 0;
		n = poll(p, (nfds_t)t.remote.count, 0);
		for (int i = 0; i < t.remote.count; i++)
			ready += p[i].revents != 0;
		check(ready == n, "the result of poll");
	} while (!is_told(p, clock_ms() > end));
}

static void gain(struct end *e, size_t bytes)
{
	e->bytes += bytes;
	e->piled += bytes;
}

/* One of those that have nothing to read gets it while poll or select sleeps.
 */
static void sleep_on_all(void)
{
	struct pollfd p[REMOTE_ENDS];
	fd_set set;
	int count = 0, top = 0, one;

	FD_ZERO(&set);
	for (int i = 0; i < t.remote.count; i++)
		if (!(level(&t.ends[i]) & EPOLLIN)) {
			p[count++] =
			    (struct pollfd){t.remote.fds[i], POLLIN, 0};
			FD_SET(t.remote.fds[i], &set);
			top = t.remote.fds[i] > top ? t.remote.fds[i] : top;
		}
	if (count == 0)
		return;
	one = (int)roll((uint32_t)count);
	for (int i = 0; i < t.remote.count; i++)
		if (t.remote.fds[i] == p[one].fd) {
			remote_tell(&t.remote, REMOTE_WRITE, i, 1);
			gain(&t.ends[i], 1);
			news(&t.ends[i], EPOLLIN);
		}
	if (roll(2)) {
		check(poll(p, (nfds_t)count, -1) == 1, "poll");
		check(p[one].revents == POLLIN, "poll: another one");
	} else {
		check(select(top + 1, &set, NULL, NULL, NULL) == 1, "select");
		check(FD_ISSET(p[one].fd, &set), "select: another one");
	}
	remote_await(&t.remote);
}

/* ---- steps ---- */

static void do_order(enum remote_verb verb, int i, size_t bytes)
{
	bool meanwhile = roll(2);

	remote_tell(&t.remote, verb, i, bytes);
	if (!meanwhile)
		remote_await(&t.remote);
	switch (verb) {
	case REMOTE_WRITE:
		gain(&t.ends[i], bytes);
		news(&t.ends[i], EPOLLIN);
		break;
	case REMOTE_SHUT:
		t.ends[i].peer_shut = true;
		news(&t.ends[i], EPOLLIN | EPOLLRDHUP | EPOLLHUP);
		break;
	case REMOTE_TAKE:
		t.ends[i].sent = 0;
		/* Room that was there was told already. */
		if (t.ends[i].room == ROOM_THERE)
			break;
		t.ends[i].room = ROOM_THERE;
		news(&t.ends[i], EPOLLOUT);
		break;
	case REMOTE_RENEW:
		break;
	}
	if (!meanwhile)
		return;
	await_all(false);
	remote_await(&t.remote);
}

static void unpile(struct end *e)
{
	bool late = e->peer_shut && !is_all_sure(e);

	e->piled = 0;
	if (late)
		news_of_end(e);
}

static void read_some(int i)
{
	struct end *e = &t.ends[i];
	char bytes[20000];
	size_t want = roll(2) ? sizeof(bytes) : 1 + roll(100);
	struct pollfd p = {t.remote.fds[i], POLLIN, 0};
	ssize_t n;

	want = want < e->bytes ? want : e->bytes;
	if (!want)
		return;
	/* TCP may have it yet to bring. */
	check(poll(&p, 1, -1) == 1, "poll");
	n = recv(p.fd, bytes, want, 0);
	check(n > 0, "recv");
	e->bytes -= (size_t)n;
	less(e);
	if (e->bytes == 0)
		unpile(e);
}

static ssize_t write_somehow(int fd, uint32_t way)
{
	static char bytes[70000];
	static int file = -1;
	struct iovec v[2] = {{bytes, 3000}, {bytes, 60000}};
	struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = v, .msg_iovlen = 2}},
			       {.msg_hdr = {.msg_iov = v, .msg_iovlen = 1}}};
	off_t at = 0;
	int n;

	if (file < 0) {
		file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		check(file >= 0 && !ftruncate(file, 1 << 20), "a file");
	}
	switch (way) {
	case 0:
		return send(fd, bytes, 1 + roll(sizeof(bytes)), MSG_NOSIGNAL);
	case 1:
		return writev(fd, v, 2);
	case 2:
		return sendfile(fd, file, &at, 1 + roll(1 << 20));
	case 3:
		return write(fd, bytes, 1 + roll(4096));
	default:
		n = sendmmsg(fd, m, 2, MSG_NOSIGNAL);
		return n > 0 ? (ssize_t)(m[0].msg_len +
					 (n > 1 ? m[1].msg_len : 0))
			     : n;
	}
}

static void fill(int i)
{
	struct end *e = &t.ends[i];
	uint32_t way = roll(5);
	ssize_t n;

	if (e->own_shut)
		return;
	while ((n = write_somehow(t.remote.fds[i], way)) > 0)
		e->sent += (size_t)n;
	check(n < 0 && errno == EAGAIN, "a full ring");
	e->room = ROOM_NONE;
	less(e);
}

static void control(int i, int seat, int op)
{
	static const uint32_t asks[] = {EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLOUT,
					EPOLLIN | EPOLLRDHUP, 0};
	static const uint32_t kinds[] = {0, EDGE, EPOLLONESHOT,
					 EDGE | EPOLLONESHOT};
	struct end *e = &t.ends[i];
	struct seat *s = &e->seats[seat];
	struct epoll_event event;

	event.data.u64 = 0;
	event.data.u32 = (uint32_t)(i * SEATS + seat);
	/* Threads would be told of a level for ever. */
	event.events = asks[roll(5)] |
		       kinds[seat != 1 && t.threads ? 1 + roll(3) : roll(4)];
	check(!epoll_ctl(seat_instance(seat), op, seat_fd(i, seat), &event),
	      "epoll_ctl");
	s->taken = op != EPOLL_CTL_DEL;
	s->enabled = s->taken;
	s->events = s->taken ? event.events : 0;
	s->told = 0;
	s->due = must(e, s) != 0;
}

static void change(int i)
{
	int seat = (int)roll(SEATS);
	const struct seat *s = &t.ends[i].seats[seat];

	if (seat == 2 && t.ends[i].twin < 0)
		return;
	if (!s->taken)
		control(i, seat, EPOLL_CTL_ADD);
	else
		control(i, seat, roll(3) ? EPOLL_CTL_MOD : EPOLL_CTL_DEL);
}

static void twin(int i)
{
	struct end *e = &t.ends[i];

	if (e->twin < 0) {
		e->twin = dup(t.remote.fds[i]);
		check(e->twin >= 0, "dup");
		return;
	}
	if (e->seats[2].taken)
		control(i, 2, EPOLL_CTL_DEL);
	close(e->twin);
	e->twin = -1;
}

/* Closed, and a new one in its place, in the midst of its handshake. */
static void renew(int i)
{
	struct end *e = &t.ends[i];

	if (e->twin >= 0)
		twin(i);
	if (roll(2))
		for (int k = 0; k < 2; k++)
			if (e->seats[k].taken)
				control(i, k, EPOLL_CTL_DEL);
	close(t.remote.fds[i]);
	*e = (struct end){.twin = -1};
	remote_renew(&t.remote, i);
	gain(e, 1);
	control(i, 0, EPOLL_CTL_ADD);
	if (roll(2))
		control(i, 1, EPOLL_CTL_ADD);
	await_all(false);
	remote_await(&t.remote);
}

static void shut(int i)
{
	struct end *e = &t.ends[i];

	if (e->own_shut)
		return;
	check(!shutdown(t.remote.fds[i], SHUT_WR), "shutdown");
	e->own_shut = true;
	/* The kernel tells a registration for output by an end of both. */
	if (e->peer_shut)
		news(e, EPOLLHUP);
	for (int k = 0; k < SEATS; k++)
		if (!(e->seats[k].events & EDGE) && must(e, &e->seats[k]))
			e->seats[k].due = true;
}

/* Signals for readiness are the kernel's, and so the connection is. */
static void demote(int i)
{
	int fd = t.remote.fds[i];

	t.ends[i].demoted = true;
	check(!fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC), "O_ASYNC");
	check(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
}

static void ring_pipe(void)
{
	if (t.pipe_due)
		return;
	check(write(t.pipe[1], "", 1) == 1, "pipe");
	t.pipe_due = true;
}

static void step(void)
{
	int i = (int)roll((uint32_t)t.remote.count);
	struct end *e = &t.ends[i];
	uint32_t what = roll(100);

	if (what < 25 && !e->peer_shut)
		do_order(REMOTE_WRITE, i, 1 + roll(roll(4) ? 200 : 30000));
	else if (what < 45)
		read_some(i);
	else if (what < 53 && !e->sent)
		fill(i);
	else if (what < 65 && e->sent)
		do_order(REMOTE_TAKE, i, e->sent);
	else if (what < 85)
		change(i);
	else if (what < 87)
		twin(i);
	else if (what < 91 && !e->sent && !e->bytes)
		renew(i);
	else if (what < 92 && !e->peer_shut)
		do_order(REMOTE_SHUT, i, 0);
	else if (what < 93)
		shut(i);
	else if (what < 94)
		demote(i);
	else if (what < 96)
		ring_pipe();
	else if (what < 98)
		look_at_all();
	else
		sleep_on_all();
}

static void begin(int count)
{
	struct epoll_event e = {0};
	pthread_t thread;

	t.ways = roll(2) ? 3 : 5;
	remote_begin(&t.remote, count, (int)roll(2));
	check(!pipe(t.pipe) && !pipe(t.told), "pipe");
	for (int k = 0; k < INSTANCES; k++)
		t.instances[k] = epoll_create1(EPOLL_CLOEXEC);
	e.events = t.threads ? EPOLLIN | EDGE : EPOLLIN;
	e.data.u64 = PIPE_NUMBER;
	check(!epoll_ctl(t.instances[0], EPOLL_CTL_ADD, t.pipe[0], &e), "pipe");
	for (int k = 0; k < t.threads; k++)
		check(!pthread_create(&thread, NULL, sleep_in_first, NULL),
		      "thread");
	for (int i = 0; i < count; i++)
		t.ends[i].twin = -1;
	for (int i = 0; i < count; i++)
		control(i, 0, EPOLL_CTL_ADD);
	await_all(true);
}

int main(int argc, char **argv)
{
	int count = argc >= 4 ? atoi(argv[1]) : 0;
	int steps = argc >= 4 ? atoi(argv[2]) : 0;

	if (count < 1 || count > REMOTE_ENDS) {
		fprintf(stderr, "usage: mixed_load CONNECTIONS STEPS SEED "
				"[THREADS]\n");
		return 2;
	}
	t.random = strtoul(argv[3], NULL, 10);
	t.threads = argc > 4 ? atoi(argv[4]) : 0;
	check(t.threads >= 0 && t.threads <= THREADS_MAX, "THREADS");
	watchdog_start(STILL_SECONDS);
	begin(count);
	for (t.step = 1; t.step <= steps; t.step++) {
		step();
		/* Some of it comes together. */
		if (roll(3))
			await_all(true);
		if (t.step % 64 == 0) {
			await_all(true);
			audit(1);
			if (!t.threads)
				audit(0);
		}
	}
	return 0;
}
