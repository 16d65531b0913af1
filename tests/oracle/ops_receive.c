/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_receive: everything that takes bytes from a connection.
 *
 * Each answer has the sum of the bytes and says so if memory beyond them was
 * written.
 */
/* Only what says so may reach the checked entry points. */
#undef _FORTIFY_SOURCE
#include "actor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS  3
#define CANARY 0xa5

/* The checked entry points a fortified program calls. */
ssize_t __read_chk(int fd, void *buf, size_t n, size_t buflen);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t buflen, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t buflen, int flags,
		       struct sockaddr *from, socklen_t *len);

static void split(struct iovec *parts, unsigned char *bytes, size_t size)
{
	parts[0].iov_base = bytes;
	parts[0].iov_len = size / 4;
	parts[1].iov_base = bytes + size / 4;
	parts[1].iov_len = 0;
	parts[2].iov_base = bytes + size / 4;
	parts[2].iov_len = size - size / 4;
}

static long receive_message(struct call *c, int fd, struct iovec *parts,
			    int flags)
{
	struct sockaddr_storage from;
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct cmsghdr *h;
	struct msghdr m = {.msg_name = &from,
			   .msg_namelen = sizeof(from),
			   .msg_iov = parts,
			   .msg_iovlen = PARTS,
			   .msg_control = &control,
			   .msg_controllen =
			       (size_t)call_number(c, "room", sizeof(control))};
	long ret = recvmsg(fd, &m, flags);
	int error = errno;
	char text[128];

	if (ret >= 0) {
		words_print(message_words, (unsigned)m.msg_flags, text,
			    sizeof(text));
		reply(c, " name=%u control=%zu flags=%s", m.msg_namelen,
		      m.msg_controllen, text);
		h = CMSG_FIRSTHDR(&m);
		if (h && h->cmsg_len == CMSG_LEN(sizeof(int)))
			reply(c, " hint=%d", *(int *)(void *)CMSG_DATA(h));
	}
	errno = error;
	return ret;
}

/* The messages lie one behind the other, so that the sum is of the stream. */
static long receive_messages(struct call *c, int fd, struct iovec *parts,
			     int flags)
{
	struct timespec limit = {0, call_number(c, "timeout", 0) * 1000000};
	struct mmsghdr messages[PARTS];
	long ret, total = 0;

	memset(messages, 0, sizeof(messages));
	parts[1].iov_len = parts[0].iov_len / 2;
	parts[0].iov_len -= parts[1].iov_len;
	parts[1].iov_base = (char *)parts[0].iov_base + parts[0].iov_len;
	for (int i = 0; i < PARTS; i++) {
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	ret =
	    recvmmsg(fd, messages, PARTS, flags, limit.tv_nsec ? &limit : NULL);
	for (long i = 0; i < ret; i++) {
		reply(c, " part=%u", messages[i].msg_len);
		total += messages[i].msg_len;
	}
	return ret < 0 ? ret : total;
}

static long receive_checked(const char *via, int fd, unsigned char *bytes,
			    size_t size, int flags)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);

	if (!strcmp(via, "read_chk"))
		return __read_chk(fd, bytes, size, TASK_BYTES);
	if (!strcmp(via, "recv_chk"))
		return __recv_chk(fd, bytes, size, TASK_BYTES, flags);
	return __recvfrom_chk(fd, bytes, size, TASK_BYTES, flags,
			      (struct sockaddr *)&from, &len);
}

static long receive_via(struct call *c, const char *via, size_t size, int flags)
{
	int fd = name_fd(c->argv[1]);
	unsigned char *bytes = c->task->bytes;
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	struct iovec parts[PARTS];
	long ret;

	split(parts, bytes, size);
	if (!strcmp(via, "recv"))
		return recv(fd, bytes, size, flags);
	if (!strcmp(via, "read"))
		return read(fd, bytes, size);
	if (!strcmp(via, "readv"))
		return readv(fd, parts, PARTS);
	if (!strcmp(via, "recvmsg"))
		return receive_message(c, fd, parts, flags);
	if (!strcmp(via, "recvmmsg"))
		return receive_messages(c, fd, parts, flags);
	if (!strcmp(via, "preadv2"))
		return preadv2(fd, parts, PARTS, -1, 0);
	if (!strcmp(via, "preadv2_number"))
		return syscall(SYS_preadv2, fd, parts, PARTS, -1L, -1L, 0);
	if (!strcmp(via, "syscall"))
		return syscall(SYS_recvfrom, fd, bytes, size, flags, NULL,
			       NULL);
	if (!strcmp(via, "recvfrom")) {
		ret = recvfrom(fd, bytes, size, flags, (void *)&from, &len);
		if (ret >= 0)
			reply(c, " name=%u", len);
		return ret;
	}
	if (strstr(via, "_chk"))
		return receive_checked(via, fd, bytes, size, flags);
	reply_bad(c, "via");
	return 0;
}

/* recv FD SIZE [via=...] [flags=...] [timeout=MS, recvmmsg only] */
static void run_recv(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0), i;
	int flags = (int)call_bits(c, "flags", message_words);
	unsigned char *bytes = c->task->bytes;
	long ret;

	if (size > TASK_BYTES) {
		reply_bad(c, "size");
		return;
	}
	memset(bytes, CANARY, size + CANARY_BYTES);
	ret = receive_via(c, call_text(c, "via", "recv"), size, flags);
	reply_result(c, ret);
	if (flags & MSG_TRUNC)
		ret = 0;
	if (ret > 0)
		reply(c, " sum=%08x", sum_bytes(SUM_START, bytes, (size_t)ret));
	for (i = ret > 0 ? (size_t)ret : 0; i < size + CANARY_BYTES; i++)
		if (bytes[i] != CANARY)
			break;
	if (i < size + CANARY_BYTES)
		reply(c, " WROTE BEYOND at %zu", i);
}

