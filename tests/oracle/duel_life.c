/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_life: moves that make, copy, shut and close.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "duel.h"

/* Where a listener is, and how it is reached. */
struct place {
	int family, other; /* of the listener, of the client */
	const char *bound, *asked;
};

static const struct place places[] = {
    {AF_INET, AF_INET, "127.0.0.1", "127.0.0.1"},
    {AF_INET, AF_INET, "127.0.0.1", "127.0.0.1"},
    {AF_INET, AF_INET, "0.0.0.0", "127.0.0.1"},
    {AF_INET6, AF_INET6, "::1", "::1"},
    {AF_INET6, AF_INET, "::", "127.0.0.1"},
    {AF_INET6, AF_INET6, "::", "::ffff:127.0.0.1"},
    {AF_INET, AF_INET6, "127.0.0.1", "::ffff:127.0.0.1"},
};

static socklen_t address(struct sockaddr_storage *a, int family,
			 const char *host, unsigned port)
{
	struct sockaddr_in *four = (struct sockaddr_in *)a;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)a;

	memset(a, 0, sizeof(*a));
	a->ss_family = (sa_family_t)family;
	four->sin_port = htons((uint16_t)port);
	if (family == AF_INET) {
		inet_pton(AF_INET, host, &four->sin_addr);
		return sizeof(*four);
	}
	inet_pton(AF_INET6, host, &six->sin6_addr);
	return sizeof(*six);
}

/* A reset of a connection whose client made no call yet may be taken for the
 * end of a client that died: smc_r(7). */
static void wake_up(const struct game *g, int fd)
{
	struct pollfd p = {fd, POLLIN | POLLOUT, 0};

	if (!g->lazy)
		poll(&p, 1, 0);
}

static void nodelay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* What has a slot now is closed. */
static void slot_free(struct game *g, int slot)
{
	int fd = in(g, slot);

	if (fd < 0)
		return;
	wake_up(g, fd);
	known_as(g, fd, 0, 0);
	close(fd);
	g->table->slots[g->side][slot] = -1;
}

static void listener_make(struct game *g, const struct place *p, int backlog,
			  bool nonblock)
{
	struct sockaddr_storage a;
	socklen_t len = address(&a, p->family, p->bound, 0);
	int fd, zero = 0, one = 1;

	slot_free(g, LISTENER);
	fd = socket(p->family, SOCK_STREAM | (nonblock ? SOCK_NONBLOCK : 0), 0);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	say(g, "listen fd=%d %s", fd, p->bound);
	((struct sockaddr_in *)&a)->sin_port =
	    htons((uint16_t)g->table->warm[g->side]);
	if (bind(fd, (struct sockaddr *)&a, len) && g->table->warm[g->side]) {
		/* Another one, that was passed on, say, has the port. */
		((struct sockaddr_in *)&a)->sin_port = 0;
		if (bind(fd, (struct sockaddr *)&a, len))
			say_result(g, -1);
	}
	if (listen(fd, backlog))
		say_result(g, -1);
	len = sizeof(a);
	getsockname(fd, (struct sockaddr *)&a, &len);
	g->table->ports[g->side] = ntohs(((struct sockaddr_in *)&a)->sin_port);
	put(g, LISTENER, fd);
	known_as(g, fd, 0, 0);
}

static int client_make(struct game *g, const struct place *p, int slot,
		       bool nonblock)
{
	struct sockaddr_storage a;
	socklen_t len =
	    address(&a, p->other, p->asked, g->table->ports[!g->side]);
	unsigned c = ++g->table->connections % CONNECTIONS;
	int fd, ret;

	fd = socket(p->other, SOCK_STREAM | (nonblock ? SOCK_NONBLOCK : 0), 0);
	nodelay(fd);
	guard_set();
	ret = connect(fd, (struct sockaddr *)&a, len);
	guard_end();
	say(g, "connect %d fd=%d %s%s", slot, fd, p->asked,
	    nonblock ? " nonblock" : "");
	say_result(g, ret);
	memset(g->table->flight[c], 0, sizeof(g->table->flight[c]));
	memset(g->table->pieces[c], 0, sizeof(g->table->pieces[c]));
	g->table->odd[c] = false;
	known_as(g, fd, c, 0);
	put(g, slot, fd);
	return fd;
}

