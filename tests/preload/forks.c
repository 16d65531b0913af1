/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * forks: every way to make a process, times every state of a connection, times
 * everything that the new process may do with it. A peer in a third process
 * answers; what each process must see is known, so the program judges itself.
 *
 *   forks [HOW]	all cases, or those of one way; prints what failed
 *   forks orphans N	so many times a child leaves a grandchild, as
 *			daemons do, which goes on with a connection
 *   forks copies N M	M children, one after the other, close their copies of
 *			N connections, and no peer wakes
 *   forks helpers N	N programs that inherit nothing run beside us, and hold
 *			nothing
 *   forks --heir ACTION FD STATE	the image that exec puts in the child
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define BLOCK        5000
#define CASE_SECONDS 30

extern char **environ;
static const char *program;

enum how {
	FORK,
	RAW_FORK,
	CLONE,
	CLONE_CALL,
	CLONE_SHARED,
	CLONE_HANDLED,
	DAEMON,
	FORK_EXEC,
	VFORK_EXEC,
	SPAWN,
	HOWS
};
enum state {
	FRESH,
	USED,
	PEER_FINISHED,
	OWN_FINISHED,
	UNREAD,
	PEER_GONE,
	STATES
};
enum action {
	WRITES,
	READS,
	CLOSES,
	DIES,
	TAKES_OVER,
	ACTIONS
};

static const char *const how_names[] = {
    "fork",          "_Fork",  "clone",     "clone()",    "clone-files",
    "clone-handled", "daemon", "fork+exec", "vfork+exec", "posix_spawn"};
static const char *const state_names[] = {
    "fresh", "used", "peer-finished", "own-finished", "unread", "peer-gone"};
static const char *const action_names[] = {"writes", "reads", "closes", "dies",
					   "takes-over"};

/* What the peer is asked to do: one letter. */
enum order {
	ECHO = 'e',
	FINISH = 'f',
	QUIT = 'q'
};

/*
 * The peer: 'e' sends the next block back; 'f' ends its own sending; 'q' goes
 * away. It ends with 0 when the stream ends in order, which is when the last
 * holder closes.
 */
static void peer(int fd)
{
	static unsigned char block[BLOCK];
	char order;

	alarm(CASE_SECONDS);
	while (recv(fd, &order, 1, 0) == 1) {
		if (order == FINISH) {
			shutdown(fd, SHUT_WR);
			continue;
		}
		if (order == QUIT)
			_exit(0);
		if (recv_all(fd, block, BLOCK) != BLOCK)
			_exit(11);
		if (order == ECHO)
			send_all(fd, block, BLOCK);
	}
	_exit(recv(fd, &order, 1, 0) ? 12 : 0);
}

static void ask(int fd, char order, uint32_t seed)
{
	static unsigned char bytes[BLOCK + 1];

	bytes[0] = (unsigned char)order;
	bytes_fill(bytes + 1, BLOCK, seed, 0);
	send_all(fd, bytes, order == FINISH || order == QUIT ? 1 : BLOCK + 1);
}

static void take(int fd, uint32_t seed)
{
	static unsigned char bytes[BLOCK];
	size_t wrong;

	check(recv_all(fd, bytes, BLOCK) == BLOCK, "an answer is missing");
	check(bytes_match(bytes, BLOCK, seed, 0, &wrong), "a wrong answer");
}

/* There is a block to read before anything is asked. */
static bool has_unread(enum state s)
{
	return s == UNREAD || s == PEER_GONE;
}

static bool can_write(enum state s)
{
	return s != OWN_FINISHED && s != PEER_GONE;
}

static bool can_read(enum state s)
{
	return s != PEER_FINISHED && can_write(s);
}

/* A whole turn, as far as the state allows one. */
static void turn(int fd, enum state s, uint32_t seed)
{
	if (has_unread(s))
		take(fd, 50);
	if (can_read(s)) {
		ask(fd, ECHO, seed);
		take(fd, seed);
	} else if (can_write(s)) {
		ask(fd, 'n', seed);
	}
}

