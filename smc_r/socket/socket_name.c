/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socket_name: what a socket tells of a peer that has gone. */
#include "smc_r/socket/socket_name.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/fallback/tcp_end.h"
#include "smc_r/handshake/handshake.h"
#include "smc_r/os/sys.h"

bool socket_was_left(struct connection *c, int fd)
{
	uint32_t phase = connection_phase(c);

	if (phase == PHASE_HANDSHAKE)
		handshake_step(c, fd);
	else if (phase == PHASE_ACTIVE)
		tcp_has_ended(c, fd);
	return connection_was_left(c);
}

/* The socket's own name has the peer's family, and its scope: both are on this
 * host. */
static socklen_t peer_name(const struct connection *c, int fd,
			   struct sockaddr_storage *name)
{
	struct sockaddr_in6 *v6 = (void *)name;
	struct sockaddr_in *v4 = (void *)name;
	socklen_t n = sizeof(*name);

	if (SYS_CALL3(SYS_getsockname, fd, name, &n) < 0)
		return 0;
	if (name->ss_family == AF_INET6) {
		v6->sin6_addr = c->slot->peer;
		v6->sin6_port = htons(c->slot->peer_port);
	} else {
		memcpy(&v4->sin_addr, &c->slot->peer.s6_addr[12], 4);
		v4->sin_port = htons(c->slot->peer_port);
	}
	return n;
}

int socket_peer_name(struct connection *c, int fd, struct sockaddr *a,
		     socklen_t *n)
{
	struct sockaddr_storage name;
	socklen_t length;

	if (!socket_was_left(c, fd) || !(length = peer_name(c, fd, &name))) {
		errno = ENOTCONN;
		return -1;
	}
	memcpy(a, &name, *n < length ? *n : length);
	*n = length;
	return 0;
}
