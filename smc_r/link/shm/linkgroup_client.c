/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup_client: how a client comes by the element that a CLC Accept names:
 * channels that servers made, and the RMBs that came over them.
 */
#include "smc_r/link/shm/linkgroup.h"

#include <errno.h>
#include <string.h>

#include "smc_r/link/shm/linkgroup_list.h"
#include "smc_r/link/shm/linkgroup_rmb.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/identity.h"
#include "smc_r/peer/rendezvous.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

#define SILENCE_NS      1000000000u /* a new channel may be silent */
#define SILENT_MAX      8           /* servers given that time at once */
/* A stranger may bring more for as long as we look, and others wait meanwhile:
 * what is left is for the next look. */
#define KNOCKS_A_LOOK   8192u
#define MESSAGES_A_LOOK 64u

/* Returns 0, or why a message was lost. */
static int read_channel(struct linkgroup *g)
{
	struct rendezvous_message m;
	int fds[RENDEZVOUS_FDS_MAX];
	int count = 0;

	for (unsigned i = 0; i < MESSAGES_A_LOOK; i++) {
		count = rendezvous_receive(g->channel, &m, fds);
		if (count <= 0)
			break;
		linkgroup_rmb_adopt(g, &m, fds, count);
	}
	return count == -EAGAIN || count > 0 ? 0 : count;
}

/* The server will hear that it is this, and not an Accept out of step. */
static uint32_t reason_of(int error)
{
	return error == -EMFILE || error == -ENFILE ? REASON_DESCRIPTORS
						    : REASON_SYNC;
}

/* The first message of a server tells whose channel it is. It may come some
 * time after the channel, as another one makes us look. 0, or why it was lost.
 */
static int hear_server(struct linkgroup *g, uint64_t timeout_ns)
{
	struct rendezvous_message m;
	int fds[RENDEZVOUS_FDS_MAX];
	int count = rendezvous_receive(g->channel, &m, fds);

	if (count == -EAGAIN && sys_now_ns() - g->since_ns < timeout_ns)
		return 0;
	if (count <= 0 ||
	    memcmp(m.client_id, identity_own(), PEER_ID_BYTES) != 0) {
		int result = count < 0 ? count : 0;

		while (count > 0)
			private_fd_close(fds[--count]);
		private_fd_close(g->channel);
		g->channel = -1;
		return result;
	}
	g->since_ns = 0;
	g->peer_pid = rendezvous_peer_pid(g->channel);
	memcpy(g->peer_id, m.server_id, PEER_ID_BYTES);
	memcpy(g->nonce, m.nonce, NONCE_BYTES);
	memcpy(g->proof, m.proof, NONCE_BYTES);
	linkgroup_rmb_adopt(g, &m, fds, count);
	segment_count(first_contacts);
	return 0;
}

/* Takes channels that servers have made since. 0, or why one was lost. */
static int accept_all(void)
{
	static const uint8_t nobody[PEER_ID_BYTES];
	unsigned silent = 0;
	int lost = 0;
	int channel = -EAGAIN;

	for (unsigned i = 0; i < KNOCKS_A_LOOK; i++) {
		struct linkgroup *g;

		channel = identity_accept();
		if (channel < 0)
			break;
		g = linkgroup_list_new(SIDE_CLIENT, nobody);
		if (!g) {
			private_fd_close(channel);
			lost = -ENOMEM;
			continue;
		}
		g->channel = channel;
		g->since_ns = sys_now_ns();
		linkgroup_list_add(g);
	}
	/* The newest first: of a flood of strangers, few are waited for. */
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next) {
		int result;

		if (!g->since_ns || g->channel < 0)
			continue;
		result = hear_server(g, silent < SILENT_MAX ? SILENCE_NS : 0);
		silent += g->since_ns && g->channel >= 0;
		lost = result < 0 ? result : lost;
	}
	return channel >= 0 || channel == -EAGAIN ? lost : channel;
}

static struct linkgroup *find_by_nonce(const uint8_t *peer_id,
				       const uint8_t *nonce)
{
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next)
		if (g->side == SIDE_CLIENT &&
		    memcmp(g->peer_id, peer_id, PEER_ID_BYTES) == 0 &&
		    memcmp(g->nonce, nonce, NONCE_BYTES) == 0)
			return g;
	return NULL;
}

uint32_t linkgroup_take_named(const uint8_t peer_id[PEER_ID_BYTES],
			      const uint8_t nonce[NONCE_BYTES],
			      uint32_t rmb_number, uint32_t element,
			      struct rmb **rmb)
{
	struct linkgroup *g = find_by_nonce(peer_id, nonce);
	struct rmb *r;
	int lost = 0;

	/* What a child by vfork is sent, its parent would know by numbers that
	 * are none in its own table. */
	if (process_may_be_foreign())
		return REASON_FORK;
	if (!g) {
		linkgroup_list_drop_dead();
		lost = accept_all();
		g = find_by_nonce(peer_id, nonce);
	}
	if (!g)
		return reason_of(lost);
	r = linkgroup_rmb_find(g, rmb_number);
	if (!r) {
		linkgroup_rmb_trim(g);
		lost = read_channel(g);
		r = linkgroup_rmb_find(g, rmb_number);
	}
	if (!r)
		return reason_of(lost);
	if (element >= r->map.elements)
		return REASON_SYNC;
	linkgroup_rmb_end_lease(r, element);
	if ((r->busy | r->leaked | r->lent) >> element & 1)
		return REASON_SYNC;
	r->busy |= 1u << element;
	r->references++;
	g->connections++;
	*rmb = r;
	return REASON_NONE;
}