static void prepare(int fd, enum state s)
{
	if (s != FRESH) {
		ask(fd, ECHO, 40);
		take(fd, 40);
	}
	if (s == PEER_FINISHED)
		ask(fd, FINISH, 0);
	if (s == OWN_FINISHED)
		shutdown(fd, SHUT_WR);
	if (has_unread(s)) {
		struct pollfd p = {fd, POLLIN, 0};

		ask(fd, ECHO, 50);
		check(poll(&p, 1, 5000) == 1, "nothing to read");
	}
	if (s == PEER_GONE) {
		struct pollfd p = {fd, POLLRDHUP, 0};

		ask(fd, QUIT, 0);
		check(poll(&p, 1, 5000) == 1, "the peer stays");
	}
}

/* What the new process does; it never returns. */
static void heir(int fd, enum action a, enum state s)
{
	char byte;

	alarm(CASE_SECONDS);
	switch (a) {
	case WRITES:
		if (can_write(s))
			ask(fd, can_read(s) ? ECHO : 'n', 60);
		break;
	case READS:
		/* The parent has asked already. */
		if (can_read(s) || has_unread(s))
			take(fd, has_unread(s) ? 50 : 60);
		break;
	case CLOSES:
		close(fd);
		break;
	case DIES:
		if (!has_unread(s) && can_read(s))
			alarm(1);
		if (!has_unread(s) && s != PEER_FINISHED)
			recv(fd, &byte, 1, 0);
		kill(getpid(), SIGKILL);
		break;
	case TAKES_OVER:
		turn(fd, s, 60);
		close(fd);
		break;
	case ACTIONS:
		break;
	}
	_exit(0);
}

/* A new image that is to read the connection gets it as standard input, from
 * the process that runs it; other images just inherit it. */
static pid_t spawn_image(int fd, int to, char **argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	if (to != fd)
		posix_spawn_file_actions_adddup2(&actions, fd, to);
	check(!posix_spawn(&pid, program, &actions, NULL, argv, environ),
	      "posix_spawn");
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static pid_t start_image(int fd, enum how h, enum action a, enum state s)
{
	char words[3][16];
	char *argv[] = {(char[]){"forks"}, (char[]){"--heir"}, words[0],
			words[1],          words[2],           NULL};
	int to = a == READS || a == TAKES_OVER ? 0 : fd;
	pid_t pid;

	snprintf(words[0], sizeof(words[0]), "%d", (int)a);
	snprintf(words[1], sizeof(words[1]), "%d", to);
	snprintf(words[2], sizeof(words[2]), "%d", (int)s);
	if (h == SPAWN)
		return spawn_image(fd, to, argv);
	pid = h == FORK_EXEC ? fork() : vfork();
	if (!pid) {
		if (to != fd)
			dup2(fd, to);
		execv(program, argv);
		_exit(1);
	}
	return pid;
}

/* ---- a program that runs the handlers of pthread_atfork() by itself ---- */

/* Firefox does, around the clone() by which it starts its processes: it has
 * the function that libraries give them to. */
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

static struct {
	void (*before)(void), (*in_parent)(void), (*in_child)(void);
} handlers[8];
static int handler_count;

static void before_clone(void)
{
	for (int i = handler_count; i-- > 0;)
		if (handlers[i].before)
			handlers[i].before();
}

static void after_clone(bool child)
{
	for (int i = 0; i < handler_count; i++)
		if (child && handlers[i].in_child)
			handlers[i].in_child();
		else if (!child && handlers[i].in_parent)
			handlers[i].in_parent();
}

/* Libraries find it here before libc's, which is told as well. */
__attribute__((visibility("default"))) int
__register_atfork(void (*before)(void), void (*in_parent)(void),
		  void (*in_child)(void), void *library)
{
	int (*of_libc)(void (*)(void), void (*)(void), void (*)(void), void *);

	of_libc = (int (*)(void (*)(void), void (*)(void), void (*)(void),
			   void *))dlsym(RTLD_NEXT, "__register_atfork");
	if (handler_count < (int)(sizeof(handlers) / sizeof(*handlers))) {
		handlers[handler_count].before = before;
		handlers[handler_count].in_parent = in_parent;
		handlers[handler_count++].in_child = in_child;
	}
	return of_libc(before, in_parent, in_child, library);
}

/* ---- the new process ---- */

struct role {
	int fd;
	enum action action;
	enum state state;
	bool handled;
};

static int begin(void *argument)
{
	const struct role *r = argument;

	if (r->handled)
		after_clone(true);
	heir(r->fd, r->action, r->state);
	return 0;
}

static pid_t start(int fd, enum how h, enum action a, enum state s)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct role role = {fd, a, s, h == CLONE_HANDLED};
	pid_t pid = -1;

	if (h >= FORK_EXEC)
		return start_image(fd, h, a, s);
	if (h == CLONE_HANDLED)
		before_clone();
	if (h == RAW_FORK)
		pid = _Fork();
	else if (h == CLONE)
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else if (h == CLONE_CALL || h == CLONE_SHARED || h == CLONE_HANDLED)
		pid = clone(begin, stack + sizeof(stack),
			    SIGCHLD | (h == CLONE_SHARED ? CLONE_FILES : 0),
			    &role);
	else
		pid = fork();
	if (h == CLONE_HANDLED)
		after_clone(false);
	if (pid)
		return pid;
	if (h == DAEMON) {
		/* The one in between is gone before the connection is used. */
		pid = fork();
		if (pid) {
			int status = 0;

			close(fd);
			waitpid(pid, &status, 0);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
		}
	}
	heir(fd, a, s);
	return -1;
}

