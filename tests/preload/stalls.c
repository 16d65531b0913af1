/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * stalls: programs that write much before anybody reads. TCP has room for it.
 *
 *   stalls both HOW	both ends write, and then both read
 *   stalls alone HOW	one thread has both ends; it writes, and then reads
 *   stalls late	a writer is refused, the reader reads some, and the
 *writer is refused again: how much each time, and unread then; closes when it
 *has read a line stalls told HOW	the peer reads when it is told, by a
 *pipe, that all was written stalls duplex HOW READER the peer reads slowly,
 *while another thread waits for its answer: in recv, poll, select, level or
 *edge stalls parted HOW READER the same with another process stalls signals
 *handlers with SA_RESTART and without run while a call waits for room, in a
 *process of one thread: which ended the call
 *   stalls beside	the same with two threads, and none with SA_RESTART
 *
 * A number at the end: that many bytes, and not 2000000.
 *
 * HOW a writer waits for room: block, timeout (SO_SNDTIMEO), sendfile, poll,
 * select, level (epoll), edge (epoll), again (tries by the clock).
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define BYTES   2400000 /* more than both rings, less than TCP */
#define WAIT_MS 8000

static unsigned char bytes[BYTES];
static size_t volume = BYTES;

/* ---- ways to wait for room ---- */

static int instance;

static void wait_poll(int fd)
{
	struct pollfd p = {fd, POLLOUT, 0};

	check(poll(&p, 1, WAIT_MS) == 1, "poll");
}

static void wait_select(int fd)
{
	struct timeval t = {WAIT_MS / 1000, 0};
	fd_set out;

	FD_ZERO(&out);
	FD_SET(fd, &out);
	check(select(fd + 1, NULL, &out, NULL, &t) == 1, "select");
}

static void wait_epoll(int fd)
{
	struct epoll_event e;

	(void)fd;
	do {
		check(epoll_wait(instance, &e, 1, WAIT_MS) == 1, "epoll_wait");
	} while (!(e.events & EPOLLOUT));
}

static void wait_clock(int fd)
{
	(void)fd;
	nap_us(10000);
}

static void watch(int fd, uint32_t events)
{
	struct epoll_event e = {.events = events};

	instance = epoll_create1(0);
	check(!epoll_ctl(instance, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
}

static void write_nonblocking(int fd, size_t done, void (*wait)(int))
{

	while (done < volume) {
		ssize_t n = send(fd, bytes + done, volume - done, MSG_DONTWAIT);

		check(n > 0 || errno == EAGAIN, "send");
		if (n > 0)
			done += (size_t)n;
		if (done < volume)
			wait(fd);
	}
}

static void write_file(int fd, off_t at)
{
	int file = memfd_create("stalls", 0);

	check(write(file, bytes, volume) == (ssize_t)volume, "memfd");
	while (at < (off_t)volume)
		check(sendfile(fd, file, &at, volume - (size_t)at) > 0,
		      "sendfile");
	close(file);
}

static void write_from(int fd, const char *how, size_t at)
{
	struct timeval t = {WAIT_MS / 1000, 0};

	if (!strcmp(how, "timeout"))
		check(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)),
		      "SO_SNDTIMEO");
	if (!strcmp(how, "level"))
		watch(fd, EPOLLOUT);
	if (!strcmp(how, "edge"))
		watch(fd, EPOLLOUT | EPOLLIN | EPOLLET);
	if (!strcmp(how, "block") || !strcmp(how, "timeout"))
		send_all(fd, bytes + at, volume - at);
	else if (!strcmp(how, "sendfile"))
		write_file(fd, (off_t)at);
	else if (!strcmp(how, "poll"))
		write_nonblocking(fd, at, wait_poll);
	else if (!strcmp(how, "select"))
		write_nonblocking(fd, at, wait_select);
	else if (!strcmp(how, "again"))
		write_nonblocking(fd, at, wait_clock);
	else if (!strcmp(how, "level") || !strcmp(how, "edge"))
		write_nonblocking(fd, at, wait_epoll);
	else
		check(false, how);
}

static void write_all(int fd, const char *how)
{
	write_from(fd, how, 0);
}

static void read_all(int fd, uint32_t seed)
{
	static unsigned char got[BYTES];
	size_t wrong;

	check(recv_all(fd, got, volume) == volume, "the end came early");
	check(bytes_match(got, volume, seed, 0, &wrong), "other bytes");
}

/* ---- games ---- */

/* A peer that makes no call keeps the connection from SMC as well: the child
 * has seen a byte when it goes on. */
