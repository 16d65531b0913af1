/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rc_carrier: the TCP stream under a handshake. */
#include "smc_r/service/rc_carrier.h"

#include <errno.h>
#include <sys/socket.h>

ssize_t rc_carrier_peek(int tcp, void *out, size_t n)
{
	ssize_t k;

	do
		k = recv(tcp, out, n, MSG_PEEK | MSG_DONTWAIT);
	while (k < 0 && errno == EINTR);
	return k < 0 ? -errno : k;
}

int rc_carrier_take(int tcp, size_t n)
{
	char gone[256];

	while (n > 0) {
		size_t most = n < sizeof(gone) ? n : sizeof(gone);
		ssize_t k = recv(tcp, gone, most, MSG_DONTWAIT);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? -errno : -EPIPE;
		n -= (size_t)k;
	}
	return 0;
}

int rc_carrier_send(int tcp, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t k = send(tcp, at, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		at += k;
		n -= (size_t)k;
	}
	return 0;
}
