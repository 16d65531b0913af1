/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hop: what a link service between a program and its peer costs. Both ends use
 * the engine's rings and bells, without sockets; the service is a process.
 *
 *   hop ring [-W us]		two programs on one element: no service
 *   hop loop [-W us]		program, service, program: bytes are copied
 *   hop rc GID -l [-W us]	program and service, over a link to the other
 *   hop rc GID -c ADDRESS	... which calls it
 *   hop raw GID -l | -c ADDRESS	WRITE and SEND by the programs
 * themselves
 *
 * -W: how long an end polls before it sleeps, -y: it yields the processor
 * between its looks, -s: bytes of a message, -t:
 * seconds, -b: one way, as fast as it goes, in place of round trips. The caller
 * prints: rtt_ns, or bytes_s.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/service/rc_pump.h"
#include "smc_r/stream/stream.h"
#include "tests/bench/measure.h"

#define RMBE      262144u
#define SIZE_MAX_ 65536u
#define LOOKS     16
#define PORT      18600
#define RAW_TAG   1u

static struct options {
	uint64_t spin_ns;
	uint32_t size;
	double seconds;
	bool yields;
	bool one_way;
	bool listens;
	const char *address;
	union ibv_gid gid;
} opt = {.spin_ns = 50000, .size = 64, .seconds = 1};

static void need(bool holds, const char *what)
{
	if (!holds)
		measure_fail(what);
}

/* ---- a program's end of an element ---- */

struct element {
	struct rmb rmb;
	struct bells theirs; /* for the other side, not adopted yet */
};

static void element_make(struct element *e)
{
	int memfd;

	engine_lock();
	e->rmb.side = SIDE_SERVER;
	need(rmb_create(&e->rmb.map, 1, RMBE, &memfd) == 0, "an RMB");
	need(rmb_ring_fill(&e->rmb.map, 0, SIDE_SERVER, RMBE) == 0 &&
		 rmb_ring_fill(&e->rmb.map, 0, SIDE_CLIENT, RMBE) == 0,
	     "its memory");
	rmb_element_reset(&e->rmb.map, 0);
	need(bells_make(&e->rmb.bells[0], &e->theirs, BELLS_APART) == 0,
	     "bells");
	e->rmb.filled = 1;
	engine_unlock();
}

static void take_client_side(struct element *e)
{
	int fds[BELLS_COUNT_MAX];

	bells_to_fds(&e->theirs, fds, BELLS_APART);
	for (unsigned i = 0; i < BELLS_APART; i++)
		fds[i] = private_fd(fds[i]);
	e->rmb.bells[0] = bells_of_fds(fds, BELLS_APART);
	e->rmb.side = SIDE_CLIENT;
	need(bells_adopt(&e->rmb.bells[0]) == 0, "bells of the other side");
}

static struct status_slot slot;
static struct connection end;

static void attach(struct element *e, int side)
{
	engine_lock();
	if (side == SIDE_CLIENT)
		take_client_side(e);
	end.slot = &slot;
	connection_attach(&end, &e->rmb, 0, side);
	/* As the peer of a link service has it. */
	atomic_store(&end.in_consumer->overflow, 0);
	end.rmb->map.overflow_bytes = 0;
	engine_unlock();
}

static void sleep_on(_Atomic uint32_t *armed, int bell,
		     size_t (*ready)(struct connection *))
{
	uint64_t until = measure_now_ns() + opt.spin_ns;

	do {
		for (int i = 0; i < LOOKS; i++)
			if (ready(&end))
				return;
		if (opt.yields)
			sched_yield();
	} while (measure_now_ns() < until);
	atomic_store(armed, RMB_ARMED);
	connection_settle(&end);
	connection_settle_room(&end);
	if (!ready(&end))
		bell_wait(bell, NULL);
	bell_drain(bell);
	atomic_store(armed, 0);
}

static void put(const void *from, size_t n)
{
	struct iovec v = {(void *)(uintptr_t)from, n};
	struct place p;

	for (size_t done = 0; done < n;) {
		ssize_t k;

		place_init(&p, &v, 1);
		k = stream_put(&end, &p, n - done);
		need(k >= 0, "a write");
		if (k > 0)
			connection_signal_data(&end);
		else
			sleep_on(&end.own_wait->armed_room, end.bells.room,
				 stream_free);
		v.iov_base = (char *)v.iov_base + k;
		v.iov_len -= (size_t)k;
		done += (size_t)k;
	}
}

static void get(void *to, size_t n)
{
	struct iovec v = {to, n};
	struct place p;

	for (size_t done = 0; done < n;) {
		ssize_t k;

		place_init(&p, &v, 1);
		k = stream_take(&end, &p, n - done, 0, 0);
		need(k >= 0, "a read");
		if (k == 0)
			sleep_on(&end.own_wait->armed_data, end.bells.data,
				 stream_fill);
		v.iov_base = (char *)v.iov_base + k;
		v.iov_len -= (size_t)k;
		done += (size_t)k;
	}
}

