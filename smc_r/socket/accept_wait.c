/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* accept_wait: a thread that sleeps in accept() hears when a peer dies. */
#include "smc_r/socket/accept_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/os/real.h"
#include "smc_r/os/sys.h"
#include "smc_r/socket/socket_listen.h"
#include "smc_r/wait/restart.h"

#define ACCEPTS_A_LOOK 64

/* A program that calls it until it says EAGAIN is asked now and then. */
static bool must_not_wait(struct listener *l, int fd)
{
	struct timeval t = {0, 0};
	long flags;

	if (l && l->looks_only) {
		l->looks_only--;
		return true;
	}
	/* What does not listen has an error for accept(), and no connection;
	 * poll() tells of a TCP socket that it has hung up. */
	if (sys_poll(fd, POLLIN, 0) ||
	    (!l && sys_socket_option(fd, SO_ACCEPTCONN) != 1))
		return true;
	flags = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);
	if (l && flags >= 0 && (flags & O_NONBLOCK))
		l->looks_only = ACCEPTS_A_LOOK;
	sys_getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	return flags < 0 || (flags & O_NONBLOCK) || t.tv_sec || t.tv_usec;
}

int accept_wait(int fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}};

	if (linkgroup_deaths() < 0 || must_not_wait(listener_of(fd), fd))
		return 0;
	do {
		p[0].revents = 0;
		if (linkgroup_deaths_poll(p, 2, 1, UINT64_MAX, NULL) >= 0)
			continue;
		if (errno != EINTR)
			return 0;
		if (restart_ends_call(false)) {
			errno = EINTR;
			return -1;
		}
	} while (!p[0].revents);
	return 0;
}
