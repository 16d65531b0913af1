/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bell: how one process wakes another that sleeps in the kernel. */
#include "smc_r/memory/bell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "smc_r/memory/rmb.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/stoppable.h"
#include "smc_r/os/sys.h"

#define DRAIN_BYTES 128
#define PIPE_BYTES  4096 /* one page: users have a limit of pages in pipes */
/* This is a pipe's worth, and what comes meanwhile: a peer that makes it a
 * larger one, and rings for ever, is to keep nobody here. */
#define DRAINS_MAX  (2 * PIPE_BYTES / DRAIN_BYTES)

/* A read that does not block of a descriptor that does: 0 at its end. */
static long take(int bell, char *bytes, size_t n)
{
	struct iovec v = {bytes, n};

	return SYS_CALL4(SYS_vmsplice, bell, &v, 1, SPLICE_F_NONBLOCK);
}

/* Where the kernel refuses it, rings would pile up. */
static int try_taking(int bell)
{
	char byte;
	long n = take(bell, &byte, 1);

	return n < 0 && n != -EAGAIN ? (int)n : 0;
}

/* ---- making them ---- */

void bells_to_fds(const struct bells *b, int *fds, unsigned count)
{
	fds[0] = b->data;
	fds[1] = b->peer_data;
	if (count == BELLS_APART) {
		fds[2] = b->room;
		fds[3] = b->peer_room;
	}
}

struct bells bells_of_fds(const int *fds, unsigned count)
{
	unsigned room = count == BELLS_APART ? 2 : 0;

	return (struct bells){.data = fds[0],
			      .peer_data = fds[1],
			      .room = fds[room],
			      .peer_room = fds[room + 1]};
}

static unsigned count_of(const struct bells *b)
{
	return bells_are_one(b) ? BELLS_ONE : BELLS_APART;
}

/* Takes those that there are. */
static unsigned take_each(struct bells *b, int *fds)
{
	unsigned count = count_of(b), n = 0;
	int all[BELLS_COUNT_MAX];

	bells_to_fds(b, all, count);
	for (unsigned i = 0; i < count; i++)
		if (all[i] >= 0)
			fds[n++] = all[i];
	*b = BELLS_NONE;
	return n;
}

void bells_close_all(struct bells *b, unsigned elements, uint32_t which)
{
	int fds[BELLS_COUNT_MAX * RMB_ELEMENTS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < elements; i++)
		if (which >> i & 1)
			n += take_each(&b[i], fds + n);
	private_fd_close_all(fds, n);
}

void bells_close(struct bells *b)
{
	bells_close_all(b, 1, 1);
}

static void close_ordinary(struct bells *b)
{
	int fds[BELLS_COUNT_MAX];
	unsigned n = take_each(b, fds);

	for (unsigned i = 0; i < n; i++)
		sys_close(fds[i]);
}

/* The peer, or we after a change of user, could not open it otherwise; a
 * process without a descriptor of it cannot at all. */
static int make_pipe(int ends[2])
{
	long result = SYS_CALL3(SYS_pipe2, ends, O_CLOEXEC, 0);

	if (result < 0)
		return (int)result;
	SYS_CALL3(SYS_fcntl, ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	SYS_CALL3(SYS_fchmod, ends[0], 0666, 0);
	return 0;
}

static int open_ringer(int end)
{
	int fd = process_reopen(end, O_RDWR | O_NONBLOCK);

	return fd < 0 ? fd : private_fd(fd);
}

/* We sleep on this one: the peer gets the writing end. */
static int make_own(int *ours, int *theirs)
{
	int ends[2];
	int result = make_pipe(ends);

	if (result < 0)
		return result;
	*theirs = ends[1];
	*ours = private_fd(ends[0]);
	return *ours < 0 ? *ours : 0;
}

static int make_peers(int *ours, int *theirs)
{
	int ends[2];
	int result = make_pipe(ends);

	if (result < 0)
		return result;
	*theirs = ends[0];
	*ours = open_ringer(ends[1]);
	sys_close(ends[1]);
	return *ours < 0 ? *ours : 0;
}

static int make_both(int *own, int *their_ringer, int *our_ringer, int *theirs)
{
	int result = make_own(own, their_ringer);

	return result == 0 ? make_peers(our_ringer, theirs) : result;
}

int bells_make(struct bells *ours, struct bells *theirs, unsigned count)
{
	int result;

	ENGINE_LOCKED();
	*ours = *theirs = BELLS_NONE;
	result = make_both(&ours->data, &theirs->peer_data, &ours->peer_data,
			   &theirs->data);
	if (result == 0 && count == BELLS_APART)
		result = make_both(&ours->room, &theirs->peer_room,
				   &ours->peer_room, &theirs->room);
	if (result == 0)
		result = try_taking(ours->data);
	if (result < 0) {
		bells_close(ours);
		close_ordinary(theirs);
	} else if (count == BELLS_ONE) {
		ours->room = ours->data;
		ours->peer_room = ours->peer_data;
		theirs->room = theirs->data;
		theirs->peer_room = theirs->peer_data;
	}
	return result;
}

static bool is_pipe(int fd)
{
	return SYS_CALL3(SYS_fcntl, fd, F_GETPIPE_SZ, 0) > 0;
}

/* Taking from a descriptor that can be written to would write to it. */
static bool can_sleep_on(int fd)
{
	long flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);

	return is_pipe(fd) && (flags & O_ACCMODE) == O_RDONLY;
}

