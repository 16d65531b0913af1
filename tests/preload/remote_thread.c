/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* puppet: the other ends of many connections. */
#include "puppet.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "duct.h"

#define SMALL_BYTES 32768
#define PIECE       65536

struct order {
	enum puppet_verb verb;
	int i;
	size_t bytes;
};

/* ---- the puppet ---- */

static int begin_one(int port, int small)
{
	int bytes = SMALL_BYTES;
	int fd = duct_connect(port);

	if (small)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	send_all(fd, "x", 1);
	return fd;
}

static void obey(int *ends, const struct order *o, int port, int small)
{
	static char bytes[PIECE];
	size_t left = o->bytes;
	size_t n, done;

	switch (o->verb) {
	case PUPPET_WRITE:
	case PUPPET_TAKE:
		for (; left > 0; left -= n) {
			n = left < PIECE ? left : PIECE;
			if (o->verb == PUPPET_WRITE)
				send_all(ends[o->i], bytes, n);
			done = o->verb == PUPPET_WRITE
				   ? n
				   : recv_all(ends[o->i], bytes, n);
			if (done < n)
				break;
		}
		break;
	case PUPPET_SHUT:
		shutdown(ends[o->i], SHUT_WR);
		break;
	case PUPPET_RENEW:
		close(ends[o->i]);
		ends[o->i] = begin_one(port, small);
		break;
	}
}

static void be_puppet(int line, int port, int count, int small)
{
	static int ends[PUPPET_ENDS];
	struct order o;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < count; i++)
		ends[i] = begin_one(port, small);
	while (read(line, &o, sizeof(o)) == sizeof(o)) {
		obey(ends, &o, port, small);
		check(write(line, "", 1) == 1, "answer");
	}
	_exit(0);
}

/* ---- the process that pulls the strings ---- */

static void take_one(struct puppet *p, int i)
{
	p->fds[i] = accept(p->listener, NULL, NULL);
	check(p->fds[i] >= 0, "accept");
	progress();
}

void puppet_begin(struct puppet *p, int count, int small)
{
	int bytes = SMALL_BYTES;
	int port, lines[2];
	char c;

	p->count = count;
	p->listener = duct_listen(&port);
	if (small)
		setsockopt(p->listener, SOL_SOCKET, SO_SNDBUF, &bytes,
			   sizeof(bytes));
	check(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, lines), "socketpair");
	if (fork() == 0) {
		close(lines[0]);
		close(p->listener);
		be_puppet(lines[1], port, count, small);
	}
	close(lines[1]);
	p->line = lines[0];
	for (int i = 0; i < count; i++) {
		take_one(p, i);
		check(recv_all(p->fds[i], &c, 1) == 1, "the first byte");
		fcntl(p->fds[i], F_SETFL, O_NONBLOCK);
	}
}

void puppet_tell(struct puppet *p, enum puppet_verb verb, int i, size_t bytes)
{
	struct order o = {verb, i, bytes};

	check(write(p->line, &o, sizeof(o)) == sizeof(o), "order");
}

void puppet_await(struct puppet *p)
{
	char c;

	check(read(p->line, &c, 1) == 1, "the puppet");
	progress();
}

void puppet_do(struct puppet *p, enum puppet_verb verb, int i, size_t bytes)
{
	puppet_tell(p, verb, i, bytes);
	puppet_await(p);
}

void puppet_renew(struct puppet *p, int i)
{
	puppet_tell(p, PUPPET_RENEW, i, 0);
	take_one(p, i);
	fcntl(p->fds[i], F_SETFL, O_NONBLOCK);
}
