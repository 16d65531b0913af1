/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * edges: a program that uses up what there is. What it may have does not
 * shrink to nothing, what it gave back it gets again, and every connection
 * that it could make carries its bytes.
 *
 *   edges descriptors LIMIT ROUNDS	as many as there can be
 *   edges leak COUNT		so many connections one after another: no
 *				descriptor and no mapping is left of them
 *   edges crowd COUNT		so many connections at once, all used in turn
 *   edges tight COUNT LIMIT	so many, of hardly as many descriptors as the
 *			soft limit allows; or of LIMIT, the hard one too
 *   edges relief COUNT		the same; a third of them is made with hardly a
 *				descriptor to spare
 *   edges hasty COUNT	so many times twenty connections that do not wait, to a
 *			server that closes what it accepts: each is connected,
 *			and then at its end, and never reset
 *   edges alone COUNT	connects to itself so often, waits for room, writes, and
 *			accepts only then: nobody is waited for
 *   edges beside COUNT	the same with a second thread, waiting by epoll
 *   edges together COUNT	so many connections that two processes hold at
 *			one end, and leave together: the other end is told
 *   edges cut		waits for bytes, with a time-out; says what ended it
 *   edges far		waits with time-outs that no clock reaches
 *   edges refused	is refused what it asks for a descriptor, which stays
 *   edges range		closes everything from 3 on, as daemons do, and
 *				goes on with a connection that it kept as 0
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define FDS_MAX 4096
#define BLOCK   3000

static int count_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	int c, n = 0;

	check(f != NULL, path);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	check(d != NULL, "/proc/self/fd");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = number;
}

static void echo(int fd)
{
	static unsigned char block[BLOCK];

	while (recv_all(fd, block, BLOCK) == BLOCK)
		send_all(fd, block, BLOCK);
}