static pid_t start(int ends[2])
{
	int port, listener = helper_listen(&port);
	pid_t pid = fork();
	char byte;

	ends[1] = -1;
	if (pid) {
		ends[0] = helper_connect(port);
	} else {
		ends[1] = accept(listener, NULL, NULL);
		check(recv(ends[1], &byte, 1, MSG_PEEK) == 1, "first byte");
	}
	close(listener);
	return pid;
}

static void join(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid && !status, "the other end");
}

static void both(const char *how)
{
	int ends[2];
	pid_t pid = start(ends);
	int fd = pid ? ends[0] : ends[1];

	bytes_fill(bytes, volume, pid ? 1 : 2, 0);
	write_all(fd, how);
	read_all(fd, pid ? 2 : 1);
	if (!pid)
		_exit(0);
	join(pid);
}

static void alone(const char *how)
{
	int ends[2];

	helper_pair(ends);
	bytes_fill(bytes, volume, 3, 0);
	write_all(ends[0], how);
	read_all(ends[1], 3);
}

static void say(const char *word)
{
	char line[8];

	if (*word)
		puts(word);
	fflush(stdout);
	check(fgets(line, sizeof(line), stdin) != NULL, "a line");
}

/* It writes pieces until it is refused; and it stays so for a while. */
static size_t fill(int fd, size_t at, size_t piece)
{
	struct pollfd p = {fd, POLLOUT, 0};
	size_t begin = at;
	ssize_t n;

	do {
		if (piece > BYTES - at)
			piece = BYTES - at;
		n = send(fd, bytes + at, piece, MSG_DONTWAIT);
		at += n > 0 ? (size_t)n : 0;
	} while (n > 0 && piece > 0);
	check(n < 0 && errno == EAGAIN, "refused");
	check(poll(&p, 1, 50) == 0, "still refused");
	return at - begin;
}

#define SOME 100000

/* Reads what it is told to, and says that it has. */
static void read_when_told(int fd, int line)
{
	static unsigned char got[BYTES];
	size_t at = 0, want, wrong;

	while (recv_all(line, &want, sizeof(want)) == sizeof(want)) {
		check(recv_all(fd, got, want) == want, "it is there");
		check(bytes_match(got, want, 3, at, &wrong), "other bytes");
		at += want;
		send_all(line, &want, sizeof(want));
	}
	_exit(0);
}

static void tell(int line, size_t want)
{
	send_all(line, &want, sizeof(want));
	check(recv_all(line, &want, sizeof(want)) == sizeof(want), "answer");
}

static void late(size_t piece)
{
	size_t first, second, left;
	int ends[2], line[2];
	pid_t pid;

	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, line), "socketpair");
	pid = start(ends);
	if (!pid) {
		close(line[0]);
		read_when_told(ends[1], line[1]);
	}
	bytes_fill(bytes, BYTES, 3, 0);
	first = fill(ends[0], 0, piece);
	tell(line[0], SOME);
	second = fill(ends[0], first, piece);
	left = first + second - SOME;
	printf("%zu %zu %zu\n", first, second, left);
	say("");
	tell(line[0], left);
	close(ends[0]);
	say("closed");
	close(line[0]);
	close(line[1]);
	join(pid);
}

static void told(const char *how)
{
	int ends[2], line[2];
	char word = 0;
	pid_t pid;

	check(!pipe(line), "pipe");
	pid = start(ends);
	if (!pid) {
		check(read(line[0], &word, 1) == 1, "the word");
		read_all(ends[1], 4);
		_exit(0);
	}
	bytes_fill(bytes, volume, 4, 0);
	write_all(ends[0], how);
	check(write(line[1], &word, 1) == 1, "the word");
	join(pid);
}

#define PIECE 50000

static void read_slowly(int fd)
{
	static unsigned char piece[PIECE];
	size_t wrong;

	for (size_t at = 0; at < volume; at += PIECE) {
		nap_us(3000);
		check(recv_all(fd, piece, PIECE) == PIECE, "piece");
		check(bytes_match(piece, PIECE, 5, at, &wrong), "other bytes");
	}
	send_all(fd, piece, 1);
	_exit(0);
}

static int reader_fd;

static void await_by_select(int fd)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(fd, &in);
	check(select(fd + 1, &in, NULL, NULL, NULL) == 1, "select");
}

static void await_by_epoll(int fd, uint32_t events)
{
	struct epoll_event e = {.events = events};
	int ep = epoll_create1(0);

	check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	check(epoll_wait(ep, &e, 1, -1) == 1, "epoll_wait for the answer");
}

