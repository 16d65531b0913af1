/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plain_program: socket options of other levels, and the time that connections
 * take. With the BPF programs attached the former must be as without them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "smc_r/peer/offer.h"
#include "tests/net/option.h"

#define LARGE        20000 /* several pages */
#define COST_SOCKETS 20000
#define COST_PAIRS   5000

static unsigned char buffer[LARGE];

static void show_get(int fd, const char *name, int level, int option,
		     socklen_t length)
{
	socklen_t given = length;
	int result;

	memset(buffer, 0x5a, sizeof(buffer));
	result = getsockopt(fd, level, option, buffer, &length);
	printf("get %s[%u]: %s, %u bytes:", name, given,
	       result ? strerrorname_np(errno) : "ok", length);
	/* What tcp_info holds changes by itself. */
	if (option != TCP_INFO || level != IPPROTO_TCP)
		for (unsigned i = 0; i < 8; i++)
			printf(" %02x", buffer[i]);
	printf("\n");
}

static void show_set(int fd, const char *name, int level, int option,
		     socklen_t length)
{
	int result = setsockopt(fd, level, option, buffer, length);

	printf("set %s[%u]: %s\n", name, length,
	       result ? strerrorname_np(errno) : "ok");
}

static void set_and_get(int fd, const char *name, int level, int option,
			uint32_t value)
{
	static const socklen_t lengths[] = {4,    1,    0,    16,   33,
					    4096, 4097, 5000, LARGE};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(buffer, 0, sizeof(buffer));
		memcpy(buffer, &value, sizeof(value));
		show_set(fd, name, level, option, lengths[i]);
		show_get(fd, name, level, option, lengths[i]);
	}
}

static void show_tcp(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		option_die("socket");
	set_and_get(fd, "SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, 65536);
	set_and_get(fd, "TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 1);
	set_and_get(fd, "TCP_MAXSEG", IPPROTO_TCP, TCP_MAXSEG, 1000);
	set_and_get(fd, "IP_TTL", IPPROTO_IP, IP_TTL, 9);
	set_and_get(fd, "IPV6_UNICAST_HOPS", IPPROTO_IPV6, IPV6_UNICAST_HOPS,
		    9);
	for (socklen_t length = 16; length < LARGE; length *= 3) {
		memset(buffer, 0, sizeof(buffer));
		memcpy(buffer, "reno", 5);
		show_set(fd, "TCP_CONGESTION", IPPROTO_TCP, TCP_CONGESTION,
			 length);
		show_get(fd, "TCP_CONGESTION", IPPROTO_TCP, TCP_CONGESTION,
			 length);
		show_get(fd, "TCP_INFO", IPPROTO_TCP, TCP_INFO, length);
		show_get(fd, "SO_BINDTODEVICE", SOL_SOCKET, SO_BINDTODEVICE,
			 length);
		show_get(fd, "IP_OPTIONS", IPPROTO_IP, IP_OPTIONS, length);
	}
	/* Levels that nobody knows; ours with a number that nobody has. */
	set_and_get(fd, "unknown", 0x1234567, 1, 1);
	set_and_get(fd, "private", OPTION_LEVEL, 0, 1);
	printf("null: %d", setsockopt(fd, SOL_SOCKET, SO_RCVBUF, NULL, 4));
	printf(" %s\n", strerrorname_np(errno));
	close(fd);
}

int option_plain_program(void)
{
	int fd;

	show_tcp(AF_INET);
	show_tcp(AF_INET6);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		option_die("socket");
	set_and_get(fd, "udp SO_SNDBUF", SOL_SOCKET, SO_SNDBUF, 65536);
	set_and_get(fd, "udp IP_MSFILTER", IPPROTO_IP, IP_MSFILTER, 0);
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		option_die("socket");
	set_and_get(fd, "unix SO_PASSCRED", SOL_SOCKET, SO_PASSCRED, 1);
	close(fd);
	return 0;
}

/* ---- Cost --------------------------------------------------------------- */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int listen_any(struct sockaddr_in *address, int mark)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)address, sizeof(*address)) != 0)
		option_die("bind");
	if (mark)
		offer_mark(fd);
	if (listen(fd, 16) != 0 ||
	    getsockname(fd, (struct sockaddr *)address, &length) != 0)
		option_die("listen");
	return fd;
}

/* Microseconds of socket, connect, accept and both closes. */
static double connect_us(int mark)
{
	const struct linger abort_it = {.l_onoff = 1};
	struct sockaddr_in address;
	int listener = listen_any(&address, mark), agreed = 0;
	double begin = now_us();

	for (int i = 0; i < COST_PAIRS; i++) {
		int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int server;

		if (mark)
			offer_mark(client);
		if (connect(client, (struct sockaddr *)&address,
			    sizeof(address)) != 0)
			option_die("connect");
		server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (mark && offer_state(client) > 0 && offer_state(server) > 0)
			agreed++;
		/* A reset, so that no TIME_WAIT uses up the ports. */
		setsockopt(client, SOL_SOCKET, SO_LINGER, &abort_it,
			   sizeof(abort_it));
		close(client);
		close(server);
	}
	begin = now_us() - begin;
	close(listener);
	if (mark && agreed != 0 && agreed != COST_PAIRS)
		option_check(-EPROTO, "some agreed and some did not");
	return begin / COST_PAIRS;
}

static double least(double (*measure)(int), int argument)
{
	double best = 1e9;

	for (int i = 0; i < 5; i++) {
		double once = measure(argument);

		best = once < best ? once : best;
	}
	return best;
}

static double calls_us(int which)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), value = 0;
	socklen_t length = sizeof(value);
	double begin = now_us();

	for (int i = 0; i < COST_SOCKETS; i++) {
		switch (which) {
		case 0:
			getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length);
			break;
		case 1:
			setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value,
				   sizeof(value));
			break;
		case 2:
			offer_mark(fd);
			break;
		default:
			offer_state(fd);
			break;
		}
	}
	begin = now_us() - begin;
	close(fd);
	return begin / COST_SOCKETS;
}

int option_cost(const char *rundir)
{
	option_check(offer_init(rundir), rundir);
	printf("getsockopt %.2f setsockopt %.2f mark %.2f state %.2f "
	       "connection %.1f marked connection %.1f us\n",
	       least(calls_us, 0), least(calls_us, 1), least(calls_us, 2),
	       least(calls_us, 3), least(connect_us, 0), least(connect_us, 1));
	return 0;
}
