/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_data: moves that send and receive, by every call and with any argument.
 */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "duel.h"

#define PARTS_MAX 9

static const unsigned sizes[] = {
    0,     1,     2,     3,     7,     8,     15,    63,    64,   65,    127,
    255,   256,   257,   511,   512,   1000,  1023,  1024,  1025, 1448,  2047,
    2048,  4094,  4095,  4096,  4097,  4098,  8191,  8192,  8193, 12288, 12289,
    16000, 16383, 16384, 16385, 20000, 30000, 32767, 32768, 32769};

static const unsigned send_flags[] = {
    MSG_DONTWAIT, MSG_DONTWAIT, MSG_NOSIGNAL,     MSG_NOSIGNAL, MSG_NOSIGNAL,
    MSG_EOR,      MSG_CONFIRM,  MSG_DONTROUTE,    MSG_TRUNC,    MSG_PEEK,
    MSG_WAITALL,  MSG_CTRUNC,   MSG_PROXY,        MSG_RST,      MSG_SYN,
    MSG_FIN,      MSG_ERRQUEUE, MSG_CMSG_CLOEXEC, 0x40000,      MSG_ZEROCOPY,
    0x20000,      0x80000,      0x100000,         0x2000000,    0x10000000};

static const unsigned receive_flags[] = {
    MSG_DONTWAIT,  MSG_DONTWAIT,   MSG_PEEK,         MSG_PEEK,    MSG_PEEK,
    MSG_TRUNC,     MSG_TRUNC,      MSG_WAITALL,      MSG_WAITALL, MSG_NOSIGNAL,
    MSG_EOR,       MSG_CTRUNC,     MSG_CMSG_CLOEXEC, MSG_MORE,    MSG_CONFIRM,
    MSG_DONTROUTE, MSG_WAITFORONE, MSG_ERRQUEUE,     MSG_PROXY,   0x40000};

static size_t size_pick(struct random *r)
{
	if (chance(r, 50))
		return pick(r, 300);
	return PICK(r, sizes);
}

/* An array of parts whose sizes add up to about this much. */
static int parts_pick(struct random *r, struct iovec *parts, void *bytes,
		      size_t size)
{
	int count = (int)pick(r, PARTS_MAX), made = 0;
	unsigned char *at = bytes;

	while (made < count) {
		size_t n =
		    made + 1 == count ? size : pick(r, (unsigned)size + 1);

		if (chance(r, 15))
			n = 0;
		parts[made].iov_base = n || chance(r, 50) ? at : NULL;
		parts[made++].iov_len = n;
		at += n;
		size -= n;
	}
	return count;
}

static size_t parts_size(const struct iovec *parts, int count)
{
	size_t size = 0;

	for (int i = 0; i < count; i++)
		size += parts[i].iov_len;
	return size;
}

struct sending {
	int fd;
	size_t size;
	int flags;
	struct iovec parts[PARTS_MAX];
	int count;
	struct msghdr m;
	struct sockaddr_in name;
};

static void message_pick(struct random *r, struct sending *s)
{
	s->m = (struct msghdr){.msg_iov = s->parts,
			       .msg_iovlen = (size_t)s->count};
	s->m.msg_flags = (int)pick(r, 2) * 0x7fff;
	if (chance(r, 15)) {
		s->m.msg_name = &s->name;
		s->m.msg_namelen =
		    chance(r, 50) ? sizeof(s->name) : pick(r, 200);
	}
}

static ssize_t send_parts(struct game *g, struct random *r, struct sending *s,
			  unsigned how)
{
	struct mmsghdr many[3];
	int n;

	switch (how) {
	case 0:
		say(g, " writev parts=%d", s->count);
		return writev(s->fd, s->parts, s->count);
	case 1:
		s->flags = chance(r, 70) ? 0 : (int)(1u << pick(r, 7));
		say(g, " pwritev2 parts=%d flags=%x", s->count,
		    (unsigned)s->flags);
		return pwritev2(s->fd, s->parts, s->count,
				chance(r, 80) ? -1 : 0, s->flags);
	case 2:
		message_pick(r, s);
		say(g, " sendmsg parts=%d name=%u flags=%x", s->count,
		    s->m.msg_namelen, (unsigned)s->flags);
		return sendmsg(s->fd, &s->m, s->flags);
	default:
		message_pick(r, s);
		n = (int)pick(r, 4);
		if (parts_size(s->parts, s->count) * 3 >
		    sendable(g, s->fd, 1u << 20))
			n = 1;
		for (int i = 0; i < 3; i++)
			many[i] = (struct mmsghdr){s->m, 77};
		say(g, " sendmmsg %d of parts=%d name=%u flags=%x", n, s->count,
		    s->m.msg_namelen, (unsigned)s->flags);
		n = sendmmsg(s->fd, many, (unsigned)n, s->flags);
		for (int i = 0; i < 3; i++) {
			say(g, " %u", many[i].msg_len);
			if (i < n)
				was_sent(g, s->fd, many[i].msg_len);
		}
		return n;
	}
}

