/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * talk: both ends of connections over the wire half of the link service. It
 * plays the near half and the program: no other process, no preload library.
 *
 *   talk -l [options]		takes -n connections
 *   talk -c ADDRESS [options]	makes them
 *
 * Each side sends -b bytes and checks as many of the peer's. How they end:
 *   -x close	each closes when it has all (default)
 *   -x half	the client shuts down writing, then the server answers
 *   -x abort	the client closes with bytes unread, or SO_LINGER 0
 *   -x hold	the client keeps all open until all have their bytes
 *
 * -k AF_SMC sockets of the kernel in place of the service, -t TCP sockets;
 * -p port, -s bytes of an RMBE, -o connections at once, -e EID (none: version
 * 1), -i peer ID in hexadecimal, -w seconds to wait with the group at the end,
 * -E ends the service with open connections, -q prints the sum alone.
 *
 * Prints what each came to, and a sum. Status 0: all bytes came.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/service/rc_near.h"
#include "smc_r/service/rc_service.h"
#include "smc_r/service/rc_state.h"
#include "tests/rc/element.h"

#ifndef AF_SMC
#define AF_SMC 43
#endif
#define TALKS_MAX   1024
/* A handshake has a few seconds. No more of them are begun at once than a slow
 * machine ends in that time. */
#define UNKNOWN_MAX 32
#define PIECE       16384

enum how {
	HOW_CLOSE,
	HOW_HALF,
	HOW_ABORT,
	HOW_HOLD
};
enum way {
	WAY_SERVICE,
	WAY_KERNEL,
	WAY_TCP
};

static struct {
	bool listens;
	bool quiet;
	bool ends_open;
	const char *address;
	enum how how;
	enum way way;
	int port;
	int count;
	int at_once;
	uint32_t rmbe;
	uint64_t bytes;
	double wait_s;
	double limit_s;
	uint8_t id[8];
	const char *eid[4];
	int eids;
} opt = {.port = 18700,
	 .count = 1,
	 .at_once = 1,
	 .rmbe = 65536,
	 .bytes = 100000,
	 .limit_s = 60};

struct talk {
	struct rc_conn conn; /* WAY_SERVICE */
	struct element element;
	int fd;          /* TCP, or of the kernel's SMC */
	bool on_socket;  /* bytes go over fd */
	bool is_unknown; /* the outcome is not known yet */
	bool over;       /* the wire half has done with it */
	bool closed;     /* the program has */
	bool shut;       /* ... for writing */
	bool ended;      /* the peer's end was seen */
	bool done;       /* both, and counted */
	int error;
	uint64_t sent, got;
};

static struct talk *talks[TALKS_MAX];
static struct rc_service *service;
static struct {
	int begun, done, smc, v1, tcp, broken, reset, bad;
	uint32_t reason, peer_reason;
} sum;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "talk: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the near half ---- */

static void tell_outcome(struct rc_conn *c, enum rc_outcome outcome,
			 uint32_t reason, uint32_t peer_reason)
{
	struct talk *t = (struct talk *)c;

	t->is_unknown = false;
	sum.smc += outcome == RC_OUTCOME_SMC;
	sum.v1 += outcome == RC_OUTCOME_SMC && c->group->peer.version == 1;
	sum.tcp += outcome == RC_OUTCOME_TCP;
	sum.broken += outcome == RC_OUTCOME_BROKEN;
	if (reason)
		sum.reason = reason;
	if (peer_reason)
		sum.peer_reason = peer_reason;
	if (outcome == RC_OUTCOME_TCP)
		t->on_socket = true;
	if (outcome == RC_OUTCOME_BROKEN)
		t->error = EPIPE;
	t->over = outcome != RC_OUTCOME_SMC;
	/* What the ring has goes over TCP. */
	t->sent = t->on_socket ? 0 : t->sent;
	if (!opt.quiet)
		printf("outcome=%d reason=%s peer=%s\n", outcome,
		       reason_name(reason), reason_name(peer_reason));
}

