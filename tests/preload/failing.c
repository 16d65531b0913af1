/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * failing: one call of the engine fails, in one end of a connection, and no
 * program notices: every byte is the other program's, and no descriptor is
 * left.
 *
 *   failing END GAME FIRST STEP
 *
 * END, "server" or "client", has the call that fails, in game number GAME of
 * four: 0, where the two processes meet, or 1, where they share memory. With
 * the library of the flavour "inject" it is call number FIRST, then FIRST +
 * STEP, ... until the game has fewer (inject.h). A game is connect, accept,
 * bytes, an epoll instance, fork, close; those after it, without a failure,
 * must go as well, and the last must leave no more descriptors than where no
 * call fails. Prints how many calls failed.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GAMES       4
#define SECONDS_MAX 20
#define NOT_REACHED 3
#define LEAKS       4
#define TRIES       3

static _Atomic int calls_left;
/* Both ends share it. */
static struct shared {
	int whole[2]; /* what each holds in the end where no call fails */
	_Atomic int played;
	_Atomic int counted;
} * shared;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* An end that is gone would make the other one give back what they shared. */
static void meet(_Atomic int *count)
{
	atomic_fetch_add(count, 1);
	while (atomic_load(count) % 2)
		usleep(100);
}

static void say(int fd, const char *word)
{
	ssize_t n = (ssize_t)strlen(word);

	check(send(fd, word, (size_t)n, MSG_NOSIGNAL) == n, word);
}

/* Exactly that, and nothing of anybody else's. */
static void hear(int fd, const char *word)
{
	char bytes[64] = "";

	check(recv(fd, bytes, strlen(word), MSG_WAITALL) ==
		  (ssize_t)strlen(word),
	      word);
	if (strcmp(bytes, word) != 0) {
		fprintf(stderr, "%02x%02x%02x%02x... in place of %s\n",
			(unsigned char)bytes[0], (unsigned char)bytes[1],
			(unsigned char)bytes[2], (unsigned char)bytes[3], word);
		_exit(1);
	}
}

static void hear_in_epoll(int fd, const char *word)
{
	struct epoll_event e = {.events = EPOLLIN};
	int instance = epoll_create1(0);

	check(instance >= 0, "epoll_create1");
	check(epoll_ctl(instance, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
	check(epoll_wait(instance, &e, 1, -1) == 1, "epoll_wait");
	hear(fd, word);
	close(instance);
}

/* The child's, and then ours again. */
static void hear_in_child(int fd)
{
	pid_t child = fork();
	int status;

	check(child >= 0, "fork");
	if (child == 0) {
		hear(fd, "for a child");
		say(fd, "from a child");
		_exit(0);
	}
	check(waitpid(child, &status, 0) == child && status == 0, "child");
}

static void serve(int listener)
{
	int fd = accept(listener, NULL, NULL);
	char byte;

	check(fd >= 0, "accept");
	hear(fd, "a question");
	say(fd, "an answer");
	hear_in_epoll(fd, "one more");
	say(fd, "one more answer");
	hear_in_child(fd);
	hear(fd, "at last");
	check(recv(fd, &byte, 1, 0) == 0, "end");
	close(fd);
}

static void call(const struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(connect(fd, (const void *)a, sizeof(*a)) == 0, "connect");
	say(fd, "a question");
	hear_in_epoll(fd, "an answer");
	say(fd, "one more");
	hear(fd, "one more answer");
	say(fd, "for a child");
	hear(fd, "from a child");
	say(fd, "at last");
	close(fd);
}

static int play_server(int names)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(bind(listener, (void *)&a, n) == 0, "bind");
	check(getsockname(listener, (void *)&a, &n) == 0, "name");
	check(listen(listener, 8) == 0, "listen");
	check(write(names, &a, sizeof(a)) == sizeof(a), "pipe");
	return listener;
}

/* Which end this process is, which of its calls fails, and where its name goes
 * or comes from. */
static void play(bool server, int game, int fails, int names)
{
	struct sockaddr_in a;
	struct pollfd nothing = {.fd = 0};
	int left, listener = -1;
	bool reached = true;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SECONDS_MAX);
	if (game == 0)
		atomic_store(&calls_left, fails);
	if (server)
		listener = play_server(names);
	else
		check(read(names, &a, sizeof(a)) == sizeof(a), "pipe");
	for (int i = 0; i < GAMES; i++) {
		if (i > 0 && i == game)
			atomic_store(&calls_left, fails);
		if (server)
			serve(listener);
		else
			call(&a);
		if (i == game && fails && atomic_exchange(&calls_left, 0) > 0)
			reached = false;
	}
	meet(&shared->played);
	/* One that keeps something has a descriptor by which it hears of the
	 * other one's end while it sleeps. */
	poll(&nothing, 1, 1);
	left = descriptors();
	meet(&shared->counted);
	if (!reached)
		_exit(NOT_REACHED);
	if (game < 0)
		shared->whole[server] = left;
	else if (left > shared->whole[server]) {
		fprintf(stderr, "%d descriptors, not %d\n", left,
			shared->whole[server]);
		_exit(LEAKS);
	}
	_exit(0);
}

static int result_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

/* 0 of both ends, or what is wrong, of the end whose call fails before that of
 * the other one. */
static int play_once(bool server, int game, int n)
{
	int names[2], own, other;
	pid_t pids[2];

	shared->played = shared->counted = 0;
	check(pipe(names) == 0, "pipe");
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			play(i == 0, game, server == (i == 0) ? n : 0,
			     names[i == 0]);
	}
	close(names[0]);
	close(names[1]);
	own = result_of(pids[!server]);
	if (own != 0 && own != LEAKS && own != NOT_REACHED)
		kill(pids[server], SIGKILL);
	other = result_of(pids[server]);
	return own ? own : other;
}

/* True: there was such a call. What a failed call leaves, it leaves each time;
 * two ends that miss each other under load have a second link group. */
static bool play_all(bool server, int game, int n)
{
	int result = LEAKS;

	for (int i = 0; i < TRIES && result == LEAKS; i++)
		result = play_once(server, game, n);
	if (result == NOT_REACHED)
		return false;
	if (result != 0) {
		fprintf(stderr, "call %d\n", n);
		exit(1);
	}
	return true;
}

int main(int count, char **word)
{
	char address[32];
	int failed = 0;

	if (count != 5)
		return 2;
	snprintf(address, sizeof(address), "%lx",
		 (unsigned long)(uintptr_t)&calls_left);
	setenv("SMC_R_FAIL", address, 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(shared != MAP_FAILED, "mmap");
	play_all(true, -1, 0);
	for (int n = atoi(word[3]);
	     play_all(strcmp(word[1], "server") == 0, atoi(word[2]), n);
	     n += atoi(word[4]))
		failed++;
	printf("%d calls failed\n", failed);
	return failed == 0;
}