/* A child for each connection, until SIGTERM; then until all have ended. */
static void serve(int listener)
{
	struct sigaction a = {.sa_handler = on_signal};
	struct pollfd p = {listener, POLLIN, 0};
	sigset_t term, none;
	int status, failed = 0;

	sigemptyset(&none);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	sigaction(SIGTERM, &a, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	while (!stopped) {
		int fd = -1;

		if (ppoll(&p, 1, NULL, &none) == 1)
			fd = accept(listener, NULL, NULL);
		if (fd >= 0 && !fork()) {
			close(listener);
			echo(fd);
			_exit(0);
		}
		close(fd);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	if (failed)
		fprintf(stderr, "%d servers failed\n", failed);
	_exit(failed != 0);
}

static pid_t server_start(int *port)
{
	int listener = helper_listen(port);
	pid_t pid = fork();

	if (!pid)
		serve(listener);
	close(listener);
	return pid;
}

/* Every connection has been closed. */
static void server_end(pid_t pid)
{
	int status = -1;

	kill(pid, SIGTERM);
	check(waitpid(pid, &status, 0) == pid && !status, "the server");
}

static void ask(int fd, uint32_t seed)
{
	unsigned char bytes[BLOCK];

	bytes_fill(bytes, BLOCK, seed, 0);
	send_all(fd, bytes, BLOCK);
}

static void hear(int fd, uint32_t seed)
{
	unsigned char bytes[BLOCK] = {0};
	size_t wrong;

	check(recv_all(fd, bytes, BLOCK) == BLOCK, "no echo");
	check(bytes_match(bytes, BLOCK, seed, 0, &wrong), "wrong echo");
}

static void use(int fd, uint32_t seed)
{
	ask(fd, seed);
	hear(fd, seed);
}

/* Fills the table with connections; how many there were. */
static int connections_to_limit(int port)
{
	static int fds[FDS_MAX];
	int count = 0;

	for (;;) {
		int probe = socket(AF_INET, SOCK_STREAM, 0);

		if (probe < 0) {
			check(errno == EMFILE, "an error other than EMFILE");
			break;
		}
		close(probe);
		fds[count] = helper_connect(port);
		use(fds[count], (uint32_t)count);
		count++;
	}
	for (int i = 0; i < count; i++)
		use(fds[i], (uint32_t)i + 7);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return count;
}

/* The engine may keep what it has for those that follow, up to half of all. But
 * with twice as many rounds as there are descriptors, what is lost with every
 * other one leaves none. */
static void descriptors(int limit, int rounds)
{
	struct rlimit r = {(rlim_t)limit, (rlim_t)limit};
	int port, least = limit, most = 0;
	pid_t server = server_start(&port);

	check(!setrlimit(RLIMIT_NOFILE, &r), "setrlimit");
	for (int i = 0; i < rounds; i++) {
		int count = connections_to_limit(port);

		least = count < least ? count : least;
		most = count > most ? count : most;
	}
	server_end(server);
	printf("limit %d: %d to %d connections in %d rounds\n", limit, least,
	       most, rounds);
	check(least >= limit / 3, "too few connections");
}

/* Each time in an epoll instance of its own. */
static void come_and_go(int port, int count)
{
	for (int i = 0; i < count; i++) {
		struct epoll_event e = {.events = EPOLLOUT};
		int fd = helper_connect(port);
		int ep = epoll_create1(EPOLL_CLOEXEC);

		check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
		use(fd, (uint32_t)i);
		check(epoll_wait(ep, &e, 1, -1) == 1, "room");
		close(ep);
		close(fd);
	}
}

static int anonymous_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	int kb = -1;

	check(f != NULL, "/proc/self/status");
	while (kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %d", &kb);
	fclose(f);
	return kb;
}

/* A server whose children end late keeps up to 16 elements for the next ones,
 * of four descriptors each. Of a thousand, what is lost with every tenth one is
 * more than that. */
static void leak(int count)
{
	int port, fds, maps, kb;
	pid_t server = server_start(&port);

	come_and_go(port, 600);
	fds = count_fds();
	kb = anonymous_kb();
	maps = count_lines("/proc/self/maps");
	come_and_go(port, count);
	server_end(server);
	printf("descriptors %d, then %d; mappings %d, then %d; %d KiB, %d\n",
	       fds, count_fds(), maps, count_lines("/proc/self/maps"), kb,
	       anonymous_kb());
	fflush(stdout);
	check(count_fds() <= fds + 64, "descriptors are left");
	check(count_lines("/proc/self/maps") <= maps + 32, "mappings are left");
	check(anonymous_kb() < kb + count / 4, "memory is left");
}

static void crowd(int count)
{
	static int fds[FDS_MAX];
	int port;
	pid_t server = server_start(&port);

	check(count <= FDS_MAX, "COUNT");
	for (int i = 0; i < count; i++)
		fds[i] = helper_connect(port);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < count; i++)
			use(fds[(i * 7 + round) % count], (uint32_t)i);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	server_end(server);
	printf("%d connections\n", count);
}

/* Until the first one ends. */
static void serve_in_turn(int listener, int count)
{
	static struct pollfd p[FDS_MAX];

	for (int i = 0; i < count; i++) {
		p[i].fd = accept(listener, NULL, NULL);
		p[i].events = POLLIN;
	}
	for (;;) {
		static unsigned char block[BLOCK];

		check(poll(p, (nfds_t)count, -1) > 0, "poll");
		for (int i = 0; i < count; i++) {
			if (!p[i].revents)
				continue;
			if (recv_all(p[i].fd, block, BLOCK) != BLOCK)
				_exit(0);
			send_all(p[i].fd, block, BLOCK);
		}
	}
}

/* Both ends have all that the soft limit allows but a few, and the hard one
 * allows more; or both limits are this one. */
static void tight(int count, int limit)
{
	static int fds[FDS_MAX];
	struct rlimit r;
	int port, status;
	int listener = helper_listen(&port);
	pid_t pid;

	check(count <= FDS_MAX, "COUNT");
	check(!getrlimit(RLIMIT_NOFILE, &r), "getrlimit");
	check(r.rlim_max >= 1024, "the hard limit is too low for this test");
	r.rlim_cur = (rlim_t)count + 12;
	if (limit)
		r.rlim_cur = r.rlim_max = (rlim_t)limit;
	check(!setrlimit(RLIMIT_NOFILE, &r), "setrlimit");
	pid = fork();
	if (!pid)
		serve_in_turn(listener, count);
	close(listener);
	for (int i = 0; i < count; i++)
		fds[i] = helper_connect(port);
	for (int i = 0; i < count; i++)
		use(fds[i], (uint32_t)i);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	check(waitpid(pid, &status, 0) == pid && !status, "the server");
	printf("%d connections\n", count);
}

static void range(void)
{
	int port, fd;
	pid_t server = server_start(&port);

	fd = helper_connect(port);
	use(fd, 1);
	check(dup2(fd, 0) == 0, "dup2");
	check(!close_range(3, ~0u, 0), "close_range");
	for (int i = 3; i < 1024; i++)
		check(close(i) && errno == EBADF, "a descriptor is left");
	for (int i = 3; i < 100; i++)
		check(dup2(1, i) == i, "dup2 onto a free number");
	use(0, 2);
	closefrom(3);
	use(0, 3);
	fd = helper_connect(port);
	use(fd, 4);
	use(0, 5);
	close(fd);
	close(0);
	server_end(server);
	printf("all closed, both connections go on\n");
}

/* Then nothing more comes; how it ends is nobody's concern. */
static void echo_once(int listener)
{
	static unsigned char block[BLOCK];
	int fd = accept(listener, NULL, NULL);

	check(recv_all(fd, block, BLOCK) == BLOCK, "no block");
	send_all(fd, block, BLOCK);
	_exit(recv(fd, block, 1, 0) == 1);
}

/* Its connection is ended from outside while it waits, with a time-out. */
static void cut(void)
{
	struct timeval t = {8, 0};
	struct sockaddr_in a;
	socklen_t n = sizeof(a);
	int port, fd, status, listener = helper_listen(&port);
	pid_t pid = fork();
	char byte;

	if (!pid)
		echo_once(listener);
	close(listener);
	fd = helper_connect(port);
	use(fd, 1);
	check(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)),
	      "SO_RCVTIMEO");
	check(!getsockname(fd, (struct sockaddr *)&a, &n), "getsockname");
	printf("port %d\n", ntohs(a.sin_port));
	fflush(stdout);
	check(recv(fd, &byte, 1, 0) == -1, "recv");
	printf("%s\n", strerror(errno));
	close(fd);
	check(waitpid(pid, &status, 0) == pid && !status, "the server");
}

