/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_odd: moves that are not for sockets first: files, pipes, options,
 * requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "duel.h"

/* Pipe, file and eventfd come to be when they are wanted first. */
static void things_make(struct game *g)
{
	unsigned char bytes[9000];
	int two[2], fd;

	if (in(g, PIPE_READ) < 0 && !pipe2(two, O_NONBLOCK)) {
		put(g, PIPE_READ, two[0]);
		put(g, PIPE_WRITE, two[1]);
		known_as(g, two[0], 0, 0);
		known_as(g, two[1], 0, 0);
	}
	if (in(g, FILE_SLOT) < 0) {
		fd = memfd_create("duel", 0);
		pattern(g, bytes, sizeof(bytes));
		if (write(fd, bytes, sizeof(bytes)) > 0)
			lseek(fd, 0, SEEK_SET);
		known_as(g, fd, 0, 0);
		put(g, FILE_SLOT, fd);
	}
	if (in(g, EVENT) < 0) {
		put(g, EVENT, eventfd(0, EFD_NONBLOCK));
		known_as(g, in(g, EVENT), 0, 0);
	}
}

static void make_sendfile(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot);
	off_t at = (off_t)pick(r, 10000);
	size_t size = sendable(g, fd, pick(r, 12000));
	bool offset = chance(r, 60), odd = chance(r, 10);
	ssize_t n;

	things_make(g);
	guard_set();
	n = sendfile(fd, odd ? in(g, any_slot(g, r)) : in(g, FILE_SLOT),
		     offset ? &at : NULL, size);
	guard_end();
	was_sent(g, fd, n);
	say(g, "sendfile %d fd=%d size=%zu", slot, fd, size);
	say_result(g, n);
	say(g, " at=%ld file=%ld", (long)at,
	    (long)lseek(in(g, FILE_SLOT), 0, SEEK_CUR));
}

static void make_splice(struct game *g, struct random *r)
{
	/* Not SPLICE_F_MORE: smc_r(7), DIFFERENCES FROM TCP. */
	static const unsigned flags[] = {
	    0,    0,   SPLICE_F_NONBLOCK, SPLICE_F_NONBLOCK, SPLICE_F_MOVE,
	    0x10, 0x40};
	int slot = socket_slot(g, r), fd = in(g, slot), from, to;
	off64_t at = 3;
	size_t size = pick(r, 9000);
	unsigned flag = PICK(r, flags), how = pick(r, 5);
	ssize_t n;

	things_make(g);
	from = in(g, PIPE_READ);
	to = in(g, PIPE_WRITE);
	guard_set();
	switch (how) {
	case 0: /* what the pipe has */
		size = sendable(g, fd, size);
		n = splice(from, NULL, fd, chance(r, 10) ? &at : NULL, size,
			   flag);
		was_sent(g, fd, n);
		break;
	case 1:
		n = splice(fd, chance(r, 10) ? &at : NULL, to, NULL, size,
			   flag | SPLICE_F_NONBLOCK);
		was_taken(g, fd, n);
		break;
	case 2: {
		/* Pages that are given stay what they are. */
		struct iovec part = {g->bytes + BYTES / 4 + 16384 * g->given,
				     size};

		g->given = (g->given + 1) % 16;
		pattern(g, part.iov_base, size);
		n = vmsplice(to, &part, 1, SPLICE_F_NONBLOCK);
		break;
	}
	case 3:
		pattern(g, g->bytes, size);
		n = write(to, g->bytes, size);
		break;
	default:
		n = splice(fd, NULL, in(g, socket_slot(g, r)), NULL, size,
			   flag);
	}
	guard_end();
	say(g, "splice %d fd=%d how=%u size=%zu flags=%x", slot, fd, how, size,
	    flag);
	say_result(g, n);
}

static void make_pipe(struct game *g, struct random *r)
{
	ssize_t n;
	uint64_t word = 1 + pick(r, 3);

	things_make(g);
	switch (pick(r, 4)) {
	case 0:
	case 1:
		n = read(in(g, PIPE_READ), g->bytes, 1 + pick(r, 20000));
		say(g, "pipe");
		say_result(g, n);
		say(g, " %08x", sum(g->bytes, n > 0 ? (size_t)n : 0));
		return;
	case 2:
		n = write(in(g, EVENT), &word, 8);
		break;
	default:
		n = read(in(g, EVENT), &word, 8);
	}
	say(g, "event %llu", (unsigned long long)word);
	say_result(g, n);
}

struct option {
	int level, name;
};

