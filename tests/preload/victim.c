/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * victim: an ordinary program, which knows nothing of SMC, for tests in which
 * its peer is hostile or dies.
 *
 * usage: victim server {poll|epoll|thread} PORT    echoes until SIGTERM
 *        victim client {block|poll} PORT           one line there and back
 *        victim steady PORT                        line after line till SIGTERM
 *
 * Whatever it finds out is on standard output, a line for each connection that
 * ended. "alien" means that it read bytes which no program sent as data: a CLC
 * message, or the mark that hostile puts on the TCP stream beside the ring.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256
#define BUFFER_BYTES    65536
#define PATIENCE_S      16

struct connection {
	int fd; /* -1 free */
	unsigned port;
	size_t have, sent; /* of buffer */
	uint64_t in, out;
	bool alien;
	uint32_t last; /* bytes before, for marks that lie across reads */
	char buffer[BUFFER_BYTES];
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = number;
}

static void handle(int number, int flags)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = flags};

	sigaction(number, &a, NULL);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[256];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (write(1, line, (size_t)n) != n)
		_exit(9);
}

static int fail(const char *what)
{
	say("%s: %s\n", what, strerror(errno));
	return 2;
}

/* ---- what must not be read as data ---- */

static void inspect(struct connection *c, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		c->last = c->last << 8 | (uint8_t)bytes[i];
		/* The eyecatchers of CLC, and "RAW!". */
		if (c->last == 0xe2d4c3d9 || c->last == 0xe2d4c3c4 ||
		    c->last == 0x52415721)
			c->alien = true;
	}
	c->in += n;
}

static void finish(struct connection *c, const char *why)
{
	say("end %u in %llu out %llu %s%s\n", c->port,
	    (unsigned long long)c->in, (unsigned long long)c->out, why,
	    c->alien ? " alien" : "");
	close(c->fd);
	c->fd = -1;
}

static const char *name_of_error(int error)
{
	switch (error) {
	case 0:
		return "eof";
	case ECONNRESET:
		return "ECONNRESET";
	case EPIPE:
		return "EPIPE";
	case ETIMEDOUT:
		return "ETIMEDOUT";
	default:
		return strerror(error);
	}
}

/* ---- server ---- */

static void begin(struct connection *c, int fd, bool wait)
{
	struct sockaddr_in a = {0};
	socklen_t n = sizeof(a);

	getpeername(fd, (struct sockaddr *)&a, &n);
	c->fd = fd;
	c->port = ntohs(a.sin_port);
	c->have = c->sent = 0;
	c->in = c->out = 0;
	c->alien = false;
	c->last = 0;
	if (!wait)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* One read or one write. False: it is over. */
static bool turn(struct connection *c)
{
	ssize_t n;

	if (c->sent < c->have) {
		n = send(c->fd, c->buffer + c->sent, c->have - c->sent,
			 MSG_NOSIGNAL);
		if (n > 0) {
			c->sent += (size_t)n;
			c->out += (uint64_t)n;
		}
	} else {
		n = recv(c->fd, c->buffer, sizeof(c->buffer), 0);
		c->have = n > 0 ? (size_t)n : 0;
		c->sent = 0;
		if (n > 0)
			inspect(c, c->buffer, (size_t)n);
		if (n == 0) {
			finish(c, "eof");
			return false;
		}
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		finish(c, name_of_error(errno));
		return false;
	}
	return true;
}

static struct connection *find_free(struct connection *all)
{
	for (int i = 0; i < CONNECTIONS_MAX; i++)
		if (all[i].fd < 0)
			return &all[i];
	return NULL;
}

static struct connection *make_all(void)
{
	struct connection *all = calloc(CONNECTIONS_MAX, sizeof(*all));

	for (int i = 0; all && i < CONNECTIONS_MAX; i++)
		all[i].fd = -1;
	return all;
}

static void take_next(struct connection *all, int listener)
{
	struct connection *c = find_free(all);
	int fd = accept(listener, NULL, NULL);

	if (fd >= 0 && c)
		begin(c, fd, false);
	else if (fd >= 0)
		close(fd);
}

static int serve_poll(int listener)
{
	struct connection *all = make_all();
	struct pollfd p[CONNECTIONS_MAX + 1];

	while (all && !stopped) {
		p[0] = (struct pollfd){.fd = listener, .events = POLLIN};
		for (int i = 0; i < CONNECTIONS_MAX; i++) {
			struct connection *c = &all[i];

			p[i + 1].fd = c->fd;
			p[i + 1].events = c->sent < c->have ? POLLOUT : POLLIN;
			p[i + 1].revents = 0;
		}
		if (poll(p, CONNECTIONS_MAX + 1, -1) < 0)
			continue;
		for (int i = 0; i < CONNECTIONS_MAX; i++)
			if (all[i].fd >= 0 && p[i + 1].revents)
				turn(&all[i]);
		if (p[0].revents)
			take_next(all, listener);
	}
	return 0;
}

static void watch(int ep, int op, int fd, uint32_t events, void *owner)
{
	struct epoll_event e = {.events = events, .data.ptr = owner};

	epoll_ctl(ep, op, fd, &e);
}

static void turn_watched(int ep, struct connection *c)
{
	bool wrote = c->sent < c->have;

	if (turn(c) && wrote != (c->sent < c->have))
		watch(ep, EPOLL_CTL_MOD, c->fd,
		      c->sent < c->have ? EPOLLOUT : EPOLLIN, c);
}

static void take_watched(int ep, struct connection *all, int listener)
{
	struct connection *c = find_free(all);

	if (!c)
		return;
	take_next(all, listener);
	if (c->fd >= 0)
		watch(ep, EPOLL_CTL_ADD, c->fd, EPOLLIN, c);
}

static int serve_epoll(int listener)
{
	struct connection *all = make_all();
	struct epoll_event e[16];
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (!all || ep < 0)
		return fail("epoll");
	watch(ep, EPOLL_CTL_ADD, listener, EPOLLIN, NULL);
	while (!stopped) {
		int n = epoll_wait(ep, e, 16, -1);

		for (int i = 0; i < n; i++) {
			struct connection *c = e[i].data.ptr;

			if (!c)
				take_watched(ep, all, listener);
			else if (c->fd >= 0)
				turn_watched(ep, c);
		}
	}
	return 0;
}

static void *serve_one(void *argument)
{
	struct connection *c = argument;

	while (turn(c))
		;
	free(c);
	return NULL;
}

static int serve_threads(int listener)
{
	while (!stopped) {
		int fd = accept(listener, NULL, NULL);
		struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c));
		pthread_t thread;

		if (!c)
			continue;
		begin(c, fd, true);
		if (pthread_create(&thread, NULL, serve_one, c) == 0)
			pthread_detach(thread);
	}
	return 0;
}

