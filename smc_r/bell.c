/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* bell: how one process wakes another that sleeps in the kernel. */
#include "bell.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "process.h"
#include "real.h"
#include "sys.h"

#define DRAIN_BYTES 128

int bell_pair(int *ours, int *theirs)
{
	int pair[2];
	long result = SYS_CALL4(SYS_socketpair, AF_UNIX,
				SOCK_STREAM | SOCK_CLOEXEC, 0, pair);

	if (result < 0)
		return (int)result;
	*ours = hidden_fd(pair[0]);
	if (*ours < 0) {
		sys_close(pair[1]);
		return *ours;
	}
	*theirs = pair[1];
	return 0;
}

bool bell_ring(int bell)
{
	static const char ring;
	long n = SYS_CALL6(SYS_sendto, bell, &ring, 1,
			   MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

	return n != -EPIPE && n != -ECONNRESET;
}

static int wait_within(int bell, const struct timespec *timeout)
{
	struct pollfd p = {.fd = bell, .events = POLLIN};
	int n = real.ppoll(&p, 1, timeout, NULL);

	if (n < 0)
		return -errno;
	if (n == 0)
		return BELL_TIMEOUT;
	return bell_drain(bell) ? BELL_HUNG_UP : BELL_RUNG;
}

int bell_wait(int bell, const struct timespec *timeout)
{
	char bytes[DRAIN_BYTES];
	ssize_t n;

	if (timeout)
		return wait_within(bell, timeout);
	n = real.read(bell, bytes, sizeof(bytes));
	if (n > 0)
		return BELL_RUNG;
	if (n == 0 || errno == ECONNRESET)
		return BELL_HUNG_UP;
	return -errno;
}

int bell_wait_once(int bell)
{
	return wait_within(bell, NULL);
}

int bell_rings(int bell)
{
	int n = 0;

	return SYS_CALL3(SYS_ioctl, bell, FIONREAD, &n) < 0 ? 0 : n;
}

void bell_take(int bell, int rings)
{
	char bytes[DRAIN_BYTES];

	while (rings > 0) {
		int k = rings < DRAIN_BYTES ? rings : DRAIN_BYTES;
		long n =
		    SYS_CALL6(SYS_recvfrom, bell, bytes, k, MSG_DONTWAIT, 0, 0);

		if (n <= 0)
			return;
		rings -= (int)n;
	}
}

int bell_drain(int bell)
{
	char bytes[DRAIN_BYTES];
	long n;

	do {
		n = SYS_CALL6(SYS_recvfrom, bell, bytes, sizeof(bytes),
			      MSG_DONTWAIT, 0, 0);
	} while (n == (long)sizeof(bytes));
	return n == 0 || n == -ECONNRESET;
}