/* A child that was killed as it should be is no failure. */
static bool ended_well(int status, enum action a, enum how h)
{
	if (a != DIES)
		return status == 0;
	if (h == DAEMON)
		return WIFEXITED(status);
	return WIFSIGNALED(status);
}

/* The part of the process that was there before; it ends with 0 if all held. */
static void play(int fd, enum how h, enum state s, enum action a)
{
	int status = -1;
	pid_t child;

	alarm(CASE_SECONDS);
	prepare(fd, s);
	if (a == READS && can_read(s) && !has_unread(s))
		ask(fd, ECHO, 60);
	child = start(fd, h, a, s);
	check(child > 0, "no child");
	if (a == TAKES_OVER) {
		close(fd);
	} else if (a == WRITES && can_read(s)) {
		if (s == UNREAD)
			take(fd, 50);
		take(fd, 60);
	}
	if (a == DIES && h != DAEMON && !has_unread(s) && can_read(s)) {
		nap_us(20000);
		kill(child, SIGKILL);
	}
	check(waitpid(child, &status, 0) == child, "waitpid");
	check(ended_well(status, a, h), "the child failed");
	if (a == TAKES_OVER)
		_exit(0);
	if (s == UNREAD && (a == WRITES || a == READS))
		s = USED;
	if (s != PEER_GONE || a != READS)
		turn(fd, s, 70);
	close(fd);
	_exit(0);
}

static int wait_status(pid_t pid)
{
	int status = 0;

	check(waitpid(pid, &status, 0) == pid, "waitpid");
	return status;
}

/* True if both the players and the peer ended as they should. */
static bool run_case(enum how h, enum state s, enum action a)
{
	int port, listener = helper_listen(&port), status, peer_status;
	pid_t other, player;

	other = fork();
	if (!other) {
		int fd = accept(listener, NULL, NULL);

		close(listener);
		peer(fd);
	}
	player = fork();
	if (!player) {
		close(listener);
		play(helper_connect(port), h, s, a);
	}
	close(listener);
	status = wait_status(player);
	peer_status = wait_status(other);
	if (!status && !peer_status)
		return true;
	printf("FAILED: %s %s %s: process %s %d, peer %s %d\n", how_names[h],
	       state_names[s], action_names[a],
	       WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       WIFSIGNALED(peer_status) ? "signal" : "exit",
	       WIFSIGNALED(peer_status) ? WTERMSIG(peer_status)
					: WEXITSTATUS(peer_status));
	fflush(stdout);
	return false;
}

