/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rendezvous: the socket where a process is found by its peer ID. */
#include "smc_r/peer/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/text.h"
#include "smc_r/status/home.h"

/* A peer ID: number of the user's directory, pid, random bits. */
#define RANDOM_BITS 18
#define PID_MASK    0x3fffffu /* 22 bits, which are Linux' */
#define NAME_DIGITS 16
#define NAME_BYTES                                                             \
	(RUNDIR_USER_DIGITS + sizeof("/" RUNDIR_PEER "/") + NAME_DIGITS)

/* The first bits of a peer ID are the number of the directory that it is in. */
static uint32_t directory_of(const uint8_t id[8])
{
	return (uint32_t)id[0] << 16 | (uint32_t)id[1] << 8 | id[2];
}

static void put_word(uint8_t id[8], uint64_t word)
{
	for (int i = 0; i < 8; i++)
		id[i] = (uint8_t)(word >> (56 - 8 * i));
}

void rendezvous_id_make(uint8_t id[8], uint32_t directory, pid_t pid,
			uint32_t random)
{
	put_word(id, (uint64_t)directory << 40 |
			 (uint64_t)((uint32_t)pid & PID_MASK) << RANDOM_BITS |
			 random >> (32 - RANDOM_BITS));
}

pid_t rendezvous_id_pid(const uint8_t id[8])
{
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word = word << 8 | id[i];
	return (pid_t)(word >> RANDOM_BITS & PID_MASK);
}

/* Below the directory of all users. */
static void name_of(char out[NAME_BYTES], const uint8_t id[8])
{
	static const char digit[] = "0123456789abcdef";
	char *at = rundir_user(out, directory_of(id), RUNDIR_PEER);

	*at++ = '/';
	for (int i = 0; i < 8; i++) {
		*at++ = digit[id[i] >> 4];
		*at++ = digit[id[i] & 15];
	}
	*at = '\0';
}

/* Through /proc, because a run directory's path may be longer than an AF_UNIX
 * address. */
static socklen_t address_of(struct sockaddr_un *a, const char *name)
{
	char *at;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	at = text_put_number(text_put(a->sun_path, "/proc/self/fd/"),
			     (uint64_t)home_users());
	*at++ = '/';
	text_put(at, name);
	return (socklen_t)sizeof(*a);
}

static int new_socket(void)
{
	long fd =
	    SYS_CALL3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd < 0 ? (int)fd : private_fd((int)fd);
}

int rendezvous_listen(const uint8_t id[8])
{
	struct sockaddr_un a;
	char name[NAME_BYTES];
	long result;
	int fd = home_users();

	ENGINE_LOCKED();
	if (fd < 0)
		return fd;
	fd = new_socket();
	if (fd < 0)
		return fd;
	name_of(name, id);
	result = SYS_CALL3(SYS_bind, fd, &a, address_of(&a, name));
	/* Other users' processes are peers as well: connecting needs write
	 * permission; the nonce is what is checked. */
	if (result == 0)
		result = SYS_CALL3(SYS_fchmodat, home_users(), name, 0666);
	if (result == 0)
		result = SYS_CALL3(SYS_listen, fd, RENDEZVOUS_QUEUE, 0);
	if (result == 0)
		result = SYS_CALL3(SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
	if (result < 0) {
		private_fd_close(fd);
		return (int)result;
	}
	return fd;
}

void rendezvous_forget(const uint8_t id[8])
{
	char name[NAME_BYTES];

	ENGINE_LOCKED();
	name_of(name, id);
	SYS_CALL3(SYS_unlinkat, home_users(), name, 0);
}

static int connect_name(const char *name)
{
	struct sockaddr_un a;
	long result;
	int fd = new_socket();

	if (fd < 0)
		return fd;
	/* A full backlog must not hold us up. */
	SYS_CALL3(SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
	result = SYS_CALL3(SYS_connect, fd, &a, address_of(&a, name));
	if (result < 0) {
		private_fd_close(fd);
		return (int)result;
	}
	return fd;
}

int rendezvous_connect(const uint8_t id[8])
{
	char name[NAME_BYTES];
	int users = home_users();

	ENGINE_LOCKED();
	if (users < 0)
		return users;
	name_of(name, id);
	return connect_name(name);
}

int rendezvous_accept(int listener)
{
	long fd;

	ENGINE_LOCKED();
	private_fd_begin();
	fd = SYS_CALL4(SYS_accept4, listener, NULL, NULL,
		       SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		fd = private_fd((int)fd);
	private_fd_end();
	return (int)fd;
}

struct rendezvous_peer rendezvous_peer(int channel)
{
	struct ucred c = {0, 0, 0};

	sys_getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &c, sizeof(c));
	return (struct rendezvous_peer){c.pid, c.uid};
}

union rights {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * RENDEZVOUS_FDS_MAX)];
};

