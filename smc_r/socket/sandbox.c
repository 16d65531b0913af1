/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sandbox: what is left when a program has confined itself to some calls. */
#include "smc_r/socket/sandbox.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "smc_r/connection/socket_history.h"
#include "smc_r/epoll/epoll_set.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/socket/socket_listen.h"
#include "smc_r/wait/registrations.h"

#define MOST 4096 /* as somaxconn is */

FORK_PAGE _Atomic bool sandbox_holds;

/* In memory that forked processes share. */
struct held {
	_Atomic uint32_t next; /* the first that nobody was given */
	uint32_t count;
	struct {
		int fd;
		int flags;
		socklen_t name_bytes;
		struct sockaddr_storage name;
	} at[MOST];
};

static struct held *held_of(int fd)
{
	struct listener *l = listener_of(fd);

	return l ? l->held : NULL;
}

static bool has_more(const struct held *h)
{
	return h && atomic_load(&h->next) < h->count;
}

/* Has this number connections that wait? No call. */
static bool sandbox_has(int fd)
{
	return has_more(held_of(fd));
}

/* ---- before the filter ---- */

/* False when the queue is empty. */
static bool take_one(struct held *h, int fd, int flags)
{
	struct sockaddr_storage *name = &h->at[h->count].name;
	socklen_t n = sizeof(*name);
	int taken =
	    (int)SYS_CALL4(SYS_accept4, fd, name, &n, flags & ~O_NONBLOCK);

	if (taken < 0)
		return false;
	socket_number_is_new(taken);
	socket_history_accepted(fd, taken);
	h->at[h->count].fd = taken;
	h->at[h->count].flags = flags;
	h->at[h->count].name_bytes = n;
	h->count++;
	handshake_accepted(NULL, taken, name, flags & SOCK_NONBLOCK);
	return true;
}

/* Nobody tells how it will accept: as it did the last time. */
static void take_queue(struct listener *l, int fd)
{
	long flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);
	struct held *h =
	    mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (h == MAP_FAILED)
		return;
	if (!(flags & O_NONBLOCK))
		SYS_CALL3(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK);
	while (h->count < MOST && take_one(h, fd, l->accept_flags))
		;
	if (!(flags & O_NONBLOCK))
		SYS_CALL3(SYS_fcntl, fd, F_SETFL, flags);
	if (h->count > 0)
		l->held = h;
	else
		munmap(h, sizeof(*h));
}

void sandbox_leave_listeners(void)
{
	for (int fd = 0; fd < fdtable_listeners_end(); fd++) {
		struct listener *l = listener_of(fd);

		if (!l || l->given)
			continue;
		/* The settings may have come to match. */
		socket_before_accept(fd);
		listener_unmark(fd);
		if (l->matched)
			take_queue(l, fd);
	}
}

/* What the program registered for the listener tells of them as well. */
static void sign_up(int fd, int sign)
{
	struct epoll_event event;

	for (int ep = 0; ep < fdtable_program_end(); ep++)
		if (epoll_of(ep) && registrations_find(ep, fd, &event))
			sys_epoll_ctl(ep, EPOLL_CTL_ADD, sign,
				      event.events & ~(uint32_t)EPOLLOUT,
				      event.data.u64);
}

/* Epoll forgets what is closed. */
static void end_sign(struct listener *l)
{
	int sign = l->sign;

	l->sign = 0;
	if (sign <= 0)
		return;
	fdtable_release(sign);
	sys_close(sign);
}

/* The listener goes, and as the kernel does with its queue, so do these. */
static void forget(struct listener *l)
{
	struct held *h = l->held;

	l->held = NULL;
	end_sign(l);
	for (uint32_t i = atomic_load(&h->next); i < h->count; i++)
		sys_close(h->at[i].fd);
}

void sandbox_hold(void)
{
	for (int fd = 0; fd < fdtable_listeners_end(); fd++) {
		struct listener *l = listener_of(fd);

		if (!l || !l->held)
			continue;
		listener_on_end = forget;
		atomic_store(&sandbox_holds, true);
		if (l->sign == 0)
			l->sign = private_fd(
			    (int)SYS_CALL3(SYS_eventfd2, 1, EFD_CLOEXEC, 0));
		if (l->sign > 0)
			sign_up(fd, l->sign);
	}
}

/* ---- after it ---- */

static void hand_out(int fd, int had, int flags)
{
	if ((had ^ flags) & SOCK_CLOEXEC)
		real.fcntl(fd, F_SETFD, flags & SOCK_CLOEXEC ? FD_CLOEXEC : 0);
	if ((had ^ flags) & SOCK_NONBLOCK)
		real.fcntl(fd, F_SETFL, O_RDWR | (flags & SOCK_NONBLOCK));
}

int sandbox_accept(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
	struct listener *l = listener_of(fd);
	struct held *h = l ? l->held : NULL;
	uint32_t i = h ? atomic_load(&h->next) : 0;

	do {
		if (!h || i >= h->count)
			return -1;
	} while (!atomic_compare_exchange_weak(&h->next, &i, i + 1));
	if (a && n) {
		socklen_t room = *n;

		*n = h->at[i].name_bytes;
		memcpy(a, &h->at[i].name, room < *n ? room : *n);
	}
	hand_out(h->at[i].fd, h->at[i].flags, flags);
	if (i + 1 == h->count)
		end_sign(l);
	return h->at[i].fd;
}

void sandbox_registered(int ep, int op, int fd, const struct epoll_event *event)
{
	struct listener *l = listener_of(fd);

	if (!l || !has_more(l->held) || l->sign <= 0)
		return;
	if (op == EPOLL_CTL_DEL)
		sys_epoll_ctl(ep, op, l->sign, 0, 0);
	else
		sys_epoll_ctl(ep, op, l->sign,
			      event->events & ~(uint32_t)EPOLLOUT,
			      event->data.u64);
}

static short asked(const struct pollfd *p)
{
	return sandbox_has(p->fd) ? p->events & (POLLIN | POLLRDNORM) : 0;
}

bool sandbox_polls(const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (asked(&fds[i]))
			return true;
	return false;
}

int sandbox_polled(struct pollfd *fds, nfds_t n, int result)
{
	for (nfds_t i = 0; result >= 0 && i < n; i++) {
		result += asked(&fds[i]) && !fds[i].revents;
		fds[i].revents |= asked(&fds[i]);
	}
	return result;
}

bool sandbox_selects(int n, const fd_set *r, fd_set *held)
{
	bool any = false;

	FD_ZERO(held);
	for (int fd = 0; r && fd < n && fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, r) && sandbox_has(fd)) {
			FD_SET(fd, held);
			any = true;
		}
	return any;
}

int sandbox_selected(int n, fd_set *r, const fd_set *held, int result)
{
	for (int fd = 0; result >= 0 && fd < n && fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, held) && !FD_ISSET(fd, r)) {
			FD_SET(fd, r);
			result++;
		}
	return result;
}
