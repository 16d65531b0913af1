/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * astray: threads that leave a call otherwise than they came.
 *
 *   astray jump	a handler leaves a sleeping recv() by siglongjmp
 *   astray jump-poll	the same out of poll()
 *   astray jump-close	and closes at once
 *   astray cancel	a thread is cancelled in recv()
 *   astray cancel-poll	in poll()
 *   astray cancel-send	and in send()
 *   astray cancel-ready	before a call that would not sleep: it moves
 * nothing
 *
 * After that the connection carries bytes as before, another sleep on it is
 * woken at once and burns no time, and a close is seen by the peer.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket_helpers.h"

#define BLOCK  4000
#define MARK   'm'
#define ROUNDS 20

static sigjmp_buf out;

static void jump(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

static void alarm_in(long us)
{
	struct itimerval t = {.it_value = {.tv_usec = us}};
	struct sigaction a = {.sa_handler = jump};

	check(!sigaction(SIGALRM, &a, NULL), "sigaction");
	check(!setitimer(ITIMER_REAL, &t, NULL), "setitimer");
}

static void jump_out(int fd)
{
	char byte;

	if (sigsetjmp(out, 1) == 0) {
		alarm_in(30000);
		check(recv(fd, &byte, 1, 0) == 12345, "recv came back");
	}
}

static void jump_out_of_poll(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (sigsetjmp(out, 1) == 0) {
		alarm_in(30000);
		check(poll(&p, 1, -1) == 12345, "poll came back");
	}
}

static void *receive(void *argument)
{
	char byte;

	check(recv(*(int *)argument, &byte, 1, 0) == 12345, "recv came back");
	return NULL;
}

static void *poll_for_ever(void *argument)
{
	struct pollfd p = {.fd = *(int *)argument, .events = POLLIN};

	check(poll(&p, 1, -1) == 12345, "poll came back");
	return NULL;
}

/* What was sent of the block that a cancellation cut is unknown: the peer reads
 * until nothing more comes. */
static void *send_for_ever(void *argument)
{
	static char block[65536];

	for (;;)
		check(send(*(int *)argument, block, sizeof(block), 0) > 0,
		      "send");
	return NULL;
}

/* ---- calls that would not sleep ---- */

static ssize_t by_recv(int fd, char *p)
{
	return recv(fd, p, 1, MSG_DONTWAIT);
}

static ssize_t by_read(int fd, char *p)
{
	return read(fd, p, 1);
}

static ssize_t by_recvmsg(int fd, char *p)
{
	struct iovec v = {p, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	return recvmsg(fd, &m, 0);
}

static ssize_t by_readv(int fd, char *p)
{
	struct iovec v = {p, 1};

	return readv(fd, &v, 1);
}

static ssize_t by_recvmmsg(int fd, char *p)
{
	struct iovec v = {p, 1};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};

	return recvmmsg(fd, &m, 1, 0, NULL);
}

static ssize_t by_send(int fd, char *p)
{
	return send(fd, p, 1, 0);
}

static ssize_t by_write(int fd, char *p)
{
	return write(fd, p, 1);
}

static ssize_t by_writev(int fd, char *p)
{
	struct iovec v = {p, 1};

	return writev(fd, &v, 1);
}

static ssize_t by_sendmsg(int fd, char *p)
{
	struct iovec v = {p, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	return sendmsg(fd, &m, 0);
}

static ssize_t by_sendmmsg(int fd, char *p)
{
	struct iovec v = {p, 1};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};

	return sendmmsg(fd, &m, 1, 0);
}

static ssize_t by_poll(int fd, char *p)
{
	struct pollfd f = {.fd = fd, .events = POLLIN};

	(void)p;
	return poll(&f, 1, -1);
}

static ssize_t by_select(int fd, char *p)
{
	fd_set in;

	(void)p;
	FD_ZERO(&in);
	FD_SET(fd, &in);
	return select(fd + 1, &in, NULL, NULL, NULL);
}

static ssize_t by_epoll(int fd, char *p)
{
	struct epoll_event e = {.events = EPOLLIN};
	static int ep;

	(void)p;
	if (ep == 0) {
		ep = epoll_create1(0);
		check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	}
	return epoll_wait(ep, &e, 1, -1);
}

static ssize_t (*const ready_calls[])(int fd, char *p) = {
    by_recv, by_read,   by_recvmsg, by_readv,   by_recvmmsg,
    by_send, by_write,  by_writev,  by_sendmsg, by_sendmmsg,
    by_poll, by_select, by_epoll};

static ssize_t (*ready_call)(int fd, char *p);

static void *call_cancelled(void *argument)
{
	char byte = 'r';

	pthread_cancel(pthread_self());
	check(ready_call(*(int *)argument, &byte) == 12345, "it came back");
	return NULL;
}

/* A byte is there to be read, and room for one. */
static void cancel_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	check(poll(&p, 1, -1) == 1, "poll");
	for (size_t i = 0; i < sizeof(ready_calls) / sizeof(*ready_calls);
	     i++) {
		pthread_t thread;
		void *result;

		ready_call = ready_calls[i];
		check(!pthread_create(&thread, NULL, call_cancelled, &fd),
		      "pthread_create");
		check(!pthread_join(thread, &result), "pthread_join");
		check(result == PTHREAD_CANCELED, "was cancelled");
	}
	check(recv(fd, &byte, 1, 0) == 1 && byte == 'x', "the byte is there");
}