static int far_select(int fd, const struct timespec *t)
{
	struct timeval v = {t->tv_sec, 0};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &v);
}

static int far_pselect(int fd, const struct timespec *t)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return pselect(fd + 1, &set, NULL, NULL, t, NULL);
}

static int far_ppoll(int fd, const struct timespec *t)
{
	struct pollfd p = {fd, POLLIN, 0};

	return ppoll(&p, 1, t, NULL);
}

static int far_epoll(int fd, const struct timespec *t)
{
	struct epoll_event e = {.events = EPOLLIN};
	int n, ep = epoll_create1(EPOLL_CLOEXEC);

	check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	n = epoll_pwait2(ep, &e, 1, t, NULL);
	close(ep);
	return n;
}

static int far_receive(int fd, const struct timespec *t)
{
	struct timeval v = {t->tv_sec, 0};
	char byte;

	check(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &v, sizeof(v)),
	      "SO_RCVTIMEO");
	return (int)recv(fd, &byte, 1, MSG_PEEK);
}

/* The sender answers each byte with another one, but not at once. */
static void far_times(void)
{
	static int (*const calls[])(int, const struct timespec *) = {
	    far_select, far_pselect, far_ppoll, far_epoll, far_receive};
	static const time_t times[] = {LONG_MAX, LONG_MAX / 1000000000,
				       20000000000, INT_MAX / 1000 + 1};
	int status, port, listener = helper_listen(&port);
	char byte;
	int fd;

	if (fork() == 0) {
		fd = accept(listener, NULL, NULL);
		while (recv(fd, &byte, 1, 0) == 1) {
			nap_us(20000);
			send_all(fd, &byte, 1);
		}
		_exit(0);
	}
	close(listener);
	fd = helper_connect(port);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		for (size_t k = 0; k < sizeof(calls) / sizeof(*calls); k++) {
			struct timespec t = {.tv_sec = times[i]};

			send_all(fd, "x", 1);
			check(calls[k](fd, &t) == 1, "the byte ends the wait");
			check(recv_all(fd, &byte, 1) == 1, "the byte");
		}
	close(fd);
	check(wait(&status) > 0 && !status, "the other end");
}

/* A call that is refused closes nothing, and what came can still be read. */
static void refused(void)
{
	int port;
	pid_t server = server_start(&port);
	int fd = helper_connect(port);
	struct pollfd p = {fd, POLLIN, 0};

	use(fd, 1);
	ask(fd, 2);
	check(poll(&p, 1, -1) == 1, "poll");
	check(dup3(STDERR_FILENO, fd, O_APPEND) == -1 && errno == EINVAL,
	      "dup3 of wrong flags");
	check(close_range((unsigned)fd, (unsigned)fd, 1 << 10) == -1 &&
		  errno == EINVAL,
	      "close_range of wrong flags");
	hear(fd, 2);
	use(fd, 3);
	close(fd);
	server_end(server);
}

