/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* messages_send: our CLC messages of one connection, made and sent. */
#include "smc_r/handshake/messages_send.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

#include "smc_r/connection/proposal.h"
#include "smc_r/os/sys.h"
#include "smc_r/status/segment.h"

bool messages_have_ended(int fd)
{
	return sys_poll(fd, POLLRDHUP, 0);
}

/* They come before all that the program sends. A client's SYN counts as one
 * byte, a server's does not. */
uint32_t messages_unheard(const struct connection *c, int fd)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);
	uint32_t said = atomic_load(&c->opening.said);
	uint64_t heard;

	if (!said ||
	    SYS_CALL6(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &n, 0) <
		0 ||
	    n < offsetof(struct tcp_info, tcpi_bytes_received))
		return 0;
	heard = info.tcpi_bytes_acked;
	if (heard > 0 && c->slot->role == STATUS_CLIENT)
		heard--;
	return heard < said ? said - (uint32_t)heard : 0;
}

static void send_bytes(struct connection *c, int fd, const void *bytes, int n)
{
	long sent = SYS_CALL6(SYS_sendto, fd, bytes, n,
			      MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

	if (sent > 0)
		atomic_fetch_add(&c->opening.said, (uint32_t)sent);
}

static void send_decline(struct connection *c, int fd)
{
	struct clc_decline d = {0};
	uint8_t bytes[64];
	int n;

	clc_decline(connection_clc(c), &d);
	proposal_identity(d.peer_id);
	n = clc_encode_decline(&d, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(c, fd, bytes, n);
	segment_count(declines_sent);
}

static void send_answer(struct connection *c, int fd, int type)
{
	struct clc_accept_confirm m = {.type = (uint8_t)type};
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	proposal_describe(c, &m);
	n = clc_encode_accept_confirm(&m, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(c, fd, bytes, n);
}

/* A Proposal that went by the registry is not sent again. */
static void send_proposal(struct connection *c, int fd)
{
	uint8_t bytes[CLC_BYTES_MAX];
	int n;

	if (c->opening.offer_entry)
		return;
	n = proposal_bytes(&c->slot->local, bytes, sizeof(bytes));
	if (n > 0)
		send_bytes(c, fd, bytes, n);
}

void messages_send(struct connection *c, int fd, enum clc_send what)
{
	switch (what) {
	case CLC_SEND_NOTHING:
		break;
	case CLC_SEND_PROPOSAL:
		send_proposal(c, fd);
		break;
	case CLC_SEND_ACCEPT:
		send_answer(c, fd, CLC_ACCEPT);
		break;
	case CLC_SEND_CONFIRM:
		send_answer(c, fd, CLC_CONFIRM);
		break;
	case CLC_SEND_DECLINE:
		if (c->slot->role != STATUS_SERVER || !messages_have_ended(fd))
			send_decline(c, fd);
		break;
	}
}
