/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_bad: calls with buffers, lists and names at addresses where a program may
 * not read or write.
 */
/* The compiler would see what is wrong. */
#undef _FORTIFY_SOURCE
#include "actor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define GOOD_BYTES 65536u

static const struct word places[] = {
    {"gone", 1}, {"closed", 2}, {"fixed", 3}, {"middle", 4}, {NULL, 0},
};

#define PAGE_BYTES 4096u

/* Where the bad bytes begin: at no address, in memory that was taken away, is
 * not to be touched, or not to be written. GOOD_BYTES lie before it; behind it
 * too, where no more than a page is bad. */
static unsigned char *bad_place(struct call *c)
{
	static unsigned char *made[5] = {(unsigned char *)8};
	unsigned kind = call_bits(c, "at", places);

	if (made[kind])
		return made[kind];
	made[kind] = mmap(NULL, 2 * GOOD_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(made[kind], 0x5a, 2 * GOOD_BYTES);
	made[kind] += GOOD_BYTES;
	if (kind == 1)
		munmap(made[kind], GOOD_BYTES);
	else
		mprotect(made[kind], kind == 4 ? PAGE_BYTES : GOOD_BYTES,
			 kind == 3 ? PROT_READ : PROT_NONE);
	return made[kind];
}

struct bad_call {
	const char *via;
	size_t good;
	size_t bad;
	unsigned char *place;
	struct iovec parts[2];
	struct msghdr message;
};

/* One good buffer, then a bad one; or, where it has neighbours, one that is
 * good at its beginning. */
static void bad_begin(struct call *c, struct bad_call *b)
{
	memset(b, 0, sizeof(*b));
	b->via = call_text(c, "via", "writev");
	b->good = strtoul(c->argv[2], NULL, 0);
	b->bad = strtoul(c->argv[3], NULL, 0);
	b->place = bad_place(c);
	b->parts[0] = (struct iovec){c->task->bytes, b->good};
	b->parts[1] = (struct iovec){b->place, b->bad};
	b->message.msg_iov = b->parts;
	b->message.msg_iovlen = 2;
	if (strcmp(call_text(c, "at", "-"), "-") != 0) {
		b->place -= b->good;
		b->bad += b->good;
	}
}

/* sendbad FD GOOD BAD PATTERN [via=send|write|writev|sendmsg] [at=PLACE] */
static void run_sendbad(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	struct bad_call b;

	bad_begin(c, &b);
	pattern_fill(c->task->bytes, b.good,
		     (uint32_t)strtoul(c->argv[4], NULL, 0), 0);
	if (!strcmp(b.via, "send"))
		reply_result(c, send(fd, b.place, b.bad, 0));
	else if (!strcmp(b.via, "write"))
		reply_result(c, write(fd, b.place, b.bad));
	else if (!strcmp(b.via, "sendmsg"))
		reply_result(c, sendmsg(fd, &b.message, 0));
	else
		reply_result(c, writev(fd, b.parts, 2));
}

/* Two messages, the second of which has the bad buffer. */
static void receive_two(struct call *c, int fd, struct bad_call *b, int flags)
{
	struct mmsghdr m[2] = {{{.msg_iov = &b->parts[0], .msg_iovlen = 1}, 0},
			       {{.msg_iov = &b->parts[1], .msg_iovlen = 1}, 0}};
	int n = recvmmsg(fd, m, 2, flags, NULL);

	reply_result(c, n);
	if (n > 0)
		reply(c, " part=%u", m[0].msg_len);
}

/* recvbad FD GOOD BAD [via=recv|read|readv|recvmsg|recvmmsg] [flags=...]
 * [at=PLACE] */
static void run_recvbad(struct call *c)
{
	int flags = (int)call_bits(c, "flags", message_words);
	int fd = name_fd(c->argv[1]);
	struct bad_call b;

	bad_begin(c, &b);
	if (!strcmp(b.via, "recv"))
		reply_result(c, recv(fd, b.place, b.bad, flags));
	else if (!strcmp(b.via, "read"))
		reply_result(c, read(fd, b.place, b.bad));
	else if (!strcmp(b.via, "recvmsg"))
		reply_result(c, recvmsg(fd, &b.message, flags));
	else if (!strcmp(b.via, "recvmmsg"))
		receive_two(c, fd, &b, flags);
	else
		reply_result(c, readv(fd, b.parts, 2));
}

/* bad FD at=PLACE: lists, sets and names there; FD must be readable. */
static void run_bad(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	void *at = bad_place(c);
	struct epoll_event e = {.events = EPOLLIN};
	struct msghdr m = {.msg_iov = at, .msg_iovlen = 1};
	struct msghdr control = {.msg_control = at, .msg_controllen = 64};
	socklen_t n = sizeof(struct sockaddr_in);
	unsigned char byte;
	int ep = epoll_create1(0);

	reply_result(c, writev(fd, at, 1));
	reply_result(c, sendmsg(fd, at, 0));
	reply_result(c, sendmsg(fd, &m, 0));
	reply_result(c, sendmmsg(fd, at, 1, 0));
	reply_result(c, sendmsg(fd, &control, 0));
	reply_result(c, readv(fd, at, 1));
	reply_result(c, recvmsg(fd, at, MSG_DONTWAIT));
	reply_result(c, recvmsg(fd, &m, MSG_DONTWAIT));
	reply_result(c, recvmmsg(fd, at, 1, MSG_DONTWAIT, NULL));
	reply_result(c, recvfrom(fd, &byte, 1, MSG_PEEK, at, at));
	reply_result(c, recvfrom(fd, &byte, 1, MSG_PEEK, at, &n));
	reply_result(c, ioctl(fd, FIONREAD, at));
	reply_result(c, poll(at, 1, 0));
	reply_result(c, select(fd + 1, at, NULL, NULL, NULL));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, fd, at));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	reply_result(c, epoll_wait(ep, at, 4, 0));
	reply_result(c, epoll_wait(ep, &e, 1, 0));
	reply_result(c, connect(fd, at, sizeof(struct sockaddr_in)));
	close(ep);
}