static void say_name(struct game *g, const char *what,
		     const struct sockaddr_storage *a, socklen_t len)
{
	char host[64] = "";

	if (a->ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr,
			  host, sizeof(host));
	else if (a->ss_family == AF_INET6)
		inet_ntop(AF_INET6,
			  &((const struct sockaddr_in6 *)a)->sin6_addr, host,
			  sizeof(host));
	say(g, " %s=%u/%s", what, len, host);
}

static int server_make(struct game *g, struct random *r, int slot,
		       unsigned connection)
{
	struct sockaddr_storage a = {0};
	socklen_t len = chance(r, 80) ? sizeof(a) : pick(r, 40);
	int fd, flags = 0;

	if (chance(r, 30))
		flags = SOCK_NONBLOCK;
	guard_set();
	fd = chance(r, 50)
		 ? accept(in(g, LISTENER), (struct sockaddr *)&a, &len)
		 : accept4(in(g, LISTENER), (struct sockaddr *)&a, &len, flags);
	guard_end();
	say(g, "accept %d flags=%x", slot, (unsigned)flags);
	say_result(g, fd);
	if (fd < 0)
		return fd;
	say_name(g, "from", &a, len);
	known_as(g, fd, connection, 1);
	nodelay(fd);
	put(g, slot, fd);
	return fd;
}

/* A connection: its listener's side begins. */
static void make_pair(struct game *g, struct random *r)
{
	const struct place *p = &PICK(r, places);
	int slot = (int)pick(r, g->crowd);
	bool nonblock = chance(r, 40);

	if (g->move == 0)
		slot = 0;
	if (g->phase == 0) {
		slot_free(g, slot);
		listener_make(g, p, 5, nonblock && chance(r, 30));
	} else if (g->phase == 1) {
		slot_free(g, slot);
		client_make(g, p, slot, nonblock);
	} else if (g->phase == 2) {
		server_make(g, r, slot, g->table->connections % CONNECTIONS);
		if (chance(r, 80))
			slot_free(g, LISTENER);
	} else if (g->phase == 3) {
		int error = -1;
		socklen_t len = sizeof(error);

		getsockopt(in(g, slot), SOL_SOCKET, SO_ERROR, &error, &len);
		say(g, "error %d", error);
		wake_up(g, in(g, slot));
	} else {
		wake_up(g, in(g, slot));
	}
}

/* Several clients, accepted in their order; one has written already. */
static void make_queue(struct game *g, struct random *r)
{
	const struct place *p = &PICK(r, places);
	int count = 2 + (int)pick(r, 3);
	bool early = chance(r, 50), gone = chance(r, 30);
	unsigned first;

	if (g->phase == 0) {
		listener_make(g, p, count, false);
	} else if (g->phase == 1) {
		for (int i = 0; i < count; i++) {
			slot_free(g, i);
			client_make(g, p, i, i & 1);
			if (early && i == 1) {
				pattern(g, g->bytes, 100);
				was_sent(g, in(g, i),
					 send(in(g, i), g->bytes, 100, 0));
			}
		}
		if (gone)
			slot_free(g, 0);
	} else if (g->phase >= 3) {
		for (int i = 0; i < count; i++)
			wake_up(g, in(g, i));
	} else {
		first = g->table->connections - (unsigned)count + 1;
		for (int i = 0; i < count; i++) {
			slot_free(g, i);
			server_make(g, r, i,
				    (first + (unsigned)i) % CONNECTIONS);
			say(g, "; ");
		}
	}
}

/* What a FIN still has to be told is waited for: it makes one more edge. */
static void settle(int fd)
{
	int left = 1;

	for (int i = 0; i < 150; i++) {
		if (ioctl(fd, SIOCOUTQ, &left) || !left)
			return;
		usleep(1000);
	}
}

static void make_shutdown(struct game *g, struct random *r)
{
	static const int hows[] = {0, 1, 1, 1, 2, 2, 3, -1};
	int slot = socket_slot(g, r), fd = in(g, slot), how = PICK(r, hows);
	int ret = shutdown(fd, how);

	say(g, "shutdown %d fd=%d how=%d", slot, fd, how);
	say_result(g, ret);
	settle(fd);
}

