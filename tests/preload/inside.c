/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * inside: a program whose connection is used by functions of libc that do not
 * call read and write by their names, and calls of which little is known.
 *
 *   inside words	system, popen, wordexp, aio and their kin: what each
 * moved inside calls	sendfile and splice with files that they do not take
 *   inside cut		a handler with SA_RESTART, when a call has a part
 *
 * The other end sends back what it gets. Prints the same on TCP and on SMC.
 */
#include <aio.h>
#include <ctype.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "socket_helpers.h"

#define ROUND 10

static void round_trip(int fd)
{
	char bytes[ROUND];

	send_all(fd, "0123456789", ROUND);
	check(recv_all(fd, bytes, ROUND) == ROUND, "an answer");
	check(!memcmp(bytes, "0123456789", ROUND), "the same bytes");
}

static pid_t child;

/* Connects to a child that answers. */
static int begin(void)
{
	int port, listener = helper_listen(&port), fd;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		close(listener);
		echo_all(helper_connect(port));
		_exit(0);
	}
	check(child > 0, "fork");
	fd = accept(listener, NULL, NULL);
	check(fd >= 0, "accept");
	close(listener);
	round_trip(fd);
	return fd;
}

static void end(int fd)
{
	int status;

	round_trip(fd);
	close(fd);
	check(waitpid(child, &status, 0) == child && status == 0, "the child");
}

/* The next line that comes, at most a few seconds from now, without what may be
 * an address. */
static void print_line(const char *how, int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	char c = 0;

	printf("%s: ", how);
	while (c != '\n' && poll(&p, 1, 5000) == 1 && recv(fd, &c, 1, 0) == 1)
		if (c != '\n' && !isxdigit(c))
			putchar(c);
	putchar('\n');
}

/* ---- words ---- */

static void by_system(int fd)
{
	char command[64];

	snprintf(command, sizeof(command), "echo of system >&%d", fd);
	check(system(command) == 0, "system");
	print_line("system writes", fd);
	send_all(fd, "to system\n", 10);
	check(recv(fd, command, 1, MSG_PEEK) == 1, "peek");
	snprintf(command, sizeof(command), "timeout 5 head -n 1 <&%d", fd);
	fflush(stdout);
	check(system(command) == 0, "system that reads");
}

static void by_popen(int fd)
{
	char command[64], line[64];
	FILE *f;

	snprintf(command, sizeof(command), "cat >&%d", fd);
	f = popen(command, "w");
	fprintf(f, "of popen\n");
	check(pclose(f) == 0, "pclose");
	print_line("popen writes", fd);
	send_all(fd, "to popen\n", 9);
	check(recv(fd, line, 1, MSG_PEEK) == 1, "peek");
	snprintf(command, sizeof(command), "timeout 5 head -n 1 <&%d", fd);
	f = popen(command, "r");
	printf("popen reads: %s", fgets(line, sizeof(line), f) ? line : "\n");
	check(pclose(f) == 0, "pclose");
}

static void by_wordexp(int fd)
{
	char words[64];
	wordexp_t w;

	send_all(fd, "word\n", 5);
	check(recv(fd, words, 1, MSG_PEEK) == 1, "peek");
	snprintf(words, sizeof(words), "$(timeout 5 head -n 1 <&%d)", fd);
	check(wordexp(words, &w, 0) == 0, "wordexp");
	printf("wordexp reads: %s\n", w.we_wordc ? w.we_wordv[0] : "");
	wordfree(&w);
}

static void by_backtrace(int fd)
{
	void *here[1];

	backtrace_symbols_fd(here, backtrace(here, 1), fd);
	print_line("backtrace writes", fd);
}

static void by_aio(int fd)
{
	char word[] = "of aio\n", out[8] = "";
	struct aiocb w = {
	    .aio_fildes = fd, .aio_buf = word, .aio_nbytes = sizeof(word) - 1};
	struct aiocb r = {
	    .aio_fildes = fd, .aio_buf = out, .aio_nbytes = sizeof(word) - 1};
	const struct aiocb *one[] = {&r};
	const struct timespec limit = {5, 0};

	/* Requests for one descriptor have their turns. */
	check(aio_write(&w) == 0, "aio_write");
	check(aio_read(&r) == 0, "aio_read");
	check(aio_suspend(one, 1, &limit) == 0, "aio_suspend");
	printf("aio_read: %zd %s", aio_return(&r), out);
}

static void by_list(int fd)
{
	char word[] = "of a list\n";
	struct aiocb w = {.aio_fildes = fd,
			  .aio_buf = word,
			  .aio_nbytes = sizeof(word) - 1,
			  .aio_lio_opcode = LIO_WRITE};
	struct aiocb *list[] = {NULL, &w};

	check(lio_listio(LIO_WAIT, list, 2, NULL) == 0, "lio_listio");
	print_line("lio_listio writes", fd);
}

