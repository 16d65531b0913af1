/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup_list: the link groups of this process, newest first.
 *
 * Locking: engine lock held by the caller.
 */
#ifndef SMC_R_LINKGROUP_LIST_H
#define SMC_R_LINKGROUP_LIST_H

#include "smc_r/link/shm/linkgroup.h"

/* A group that stands on no list, without channel and RMB; NULL: no memory. */
struct linkgroup *linkgroup_list_new(int side, const uint8_t *peer_id);
/* Frees it with its RMBs and its channel; it stands on no list. */
void linkgroup_list_free(struct linkgroup *g);

/* The list owns it from here on. */
void linkgroup_list_add(struct linkgroup *g);
/* A channel that waited is a server's: an Accept has named it. */
void linkgroup_list_named(struct linkgroup *g);
struct linkgroup *linkgroup_list_first(void);
/* Is there one? No lock needed where there is one thread. */
bool linkgroup_list_has_any(void);
/* The group with this living peer in which we have this side, or NULL. */
struct linkgroup *linkgroup_list_find(int side, const uint8_t *peer_id);

/* The peer is gone, or the group is not to be used again. */
void linkgroup_list_hang_up(struct linkgroup *g);
/* Frees the groups that were hung up and have no connection left, and the RMBs
 * of the others where no connection is. */
void linkgroup_list_bury(void);
/* Hangs up where the peer is gone, and buries. Costs one poll a group, so it is
 * done when one is made or sought. */
void linkgroup_list_drop_dead(void);

/* In the child of a fork: empties the list. */
void linkgroup_list_forked(void);

#endif
