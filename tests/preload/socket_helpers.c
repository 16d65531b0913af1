/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socket_helpers: what the programs of this directory share.
 */
#include "socket_helpers.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void check_at(bool condition, const char *what, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: pid %d: %s (%s)\n", file, line, (int)getpid(),
		what, strerror(errno));
	_exit(1);
}

int helper_listen(int *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(fd >= 0, "socket");
	check(!bind(fd, (struct sockaddr *)&a, len), "bind");
	check(!listen(fd, 256), "listen");
	check(!getsockname(fd, (struct sockaddr *)&a, &len), "getsockname");
	*port = ntohs(a.sin_port);
	return fd;
}

int helper_connect(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(fd >= 0, "socket");
	check(!connect(fd, (struct sockaddr *)&a, sizeof(a)), "connect");
	return fd;
}

void helper_pair(int ends[2])
{
	int port, listener = helper_listen(&port);

	ends[0] = helper_connect(port);
	ends[1] = accept(listener, NULL, NULL);
	check(ends[1] >= 0, "accept");
	close(listener);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static unsigned char byte_at(uint32_t seed, uint64_t position)
{
	uint64_t word = mix((uint64_t)seed << 44 ^ (position >> 3));

	return (unsigned char)(word >> (8 * (position & 7)));
}

void bytes_fill(void *to, size_t size, uint32_t seed, uint64_t position)
{
	unsigned char *p = to;

	for (size_t i = 0; i < size; i++)
		p[i] = byte_at(seed, position + i);
}

bool bytes_match(const void *from, size_t size, uint32_t seed,
		 uint64_t position, size_t *wrong)
{
	const unsigned char *p = from;

	for (size_t i = 0; i < size; i++) {
		if (p[i] == byte_at(seed, position + i))
			continue;
		*wrong = i;
		return false;
	}
	return true;
}

static void wait_for(int fd, short events)
{
	struct pollfd p = {fd, events, 0};

	poll(&p, 1, 1000);
}

void send_all(int fd, const void *bytes, size_t size)
{
	const char *p = bytes;

	while (size) {
		ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			wait_for(fd, POLLOUT);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		check(n > 0, "send");
		p += n;
		size -= (size_t)n;
		progress();
	}
}

size_t recv_all(int fd, void *bytes, size_t size)
{
	char *p = bytes;
	size_t done = 0;

	while (done < size) {
		ssize_t n = recv(fd, p + done, size - done, 0);

		if (n < 0 && errno == EAGAIN) {
			wait_for(fd, POLLIN);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		check(n >= 0, "recv");
		if (!n)
			break;
		done += (size_t)n;
		progress();
	}
	return done;
}

void echo_all(int fd)
{
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		send_all(fd, bytes, (size_t)n);
}

uint32_t dice(uint64_t *state, uint32_t below)
{
	*state += 0x9e3779b97f4a7c15u;
	return (uint32_t)(mix(*state) >> 32) % below;
}

int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void nap_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static atomic_long steps;
static int patience;

void progress(void)
{
	atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
}

static void show_file(const char *thread, const char *file)
{
	char path[300], text[256];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", thread, file);
	f = fopen(path, "r");
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	fprintf(stderr, "  thread %s %s: %s\n", thread, file, text);
}

static void *watch(void *unused)
{
	long before = -1;
	int still = 0;
	sigset_t all;
	DIR *d;

	(void)unused;
	/* Timers of the test would end each sleep at once. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (still < patience) {
		long now = atomic_load(&steps);

		still = now == before ? still + 1 : 0;
		before = now;
		sleep(1);
	}
	fprintf(stderr, "pid %d: nothing has moved for %d s (%ld steps)\n",
		(int)getpid(), patience, before);
	d = opendir("/proc/self/task");
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		show_file(e->d_name, "wchan");
		show_file(e->d_name, "syscall");
	}
	_exit(3);
	return NULL;
}

void watchdog_start(int seconds)
{
	pthread_t thread;

	patience = seconds;
	check(!pthread_create(&thread, NULL, watch, NULL), "watchdog");
	pthread_detach(thread);
}