static void words(void)
{
	static void (*const ways[])(int) = {by_system,    by_popen, by_wordexp,
					    by_backtrace, by_aio,   by_list};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		int fd = begin();

		ways[i](fd);
		end(fd);
	}
}

/* ---- calls ---- */

static void tell(const char *what, long result)
{
	printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "",
	       result < 0 ? strerrorname_np(errno) : "");
}

/* Where no memory is, and no compiler knows. */
static void *volatile nowhere = (void *)8;

static void calls(void)
{
	int fd = begin(), in[2], out[2];
	off_t at = 0;

	check(!pipe(in) && !pipe2(out, O_NONBLOCK), "pipes");
	check(write(in[1], "abcdef", 6) == 6, "write");
	tell("from a file by a pipe's call",
	     splice(open("/etc/passwd", O_RDONLY), NULL, fd, NULL, 3, 0));
	tell("to nowhere", splice(fd, NULL, -1, NULL, 3, 0));
	tell("less than nothing", splice(in[0], NULL, fd, NULL, -1, 0));
	tell("from a pipe", sendfile(fd, in[0], NULL, 3));
	tell("from a pipe at", sendfile(fd, in[0], &at, 3));
	tell("from a directory", sendfile(fd, open("/", O_RDONLY), NULL, 3));
	tell("from /proc",
	     sendfile(fd, open("/proc/self/status", O_RDONLY), NULL, 3));
	tell("from nowhere", sendfile(fd, -1, NULL, 3));
	tell("at nowhere",
	     sendfile(fd, open("/dev/zero", O_RDONLY), nowhere, 3));
	send_all(fd, "hello", 5);
	check(recv(fd, &at, 5, MSG_PEEK | MSG_WAITALL) == 5, "peek");
	tell("to a pipe", sendfile(out[1], fd, NULL, 5));
	tell("to a pipe at", sendfile(out[1], fd, &at, 5));
	tell("to the wrong end", splice(fd, NULL, out[0], NULL, 5, 0));
	tell("with a strange flag", splice(in[0], NULL, fd, NULL, 5, 0x1000));
	tell("of bad buffers", writev(fd, nowhere, 2));
	tell("of a bad message", sendmsg(fd, nowhere, 0));
	tell("from /dev/zero",
	     sendfile(fd, open("/dev/zero", O_RDONLY), NULL, sizeof(at)));
	check(recv_all(fd, &at, sizeof(at)) == sizeof(at), "zeros");
	tell("the zeros", (long)at);
	end(fd);
}

/* ---- cut ---- */

static void nothing(int number)
{
	(void)number;
}

static int cut_fd;
static const int ways_of_cut[] = {MSG_WAITALL, MSG_WAITALL | MSG_PEEK};

static void *receive(void *result)
{
	char bytes[8];

	*(ssize_t *)result =
	    recv(cut_fd, bytes, sizeof(bytes), ways_of_cut[*(ssize_t *)result]);
	return NULL;
}

/* It sleeps in a system call, of whatever number. */
static bool is_asleep(pthread_t t)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += 50000000;
	limit.tv_sec += limit.tv_nsec / 1000000000;
	limit.tv_nsec %= 1000000000;
	return pthread_timedjoin_np(t, NULL, &limit) == ETIMEDOUT;
}

static void cut(void)
{
	struct sigaction a = {.sa_handler = nothing, .sa_flags = SA_RESTART};

	sigaction(SIGUSR1, &a, NULL);
	cut_fd = begin();
	for (ssize_t i = 0; i < 2; i++) {
		ssize_t got = i;
		pthread_t t;
		char rest[4];

		send_all(cut_fd, "part", 4);
		check(recv(cut_fd, rest, 4, MSG_PEEK | MSG_WAITALL) == 4,
		      "a part");
		check(!pthread_create(&t, NULL, receive, &got), "a thread");
		while (is_asleep(t))
			pthread_kill(t, SIGUSR1);
		printf("cut: %zd\n", got);
		if (ways_of_cut[i] & MSG_PEEK)
			check(recv_all(cut_fd, rest, 4) == 4, "the part");
	}
	end(cut_fd);
}

int main(int argc, char **argv)
{
	const char *game = argc > 1 ? argv[1] : "";

	watchdog_start(60);
	if (!strcmp(game, "words"))
		words();
	else if (!strcmp(game, "calls"))
		calls();
	else if (!strcmp(game, "cut"))
		cut();
	else
		return 2;
	return 0;
}
