/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_send: everything that puts bytes onto a connection.
 *
 * Each operation names a pattern; the bytes are a function of the pattern and
 * the offset, so that the receiver's sum tells loss, doubling and disorder.
 */
/* Only what says so may reach the checked entry points. */
#undef _FORTIFY_SOURCE
#include "actor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS      3
#define SERVICE_MS 50 /* beside a busy machine */

static void split(struct iovec *parts, unsigned char *bytes, size_t size)
{
	parts[0].iov_base = bytes;
	parts[0].iov_len = size / 3;
	parts[1].iov_base = bytes + size / 3;
	parts[1].iov_len = size > 9 ? 1 : 0;
	parts[2].iov_base = bytes + parts[0].iov_len + parts[1].iov_len;
	parts[2].iov_len = size - parts[0].iov_len - parts[1].iov_len;
}

static long send_messages(struct call *c, int fd, size_t size, int flags)
{
	struct iovec parts[PARTS];
	struct mmsghdr messages[PARTS];
	int ret;

	memset(messages, 0, sizeof(messages));
	split(parts, c->task->bytes, size);
	for (int i = 0; i < PARTS; i++) {
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	ret = sendmmsg(fd, messages, PARTS, flags);
	for (int i = 0; i < ret; i++)
		reply(c, " part=%u", messages[i].msg_len);
	return ret;
}

static long send_via(struct call *c, const char *via, size_t size, int flags)
{
	int fd = name_fd(c->argv[1]);
	unsigned char *bytes = c->task->bytes;
	struct iovec parts[PARTS];
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = PARTS};

	split(parts, bytes, size);
	if (!strcmp(via, "send"))
		return send(fd, bytes, size, flags);
	if (!strcmp(via, "sendto"))
		return sendto(fd, bytes, size, flags, NULL, 0);
	if (!strcmp(via, "sendmsg"))
		return sendmsg(fd, &message, flags);
	if (!strcmp(via, "sendmmsg"))
		return send_messages(c, fd, size, flags);
	if (!strcmp(via, "write"))
		return write(fd, bytes, size);
	if (!strcmp(via, "writev"))
		return writev(fd, parts, PARTS);
	if (!strcmp(via, "pwritev2"))
		return pwritev2(fd, parts, PARTS, -1, 0);
	if (!strcmp(via, "pwritev2_number"))
		return syscall(SYS_pwritev2, fd, parts, PARTS, -1L, -1L, 0);
	if (!strcmp(via, "syscall"))
		return syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
	reply_bad(c, "via");
	return 0;
}

static void reply_signals(struct call *c)
{
	int pipes = pipe_signals();

	if (pipes)
		reply(c, " sigpipe=%d", pipes);
}

/* send FD SIZE PATTERN [via=...] [flags=...] */
static void run_send(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0);
	int flags = (int)call_bits(c, "flags", message_words);

	if (size > TASK_BYTES) {
		reply_bad(c, "size");
		return;
	}
	pattern_fill(c->task->bytes, size,
		     (uint32_t)strtoul(c->argv[3], NULL, 0), 0);
	reply_result(c, send_via(c, call_text(c, "via", "send"), size, flags));
	reply_signals(c);
}

/* sendall FD SIZE PATTERN [chunk=N]: until all is taken or an error. */
static void run_sendall(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0), done = 0;
	uint32_t pattern = (uint32_t)strtoul(c->argv[3], NULL, 0);
	size_t chunk = (size_t)call_number(c, "chunk", 65536);
	int fd = name_fd(c->argv[1]);
	long n = 0;

	while (done < size && chunk <= TASK_BYTES) {
		size_t part = size - done < chunk ? size - done : chunk;
		struct pollfd p = {fd, POLLOUT, 0};

		pattern_fill(c->task->bytes, part, pattern, done);
		n = send(fd, c->task->bytes, part, 0);
		if (n < 0 && errno == EAGAIN && poll(&p, 1, AWAIT_MS) == 1)
			continue;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	reply_result(c, n < 0 ? n : (long)done);
	reply_signals(c);
}

/*
 * Until nothing is on its way that would make room: all of it has arrived, or
 * all that was sent has, and the peer's window is shut. One that is open a
 * little is filled when a timer asks for it.
 */
