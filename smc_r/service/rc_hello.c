/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_hello: the socket at which programs say hello. */
#include "smc_r/service/rc_hello.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "smc_r/service/rc_service.h"

#define QUEUE         1024
#define HELLOS_A_LOOK 64
#define CALLERS_MAX   1024u

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

int rc_hello_own(int listener)
{
	return listen(listener, QUEUE) < 0 ? -errno : 0;
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
	return chmod(a->sun_path, 0666) < 0 ? -errno : rc_hello_own(fd);
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

/* Programs bring one socket, and commands none. */
static bool is_hello(const struct far_hello *h, bool has_socket)
{
	if (h->magic != FAR_MAGIC || h->version != FAR_VERSION)
		return false;
	switch (h->kind) {
	case FAR_BEGIN:
	case FAR_RELAY:
		return has_socket;
	case FAR_STATUS:
	case FAR_RESET:
		return !has_socket;
	}
	return false;
}

/* 0: a hello, with the program's socket or -1; -EAGAIN: nothing has come;
 * -EPROTO: it is none. */
static int receive(int channel, struct far_hello *hello, int *tcp)
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

	*tcp = n < 0 ? -1 : take_socket(&h);
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n == (ssize_t)sizeof(*hello) &&
	    !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    is_hello(hello, *tcp >= 0))
		return 0;
	if (*tcp >= 0)
		close(*tcp);
	return -EPROTO;
}

/* ---- a command asks ---- */

static bool is_owner(uid_t user)
{
	struct stat st;

	return user == 0 ||
	       (stat(rundir_path(), &st) == 0 && st.st_uid == user);
}

/* The command waits for it; it gets what its socket has room for. */
static void tell_status(struct rc_service *service, int channel,
			enum far_kind kind, uid_t user)
{
	bool owner = is_owner(user);
	struct far_status s;

	rc_service_status(service, &s);
	if (!owner)
		s.groups = 0;
	s.refused = kind == FAR_RESET && !owner;
	if (kind == FAR_RESET && owner)
		rc_service_reset_counts(service);
	while (send(channel, &s, far_status_bytes(s.groups),
		    MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	       errno == EMSGSIZE && s.groups > 0)
		s.groups /= 2;
	close(channel);
}

/* ---- callers ---- */

/* A channel whose hello has not come. */
struct rc_caller {
	struct rc_caller *next; /* newer */
	struct rc_watch watch;
	struct rc_programs *all;
	int channel;
	bool over; /* to be freed */
};

static void leave(struct rc_caller *c)
{
	c->over = true;
	c->all->callers--;
	epoll_ctl(c->all->epoll, EPOLL_CTL_DEL, c->channel, NULL);
}

void rc_hello_event(struct rc_watch *w)
{
	struct rc_caller *c =
	    (struct rc_caller *)(void *)((char *)w -
					 offsetof(struct rc_caller, watch));
	struct ucred user = {0, (uid_t)-1, (gid_t)-1};
	socklen_t n = sizeof(user);
	struct far_hello hello;
	int error, tcp;

	if (c->over)
		return;
	error = receive(c->channel, &hello, &tcp);
	if (error == -EAGAIN)
		return;
	leave(c);
	getsockopt(c->channel, SOL_SOCKET, SO_PEERCRED, &user, &n);
	if (error)
		close(c->channel);
	else if (tcp < 0)
		tell_status(c->all->service, c->channel, hello.kind, user.uid);
	else
		rc_program_hello(c->all, c->channel, tcp, &hello, &user);
}

void rc_hello_sweep(struct rc_programs *all)
{
	struct rc_caller **at = &all->caller;

	while (*at) {
		struct rc_caller *c = *at;

		if (!c->over) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

/* Those that say nothing give way to others, the oldest first. */
static void bound(struct rc_programs *all)
{
	struct rc_caller *c = all->caller;

	while (c && c->over)
		c = c->next;
	if (all->callers < CALLERS_MAX || !c)
		return;
	leave(c);
	close(c->channel);
}

static void take(int channel, struct rc_programs *all)
{
	struct rc_caller *c = calloc(1, sizeof(*c));
	struct rc_caller **at = &all->caller;
	struct epoll_event e = {.events = EPOLLIN};

	bound(all);
	if (c) {
		c->watch.kind = RC_WATCH_HELLO;
		c->channel = channel;
		c->all = all;
		e.data.ptr = &c->watch;
	}
	if (!c || epoll_ctl(all->epoll, EPOLL_CTL_ADD, channel, &e) < 0) {
		free(c);
		close(channel);
		return;
	}
	while (*at)
		at = &(*at)->next;
	*at = c;
	all->callers++;
	/* Mostly it is there. */
	rc_hello_event(&c->watch);
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
