/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup_client: how a client comes by the element that a CLC Accept names:
 * channels that servers made, and the RMBs that came over them.
 */
#include "smc_r/link/shm/linkgroup.h"

#include <errno.h>
#include <string.h>

#include "smc_r/link/shm/linkgroup_deaths.h"
#include "smc_r/link/shm/linkgroup_list.h"
#include "smc_r/link/shm/linkgroup_rmb.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/identity.h"
#include "smc_r/peer/rendezvous.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/segment.h"

#define SILENCE_NS      1000000000u /* a new channel may be silent */
/* A stranger may bring more for as long as we look, and others wait meanwhile:
 * what is left is for the next look. */
#define KNOCKS_A_LOOK   8192u
#define MESSAGES_A_LOOK 64u
/* So many channels may wait for the Accept that names them: of one user, of all
 * together, and of those that have said nothing. Where there are more the
 * oldest give way. */
#define WAITING_USER    32u
#define WAITING_ALL     128u
#define SILENT_MAX      8u

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
 * time after the channel, as another one makes us look. It stays in the socket,
 * with the descriptors that it brings: anybody can send one. */
static void hear_server(struct linkgroup *g)
{
	struct rendezvous_message m;
	int result = rendezvous_peek(g->channel, &m);

	if (result == -EAGAIN && sys_left_ns(g->silent_ns) > 0)
		return;
	if (result < 0 ||
	    memcmp(m.client_id, identity_own(), PEER_ID_BYTES) != 0) {
		linkgroup_list_hang_up(g);
		return;
	}
	g->silent_ns = 0;
	memcpy(g->peer_id, m.server_id, PEER_ID_BYTES);
	memcpy(g->nonce, m.nonce, NONCE_BYTES);
	memcpy(g->proof, m.proof, NONCE_BYTES);
}

/* The newest stand first on the list. */
static void bound_waiting(uint32_t user)
{
	unsigned of_user = 0, silent = 0, all = 0;

	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next) {
		if (!g->waits || g->channel < 0)
			continue;
		all++;
		of_user += g->peer_user == user;
		silent += g->silent_ns != 0;
		if (all > WAITING_ALL ||
		    (g->peer_user == user && of_user > WAITING_USER) ||
		    (g->silent_ns && silent > SILENT_MAX))
			linkgroup_list_hang_up(g);
	}
	linkgroup_list_bury();
}

/* Takes the next channel that somebody made to us, which stands first on the
 * list then, unless it was closed. 0 or -errno. */
static int accept_one(void)
{
	static const uint8_t nobody[PEER_ID_BYTES];
	struct rendezvous_peer peer;
	struct linkgroup *g;
	int channel = identity_accept();

	if (channel < 0)
		return channel;
	g = linkgroup_list_new(SIDE_CLIENT, nobody);
	if (!g) {
		private_fd_close(channel);
		return -ENOMEM;
	}
	peer = rendezvous_peer(channel);
	g->channel = channel;
	g->peer_pid = peer.pid;
	g->peer_user = peer.user;
	g->waits = true;
	g->silent_ns = sys_end_in_ns(SILENCE_NS);
	linkgroup_list_add(g);
	hear_server(g);
	bound_waiting(peer.user);
	return 0;
}

static bool is_named(const struct linkgroup *g, const uint8_t *peer_id,
		     const uint8_t *nonce)
{
	return g->side == SIDE_CLIENT && !g->silent_ns &&
	       memcmp(g->peer_id, peer_id, PEER_ID_BYTES) == 0 &&
	       memcmp(g->nonce, nonce, NONCE_BYTES) == 0;
}

static struct linkgroup *find_by_nonce(const uint8_t *peer_id,
				       const uint8_t *nonce)
{
	for (struct linkgroup *g = linkgroup_list_first(); g; g = g->next) {
		if (g->silent_ns && g->channel >= 0)
			hear_server(g);
		if (is_named(g, peer_id, nonce))
			return g;
	}
	return NULL;
}

/* Takes channels until this one comes. NULL: *lost is why, if one was lost, or
 * 0. */
static struct linkgroup *find_new(const uint8_t *peer_id, const uint8_t *nonce,
				  int *lost)
{
	linkgroup_list_drop_dead();
	for (unsigned i = 0; i < KNOCKS_A_LOOK; i++) {
		int result = accept_one();
		struct linkgroup *g = linkgroup_list_first();

		if (result < 0 && result != -EAGAIN)
			*lost = result;
		if (result < 0 && result != -ENOMEM)
			break;
		if (g && is_named(g, peer_id, nonce))
			return g;
	}
	return NULL;
}

void linkgroup_empty_queue(void)
{
	ENGINE_LOCKED();
	linkgroup_list_drop_dead();
	for (unsigned i = 0; i < RENDEZVOUS_QUEUE; i++) {
		int result = accept_one();

		if (result < 0 && result != -ENOMEM)
			return;
	}
}

/* The Accept has named it: what came over it is the server's. A first message
 * that is lost for want of descriptors does not come again. */
static struct rmb *hear_of_rmb(struct linkgroup *g, uint32_t number, int *lost)
{
	struct rmb *r;

	linkgroup_rmb_trim(g);
	private_fd_begin();
	*lost = read_channel(g);
	private_fd_end();
	r = linkgroup_rmb_find(g, number);
	if (g->waits && r) {
		segment_count(first_contacts);
		linkgroup_list_named(g);
	} else if (g->waits) {
		linkgroup_list_hang_up(g);
	}
	return r;
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
	if (!g)
		g = find_new(peer_id, nonce, &lost);
	if (!g)
		return reason_of(lost);
	r = linkgroup_rmb_find(g, rmb_number);
	if (!r)
		r = hear_of_rmb(g, rmb_number, &lost);
	if (!r)
		return reason_of(lost);
	if (element >= r->map.elements)
		return REASON_SYNC;
	linkgroup_rmb_end_lease(r, element);
	if ((r->busy | r->leaked | r->lent) >> element & 1)
		return REASON_SYNC;
	r->busy |= 1u << element;
	r->references++;
	linkgroup_begin_use(g);
	*rmb = r;
	return REASON_NONE;
}
