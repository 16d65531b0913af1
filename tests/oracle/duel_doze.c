/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_doze: moves in which a thread sleeps in one of many calls, and what is
 * rarely done to its descriptor meanwhile: it is closed, another one takes its
 * number, a child closes it, its low-water mark moves, its instance changes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "duel.h"

enum {
	BY_RECV,
	BY_READV,
	BY_RECVMMSG,
	BY_SPLICE,
	BY_PEEK,
	BY_POLL,
	BY_PPOLL,
	BY_PSELECT,
	BY_EPOLL,
	BY_NESTED,
	BY_ACCEPT,
};

static struct dozer {
	pthread_t thread;
	volatile pid_t tid;
	volatile bool begun, over;
	unsigned how, connection;
	int end, fd, ep, outer, flags, pipe[2];
	short asked;
	size_t size;
	long ret;
	int error;
	unsigned bits;
	unsigned char *bytes;
} dozer;

static void doze_in_wait(struct dozer *d)
{
	struct pollfd p = {d->fd, d->asked, 0};
	struct epoll_event e = {0};
	fd_set set;

	FD_ZERO(&set);
	if (d->fd >= 0 && d->fd < FD_SETSIZE)
		FD_SET(d->fd, &set);
	switch (d->how) {
	case BY_POLL:
		d->ret = poll(&p, 1, -1);
		d->bits = (unsigned short)p.revents;
		break;
	case BY_PPOLL:
		d->ret = ppoll(&p, 1, &(struct timespec){20, 0}, NULL);
		d->bits = (unsigned short)p.revents;
		break;
	case BY_PSELECT:
		d->ret = pselect(d->fd + 1, &set, NULL, NULL, NULL, NULL);
		d->bits = d->ret == 1;
		break;
	default:
		d->ret = epoll_wait(d->how == BY_NESTED ? d->outer : d->ep, &e,
				    1, d->how == BY_NESTED ? -1 : 20000);
		d->bits = e.events;
	}
}

static void doze_in_call(struct dozer *d)
{
	struct iovec parts[2] = {
	    {d->bytes, d->size / 2},
	    {d->bytes + d->size / 2, d->size - d->size / 2}};
	struct mmsghdr m[2] = {{{.msg_iov = parts, .msg_iovlen = 2}, 0},
			       {{.msg_iov = parts, .msg_iovlen = 1}, 0}};

	switch (d->how) {
	case BY_RECV:
		d->ret = recv(d->fd, d->bytes, d->size, d->flags);
		break;
	case BY_PEEK:
		d->ret = recv(d->fd, d->bytes, d->size, d->flags | MSG_PEEK);
		break;
	case BY_READV:
		d->ret = readv(d->fd, parts, 2);
		break;
	case BY_RECVMMSG:
		d->ret = recvmmsg(d->fd, m, 2, MSG_WAITFORONE, NULL);
		if (d->ret > 0)
			d->ret = m[0].msg_len + (d->ret > 1 ? m[1].msg_len : 0);
		break;
	case BY_SPLICE:
		d->ret = splice(d->fd, NULL, d->pipe[1], NULL, d->size, 0);
		if (d->ret > 0)
			d->ret = read(d->pipe[0], d->bytes, (size_t)d->ret);
		break;
	default:
		d->ret = accept(d->fd, NULL, NULL);
	}
}

static void *dozer_main(void *of)
{
	struct dozer *d = of;

	d->tid = (pid_t)syscall(SYS_gettid);
	d->begun = true;
	if (d->how >= BY_POLL && d->how <= BY_NESTED)
		doze_in_wait(d);
	else
		doze_in_call(d);
	d->error = errno;
	d->over = true;
	return NULL;
}

static void instances_make(struct dozer *d, struct random *r)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP}, in = {0};

	if (chance(r, 40))
		e.events |= EPOLLET;
	if (chance(r, 20))
		e.events |= EPOLLONESHOT;
	if (chance(r, 20))
		e.events |= EPOLLPRI;
	d->ep = epoll_create1(0);
	epoll_ctl(d->ep, EPOLL_CTL_ADD, d->fd, &e);
	in.events = EPOLLIN | (chance(r, 30) ? EPOLLET : 0);
	if (d->how != BY_NESTED)
		return;
	d->outer = epoll_create1(0);
	epoll_ctl(d->outer, EPOLL_CTL_ADD, d->ep, &in);
}

static void doze_begin(struct game *g, struct random *r, int slot)
{
	static const short asked[] = {POLLIN,  POLLIN | POLLRDHUP, POLLRDHUP,
				      POLLPRI, POLLIN | POLLPRI,   0};
	struct dozer *d = &dozer;

	memset(d, 0, sizeof(*d));
	if (chance(r, 15))
		slot = LISTENER;
	d->fd = in(g, slot);
	d->connection = connection_of(g, d->fd);
	d->end = d->connection ? g->table->end[g->side][d->fd] : 0;
	d->how = pick(r, slot == LISTENER ? BY_ACCEPT + 1 : BY_ACCEPT);
	if (slot == LISTENER && chance(r, 50))
		d->how = BY_ACCEPT;
	d->asked = PICK(r, asked);
	d->size = 1 + pick(r, 600);
	d->flags = chance(r, 40) ? MSG_WAITALL : 0;
	d->bytes = g->bytes + BYTES / 2;
	d->ep = d->outer = d->pipe[0] = d->pipe[1] = -1;
	if (d->how == BY_EPOLL || d->how == BY_NESTED)
		instances_make(d, r);
	if (d->how == BY_SPLICE && pipe(d->pipe))
		return;
	say(g, "doze %d fd=%d how=%u size=%zu flags=%x asked=%x", slot, d->fd,
	    d->how, d->size, (unsigned)d->flags, (unsigned)d->asked);
	pthread_create(&d->thread, NULL, dozer_main, d);
	while (!d->begun)
		usleep(200);
	say(g, " %s", thread_rests(d->tid, &d->over) ? "rests" : "is over");
}