/* ---- what the two programs do ---- */

static unsigned char bytes[SIZE_MAX_];

static void answer(void)
{
	for (;;) {
		get(bytes, opt.size);
		if (!opt.one_way || bytes[0] == 'e')
			put(bytes, opt.one_way ? 1 : opt.size);
	}
}

static void ask_round(void)
{
	put(bytes, opt.size);
	get(bytes, opt.size);
}

static void send_one(void)
{
	put(bytes, opt.size);
}

static void measure(void (*step)(void), void (*last)(void))
{
	uint64_t length = (uint64_t)(opt.seconds * 1e9);
	uint64_t begin = measure_now_ns(), now;
	uint64_t count = 0;

	memset(bytes, 'm', sizeof(bytes));
	do {
		for (int i = 0; i < 8; i++)
			step();
		count += 8;
		now = measure_now_ns();
	} while (now - begin < length);
	if (last)
		last();
	now = measure_now_ns();
	if (last)
		printf("bytes_s=%.0f\n",
		       (double)count * opt.size * 1e9 / (double)(now - begin));
	else
		printf("rtt_ns=%.0f\n", (double)(now - begin) / (double)count);
	fflush(stdout);
}

/* The other end has all of it when it says so. */
static void await_all(void)
{
	bytes[0] = 'e';
	put(bytes, opt.size);
	get(bytes, 1);
}

static void ask(void)
{
	measure(opt.one_way ? send_one : ask_round,
		opt.one_way ? await_all : NULL);
}

static pid_t run(void (*program)(void), struct element *e, int side)
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	attach(e, side);
	program();
	_exit(0);
}

/* ---- the service, between two programs of one host ---- */

static struct rc_pump pumps[2];

/* Bytes that one program wrote go into the ring that the other one reads. */
static bool carry(struct connection *from, struct connection *to)
{
	uint64_t at = atomic_load(&from->slot->rx.position);
	uint64_t out = atomic_load(&to->out_producer->cursor);
	uint64_t there = atomic_load(&from->in_producer->cursor) - at;
	uint64_t room = RMBE - (out - atomic_load(&to->out_consumer->cursor));
	uint64_t n = there < room ? there : room;

	if (n == 0)
		return false;
	while (n > 0) {
		size_t k = (size_t)n;
		const uint8_t *piece =
		    rings_piece(&from->in, from->in_producer, at, &k);
		size_t offset = out & (RMBE - 1);

		if (k > RMBE - offset)
			k = RMBE - offset;
		memcpy(to->out.ring[0].at + offset, piece, k);
		at += k;
		out += k;
		n -= k;
	}
	atomic_store(&to->out_producer->cursor, out);
	connection_signal_data(to);
	atomic_store(&from->slot->rx.position, at);
	atomic_store(&from->in_consumer->cursor, at);
	connection_signal_room(from);
	return true;
}

static void drain(struct rc_pump *p)
{
	bell_drain(p->near.bells.data);
	bell_drain(p->near.bells.room);
}

static bool carry_both(void)
{
	bool first = carry(&pumps[0].near, &pumps[1].near);

	return carry(&pumps[1].near, &pumps[0].near) || first;
}

static void serve_loop(void)
{
	struct pollfd p[4];
	uint64_t idle = measure_now_ns();

	for (int i = 0; i < 2; i++) {
		p[2 * i] = (struct pollfd){.fd = pumps[i].near.bells.data,
					   .events = POLLIN};
		p[2 * i + 1] = (struct pollfd){.fd = pumps[i].near.bells.room,
					       .events = POLLIN};
	}
	for (;;) {
		if (carry_both()) {
			idle = measure_now_ns();
			continue;
		}
		if (measure_now_ns() - idle < opt.spin_ns) {
			if (opt.yields)
				sched_yield();
			continue;
		}
		rc_pump_arm(&pumps[0]);
		rc_pump_arm(&pumps[1]);
		if (!carry_both() && poll(p, 4, -1) > 0)
			for (int i = 0; i < 2; i++)
				drain(&pumps[i]);
		rc_pump_disarm(&pumps[0]);
		rc_pump_disarm(&pumps[1]);
		idle = measure_now_ns();
	}
}

static void play_ring(void)
{
	static struct element e;
	pid_t server;

	element_make(&e);
	server = run(answer, &e, SIDE_CLIENT);
	attach(&e, SIDE_SERVER);
	ask();
	kill(server, SIGKILL);
}

