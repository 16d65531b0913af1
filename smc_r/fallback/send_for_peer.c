/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* send_for_peer: sends in the place of a busy writer. */
#include "smc_r/fallback/send_for_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>

#include "smc_r/os/lock.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/sock_diag.h"
#include "smc_r/protocol/text.h"
#include "smc_r/stream/stream.h"

#define WAIT_MS      20 /* for room in TCP, each time */
#define DIRENT_BYTES 2048

struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
} __attribute__((packed));

/* ---- finding the socket ---- */

/* Returns -1 when the name is no number. */
static int number_of(const char *name)
{
	int n = 0;

	for (; *name; name++) {
		if (*name < '0' || *name > '9' || n > 100000000)
			return -1;
		n = n * 10 + *name - '0';
	}
	return n;
}

/* Calls visit for each number in a directory until it returns something else
 * than -1, which is the result. */
static int each_number(const char *path, int (*visit)(void *, int), void *owner)
{
	char buffer[DIRENT_BYTES] __attribute__((aligned(8)));
	int result = -1;
	long n;
	int dir = (int)SYS_CALL4(SYS_openat, AT_FDCWD, path,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (dir < 0)
		return -1;
	while (result == -1 &&
	       (n = SYS_CALL3(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < n && result == -1;) {
			const struct entry *e = (const void *)(buffer + at);
			int number = number_of(e->name);

			if (number >= 0)
				result = visit(owner, number);
			at += e->bytes;
		}
	sys_close(dir);
	return result;
}

struct search {
	int pid;
	char wanted[40]; /* socket:[inode] */
};

static int is_wanted(void *owner, int number)
{
	struct search *s = owner;
	char path[64];
	char target[sizeof(s->wanted)];
	char *at;
	long n;

	at = text_put_number(text_put(path, "/proc/"), (uint64_t)s->pid);
	text_put_number(text_put(at, "/fd/"), (uint64_t)number);
	n = SYS_CALL3(SYS_readlink, path, target, sizeof(target) - 1);
	if (n <= 0)
		return -1;
	target[n] = '\0';
	return strcmp(target, s->wanted) == 0 ? number : -1;
}

static int borrow_number(int pid, int number)
{
	int handle;
	int fd;

	if (pid == process.pid)
		return (int)SYS_CALL3(SYS_fcntl, number, F_DUPFD_CLOEXEC, 0);
	handle = (int)SYS_CALL3(SYS_pidfd_open, pid, 0, 0);
	if (handle < 0)
		return -1;
	fd = (int)SYS_CALL3(SYS_pidfd_getfd, handle, number, 0);
	sys_close(handle);
	return fd < 0 ? -1 : fd;
}

static int borrow_from(void *owner, int pid)
{
	struct search *s = owner;
	char path[64];
	char *at;
	int number;

	s->pid = pid;
	at = text_put_number(text_put(path, "/proc/"), (uint64_t)pid);
	text_put(at, "/fd");
	number = each_number(path, is_wanted, s);
	return number < 0 ? -1 : borrow_number(pid, number);
}

/* False when nobody has it any more. */
static bool find(int fd, struct sock_diag_socket *peer, struct search *s)
{
	char *at;

	if (sock_diag_peer_of(fd, peer) < 0 || peer->inode == 0)
		return false;
	at = text_put_number(text_put(s->wanted, "socket:["), peer->inode);
	text_put(at, "]");
	return true;
}

/* The number may have become another file's meanwhile. */
static int verified(int fd, const struct sock_diag_socket *peer)
{
	uint64_t cookie = 0;

	if (fd < 0 || (sys_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie,
				      sizeof(cookie)) == 0 &&
		       cookie == peer->cookie))
		return fd;
	sys_close(fd);
	return -1;
}

/* The process that made the link group has it most likely; else any. */
static int borrow(struct connection *c, int fd)
{
	struct sock_diag_socket peer;
	struct search s = {0};
	int result = -1;

	if (!find(fd, &peer, &s))
		return -1;
	if (c->slot->peer_pid > 0)
		result = borrow_from(&s, c->slot->peer_pid);
	if (result < 0)
		result = each_number("/proc", borrow_from, &s);
	return verified(result, &peer);
}

/* A filter of system calls may kill a process for a call that few programs
 * make. */
static bool is_filtered(void)
{
	return SYS_CALL3(SYS_prctl, PR_GET_SECCOMP, 0, 0) != 0;
}

/* Looks only where the peer says that it is: a close is no time for a search.
 */
static int borrow_told(struct connection *c, int fd)
{
	uint32_t pid = atomic_load(&c->in_producer->shut_pid);
	uint32_t number = atomic_load(&c->in_producer->shut_fd) - 1;
	struct sock_diag_socket peer;
	struct search s = {.pid = (int)pid};

	if (pid - 1 >= INT_MAX || number >= INT_MAX ||
	    (s.pid != process.pid && is_filtered()) || !find(fd, &peer, &s) ||
	    is_wanted(&s, (int)number) < 0)
		return -1;
	return verified(borrow_number((int)pid, (int)number), &peer);
}

/* ---- sending ---- */

/* What is sent is consumed: the writer, if it comes, goes on behind it. */
static bool send_ring(struct connection *c, int peer, uint64_t end)
{
	struct status_stream *rx = &c->slot->rx;
	uint64_t at = atomic_load(&rx->position);

	if (end - at > c->size)
		return false;
	while (at < end) {
		size_t n = (size_t)(end - at);
		uint8_t *from = rings_piece(&c->in, c->in_producer, at, &n);
		long sent;

		sent = SYS_CALL6(SYS_sendto, peer, from, n,
				 MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
		if (sent > 0) {
			at += (uint64_t)sent;
			atomic_store(&rx->position, at);
			atomic_store(&c->in_consumer->cursor, at);
		} else if (sent != -EINTR &&
			   (sent != -EAGAIN ||
			    !sys_poll(peer, POLLOUT, WAIT_MS))) {
			return false;
		}
	}
	return true;
}

bool send_for_peer_rest(struct connection *c, int fd)
{
	uint32_t rest = REST_OPEN;
	struct push push;
	bool shut;
	bool done = false;
	int peer;

	if (!atomic_compare_exchange_strong(&c->in_consumer->rest, &rest,
					    REST_READER))
		return false;
	/* The end is told after the bytes before it. */
	shut = stream_is_shut(c);
	peer = stream_is_sealed(c) ? -1 : borrow(c, fd);
	if (peer >= 0) {
		push = connection_push_begin(peer);
		done = send_ring(c, peer, atomic_load(&c->in_producer->cursor));
		connection_push_end(peer, push);
		if (done && shut)
			SYS_CALL3(SYS_shutdown, peer, SHUT_WR, 0);
		sys_close(peer);
	}
	atomic_store(&c->in_consumer->rest, REST_OPEN);
	return done;
}

/* ---- the end ---- */

/* A child that is made meanwhile must not have it as well: it would keep the
 * peer's connection. */
bool send_for_peer_fin(struct connection *c, int fd)
{
	int peer;

	engine_lock();
	peer = borrow_told(c, fd);
	if (peer >= 0) {
		connection_end(c, ENDS_PEERS_FIN_IS_SENT);
		SYS_CALL3(SYS_shutdown, peer, SHUT_WR, 0);
		sys_close(peer);
	}
	engine_unlock();
	return peer >= 0;
}