static void make_close(struct game *g, struct random *r)
{
	int slot = any_slot(g, r), fd = in(g, slot), ret;
	unsigned how = pick(r, 8);
	struct linger l = {1, (int)pick(r, 2)};

	if (fd >= FD_MAX)
		return;
	wake_up(g, fd);
	if (how == 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	if (how == 1)
		ret = close_range((unsigned)fd, (unsigned)fd, 0);
	else
		ret = close(fd);
	say(g, "close %d fd=%d how=%u", slot, fd, how);
	say_result(g, fd < 0 && how == 1 ? 0 : ret);
	known_as(g, fd, 0, 0);
}

static void make_dup(struct game *g, struct random *r)
{
	int from = any_slot(g, r), to = any_slot(g, r);
	int old = in(g, from), new = in(g, to), fd = -1;
	unsigned how = pick(r, 6);

	say(g, "dup %d fd=%d to %d fd=%d how=%u", from, old, to, new, how);
	switch (how) {
	case 0:
		fd = dup(old);
		break;
	case 1:
		fd = fcntl(old, F_DUPFD, 10 + (int)pick(r, 30));
		break;
	case 2:
		fd = fcntl(old, F_DUPFD_CLOEXEC, (int)pick(r, 30));
		break;
	case 3:
		fd = dup3(old, new, chance(r, 50) ? O_CLOEXEC : 0);
		break;
	default:
		fd = dup2(old, new);
	}
	say_result(g, fd);
	if (fd < 0)
		return;
	known_copy(g, old, fd);
	put(g, to, fd);
}

/* Calls on sockets in the wrong state, one by one. */
static void make_raw(struct game *g, struct random *r)
{
	const struct place *p = &PICK(r, places);
	struct sockaddr_storage a;
	int slot = socket_slot(g, r), fd = in(g, slot), ret = -1;
	unsigned how = pick(r, 9);
	socklen_t len =
	    address(&a, p->other, p->asked, g->table->ports[!g->side]);

	say(g, "raw %d fd=%d how=%u", slot, fd, how);
	if (chance(r, 15))
		len = pick(r, 40);
	guard_set();
	switch (how) {
	case 0:
		ret = socket(p->other, SOCK_STREAM | SOCK_NONBLOCK, 0);
		known_as(g, ret, 0, 0);
		put(g, 5, ret);
		break;
	case 1:
	case 2:
		ret = connect(fd, (struct sockaddr *)&a, len);
		break;
	case 3:
		((struct sockaddr_in *)&a)->sin_port = 0;
		/* TCP may have forgotten the address of one that has ended. */
		if (connection_of(g, fd))
			break;
		ret = bind(fd, (struct sockaddr *)&a, len);
		break;
	case 4:
		/* A listener has no bytes under way. */
		ret = listen(fd, (int)pick(r, 3));
		break;
	case 5:
		len = sizeof(a);
		ret = accept4(fd, (struct sockaddr *)&a, &len,
			      chance(r, 50) ? SOCK_CLOEXEC : 0);
		known_as(g, ret, 0, 0);
		put(g, 4, ret);
		break;
	case 6:
		ret = accept4(fd, NULL, NULL, (int)(1u << pick(r, 20)));
		known_as(g, ret, 0, 0);
		put(g, 4, ret);
		break;
	case 7:
		wake_up(g, fd);
		a.ss_family = AF_UNSPEC;
		ret = connect(fd, (struct sockaddr *)&a, sizeof(a));
		if (!ret && connection_of(g, fd))
			g->table->odd[connection_of(g, fd)] = true;
		break;
	default:
		ret = connect(fd, NULL, chance(r, 50) ? 16 : 0);
	}
	guard_end();
	say_result(g, ret);
}

static void make_names(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), ret;
	struct sockaddr_storage a;
	socklen_t len = chance(r, 60) ? sizeof(a) : pick(r, 40);

	memset(&a, 0, sizeof(a));
	if (chance(r, 50)) {
		ret = getpeername(fd, (struct sockaddr *)&a, &len);
		say(g, "peername %d fd=%d", slot, fd);
	} else {
		ret = getsockname(fd, (struct sockaddr *)&a, &len);
		say(g, "sockname %d fd=%d", slot, fd);
	}
	say_result(g, ret);
	say_name(g, "name", &a, ret ? 0 : len);
}

