/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_state: moves that ask in which state a socket is, or depend on it; and
 * those of descriptors, signals and listeners that few programs make.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "duel.h"

#define SETTLES_MS 300

/* ---- what the kernel tells of a socket ---- */

static int state_of(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len)
		   ? -1
		   : info.tcpi_state;
}

/* The answer to a FIN is on its way. */
static bool passes(int state)
{
	return state == TCP_FIN_WAIT1 || state == TCP_CLOSING ||
	       state == TCP_LAST_ACK;
}

static void make_state(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), state, error;
	socklen_t len = sizeof(error);
	bool twice = chance(r, 40);

	state = state_of(fd);
	for (int i = 0; i < SETTLES_MS && passes(state); i++) {
		usleep(1000);
		state = state_of(fd);
	}
	say(g, "state %d fd=%d %d", slot, fd, state);
	for (int i = 0; twice && i < 2; i++) {
		error = -1;
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
		say(g, " error %d", error);
	}
}

/* What has been sent and not been acknowledged. */
static void make_queued(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), left = -1, ret = 0;

	for (int i = 0; i < SETTLES_MS; i++) {
		left = -1;
		ret = ioctl(fd, SIOCOUTQ, &left);
		if (ret || !left)
			break;
		usleep(1000);
	}
	say(g, "queued %d fd=%d", slot, fd);
	say_result(g, ret);
	say(g, " %d", ret ? 0 : left);
}

/* Calls that a socket takes in some states only. */
static void make_stateful(struct game *g, struct random *r)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int slot = socket_slot(g, r), fd = in(g, slot), ret = -1, value = 1;
	int state = state_of(fd);
	unsigned how = pick(r, 9);
	socklen_t len = sizeof(a);

	for (int i = 0; i < SETTLES_MS && passes(state); i++) {
		usleep(1000);
		state = state_of(fd);
	}
	say(g, "stateful %d fd=%d how=%u", slot, fd, how);
	guard_set();
	switch (how) {
	case 0:
		ret = bind(fd, (struct sockaddr *)&a, sizeof(a));
		break;
	case 1:
		ret = getpeername(fd, (struct sockaddr *)&a, &len);
		break;
	case 2:
		ret = setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &value,
				 sizeof(value));
		break;
	case 3:
		ret = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "none", 4);
		break;
	case 4:
		value = AF_INET;
		ret = setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &value,
				 sizeof(value));
		break;
	case 5:
		len = sizeof(value);
		ret = getsockopt(fd, IPPROTO_IP, IP_MTU, &value, &len);
		break;
	case 6:
		a.sin_port = htons((uint16_t)g->table->ports[!g->side]);
		ret = connect(fd, (struct sockaddr *)&a, sizeof(a));
		break;
	case 7:
		value = 0;
		ret = setsockopt(fd, IPPROTO_TCP, TCP_CORK, &value,
				 sizeof(value));
		break;
	default:
		ret = setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &value,
				 sizeof(value));
		value = 0;
		setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &value,
			   sizeof(value));
	}
	guard_end();
	say_result(g, ret);
}

/* ---- vectors with a part that is not there ---- */

static void make_hole(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot);
	unsigned c = connection_of(g, fd), count = 2 + pick(r, 4);
	unsigned at = pick(r, count), how = pick(r, 4);
	struct iovec parts[6];
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = count};
	ssize_t n;

	for (unsigned i = 0; i < count; i++)
		parts[i] =
		    (struct iovec){g->bytes + 1000 * i, 1 + pick(r, 100)};
	if (chance(r, 50))
		parts[at].iov_base = g->bytes + BYTES - pick(r, 2);
	else
		parts[at].iov_base = NULL;
	if (chance(r, 20))
		parts[at].iov_len = 0;
	if (how < 2 && sendable(g, fd, 1000) < 1000)
		return;
	/* If there are several pieces, TCP gives those before the hole:
	 * smc_r(7). */
	if (how >= 2 && c &&
	    g->table->pieces[c][g->table->end[g->side][fd]] > 1)
		return;
	pattern(g, g->bytes, 6000);
	say(g, "hole %d fd=%d how=%u at=%u of %u len=%zu", slot, fd, how, at,
	    count, parts[at].iov_len);
	guard_set();
	switch (how) {
	case 0:
		n = writev(fd, parts, (int)count);
		break;
	case 1:
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
		break;
	case 2:
		n = recvmsg(fd, &m, MSG_DONTWAIT);
		break;
	default:
		n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_PEEK);
	}
	guard_end();
	if (how < 2)
		was_sent(g, fd, n);
	else if (how == 2)
		was_taken(g, fd, n);
	say_result(g, n);
}

/* ---- descriptors ---- */

static void make_number(struct game *g, struct random *r)
{
	int slot = any_slot(g, r), fd = in(g, slot), ret = -1, other;
	unsigned how = pick(r, 6);

	say(g, "number %d fd=%d how=%u", slot, fd, how);
	switch (how) {
	case 0:
		ret = close_range((unsigned)fd, (unsigned)fd,
				  CLOSE_RANGE_CLOEXEC);
		if (fd < 0)
			ret = 0;
		say(g, " %d", fcntl(fd, F_GETFD));
		/* It stays for an image of ours. */
		fcntl(fd, F_SETFD, 0);
		break;
	case 1:
		ret = close_range(150, 160, CLOSE_RANGE_UNSHARE);
		break;
	case 2:
		ret = unshare(CLONE_FILES);
		break;
	case 3:
		other = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		ret = setns(other, CLONE_NEWNET);
		close(other);
		break;
	case 4:
	case 5:
		other = (int)syscall(SYS_pidfd_open, getpid(), 0);
		ret = (int)syscall(SYS_pidfd_getfd, other, fd, 0);
		close(other);
		if (ret >= 0) {
			known_copy(g, fd, ret);
			put(g, 4 + (int)how % 2, ret);
		}
	}
	say_result(g, ret);
}