/* Waits for readability of a non-blocking descriptor; false: too long. */
static bool wait_readable(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, AWAIT_MS) == 1;
}

/* recvall FD SIZE [chunk=N]: reads until SIZE bytes, an end or an error. */
static void run_recvall(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0), done = 0;
	size_t chunk = (size_t)call_number(c, "chunk", 65536);
	int fd = name_fd(c->argv[1]);
	uint32_t sum = SUM_START;
	long n = 1;

	while (done < size && n > 0 && chunk <= TASK_BYTES) {
		n = recv(fd, c->task->bytes,
			 size - done < chunk ? size - done : chunk, 0);
		if (n < 0 && errno == EAGAIN && wait_readable(fd)) {
			n = 1;
			continue;
		}
		if (n <= 0)
			break;
		sum = sum_bytes(sum, c->task->bytes, (size_t)n);
		done += (size_t)n;
	}
	reply_result(c, n < 0 ? n : (long)done);
	reply(c, " total=%zu sum=%08x", done, sum);
}

/*
 * recvend FD: reads to the end of the stream or an error. With "loose" the
 * number of bytes is not told: how much of a dying peer's data arrives is
 * not fixed; that it is a prefix of PATTERN is what is checked.
 */
static void run_recvend(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	const char *pattern = call_text(c, "prefix", NULL);
	unsigned char *expected = c->task->bytes + TASK_BYTES / 2;
	uint32_t sum = SUM_START;
	size_t done = 0;
	bool good = true;
	long n;

	for (;;) {
		n = recv(fd, c->task->bytes, 65536, 0);
		if (n < 0 && errno == EAGAIN && wait_readable(fd))
			continue;
		if (n <= 0)
			break;
		sum = sum_bytes(sum, c->task->bytes, (size_t)n);
		if (pattern) {
			pattern_fill(expected, (size_t)n,
				     (uint32_t)strtoul(pattern, NULL, 0), done);
			good &= !memcmp(expected, c->task->bytes, (size_t)n);
		}
		done += (size_t)n;
	}
	reply_result(c, n);
	if (pattern)
		reply(c, " prefix=%s", good ? "yes" : "NO");
	else
		reply(c, " total=%zu sum=%08x", done, sum);
}

/* drain FD SIZE PATTERN: exactly what a fill sent; the count is hidden. */
static void run_drain(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0), done = 0;
	uint32_t pattern = (uint32_t)strtoul(c->argv[3], NULL, 0);
	int fd = name_fd(c->argv[1]);
	unsigned char *expected = c->task->bytes + TASK_BYTES / 2;
	bool good = true;

	while (done < size) {
		size_t want = size - done < 65536 ? size - done : 65536;
		long n;

		if (!wait_readable(fd))
			break;
		n = recv(fd, c->task->bytes, want, MSG_DONTWAIT);
		if (n <= 0)
			break;
		pattern_fill(expected, (size_t)n, pattern, done);
		good &= !memcmp(expected, c->task->bytes, (size_t)n);
		done += (size_t)n;
	}
	reply(c, " = %s %s", done == size ? "all" : "MISSING",
	      good ? "right" : "WRONG");
	reply_hidden(c, "done=%zu", done);
}

/* fionread FD */
static void run_fionread(struct call *c)
{
	int count = -7;
	int ret = ioctl(name_fd(c->argv[1]), FIONREAD, &count);

	reply_result(c, ret);
	if (!ret)
		reply(c, " %d", count);
}

/* outq FD: waits until nothing is unsent and unacknowledged. */
static void run_outq(struct call *c)
{
	int64_t end = now_ms() + AWAIT_MS;
	int fd = name_fd(c->argv[1]);
	int count, ret;

	do {
		count = -7;
		ret = ioctl(fd, SIOCOUTQ, &count);
		if (ret || !count)
			break;
		pause_ms(2);
	} while (now_ms() < end);
	reply_result(c, ret);
	if (!ret)
		reply(c, " %s", count ? "NOT EMPTY" : "0");
}

/* unsplice FD SIZE [nonblock]: into a pipe; SIZE <= 65536. */
static void run_unsplice(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0);
	unsigned flags = call_has(c, "nonblock") ? SPLICE_F_NONBLOCK : 0;
	int ends[2];
	long ret, got = 0;

	if (pipe2(ends, O_NONBLOCK)) {
		reply_bad(c, "pipe");
		return;
	}
	ret = splice(name_fd(c->argv[1]), NULL, ends[1], NULL, size, flags);
	reply_result(c, ret);
	if (ret > 0)
		got = read(ends[0], c->task->bytes, TASK_BYTES);
	if (got > 0)
		reply(c, " sum=%08x",
		      sum_bytes(SUM_START, c->task->bytes, (size_t)got));
	if (got != ret && ret > 0)
		reply(c, " PIPE HAS %ld", got);
	close(ends[0]);
	close(ends[1]);
}

const struct operation receive_operations[] = {
    {"recv", 2, run_recv},         {"recvall", 2, run_recvall},
    {"recvend", 1, run_recvend},   {"drain", 3, run_drain},
    {"fionread", 1, run_fionread}, {"outq", 1, run_outq},
    {"unsplice", 2, run_unsplice}, {NULL, 0, NULL},
};