static ssize_t send_plain(struct game *g, struct random *r, struct sending *s,
			  const void *bytes, unsigned how)
{
	switch (how) {
	case 0:
		say(g, " write");
		return write(s->fd, bytes, s->size);
	case 1:
		say(g, " pwrite");
		return pwrite(s->fd, bytes, s->size, pick(r, 3));
	case 2:
		say(g, " send flags=%x", (unsigned)s->flags);
		return send(s->fd, bytes, s->size, s->flags);
	case 3:
		say(g, " sendto flags=%x", (unsigned)s->flags);
		if (chance(r, 50))
			return sendto(s->fd, bytes, s->size, s->flags,
				      (struct sockaddr *)&s->name, pick(r, 40));
		return sendto(s->fd, bytes, s->size, s->flags, NULL,
			      pick(r, 3));
	default:
		say(g, " syscall flags=%x", (unsigned)s->flags);
		return syscall(SYS_sendto, s->fd, bytes, s->size, s->flags,
			       NULL, 0);
	}
}

static void make_send(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r);
	struct sending s = {.fd = in(g, slot), .name = {.sin_family = AF_INET}};
	size_t wanted = size_pick(r);
	ssize_t n;

	s.flags = (int)SOME(r, send_flags);
	s.size = sendable(g, s.fd, wanted);
	if (!s.size && wanted) {
		say(g, "send %d: enough", slot);
		return;
	}
	pattern(g, g->bytes, s.size);
	s.count = parts_pick(r, s.parts, g->bytes, s.size);
	say(g, "send %d fd=%d size=%zu", slot, s.fd, s.size);
	guard_set();
	if (chance(r, 35)) {
		unsigned how = pick(r, 4);

		n = send_parts(g, r, &s, how);
		guard_end();
		if (how != 3)
			was_sent(g, s.fd, n);
	} else {
		n = send_plain(g, r, &s, g->bytes, pick(r, 5));
		guard_end();
		was_sent(g, s.fd, n);
	}
	say_result(g, n);
}

/* What a receive left in memory, and how far it went. */
static void say_bytes(struct game *g, size_t size)
{
	say(g, " [%08x %08x]", sum(g->bytes, size), sum(g->bytes + size, 256));
}

struct receiving {
	int fd;
	size_t size;
	int flags;
	struct iovec parts[PARTS_MAX];
	int count;
};

static void say_message(struct game *g, const struct msghdr *m,
			const unsigned char *name, const unsigned char *control)
{
	say(g, " name=%u/%08x control=%zu/%08x flags=%x", m->msg_namelen,
	    sum(name, 64), m->msg_controllen, sum(control, 64),
	    (unsigned)m->msg_flags);
}

static ssize_t receive_message(struct game *g, struct random *r,
			       struct receiving *s, bool many)
{
	unsigned char name[64], control[64];
	struct msghdr m = {.msg_iov = s->parts, .msg_iovlen = (size_t)s->count};
	struct mmsghdr all[3];
	struct timespec t = {0, 5000000};
	unsigned vector = pick(r, 4);
	ssize_t n;

