/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * alternate: a port whose connections are short for a while, and then long.
 *
 * In a short phase each connection carries one request, in a long one as many
 * as fit into LONG_NS; one connection after the other. So a phase may follow
 * what the one before was like. Which way a connection took, its client learns
 * from the kernel: over TCP its answers are bytes of TCP.
 */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/line.h"

#define PHASES   3u /* of either kind */
#define LONG_NS  50000000ull
#define MESSAGE  64u
#define NS_PER_S 1e9

/* All phases of a kind. */
struct phases {
	uint64_t asked, asked_ns;
	uint64_t connections, smc;
	uint64_t followed_ns; /* until the last that was not as the rest */
};

static struct phases brief, lasting;

static void serve(struct trial *t)
{
	int listener = line_listen_fd(t);
	char m[MESSAGE], ends = 0;
	struct usage before;

	trial_ready(t);
	usage_read(&before);
	while (!ends) {
		struct line l = {.fd = line_accept_fd(t, listener),
				 .epoll_fd = -1};

		while (line_receive(&l, m, sizeof(m))) {
			ends = m[0];
			line_send(&l, m, sizeof(m));
			t->shared->server.calls++;
		}
		line_close(&l);
	}
	t->shared->server.usage = usage_since(&before);
	line_listen_end(t, listener);
}

static bool is_on_tcp(int fd, uint64_t asked)
{
	struct tcp_info i = {0};
	socklen_t n = sizeof(i);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &n) == 0 &&
	       i.tcpi_bytes_received == asked * MESSAGE;
}

/* One connection of which the first byte says whether the server ends. */
static bool transact(const struct trial *t, struct phases *p, uint64_t for_ns,
		     char ends)
{
	struct line l = {.fd = line_connect_fd(t), .epoll_fd = -1};
	uint64_t begin = measure_now_ns(), asked = 0;
	char m[MESSAGE] = {ends};
	bool tcp;

	do {
		line_send(&l, m, sizeof(m));
		if (!line_receive(&l, m, sizeof(m)))
			measure_fail("the server closed too early");
		asked++;
	} while (measure_now_ns() - begin < for_ns);
	p->asked += asked;
	tcp = is_on_tcp(l.fd, asked);
	line_close(&l);
	return tcp;
}

static void phase(const struct trial *t, struct phases *p, uint64_t for_ns,
		  bool wants_tcp)
{
	uint64_t begin = measure_now_ns(), followed = begin, now;

	do {
		bool tcp = transact(t, p, for_ns, 0);

		now = measure_now_ns();
		p->connections++;
		p->smc += !tcp;
		if (tcp != wants_tcp)
			followed = now;
	} while (now - begin < trial_length_ns(t));
	p->asked_ns += now - begin;
	p->followed_ns += followed - begin;
}

static void ask(struct trial *t)
{
	struct usage before;

	usage_read(&before);
	for (unsigned i = 0; i < PHASES; i++) {
		phase(t, &brief, 0, true);
		phase(t, &lasting, LONG_NS, false);
	}
	t->shared->client.calls = brief.asked + lasting.asked;
	t->shared->client.usage = usage_since(&before);
	transact(t, &brief, 0, 1);
}

static double per_second(const struct phases *p)
{
	return (double)p->asked * NS_PER_S / (double)p->asked_ns;
}

static double cpu_ns(const struct finding *f)
{
	return (double)(f->usage.user_ns + f->usage.system_ns) /
	       (double)(f->calls ? f->calls : 1);
}

int main(int argc, char **argv)
{
	struct trial t;

	trial_options(
	    &t, argc, argv, "TrapCSt",
	    "short connections for -t seconds, then long ones, thrice");
	trial_run(&t, serve, ask);
	if (t.role == ROLE_SERVER)
		return 0;
	printf("short_s=%.1f long_s=%.1f", per_second(&brief),
	       per_second(&lasting));
	printf(" short_smc=%.5f long_smc=%.3f",
	       (double)brief.smc / (double)brief.connections,
	       (double)lasting.smc / (double)lasting.connections);
	printf(" short_follows_ms=%.1f long_follows_ms=%.1f",
	       (double)brief.followed_ns / 1e6 / PHASES,
	       (double)lasting.followed_ns / 1e6 / PHASES);
	printf(" client_cpu_ns=%.0f server_cpu_ns=%.0f\n",
	       cpu_ns(&t.shared->client), cpu_ns(&t.shared->server));
	return 0;
}