static void play_loop(void)
{
	static struct element e[2];
	pid_t service, server, client;

	element_make(&e[0]);
	element_make(&e[1]);
	server = run(answer, &e[0], SIDE_CLIENT);
	client = run(ask, &e[1], SIDE_CLIENT);
	service = fork();
	if (service == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		engine_lock();
		for (int i = 0; i < 2; i++)
			rc_pump_init(&pumps[i], &e[i].rmb, 0);
		engine_unlock();
		serve_loop();
	}
	waitpid(client, NULL, 0);
	kill(server, SIGKILL);
	kill(service, SIGKILL);
}

/* ---- a link by hand ---- */

static struct rc_device device;
static struct rc_link link_;

struct greeting {
	struct rc_link_name name;
	uint64_t address; /* of the ring that the peer writes to */
	uint32_t rkey;
};

static int call(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int one = 1;

	if (opt.listens) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		need(!bind(fd, (struct sockaddr *)&a, sizeof(a)) &&
			 !listen(fd, 1),
		     "listen");
		return accept(fd, NULL, NULL);
	}
	need(inet_pton(AF_INET, opt.address, &a.sin_addr) == 1, "an address");
	need(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0, "connect");
	return fd;
}

static struct greeting greet(int fd, void *ring, uint32_t *lkey,
			     const struct rmb_map *map)
{
	struct ibv_mr *in =
	    ibv_reg_mr(link_.pd, ring, RMBE,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_mr *out = ibv_reg_mr(link_.pd, map ? map->base : bytes,
					map ? map->bytes : sizeof(bytes),
					IBV_ACCESS_LOCAL_WRITE);
	struct greeting own, peer;

	need(in && out, "a region");
	*lkey = out->lkey;
	own =
	    (struct greeting){rc_link_name(&link_), (uintptr_t)ring, in->rkey};
	need(write(fd, &own, sizeof(own)) == sizeof(own) &&
		 read(fd, &peer, sizeof(peer)) == sizeof(peer),
	     "a greeting");
	need(rc_link_connect(&link_, &peer.name) == 0, "the link");
	/* Both are ready to receive behind this. */
	need(write(fd, "r", 1) == 1 && read(fd, &own, 1) == 1, "readiness");
	return peer;
}

static void open_link(void)
{
	int error = rc_device_open(&device, &opt.gid);

	if (error) {
		errno = -error;
		measure_fail("no device with this GID");
	}
	need(rc_link_open(&link_, &device, 100) == 0, "a link");
}

/* What completed. False: nothing. */
static bool reap(struct rc_pump *p)
{
	static uint8_t room[RC_LINK_BYTES];
	struct rc_done done[16];
	int n = rc_device_poll(&device, done, 16);

	need(n >= 0, "the completion queue");
	for (int i = 0; i < n; i++) {
		struct cdc_message m;
		uint64_t tag;

		need(rc_link_done(&link_, &done[i], &tag, room) == 0,
		     "the link failed");
		if (done[i].what == RC_DONE_SENT) {
			rc_pump_completed(p, (uint16_t)tag);
			continue;
		}
		need(cdc_decode(&m, room, done[i].bytes) == 0 &&
			 rc_pump_receive(p, &m) == 0,
		     "a message of the peer's");
	}
	return n > 0;
}

static bool turn(struct rc_pump *p)
{
	bool found = reap(p);
	int sent = rc_pump_send(p, 0);

	need(sent >= 0, "the program's cursors");
	return found || sent > 0;
}

/* Until the program ends, or the other service. */
static void serve_link(struct rc_pump *p, int call_fd, pid_t program)
{
	struct pollfd f[] = {{.fd = p->near.bells.data, .events = POLLIN},
			     {.fd = p->near.bells.room, .events = POLLIN},
			     {.fd = device.channel->fd, .events = POLLIN},
			     {.fd = call_fd, .events = POLLIN}};
	uint64_t idle = measure_now_ns();

	for (;;) {
		if (turn(p)) {
			idle = measure_now_ns();
			continue;
		}
		if (measure_now_ns() - idle < opt.spin_ns) {
			if (opt.yields)
				sched_yield();
			continue;
		}
		rc_pump_arm(p);
		need(rc_device_arm(&device, false) == 0, "to arm");
		if (!turn(p) && poll(f, 4, 100) >= 0) {
			drain(p);
			rc_device_heard(&device);
			if (f[3].revents || waitpid(program, NULL, WNOHANG) > 0)
				return;
		}
		rc_pump_disarm(p);
		idle = measure_now_ns();
	}
}

static void play_rc(void)
{
	static struct element e;
	struct rc_pump *p = &pumps[0];
	struct greeting peer;
	pid_t program;
	int fd;

	element_make(&e);
	fd = call();
	program = run(opt.listens ? answer : ask, &e, SIDE_CLIENT);
	open_link();
	engine_lock();
	rc_pump_init(p, &e.rmb, 0);
	engine_unlock();
	rc_stream_init(&p->stream, RMBE, RMBE, 1);
	peer = greet(fd, p->near.out.ring[0].at, &p->lkey, &e.rmb.map);
	p->link = &link_;
	p->remote = peer.address;
	p->rkey = peer.rkey;
	serve_link(p, fd, program);
	kill(program, SIGKILL);
}

/* ---- the same chains without a program and a ring ---- */

static struct greeting raw_peer;
static uint32_t raw_lkey;
static int raw_call;

static void raw_post(uint32_t size)
{
	struct rc_write w = {.pieces = 1,
			     .piece = {{bytes, size}},
			     .lkey = raw_lkey,
			     .rkey = raw_peer.rkey,
			     .remote = raw_peer.address};
	uint8_t message[CDC_BYTES] = {0};

	need(rc_link_post(&link_, &w, 1, message, sizeof(message), RAW_TAG) ==
		 0,
	     "to post");
}

static void raw_sleep(void)
{
	struct pollfd f[] = {{.fd = device.channel->fd, .events = POLLIN},
			     {.fd = raw_call, .events = POLLIN}};

	poll(f, 2, -1);
	rc_device_heard(&device);
	if (f[1].revents)
		exit(0);
}

/* Waits until `received` more have come, and so many slots are free. */
static void raw_await(unsigned received, int slots)
{
	static uint8_t room[RC_LINK_BYTES];
	uint64_t until = measure_now_ns() + opt.spin_ns;
	bool armed = false;

	while (received > 0 || __builtin_popcount(link_.free_slots) < slots) {
		struct rc_done done[16];
		uint64_t tag;
		int n = rc_device_poll(&device, done, 16);

		need(n >= 0, "the completion queue");
		for (int i = 0; i < n; i++) {
			need(rc_link_done(&link_, &done[i], &tag, room) == 0,
			     "the link failed");
			if (done[i].what == RC_DONE_RECEIVED && received > 0)
				received--;
		}
		if (n > 0) {
			armed = false;
			continue;
		}
		if (armed)
			raw_sleep();
		else if (opt.yields)
			sched_yield();
		armed = measure_now_ns() >= until;
		if (armed)
			rc_device_arm(&device, false);
	}
}

static void raw_round(void)
{
	raw_post(opt.size);
	raw_await(1, 1);
}

static void raw_send(void)
{
	raw_post(opt.size);
	raw_await(0, 1);
}

static void raw_end(void)
{
	raw_await(0, RC_LINK_SLOTS);
}

static void play_raw(void)
{
	static uint8_t ring[RMBE];

	raw_call = call();
	open_link();
	raw_peer = greet(raw_call, ring, &raw_lkey, NULL);
	if (!opt.listens) {
		measure(opt.one_way ? raw_send : raw_round,
			opt.one_way ? raw_end : NULL);
		return;
	}
	for (;;) {
		raw_await(1, 1);
		if (!opt.one_way)
			raw_post(opt.size);
	}
}

/* ---- */

static _Noreturn void usage(int status)
{
	fprintf(
	    status ? stderr : stdout,
	    "usage: hop ring|loop [-W us] [-s bytes] [-t seconds] [-y] [-b]\n"
	    "       hop rc|raw GID -l|-c address [-W us] [-s bytes] "
	    "[-t seconds] [-y] [-b]\n");
	exit(status);
}

static void read_options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "hW:s:t:yblc:")) != -1) {
		switch (o) {
		case 'W':
			opt.spin_ns = strtoull(optarg, NULL, 10) * 1000;
			break;
		case 's':
			opt.size = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 't':
			opt.seconds = strtod(optarg, NULL);
			break;
		case 'y':
			opt.yields = true;
			break;
		case 'b':
			opt.one_way = true;
			break;
		case 'l':
			opt.listens = true;
			break;
		case 'c':
			opt.address = optarg;
			break;
		default:
			usage(o == 'h' ? 0 : 2);
		}
	}
	if (opt.size == 0 || opt.size > SIZE_MAX_)
		usage(2);
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		void (*play)(void);
		bool has_link;
	} ways[] = {{"ring", play_ring, false},
		    {"loop", play_loop, false},
		    {"rc", play_rc, true},
		    {"raw", play_raw, true}};
	const char *name = argc > 1 ? argv[1] : "";

	if (strcmp(name, "-h") == 0)
		usage(0);
	real_init();
	process_init();
	need(fdtable_init() == 0, "the table of descriptors");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int skip = ways[i].has_link ? 2 : 1;

		if (strcmp(name, ways[i].name) != 0)
			continue;
		if (skip == 2 &&
		    (argc < 4 || inet_pton(AF_INET6, argv[2], &opt.gid) != 1))
			usage(2);
		read_options(argc - skip, argv + skip);
		if (skip == 2 && !opt.listens && !opt.address)
			usage(2);
		ways[i].play();
		return 0;
	}
	usage(2);
}
