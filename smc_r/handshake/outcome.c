/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* outcome: what a connection of a server was like. */
#include "smc_r/handshake/outcome.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>

#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"
#include "smc_r/peer/offer.h"
#include "smc_r/peer/registry.h"
#include "smc_r/peer/settings.h"

#define NS_PER_US 1000u
#define NS_PER_MS 1000000u

/* This process has one. Threads that meet here lose a note. */
static struct worth_notes notes;

static bool ask_tcp(int fd, struct worth_ends *e, uint64_t now_ns)
{
	struct tcp_info i = {0};

	e->count = worth_stands_for(&notes, (uint32_t)(now_ns / NS_PER_MS));
	if (!e->count ||
	    sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, sizeof(i)) < 0)
		return false;
	e->bytes = i.tcpi_bytes_acked + i.tcpi_bytes_received;
	e->requests = i.tcpi_data_segs_in;
	return true;
}

void outcome_tell(const struct connection *c, int fd)
{
	const struct status_slot *slot = c->slot;
	struct worth_ends e = {.count = 1, .began = WORTH_BY_KNOCK};
	bool in_memory = connection_phase(c) == PHASE_ACTIVE;
	uint64_t now;

	if (slot->role != STATUS_SERVER || !settings_learn())
		return;
	e.bytes =
	    relaxed_load(&slot->rx.position) + relaxed_load(&slot->tx.position);
	e.requests = relaxed_load(&slot->rx.requests);
	if (!registry_is_open()) {
		if (in_memory && worth_loss_us(&e) < WORTH_KNOCK_US / 2)
			offer_moved(
			    fd, &(struct option_moved){e.bytes, e.requests});
		return;
	}
	now = sys_now_ns();
	e.began = !in_memory                ? WORTH_ON_TCP
		  : c->maker != process.pid ? WORTH_FOR_ANOTHER
					    : WORTH_BY_CLC;
	e.life_us = (now - c->handshake.begun_ns) / NS_PER_US;
	if (in_memory || ask_tcp(fd, &e, now))
		registry_note_ends(slot->local_port, &e);
}
