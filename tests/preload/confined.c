/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * confined: a program that may do little with the connections it has.
 *
 *   confined sandbox	as sshd does before a user has logged in: a child may
 *			make no call but those that OpenSSH 9.2 allows there,
 *			and answers on a connection that it was given; then
 *			its parent goes on with it
 *   confined chroot DIR	a server that locks itself up in an empty
 *directory, without /proc, and forks: the process of it that closes first does
 *not end the connection of the other
 *   confined stacks	threads with the least stack that there is connect,
 *			accept, wait in every way and go back to TCP
 *   confined table	connects with threads, and so does a child: the kernel's
 *			table of descriptors, slow to grow then, does not
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define BLOCK  3000
#define ROUNDS 20

/* ---- sandbox ---- */

/* sandbox-seccomp-filter.c of OpenSSH, what x86-64 and arm64 have of it. */
static const int allowed[] = {
    SYS_brk,          SYS_clock_gettime, SYS_clock_nanosleep,
    SYS_close,        SYS_exit,          SYS_exit_group,
    SYS_futex,        SYS_geteuid,       SYS_getpgid,
    SYS_getpid,       SYS_getrandom,     SYS_gettid,
    SYS_gettimeofday, SYS_getuid,        SYS_madvise,
    SYS_mmap,         SYS_mprotect,      SYS_mremap,
    SYS_munmap,       SYS_nanosleep,     SYS_ppoll,
    SYS_pselect6,     SYS_read,          SYS_rt_sigprocmask,
    SYS_shutdown,     SYS_write,         SYS_writev,
#ifdef SYS_poll
    SYS_poll,         SYS_select,        SYS_time,
    SYS_getpgrp,
#endif
};

/* These fail there; any other ends the process. */
static const int refused[] = {
    SYS_openat, SYS_fstat, SYS_newfstatat, SYS_shmget,
    SYS_shmat,  SYS_shmdt, SYS_setpgid,
};

#define FILTER_MAX 128

struct program {
	struct sock_filter code[FILTER_MAX];
	unsigned short length;
};

static void add(struct program *p, unsigned short code, unsigned number,
		unsigned char yes, unsigned char no)
{
	check(p->length < FILTER_MAX, "the filter is too long");
	p->code[p->length++] = (struct sock_filter){
	    .code = code, .jt = yes, .jf = no, .k = number};
}

static void add_calls(struct program *p, const int *calls, size_t count,
		      unsigned verdict)
{
	for (size_t i = 0; i < count; i++) {
		add(p, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		add(p, BPF_RET | BPF_K, verdict, 0, 0);
	}
}

static void confine(void)
{
	struct rlimit none = {0, 0};
	struct rlimit one = {1, 1};
	struct program p = {.length = 0};
	struct sock_fprog f = {.filter = p.code};

	add(&p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0,
	    0);
	add_calls(&p, refused, sizeof(refused) / sizeof(*refused),
		  SECCOMP_RET_ERRNO | EACCES);
	add_calls(&p, allowed, sizeof(allowed) / sizeof(*allowed),
		  SECCOMP_RET_ALLOW);
	add(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	f.len = p.length;
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_NOFILE, &one);
	setrlimit(RLIMIT_NPROC, &none);
	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f, 0, 0), "seccomp");
}

static void write_all(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, bytes, n);

		if (k < 0 && errno == EAGAIN)
			poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
		else if (k <= 0)
			_exit(2);
		else
			n -= (size_t)k, bytes += k;
	}
}

static size_t read_all(int fd, char *bytes, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t k = read(fd, bytes + have, n - have);

		if (k < 0 && errno == EAGAIN)
			poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1);
		else if (k <= 0)
			break;
		else
			have += (size_t)k;
	}
	return have;
}

static void echo(int fd, int rounds)
{
	static char block[BLOCK];

	while (rounds-- > 0) {
		if (read_all(fd, block, BLOCK) != BLOCK)
			_exit(3);
		write_all(fd, block, BLOCK);
	}
}

