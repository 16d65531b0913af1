/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * registry_race: many processes that offer, claim and withdraw at once. A
 * client that withdraws goes on as plain TCP and a server that claims speaks
 * CLC, so of one offer never both may succeed, and never neither.
 */
#include <netinet/in.h>
#include <sched.h>

#include "tests/unit/peers.h"

TestSuite(registry_race, .init = place_make, .fini = place_remove);

#define CLIENTS 4
#define SERVERS 3
#define ROUNDS  150

struct words {
	uint64_t cookie;
	uint32_t port; /* the client's own */
	uint32_t round;
};

struct hall {
	int listener;
	struct sockaddr_in address;
	_Atomic int gate;
	_Atomic int withdrawn, claimed;
};

/* ---- servers: 'Y' for a claim, 'N' for none ---- */

static char answer(int fd)
{
	struct sockaddr_storage local = {0};
	struct sockaddr_storage peer = {0};
	uint8_t bytes[REGISTRY_PROPOSAL_MAX];
	socklen_t n = sizeof(local);
	struct words w;

	children_must(getsockname(fd, (struct sockaddr *)&local, &n) == 0);
	n = sizeof(peer);
	if (getpeername(fd, (struct sockaddr *)&peer, &n) < 0)
		return 'N';
	if (registry_claim(&local, &peer, bytes) == 0)
		return 'N';
	memcpy(&w, bytes, sizeof(w));
	/* Not another client's offer. */
	children_must(w.port == ntohs(((struct sockaddr_in *)&peer)->sin_port));
	return 'Y';
}

static void serve(int number, void *argument)
{
	struct hall *h = argument;

	(void)number;
	process_forked();
	for (;;) {
		int fd = accept(h->listener, NULL, NULL);
		char word;

		children_must(fd >= 0);
		word = answer(fd);
		children_must(send(fd, &word, 1, MSG_NOSIGNAL) == 1);
		close(fd);
	}
}

/* ---- clients ---- */

static int bound_socket(struct words *w)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	children_must(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0);
	children_must(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	w->port = ntohs(a.sin_port);
	n = sizeof(w->cookie);
	children_must(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &w->cookie, &n) ==
		      0);
	return fd;
}

static void wait_a_little(uint64_t *random)
{
	unsigned n = children_random(random) % 4;

	for (unsigned i = 0; i < n; i++)
		sched_yield();
	for (unsigned i = children_random(random) % 20000; n > 0 && i > 0; i--)
		__asm__ volatile("" ::: "memory");
}

static void one_round(struct hall *h, uint64_t *random, uint32_t round)
{
	struct words w = {.round = round};
	int fd = bound_socket(&w);
	uint32_t entry = registry_offer(w.cookie, &w, sizeof(w));
	bool withdrawn;
	char word = 0;

	children_must(entry > 0);
	children_must(connect(fd, (struct sockaddr *)&h->address,
			      sizeof(h->address)) == 0);
	wait_a_little(random);
	withdrawn = registry_withdraw(entry);
	children_must(recv(fd, &word, 1, 0) == 1);
	children_must(word == (withdrawn ? 'N' : 'Y'));
	if (!withdrawn) {
		children_must(registry_is_claimed(entry));
		registry_done(entry);
	}
	atomic_fetch_add(withdrawn ? &h->withdrawn : &h->claimed, 1);
	close(fd);
}

static void offer_often(int number, void *argument)
{
	struct hall *h = argument;
	uint64_t random = 1000u + (uint64_t)number;

	process_forked();
	children_meet(&h->gate, CLIENTS);
	for (uint32_t i = 0; i < ROUNDS; i++)
		one_round(h, &random, i);
}

static void open_hall(struct hall *h)
{
	socklen_t n = sizeof(h->address);

	h->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	h->address.sin_family = AF_INET;
	h->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(h->listener, (struct sockaddr *)&h->address, n), 0);
	cr_assert_eq(listen(h->listener, 128), 0);
	cr_assert_eq(
	    getsockname(h->listener, (struct sockaddr *)&h->address, &n), 0);
}

Test(registry_race, a_claim_and_a_withdrawal_never_both_succeed)
{
	struct hall *h = children_share(sizeof(*h));
	pid_t server[SERVERS];

	open_hall(h);
	for (int i = 0; i < SERVERS; i++)
		server[i] = children_start(serve, i, h);
	children_run(CLIENTS, offer_often, h);
	for (int i = 0; i < SERVERS; i++) {
		kill(server[i], SIGKILL);
		cr_assert_eq(children_wait(server[i]), 256 + SIGKILL);
	}
	cr_assert_eq(atomic_load(&h->withdrawn) + atomic_load(&h->claimed),
		     CLIENTS * ROUNDS);
	/* With none of either this test shows nothing. */
	cr_assert_gt(atomic_load(&h->withdrawn), 0);
	cr_assert_gt(atomic_load(&h->claimed), 0);
}

