/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_socket: making, naming, configuring and ending sockets.
 */
#include "actor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t address_make(union address *a, const char *host, long port)
{
	memset(a, 0, sizeof(*a));
	if (strchr(host, ':')) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons((uint16_t)port);
		inet_pton(AF_INET6, host, &a->in6.sin6_addr);
		return sizeof(a->in6);
	}
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons((uint16_t)port);
	inet_pton(AF_INET, host, &a->in.sin_addr);
	return sizeof(a->in);
}

/* Ports are written port:N; the director puts a symbol in their place. */
static void address_reply(struct call *c, const union address *a, socklen_t len)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (!len) {
		reply(c, " none");
	} else if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->in.sin_addr, text, sizeof(text));
		reply(c, " %s port:%u", text, ntohs(a->in.sin_port));
	} else if (a->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->in6.sin6_addr, text, sizeof(text));
		reply(c, " %s port:%u", text, ntohs(a->in6.sin6_port));
	} else {
		reply(c, " family %d", a->any.sa_family);
	}
}

static int type_flags(const struct call *c)
{
	return (call_has(c, "nonblock") ? SOCK_NONBLOCK : 0) |
	       (call_has(c, "cloexec") ? SOCK_CLOEXEC : 0);
}

static void run_socket(struct call *c)
{
	const char *family = c->argc > 2 ? c->argv[2] : "inet";
	int fd = socket(!strcmp(family, "inet6") ? AF_INET6 : AF_INET,
			SOCK_STREAM | type_flags(c), 0);

	reply_result(c, fd < 0 ? -1 : 0);
	name_set(c->argv[1], fd);
}

/* listen L HOST [backlog=N] [nonblock]: a new listener on a free port. */
static void run_listen(struct call *c)
{
	union address a;
	socklen_t len = address_make(&a, c->argv[2], 0);
	int on = 1, off = 0, ret;
	int fd = socket(a.any.sa_family, SOCK_STREAM | type_flags(c), 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	ret = bind(fd, &a.any, len);
	if (!ret)
		ret = listen(fd, (int)call_number(c, "backlog", 16));
	reply_result(c, ret);
	name_set(c->argv[1], fd);
	if (ret)
		return;
	len = sizeof(a);
	getsockname(fd, &a.any, &len);
	reply_hidden(c, "port=%u", ntohs(a.in.sin_port));
}

/* connect C HOST PORT */
static void run_connect(struct call *c)
{
	union address a;
	socklen_t len =
	    address_make(&a, c->argv[2], strtol(c->argv[3], NULL, 10));

	reply_result(c, connect(name_fd(c->argv[1]), &a.any, len));
}

/* accept L S [via=accept|accept4] [nonblock] [cloexec] */
static void run_accept(struct call *c)
{
	union address a;
	socklen_t len = sizeof(a);
	int fd, from = name_fd(c->argv[1]);

	if (!strcmp(call_text(c, "via", "accept"), "accept4"))
		fd = accept4(from, &a.any, &len, type_flags(c));
	else
		fd = accept(from, &a.any, &len);
	reply_result(c, fd < 0 ? -1 : 0);
	if (fd < 0)
		return;
	address_reply(c, &a, len);
	name_set(c->argv[2], fd);
}

static void run_names(struct call *c)
{
	union address a;
	socklen_t len = sizeof(a);
	int fd = name_fd(c->argv[1]);
	int ret = getsockname(fd, &a.any, &len);

	reply_result(c, ret);
	if (!ret)
		address_reply(c, &a, len);
	len = sizeof(a);
	ret = getpeername(fd, &a.any, &len);
	reply_result(c, ret);
	if (!ret)
		address_reply(c, &a, len);
}

struct option {
	const char *name;
	int level, number;
};

static const struct option options[] = {
    {"nodelay", IPPROTO_TCP, TCP_NODELAY},
    {"cork", IPPROTO_TCP, TCP_CORK},
    {"quickack", IPPROTO_TCP, TCP_QUICKACK},
    {"maxseg", IPPROTO_TCP, TCP_MAXSEG},
    {"inq", IPPROTO_TCP, TCP_INQ},
    {"usertimeout", IPPROTO_TCP, TCP_USER_TIMEOUT},
    {"notsentlowat", IPPROTO_TCP, TCP_NOTSENT_LOWAT},
    {"keepalive", SOL_SOCKET, SO_KEEPALIVE},
    {"reuseaddr", SOL_SOCKET, SO_REUSEADDR},
    {"oobinline", SOL_SOCKET, SO_OOBINLINE},
    {"rcvlowat", SOL_SOCKET, SO_RCVLOWAT},
    {"sndlowat", SOL_SOCKET, SO_SNDLOWAT},
    {"rcvbuf", SOL_SOCKET, SO_RCVBUF},
    {"sndbuf", SOL_SOCKET, SO_SNDBUF},
    {"error", SOL_SOCKET, SO_ERROR},
    {"type", SOL_SOCKET, SO_TYPE},
    {"protocol", SOL_SOCKET, SO_PROTOCOL},
    {"domain", SOL_SOCKET, SO_DOMAIN},
    {"acceptconn", SOL_SOCKET, SO_ACCEPTCONN},
    {"zerocopy", SOL_SOCKET, SO_ZEROCOPY},
    {"timestamp", SOL_SOCKET, SO_TIMESTAMP},
};

static const struct option *option_find(const char *name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i].name, name))
			return &options[i];
	return NULL;
}