static void cancel(int fd, void *(*what)(void *))
{
	pthread_t thread;
	void *result;

	check(!pthread_create(&thread, NULL, what, &fd), "pthread_create");
	nap_us(50000);
	check(!pthread_cancel(thread), "pthread_cancel");
	check(!pthread_join(thread, &result), "pthread_join");
	check(result == PTHREAD_CANCELED, "was cancelled");
}

/* However much was sent until the cancel, a mark comes behind its zeros, and
 * nothing behind the mark before it is answered. */
static void drain(int fd)
{
	char bytes[BLOCK];
	ssize_t n;

	do {
		n = recv(fd, bytes, sizeof(bytes), 0);
		check(n > 0, "zeros and a mark");
	} while (bytes[n - 1] != MARK);
	send_all(fd, bytes + n - 1, 1);
}

static void mark(int fd)
{
	char byte = MARK;

	send_all(fd, &byte, 1);
	check(recv_all(fd, &byte, 1) == 1 && byte == MARK, "the mark");
}

/* Bytes after a while, so that the reader sleeps. */
static void answer(int fd, bool drains, uint32_t rounds)
{
	char bytes[BLOCK];
	size_t wrong;

	if (drains)
		drain(fd);
	for (uint32_t i = 0; i < rounds; i++) {
		check(recv_all(fd, bytes, BLOCK) == BLOCK, "question");
		check(bytes_match(bytes, BLOCK, i, 0, &wrong), "its bytes");
		nap_us(20000);
		send_all(fd, bytes, BLOCK);
	}
	check(recv_all(fd, bytes, BLOCK) == 0, "end of the stream");
}

static double used(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) / 1e6;
}

static void go_on(int fd)
{
	double before = used();
	char bytes[BLOCK];
	size_t wrong;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		bytes_fill(bytes, BLOCK, i, 0);
		send_all(fd, bytes, BLOCK);
		check(recv_all(fd, bytes, BLOCK) == BLOCK, "answer");
		check(bytes_match(bytes, BLOCK, i, 0, &wrong), "its bytes");
		progress();
	}
	/* 0.4 s of sleep. */
	check(used() - before < 0.2, "sleeps burn no time");
}

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";
	bool sends = !strcmp(how, "cancel-send");
	bool closes = !strcmp(how, "jump-close");
	int port, status, listener = helper_listen(&port);
	int fd;
	pid_t peer;

	watchdog_start(30);
	peer = fork();
	check(peer >= 0, "fork");
	if (peer == 0) {
		fd = accept(listener, NULL, NULL);
		check(fd >= 0, "accept");
		close(listener);
		send_all(fd, "x", 1);
		if (sends)
			nap_us(200000);
		answer(fd, sends, closes ? 0 : ROUNDS);
		_exit(0);
	}
	close(listener);
	fd = helper_connect(port);
	if (!strcmp(how, "cancel-ready"))
		cancel_ready(fd);
	else
		check(recv_all(fd, &(char){0}, 1) == 1, "first byte");
	if (!strcmp(how, "jump"))
		jump_out(fd);
	else if (!strcmp(how, "jump-poll") || closes)
		jump_out_of_poll(fd);
	else if (!strcmp(how, "cancel"))
		cancel(fd, receive);
	else if (!strcmp(how, "cancel-poll"))
		cancel(fd, poll_for_ever);
	else if (sends)
		cancel(fd, send_for_ever);
	else
		check(!strcmp(how, "cancel-ready"),
		      "astray jump|jump-poll|jump-close|cancel|"
		      "cancel-poll|cancel-send|cancel-ready");
	if (sends)
		mark(fd);
	if (!closes)
		go_on(fd);
	close(fd);
	check(waitpid(peer, &status, 0) == peer && status == 0, "the peer");
	puts("well");
	return 0;
}
