/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/memory/bell.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "tests/unit/children.h"
#include "tests/unit/place.h"

/* Both sides of an element; and most tests need but one of its bells. */
static struct bells server, client;
static int bell, ringer;

/* As it comes out of a message. */
static void hide(struct bells *b)
{
	unsigned count = bells_are_one(b) ? BELLS_ONE : BELLS_APART;
	int fds[BELLS_COUNT_MAX];

	bells_to_fds(b, fds, count);
	for (unsigned i = 0; i < count; i++)
		fds[i] = private_fd(fds[i]);
	*b = bells_of_fds(fds, count);
}

static void make(unsigned count)
{
	cr_assert_eq(bells_make(&server, &client, count), 0);
	hide(&client);
	cr_assert_eq(bells_adopt(&client), 0);
	bell = server.data;
	ringer = client.peer_data;
}

static void setup(void)
{
	real_init();
	process_init();
	cr_assert_eq(fdtable_init(), 0);
	make(BELLS_APART);
	alarm(20);
}

TestSuite(bell, .init = setup);

static const struct timespec now = {0, 0};
static const struct timespec soon = {0, 20000000};
static const struct timespec late = {15, 0};

static void must_be_ready(const struct bells *b)
{
	const int fds[] = {b->data, b->room, b->peer_data, b->peer_room};

	for (int i = 0; i < BELLS_COUNT_MAX; i++) {
		cr_assert_not_null(fdtable_kind(fds[i], FDENTRY_PRIVATE));
		cr_assert(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		/* Sleepers block, ringers do not, whatever the peer sets. */
		cr_assert_eq(fcntl(fds[i], F_GETFL) & (O_ACCMODE | O_NONBLOCK),
			     i < 2 ? O_RDONLY : O_RDWR | O_NONBLOCK);
	}
}

Test(bell, both_sides_are_hidden_and_none_passes_an_exec)
{
	must_be_ready(&server);
	must_be_ready(&client);
}

static void must_wake(int ring, int sleeper)
{
	const int all[] = {server.data, server.room, client.data, client.room};

	bell_ring(ring);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		cr_assert_eq(bell_rings(all[i]), all[i] == sleeper);
	cr_assert_eq(bell_wait(sleeper, NULL), BELL_RUNG);
}

Test(bell, each_wakes_the_one_it_is_for)
{
	must_wake(client.peer_data, server.data);
	must_wake(client.peer_room, server.room);
	must_wake(server.peer_data, client.data);
	must_wake(server.peer_room, client.room);
}

Test(bell, one_may_be_for_both)
{
	bells_close(&client);
	bells_close(&server);
	make(BELLS_ONE);
	must_be_ready(&server);
	must_be_ready(&client);
	cr_assert(bells_are_one(&server));
	cr_assert(bells_are_one(&client));
	bell_ring(client.peer_data);
	bell_ring(client.peer_room);
	cr_assert_eq(bell_rings(client.room), 0);
	cr_assert_eq(bell_rings(server.room), 2);
	cr_assert_eq(bell_wait(server.room, NULL), BELL_RUNG);
	bell_ring(server.peer_room);
	cr_assert_eq(bell_wait(client.data, NULL), BELL_RUNG);
	bells_close(&client);
	cr_assert_eq(bell_wait(server.data, NULL), BELL_HUNG_UP);
}

Test(bell, an_end_has_as_many_descriptors_as_are_said)
{
	const unsigned counts[] = {BELLS_APART, BELLS_ONE};
	int before;

	bells_close(&client);
	bells_close(&server);
	before = place_descriptors();
	for (int i = 0; i < 2; i++) {
		make(counts[i]);
		cr_assert_eq(place_descriptors(), before + 2 * (int)counts[i]);
		bells_close(&client);
		bells_close(&server);
		cr_assert_eq(place_descriptors(), before);
	}
}

Test(bell, a_ring_before_the_sleep_ends_it_at_once)
{
	bell_ring(ringer);
	cr_assert_eq(bell_wait(bell, NULL), BELL_RUNG);
	bell_ring(ringer);
	cr_assert_eq(bell_wait(bell, &late), BELL_RUNG);
	/* It was taken. */
	cr_assert_eq(bell_wait(bell, &now), BELL_TIMEOUT);
}

Test(bell, without_a_ring_the_time_passes)
{
	cr_assert_eq(bell_wait(bell, &now), BELL_TIMEOUT);
	cr_assert_eq(bell_wait(bell, &soon), BELL_TIMEOUT);
}

static void ring_from_child(int number, void *argument)
{
	(void)number;
	(void)argument;
	nanosleep(&soon, NULL);
	bell_ring(ringer);
}

Test(bell, a_sleeper_is_woken_from_another_process)
{
	pid_t pid = children_start(ring_from_child, 0, NULL);

	cr_assert_eq(bell_wait(bell, NULL), BELL_RUNG);
	cr_assert_eq(children_wait(pid), 0);
	pid = children_start(ring_from_child, 0, NULL);
	cr_assert_eq(bell_wait(bell, &late), BELL_RUNG);
	cr_assert_eq(children_wait(pid), 0);
}

Test(bell, many_rings_never_hold_up_the_ringer)
{
	for (int i = 0; i < 20000; i++)
		bell_ring(ringer);
	cr_assert_eq(bell_wait(bell, NULL), BELL_RUNG);
	cr_assert_not(bell_drain(bell));
	cr_assert_eq(bell_wait(bell, &now), BELL_TIMEOUT);
	/* And it works on. */
	bell_ring(ringer);
	cr_assert_eq(bell_wait(bell, &now), BELL_RUNG);
}

Test(bell, draining_takes_all_and_waits_for_nothing)
{
	const int rings[] = {0, 1, 127, 128, 129, 256};
	size_t i;

	for (i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		for (int k = 0; k < rings[i]; k++)
			bell_ring(ringer);
		cr_assert_not(bell_drain(bell), "%d rings", rings[i]);
		cr_assert_eq(bell_wait(bell, &now), BELL_TIMEOUT);
	}
}

/* A peer that rings faster than we take would keep us for ever. */
Test(bell, a_bell_that_the_peer_made_larger_is_not_emptied_in_one_go)
{
	static const char rings[65536];
	int before;

	cr_assert_gt(fcntl(ringer, F_SETPIPE_SZ, sizeof(rings)), 0);
	cr_assert_eq(write(ringer, rings, sizeof(rings)), sizeof(rings));
	cr_assert_not(bell_drain(bell));
	before = bell_rings(bell);
	cr_assert_gt(before, 0);
	cr_assert_not(bell_drain(bell));
	cr_assert_lt(bell_rings(bell), before);
	cr_assert_eq(bell_wait(bell, &now), BELL_RUNG);
}

Test(bell, a_peer_that_is_gone_is_told_and_harms_nobody)
{
	bells_close(&client);
	cr_assert_eq(bell_wait(bell, NULL), BELL_HUNG_UP);
	cr_assert_eq(bell_wait(bell, &late), BELL_HUNG_UP);
	cr_assert(bell_drain(bell));
	cr_assert(bell_drain(server.room));
	/* No SIGPIPE. */
	bell_ring(server.peer_data);
	bell_ring(server.peer_room);
}

Test(bell, what_was_rung_before_the_end_is_heard_before_it)
{
	bell_ring(ringer);
	bells_close(&client);
	cr_assert_eq(bell_wait(bell, NULL), BELL_RUNG);
	cr_assert_eq(bell_wait(bell, NULL), BELL_HUNG_UP);
}

static void *wait_for_ever(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)bell_wait(bell, NULL);
}

