/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup_rmb: the RMBs of one link group: made by the server, as large as
 * memory allows, adopted by the client, given back when nobody needs them.
 *
 * Ownership: the group (linkgroup.h).
 * Locking:   engine lock held by the caller.
 */
#ifndef SMC_R_LINKGROUP_RMB_H
#define SMC_R_LINKGROUP_RMB_H

#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/peer/rendezvous.h"

/* Server: one RMB more, which the peer has been told of over g->channel. 0, or
 * a reason (reason.h). */
uint32_t linkgroup_rmb_add(struct linkgroup *g, const struct snapshot *s);
/* Client: the RMB that the server announced by m. The count descriptors are the
 * RMB's from here on; they are closed if it cannot be mapped, or is known. */
void linkgroup_rmb_adopt(struct linkgroup *g,
			 const struct rendezvous_message *m, int *fds,
			 int count);

/* Finds an RMB by its number within the group; NULL if there is none. */
struct rmb *linkgroup_rmb_find(struct linkgroup *g, uint32_t number);
/* Is element i free on both sides? For the server only. */
bool linkgroup_rmb_has_free(struct rmb *r, uint32_t i);

/* Is it unused on this side, but perhaps not on the other; or used by forked
 * processes of this side, but not on the other? */
bool linkgroup_rmb_is_idle(struct rmb *r, uint32_t i);
/* Takes back what was lent and is not used any more by either side. */
void linkgroup_rmb_reclaim(struct linkgroup *g);
/* Takes element i back, if its lease has ended. */
void linkgroup_rmb_end_lease(struct rmb *r, uint32_t i);

/* Server: makes element i ready for a new connection, which takes it. */
void linkgroup_rmb_take(struct rmb *r, uint32_t i);

/* Counts the idle elements of all its RMBs. */
uint32_t linkgroup_rmb_idle(const struct linkgroup *g);

/* Gives back the RMBs that nobody needs: as server, unless the next connections
 * are likely to want them; as client, those that the server retired; when the
 * group was hung up, all of them. */
void linkgroup_rmb_trim(struct linkgroup *g);
/* Closes the bells of all elements that no connection of ours has: they are
 * never used again. */
void linkgroup_rmb_shed(struct linkgroup *g);
/* Gives one back; it stands on no group's list. */
void linkgroup_rmb_free(struct rmb *r);
/* Runs in the child of a fork: the RMB is the parent's, and stays mapped while
 * connections of this process are in it. */
void linkgroup_rmb_abandon(struct rmb *r);

#endif