static void *await_answer(void *reader)
{
	struct pollfd p = {reader_fd, POLLIN, 0};
	char byte;

	if (!strcmp(reader, "poll"))
		check(poll(&p, 1, -1) == 1, "poll for the answer");
	else if (!strcmp(reader, "select"))
		await_by_select(reader_fd);
	else if (!strcmp(reader, "level"))
		await_by_epoll(reader_fd, EPOLLIN);
	else if (!strcmp(reader, "edge"))
		await_by_epoll(reader_fd, EPOLLIN | EPOLLET);
	else
		check(!strcmp(reader, "recv"), reader);
	check(recv(reader_fd, &byte, 1, 0) == 1, "the answer");
	return NULL;
}

static void duplex(const char *how, const char *reader)
{
	pthread_t thread;
	int ends[2];
	pid_t pid = start(ends);

	if (!pid)
		read_slowly(ends[1]);
	reader_fd = ends[0];
	bytes_fill(bytes, volume, 5, 0);
	/* The peer waits for it before anything. */
	send_all(ends[0], bytes, 1);
	check(!pthread_create(&thread, NULL, await_answer,
			      (void *)(uintptr_t)reader),
	      "thread");
	nap_us(3000);
	write_from(ends[0], how, 1);
	check(!pthread_join(thread, NULL), "join");
	join(pid);
}

static void parted(const char *how, const char *reader)
{
	int ends[2];
	pid_t pid = start(ends), child;

	if (!pid)
		read_slowly(ends[1]);
	reader_fd = ends[0];
	bytes_fill(bytes, volume, 5, 0);
	send_all(ends[0], bytes, 1);
	child = fork();
	if (!child) {
		await_answer((void *)(uintptr_t)reader);
		_exit(0);
	}
	nap_us(3000);
	write_from(ends[0], how, 1);
	join(child);
	join(pid);
}

/* ---- signals ---- */

/* In memory of both: what the child waits for. */
enum {
	NOTHING,
	FIRST_HANDLED,
	CALL_ENDED
};
static int *state;
static volatile sig_atomic_t handled;

static void on_signal(int number)
{
	int was = NOTHING;

	handled = number;
	__atomic_compare_exchange_n(state, &was, FIRST_HANDLED, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void handle(int number, int flags)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = flags};

	check(!sigaction(number, &a, NULL), "sigaction");
}

static void raise_until(pid_t parent, int number, int wanted)
{
	while (__atomic_load_n(state, __ATOMIC_SEQ_CST) < wanted) {
		check(getppid() == parent && !kill(parent, number), "kill");
		nap_us(20000);
	}
}

/* Takes nothing. The first SIGUSR1 may come before the call; one that the call
 * is to end by comes until it has. */
static void disturb(pid_t parent, bool restarts)
{
	nap_us(20000);
	kill(parent, SIGCHLD);
	kill(parent, SIGWINCH);
	raise_until(parent, SIGUSR1, restarts ? FIRST_HANDLED : CALL_ENDED);
	nap_us(20000);
	raise_until(parent, SIGUSR2, CALL_ENDED);
	_exit(0);
}

static void signals(int flags_of_first)
{
	int ends[2];
	ssize_t n;
	pid_t parent = getpid(), pid;

	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(state != MAP_FAILED, "mmap");
	handle(SIGUSR1, flags_of_first);
	handle(SIGUSR2, 0);
	pid = start(ends);
	if (!pid)
		disturb(parent, flags_of_first & SA_RESTART);
	do {
		while (send(ends[0], bytes, volume, MSG_DONTWAIT) > 0)
			;
		n = send(ends[0], bytes, 1000, 0);
	} while (n == 1000);
	printf("%s after SIGUSR%d\n",
	       n < 0 && errno != EINTR ? strerror(errno) : "ended",
	       handled == SIGUSR2 ? 2 : 1);
	__atomic_store_n(state, CALL_ENDED, __ATOMIC_SEQ_CST);
	close(ends[0]);
	join(pid);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "signals")) {
		alarm(20);
		signals(SA_RESTART);
		return 0;
	}
	watchdog_start(20);
	if (argc == 4 && atoi(argv[3]) > 0) {
		volume = (size_t)atoi(argv[3]);
		check(volume <= BYTES, argv[3]);
		argc--;
	}
	if (argc == 3 && !strcmp(argv[1], "both"))
		both(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "alone"))
		alone(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "late"))
		late((size_t)atoi(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "told"))
		told(argv[2]);
	else if (argc == 4 && !strcmp(argv[1], "duplex"))
		duplex(argv[2], argv[3]);
	else if (argc == 4 && !strcmp(argv[1], "parted"))
		parted(argv[2], argv[3]);
	else if (argc == 2 && !strcmp(argv[1], "beside"))
		signals(0);
	else
		return 2;
	return 0;
}