static void tell_peer(struct rc_conn *c, int error)
{
	struct talk *t = (struct talk *)c;

	if (error)
		t->error = error;
}

static void tell_moved(struct rc_conn *c)
{
	(void)c;
}

static void tell_over(struct rc_conn *c)
{
	((struct talk *)c)->over = true;
}

static const struct rc_near_calls near_calls = {.outcome = tell_outcome,
						.peer = tell_peer,
						.moved = tell_moved,
						.over = tell_over};

/* ---- the program's calls ---- */

static ssize_t sent_or_none(ssize_t n)
{
	if (n < 0 && errno == EAGAIN)
		return 0;
	return n < 0 ? -errno : n;
}

static ssize_t put(struct talk *t, const void *from, size_t n)
{
	if (t->error)
		return -t->error;
	if (t->on_socket)
		return sent_or_none(
		    send(t->fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL));
	return element_put(&t->element, from, n);
}

/* -EPIPE at the end. */
static ssize_t take(struct talk *t, void *to, size_t n)
{
	ssize_t k;

	if (t->on_socket) {
		k = recv(t->fd, to, n, MSG_DONTWAIT);
		return k == 0 ? -EPIPE : sent_or_none(k);
	}
	if (t->error)
		return -t->error;
	k = element_take(&t->element, to, n);
	if (k == 0 && !t->is_unknown &&
	    rc_stream_peer(&t->conn.pump.stream) != RC_STREAM_OPEN)
		return -EPIPE;
	return k;
}

static void shut(struct talk *t)
{
	t->shut = true;
	if (t->on_socket)
		shutdown(t->fd, SHUT_WR);
	else if (!t->over)
		rc_stream_end(&t->conn.pump.stream, CLOSE_SHUTDOWN_WRITE,
			      false);
}

