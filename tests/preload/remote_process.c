/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* remote_process: the other ends of many connections. */
#include "remote_process.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_helpers.h"

#define SMALL_BYTES 32768
#define PIECE       65536

struct order {
	enum remote_verb verb;
	int i;
	size_t bytes;
};

/* ---- the remote ---- */

static int begin_one(int port, int small)
{
	int bytes = SMALL_BYTES;
	int fd = helper_connect(port);

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
	case REMOTE_WRITE:
	case REMOTE_TAKE:
		for (; left > 0; left -= n) {
			n = left < PIECE ? left : PIECE;
			if (o->verb == REMOTE_WRITE)
				send_all(ends[o->i], bytes, n);
			done = o->verb == REMOTE_WRITE
				   ? n
				   : recv_all(ends[o->i], bytes, n);
			if (done < n)
				break;
		}
		break;
	case REMOTE_SHUT:
		shutdown(ends[o->i], SHUT_WR);
		break;
	case REMOTE_RENEW:
		close(ends[o->i]);
		ends[o->i] = begin_one(port, small);
		break;
	}
}

static void be_remote(int line, int port, int count, int small)
{
	static int ends[REMOTE_ENDS];
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

static void take_one(struct remote *p, int i)
{
	p->fds[i] = accept(p->listener, NULL, NULL);
	check(p->fds[i] >= 0, "accept");
	progress();
}

void remote_begin(struct remote *p, int count, int small)
{
	int bytes = SMALL_BYTES;
	int port, lines[2];
	char c;

	p->count = count;
	p->listener = helper_listen(&port);
	if (small)
		setsockopt(p->listener, SOL_SOCKET, SO_SNDBUF, &bytes,
			   sizeof(bytes));
	check(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, lines), "socketpair");
	if (fork() == 0) {
		close(lines[0]);
		close(p->listener);
		be_remote(lines[1], port, count, small);
	}
	close(lines[1]);
	p->line = lines[0];
	for (int i = 0; i < count; i++) {
		take_one(p, i);
		check(recv_all(p->fds[i], &c, 1) == 1, "the first byte");
		fcntl(p->fds[i], F_SETFL, O_NONBLOCK);
	}
}

void remote_tell(struct remote *p, enum remote_verb verb, int i, size_t bytes)
{
	struct order o = {verb, i, bytes};

	check(write(p->line, &o, sizeof(o)) == sizeof(o), "order");
}

void remote_await(struct remote *p)
{
	char c;

	check(read(p->line, &c, 1) == 1, "the remote");
	progress();
}

void remote_do(struct remote *p, enum remote_verb verb, int i, size_t bytes)
{
	remote_tell(p, verb, i, bytes);
	remote_await(p);
}

void remote_renew(struct remote *p, int i)
{
	remote_tell(p, REMOTE_RENEW, i, 0);
	take_one(p, i);
	fcntl(p->fds[i], F_SETFL, O_NONBLOCK);
}