	memset(name, 7, sizeof(name));
	memset(control, 7, sizeof(control));
	m.msg_flags = (int)pick(r, 2) * 0x7fff;
	m.msg_name = chance(r, 60) ? name : NULL;
	m.msg_namelen = chance(r, 90) ? pick(r, 64) : UINT_MAX - 5;
	m.msg_control = chance(r, 60) ? control : NULL;
	m.msg_controllen = pick(r, 64);
	say(g, " parts=%d name=%u control=%zu flags=%x", s->count,
	    m.msg_namelen, m.msg_controllen, (unsigned)s->flags);
	if (!many) {
		n = recvmsg(s->fd, &m, s->flags);
		say_message(g, &m, name, control);
		return n;
	}
	for (int i = 0; i < 3; i++)
		all[i] = (struct mmsghdr){m, 77};
	n = recvmmsg(s->fd, all, vector, s->flags, chance(r, 50) ? &t : NULL);
	for (int i = 0; i < (int)vector; i++) {
		say(g, " %u", all[i].msg_len);
		say_message(g, &all[i].msg_hdr, name, control);
		if (i < n && !(s->flags & MSG_PEEK))
			was_taken(g, s->fd, all[i].msg_len);
	}
	return n;
}

static ssize_t receive_from(struct game *g, struct random *r,
			    struct receiving *s)
{
	unsigned char name[64];
	socklen_t len = chance(r, 90) ? pick(r, 64) : UINT_MAX - 5;
	ssize_t n;

	memset(name, 7, sizeof(name));
	n = recvfrom(s->fd, g->bytes, s->size, s->flags,
		     (struct sockaddr *)name, &len);
	say(g, " recvfrom name=%u/%08x flags=%x", len, sum(name, 64),
	    (unsigned)s->flags);
	return n;
}

static ssize_t receive_by(struct game *g, struct random *r, struct receiving *s,
			  unsigned how)
{
	switch (how) {
	case 0:
		say(g, " read");
		return read(s->fd, g->bytes, s->size);
	case 1:
		say(g, " pread");
		return pread(s->fd, g->bytes, s->size, pick(r, 2));
	case 2:
	case 3:
		say(g, " recv flags=%x", (unsigned)s->flags);
		return recv(s->fd, g->bytes, s->size, s->flags);
	case 4:
		return receive_from(g, r, s);
	case 5:
		say(g, " readv parts=%d", s->count);
		return readv(s->fd, s->parts, s->count);
	case 6:
		s->flags = chance(r, 60) ? 0 : (int)(1u << pick(r, 7));
		say(g, " preadv2 parts=%d flags=%x", s->count,
		    (unsigned)s->flags);
		return preadv2(s->fd, s->parts, s->count, -1, s->flags);
	case 7:
		say(g, " recvmmsg");
		return receive_message(g, r, s, true);
	default:
		say(g, " recvmsg");
		return receive_message(g, r, s, false);
	}
}

static void make_receive(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r);
	struct receiving s = {.fd = in(g, slot)};
	unsigned how = pick(r, 10);
	bool counted;
	ssize_t n;

	s.flags = (int)SOME(r, receive_flags);
	/* Few of those that sleep. */
	if (chance(r, 70))
		s.flags |= MSG_DONTWAIT;
	s.size = size_pick(r);
	if (chance(r, 10))
		s.size = 60000;
	memset(g->bytes, 0xa5, s.size + 256);
	s.count = parts_pick(r, s.parts, g->bytes, s.size);
	if ((how < 2 || how == 5) && chance(r, 80))
		how = 2;
	/* A signal between two messages leaves an error that has no name. */
	if (how == 7)
		s.flags |= MSG_DONTWAIT;
	say(g, "recv %d fd=%d size=%zu", slot, s.fd, s.size);
	guard_set();
	n = receive_by(g, r, &s, how);
	guard_end();
	counted = how == 0 || how == 5 || how == 6 || !(s.flags & MSG_PEEK);
	if (counted && how != 7)
		was_taken(g, s.fd, n);
	say_result(g, n);
	say_bytes(g, s.size);
}

/* Vectors and sizes that no call takes. */
static ssize_t call_vector(struct game *g, struct random *r, int fd,
			   unsigned how)
{
	static struct iovec many[IOV_MAX + 2];
	int count = IOV_MAX + (int)pick(r, 3) - 1;
	struct msghdr m = {.msg_iov = many, .msg_iovlen = (size_t)count};

	for (int i = 0; i < IOV_MAX + 2; i++)
		many[i] = (struct iovec){g->bytes + i, chance(r, 50)};
	say(g, " count=%d", count);
	switch (how) {
	case 0:
		return writev(fd, many, count);
	case 1:
		return sendmsg(fd, &m, MSG_NOSIGNAL);
	case 2:
		return recvmsg(fd, &m, MSG_DONTWAIT);
	case 3:
		m.msg_iovlen = 2;
		many[0].iov_len = (size_t)-1 >> pick(r, 2);
		return sendmsg(fd, &m, MSG_NOSIGNAL);
	case 4:
		m.msg_iovlen = 2;
		many[0].iov_len = (size_t)-1 >> pick(r, 2);
		return recvmsg(fd, &m, MSG_DONTWAIT);
	case 5:
		count = -1;
		return syscall(SYS_writev, fd, many, count);
	default:
		return writev(fd, NULL, (int)pick(r, 2));
	}
}

