/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_hello: the socket at which programs say hello. */
#include "smc_r/service/rc_hello.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/rundir.h"

#define QUEUE         1024
#define HELLOS_A_LOOK 64
#define HELLO_MS      20 /* a program sends it with its connect() */

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static uint64_t own_namespace(int fd)
{
	uint64_t cookie = 0;
	socklen_t n = sizeof(cookie);

	getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &n);
	return cookie;
}

/* The run directory's path may be longer than an address. */
static int name_of(struct sockaddr_un *a, int directory, uint64_t cookie)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	return snprintf(a->sun_path, sizeof(a->sun_path),
			"/proc/self/fd/%d/" FAR_SOCKET "%llu", directory,
			(unsigned long long)cookie);
}

static int open_directory(void)
{
	int fd = open(rundir_path(), O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_served(const struct sockaddr_un *a)
{
	int fd =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int result = connect(fd, (const struct sockaddr *)a, sizeof(*a));
	bool served = result == 0 || errno == EAGAIN;

	close(fd);
	return served;
}

/* Any program may say hello: its rights are those that its socket proves. */
static int bind_and_listen(int fd, const struct sockaddr_un *a)
{
	if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0) {
		if (errno != EADDRINUSE || is_served(a))
			return -errno;
		unlink(a->sun_path);
		if (bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
			return -errno;
	}
	if (chmod(a->sun_path, 0666) < 0 || listen(fd, QUEUE) < 0)
		return -errno;
	return 0;
}

int rc_hello_listen(void)
{
	struct sockaddr_un a;
	int directory = open_directory();
	int error;
	int fd;

	if (directory < 0)
		return directory;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	name_of(&a, directory, own_namespace(fd));
	error = bind_and_listen(fd, &a);
	close(directory);
	if (!error)
		return fd;
	close(fd);
	return error;
}

void rc_hello_forget(void)
{
	struct sockaddr_un a;
	int directory = open_directory();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	name_of(&a, directory, own_namespace(fd));
	unlink(a.sun_path);
	close(fd);
	close(directory);
}

/* -1: it brought none, or more than one. */
static int take_socket(struct msghdr *h)
{
	int taken = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (taken < 0)
				taken = fd;
			else
				close(fd);
		}
	}
	return taken;
}

static int receive(int channel, struct far_hello *hello)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} rights;
	struct iovec v = {hello, sizeof(*hello)};
	struct msghdr h = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &rights,
			   .msg_controllen = sizeof(rights)};
	ssize_t n = recvmsg(channel, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int tcp = n < 0 ? -1 : take_socket(&h);

	if (tcp >= 0 && n == (ssize_t)sizeof(*hello) &&
	    !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    hello->magic == FAR_MAGIC && hello->version == FAR_VERSION &&
	    (hello->kind == FAR_BEGIN || hello->kind == FAR_RELAY))
		return tcp;
	if (tcp >= 0)
		close(tcp);
	return -1;
}

/* An engine sends its hello before it does anything else. */
static void take(int channel, struct rc_programs *all)
{
	struct pollfd p = {.fd = channel, .events = POLLIN};
	struct ucred user = {0, (uid_t)-1, (gid_t)-1};
	socklen_t n = sizeof(user);
	struct far_hello hello;
	int tcp = -1;

	getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &user, &n);
	if (poll(&p, 1, HELLO_MS) == 1)
		tcp = receive(channel, &hello);
	if (tcp < 0)
		close(channel);
	else
		rc_program_hello(all, channel, tcp, &hello, user.uid);
}

void rc_hello_accept(int listener, struct rc_programs *all)
{
	for (int i = 0; i < HELLOS_A_LOOK; i++) {
		int channel =
		    accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (channel < 0)
			return;
		take(channel, all);
	}
}