static int serve(const char *how, struct sockaddr_in *a)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	int bytes = 8192;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* A peer that does not read what TCP carries is soon felt. */
	setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (bind(listener, (struct sockaddr *)a, sizeof(*a)) < 0 ||
	    listen(listener, 512) < 0)
		return fail("listen");
	handle(SIGTERM, 0);
	if (strcmp(how, "poll") == 0)
		return serve_poll(listener);
	if (strcmp(how, "epoll") == 0)
		return serve_epoll(listener);
	return serve_threads(listener);
}

/* ---- client ---- */

/* How many descriptors poll() says are ready, of one. */
static int wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, PATIENCE_S * 1000);
}

static int ask(const char *how, const struct sockaddr_in *a)
{
	static const char words[] = "there and back";
	struct connection *c = calloc(1, sizeof(*c));
	bool polls = strcmp(how, "poll") == 0;
	char got[64] = "";
	ssize_t n;

	if (!c)
		return 2;
	handle(SIGALRM, 0);
	alarm(PATIENCE_S);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(c->fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		return fail("connect");
	if (send(c->fd, words, sizeof(words), MSG_NOSIGNAL) < 0) {
		finish(c, name_of_error(errno));
		return 0;
	}
	while (c->in < sizeof(words)) {
		if (polls && (n = wait_readable(c->fd)) != 1) {
			say("poll returned %zd\n", n);
			return 4;
		}
		n = recv(c->fd, got + c->in, sizeof(got) - c->in, 0);
		if (n <= 0) {
			finish(c, n ? name_of_error(errno) : "eof");
			return stopped ? 3 : 0;
		}
		inspect(c, got + c->in, (size_t)n);
	}
	if (stopped)
		say("stuck\n");
	else
		say("got %s\n", strcmp(got, words) ? "something else" : got);
	finish(c, "done");
	return stopped ? 3 : 0;
}

/* ---- an innocent one beside it ---- */

static bool send_all(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t k = send(fd, bytes, n, MSG_NOSIGNAL);

		if (k <= 0)
			return false;
		bytes += k;
		n -= (size_t)k;
	}
	return true;
}

static bool echo(int fd, uint32_t round)
{
	static char out[20000];
	static char in[sizeof(out)];
	size_t n = 1 + round * 7919u % sizeof(out);
	size_t have = 0;

	for (size_t i = 0; i < n; i++)
		out[i] = (char)('a' + (i + round) % 26);
	if (!send_all(fd, out, n))
		return false;
	while (have < n) {
		ssize_t k = recv(fd, in + have, n - have, 0);

		if (k <= 0)
			return false;
		have += (size_t)k;
	}
	return memcmp(in, out, n) == 0;
}

static int go_on(const struct sockaddr_in *a)
{
	static const struct timespec pause = {0, 3000000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint32_t round = 0;

	handle(SIGTERM, SA_RESTART);
	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		return fail("connect");
	while (!stopped) {
		/* One that is held up for ever is a failure, too. */
		alarm(PATIENCE_S);
		if (!echo(fd, round))
			return fail("the echo was wrong");
		round++;
		nanosleep(&pause, NULL);
	}
	say("steady %u\n", round);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr = {htonl(INADDR_LOOPBACK)}};

	if (argc < 3)
		return 2;
	a.sin_port = htons((uint16_t)strtoul(argv[argc - 1], NULL, 10));
	signal(SIGPIPE, SIG_IGN);
	if (strcmp(argv[1], "server") == 0 && argc == 4)
		return serve(argv[2], &a);
	if (strcmp(argv[1], "client") == 0 && argc == 4)
		return ask(argv[2], &a);
	if (strcmp(argv[1], "steady") == 0)
		return go_on(&a);
	return 2;
}
