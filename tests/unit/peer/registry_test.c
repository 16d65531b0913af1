/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/peer/registry.h"

#include <sched.h>

#include "tests/unit/peers.h"

TestSuite(registry, .init = place_make, .fini = place_remove);

/* ---- sockets that really are connected ---- */

struct line {
	int listener;
	int client;
	int server;
	uint64_t cookie; /* of the client's socket */
	struct sockaddr_storage local, peer;
};

static int listen_on(int family, uint16_t *port)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in a4 = {.sin_family = AF_INET,
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	bool four = family == AF_INET;
	socklen_t n = four ? sizeof(a4) : sizeof(a6);
	struct sockaddr *a =
	    four ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, a, n) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, a, &n) < 0)
		return -1;
	*port = ntohs(four ? a4.sin_port : a6.sin6_port);
	return fd;
}

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t n = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n) < 0)
		return 0;
	return cookie;
}

static void connect_to(int fd, const struct sockaddr_storage *to)
{
	cr_assert_eq(connect(fd, (const struct sockaddr *)to,
			     to->ss_family == AF_INET
				 ? sizeof(struct sockaddr_in)
				 : sizeof(struct sockaddr_in6)),
		     0);
}

static struct line draw(int family)
{
	struct line l = {0};
	socklen_t n = sizeof(l.local);
	uint16_t port;

	l.listener = listen_on(family, &port);
	cr_assert_geq(l.listener, 0);
	l.client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	l.cookie = cookie_of(l.client);
	cr_assert_neq(l.cookie, 0);
	cr_assert_eq(getsockname(l.listener, (struct sockaddr *)&l.local, &n),
		     0);
	connect_to(l.client, &l.local);
	n = sizeof(l.peer);
	l.server = accept(l.listener, (struct sockaddr *)&l.peer, &n);
	cr_assert_geq(l.server, 0);
	n = sizeof(l.local);
	cr_assert_eq(getsockname(l.server, (struct sockaddr *)&l.local, &n), 0);
	return l;
}

static uint32_t claim(const struct line *l, void *proposal)
{
	return registry_claim(&l->local, &l->peer, proposal);
}

/* ---- offers ---- */

Test(registry, what_was_not_offered_is_not_claimed)
{
	struct line l = draw(AF_INET);
	uint8_t got[REGISTRY_PROPOSAL_MAX];

	cr_assert_eq(claim(&l, got), 0);
	cr_assert_gt(registry_offer(l.cookie + 1, "x", 1), 0);
	cr_assert_eq(claim(&l, got), 0);
}

static void offer_and_claim(int family)
{
	struct line l = draw(family);
	uint8_t got[REGISTRY_PROPOSAL_MAX];
	uint32_t entry = registry_offer(l.cookie, "proposal", 8);

	cr_assert_gt(entry, 0);
	cr_assert(!registry_is_claimed(entry));
	cr_assert_eq(claim(&l, got), 8);
	cr_assert_arr_eq(got, "proposal", 8);
	cr_assert(registry_is_claimed(entry));
	cr_assert(!registry_withdraw(entry));
	/* Once. */
	cr_assert_eq(claim(&l, got), 0);
	registry_done(entry);
	cr_assert(!registry_is_claimed(entry));
	cr_assert_eq(claim(&l, got), 0);
}

Test(registry, an_offer_is_claimed_by_who_accepts_the_connection)
{
	offer_and_claim(AF_INET);
	offer_and_claim(AF_INET6);
}

Test(registry, addresses_of_four_bytes_are_found_under_those_of_sixteen)
{
	struct line l = draw(AF_INET);
	struct sockaddr_in local4 = *(struct sockaddr_in *)&l.local;
	struct sockaddr_in peer4 = *(struct sockaddr_in *)&l.peer;
	struct sockaddr_in6 *local = (struct sockaddr_in6 *)&l.local;
	struct sockaddr_in6 *peer = (struct sockaddr_in6 *)&l.peer;
	uint8_t got[REGISTRY_PROPOSAL_MAX];

	/* As a listener on :: sees an IPv4 connection. */
	*local = (struct sockaddr_in6){.sin6_family = AF_INET6,
				       .sin6_port = local4.sin_port};
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &local->sin6_addr);
	*peer = *local;
	peer->sin6_port = peer4.sin_port;
	cr_assert_gt(registry_offer(l.cookie, "mapped", 6), 0);
	cr_assert_eq(claim(&l, got), 6);
}

