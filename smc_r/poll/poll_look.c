/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* poll_look: what is ready now, of members and of the kernel's. */
#include "smc_r/poll/poll_call.h"

#include <errno.h>
#include <sys/single_threaded.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/epoll/epoll_shared.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/sys.h"
#include "smc_r/socket/socket_listen.h"
#include "smc_r/wait/readiness.h"

#define ASK_KERNEL_NS 50000u
#define OUTPUT        (POLLOUT | POLLWRNORM)
#define SILENT_MIN    4u /* fewer are looked at one by one */
#define SILENT_MAX    256u

struct epoll *poll_instance(int fd)
{
	struct epoll *e = epoll_of(fd);

	if (e && !epoll_is_settled(e))
		epoll_claim(e);
	return epoll_has_members(e) ? e : NULL;
}

/* A thread beside the one that sleeps at a listener ends connections, and may
 * never call us again. */
bool poll_hears_deaths(int fd)
{
	return linkgroup_deaths_matter() ||
	       (!__libc_single_threaded && fdtable_connections() > 0 &&
		listener_of(fd));
}

bool poll_is_member(int fd)
{
	return poll_member(fd) || poll_instance(fd);
}

bool poll_has_members(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (poll_is_member(fds[i].fd) || poll_hears_deaths(fds[i].fd))
			return true;
	return false;
}

static inline bool look_member(struct pollfd *p, struct connection *c,
			       uint64_t *now)
{
	uint32_t asked = (unsigned short)p->events | POLLERR | POLLHUP;

	p->revents = (short)(readiness(c, p->fd, asked, now) & asked);
	if (p->revents & OUTPUT)
		connection_told_room(c);
	return p->revents != 0;
}

/* Handshakes whose client is silent. The kernel is asked about many at once
 * which of them are so no more. */
struct silent {
	struct pollfd kernel[SILENT_MAX];
	struct pollfd *places[SILENT_MAX];
	nfds_t n;
};

static int look_silent(struct silent *s, uint64_t *now)
{
	int ready = 0;

	for (nfds_t i = 0; i < s->n; i++)
		s->kernel[i] =
		    (struct pollfd){.fd = s->places[i]->fd,
				    .events = POLLIN | POLLPRI | POLLRDHUP};
	if (s->n < SILENT_MIN || SYS_CALL3(SYS_poll, s->kernel, s->n, 0) < 0)
		for (nfds_t i = 0; i < s->n; i++)
			s->kernel[i].revents = POLLIN;
	for (nfds_t i = 0; i < s->n; i++) {
		struct connection *c = poll_member(s->places[i]->fd);

		s->places[i]->revents = 0;
		if (c && s->kernel[i].revents)
			ready += look_member(s->places[i], c, now);
	}
	s->n = 0;
	return ready;
}

/* The first of them is in its handshake, and others may be. */
static int look_beginning(struct pollfd *fds, nfds_t n, uint64_t *now)
{
	struct silent silent;
	int ready = 0;

	silent.n = 0;
	for (nfds_t i = 0; i < n; i++) {
		struct connection *c = poll_member(fds[i].fd);

		if (!c) {
			if (fds[i].fd < 0)
				fds[i].revents = 0;
			continue;
		}
		if (connection_phase(c) != PHASE_HANDSHAKE ||
		    !handshake_is_silent(c, fds[i].events & OUTPUT)) {
			ready += look_member(&fds[i], c, now);
			continue;
		}
		silent.places[silent.n++] = &fds[i];
		if (silent.n == SILENT_MAX)
			ready += look_silent(&silent, now);
	}
	return silent.n ? ready + look_silent(&silent, now) : ready;
}

