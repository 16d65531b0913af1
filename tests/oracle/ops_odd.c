/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_odd: calls that few programs make: sockets bound, disconnected and
 * listening in odd orders, addresses nobody may read, options by number, calls
 * that do not belong to sockets.
 */
/* Only what says so may reach the checked entry points. */
#undef _FORTIFY_SOURCE
#include "actor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* bind C HOST: to a free port, which is known as @C. */
static void run_bind(struct call *c)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	int fd = name_fd(c->argv[1]);

	inet_pton(AF_INET, c->argv[2], &a.sin_addr);
	reply_result(c, bind(fd, (struct sockaddr *)&a, len));
	if (getsockname(fd, (struct sockaddr *)&a, &len) == 0)
		reply_hidden(c, "port=%u", ntohs(a.sin_port));
}

/* listenon FD [backlog=N]: listen() on a socket that is there. */
static void run_listenon(struct call *c)
{
	reply_result(
	    c, listen(name_fd(c->argv[1]), (int)call_number(c, "backlog", 16)));
}

/* disconnect FD: connect to AF_UNSPEC. */
static void run_disconnect(struct call *c)
{
	struct sockaddr a = {.sa_family = AF_UNSPEC};

	reply_result(c, connect(name_fd(c->argv[1]), &a, sizeof(a)));
}

static struct iovec *parts_many(unsigned char *bytes, int count, size_t each)
{
	struct iovec *parts = calloc((size_t)count + 1, sizeof(*parts));

	for (int i = 0; parts && i < count; i++) {
		parts[i].iov_base = bytes + (size_t)i * each;
		parts[i].iov_len = i % 3 == 1 ? 0 : each;
	}
	return parts;
}

/* sendmany FD COUNT EACH PATTERN: writev of so many buffers, some empty. */
static void run_sendmany(struct call *c)
{
	int count = atoi(c->argv[2]);
	size_t each = strtoul(c->argv[3], NULL, 0);
	struct iovec *parts = parts_many(c->task->bytes, count, each);

	pattern_fill(c->task->bytes, (size_t)count * each,
		     (uint32_t)strtoul(c->argv[4], NULL, 0), 0);
	reply_result(c, writev(name_fd(c->argv[1]), parts, count));
	free(parts);
}

/* recvmany FD COUNT EACH: readv; the sum is of the buffers as they lie. */
static void run_recvmany(struct call *c)
{
	int count = atoi(c->argv[2]);
	size_t each = strtoul(c->argv[3], NULL, 0);
	struct iovec *parts = parts_many(c->task->bytes, count, each);
	long ret;

	memset(c->task->bytes, 0, (size_t)count * each);
	ret = readv(name_fd(c->argv[1]), parts, count);
	reply_result(c, ret);
	if (ret > 0)
		reply(
		    c, " sum=%08x",
		    sum_bytes(SUM_START, c->task->bytes, (size_t)count * each));
	free(parts);
}

/* option FD LEVEL NUMBER [VALUE]: set if there is a value, then get. */
static void run_option(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	int level = atoi(c->argv[2]), number = atoi(c->argv[3]);
	int value = c->argc > 4 ? atoi(c->argv[4]) : 0;
	unsigned char out[8] = {0};
	socklen_t len = (socklen_t)call_number(c, "len", sizeof(value));
	int ret;

	if (c->argc > 4 && strncmp(c->argv[4], "len", 3) != 0)
		reply_result(
		    c, setsockopt(fd, level, number, &value, sizeof(value)));
	len = len < sizeof(out) ? len : sizeof(out);
	ret = getsockopt(fd, level, number, out, &len);
	reply_result(c, ret);
	for (socklen_t i = 0; ret == 0 && i < len && i < sizeof(out); i++)
		reply(c, "%s%02x", i ? "" : " ", out[i]);
}