static const struct option options[] = {
    {SOL_SOCKET, SO_ERROR},
    {SOL_SOCKET, SO_ERROR},
    {SOL_SOCKET, SO_ERROR},
    {SOL_SOCKET, SO_TYPE},
    {SOL_SOCKET, SO_DOMAIN},
    {SOL_SOCKET, SO_PROTOCOL},
    {SOL_SOCKET, SO_ACCEPTCONN},
    {SOL_SOCKET, SO_KEEPALIVE},
    {SOL_SOCKET, SO_LINGER},
    {SOL_SOCKET, SO_REUSEADDR},
    {SOL_SOCKET, SO_REUSEPORT},
    {SOL_SOCKET, SO_OOBINLINE},
    {SOL_SOCKET, SO_RCVLOWAT},
    {SOL_SOCKET, SO_SNDLOWAT},
    {SOL_SOCKET, SO_BROADCAST},
    {SOL_SOCKET, SO_DONTROUTE},
    {SOL_SOCKET, SO_PRIORITY},
    {SOL_SOCKET, SO_TIMESTAMP},
    {SOL_SOCKET, SO_PASSCRED},
    {SOL_SOCKET, SO_PEERCRED},
    {SOL_SOCKET, SO_PEEK_OFF},
    {SOL_SOCKET, SO_BUSY_POLL},
    {SOL_SOCKET, SO_ZEROCOPY},
    {SOL_SOCKET, SO_TXTIME},
    {SOL_SOCKET, SO_NO_CHECK},
    {SOL_SOCKET, SO_SELECT_ERR_QUEUE},
    {SOL_SOCKET, SO_INCOMING_NAPI_ID},
    {SOL_SOCKET, SO_PEERNAME},
    {SOL_SOCKET, SO_RXQ_OVFL},
    {SOL_SOCKET, SO_WIFI_STATUS},
    {SOL_SOCKET, SO_LOCK_FILTER},
    {SOL_SOCKET, SO_RCVTIMEO},
    {SOL_SOCKET, SO_SNDTIMEO},
    {SOL_SOCKET, SO_BSDCOMPAT},
    {SOL_SOCKET, SO_BUF_LOCK},
    {SOL_SOCKET, SO_NETNS_COOKIE},
    {SOL_SOCKET, SO_TIMESTAMPING},
    {SOL_SOCKET, SO_PREFER_BUSY_POLL},
    {SOL_SOCKET, SO_RCVBUF},
    {SOL_SOCKET, SO_SNDBUF},
    {SOL_SOCKET, 200},
    {IPPROTO_TCP, TCP_NODELAY},
    {IPPROTO_TCP, TCP_QUICKACK},
    {IPPROTO_TCP, TCP_KEEPIDLE},
    {IPPROTO_TCP, TCP_KEEPINTVL},
    {IPPROTO_TCP, TCP_KEEPCNT},
    {IPPROTO_TCP, TCP_SYNCNT},
    {IPPROTO_TCP, TCP_LINGER2},
    {IPPROTO_TCP, TCP_DEFER_ACCEPT},
    {IPPROTO_TCP, TCP_WINDOW_CLAMP},
    {IPPROTO_TCP, TCP_CONGESTION},
    {IPPROTO_TCP, TCP_THIN_DUPACK},
    {IPPROTO_TCP, TCP_USER_TIMEOUT},
    {IPPROTO_TCP, TCP_FASTOPEN},
    {IPPROTO_TCP, TCP_FASTOPEN_CONNECT},
    {IPPROTO_TCP, TCP_NOTSENT_LOWAT},
    {IPPROTO_TCP, TCP_INQ},
    {IPPROTO_TCP, TCP_TX_DELAY},
    {IPPROTO_TCP, TCP_SAVE_SYN},
    {IPPROTO_TCP, TCP_SAVED_SYN},
    {IPPROTO_TCP, TCP_REPAIR_QUEUE},
    {IPPROTO_TCP, 99},
    {IPPROTO_IP, IP_TOS},
    {IPPROTO_IP, IP_TTL},
    {IPPROTO_IP, IP_RECVTOS},
    {IPPROTO_IP, IP_MTU},
    {IPPROTO_IP, IP_FREEBIND},
    {IPPROTO_IP, IP_TRANSPARENT},
    {IPPROTO_IP, IP_PKTINFO},
    {IPPROTO_IPV6, IPV6_V6ONLY},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
    {IPPROTO_IPV6, IPV6_TCLASS},
    {IPPROTO_IPV6, IPV6_RECVPKTINFO},
    {IPPROTO_UDP, 1},
    {77, 1},
};

static bool is_time(const struct option *o)
{
	return o->level == SOL_SOCKET &&
	       (o->name == SO_RCVTIMEO || o->name == SO_SNDTIMEO);
}

