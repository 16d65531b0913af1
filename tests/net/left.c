/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * left: when a server is told that it need not ask about the connections of a
 * place that is left to TCP: while none that agreed waits for its question.
 *
 * One line for each step: what the question about a connection that agreed to
 * nothing tells (struct option_answer, left).
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/peer/offer.h"
#include "tests/net/option.h"

#define CLIENTS 16

static struct sockaddr_in where;
static int clients[CLIENTS];
static unsigned count;

static int open_listener(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	where = (struct sockaddr_in){
	    .sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&where, sizeof(where)) != 0 ||
	    listen(fd, CLIENTS) != 0)
		option_die("listen");
	option_check(offer_mark(fd), "mark");
	return fd;
}

static void connect_client(bool marked)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (marked)
		option_check(offer_mark(fd), "mark");
	if (connect(fd, (struct sockaddr *)&where, sizeof(where)) != 0)
		option_die("connect");
	if (marked != !!(offer_state(fd) & OFFER_AGREED))
		option_die("agreed");
	clients[count++] = fd;
}

static int accept_one(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		option_die("accept");
	return fd;
}

static void ask(int fd, const char *step)
{
	struct option_answer a = {.left = 0};

	option_check(offer_look_accepted(fd, &a), "look");
	printf("%s: %u%s\n", step, a.left & ~OPTION_LEFT_ONE,
	       a.left & OPTION_LEFT_ONE ? " one address" : "");
}

static void drop_clients(void)
{
	while (count > 0)
		close(clients[--count]);
}

/* Both agreed before the place was left. */
static int two_wait(int l)
{
	int one, other, plain[3];

	connect_client(true);
	connect_client(true);
	for (int i = 0; i < 3; i++)
		connect_client(false);
	option_check(offer_pause(l), "pause");
	one = accept_one(l);
	other = accept_one(l);
	for (int i = 0; i < 3; i++)
		plain[i] = accept_one(l);
	ask(plain[0], "two wait");
	offer_state(one);
	ask(plain[1], "one waits");
	close(other);
	ask(plain[2], "none waits");
	for (int i = 0; i < 3; i++)
		close(plain[i]);
	close(one);
	drop_clients();
	return l;
}

/* One is closed in the queue, which nobody sees, and with it the listener. */
static int lost_in_queue(int l, uint16_t port)
{
	connect_client(true);
	close(l);
	drop_clients();
	return open_listener(port);
}

static void one_plain(int l, const char *step)
{
	int fd;

	option_check(offer_pause(l), "pause");
	connect_client(false);
	fd = accept_one(l);
	ask(fd, step);
	close(fd);
	drop_clients();
}

/* A connection in its queue may have agreed meanwhile. */
static void unmarked_for_a_while(int l)
{
	option_check(offer_unmark(l), "unmark");
	option_check(offer_mark(l), "mark");
	one_plain(l, "after a time without mark");
}

int option_left(const char *rundir, uint16_t port)
{
	int l;

	option_check(offer_init(rundir), rundir);
	l = two_wait(open_listener(port));
	sleep(2); /* the pause ends */
	l = lost_in_queue(l, port);
	one_plain(l, "another listener");
	unmarked_for_a_while(l);
	close(l);
	return 0;
}
