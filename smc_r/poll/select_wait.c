/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* select_wait: select() by way of poll(). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/sys.h"
#include "smc_r/poll/poll_wait.h"

/* It is asked for besides, and no socket knows of it: the descriptor was open
 * at the beginning. */
#define WAS_OPEN POLLMSG

#define ON_STACK 64 /* descriptors; larger sets get pages of their own */

#define LOOKS_MAX 256 /* at bits that may be none of a set's */

/* Sets larger than FD_SETSIZE are legal for programs that bring the memory. */
static bool is_set(const fd_set *s, int fd)
{
	const unsigned long *words = (const void *)s;
	unsigned bits = 8 * sizeof(*words);

	return s && (words[(unsigned)fd / bits] >> ((unsigned)fd % bits) & 1);
}

static void set_bit(fd_set *s, int fd)
{
	unsigned long *words = (void *)s;
	unsigned bits = 8 * sizeof(*words);

	if (s)
		words[(unsigned)fd / bits] |= 1ul << ((unsigned)fd % bits);
}

static void clear(fd_set *s, int n)
{
	unsigned bits = 8 * sizeof(unsigned long);

	if (s && n > 0)
		memset(s, 0, ((unsigned)n + bits - 1) / bits * sizeof(long));
}

static bool is_good(const fd_set *s, int n)
{
	return !s || pages_hold(s, ((size_t)n + 7) / 8, true);
}

/* Do descriptors of the program stand there, from FD_SETSIZE on? */
static bool has_beyond(int n, const fd_set *s, int *looks)
{
	for (int fd = FD_SETSIZE; fd<n && * looks> 0; fd++) {
		const struct fdentry *e;

		if (!is_set(s, fd))
			continue;
		e = fdtable_get(fd);
		if ((!e || e->kind != FDENTRY_PRIVATE) &&
		    SYS_CALL3(SYS_fcntl, fd, F_GETFD, 0) >= 0)
			return true;
		--*looks;
	}
	return false;
}

int select_reach(int n, const fd_set *r, const fd_set *w, const fd_set *x)
{
	int looks = LOOKS_MAX;

	if (n <= FD_SETSIZE || fdtable_connections_end() == 0)
		return n;
	if (!is_good(r, n) || !is_good(w, n) || !is_good(x, n))
		return FD_SETSIZE;
	return has_beyond(n, r, &looks) || has_beyond(n, w, &looks) ||
		       has_beyond(n, x, &looks)
		   ? n
		   : FD_SETSIZE;
}

bool select_has_members(int n, const fd_set *r, const fd_set *w,
			const fd_set *x)
{
	if (n <= 0 || fdtable_connections_end() == 0 || !is_good(r, n) ||
	    !is_good(w, n) || !is_good(x, n))
		return false;
	for (int fd = 0; fd < n; fd++)
		if ((is_set(r, fd) || is_set(w, fd) || is_set(x, fd)) &&
		    (poll_is_member(fd) || poll_hears_deaths(fd)))
			return true;
	return false;
}

static nfds_t to_poll(struct pollfd *out, int n, fd_set *const sets[3])
{
	static const short asks[3] = {POLLIN, POLLOUT, POLLPRI};
	nfds_t count = 0;

	for (int fd = 0; fd < n; fd++) {
		short events = 0;

		for (int k = 0; k < 3; k++)
			if (is_set(sets[k], fd))
				events |= asks[k];
		if (events)
			out[count++] = (struct pollfd){
			    .fd = fd,
			    .events =
				(short)(events |
					(poll_is_member(fd) ? WAS_OPEN : 0))};
	}
	return count;
}

/* select(2) tells which poll bits make a descriptor ready. So does that another
 * thread closes it. */
static int from_poll(const struct pollfd *in, nfds_t count, int n,
		     fd_set *const sets[3])
{
	static const short asks[3] = {POLLIN, POLLOUT, POLLPRI};
	static const short bits[3] = {POLLIN | POLLHUP | POLLERR | POLLNVAL,
				      POLLOUT | POLLERR | POLLNVAL,
				      POLLPRI | POLLNVAL};
	int ready = 0;

	for (nfds_t i = 0; i < count; i++)
		if ((in[i].revents & POLLNVAL) && !(in[i].events & WAS_OPEN)) {
			errno = EBADF;
			return -1;
		}
	for (int k = 0; k < 3; k++) {
		clear(sets[k], n);
		for (nfds_t i = 0; i < count; i++)
			if ((in[i].events & asks[k]) &&
			    (in[i].revents & bits[k])) {
				set_bit(sets[k], in[i].fd);
				ready++;
			}
	}
	return ready;
}

/* What poll() tells unasked, and select() does not, is told each time. */
static void set_aside(struct pollfd *fds, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++)
		if (fds[i].revents)
			fds[i].fd = -1;
}

static int select_rounds(struct pollfd *fds, int n, fd_set *const sets[3],
			 const struct timespec *timeout, const sigset_t *mask)
{
	nfds_t count = to_poll(fds, n, sets);
	uint64_t end_ns = sys_end_ns(timeout);
	struct timespec left;

	for (;;) {
		int told = poll_members(fds, count, timeout, mask);
		int ready = told < 0 ? -1 : from_poll(fds, count, n, sets);

		if (ready != 0 || told == 0)
			return ready;
		set_aside(fds, count);
		if (!timeout)
			continue;
		left = sys_timespec(sys_left_ns(end_ns));
		timeout = &left;
	}
}

int select_members(int n, fd_set *r, fd_set *w, fd_set *x,
		   const struct timespec *timeout, const sigset_t *mask)
{
	fd_set *const sets[3] = {r, w, x};
	struct pollfd stack[ON_STACK];
	struct pollfd *fds = stack;
	size_t bytes = (size_t)n * sizeof(*fds);
	int result;
	int error;

	if (n > ON_STACK) {
		fds = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fds == MAP_FAILED) {
			errno = ENOMEM;
			return -1;
		}
	}
	result = select_rounds(fds, n, sets, timeout, mask);
	error = errno;
	if (fds != stack)
		munmap(fds, bytes);
	errno = error;
	return result;
}