/* get FD OPTION [via=syscall]; "error" is printed by name. */
static void run_get(struct call *c)
{
	const struct option *o = option_find(c->argv[2]);
	int value = 0, ret;
	socklen_t len = sizeof(value);

	if (!o) {
		reply_bad(c, "option");
		return;
	}
	if (!strcmp(call_text(c, "via", "getsockopt"), "syscall"))
		ret = (int)syscall(SYS_getsockopt, name_fd(c->argv[1]),
				   o->level, o->number, &value, &len);
	else
		ret = getsockopt(name_fd(c->argv[1]), o->level, o->number,
				 &value, &len);
	reply_result(c, ret);
	if (ret)
		return;
	if (o->number == SO_ERROR && o->level == SOL_SOCKET)
		reply(c, " %s", value ? strerrorname_np(value) : "0");
	else
		reply(c, " %d len=%u", value, len);
}

/* set FD OPTION VALUE; linger and time-outs: set FD linger ON SECONDS. */
static void run_set(struct call *c)
{
	const struct option *o;
	int fd = name_fd(c->argv[1]);
	long value = strtol(c->argv[3], NULL, 0);
	struct linger linger = {(int)value, 0};
	struct timeval time = {value / 1000, value % 1000 * 1000};
	int number = (int)value;

	if (!strcmp(c->argv[2], "linger")) {
		linger.l_linger = c->argc > 4 ? atoi(c->argv[4]) : 0;
		reply_result(c, setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
					   sizeof(linger)));
		return;
	}
	if (!strcmp(c->argv[2], "rcvtimeo") ||
	    !strcmp(c->argv[2], "sndtimeo")) {
		int which = c->argv[2][0] == 'r' ? SO_RCVTIMEO : SO_SNDTIMEO;

		reply_result(
		    c, setsockopt(fd, SOL_SOCKET, which, &time, sizeof(time)));
		return;
	}
	o = option_find(c->argv[2]);
	if (!o)
		reply_bad(c, "option");
	else
		reply_result(c, setsockopt(fd, o->level, o->number, &number,
					   sizeof(number)));
}

/* state FD: what TCP_INFO says of the connection. */
static void run_state(struct call *c)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int ret =
	    getsockopt(name_fd(c->argv[1]), IPPROTO_TCP, TCP_INFO, &info, &len);

	reply_result(c, ret);
	if (!ret)
		reply(c, " %s", word_name(state_words, info.tcpi_state));
}

/* nonblock FD 0|1 [via=fcntl|ioctl] */
static void run_nonblock(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	int on = atoi(c->argv[2]);
	int flags;

	if (!strcmp(call_text(c, "via", "fcntl"), "ioctl")) {
		reply_result(c, ioctl(fd, FIONBIO, &on));
		return;
	}
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0)
		flags = fcntl(fd, F_SETFL,
			      on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
	reply_result(c, flags);
}