/* Memory that is not there. */
static ssize_t call_memory(struct game *g, struct random *r, int fd,
			   unsigned how)
{
	unsigned char *edge = g->bytes + BYTES;
	struct msghdr m = {.msg_iov = (struct iovec *)(void *)edge,
			   .msg_iovlen = 1};
	size_t part = pick(r, 40);

	say(g, " part=%zu", part);
	switch (how) {
	case 0:
		return sendmsg(fd, NULL, 0);
	case 1:
		return recvmsg(fd, NULL, MSG_DONTWAIT);
	case 2:
		return send(fd, NULL, pick(r, 2) * part, MSG_NOSIGNAL);
	case 3:
		return recv(fd, NULL, pick(r, 2) * part,
			    MSG_DONTWAIT | (chance(r, 30) ? MSG_TRUNC : 0));
	case 4:
		return send(fd, edge - part, part, MSG_NOSIGNAL);
	case 5:
		return recv(fd, edge - 1, 1, MSG_DONTWAIT);
	case 6:
		return sendto(fd, g->bytes, 10, MSG_NOSIGNAL,
			      (struct sockaddr *)edge, 16);
	default:
		return sendmsg(fd, &m, MSG_NOSIGNAL);
	}
}

static void make_wrong(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot);
	bool vector = chance(r, 50);
	unsigned how = pick(r, vector ? 7 : 8);
	ssize_t n;

	if (sendable(g, fd, 5000) < 5000)
		return;
	pattern(g, g->bytes, 4096);
	pattern(g, g->bytes + BYTES - 64, 64);
	say(g, "wrong %d fd=%d %s %u", slot, fd, vector ? "vector" : "memory",
	    how);
	guard_set();
	n = vector ? call_vector(g, r, fd, how) : call_memory(g, r, fd, how);
	guard_end();
	if (vector ? how == 2 || how == 4 : how == 1 || how == 3 || how == 5)
		was_taken(g, fd, n);
	else
		was_sent(g, fd, n);
	say_result(g, n);
}

/* How much a peek shows, with the offset that SO_PEEK_OFF begins at. */
static void make_peek(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot);

	say(g, "peek %d fd=%d", slot, fd);
	for (int i = 0; i < 3; i++) {
		size_t size = size_pick(r);
		ssize_t n = recv(fd, g->bytes, size,
				 MSG_PEEK | MSG_DONTWAIT |
				     (chance(r, 40) ? MSG_WAITALL : 0) |
				     (chance(r, 20) ? MSG_TRUNC : 0));

		say(g, " %zu", size);
		say_result(g, n);
		say(g, " %08x",
		    sum(g->bytes, n > 0 && (size_t)n <= size ? (size_t)n : 0));
	}
}

/* All that is there, in one way or another. */
static void make_drain(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot);
	size_t piece = chance(r, 50) ? 65536 : 1 + pick(r, 5000);
	uint32_t s = 0;
	ssize_t n, all = 0;

	say(g, "drain %d fd=%d by %zu", slot, fd, piece);
	do {
		n = recv(fd, g->bytes, piece, MSG_DONTWAIT);
		was_taken(g, fd, n);
		if (n > 0) {
			s = s * 31 + sum(g->bytes, (size_t)n);
			all += n;
		}
	} while (n > 0);
	say(g, " all=%zd %08x", all, piece == 65536 ? 0 : s);
	say_result(g, n);
}

const struct kind data_kinds[] = {
    {"send", 1, 60, make_send},   {"recv", 1, 50, make_receive},
    {"wrong", 1, 4, make_wrong},  {"peek", 1, 5, make_peek},
    {"drain", 1, 10, make_drain}, {0}};