/* It may not have run at all when its parent ends. */
static void orphan_start(int fd, int ours)
{
	if (fork() > 0)
		_exit(0);
	send_all(fd, "orphan", 6);
	check(recv_all(fd, (char[6]){0}, 6) == 6, "the answer");
	check(write(ours, "", 1) == 1, "write");
	_exit(0);
}

/* The connection does not end when its grandparent closes, either. */
static void orphan_round(void)
{
	int port, ends[2], listener = helper_listen(&port);
	pid_t peer = fork();
	int fd, status;
	char byte;

	if (!peer) {
		echo_all(accept(listener, NULL, NULL));
		_exit(0);
	}
	close(listener);
	fd = helper_connect(port);
	send_all(fd, "x", 1);
	check(recv_all(fd, &byte, 1) == 1, "the first answer");
	check(!pipe(ends), "pipe");
	if (!fork())
		orphan_start(fd, ends[1]);
	check(wait(&status) > 0 && !status, "the child");
	close(fd);
	close(ends[1]);
	check(read(ends[0], &byte, 1) == 1, "the orphan");
	close(ends[0]);
	check(waitpid(peer, &status, 0) == peer && !status, "the peer");
}

static int orphans(int rounds)
{
	watchdog_start(CASE_SECONDS);
	for (int i = 0; i < rounds; i++, progress())
		orphan_round();
	return 0;
}

/* ---- many connections that a child closes ---- */

/* It sleeps until one of them has something, and sends it back. */
static void echo_many(int port, int count)
{
	struct pollfd *p = calloc((size_t)count, sizeof(*p));
	char byte;

	for (int i = 0; i < count; i++) {
		p[i] = (struct pollfd){helper_connect(port), POLLIN, 0};
		send_all(p[i].fd, "x", 1);
	}
	while (count > 0) {
		check(poll(p, (nfds_t)count, -1) > 0, "poll");
		for (int i = count - 1; i >= 0; i--) {
			if (!p[i].revents)
				continue;
			if (recv(p[i].fd, &byte, 1, 0) == 1)
				send_all(p[i].fd, &byte, 1);
			else
				p[i] = p[--count];
		}
	}
	_exit(0);
}

/* How often it went to sleep. */
static long sleeps_of(pid_t pid)
{
	static const char name[] = "\nvoluntary_ctxt_switches:";
	char path[64], text[4096] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	check(file && fread(text, 1, sizeof(text) - 1, file) > 0, path);
	fclose(file);
	check(strstr(text, name), name);
	return strtol(strstr(text, name) + strlen(name), NULL, 10);
}

static void await_sleep(pid_t pid)
{
	for (long before = -1; before != sleeps_of(pid); nap_us(100000))
		before = sleeps_of(pid);
}

static void close_copies(const int *fds, int count, int children)
{
	int status;

	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		for (int k = 0; !pid && k < count; k++)
			check(!close(fds[k]), "close");
		if (!pid)
			_exit(0);
		check(waitpid(pid, &status, 0) == pid && !status, "the child");
	}
}