/* strange FD: calls that are not for sockets. */
static void run_strange(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	struct iovec part = {c->task->bytes, 10};
	unsigned char *bytes = c->task->bytes;
	int below = -1;
	void *map;

	reply_result(c, pread(fd, bytes, 10, 0));
	reply_result(c, pwrite(fd, bytes, 10, 0));
	reply_result(c, preadv(fd, &part, 1, 0));
	reply_result(c, pwritev(fd, &part, 1, 5));
	reply_result(c, preadv2(fd, &part, 1, 0, 0));
	reply_result(c, lseek(fd, 10, SEEK_SET));
	reply_result(c, ftruncate(fd, 10));
	reply_result(c, fsync(fd));
	reply_result(c, fallocate(fd, 0, 0, 10));
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	reply_result(c, map == MAP_FAILED ? -1 : 0);
	if (map != MAP_FAILED)
		munmap(map, 4096);
	reply_result(c, preadv2(fd, &part, 1, -1, 0x40));
	reply_result(c, syscall(SYS_readv, fd, &part, below));
	reply_result(c, syscall(SYS_writev, fd, &part, below));
	reply_result(c, readv(fd, NULL, 0));
	reply_result(c, ioctl(fd, 0x5401 /* TCGETS */, bytes));
	reply_result(c, fchmod(fd, 0600));
}

/* pipeout FD SIZE: splice to a pipe, tee, and what is in the pipes. */
static void run_pipeout(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0);
	int fd = name_fd(c->argv[1]);
	int one[2], two[2];
	long n;

	if (pipe(one) || pipe(two)) {
		reply_bad(c, "pipes");
		return;
	}
	n = splice(fd, NULL, one[1], NULL, size, 0);
	reply_result(c, n);
	if (n > 0) {
		reply_result(c, tee(one[0], two[1], (size_t)n, 0));
		reply_result(c, read(two[0], c->task->bytes, (size_t)n));
		reply(c, " sum=%08x",
		      sum_bytes(SUM_START, c->task->bytes, (size_t)n));
		reply_result(c, read(one[0], c->task->bytes, (size_t)n));
	}
	reply_result(c, splice(fd, NULL, fd, NULL, 10, 0));
	reply_result(c, tee(fd, one[1], 10, 0));
	close(one[0]);
	close(one[1]);
	close(two[0]);
	close(two[1]);
}

/* pump FROM TO SIZE [nonblock]: by splice and a pipe, as a proxy does. */
static void run_pump(struct call *c)
{
	size_t size = strtoul(c->argv[3], NULL, 0), done = 0;
	unsigned flags = call_has(c, "nonblock") ? SPLICE_F_NONBLOCK : 0;
	int from = name_fd(c->argv[1]), to = name_fd(c->argv[2]);
	long n = 1;
	int ends[2];

	if (pipe(ends)) {
		reply_bad(c, "pipe");
		return;
	}
	while (done < size && n > 0) {
		n = splice(from, NULL, ends[1], NULL, size - done, flags);
		for (long left = n; left > 0 && n > 0; left -= n) {
			n = splice(ends[0], NULL, to, NULL, (size_t)left,
				   flags | SPLICE_F_MOVE);
			done += n > 0 ? (size_t)n : 0;
		}
	}
	reply_result(c, n < 0 ? n : (long)done);
	close(ends[0]);
	close(ends[1]);
}

/* sendnamed FD SIZE PATTERN: sendto and sendmsg with an address, which TCP does
 * not look at. */
static void run_sendnamed(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0);
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(0x7f000001),
				.sin_port = htons(9)};
	struct iovec part = {c->task->bytes, size};
	struct msghdr m = {.msg_name = &a,
			   .msg_namelen = sizeof(a),
			   .msg_iov = &part,
			   .msg_iovlen = 1};
	int fd = name_fd(c->argv[1]);

	pattern_fill(c->task->bytes, size,
		     (uint32_t)strtoul(c->argv[3], NULL, 0), 0);
	if (call_has(c, "sendmsg"))
		reply_result(c, sendmsg(fd, &m, 0));
	else
		reply_result(c, sendto(fd, part.iov_base, size, 0, (void *)&a,
				       sizeof(a)));
}

