/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* relay_place: another socket under the numbers of a connection. */
#include "smc_r/fallback/relay_place.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/os/sys.h"

static bool put_at(int from, int fd)
{
	long flags = SYS_CALL3(SYS_fcntl, fd, F_GETFD, 0);

	return flags >= 0 &&
	       SYS_CALL3(SYS_dup3, from, fd,
			 flags & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
}

bool relay_put_at_all(const struct connection *c, int from, int fd)
{
	if (!put_at(from, fd))
		return false;
	for (int i = 0; i < fdtable_end(); i++)
		if (i != fd && connection_of(i) == c)
			put_at(from, i);
	return true;
}

bool relay_take_place(struct connection *c, int from, int fd)
{
	long status = SYS_CALL3(SYS_fcntl, fd, F_GETFL, 0);

	if (status < 0)
		return false;
	SYS_CALL3(SYS_fcntl, from, F_SETFL, status & O_NONBLOCK);
	/* A socket that is shut both ways would take nothing more. */
	if (connection_writes_no_more(c))
		SYS_CALL3(SYS_shutdown, from, SHUT_WR, 0);
	else if (connection_reads_no_more(c))
		SYS_CALL3(SYS_shutdown, from, SHUT_RD, 0);
	return relay_put_at_all(c, from, fd);
}