static void ask(int fd, uint32_t seed)
{
	static unsigned char bytes[BLOCK];
	size_t wrong;

	bytes_fill(bytes, BLOCK, seed, 0);
	send_all(fd, bytes, BLOCK);
	memset(bytes, 0, BLOCK);
	check(recv_all(fd, bytes, BLOCK) == BLOCK, "no echo");
	check(bytes_match(bytes, BLOCK, seed, 0, &wrong), "a wrong echo");
}

static int status_of(pid_t pid)
{
	int status = -1;

	check(waitpid(pid, &status, 0) == pid, "waitpid");
	return status;
}

static void serve_in_chroot(int listener, const char *dir)
{
	int fd = accept(listener, NULL, NULL);
	pid_t child;

	check(fd >= 0, "accept");
	echo(fd, ROUNDS);
	check(!chdir(dir) && !chroot("."), "chroot");
	child = fork();
	if (!child) {
		close(fd);
		_exit(0);
	}
	check(!status_of(child), "the child that closes");
	echo(fd, ROUNDS);
	child = fork();
	if (!child) {
		echo(fd, ROUNDS);
		_exit(0);
	}
	close(fd);
	check(!status_of(child), "the child that goes on");
	_exit(0);
}

static void serve(int listener)
{
	int fd = accept(listener, NULL, NULL), status;
	pid_t child;

	check(fd >= 0, "accept");
	echo(fd, ROUNDS);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	child = fork();
	if (!child) {
		confine();
		echo(fd, ROUNDS);
		close(fd);
		_exit(0);
	}
	status = status_of(child);
	if (status)
		fprintf(stderr, "the sandboxed child: %s %d\n",
			WIFSIGNALED(status) ? "signal" : "exit",
			WIFSIGNALED(status) ? WTERMSIG(status)
					    : WEXITSTATUS(status));
	check(!status, "the sandboxed child");
	echo(fd, ROUNDS);
	close(fd);
	_exit(0);
}

/* As browsers do before they have a connection: without a filter nothing
 * begins, and the error tells whether it could. */
static void ask_for_modes(void)
{
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 &&
		  errno == EFAULT,
	      "prctl without a filter");
	check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		      SECCOMP_FILTER_FLAG_TSYNC, NULL) < 0 &&
		  errno == EFAULT,
	      "seccomp without a filter");
}

static void talk(const char *dir)
{
	int port, listener = helper_listen(&port), fd;
	pid_t server;

	ask_for_modes();
	server = fork();
	if (!server && dir)
		serve_in_chroot(listener, dir);
	if (!server)
		serve(listener);
	close(listener);
	fd = helper_connect(port);
	for (int i = 0; i < 3 * ROUNDS; i++)
		ask(fd, (uint32_t)i);
	close(fd);
	check(!status_of(server), "the server");
	printf("%d blocks there and back\n", 3 * ROUNDS);
}

/* ---- stacks ---- */

static int stacks_port, stacks_listener;

static void wait_in_turn(int fd, int turn)
{
	struct pollfd p = {fd, POLLIN, 0};
	struct epoll_event e = {.events = EPOLLIN};
	fd_set set;
	int ep;

	switch (turn % 4) {
	case 1:
		poll(&p, 1, -1);
		break;
	case 2:
		FD_ZERO(&set);
		FD_SET(fd, &set);
		select(fd + 1, &set, NULL, NULL, NULL);
		break;
	case 3:
		ep = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
		epoll_wait(ep, &e, 1, -1);
		close(ep);
		break;
	default:
		break;
	}
}

/* Not echo(): its buffer is not for several threads. */
static void *small_server(void *unused)
{
	int fd = accept(stacks_listener, NULL, NULL);
	char bytes[100];

	(void)unused;
	for (int i = 0;; i++) {
		ssize_t n;

		wait_in_turn(fd, i);
		n = recv(fd, bytes, sizeof(bytes), 0);
		if (n <= 0)
			break;
		send_all(fd, bytes, (size_t)n);
		if (i == ROUNDS)
			fcntl(fd, F_SETOWN, getpid());
	}
	close(fd);
	return NULL;
}