/* What a program without the engine finds unread of a connection that was reset
 * is a matter of its own: smc_r(7). */
static bool is_read(const struct game *g)
{
	const struct table *t = g->table;

	for (int fd = 0; fd < FD_MAX; fd++) {
		unsigned c = t->connection[g->side][fd];

		if (c && t->flight[c][t->end[g->side][fd]])
			return false;
	}
	return true;
}

/* Through an AF_UNIX socket, to the other side. */
static void make_pass(struct game *g, struct random *r)
{
	union {
		struct cmsghdr h;
		char bytes[CMSG_SPACE(sizeof(int))];
	} u = {0};
	char byte = 'x';
	struct iovec part = {&byte, 1};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = u.bytes,
			   .msg_controllen = sizeof(u.bytes)};
	int slot = socket_slot(g, r), to = 4 + (int)pick(r, 2), fd;
	bool closes = chance(r, 50);
	static unsigned passed[2];

	if (g->phase == 0) {
		fd = in(g, slot);
		if (!is_read(g))
			fd = -1;
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
		say(g, "pass %d fd=%d", slot, fd);
		passed[0] = connection_of(g, fd);
		passed[1] = passed[0] ? g->table->end[g->side][fd] : 0;
		g->table->pieces[0][0] = passed[0];
		g->table->pieces[0][1] = passed[1];
		say_result(g, sendmsg(FD_UNIX + g->side, &m, 0));
		if (closes) {
			known_as(g, fd, 0, 0);
			close(fd);
		}
		return;
	}
	say(g, "passed to %d", to);
	say_result(g, recvmsg(FD_UNIX + g->side, &m, MSG_DONTWAIT));
	if (m.msg_controllen < CMSG_LEN(sizeof(int)))
		return;
	memcpy(&fd, CMSG_DATA(&u.h), sizeof(fd));
	say(g, " fd=%d", fd);
	slot_free(g, to);
	known_as(g, fd, g->table->pieces[0][0], (int)g->table->pieces[0][1]);
	g->table->pieces[0][0] = g->table->pieces[0][1] = 0;
	put(g, to, fd);
}

/* A child makes one move, and is gone. */
static void make_child(struct game *g, struct random *r)
{
	unsigned moves = 1 + pick(r, 3);
	int status = 0;
	pid_t pid;

	say(g, "child of %u", moves);
	say_end(g);
	pid = fork();
	if (!pid) {
		g->child = true;
		while (moves--)
			game_child(g, r);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	say(g, "child's end %x", (unsigned)status);
}

/* A child goes on; its parent closes what it has, or not, and waits. */
static void make_heir(struct game *g, struct random *r)
{
	bool closes = chance(r, 70);
	int status = 0;
	pid_t pid;

	if (g->mine < 0)
		return;
	say(g, "heir, parent %s", closes ? "closes" : "keeps");
	say_end(g);
	pid = fork();
	if (!pid)
		return;
	for (int fd = 3; closes && fd < FD_MAX; fd++)
		close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

/* Starts the same program again, with all that is not closed by it. */
static void make_image(struct game *g, struct random *r)
{
	char from[16];
	char *argv[] = {g->argv[0], g->argv[1], g->argv[2], g->argv[3],
			g->argv[4], from,       g->argv[6], NULL};

	(void)r;
	if (g->mine < 0 || !is_read(g))
		return;
	say(g, "image");
	say_end(g);
	if (g->looks) {
		say(g, "  no look");
		say_end(g);
	}
	/* The turn is the other's already when the image begins. */
	snprintf(from, sizeof(from), "%d", g->move + 1);
	if (write(FD_TURN_SEND + !g->mine, "", 1) != 1)
		_exit(6);
	execv(argv[0], argv);
	_exit(7);
}

const struct kind life_kinds[] = {
    {"pair", 7, 12, make_pair},        {"queue", 7, 2, make_queue},
    {"shutdown", 1, 8, make_shutdown}, {"close", 1, 6, make_close},
    {"dup", 1, 6, make_dup},           {"raw", 1, 6, make_raw},
    {"names", 1, 4, make_names},       {"pass", 2, 1, make_pass},
    {"child", 1, 4, make_child},       {"heir", 1, 1, make_heir},
    {"image", 1, 1, make_image},       {0}};