int rendezvous_send(int channel, const struct rendezvous_message *m,
		    const int *fds, int fd_count)
{
	ENGINE_LOCKED();
	union rights rights;
	struct rendezvous_message copy = *m;
	struct iovec v = {&copy, sizeof(copy)};
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
	size_t bytes = sizeof(int) * (size_t)fd_count;
	struct cmsghdr *c;
	long n;

	memset(&rights, 0, sizeof(rights));
	h.msg_control = &rights;
	h.msg_controllen = CMSG_SPACE(bytes);
	c = CMSG_FIRSTHDR(&h);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), fds, bytes);
	n = SYS_CALL3(SYS_sendmsg, channel, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* An ordinary user has no more descriptors under way than this process
	 * may have open. */
	if (n == -ETOOMANYREFS) {
		private_fd_begin();
		n = SYS_CALL3(SYS_sendmsg, channel, &h,
			      MSG_DONTWAIT | MSG_NOSIGNAL);
		private_fd_end();
	}
	if (n < 0)
		return (int)n;
	return n == (long)sizeof(copy) ? 0 : -EPROTO;
}

/* Every descriptor that came is either kept as a private one or closed. */
static int take_rights(struct msghdr *h, int *fds)
{
	int kept = 0;
	int failed = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			fd = private_fd(fd);
			if (fd < 0)
				failed = fd;
			else if (kept < (int)RENDEZVOUS_FDS_MAX)
				fds[kept++] = fd;
			else
				private_fd_close(fd);
		}
	}
	if (!failed)
		return kept;
	while (kept > 0)
		private_fd_close(fds[--kept]);
	return failed;
}

/* Is what can be judged without its descriptors what it must be? */
static bool is_message(const struct rendezvous_message *m, long n)
{
	return n == (long)sizeof(*m) && m->magic == RENDEZVOUS_MAGIC &&
	       m->version == RENDEZVOUS_VERSION &&
	       rmb_size_is_valid(m->elements, m->rmbe_bytes,
				 m->overflow_bytes) &&
	       (m->bells == BELLS_ONE || m->bells == BELLS_APART);
}

int rendezvous_peek(int channel, struct rendezvous_message *m)
{
	ENGINE_LOCKED();
	/* The length of a message that is longer is told, too. */
	long n = SYS_CALL6(SYS_recvfrom, channel, m, sizeof(*m),
			   MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT, 0, 0);

	if (n < 0)
		return (int)n;
	if (n == 0)
		return -ECONNRESET;
	return is_message(m, n) ? 0 : -EPROTO;
}

int rendezvous_receive(int channel, struct rendezvous_message *m,
		       int fds[RENDEZVOUS_FDS_MAX])
{
	ENGINE_LOCKED();
	union rights rights;
	struct iovec v = {m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &rights,
			   .msg_controllen = sizeof(rights)};
	long n;
	int count;

	private_fd_begin();
	n = SYS_CALL3(SYS_recvmsg, channel, &h,
		      MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* A message of no bytes looks like the end, and may bring some. */
	count = n >= 0 ? take_rights(&h, fds) : 0;
	private_fd_end();
	if (n < 0)
		return (int)n;
	if (count < 0)
		return count;
	if (is_message(m, n) && !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    count == (int)RENDEZVOUS_FDS(m->elements, m->bells))
		return count;
	while (count > 0)
		private_fd_close(fds[--count]);
	return n > 0 ? -EPROTO : -ECONNRESET;
}

/* ---- names that a killed process left ---- */

static bool id_of(uint8_t id[8], const char *name)
{
	put_word(id, strtoull(name, NULL, 16));
	return strlen(name) == NAME_DIGITS;
}

/* A peer ID has its process id in it. In another pid namespace that says
 * nothing, so a refused connection must agree. */
static void sweep_name(const char *name)
{
	uint8_t id[8];
	int fd;

	if (!id_of(id, name) || !process_has_ended(rendezvous_id_pid(id)))
		return;
	fd = rendezvous_connect(id);
	if (fd == -ECONNREFUSED)
		rendezvous_forget(id);
	private_fd_close(fd);
}

void rendezvous_sweep(uint32_t directory)
{
	char buffer[4096] __attribute__((aligned(8)));
	char path[RUNDIR_USER_BYTES];
	long n;
	int fd;

	ENGINE_LOCKED();
	rundir_user(path, directory, RUNDIR_PEER);
	fd = (int)SYS_CALL4(SYS_openat, home_users(), path,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	while ((n = SYS_CALL3(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < n;) {
			/* inode 8, offset 8, length 2, type 1, name */
			uint16_t length;

			memcpy(&length, buffer + at + 16, sizeof(length));
			sweep_name(buffer + at + 19);
			at += length;
		}
	sys_close(fd);
}