static int copies(int count, int children)
{
	int port, status, listener = helper_listen(&port);
	int *fds = calloc((size_t)count, sizeof(*fds));
	pid_t peer = fork();
	char byte;
	long slept;

	alarm(CASE_SECONDS);
	if (!peer)
		echo_many(port, count);
	for (int i = 0; i < count; i++) {
		fds[i] = accept(listener, NULL, NULL);
		check(recv(fds[i], &byte, 1, 0) == 1, "the first byte");
	}
	await_sleep(peer);
	slept = sleeps_of(peer);
	close_copies(fds, count, children);
	check(sleeps_of(peer) == slept, "a copy's end woke the peer");
	for (int i = 0; i < count; i++) {
		send_all(fds[i], "y", 1);
		check(recv(fds[i], &byte, 1, 0) == 1, "the answer");
		close(fds[i]);
	}
	check(waitpid(peer, &status, 0) == peer && !status, "the peer");
	return 0;
}

/* ---- programs that were executed and got nothing ---- */

static void cloexec(int fd)
{
	check(!fcntl(fd, F_SETFD, FD_CLOEXEC), "close-on-exec");
}

/* Lives until there is no other end of its input; runs when this returns. */
static void helper_start(int input)
{
	int started[2];
	pid_t pid;
	char byte;

	check(!pipe2(started, O_CLOEXEC), "pipe");
	pid = fork();
	check(pid >= 0, "fork");
	if (!pid) {
		dup2(input, STDIN_FILENO);
		execlp("cat", "cat", NULL);
		_exit(1);
	}
	close(started[1]);
	check(read(started[0], &byte, 1) == 0, "a helper");
	close(started[0]);
}

static void greet(int fd, bool first)
{
	char byte;

	if (first)
		send_all(fd, "x", 1);
	check(recv_all(fd, &byte, 1) == 1, "the other end");
	if (!first)
		send_all(fd, &byte, 1);
}

static void helpers_peer(int port, int go)
{
	int old = helper_connect(port), fresh;
	char byte;

	greet(old, true);
	check(read(go, &byte, 1) == 1, "go");
	fresh = helper_connect(port);
	greet(fresh, true);
	send_all(old, "u", 1);
	send_all(fresh, "u", 1);
	check(recv(old, &byte, 1, 0) < 0 && errno == ECONNRESET,
	      "closed with a byte unread");
	_exit(0);
}

static int helpers(int count)
{
	int port, status, fd, old, alive[2], go[2];
	int listener = helper_listen(&port);
	pid_t peer;
	char byte;

	alarm(CASE_SECONDS);
	cloexec(listener);
	check(!pipe2(alive, O_CLOEXEC) && !pipe2(go, O_CLOEXEC), "pipe");
	peer = fork();
	if (!peer)
		helpers_peer(port, go[0]);
	cloexec(old = accept(listener, NULL, NULL));
	greet(old, false);
	for (int i = 0; i < count; i++)
		helper_start(alive[0]);
	check(write(go[1], "", 1) == 1, "go");
	fd = accept(listener, NULL, NULL);
	greet(fd, false);
	check(recv_all(fd, &byte, 1) == 1, "the end");
	close(old);
	check(waitpid(peer, &status, 0) == peer && !status, "the peer");
	close(alive[0]);
	close(alive[1]);
	for (int i = 0; i < count; i++)
		check(wait(&status) > 0 && !status, "a helper's end");
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0, ran = 0;

	if (argc == 3 && !strcmp(argv[1], "orphans"))
		return orphans(atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "copies"))
		return copies(atoi(argv[2]), atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "helpers"))
		return helpers(atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "--heir"))
		heir(atoi(argv[3]), (enum action)atoi(argv[2]),
		     (enum state)atoi(argv[4]));
	program = realpath("/proc/self/exe", NULL);
	for (int h = 0; h < HOWS; h++)
		for (int s = 0; s < STATES; s++)
			for (int a = 0; a < ACTIONS; a++) {
				if (argc > 1 && strcmp(argv[1], how_names[h]))
					continue;
				/* A close there is one here, too. */
				if (h == CLONE_SHARED &&
				    (a == CLOSES || a == TAKES_OVER))
					continue;
				ran++;
				failed += !run_case((enum how)h, (enum state)s,
						    (enum action)a);
			}
	printf("%d cases, %d failed\n", ran, failed);
	return failed != 0;
}