/* addressed FD: addresses that are not there or have no length, where TCP looks
 * at none; and flags of files that a socket takes. There is a byte to read. */
static void run_addressed(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	void *nowhere = (void *)(uintptr_t)16;
	struct sockaddr_storage a = {.ss_family = AF_INET};
	struct iovec part = {c->task->bytes, 1};
	struct msghdr m = {
	    .msg_iov = &part, .msg_iovlen = 1, .msg_namelen = 33};
	struct mmsghdr several = {.msg_hdr = m};
	int look = MSG_DONTWAIT | MSG_PEEK;
	socklen_t len = (socklen_t)-5;

	reply_result(c, sendto(fd, "x", 1, 0, nowhere, 16));
	reply_result(c, sendto(fd, "x", 1, 0, (void *)&a, sizeof(a) + 1));
	reply_result(c, sendto(fd, "x", 1, 0, nowhere, 0));
	m.msg_name = nowhere;
	reply_result(c, sendmsg(fd, &m, 0));
	m.msg_name = NULL;
	reply_result(c, recvmsg(fd, &m, look));
	reply(c, " %u", m.msg_namelen);
	reply_result(c, recvmmsg(fd, &several, 1, look, NULL));
	reply(c, " %u", several.msg_hdr.msg_namelen);
	reply_result(c, recvfrom(fd, part.iov_base, 1, look, (void *)&a, &len));
	reply_result(c, pwritev2(fd, &part, 1, -1, 0x20));
	reply_result(c, preadv2(fd, &part, 1, -1, 0x20));
	reply_result(c, preadv2(fd, &part, 1, -1, 0x4000));
}

/* recvnamed FD SIZE: what recvmsg writes into all of its fields. */
static void run_recvnamed(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0);
	int flags = (int)call_bits(c, "flags", message_words);
	struct sockaddr_storage from;
	unsigned char control[64];
	struct iovec part = {c->task->bytes, size};
	struct msghdr m = {.msg_name = &from,
			   .msg_namelen = sizeof(from),
			   .msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control),
			   .msg_flags = 0x7fff};
	long ret = recvmsg(name_fd(c->argv[1]), &m, flags);

	reply_result(c, ret);
	reply(c, " namelen=%u control=%zu flags=%x", m.msg_namelen,
	      m.msg_controllen, (unsigned)m.msg_flags);
	if (ret > 0 && !(flags & MSG_TRUNC))
		reply(c, " sum=%08x",
		      sum_bytes(SUM_START, c->task->bytes, (size_t)ret));
}

/* dupto FD NEW N: a descriptor from number N on. */
static void run_dupto(struct call *c)
{
	int ret = fcntl(name_fd(c->argv[1]), F_DUPFD, atoi(c->argv[3]));

	reply_result(c, ret < 0 ? -1 : 0);
	reply(c, " %s", ret >= atoi(c->argv[3]) ? "high" : "low");
	if (ret >= 0)
		name_set(c->argv[2], ret);
}

/* fetch FD NEW: pidfd_getfd of our own descriptor. */
static void run_fetch(struct call *c)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int ret = (int)syscall(SYS_pidfd_getfd, self, name_fd(c->argv[1]), 0);

	reply_result(c, ret < 0 ? -1 : 0);
	close(self);
	if (ret >= 0)
		name_set(c->argv[2], ret);
}

const struct operation odd_operations[] = {
    {"bind", 2, run_bind},
    {"listenon", 1, run_listenon},
    {"disconnect", 1, run_disconnect},
    {"sendmany", 4, run_sendmany},
    {"recvmany", 3, run_recvmany},
    {"option", 3, run_option},
    {"strange", 1, run_strange},
    {"pipeout", 2, run_pipeout},
    {"pump", 3, run_pump},
    {"sendnamed", 3, run_sendnamed},
    {"addressed", 1, run_addressed},
    {"recvnamed", 2, run_recvnamed},
    {"dupto", 3, run_dupto},
    {"fetch", 2, run_fetch},
    {NULL, 0, NULL},
};