Test(registry, a_withdrawn_offer_is_not_claimed)
{
	struct line l = draw(AF_INET);
	uint8_t got[REGISTRY_PROPOSAL_MAX];
	uint32_t entry = registry_offer(l.cookie, "x", 1);

	cr_assert(registry_withdraw(entry));
	cr_assert(!registry_withdraw(entry));
	cr_assert_eq(claim(&l, got), 0);
	/* And can be made again. */
	entry = registry_offer(l.cookie, "yz", 2);
	cr_assert_gt(entry, 0);
	cr_assert_eq(claim(&l, got), 2);
	cr_assert_arr_eq(got, "yz", 2);
}

Test(registry, offers_have_a_largest_size)
{
	struct line l = draw(AF_INET);
	uint8_t bytes[REGISTRY_PROPOSAL_MAX + 1];
	uint8_t got[REGISTRY_PROPOSAL_MAX];
	uint32_t entry;

	memset(bytes, 'p', sizeof(bytes));
	cr_assert_eq(registry_offer(l.cookie, bytes, sizeof(bytes)), 0);
	entry = registry_offer(l.cookie, bytes, REGISTRY_PROPOSAL_MAX);
	cr_assert_gt(entry, 0);
	cr_assert_eq(claim(&l, got), REGISTRY_PROPOSAL_MAX);
	cr_assert_arr_eq(got, bytes, REGISTRY_PROPOSAL_MAX);
}

Test(registry, a_full_registry_offers_nothing_until_there_is_room)
{
	static uint32_t entry[2000];
	int n = 0;

	for (;;) {
		entry[n] = registry_offer((uint64_t)n, "x", 1);
		if (entry[n] == 0)
			break;
		for (int k = n - 5 > 0 ? n - 5 : 0; k < n; k++)
			cr_assert_neq(entry[k], entry[n]);
		cr_assert_lt(++n, 2000);
	}
	cr_assert_geq(n, 512);
	cr_assert(registry_withdraw(entry[7]));
	cr_assert_eq(registry_offer(12345, "x", 1), entry[7]);
	cr_assert_eq(registry_offer(12346, "x", 1), 0);
}

static void fill_and_die(int number, void *argument)
{
	(void)number;
	(void)argument;
	process_forked();
	for (uint64_t i = 0; registry_offer(i, "dead", 4); i++)
		;
	raise(SIGKILL);
}

Test(registry, offers_of_the_dead_make_room)
{
	struct line l = draw(AF_INET);
	uint8_t got[REGISTRY_PROPOSAL_MAX];

	cr_assert_eq(children_wait(children_start(fill_and_die, 0, NULL)),
		     256 + SIGKILL);
	for (uint64_t i = 0; i < 300; i++)
		cr_assert_gt(registry_offer(100000 + i, "x", 1), 0);
	cr_assert_gt(registry_offer(l.cookie, "mine", 4), 0);
	cr_assert_eq(claim(&l, got), 4);
	cr_assert_arr_eq(got, "mine", 4);
}

/* ---- listeners ---- */

static void listen_and_wait(int number, void *argument)
{
	_Atomic int *gate = argument;

	process_forked();
	children_must(registry_listen((uint16_t)(8000 + number % 2)) == 0);
	atomic_fetch_add(gate, 1);
	pause();
}

Test(registry, a_listener_is_known_while_its_process_lives)
{
	_Atomic int *gate = children_share(sizeof(*gate));
	pid_t pid[3];

	cr_assert(!registry_has_listener(8000));
	for (int i = 0; i < 3; i++)
		pid[i] = children_start(listen_and_wait, i, gate);
	children_wait_for(gate, 3);
	cr_assert(registry_has_listener(8000));
	cr_assert(registry_has_listener(8001));
	cr_assert(!registry_has_listener(8002));
	kill(pid[1], SIGKILL);
	children_wait(pid[1]);
	cr_assert(!registry_has_listener(8001));
	kill(pid[0], SIGKILL);
	children_wait(pid[0]);
	/* Two listen on 8000; one is left. */
	cr_assert(registry_has_listener(8000));
	kill(pid[2], SIGKILL);
	children_wait(pid[2]);
	cr_assert(!registry_has_listener(8000));
}

Test(registry, a_listener_that_is_taken_back_is_gone)
{
	cr_assert_eq(registry_listen(9000), 0);
	cr_assert_eq(registry_listen(9000), 0);
	cr_assert_eq(registry_listen(9001), 0);
	registry_unlisten(9000);
	cr_assert(!registry_has_listener(9000));
	cr_assert(registry_has_listener(9001));
	registry_unlisten(9002);
	cr_assert(registry_has_listener(9001));
}