/* ---- offerers that come and go ---- */

#define PARENTS  4
#define CHILDREN 80

/* All want the same entries; nobody claims, so each gets its own back. */
static void offer_and_go(int number, void *argument)
{
	uint32_t entry[3];

	(void)argument;
	process_forked();
	for (int i = 0; i < 3; i++)
		entry[i] = registry_offer(5, "abc", 3);
	for (int i = 0; i < 3; i++) {
		children_must(entry[i] > 0);
		children_must(!registry_is_claimed(entry[i]));
	}
	if (number % 5 == 0)
		raise(SIGKILL);
	for (int i = 0; i < 3; i++)
		children_must(registry_withdraw(entry[i]));
}

static void have_children(int number, void *argument)
{
	_Atomic int *gate = argument;

	(void)number;
	process_forked();
	children_meet(gate, PARENTS);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			offer_and_go(i, NULL);
			_exit(0);
		}
		children_must(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (WIFSIGNALED(status))
			children_must(WTERMSIG(status) == SIGKILL);
		else
			children_must(WEXITSTATUS(status) == 0);
	}
}

Test(registry_race, entries_of_the_dead_are_never_given_to_two)
{
	_Atomic int *gate = children_share(sizeof(*gate));

	children_run(PARENTS, have_children, gate);
}

/* ---- one place, two offers in turn ---- */

#define CLAIMS  60
#define SECONDS 3

struct turn {
	uint64_t cookie;
	struct sockaddr_storage local, peer;
	_Atomic int over;
	_Atomic int lost; /* offers that somebody claimed */
};

/* 0 offers the cookie that is asked for; 1 another one, which fits into the
 * same entry and which nobody asks for. */
static void flip(int number, void *argument)
{
	struct turn *t = argument;
	uint64_t cookie = t->cookie + (number ? 1024 : 0);

	process_forked();
	while (!atomic_load(&t->over)) {
		uint32_t entry = registry_offer(cookie, &cookie, 8);

		children_must(entry > 0);
		if (registry_withdraw(entry))
			continue;
		children_must(number == 0);
		children_must(registry_is_claimed(entry));
		registry_done(entry);
		atomic_fetch_add(&t->lost, 1);
	}
}

static void connect_hall(struct turn *t)
{
	struct hall h = {0};
	struct words w;
	socklen_t n = sizeof(t->local);
	int fd;

	open_hall(&h);
	fd = bound_socket(&w);
	cr_assert_eq(
	    connect(fd, (struct sockaddr *)&h.address, sizeof(h.address)), 0);
	fd = accept(h.listener, (struct sockaddr *)&t->peer, &n);
	cr_assert_geq(fd, 0);
	n = sizeof(t->local);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&t->local, &n), 0);
	t->cookie = w.cookie;
}

Test(registry_race, a_claim_is_of_the_offer_that_was_asked_for)
{
	struct turn *t = children_share(sizeof(*t));
	pid_t pid[2];
	time_t end = time(NULL) + SECONDS;
	int got = 0;

	connect_hall(t);
	pid[0] = children_start(flip, 0, t);
	pid[1] = children_start(flip, 1, t);
	/* Most claims find nothing; enough of them is enough. */
	while (got < CLAIMS && time(NULL) < end) {
		uint8_t bytes[REGISTRY_PROPOSAL_MAX];
		uint32_t n = registry_claim(&t->local, &t->peer, bytes);

		if (n == 0)
			continue;
		got++;
		cr_assert_eq(n, 8);
		cr_assert_eq(memcmp(bytes, &t->cookie, 8), 0);
	}
	atomic_store(&t->over, 1);
	cr_assert_eq(children_wait(pid[0]), 0);
	cr_assert_eq(children_wait(pid[1]), 0);
	cr_assert_eq(atomic_load(&t->lost), got);
}

/* ---- ports ---- */

static void listen_often(int number, void *argument)
{
	_Atomic int *gate = argument;
	uint16_t port = (uint16_t)(7000 + number);

	process_forked();
	children_meet(gate, 8);
	for (int i = 0; i < 300; i++) {
		children_must(registry_listen(port) == 0);
		children_must(registry_has_listener(port));
		registry_unlisten(port);
		children_must(!registry_has_listener(port));
	}
}

Test(registry_race, listeners_disturb_each_other_not)
{
	_Atomic int *gate = children_share(sizeof(*gate));

	children_run(8, listen_often, gate);
}