static void *small_client(void *unused)
{
	int fd = helper_connect(stacks_port);
	unsigned char bytes[100];
	size_t wrong;

	(void)unused;
	for (uint32_t i = 0; i < 2 * ROUNDS; i++) {
		bytes_fill(bytes, sizeof(bytes), i, 0);
		send_all(fd, bytes, sizeof(bytes));
		wait_in_turn(fd, (int)i);
		check(recv_all(fd, bytes, sizeof(bytes)) == sizeof(bytes),
		      "no echo");
		check(bytes_match(bytes, sizeof(bytes), i, 0, &wrong), "echo");
		if (i == ROUNDS / 2)
			close(dup(fd));
	}
	close(fd);
	return NULL;
}

/* The first thread that listens reads the settings. */
static void *small_listener(void *unused)
{
	(void)unused;
	stacks_listener = helper_listen(&stacks_port);
	return NULL;
}

static void run(void *(*body)(void *), pthread_t *threads, int count)
{
	pthread_attr_t a;

	pthread_attr_init(&a);
	check(!pthread_attr_setstacksize(&a,
					 (size_t)sysconf(_SC_THREAD_STACK_MIN)),
	      "stack size");
	for (int i = 0; i < count; i++)
		check(!pthread_create(&threads[i], &a, body, NULL), "thread");
	pthread_attr_destroy(&a);
}

static void stacks(void)
{
	enum {
		COUNT = 4
	};
	pthread_t threads[COUNT];
	pid_t server;

	run(small_listener, threads, 1);
	pthread_join(threads[0], NULL);
	server = fork();
	run(server ? small_client : small_server, threads, COUNT);
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	if (!server)
		_exit(0);
	check(!status_of(server), "the server");
	printf("%d connections\n", COUNT);
}

/* ---- table ---- */

static int table_size(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int size = 0;

	check(f != NULL, "/proc/self/status");
	while (!size && fgets(line, sizeof(line), f))
		if (!strncmp(line, "FDSize:", 7))
			size = atoi(line + 7);
	fclose(f);
	return size;
}

/* There are threads, and were none when this process first listened. */
static void connect_with_threads(void)
{
	int port, size;
	size_t wrong;
	int ends[2];

	helper_listen(&port);
	watchdog_start(20);
	size = table_size();
	for (uint32_t i = 0; i < 4; i++) {
		unsigned char sent[BLOCK], got[BLOCK];

		helper_pair(ends);
		bytes_fill(sent, BLOCK, i, 0);
		send_all(ends[0], sent, BLOCK);
		check(recv_all(ends[1], got, BLOCK) == BLOCK, "the block");
		check(bytes_match(got, BLOCK, i, 0, &wrong), "its bytes");
		progress();
	}
	check(table_size() == size, "the table of numbers has grown");
}

static void table(void)
{
	struct rlimit r;
	int status;
	pid_t pid;

	/* No room is made where the numbers would be very high. */
	check(!getrlimit(RLIMIT_NOFILE, &r), "getrlimit");
	if (r.rlim_cur > 4096)
		r.rlim_cur = 4096;
	check(!setrlimit(RLIMIT_NOFILE, &r), "setrlimit");
	pid = fork();
	if (!pid) {
		connect_with_threads();
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child");
	connect_with_threads();
	printf("no table has grown\n");
}

int main(int argc, char **argv)
{
	alarm(20);
	if (argc == 2 && !strcmp(argv[1], "sandbox")) {
		talk(NULL);
	} else if (argc == 3 && !strcmp(argv[1], "chroot")) {
		talk(argv[2]);
	} else if (argc == 2 && !strcmp(argv[1], "stacks")) {
		stacks();
	} else if (argc == 2 && !strcmp(argv[1], "table")) {
		table();
	} else {
		fprintf(stderr,
			"usage: confined sandbox|chroot DIR|stacks|table\n");
		return 2;
	}
	return 0;
}