/* All of them are open at once, so no memory is used twice. */
static void connect_more(int *fds, int port, int from, int to)
{
	for (int i = from; i < to; i++) {
		fds[i] = helper_connect(port);
		use(fds[i], (uint32_t)i);
	}
}

/* One process, which takes `count` connections when they come. */
static void serve_all(int listener, int count)
{
	static struct pollfd p[FDS_MAX];
	static unsigned char block[BLOCK];
	int taken = 0, ended = 0;

	p[0] = (struct pollfd){listener, POLLIN, 0};
	while (ended < count) {
		check(poll(p, (nfds_t)taken + 1, -1) > 0, "poll");
		for (int i = taken; i > 0; i--) {
			if (!p[i].revents)
				continue;
			if (recv_all(p[i].fd, block, BLOCK) == BLOCK) {
				send_all(p[i].fd, block, BLOCK);
				continue;
			}
			close(p[i].fd);
			p[i].fd = -1;
			ended++;
		}
		if (p[0].revents)
			p[++taken] = (struct pollfd){
			    accept(listener, NULL, NULL), POLLIN, 0};
	}
	_exit(0);
}

/* A third of them while there are numbers enough, a third while there are
 * hardly any, and the last when there are enough again. */
static void relief(int count)
{
	static int fds[FDS_MAX], fill[FDS_MAX];
	struct rlimit r = {400, 400};
	int port, status, filled = 0, third = count / 3;
	int listener = helper_listen(&port);
	pid_t pid = fork();

	if (!pid)
		serve_all(listener, 3 * third);
	close(listener);
	check(!setrlimit(RLIMIT_NOFILE, &r), "setrlimit");
	connect_more(fds, port, 0, third);
	while (filled < FDS_MAX && (fill[filled] = dup(2)) >= 0)
		filled++;
	for (int i = 0; i < third; i++)
		close(fill[--filled]);
	connect_more(fds, port, third, 2 * third);
	while (filled > 0)
		close(fill[--filled]);
	connect_more(fds, port, 2 * third, 3 * third);
	for (int i = 0; i < 3 * third; i++)
		use(fds[i], (uint32_t)i + 3);
	for (int i = 0; i < 3 * third; i++)
		close(fds[i]);
	check(waitpid(pid, &status, 0) == pid && !status, "the server");
	printf("%d connections\n", 3 * third);
}

/* With a moment in between, or none. */
static void accept_and_close(int listener)
{
	struct pollfd p = {listener, POLLIN, 0};

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int i = 0;; i++) {
		int fd = accept(listener, NULL, NULL);
		int64_t end = clock_ms() + i % 3 / 2;

		while (clock_ms() < end)
			poll(&p, 1, 0);
		close(fd);
	}
}

#define HASTY 20

static void hasty_start(int fds[HASTY], int instance, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};

	for (int i = 0; i < HASTY; i++) {
		struct epoll_event e = {.events = EPOLLIN | EPOLLOUT |
						  EPOLLRDHUP | EPOLLET,
					.data.fd = i};

		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		check(connect(fds[i], (struct sockaddr *)&a, sizeof(a)) == -1 &&
			  errno == EINPROGRESS,
		      "connect");
		check(!epoll_ctl(instance, EPOLL_CTL_ADD, fds[i], &e),
		      "epoll_ctl");
	}
}

static void hasty_look(const struct epoll_event *e, int fd, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(int);
	int error = 0;

	check(!(e->events & (EPOLLERR | EPOLLHUP)), "EPOLLERR, EPOLLHUP");
	check(!connect(fd, (struct sockaddr *)&a, sizeof(a)), "connect again");
	check(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) && !error,
	      "SO_ERROR");
}

