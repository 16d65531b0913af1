/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* linkgroup_deaths: a process that sleeps hears that a peer has died. */
#include "smc_r/link/shm/linkgroup_deaths.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/single_threaded.h>

#include "smc_r/link/shm/linkgroup_list.h"
#include "smc_r/os/fdtable.h"
#include "smc_r/os/fork_page.h"
#include "smc_r/os/process.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"

#define HEARD_MAX 64

static _Atomic int deaths = -1;
FORK_PAGE _Atomic int linkgroups_idle;
static _Atomic uint32_t generation; /* instances that were made */

void linkgroup_deaths_watch(const struct linkgroup *g)
{
	/* A channel hangs up whatever is asked for. */
	if (relaxed_load(&deaths) >= 0 && g->channel >= 0)
		sys_epoll_ctl(relaxed_load(&deaths), EPOLL_CTL_ADD, g->channel,
			      EPOLLET, (uint64_t)(uintptr_t)g);
}

void linkgroup_deaths_forget(const struct linkgroup *g)
{
	if (relaxed_load(&deaths) >= 0 && g->channel >= 0)
		sys_epoll_ctl(relaxed_load(&deaths), EPOLL_CTL_DEL, g->channel,
			      0, 0);
}

static void make(void)
{
	long fd;

	private_fd_begin();
	fd = SYS_CALL3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0);
	if (fd >= 0)
		fd = private_fd((int)fd);
	private_fd_end();
	if (fd < 0)
		return;
	relaxed_add(&generation, 1);
	atomic_store(&deaths, (int)fd);
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next)
		if (!g->waits)
			linkgroup_deaths_watch(g);
}

int linkgroup_deaths(void)
{
	if (!linkgroup_deaths_matter() &&
	    (__libc_single_threaded || process.confined ||
	     fdtable_connections() == 0))
		return -1;
	if (__builtin_expect(relaxed_load(&deaths) < 0, 0) &&
	    !process_may_be_foreign()) {
		engine_lock();
		if (relaxed_load(&deaths) < 0)
			make();
		engine_unlock();
	}
	return relaxed_load(&deaths);
}

/* A group is freed under the lock only, and forgotten before. */
void linkgroup_deaths_heard(void)
{
	struct epoll_event events[HEARD_MAX];
	long n;

	if (process.confined || process_may_be_foreign())
		return;
	engine_lock();
	do {
		n = SYS_CALL6(SYS_epoll_pwait, relaxed_load(&deaths), events,
			      HEARD_MAX, 0, 0, 0);
		for (long i = 0; i < n; i++)
			linkgroup_list_hang_up(
			    (void *)(uintptr_t)events[i].data.u64);
	} while (n == HEARD_MAX);
	linkgroup_list_bury();
	engine_unlock();
}

static void let_in(void *programs)
{
	pthread_sigmask(SIG_SETMASK, programs, NULL);
}

static int poll_beside(struct pollfd *p, nfds_t n, nfds_t at, uint64_t end_ns,
		       const sigset_t *mask)
{
	struct timespec left;
	int ready;

	for (;;) {
		p[at] =
		    (struct pollfd){.fd = linkgroup_deaths(), .events = POLLIN};
		left = sys_timespec(end_ns == UINT64_MAX ? 0
							 : sys_left_ns(end_ns));
		ready =
		    real.ppoll(p, n, end_ns == UINT64_MAX ? NULL : &left, mask);
		if (ready <= 0 || !p[at].revents)
			return ready;
		linkgroup_deaths_heard();
		p[at].revents = 0;
		if (ready > 1)
			return ready - 1;
	}
}

int linkgroup_deaths_poll(struct pollfd *p, nfds_t n, nfds_t at,
			  uint64_t end_ns, const sigset_t *mask)
{
	sigset_t all, programs;
	volatile int ready;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &programs);
	pthread_cleanup_push(let_in, &programs);
	ready = poll_beside(p, n, at, end_ns, mask ? mask : &programs);
	error = errno;
	pthread_cleanup_pop(1);
	errno = error;
	return ready;
}

void linkgroup_begin_use(struct linkgroup *g)
{
	g->unused = false;
	if (g->connections++ == 0)
		linkgroup_deaths_count(-1);
}

void linkgroup_end_use(struct linkgroup *g)
{
	if (--g->connections == 0)
		linkgroup_deaths_count(1);
}

void linkgroup_deaths_count(int groups)
{
	relaxed_add(&linkgroups_idle, groups);
}

uint32_t linkgroup_deaths_generation(void)
{
	return relaxed_load(&deaths) < 0 ? 0 : relaxed_load(&generation);
}

void linkgroup_deaths_give_back(void)
{
	int fd = relaxed_load(&deaths);

	if (fd < 0 || relaxed_load(&linkgroups_idle) > 0)
		return;
	atomic_store(&deaths, -1);
	private_fd_close(fd);
}

/* The parent goes on with the instance that both have. */
void linkgroup_deaths_forked(void)
{
	int fd = atomic_exchange(&deaths, -1);

	if (fd >= 0)
		private_fd_close(fd);
	atomic_store(&linkgroups_idle, 0);
}