static void inherit_and_unlisten(int number, void *argument)
{
	_Atomic int *gate = argument;

	(void)number;
	children_wait_for(gate, 1);
	process_forked();
	registry_forked();
	children_must(registry_has_listener(9200));
	atomic_store(gate, 2);
	children_wait_for(gate, 3);
	registry_unlisten(9200);
	atomic_store(gate, 4);
	pause();
}

Test(registry, a_child_is_a_listener_before_it_runs)
{
	_Atomic int *gate = children_share(sizeof(*gate));
	pid_t pid;

	cr_assert_eq(registry_listen(9200), 0);
	registry_before_fork();
	pid = children_start(inherit_and_unlisten, 0, gate);
	registry_unlisten(9200);
	cr_assert(registry_has_listener(9200));
	atomic_store(gate, 1);
	children_wait_for(gate, 2);
	cr_assert(registry_has_listener(9200));
	atomic_store(gate, 3);
	children_wait_for(gate, 4);
	cr_assert(!registry_has_listener(9200));
	kill(pid, SIGKILL);
	children_wait(pid);
}

Test(registry, a_fork_that_failed_leaves_no_listener)
{
	cr_assert_eq(registry_listen(9300), 0);
	registry_before_fork();
	registry_fork_failed();
	cr_assert(registry_has_listener(9300));
	registry_unlisten(9300);
	cr_assert(!registry_has_listener(9300));
}

Test(registry, a_process_that_executes_another_program_takes_all_back)
{
	cr_assert_eq(registry_listen(9400), 0);
	cr_assert_eq(registry_listen(9401), 0);
	registry_unlisten_all();
	cr_assert(!registry_has_listener(9400));
	cr_assert(!registry_has_listener(9401));
}

Test(registry, listeners_beyond_its_size_are_refused)
{
	int n = 0;

	while (registry_listen((uint16_t)(1000 + n)) == 0)
		cr_assert_lt(++n, 5000);
	cr_assert_geq(n, 64);
	cr_assert(!registry_has_listener((uint16_t)(1000 + n)));
	registry_unlisten(1003);
	cr_assert_eq(registry_listen((uint16_t)(1000 + n)), 0);
	cr_assert(registry_has_listener((uint16_t)(1000 + n)));
}

Test(registry, listeners_are_of_one_network_namespace)
{
	_Atomic int *gate = children_share(sizeof(*gate));
	pid_t pid = fork();
	int end;

	if (pid == 0) {
		alarm(CHILDREN_SECONDS);
		if (unshare(CLONE_NEWNET) < 0)
			_exit(77);
		process_forked();
		children_must(registry_listen(9101) == 0);
		atomic_store(gate, 1);
		children_wait_for(gate, 2);
		children_must(!registry_has_listener(9100));
		_exit(0);
	}
	while (atomic_load(gate) == 0 && waitpid(pid, &end, WNOHANG) == 0)
		sched_yield();
	if (atomic_load(gate) == 0)
		cr_skip_test("needs root");
	cr_assert_eq(registry_listen(9100), 0);
	cr_assert(!registry_has_listener(9101));
	atomic_store(gate, 2);
	cr_assert_eq(children_wait(pid), 0);
}

/* ---- the file ---- */

static void assert_no_registry(void)
{
	cr_assert_eq(registry_offer(1, "x", 1), 0);
	cr_assert_lt(registry_listen(80), 0);
	cr_assert(!registry_has_listener(80));
	registry_unlisten(80);
}

#define FILE_NAME PLACE_STATUS "/registry"

Test(registry, a_link_is_refused)
{
	char target[PLACE_PATH];

	snprintf(target, sizeof(target), "%s", place_path("elsewhere"));
	cr_assert_eq(symlink(target, place_path(FILE_NAME)), 0);
	assert_no_registry();
	cr_assert_eq(access(target, F_OK), -1);
}

Test(registry, a_file_that_is_something_else_is_refused)
{
	static char bytes[4096];

	memset(bytes, 'x', sizeof(bytes));
	place_write(FILE_NAME, bytes, sizeof(bytes));
	cr_assert_eq(chmod(place_path(FILE_NAME), 0600), 0);
	assert_no_registry();
}

Test(registry, without_a_run_directory_there_is_none)
{
	place_remove();
	assert_no_registry();
	place_make();
}