Test(bell, our_own_sleeper_can_be_woken_and_the_end_still_comes)
{
	pthread_t thread;
	void *result;

	cr_assert_eq(pthread_create(&thread, NULL, wait_for_ever, NULL), 0);
	nanosleep(&soon, NULL);
	bell_ring_own(bell);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq((intptr_t)result, BELL_RUNG);
	cr_assert_eq(bell_wait(bell, &now), BELL_TIMEOUT);
	bells_close(&client);
	cr_assert_eq(bell_wait(bell, NULL), BELL_HUNG_UP);
}

/* ---- a peer that means harm ---- */

Test(bell, one_that_the_peer_made_not_to_block_is_no_bell_any_more)
{
	cr_assert_eq(fcntl(bell, F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(bell_wait(bell, NULL), BELL_HUNG_UP);
}

/* Taking rings from a writing end would be a write to it, and SIGPIPE. */
Test(bell, only_a_reading_end_is_slept_on)
{
	struct bells mine, theirs, wrong;

	cr_assert_eq(bells_make(&mine, &theirs, BELLS_APART), 0);
	hide(&theirs);
	wrong = theirs;
	wrong.data = theirs.peer_data;
	bells_close(&mine);
	cr_assert_eq(bells_adopt(&wrong), -EPROTO);
	wrong.data = wrong.peer_data;
	cr_assert_eq(bells_adopt(&wrong), -EPROTO);
	wrong.data = theirs.data;
	wrong.room = wrong.peer_room;
	cr_assert_eq(bells_adopt(&wrong), -EPROTO);
}

static void refuse(int other, unsigned place, unsigned count)
{
	struct bells mine, theirs;
	int fds[BELLS_COUNT_MAX];

	cr_assert_eq(bells_make(&mine, &theirs, count), 0);
	bells_to_fds(&theirs, fds, count);
	cr_assert_eq(dup2(other, fds[place]), fds[place]);
	hide(&theirs);
	cr_assert_eq(bells_adopt(&theirs), -EPROTO);
	bells_close(&theirs);
	bells_close(&mine);
}

Test(bell, only_pipes_are_taken_from_a_peer)
{
	const int others[] = {memfd_create("bell", MFD_CLOEXEC),
			      open("/dev/null", O_RDWR | O_CLOEXEC),
			      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
			      open("/proc/self/stat", O_RDONLY | O_CLOEXEC)};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		for (unsigned place = 0; place < BELLS_COUNT_MAX; place++) {
			refuse(others[i], place, BELLS_APART);
			if (place < BELLS_ONE)
				refuse(others[i], place, BELLS_ONE);
		}
}

static void sleep_and_die(int number, void *argument)
{
	(void)number;
	(void)argument;
	bells_close(&server);
	nanosleep(&soon, NULL);
	raise(SIGKILL);
}

Test(bell, the_death_of_the_peer_wakes_a_sleeper)
{
	pid_t pid = children_start(sleep_and_die, 0, NULL);

	bells_close(&client);
	cr_assert_eq(bell_wait(bell, NULL), BELL_HUNG_UP);
	cr_assert_eq(children_wait(pid), 256 + SIGKILL);
}

Test(bell, ringing_what_there_is_not_does_nothing)
{
	int gone = dup(ringer);

	close(gone);
	bell_ring(-1);
	bell_ring(gone);
	cr_assert_not(bell_drain(-1));
}

/* ---- signals ---- */

/* TSan hands a signal on only when the program enters a function that it
 * knows, which a sleep entered past it is not. */
#if !CHILDREN_TSAN

static void ignore(int number)
{
	(void)number;
}

static void ring_on_signal(int number)
{
	(void)number;
	bell_ring(ringer);
}

/* Again and again: the first one may come before the sleep. */
static void alarm_every(long us, void (*handler)(int), int flags)
{
	const struct itimerval t = {{0, us}, {0, us}};
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	alarm(0);
	cr_assert_eq(sigaction(SIGALRM, &a, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &t, NULL), 0);
}

Test(bell, a_signal_without_restart_ends_the_sleep)
{
	alarm_every(20000, ignore, 0);
	cr_assert_eq(bell_wait(bell, NULL), -EINTR);
	alarm_every(20000, ignore, 0);
	cr_assert_eq(bell_wait(bell, &late), -EINTR);
}

/* Were it not restarted the result would be -EINTR. */
Test(bell, a_signal_with_restart_does_not_end_the_sleep)
{
	alarm_every(20000, ring_on_signal, SA_RESTART);
	cr_assert_eq(bell_wait(bell, NULL), BELL_RUNG);
}

/* A read with a time-out is not restarted: signal(7). */
Test(bell, a_sleep_with_a_time_is_never_restarted)
{
	alarm_every(20000, ignore, SA_RESTART);
	cr_assert_eq(bell_wait(bell, &late), -EINTR);
}

#endif

/* ---- cancellation ---- */

/* Neither of them knows that a cancelled thread's frames are gone. */
#if !CHILDREN_ASAN && !CHILDREN_TSAN

static void *sleep_for_ever(void *timeout)
{
	bell_wait(bell, timeout);
	return NULL;
}

static void cancel_sleep(const struct timespec *timeout)
{
	pthread_t thread;
	void *result;

	cr_assert_eq(pthread_create(&thread, NULL, sleep_for_ever,
				    (void *)(uintptr_t)timeout),
		     0);
	nanosleep(&soon, NULL);
	cr_assert_eq(pthread_cancel(thread), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
}

Test(bell, a_sleeper_can_be_cancelled)
{
	cancel_sleep(NULL);
	cancel_sleep(&late);
}

#endif

static int room_in(int fd)
{
	return (int)write(fd, "", 1);
}

static void be_lent(unsigned count)
{
	make(count);
	cr_assert_eq(room_in(server.peer_data), 1);
	cr_assert_eq(bells_lend(&server), 0);
	cr_assert_lt(room_in(server.peer_data), 0);
	cr_assert_lt(room_in(server.peer_room), 0);
	cr_assert_eq(bells_take_back(&server), 0);
	must_be_ready(&server);
	cr_assert_eq(room_in(server.peer_data), 1);
	cr_assert_eq(room_in(server.peer_room), 1);
}

/* Hidden numbers lie above a soft limit that leaves room for them: on most
 * hosts, but where a shell of root has raised it to the hard one. */
Test(bell, they_are_lent_whatever_the_soft_limit_is)
{
	struct rlimit l;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = l.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
	be_lent(BELLS_APART);
	l.rlim_cur = l.rlim_max < 256 ? l.rlim_max / 2 : 128;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
	be_lent(BELLS_APART);
	cr_assert_geq(server.peer_data, (int)l.rlim_cur);
	be_lent(BELLS_ONE);
	/* Nothing is left raised. */
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &l), 0);
	cr_assert_lt(l.rlim_cur, l.rlim_max);
}

static int open_below(int limit)
{
	int n = 0;

	for (int fd = 0; fd < limit; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

Test(bell, without_descriptors_there_is_none_and_nothing_is_lost)
{
	/* Room for a part of them, and at last for none. */
	for (int room = 6; room >= 0; room -= 3) {
		int limit = dup(1) + room;
		const struct rlimit l = {(rlim_t)limit, (rlim_t)limit};
		struct bells a, b;
		int before;

		close(limit - room);
		before = open_below(limit);
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
		cr_assert_eq(bells_make(&a, &b, BELLS_APART), -EMFILE);
		cr_assert_eq(open_below(limit), before);
		if (room < 4) {
			cr_assert_eq(bells_make(&a, &b, BELLS_ONE), -EMFILE);
			cr_assert_eq(open_below(limit), before);
		}
	}
}