int poll_look_members(struct pollfd *fds, nfds_t n)
{
	uint64_t now = 0;
	int ready = 0;

	for (nfds_t i = 0; i < n; i++) {
		struct connection *c = poll_member(fds[i].fd);

		/* A place that the caller left empty. */
		if (!c && fds[i].fd < 0)
			fds[i].revents = 0;
		if (!c)
			continue;
		if (connection_phase(c) == PHASE_HANDSHAKE)
			return ready + look_beginning(&fds[i], n - i, &now);
		ready += look_member(&fds[i], c, &now);
	}
	return ready;
}

short poll_instance_bits(const struct pollfd *p)
{
	short asked = p->events & (POLLIN | POLLRDNORM);
	struct pollfd kernel = *p;
	struct epoll *e;

	if (!asked || epoll_is_ready(poll_instance(p->fd)))
		return asked;
	e = poll_instance(p->fd);
	if (e) {
		epoll_follow(e);
		return 0;
	}
	/* That look found the last of its members to be TCP's: since the kernel
	 * was asked. */
	SYS_CALL3(SYS_poll, &kernel, 1, 0);
	return kernel.revents;
}

void poll_take_answers(struct pollfd *fds, const struct pollfd *all, nfds_t n,
		       bool *ended)
{
	*ended = false;
	for (nfds_t i = 0; i < n; i++) {
		struct connection *c = poll_member(fds[i].fd);

		if (!c) {
			fds[i].revents = poll_instance(fds[i].fd)
					     ? poll_instance_bits(&fds[i])
					     : all[i].revents;
		} else if (all[i].revents &&
			   connection_phase(c) == PHASE_ACTIVE &&
			   !connection_tcp_ended(c)) {
			*ended |= tcp_has_ended(c, fds[i].fd);
		}
	}
}

static short member_events(const struct connection *c)
{
	return connection_phase(c) == PHASE_ACTIVE ? tcp_end_events(c)
						   : POLLRDHUP;
}

/* Asks it without waiting: 0 or -errno. */
static int look_kernel(struct pollfd *fds, struct pollfd *all, nfds_t n,
		       bool *ended)
{
	long result;

	for (nfds_t i = 0; i < n; i++) {
		all[i] = fds[i];
		if (poll_member(fds[i].fd))
			all[i].events = member_events(poll_member(fds[i].fd));
		else
			/* An inherited one is the kernel's from here on, and
			 * then it knows all members. */
			poll_instance(fds[i].fd);
	}
	result = SYS_CALL3(SYS_poll, all, n, 0);
	if (result < 0)
		return (int)result;
	poll_take_answers(fds, all, n, ended);
	return 0;
}

int poll_count_ready(const struct pollfd *fds, nfds_t n)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++)
		ready += fds[i].revents != 0;
	return ready;
}

int poll_look_all(struct pollfd *fds, struct pollfd *all, nfds_t n)
{
	bool ended;
	int error;

	poll_look_members(fds, n);
	error = look_kernel(fds, all, n, &ended);
	if (error < 0) {
		errno = -error;
		return -1;
	}
	if (ended)
		poll_look_members(fds, n);
	return poll_count_ready(fds, n);
}

bool poll_only_members(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd >= 0 && !poll_member(fds[i].fd))
			return false;
	return true;
}

bool poll_kernel_is_due(const struct poll_call *p)
{
	static __thread struct {
		uint64_t set;
		uint64_t until_ns;
	} last;
	uint64_t set = (uint64_t)p->n << 48 ^ (uint64_t)p->fds[0].fd << 24 ^
		       (uint64_t)p->fds[p->n - 1].fd;

	if (sys_left_ns(last.until_ns) > 0 &&
	    ((!p->only_looks && set == last.set) ||
	     poll_only_members(p->fds, p->n)))
		return false;
	last.set = set;
	last.until_ns = sys_end_in_ns(ASK_KERNEL_NS);
	return true;
}

int poll_without_kernel(struct poll_call *p)
{
	for (nfds_t i = 0; i < p->n; i++)
		if (!poll_member(p->fds[i].fd))
			p->fds[i].revents = 0;
	return poll_count_ready(p->fds, p->n);
}
