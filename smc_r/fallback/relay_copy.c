/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* relay_copy: poll, read and write, and nothing of libc. */
#include "smc_r/fallback/relay_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "smc_r/os/sys.h"
#include "smc_r/peer/sock_diag.h"
#include "smc_r/status/totals.h"

#define BUFFER_BYTES 65536
#define HOLD_MS      20 /* between looks whether others still hold it */

struct flow {
	int from;
	int to;
	const uint8_t *bytes; /* still unwritten */
	size_t count;
	uint8_t *buffer;
	bool ended; /* nothing more comes, and the other end knows */
	const struct relay_hold *hold; /* NULL: nobody else reads `from` */
	bool is_shared;                /* others hold `to` */
	bool is_urgent;                /* the one byte */
	bool is_successors;            /* `from` leads to the successor */
	bool is_over;                  /* the successor has closed it */
};

enum end {
	END_CLOSED, /* nobody has that socket any more */
	END_SHUT,   /* its half; somebody has it */
	END_UNKNOWN
};

/* If the other direction had ended before, the kernel does not tell the two
 * apart, and to the peer they are one. */
static enum end end_of(int fd)
{
	struct sock_diag_socket peer;
	int result = sock_diag_peer_of(fd, &peer);

	if (result == 0)
		return peer.inode == 0 ? END_CLOSED : END_SHUT;
	return result == -ENOTCONN ||
		       (result == -ENOENT && sock_diag_is_here(fd))
		   ? END_CLOSED
		   : END_UNKNOWN;
}

/* False: the connection is broken. */
static bool fill(struct flow *f)
{
	int at_mark = 0;
	enum end end;
	long n;

	/* No call reads across the mark of urgent data. */
	SYS_CALL3(SYS_ioctl, f->from, SIOCATMARK, &at_mark);
	n = SYS_CALL6(SYS_recvfrom, f->from, f->buffer,
		      at_mark ? 1 : BUFFER_BYTES, MSG_DONTWAIT, 0, 0);
	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n < 0)
		return false;
	f->bytes = f->buffer;
	f->count = (size_t)n;
	f->is_urgent = at_mark;
	if (n > 0)
		return true;
	/* The kernel knows whether a process still has that end. */
	end = f->is_successors ? end_of(f->from) : END_SHUT;
	if (end == END_CLOSED) {
		f->is_over = true;
		return true;
	}
	f->ended = true;
	/* The connection of others is not ours to shut, but the successor's,
	 * which has shut it for them, too. */
	if (f->is_shared && end != END_SHUT)
		return false;
	SYS_CALL3(SYS_shutdown, f->to, SHUT_WR, 0);
	return true;
}

static bool drain(struct flow *f)
{
	long n = SYS_CALL6(
	    SYS_sendto, f->to, f->bytes, f->count,
	    MSG_DONTWAIT | MSG_NOSIGNAL | (f->is_urgent ? MSG_OOB : 0), 0, 0);

	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n < 0)
		return false;
	f->bytes += n;
	f->count -= (size_t)n;
	return true;
}

static bool step(struct flow *f, short from, short to)
{
	if (f->ended)
		return true;
	if (f->count > 0)
		return !(to & (POLLOUT | POLLERR | POLLHUP)) || drain(f);
	return !(from & (POLLIN | POLLERR | POLLHUP)) || fill(f);
}

static bool is_held(const struct relay_hold *h)
{
	uint64_t left = atomic_load(h->holders) & h->others;
	int32_t pid;

	for (int i = 0; i < STATUS_HOLDERS_MAX; i++)
		if (left >> i & 1 && totals_holder_lives(&h->entry[i], &pid))
			return true;
	return false;
}

/* Takes what the others left in the ring, in one piece. False: no memory. */
static bool take_ring(struct flow *f)
{
	const struct relay_hold *h = f->hold;
	uint64_t from = atomic_load(h->from);
	uint64_t bytes = atomic_load(h->to) - from;
	uint8_t *copy;

	f->hold = NULL;
	if (bytes == 0 || bytes > h->size)
		return true;
	copy = mmap(NULL, h->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return false;
	rings_copy(copy, h->rings, h->producer, from, (size_t)bytes);
	f->bytes = copy;
	f->count = (size_t)bytes;
	return true;
}

/* p[0] is a.from and b.to, p[1] the other one. */
static bool wait_for_both(const struct flow *a, const struct flow *b,
			  struct pollfd p[2])
{
	short in = !a->ended && !a->hold && a->count == 0 ? POLLIN : 0;
	short back = !b->ended && b->count == 0 ? POLLIN : 0;

	p[0].fd = a->from;
	p[0].events = (short)(in | (b->count > 0 ? POLLOUT : 0));
	p[1].fd = b->from;
	p[1].events = (short)(back | (a->count > 0 ? POLLOUT : 0));
	/* One that only hangs up would wake us for ever; but after its end of
	 * stream only a reset can come, which the other one must see. */
	if (p[0].events == 0 && !a->ended)
		p[0].fd = -1;
	if (p[1].events == 0 && !b->ended)
		p[1].fd = -1;
	return SYS_CALL3(SYS_poll, p, 2, a->hold ? HOLD_MS : -1) > 0;
}

static bool was_reset(const struct flow *f, short from)
{
	return f->ended && (from & (POLLERR | POLLHUP));
}

/* A reset of one is a reset of the other. */
static void reset(int fd)
{
	struct linger now = {1, 0};

	SYS_CALL6(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now),
		  0);
}