/* badmask FD at=PLACE: waits with a signal mask, or a time, from there. */
static void run_badmask(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	const sigset_t *mask = (void *)bad_place(c);
	const struct timespec *time = (const void *)mask;
	struct timespec now = {0, 0};
	struct pollfd p = {fd, POLLIN | POLLOUT, 0};
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT};
	int ep = epoll_create1(0);
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	reply_result(c, ppoll(&p, 1, &now, mask));
	reply_result(c, pselect(fd + 1, NULL, &set, NULL, &now, mask));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	reply_result(c, epoll_pwait(ep, &e, 1, 0, mask));
	reply_result(c, epoll_pwait2(ep, &e, 1, &now, mask));
	reply_result(c, epoll_pwait2(ep, &e, 1, time, NULL));
	reply_result(c, epoll_pwait(ep, &e, 1, 0, NULL));
	close(ep);
}

/* recvfixed FD SIZE [via=recvmmsg] [flags=...]: into a message header that may
 * not be written. What it would have said is lost, and so are the bytes. */
static void run_recvfixed(struct call *c)
{
	int flags = (int)call_bits(c, "flags", message_words);
	struct iovec part = {c->task->bytes, strtoul(c->argv[2], NULL, 0)};
	struct mmsghdr *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = name_fd(c->argv[1]);

	m->msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
	mprotect(m, 4096, PROT_READ);
	if (!strcmp(call_text(c, "via", "recvmsg"), "recvmmsg"))
		reply_result(c, recvmmsg(fd, m, 1, flags, NULL));
	else
		reply_result(c, recvmsg(fd, &m->msg_hdr, flags));
	munmap(m, 4096);
}

/* badctl E FD at=PLACE: what epoll_ctl refuses, and what it looks at first. */
static void run_badctl(struct call *c)
{
	int ep = name_fd(c->argv[1]), fd = name_fd(c->argv[2]);
	struct epoll_event *bad = (void *)bad_place(c);
	struct epoll_event e = {.events = EPOLLIN};
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int other = epoll_create1(EPOLL_CLOEXEC);

	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, fd, bad));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_MOD, fd, bad));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_DEL, fd, bad));
	reply_result(c, epoll_ctl(ep, 77, fd, bad));
	reply_result(c, epoll_ctl(ep, 77, fd, &e));
	reply_result(c, epoll_ctl(-1, EPOLL_CTL_ADD, fd, bad));
	reply_result(c, epoll_ctl(-1, EPOLL_CTL_ADD, fd, &e));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, -1, bad));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, -1, &e));
	reply_result(c, epoll_ctl(fd, EPOLL_CTL_ADD, fd, bad));
	reply_result(c, epoll_ctl(fd, EPOLL_CTL_ADD, ep, &e));
	reply_result(c, epoll_ctl(fd, EPOLL_CTL_DEL, fd, NULL));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, ep, &e));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_DEL, ep, NULL));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, file, &e));
	reply_result(c, epoll_ctl(file, EPOLL_CTL_ADD, fd, &e));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_MOD, other, &e));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, other, &e));
	reply_result(c, epoll_ctl(other, EPOLL_CTL_ADD, ep, &e));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_DEL, other, NULL));
	e.events = EPOLLIN | EPOLLEXCLUSIVE;
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_ADD, other, &e));
	reply_result(c, epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e));
	e.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLRDHUP;
	reply_result(c, epoll_ctl(other, EPOLL_CTL_ADD, fd, &e));
	e.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT;
	reply_result(c, epoll_ctl(other, EPOLL_CTL_ADD, fd, &e));
	e.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLET;
	reply_result(c, epoll_ctl(other, EPOLL_CTL_ADD, fd, &e));
	reply_result(c, epoll_ctl(other, EPOLL_CTL_DEL, fd, &e));
	close(file);
	close(other);
}

/* manypolled FD N: poll() of the same descriptor so many times. */
static void run_manypolled(struct call *c)
{
	size_t n = strtoul(c->argv[2], NULL, 0);
	struct pollfd *p = calloc(n, sizeof(*p));

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){name_fd(c->argv[1]), POLLOUT, 0};
	reply_result(c, poll(p, n, 0));
	free(p);
}

const struct operation bad_operations[] = {
    {"badmask", 2, run_badmask}, {"recvfixed", 2, run_recvfixed},
    {"badctl", 3, run_badctl},   {"manypolled", 2, run_manypolled},
    {"sendbad", 4, run_sendbad}, {"recvbad", 3, run_recvbad},
    {"bad", 1, run_bad},         {NULL, 0, NULL},
};