static void reset_at_close(int fd)
{
	struct linger l = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

static void leave(struct talk *t)
{
	t->closed = true;
	if (t->on_socket) {
		if (opt.how == HOW_ABORT && !opt.listens && opt.way == WAY_TCP)
			reset_at_close(t->fd);
		close(t->fd);
		t->fd = -1;
		t->over = true;
	} else if (!t->over) {
		rc_stream_end(&t->conn.pump.stream, CLOSE_RELEASE,
			      element_is_unread(&t->element));
	}
}

/* ---- the program ---- */

static uint8_t byte_at(uint64_t o, bool of_server)
{
	return (uint8_t)((o * 2654435761u >> 13) ^ (o >> 3) ^ o ^
			 (of_server ? 0xa5 : 0x3c));
}

static bool send_some(struct talk *t)
{
	uint8_t piece[PIECE];
	uint64_t left = opt.bytes - t->sent;
	size_t n = left < PIECE ? (size_t)left : PIECE;
	ssize_t k;

	for (size_t i = 0; i < n; i++)
		piece[i] = byte_at(t->sent + i, opt.listens);
	k = put(t, piece, n);
	if (k < 0)
		t->error = (int)-k;
	else
		t->sent += (uint64_t)k;
	return k != 0;
}

static bool receive_some(struct talk *t)
{
	uint8_t piece[PIECE];
	ssize_t k = take(t, piece, PIECE);

	if (k == -EPIPE)
		t->ended = true;
	else if (k < 0)
		t->error = (int)-k;
	for (ssize_t i = 0; i < k; i++) {
		if (piece[i] == byte_at(t->got + (uint64_t)i, !opt.listens))
			continue;
		fprintf(stderr, "talk: byte %llu is wrong\n",
			(unsigned long long)t->got + (unsigned long long)i);
		sum.bad++;
		t->error = EBADMSG;
		break;
	}
	if (k > 0)
		t->got += (uint64_t)k;
	return k != 0;
}

static bool may_send(const struct talk *t)
{
	if (t->error || t->shut || t->sent == opt.bytes)
		return false;
	return opt.how != HOW_HALF || !opt.listens || t->ended;
}

static bool all_have_all(void)
{
	for (int i = 0; i < sum.begun; i++)
		if (talks[i] && !talks[i]->error &&
		    (talks[i]->got < opt.bytes || talks[i]->sent < opt.bytes))
			return false;
	return sum.begun == opt.count;
}

static bool is_unread(struct talk *t)
{
	char c;

	return t->on_socket ? recv(t->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1
			    : element_is_unread(&t->element);
}

static bool wants_to_leave(struct talk *t)
{
	bool has_all = t->got == opt.bytes && t->sent == opt.bytes;

	if (t->error)
		return true;
	switch (opt.how) {
	case HOW_CLOSE:
		return has_all;
	case HOW_HALF:
		return opt.listens ? has_all : t->ended;
	case HOW_ABORT:
		return opt.listens ? t->ended : t->got >= PIECE && is_unread(t);
	case HOW_HOLD:
		if (opt.ends_open)
			return t->ended;
		return opt.listens ? has_all && t->ended
				   : has_all && all_have_all();
	}
	return true;
}

static bool act(struct talk *t)
{
	bool moved = false;

	if (t->is_unknown && !t->on_socket && t->sent > 0)
		return false;
	while (may_send(t) && send_some(t))
		moved = true;
	if (opt.how == HOW_HALF && !opt.listens && t->sent == opt.bytes &&
	    !t->shut && !t->error && !t->is_unknown) {
		shut(t);
		moved = true;
	}
	while (!t->ended && !t->error &&
	       !(opt.how == HOW_ABORT && !opt.listens && t->got >= PIECE) &&
	       receive_some(t))
		moved = true;
	if (!t->closed && !t->is_unknown && wants_to_leave(t)) {
		leave(t);
		moved = true;
	}
	return moved;
}

static void count(struct talk *t)
{
	bool has_all = t->got == opt.bytes && t->sent == opt.bytes;

	t->done = true;
	sum.done++;
	sum.reset += t->error != 0;
	if (!has_all && opt.how != HOW_ABORT && !opt.ends_open)
		sum.bad++;
	if (!opt.quiet)
		printf("sent=%llu got=%llu error=%s\n",
		       (unsigned long long)t->sent, (unsigned long long)t->got,
		       t->error ? strerrorname_np(t->error) : "none");
}

/* ---- connections ---- */

static struct in6_addr mapped(const struct sockaddr_storage *a)
{
	struct in6_addr out = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (a->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)a)->sin6_addr;
	memcpy(&out.s6_addr[12], &((const struct sockaddr_in *)a)->sin_addr, 4);
	return out;
}

static void begin(struct talk *t)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	if (opt.way != WAY_SERVICE) {
		t->on_socket = true;
		return;
	}
	t->is_unknown = true;
	element_make(&t->element, opt.rmbe);
	element_attach(&t->element, &t->conn.pump);
	t->conn.server = opt.listens;
	t->conn.tcp = t->fd;
	t->conn.near = &near_calls;
	if (getsockname(t->fd, (struct sockaddr *)&a, &n) < 0)
		fail("getsockname");
	t->conn.local = mapped(&a);
	n = sizeof(a);
	if (getpeername(t->fd, (struct sockaddr *)&a, &n) < 0)
		fail("getpeername");
	t->conn.peer = mapped(&a);
	rc_service_begin(service, &t->conn, now_ns());
}

static void add(int fd)
{
	struct talk *t = calloc(1, sizeof(*t));

	if (!t || sum.begun == TALKS_MAX)
		fail("a connection");
	t->fd = fd;
	talks[sum.begun++] = t;
	begin(t);
}

static bool is_six(void)
{
	return opt.address && strchr(opt.address, ':');
}

static socklen_t address_of(struct sockaddr_storage *a)
{
	struct sockaddr_in *four = (void *)a;
	struct sockaddr_in6 *six = (void *)a;

	memset(a, 0, sizeof(*a));
	if (is_six()) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)opt.port);
		if (inet_pton(AF_INET6, opt.address, &six->sin6_addr) != 1)
			fail("the address");
		return sizeof(*six);
	}
	four->sin_family = AF_INET;
	four->sin_port = htons((uint16_t)opt.port);
	if (opt.address &&
	    inet_pton(AF_INET, opt.address, &four->sin_addr) != 1)
		fail("the address");
	return sizeof(*four);
}