/* flags FD: file status flags and descriptor flags. */
static void run_flags(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	int status = fcntl(fd, F_GETFL);
	int own = fcntl(fd, F_GETFD);

	if (status < 0) {
		reply_result(c, status);
		return;
	}
	reply(c, " =%s%s%s%s", status & O_NONBLOCK ? " nonblock" : "",
	      (status & O_ACCMODE) == O_RDWR ? " rdwr" : "",
	      status & O_ASYNC ? " async" : "",
	      own & FD_CLOEXEC ? " cloexec" : "");
}

/* async FD 0|1: O_ASYNC with this process as owner. */
static void run_async(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	int flags = fcntl(fd, F_GETFL);

	reply_result(c, fcntl(fd, F_SETOWN, getpid()));
	reply_result(
	    c, fcntl(fd, F_SETFL,
		     atoi(c->argv[2]) ? flags | O_ASYNC : flags & ~O_ASYNC));
}

/* append FD 0|1: O_APPEND, with which nothing can be sent from a file. */
static void run_append(struct call *c)
{
	int fd = name_fd(c->argv[1]);
	int flags = fcntl(fd, F_GETFL);

	reply_result(
	    c, fcntl(fd, F_SETFL,
		     atoi(c->argv[2]) ? flags | O_APPEND : flags & ~O_APPEND));
}

static void run_shutdown(struct call *c)
{
	unsigned how = 0;

	if (!words_parse(shutdown_words, c->argv[2], &how))
		how = (unsigned)atoi(c->argv[2]);
	reply_result(c, shutdown(name_fd(c->argv[1]), (int)how));
}

/* close FD [via=close|range|syscall] */
static void run_close(struct call *c)
{
	const char *via = call_text(c, "via", "close");
	int fd = name_fd(c->argv[1]);

	if (!strcmp(via, "range"))
		reply_result(c, close_range((unsigned)fd, (unsigned)fd, 0));
	else if (!strcmp(via, "syscall"))
		reply_result(c, syscall(SYS_close, fd));
	else
		reply_result(c, close(fd));
	name_closed(c->argv[1]);
}

/*
 * dup FD NEW [via=dup|dup2|dup3|fcntl]: dup2 and dup3 go onto the number of
 * NEW, or onto that of another open file.
 */
static void run_dup(struct call *c)
{
	const char *via = call_text(c, "via", "dup");
	int fd = name_fd(c->argv[1]);
	int onto = name_fd(c->argv[2]);
	int ret;

	if (onto < 0 && !strncmp(via, "dup", 3) && via[3])
		onto = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (!strcmp(via, "dup2"))
		ret = dup2(fd, onto);
	else if (!strcmp(via, "dup3"))
		ret = dup3(fd, onto, O_CLOEXEC);
	else if (!strcmp(via, "fcntl"))
		ret = fcntl(fd, F_DUPFD_CLOEXEC, 70);
	else
		ret = dup(fd);
	reply_result(c, ret < 0 ? -1 : 0);
	if (ret >= 0)
		name_set(c->argv[2], ret);
}

/* identity FD OTHER: what fstat, lseek and isatty say; the same file? */
static void run_identity(struct call *c)
{
	struct stat a = {0}, b = {0};
	int fd = name_fd(c->argv[1]);
	int ret = fstat(fd, &a);

	reply_result(c, ret);
	reply(c, S_ISSOCK(a.st_mode) ? " socket" : " not-socket");
	reply_result(c, lseek(fd, 0, SEEK_CUR));
	reply(c, " tty=%d", isatty(fd));
	if (c->argc > 2 && !fstat(name_fd(c->argv[2]), &b))
		reply(c, " same=%d",
		      a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

const struct operation socket_operations[] = {
    {"socket", 1, run_socket},
    {"listen", 2, run_listen},
    {"connect", 3, run_connect},
    {"accept", 2, run_accept},
    {"names", 1, run_names},
    {"get", 2, run_get},
    {"set", 3, run_set},
    {"state", 1, run_state},
    {"nonblock", 2, run_nonblock},
    {"flags", 1, run_flags},
    {"async", 2, run_async},
    {"append", 2, run_append},
    {"shutdown", 2, run_shutdown},
    {"close", 1, run_close},
    {"dup", 2, run_dup},
    {"identity", 1, run_identity},
    {NULL, 0, NULL},
};