/* Opening anything else could do more than open it. */
static int adopt_ringer(int *fd)
{
	int ringer = is_pipe(*fd) ? open_ringer(*fd) : -EPROTO;

	if (ringer < 0)
		return ringer;
	private_fd_close(*fd);
	*fd = ringer;
	return 0;
}

int bells_adopt(struct bells *b)
{
	bool one = bells_are_one(b);
	int result = adopt_ringer(&b->peer_data);

	ENGINE_LOCKED();
	if (one)
		b->peer_room = b->peer_data;
	else if (result == 0)
		result = adopt_ringer(&b->peer_room);
	if (result < 0)
		return result;
	if (!can_sleep_on(b->data) || !can_sleep_on(b->room))
		return -EPROTO;
	return try_taking(b->data);
}

/* ---- lending them ---- */

/* The number stays private. */
static int reopen(int private_number, int flags)
{
	int fd = process_reopen(private_number, flags);
	long result;

	if (fd < 0)
		return fd;
	result = SYS_CALL3(SYS_dup3, fd, private_number, O_CLOEXEC);
	sys_close(fd);
	return result < 0 ? (int)result : 0;
}

/* The numbers lie above the soft limit, and dup3 goes up to that. */
static int reopen_ringers(const struct bells *b, int flags)
{
	int result;

	private_fd_begin();
	result = reopen(b->peer_data, flags);
	if (result == 0 && !bells_are_one(b))
		result = reopen(b->peer_room, flags);
	private_fd_end();
	return result;
}

int bells_lend(const struct bells *b)
{
	ENGINE_LOCKED();
	return reopen_ringers(b, O_PATH);
}

int bells_take_back(const struct bells *b)
{
	int result = reopen_ringers(b, O_RDWR | O_NONBLOCK);

	ENGINE_LOCKED();
	if (result < 0)
		return result;
	bell_drain(b->data);
	if (!bells_are_one(b))
		bell_drain(b->room);
	return 0;
}

/* ---- ringing ---- */

void bell_ring(int bell)
{
	static const char ring;

	SYS_CALL3(SYS_write, bell, &ring, 1);
}

static int ring_anew(int bell)
{
	int fd = process_reopen(bell, O_WRONLY | O_NONBLOCK);

	if (fd < 0)
		return fd;
	bell_ring(fd);
	sys_close(fd);
	return 0;
}

/* A child has a table of descriptors of its own, in which it makes room: all
 * numbers below the limit are in use. Our program gets to see neither. */
static void ring_by_child(int bell)
{
	uint64_t all = ~0ull;
	uint64_t saved;
	long child;

	SYS_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &saved, sizeof(all));
	child = SYS_CALL6(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (child == 0) {
		sys_close(0);
		ring_anew(bell);
		SYS_CALL3(SYS_exit_group, 0, 0, 0);
	}
	if (child > 0)
		while (SYS_CALL4(SYS_wait4, child, NULL, __WALL, 0) == -EINTR)
			;
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(all));
}

/* Nobody keeps a descriptor that can: its end would never come. */
void bell_ring_own(int bell)
{
	if (ring_anew(bell) == -EMFILE)
		ring_by_child(bell);
}

/* ---- sleeping ---- */

static int wait_by(int (*sleep)(struct pollfd *, nfds_t,
				const struct timespec *),
		   int bell, const struct timespec *timeout)
{
	struct pollfd p = {.fd = bell, .events = POLLIN};
	int n = sleep(&p, 1, timeout);

	if (n < 0)
		return -errno;
	if (n == 0)
		return BELL_TIMEOUT;
	return bell_drain(bell) ? BELL_HUNG_UP : BELL_RUNG;
}

static int real_ppoll(struct pollfd *p, nfds_t n,
		      const struct timespec *timeout)
{
	return real.ppoll(p, n, timeout, NULL);
}

int bell_wait(int bell, const struct timespec *timeout)
{
	char bytes[DRAIN_BYTES];
	ssize_t n;

	if (timeout)
		return wait_by(real_ppoll, bell, timeout);
	n = real.read(bell, bytes, sizeof(bytes));
	if (n > 0)
		return BELL_RUNG;
	/* EAGAIN: the peer made it one that nobody can sleep on. */
	if (n == 0 || errno == EAGAIN)
		return BELL_HUNG_UP;
	return -errno;
}

int bell_wait_once(int bell, const struct timespec *timeout)
{
	return wait_by(stoppable_poll, bell, timeout);
}

/* ---- taking rings ---- */

int bell_rings(int bell)
{
	int n = 0;

	return SYS_CALL3(SYS_ioctl, bell, FIONREAD, &n) < 0 ? 0 : n;
}

void bell_take(int bell, int rings)
{
	char bytes[DRAIN_BYTES];

	while (rings > 0) {
		long n =
		    take(bell, bytes,
			 rings < DRAIN_BYTES ? (size_t)rings : sizeof(bytes));

		if (n <= 0)
			return;
		rings -= (int)n;
	}
}

/* An epoll instance, which is no pipe. */
static bool drain_monitor(int monitor)
{
	struct epoll_event e;

	return SYS_CALL6(SYS_epoll_pwait, monitor, &e, 1, 0, 0, 0) == 1 &&
	       (e.events & (EPOLLHUP | EPOLLERR));
}

bool bell_drain(int bell)
{
	char bytes[DRAIN_BYTES];
	long n = DRAIN_BYTES;

	for (int i = 0; i < DRAINS_MAX && n == DRAIN_BYTES; i++)
		n = take(bell, bytes, sizeof(bytes));
	return n == -EBADF ? drain_monitor(bell) : n == 0;
}