static int new_socket(void)
{
	int family = is_six() ? AF_INET6 : AF_INET;
	int fd = opt.way == WAY_KERNEL
		     ? socket(AF_SMC, SOCK_STREAM, is_six() ? 1 : 0)
		     : socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		fail("a socket");
	return fd;
}

static int begin_listening(void)
{
	int fd = new_socket();
	struct sockaddr_storage a;
	socklen_t n = address_of(&a);
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, 1024) < 0)
		fail("listen");
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int count_unknown(void)
{
	int n = 0;

	for (int i = 0; i < sum.begun; i++)
		n += talks[i]->is_unknown;
	return n;
}

static void add_more(int listener)
{
	struct sockaddr_storage a;
	socklen_t n = address_of(&a);
	int fd;

	while (sum.begun < opt.count && opt.listens) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			return;
		add(fd);
	}
	while (sum.begun < opt.count && sum.begun - sum.done < opt.at_once &&
	       count_unknown() < UNKNOWN_MAX) {
		fd = new_socket();
		if (connect(fd, (struct sockaddr *)&a, n) < 0)
			fail("connect");
		add(fd);
	}
}

/* ---- the loop ---- */

static bool serve(struct talk *t)
{
	bool moved;

	if (!t || t->done)
		return false;
	if (t->is_unknown)
		rc_service_readable(&t->conn, now_ns());
	moved = act(t);
	if (!t->on_socket && !t->over && !t->is_unknown)
		rc_service_work(&t->conn, now_ns());
	if (!t->closed || !t->over)
		return moved;
	if (opt.way == WAY_SERVICE)
		element_free(&t->element);
	if (t->fd >= 0)
		close(t->fd);
	count(t);
	return true;
}

static bool turn(int listener)
{
	bool moved = false;

	if (service && rc_service_poll(service, now_ns()) > 0)
		moved = true;
	add_more(listener);
	for (int i = 0; i < sum.begun; i++)
		moved |= serve(talks[i]);
	if (service && now_ns() >= rc_service_next_ns(service))
		rc_service_time(service, now_ns());
	return moved;
}

static int wait_ms(void)
{
	uint64_t due = service ? rc_service_next_ns(service) : UINT64_MAX;
	uint64_t now = now_ns();

	if (due <= now)
		return 0;
	return due - now > 50000000 ? 50 : (int)((due - now) / 1000000 + 1);
}

static void doze(int listener)
{
	static struct pollfd p[TALKS_MAX + 2];
	nfds_t n = 0;

	p[n++] = (struct pollfd){.fd = listener, .events = POLLIN};
	if (service)
		p[n++] = (struct pollfd){.fd = rc_service_fd(service),
					 .events = POLLIN};
	for (int i = 0; i < sum.begun; i++) {
		struct talk *t = talks[i];

		if (!t->done && (t->is_unknown || t->on_socket))
			p[n++] = (struct pollfd){.fd = t->fd, .events = POLLIN};
	}
	poll(p, n, wait_ms());
	if (service)
		rc_service_heard(service, now_ns());
}

static bool is_busy(uint64_t begin_ns)
{
	if ((double)(now_ns() - begin_ns) > opt.limit_s * 1e9) {
		errno = ETIMEDOUT;
		fail("not all in time");
	}
	if (opt.ends_open && all_have_all())
		return false;
	return sum.done < opt.count;
}

/* With the group, but without connections. */
static void linger(int listener)
{
	uint64_t until = now_ns() + (uint64_t)(opt.wait_s * 1e9);

	while (now_ns() < until) {
		if (!turn(listener)) {
			if (service)
				rc_service_arm(service);
			if (!turn(listener))
				doze(listener);
		}
	}
}