static void hasty(int count)
{
	int fds[HASTY], port, listener = helper_listen(&port);
	pid_t pid = fork();

	if (!pid)
		accept_and_close(listener);
	close(listener);
	for (int k = 0; k < count; k++) {
		int instance = epoll_create1(0), seen = 0;
		bool met[HASTY] = {false};
		struct epoll_event e;

		hasty_start(fds, instance, port);
		while (seen < HASTY) {
			check(epoll_wait(instance, &e, 1, 5000) == 1, "wait");
			if (!(e.events & EPOLLOUT) || met[e.data.fd])
				continue;
			met[e.data.fd] = true;
			hasty_look(&e, fds[e.data.fd], port);
			seen++;
		}
		for (int i = 0; i < HASTY; i++)
			close(fds[i]);
		close(instance);
		progress();
	}
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static void alone(int count)
{
	int port, listener = helper_listen(&port);
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};

	for (int i = 0; i < count; i++) {
		int flags = i % 2 ? SOCK_NONBLOCK : 0, fd, end;
		struct pollfd p;
		char c = 'a';

		fd = socket(AF_INET, SOCK_STREAM | flags, 0);
		check(!connect(fd, (struct sockaddr *)&a, sizeof(a)) ||
			  errno == EINPROGRESS,
		      "connect");
		p = (struct pollfd){fd, POLLOUT, 0};
		if (i % 4 < 2)
			check(poll(&p, 1, -1) == 1, "poll");
		check(send(fd, &c, 1, 0) == 1, "send");
		end = accept(listener, NULL, NULL);
		check(recv(end, &c, 1, 0) == 1, "recv");
		close(end);
		close(fd);
	}
}

static void beside(int count)
{
	int port, listener = helper_listen(&port);
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};

	for (int i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		struct epoll_event e = {.events = EPOLLOUT};
		int instance = epoll_create1(0), end;
		char c = 'a';

		check(connect(fd, (struct sockaddr *)&a, sizeof(a)) == -1 &&
			  errno == EINPROGRESS,
		      "connect");
		check(!epoll_ctl(instance, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
		check(epoll_wait(instance, &e, 1, -1) == 1, "epoll_wait");
		end = accept(listener, NULL, NULL);
		check(send(fd, &c, 1, 0) == 1, "send");
		check(recv(end, &c, 1, 0) == 1, "recv");
		close(end);
		close(fd);
		close(instance);
	}
}

/* Both processes that hold an end leave at the same moment, while the other end
 * sleeps. */
static void leave_together(int fd, uint64_t *state)
{
	int both[2];

	check(recv(fd, (char[1]){0}, 1, 0) == 1 && send(fd, "y", 1, 0) == 1,
	      "a byte there and back");
	check(!pipe(both), "pipe");
	if (fork() == 0) {
		close(both[1]);
		_exit((int)read(both[0], (char[1]){0}, 1));
	}
	nap_us(1000);
	close(both[1]);
	nap_us(dice(state, 600));
	close(fd);
	close(both[0]);
	check(wait(NULL) > 0, "wait");
}

static void together(int count)
{
	int port, listener = helper_listen(&port);
	uint64_t state = 1;

	if (fork() == 0) {
		for (int i = 0; i < count; i++)
			leave_together(accept(listener, NULL, NULL), &state);
		_exit(0);
	}
	close(listener);
	for (int i = 0; i < count; i++) {
		int fd = helper_connect(port);
		char byte;

		send_all(fd, "x", 1);
		check(recv(fd, &byte, 1, 0) == 1, "an answer");
		check(recv(fd, &byte, 1, 0) == 0, "the end");
		close(fd);
		progress();
	}
	check(wait(NULL) > 0, "the server");
	printf("%d connections\n", count);
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0;
	int rounds = argc > 3 ? atoi(argv[3]) : 0;

	/* Another thread could accept. */
	if (argc == 3 && !strcmp(argv[1], "alone"))
		alarm(20);
	else
		watchdog_start(20);
	if (argc == 4 && !strcmp(argv[1], "descriptors"))
		descriptors(number, rounds);
	else if (argc == 3 && !strcmp(argv[1], "leak"))
		leak(number);
	else if ((argc == 3 || argc == 4) && !strcmp(argv[1], "tight"))
		tight(number, rounds);
	else if (argc == 3 && !strcmp(argv[1], "relief"))
		relief(number);
	else if (argc == 3 && !strcmp(argv[1], "crowd"))
		crowd(number);
	else if (argc == 3 && !strcmp(argv[1], "alone"))
		alone(number);
	else if (argc == 3 && !strcmp(argv[1], "beside"))
		beside(number);
	else if (argc == 3 && !strcmp(argv[1], "together"))
		together(number);
	else if (argc == 3 && !strcmp(argv[1], "hasty"))
		hasty(number);
	else if (argc == 2 && !strcmp(argv[1], "cut"))
		cut();
	else if (argc == 2 && !strcmp(argv[1], "far"))
		far_times();
	else if (argc == 2 && !strcmp(argv[1], "refused"))
		refused();
	else if (argc == 2 && !strcmp(argv[1], "range"))
		range();
	else
		return 2;
	return 0;
}