static void wait_until_stuck(int fd)
{
	int64_t end = now_ms() + AWAIT_MS;
	struct tcp_info now;
	socklen_t n;
	int queued;

	/* A link service takes bytes when it has a processor, and TCP does not
	 * tell of it. */
	if (getenv("SMC_R_FAR"))
		pause_ms(SERVICE_MS);
	do {
		n = sizeof(now);
		memset(&now, 0, sizeof(now));
		if (ioctl(fd, SIOCOUTQ, &queued) || !queued ||
		    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &now, &n) ||
		    (!now.tcpi_unacked && !now.tcpi_snd_wnd))
			return;
		pause_ms(1);
	} while (now_ms() < end);
}

/* TCP enlarges a buffer that nobody has set when the peer's next segment comes,
 * which would make room as well. */
static void keep_buffer(int fd)
{
	socklen_t n = sizeof(int);
	int twice;

	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &twice, &n))
		return;
	twice /= 2;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &twice, n);
}

/*
 * fill FD PATTERN [within=N]: until nothing fits any more, which is a matter of
 * the transport; how much it was goes to drain by the hidden count. What is
 * told is whether it was more than N.
 */
static void run_fill(struct call *c)
{
	uint32_t pattern = (uint32_t)strtoul(c->argv[2], NULL, 0);
	int fd = name_fd(c->argv[1]);
	size_t within = (size_t)call_number(c, "within", 0);
	size_t done = 0;
	int refused = 0;

	keep_buffer(fd);
	/* What the peer's system takes in the meantime makes room again. */
	while (refused < 2 && done < 64u << 20) {
		long n;

		pattern_fill(c->task->bytes, 32768, pattern, done);
		n = send(fd, c->task->bytes, 32768,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			done += (size_t)n;
			refused = 0;
		} else if (n < 0 && errno == EAGAIN) {
			refused++;
			wait_until_stuck(fd);
		} else {
			break;
		}
	}
	reply_result(c, refused ? -1 : 0);
	if (within)
		reply(c, done > within ? " more" : " within");
	reply_hidden(c, "size=%zu", done);
}

static int file_of(struct call *c, size_t size, uint32_t pattern)
{
	int file = memfd_create("oracle", MFD_CLOEXEC);

	pattern_fill(c->task->bytes, size, pattern, 0);
	if (file < 0 || write(file, c->task->bytes, size) != (ssize_t)size)
		reply_bad(c, "memfd");
	return file;
}

/* sendfile FD SIZE PATTERN [offset=N] [file=N]: N of -1 uses the file's own */
static void run_sendfile(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0);
	long from = call_number(c, "offset", -1);
	size_t content = (size_t)call_number(c, "file", (long)size + 100);
	int file = file_of(c, content, (uint32_t)strtoul(c->argv[3], NULL, 0));
	off_t offset = from;

	lseek(file, 0, SEEK_SET);
	reply_result(c, sendfile(name_fd(c->argv[1]), file,
				 from < 0 ? NULL : &offset, size));
	if (from >= 0)
		reply(c, " offset=%ld", (long)offset);
	reply(c, " position=%ld", (long)lseek(file, 0, SEEK_CUR));
	reply_signals(c);
	close(file);
}

/* splice FD SIZE PATTERN [flags=nonblock]: from a pipe; SIZE <= 65536. */
static void run_splice(struct call *c)
{
	size_t size = strtoul(c->argv[2], NULL, 0);
	unsigned flags = call_has(c, "nonblock") ? SPLICE_F_NONBLOCK : 0;
	int ends[2];

	if (pipe(ends)) {
		reply_bad(c, "pipe");
		return;
	}
	pattern_fill(c->task->bytes, size,
		     (uint32_t)strtoul(c->argv[3], NULL, 0), 0);
	if (write(ends[1], c->task->bytes, size) != (ssize_t)size)
		reply_bad(c, "pipe size");
	reply_result(c,
		     splice(ends[0], NULL, name_fd(c->argv[1]), NULL, size,
			    flags | (call_has(c, "more") ? SPLICE_F_MORE : 0)));
	reply_signals(c);
	close(ends[0]);
	close(ends[1]);
}

const struct operation send_operations[] = {
    {"send", 3, run_send},     {"sendall", 3, run_sendall},
    {"fill", 2, run_fill},     {"sendfile", 3, run_sendfile},
    {"splice", 3, run_splice}, {NULL, 0, NULL},
};