/* What a set would change so that both runs may differ rightly: by what the
 * kernel chooses, or smc_r(7), DIFFERENCES FROM TCP, lists. */
static bool is_for_get(const struct option *o)
{
	return o->level == SOL_SOCKET &&
	       (o->name == SO_RCVBUF || o->name == SO_SNDBUF ||
		o->name == SO_LOCK_FILTER || o->name == SO_TIMESTAMPING);
}

static bool is_for_set(const struct option *o)
{
	return (o->level == SOL_SOCKET &&
		(o->name == SO_INCOMING_NAPI_ID || o->name == SO_PEERNAME ||
		 o->name == SO_RCVBUF || o->name == SO_SNDBUF)) ||
	       (o->level == IPPROTO_TCP &&
		(o->name == TCP_SAVED_SYN || o->name == TCP_WINDOW_CLAMP ||
		 o->name == TCP_QUICKACK)) ||
	       (o->level == IPPROTO_IP && o->name == IP_MTU);
}

static void make_option(struct game *g, struct random *r)
{
	static const socklen_t lengths[] = {4, 4, 4, 4, 0,  1,  2,
					    3, 5, 8, 8, 16, 64, (socklen_t)-1};
	const struct option *o = &PICK(r, options);
	int slot = socket_slot(g, r), fd = in(g, slot), ret;
	union {
		int number;
		struct timeval time;
		struct linger linger;
		unsigned char bytes[128];
	} v;
	socklen_t len = PICK(r, lengths), asked = len;

	memset(&v, 0x5a, sizeof(v));
	say(g, "option %d fd=%d %d/%d len=%d", slot, fd, o->level, o->name,
	    (int)len);
	if (is_for_set(o) || (chance(r, 60) && !is_for_get(o))) {
		if (is_for_get(o))
			return;
		ret = getsockopt(fd, o->level, o->name, v.bytes, &len);
		say(g, " get");
		say_result(g, ret);
		say(g, " len=%d", (int)len);
		if (!is_for_set(o) || ret)
			say(g, " %08x", sum(v.bytes, sizeof(v)));
		return;
	}
	if (is_for_get(o)) {
		say(g, " -");
		return;
	}
	if (is_time(o)) {
		v.time = (struct timeval){0, (long)pick(r, 3) * 30000};
		len = chance(r, 80) ? sizeof(v.time) : asked;
	} else if (o->level == SOL_SOCKET && o->name == SO_LINGER) {
		v.linger = (struct linger){(int)pick(r, 2), (int)pick(r, 3)};
		len = chance(r, 80) ? sizeof(v.linger) : asked;
	} else {
		v.number = (int)pick(r, 4) - (int)chance(r, 20);
		if (chance(r, 10))
			v.number = 1 << pick(r, 20);
	}
	ret = setsockopt(fd, o->level, o->name, v.bytes, len == 64 ? 16 : len);
	say(g, " set %d len=%d", v.number, (int)len);
	say_result(g, ret);
}

static void make_ioctl(struct game *g, struct random *r)
{
	static const unsigned long requests[] = {
	    FIONREAD, FIONREAD, FIONREAD, SIOCATMARK, FIONBIO,   FIONBIO,
	    FIOCLEX,  FIONCLEX, 0x5401,   SIOCGPGRP,  FIOGETOWN, 0x5460,
	    FIOQSIZE, 0x894b,   0x541b,   0xdeadbeef};
	int slot = socket_slot(g, r), fd = in(g, slot), ret;
	int words[32];
	unsigned long request = PICK(r, requests);

	memset(words, 0, sizeof(words));
	if (request == FIONBIO)
		words[0] = (int)pick(r, 3);
	ret = ioctl(fd, request, words);
	say(g, "ioctl %d fd=%d %lx", slot, fd, request);
	say_result(g, ret);
	if (request != 0x894b)
		say(g, " %d", words[0]);
}

static void make_fcntl(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), ret, command, arg = 0;
	unsigned how = pick(r, 10);

	if (how < 4) {
		command = F_GETFL;
	} else if (how < 7) {
		command = F_SETFL;
		arg = (chance(r, 70) ? O_NONBLOCK : 0) |
		      (chance(r, 10) ? O_APPEND : 0) |
		      (chance(r, 5) ? O_ASYNC : 0) |
		      (chance(r, 5) ? O_DIRECT : 0) |
		      (chance(r, 5) ? O_NOATIME : 0) |
		      (chance(r, 5) ? O_RDWR : 0);
	} else if (how == 7) {
		command = F_GETFD;
	} else if (how == 8) {
		command = F_SETFD;
		arg = (int)pick(r, 3);
	} else {
		static const int rare[] = {
		    F_GETOWN,     F_GETSIG,    F_GETLEASE, F_GETPIPE_SZ,
		    F_SETPIPE_SZ, F_GET_SEALS, F_SETOWN,   4711};
		command = PICK(r, rare);
	}
	ret = fcntl(fd, command, arg);
	say(g, "fcntl %d fd=%d %d %x", slot, fd, command, (unsigned)arg);
	say_result(g, ret);
}