static void run(void)
{
	int listener = opt.listens ? begin_listening() : -1;
	uint64_t begin_ns = now_ns();

	if (opt.listens) {
		printf("listening\n");
		fflush(stdout);
	}
	while (is_busy(begin_ns)) {
		if (turn(listener))
			continue;
		if (service)
			rc_service_arm(service);
		if (!turn(listener))
			doze(listener);
	}
	linger(listener);
	if (!service)
		return;
	rc_service_end(service, now_ns());
	while (!rc_service_is_done(service)) {
		turn(listener);
		usleep(1000);
	}
	rc_service_free(service);
}

/* ---- */

static _Noreturn void usage(int status)
{
	fprintf(
	    status ? stderr : stdout,
	    "usage: talk -l|-c address [-ktEq] [-p port] [-n connections]\n"
	    "       [-o at once] [-b bytes] [-s rmbe] [-e eid] [-i id]\n"
	    "       [-x close|half|abort|hold] [-w seconds] [-T seconds]\n");
	exit(status);
}

static void read_id(const char *text)
{
	for (int i = 0; i < 8; i++)
		if (sscanf(text + 2 * i, "%2hhx", &opt.id[i]) != 1)
			usage(2);
}

static void read_how(const char *text)
{
	static const char *const names[] = {"close", "half", "abort", "hold"};

	for (int i = 0; i < 4; i++) {
		if (strcmp(text, names[i]) == 0) {
			opt.how = (enum how)i;
			return;
		}
	}
	usage(2);
}

static void read_option(int o)
{
	switch (o) {
	case 'l':
		opt.listens = true;
		break;
	case 'c':
		opt.address = optarg;
		break;
	case 'k':
		opt.way = WAY_KERNEL;
		break;
	case 't':
		opt.way = WAY_TCP;
		break;
	case 'E':
		opt.ends_open = true;
		break;
	case 'q':
		opt.quiet = true;
		break;
	case 'p':
		opt.port = atoi(optarg);
		break;
	case 'n':
		opt.count = atoi(optarg);
		break;
	case 'o':
		opt.at_once = atoi(optarg);
		break;
	case 'b':
		opt.bytes = strtoull(optarg, NULL, 10);
		break;
	case 's':
		opt.rmbe = (uint32_t)strtoul(optarg, NULL, 10);
		break;
	case 'e':
		if (opt.eids < 4)
			opt.eid[opt.eids++] = optarg;
		break;
	case 'i':
		read_id(optarg);
		break;
	case 'x':
		read_how(optarg);
		break;
	case 'w':
		opt.wait_s = strtod(optarg, NULL);
		break;
	case 'T':
		opt.limit_s = strtod(optarg, NULL);
		break;
	default:
		usage(o == 'h' ? 0 : 2);
	}
}

static void make_service(void)
{
	opt.id[0] ^= (uint8_t)getpid();
	opt.id[1] ^= (uint8_t)(getpid() >> 8);
	service = rc_service_new(opt.id);
	if (!service)
		fail("a service");
	for (int i = 0; i < opt.eids; i++)
		if (rc_service_add_eid(service, opt.eid[i]) < 0)
			usage(2);
}

int main(int argc, char **argv)
{
	struct rlimit files = {1 << 16, 1 << 16};
	int o;

	while ((o = getopt(argc, argv, "hlktEqc:p:n:o:b:s:e:i:x:w:T:")) != -1)
		read_option(o);
	if (!opt.listens && !opt.address)
		usage(2);
	setlinebuf(stdout);
	setrlimit(RLIMIT_NOFILE, &files);
	real_init();
	process_init();
	if (fdtable_init() < 0)
		fail("the table of descriptors");
	if (opt.way == WAY_SERVICE)
		make_service();
	run();
	printf("done=%d smc=%d v1=%d tcp=%d broken=%d reset=%d bad=%d "
	       "reason=%s peer=%s\n",
	       sum.done, sum.smc, sum.v1, sum.tcp, sum.broken, sum.reset,
	       sum.bad, reason_name(sum.reason), reason_name(sum.peer_reason));
	return sum.bad || sum.broken ? 1 : 0;
}
