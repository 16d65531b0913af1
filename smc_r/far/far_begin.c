/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* far_begin: a connection to another host begins. */
#include "smc_r/far/far_begin.h"

#include <errno.h>
#include <string.h>

#include "smc_r/connection/connection_ends.h"
#include "smc_r/far/far_channel.h"
#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/peer/identity.h"
#include "smc_r/protocol/reason.h"

#define HANDSHAKE_PART 2 /* divides process.handshake_ms */

static struct far_hello hello_of(const struct connection *c)
{
	struct far_hello h = {.magic = FAR_MAGIC,
			      .version = FAR_VERSION,
			      .kind = FAR_BEGIN,
			      .server = c->slot->role == STATUS_SERVER};

	memcpy(h.process_id, identity_own(), PEER_ID_BYTES);
	return h;
}

static uint32_t attach(struct connection *c, const struct far_answer *a)
{
	struct rmb *rmb;
	uint32_t reason = linkgroup_take_named(a->service_id, a->nonce,
					       a->rmb_number, a->element, &rmb);

	if (reason)
		return reason;
	connection_attach(c, rmb, a->element, SIDE_CLIENT);
	c->tcp.silent = true;
	c->slot->link = STATUS_LINK_RC;
	return REASON_NONE;
}

static uint32_t begin(struct connection *c, int fd, int channel)
{
	struct far_hello hello = hello_of(c);
	struct far_answer a;
	uint32_t reason;
	int error = far_channel_ask(channel, fd, &hello, &a,
				    process.handshake_ms / HANDSHAKE_PART);

	if (error)
		return error == -ETIMEDOUT ? REASON_TIMEOUT : REASON_RENDEZVOUS;
	if (a.reason)
		return a.reason;
	reason = attach(c, &a);
	if (reason)
		return reason;
	inject_nap();
	/* It died, or gave up, in this moment: it has said nothing on TCP. */
	if (far_channel_confirm(channel) < 0) {
		c->tcp.silent = false;
		connection_detach(c, false);
		return REASON_RENDEZVOUS;
	}
	connection_use_smc(c);
	return REASON_NONE;
}

enum far_begun far_begin(struct connection *c, int fd, uint32_t *reason)
{
	uint8_t id[PEER_ID_BYTES];
	int channel = -ENOENT;

	ENGINE_LOCKED();
	if (identity_get(id) == 0)
		channel = far_channel_open(fd);
	if (channel < 0)
		return FAR_NO_SERVICE;
	*reason = begin(c, fd, channel);
	private_fd_close(channel);
	return *reason ? FAR_REFUSED : FAR_BEGUN;
}
