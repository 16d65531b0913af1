/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* successor: descriptors that go to somebody without the engine. */
#include "successor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "connection.h"
#include "demote.h"
#include "reason.h"
#include "sys.h"

void successor_descriptor(int fd, uint32_t reason)
{
	struct connection *c = connection_of(fd);
	int error = errno;

	if (c)
		demote_for_successor(c, fd, reason);
	errno = error;
}

void successor_exec(void)
{
	int end = fdtable_end();

	for (int fd = 0; fd < end; fd++) {
		long flags;

		if (!connection_of(fd))
			continue;
		flags = SYS_CALL3(SYS_fcntl, fd, F_GETFD, 0);
		if (flags >= 0 && !(flags & FD_CLOEXEC))
			successor_descriptor(fd, REASON_DEMOTED_EXEC);
	}
}

void successor_message(const struct msghdr *m)
{
	struct msghdr copy;

	if (!m || !m->msg_control || m->msg_controllen == 0)
		return;
	copy = *m;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&copy); c;
	     c = CMSG_NXTHDR(&copy, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    c->cmsg_len < CMSG_LEN(0))
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			successor_descriptor(fd, REASON_DEMOTED_PASSING);
		}
	}
}

void successor_all(uint32_t reason)
{
	int end = fdtable_end();

	for (int fd = 0; fd < end; fd++)
		successor_descriptor(fd, reason);
}