/* Calls for files. */
static void make_file(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot);
	struct stat st = {0};
	unsigned how = pick(r, 14);
	void *at;
	long ret = -1;

	say(g, "file %d fd=%d how=%u", slot, fd, how);
	switch (how) {
	case 0:
		ret = lseek(fd, pick(r, 3), SEEK_SET);
		break;
	case 1:
		ret = fstat(fd, &st);
		say(g, " mode=%o size=%ld blocks=%ld", st.st_mode,
		    (long)st.st_size, (long)st.st_blocks);
		break;
	case 2:
		ret = fsync(fd);
		break;
	case 3:
		ret = ftruncate(fd, 10);
		break;
	case 4:
		at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		ret = at == MAP_FAILED ? -1 : 0;
		/* It would hold the socket behind its close. */
		if (at != MAP_FAILED)
			munmap(at, 4096);
		break;
	case 5:
		ret = posix_fadvise(fd, 0, 10, POSIX_FADV_NORMAL);
		break;
	case 6:
		ret = readahead(fd, 0, 10);
		break;
	case 7:
		ret = flock(fd, LOCK_SH | LOCK_NB);
		break;
	case 8:
		ret = isatty(fd);
		break;
	case 9:
		ret = fallocate(fd, 0, 0, 10);
		break;
	case 10:
		things_make(g);
		ret = copy_file_range(in(g, FILE_SLOT), NULL, fd, NULL, 10, 0);
		break;
	case 11:
		things_make(g);
		ret = tee(fd, in(g, PIPE_WRITE), 10, SPLICE_F_NONBLOCK);
		break;
	case 12:
		ret = fdatasync(fd);
		break;
	default:
		ret = lockf(fd, F_TEST, 10);
	}
	say_result(g, ret);
}

/* A stream on a duplicate, for a moment. */
static void make_stdio(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), copy;
	char line[64] = "";
	size_t n = 0;
	FILE *f;

	if (!sendable(g, fd, 100))
		return;
	say(g, "stdio %d fd=%d", slot, fd);
	copy = dup(fd);
	say_result(g, copy);
	f = copy < 0 ? NULL : fdopen(copy, "r+");
	if (!f) {
		say_result(g, -1);
		return;
	}
	guard_set();
	if (chance(r, 50)) {
		setvbuf(f, NULL, chance(r, 50) ? _IONBF : _IOLBF, 0);
		errno = 0;
		say_result(g, fprintf(f, "line %d\n", g->move));
		say_result(g, fflush(f));
		was_sent(g, fd,
			 ferror(f) ? 0
				   : (ssize_t)snprintf(line, 64, "line %d\n",
						       g->move));
	} else {
		setvbuf(f, NULL, _IONBF, 0);
		n = fread(line, 1, 1 + pick(r, 20), f);
		was_taken(g, fd, (ssize_t)n);
		say(g, " read %zu %08x %d %d", n, sum(line, n), feof(f),
		    ferror(f));
	}
	fclose(f);
	guard_end();
}

static void make_urgent(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), mark = -1;
	ssize_t n;

	if (chance(r, 50)) {
		n = send(fd, "!", 1, MSG_OOB | MSG_NOSIGNAL);
		say(g, "urgent %d fd=%d", slot, fd);
		say_result(g, n);
		if (connection_of(g, fd))
			g->table->odd[connection_of(g, fd)] = true;
		return;
	}
	n = recv(fd, g->bytes, 5, MSG_OOB | MSG_DONTWAIT);
	say(g, "urgent %d fd=%d recv", slot, fd);
	say_result(g, n);
	ioctl(fd, SIOCATMARK, &mark);
	say(g, " mark=%d", mark);
}

const struct kind odd_kinds[] = {
    {"sendfile", 1, 4, make_sendfile}, {"splice", 1, 6, make_splice},
    {"pipe", 1, 3, make_pipe},         {"option", 1, 14, make_option},
    {"ioctl", 1, 6, make_ioctl},       {"fcntl", 1, 6, make_fcntl},
    {"file", 1, 4, make_file},         {"stdio", 1, 1, make_stdio},
    {"urgent", 1, 1, make_urgent},     {0}};