/* ---- signals for readiness ---- */

static volatile sig_atomic_t told;

static void on_told(int number)
{
	(void)number;
	told = 1;
}

static void make_told(struct game *g, struct random *r)
{
	int slot = socket_slot(g, r), fd = in(g, slot), number;
	struct sigaction a = {.sa_handler = on_told};
	bool real_time = chance(r, 50), ends = chance(r, 20);
	struct f_owner_ex owner = {F_OWNER_PID, getpid()};
	size_t size = 1 + pick(r, 100);
	ssize_t n;

	number = real_time ? SIGRTMIN + 3 : SIGUSR2;
	sigaction(number, &a, NULL);
	if (g->phase == 0) {
		say(g, "told %d fd=%d", slot, fd);
		say_result(g, fcntl(fd, F_SETOWN_EX, &owner));
		say_result(g, fcntl(fd, F_SETSIG, number));
		say_result(g, fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
		told = 0;
	} else if (g->phase == 1) {
		size = sendable(g, fd, size);
		pattern(g, g->bytes, size);
		say(g, "told %d fd=%d", slot, fd);
		if (ends) {
			say_result(g, shutdown(fd, SHUT_WR));
		} else {
			n = send(fd, g->bytes, size, MSG_NOSIGNAL);
			was_sent(g, fd, n);
			say_result(g, n);
		}
	} else {
		for (int i = 0; i < 60 && !told; i++)
			usleep(1000);
		say(g, "told %d fd=%d %s", slot, fd, told ? "yes" : "no");
		say_result(g,
			   fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC));
		fcntl(fd, F_SETSIG, 0);
	}
}

/* ---- listeners ---- */

static void make_relisten(struct game *g, struct random *r)
{
	int fd = in(g, LISTENER), ret, slot = (int)pick(r, g->crowd);
	unsigned how = pick(r, 4);

	say(g, "relisten fd=%d how=%u", fd, how);
	switch (how) {
	case 0:
		ret = listen(fd, 1 + (int)pick(r, 4));
		break;
	case 1:
		ret = shutdown(fd, SHUT_WR);
		break;
	case 2:
		ret = shutdown(fd, SHUT_RD);
		say_result(g, ret);
		ret = listen(fd, 3);
		break;
	default:
		ret = state_of(fd);
		say(g, " %d", state_of(in(g, slot)));
	}
	say_result(g, ret);
}

/* Two listeners at one port, one of which goes. */
static void make_port(struct game *g, struct random *r)
{
	static int listeners[SIDES] = {-1, -1}, ends[SIDES] = {-1, -1};
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	int one = 1, *listener = &listeners[g->side], *end = &ends[g->side];
	char byte = 'p';

	(void)r;
	if (g->phase < 2) {
		if (g->phase)
			a.sin_port = htons((uint16_t)g->table->flight[0][1]);
		*listener = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(*listener, SOL_SOCKET, SO_REUSEPORT, &one,
			   sizeof(one));
		say(g, "port fd=%d", *listener);
		say_result(g, bind(*listener, (struct sockaddr *)&a, len));
		say_result(g, listen(*listener, 3));
		getsockname(*listener, (struct sockaddr *)&a, &len);
		g->table->flight[0][1] = ntohs(a.sin_port);
	} else if (g->phase == 2) {
		close(*listener);
		a.sin_port = htons((uint16_t)g->table->flight[0][1]);
		*end = socket(AF_INET, SOCK_STREAM, 0);
		say(g, "port client fd=%d", *end);
		say_result(g, connect(*end, (struct sockaddr *)&a, len));
	} else if (g->phase == 3) {
		guard_set();
		*end = accept(*listener, NULL, NULL);
		guard_end();
		close(*listener);
		say(g, "port server");
		say_result(g, *end);
		say_result(g, send(*end, &byte, 1, MSG_NOSIGNAL));
	} else {
		guard_set();
		say(g, "port end");
		say_result(g, recv(*end, &byte, 1, 0));
		guard_end();
		close(*end);
		*end = -1;
		if (g->phase == 5)
			g->table->flight[0][1] = 0;
	}
}

/* A filter that lets everything in. */
static void make_filter(struct game *g, struct random *r)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
	struct sock_fprog program = {1, &all};
	int slot = socket_slot(g, r), fd = in(g, slot), ret, value = 0;

	if (chance(r, 60))
		ret = setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
				 sizeof(program));
	else if (chance(r, 50))
		ret = setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &value,
				 sizeof(value));
	else
		ret = setsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &value,
				 sizeof(value));
	say(g, "filter %d fd=%d", slot, fd);
	say_result(g, ret);
}

const struct kind state_kinds[] = {
    {"state", 1, 12, make_state},      {"queued", 1, 5, make_queued},
    {"stateful", 1, 8, make_stateful}, {"hole", 1, 6, make_hole},
    {"number", 1, 8, make_number},     {"told", 3, 3, make_told},
    {"relisten", 1, 5, make_relisten}, {"port", 6, 3, make_port},
    {"filter", 1, 2, make_filter},     {0}};
