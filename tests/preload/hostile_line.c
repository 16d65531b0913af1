/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* hostile_line: TCP and rings, as a peer that keeps the rules uses them. */
#include "hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "smc_r/memory/bell.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/status/segment.h"

#define PATIENCE_MS 10000

_Noreturn void line_end(int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	identity_close();
	segment_close();
	_exit(status);
}

void line_init(void)
{
	real_init();
	process_init();
	if (fdtable_init() < 0)
		line_end(EXIT_CANNOT, "no table");
	offer_init(rundir_path());
}

void line_sleep(int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000l};

	nanosleep(&t, NULL);
}

uint32_t line_random(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/* ---- TCP ---- */

static struct sockaddr_in address(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static void offer_by_registry(struct line *l)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n = line_proposal(l, bytes);
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	getsockopt(l->fd, SOL_SOCKET, SO_COOKIE, &cookie, &size);
	if (n > 0 && n <= REGISTRY_PROPOSAL_MAX)
		l->entry = registry_offer(cookie, bytes, (uint32_t)n);
	if (!l->entry)
		line_end(EXIT_CANNOT, "neither option nor registry");
}

static void await_claim(struct line *l)
{
	for (int i = 0; i < PATIENCE_MS; i++) {
		if (registry_is_claimed(l->entry))
			return;
		line_sleep(1);
	}
	line_end(EXIT_CANNOT, "the offer was not claimed");
}

void line_connect(struct line *l, uint16_t port, int receive_bytes)
{
	struct sockaddr_in a = address(port);

	if (identity_get(l->own_id) < 0)
		line_end(EXIT_CANNOT, "no peer ID");
	l->side = SIDE_CLIENT;
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (receive_bytes)
		setsockopt(l->fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes,
			   sizeof(receive_bytes));
	l->registry = offer_mark(l->fd) != 0;
	if (l->registry)
		offer_by_registry(l);
	if (connect(l->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		line_end(EXIT_WRONG, "connect: %s", strerror(errno));
	if (l->registry)
		await_claim(l);
	else if (!(offer_state(l->fd) & OFFER_AGREED))
		line_end(EXIT_CANNOT, "the victim did not offer SMC");
}

void line_accept(struct line *l, uint16_t port)
{
	struct sockaddr_in a = address(port);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (identity_get(l->own_id) < 0)
		line_end(EXIT_CANNOT, "no peer ID");
	l->server = true;
	l->side = SIDE_SERVER;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0)
		line_end(EXIT_CANNOT, "bind: %s", strerror(errno));
	l->registry = offer_mark(listener) != 0;
	if (l->registry && registry_listen(port) < 0)
		line_end(EXIT_CANNOT, "neither option nor registry");
	if (listen(listener, 8) < 0)
		line_end(EXIT_CANNOT, "listen: %s", strerror(errno));
	l->fd = accept(listener, NULL, NULL);
	if (l->fd < 0)
		line_end(EXIT_CANNOT, "accept: %s", strerror(errno));
	if (!l->registry && !(offer_state(l->fd) & OFFER_AGREED))
		line_end(EXIT_CANNOT, "the victim did not offer SMC");
}

void line_send(struct line *l, const void *bytes, size_t n)
{
	if (send(l->fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
		line_end(0, "the victim is gone: %s", strerror(errno));
}

void line_send_slowly(struct line *l, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	int one = 1;

	setsockopt(l->fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof(one));
	for (size_t i = 0; i < n; i++) {
		line_send(l, at + i, 1);
		line_sleep(1);
	}
}

long line_read(struct line *l, void *bytes, size_t n, int ms)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};

	if (poll(&p, 1, ms) != 1)
		return -1;
	return recv(l->fd, bytes, n, 0);
}

void line_must_end(struct line *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLIN};
	char bytes[4096];

	for (;;) {
		if (poll(&p, 1, PATIENCE_MS) != 1)
			line_end(EXIT_WRONG, "the victim keeps the connection");
		if (recv(l->fd, bytes, sizeof(bytes), 0) <= 0)
			return;
	}
}

void line_reset(struct line *l)
{
	const struct linger now = {1, 0};

	setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(l->fd);
}

static void read_words(struct line *l, char *bytes, size_t n)
{
	size_t have = 0;

	while (have < n) {
		long k = line_read(l, bytes + have, n - have, PATIENCE_MS);

		if (k <= 0)
			line_end(EXIT_WRONG, "no TCP data from the victim");
		have += (size_t)k;
	}
}

void line_tcp_echo(struct line *l)
{
	char words[] = "there and back";
	char got[sizeof(words)];

	if (!l->server)
		line_send(l, words, sizeof(words));
	read_words(l, got, sizeof(got));
	must(memcmp(got, words, sizeof(words)) == 0);
	if (l->server)
		line_send(l, words, sizeof(words));
}

/* ---- rings ---- */

void line_ring_bells(struct line *l)
{
	bell_ring(l->rmb->bells[l->element].peer_data);
	bell_ring(l->rmb->bells[l->element].peer_room);
}

void line_put(struct line *l, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	for (size_t i = 0; i < n; i++) {
		while (l->written -
			   atomic_load(&l->e->side[!l->side].consumer.cursor) >=
		       l->size)
			line_sleep(1);
		l->out[l->written++ & (l->size - 1)] = from[i];
		if (i % 4096 == 4095 || i + 1 == n) {
			atomic_store(&l->e->side[l->side].producer.cursor,
				     l->written);
			line_ring_bells(l);
		}
	}
}

void line_get(struct line *l, void *bytes, size_t n)
{
	const struct rmb_producer *in = &l->e->side[!l->side].producer;
	uint8_t *to = bytes;
	int waited = 0;

	for (size_t i = 0; i < n; i++) {
		while (atomic_load(&in->cursor) == l->read) {
			if (waited++ > PATIENCE_MS)
				line_end(EXIT_WRONG, "%zu bytes are missing",
					 n - i);
			line_sleep(1);
		}
		to[i] = l->in[(l->read++ - in->shift) & (l->size - 1)];
	}
	atomic_store(&l->e->side[l->side].consumer.cursor, l->read);
	line_ring_bells(l);
}

void line_ring_echo(struct line *l)
{
	char words[] = "there and back";
	char got[sizeof(words)];

	if (!l->server)
		line_put(l, words, sizeof(words));
	line_get(l, got, sizeof(got));
	must(memcmp(got, words, sizeof(words)) == 0);
	if (l->server)
		line_put(l, words, sizeof(words));
}