static void copy(struct flow *a, struct flow *b)
{
	struct pollfd p[2];

	while (!a->ended || !b->ended) {
		if (a->hold && !is_held(a->hold) && !take_ring(a))
			return;
		b->is_shared = a->hold != NULL;
		p[0].revents = p[1].revents = 0;
		if (!wait_for_both(a, b, p))
			continue;
		if (was_reset(a, p[0].revents) || was_reset(b, p[1].revents) ||
		    !step(a, p[0].revents, p[1].revents) ||
		    !step(b, p[1].revents, p[0].revents)) {
			if (a->hold)
				return;
			reset(a->from);
			reset(a->to);
			return;
		}
		if (b->is_over)
			return;
	}
}

/* Copies what is there already, so that the successor finds it as it would have
 * without us. Errors are left to copy(). */
static void copy_at_once(struct flow *a)
{
	size_t before;

	do {
		if (a->count == 0 && sys_poll(a->from, POLLIN, 0) == POLLIN)
			fill(a);
		before = a->count;
		if (before > 0)
			drain(a);
	} while (a->count < before && !a->ended);
}

/* Urgent data stays in its place among the rest, and we pass it on as such. */
static void read_urgent(int fd)
{
	sys_set_option(fd, SOL_SOCKET, SO_OOBINLINE, 1);
}

#define GATE 2 /* closed when the process that started us may go on */

/* Keeps nothing of the program's but the two sockets, which become 0 and 1. */
static void leave_program(int from, int to, int gate)
{
	static const char name[] = "smc_r relay";
	int high, higher;

	SYS_CALL3(SYS_setsid, 0, 0, 0);
	SYS_CALL3(SYS_prctl, PR_SET_NAME, name, 0);
	high = (int)SYS_CALL3(SYS_fcntl, to, F_DUPFD, GATE + 1);
	higher = (int)SYS_CALL3(SYS_fcntl, gate, F_DUPFD, GATE + 1);
	SYS_CALL3(SYS_dup3, from, 0, 0);
	SYS_CALL3(SYS_dup3, high, 1, 0);
	SYS_CALL3(SYS_dup3, higher, GATE, 0);
	SYS_CALL3(SYS_close_range, GATE + 1, UINT32_MAX, 0);
	SYS_CALL3(SYS_chdir, "/", 0, 0);
}

static void run(int from, int to, const uint8_t *first, size_t bytes,
		const struct relay_hold *hold, int gate)
{
	uint8_t *buffers =
	    mmap(NULL, (size_t)2 * BUFFER_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct flow a = {
	    .from = 0, .to = 1, .bytes = first, .count = bytes, .hold = hold};
	/* What was shut before is shut for the successor, and no news. */
	struct flow b = {.from = 1,
			 .to = 0,
			 .ended = hold && hold->shut,
			 .is_successors = true};

	/* Without memory both connections end, which both ends see. */
	leave_program(from, to, gate);
	if (buffers != MAP_FAILED) {
		a.buffer = buffers;
		b.buffer = buffers + BUFFER_BYTES;
		read_urgent(b.from);
		/* Other holders say themselves how it is read. */
		if (!hold) {
			read_urgent(a.from);
			copy_at_once(&a);
		}
		sys_close(GATE);
		copy(&a, &b);
	}
	SYS_CALL3(SYS_exit_group, 0, 0, 0);
}

/* Runs in a child of the program, which ends at once. Returns its status. */
static int start(int from, int to, const uint8_t *first, size_t bytes,
		 const struct relay_hold *hold)
{
	int gate[2];
	char end;
	long child;

	if (SYS_CALL3(SYS_pipe2, gate, 0, 0) < 0)
		return 1;
	child = SYS_CALL6(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (child == 0)
		run(from, to, first, bytes, hold, gate[1]);
	sys_close(gate[1]);
	if (child > 0)
		SYS_CALL3(SYS_read, gate[0], &end, 1);
	return child < 0;
}

/* Starts it through a child that ends at once: what it leaves belongs to init,
 * and the program never gets to see either. All signals are blocked in them. */
bool relay_copy_start(int from, int to, const uint8_t *first, size_t bytes,
		      const struct relay_hold *hold)
{
	uint64_t all = ~0ull;
	uint64_t saved;
	int status = 1;
	long child;

	SYS_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &saved, sizeof(all));
	child = SYS_CALL6(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (child == 0)
		SYS_CALL3(SYS_exit_group, start(from, to, first, bytes, hold),
			  0, 0);
	if (child > 0)
		while (SYS_CALL4(SYS_wait4, child, &status, __WALL, 0) ==
		       -EINTR)
			;
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(all));
	return child > 0 && status == 0;
}