static long child_closes(int fd, bool closes)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (closes)
			close(fd);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* The epoll instance of the sleeper changes; FD is what it has. */
static long instance_change(const struct game *g, struct random *r,
			    struct dozer *d)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
	int ep = d->ep;

	switch (pick(r, 4)) {
	case 0:
		return epoll_ctl(d->ep, EPOLL_CTL_DEL, d->fd, &e);
	case 1:
		return epoll_ctl(d->ep, EPOLL_CTL_MOD, d->fd, &e);
	case 2:
		return epoll_ctl(d->ep, EPOLL_CTL_ADD, in(g, (int)pick(r, 6)),
				 &e);
	default:
		d->ep = -1;
		return close(ep);
	}
}

/* What this side does to its own descriptor while its thread sleeps. */
static void doze_disturb_own(struct game *g, struct random *r, int slot)
{
	struct dozer *d = &dozer;
	unsigned how = pick(r, 10);
	int low = 1 + (int)pick(r, 300), other = -1;
	long ret = 0;

	say(g, "own disturb fd=%d how=%u", d->fd, how);
	switch (how) {
	case 0:
		ret = shutdown(d->fd, (int)pick(r, 3));
		break;
	case 1:
		known_as(g, d->fd, 0, 0);
		ret = close(d->fd);
		break;
	case 2:
		if (d->fd < 0)
			break;
		other = open("/dev/null", O_RDWR);
		known_as(g, d->fd, 0, 0);
		ret = dup2(other, d->fd);
		close(other);
		break;
	case 3:
		other = in(g, (int)pick(r, 6));
		if (d->fd < 0 || other < 0 || other == d->fd)
			break;
		known_copy(g, other, d->fd);
		ret = dup3(other, d->fd, 0);
		break;
	case 4:
		ret = setsockopt(d->fd, SOL_SOCKET, SO_RCVLOWAT, &low,
				 sizeof(low));
		break;
	case 5:
	case 6:
		ret = child_closes(d->fd, how == 5);
		break;
	case 7:
		if (d->ep >= 0)
			ret = instance_change(g, r, d);
		break;
	default:
		/* One whose handler leaves the call to go on, or not. */
		ret = pthread_kill(d->thread, SIGPIPE);
	}
	say(g, " slot %d", slot);
	say_result(g, ret);
	usleep(2000);
	say(g, " %s", thread_rests(d->tid, &d->over) ? "rests" : "is over");
}

static void doze_disturb(struct game *g, struct random *r, int slot)
{
	int fd = in(g, slot), other;
	struct linger l = {1, 0};
	unsigned how = pick(r, 7);
	size_t size = sendable(g, fd, 1 + pick(r, 500));
	long ret = 0;

	say(g, "disturb %d fd=%d how=%u", slot, fd, how);
	switch (how) {
	case 0:
		ret = shutdown(fd, SHUT_WR);
		break;
	case 1:
		if (chance(r, 40))
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
		known_as(g, fd, 0, 0);
		ret = close(fd);
		break;
	case 2:
		if (fd < 0)
			break;
		/* The last one of its descriptors goes by dup2. */
		other = open("/dev/null", O_RDWR);
		known_as(g, fd, 0, 0);
		ret = dup2(other, fd);
		close(other);
		break;
	case 3:
		ret = child_closes(fd, true);
		break;
	default:
		pattern(g, g->bytes, size);
		ret = send(fd, g->bytes, size, MSG_NOSIGNAL);
		was_sent(g, fd, ret);
	}
	say_result(g, ret);
}

static void doze_end(struct game *g)
{
	struct dozer *d = &dozer;
	uint32_t *left = &g->table->flight[d->connection][d->end];

	say(g, "woken? %s",
	    thread_rests(d->tid, &d->over) ? "rests" : "is over");
	for (int i = 0; !d->over; i++) {
		pthread_kill(d->thread, SIGUSR1);
		usleep(10000);
	}
	pthread_join(d->thread, NULL);
	if (d->how <= BY_SPLICE && d->connection && d->ret > 0) {
		*left -= d->ret < *left ? (uint32_t)d->ret : *left;
		if (!*left)
			g->table->pieces[d->connection][d->end] = 0;
	}
	errno = d->error;
	say_result(g, d->ret);
	if (d->how <= BY_PEEK)
		say(g, " %08x", sum(d->bytes, d->ret > 0 ? (size_t)d->ret : 0));
	else
		say(g, " %x", d->ret > 0 ? d->bits : 0);
	if (d->how == BY_ACCEPT && d->ret >= 0)
		close((int)d->ret);
	close(d->ep);
	close(d->outer);
	close(d->pipe[0]);
	close(d->pipe[1]);
}

static void make_doze(struct game *g, struct random *r)
{
	int slot = (int)pick(r, g->crowd);
	bool own = chance(r, 50), peer = !own || chance(r, 60);

	if (g->phase == 0) {
		doze_begin(g, r, slot);
		say_end(g);
		if (own)
			doze_disturb_own(g, r, slot);
	} else if (g->phase == 1) {
		if (peer)
			doze_disturb(g, r, slot);
	} else {
		doze_end(g);
	}
}

const struct kind doze_kinds[] = {{"doze", 3, 20, make_doze}, {0}};
