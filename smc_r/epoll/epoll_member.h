/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * epoll_member: connections that an instance has as members.
 *
 * Ownership: a member belongs to its instance; its connection lists it as well.
 *            One that was dropped stays mapped for a while, as a thread may
 *            stand on it.
 * Locking:   engine lock, unless a function says otherwise.
 */
#ifndef SMC_R_EPOLL_MEMBER_H
#define SMC_R_EPOLL_MEMBER_H

#include "smc_r/epoll/epoll_set.h"
#include "smc_r/epoll/epoll_verdict.h"

/* The one that was registered by this number, parked ones too, or NULL. */
struct epoll_member *epoll_member_find(struct epoll *e, int fd);
/* The new member is not attached yet. NULL: no memory. */
struct epoll_member *epoll_member_add(struct epoll *e, struct connection *c,
				      int fd, const struct epoll_event *event);
void epoll_member_drop(struct epoll_member *m);
/* They take it out of what looks go through, and back in. */
void epoll_member_rest(struct epoll_member *m);
void epoll_member_rouse(struct epoll_member *m);
/* Drops all of them, and their table: the instance goes. */
void epoll_members_end(struct epoll *e);

/* Moves a member whose connection is plain TCP to the kernel. */
void epoll_member_to_kernel(struct epoll_member *m);
/* Moves all members that only wait for an edge to the kernel, without the lock:
 * another process will use the instance. */
void epoll_give_all(struct epoll *e);
/* Takes out members of a connection that goes to TCP: connection_on_native. */
void epoll_members_leave(struct connection *c, bool gone);

/* What is an edge once more: a bit of what was told is turned over. */
enum epoll_again {
	AGAIN_NOTHING = 0,
	AGAIN_END = EPOLL_END_PEER,           /* an end */
	AGAIN_INPUT = 1 << EPOLL_PLACE_SHIFT, /* bytes that are there */
};
/* c may have changed: wakes threads that sleep in instances that have it. */
void epoll_wake_members(struct connection *c, enum epoll_again again);
/* Somebody waits for room in a ring that is full. */
void epoll_stalled(struct connection *c);
/* A call on c met a full ring, and does not wait. */
void epoll_refused(struct connection *c);

/* The number fd of c is about to go. */
void epoll_forget(struct connection *c, int fd);

/*
 * Members in their handshake cost the others nothing.
 *
 * A handshake goes on by what TCP tells, which the shadow hears, and by the
 * clock. So a member that had nothing to tell is not looked at again before the
 * shadow has heard from its socket, or its own time is over. A server that
 * awaits a Proposal, and hides nothing from its program, has no time: where
 * many do, they rest. No look goes through them until the shadow has heard.
 */
#define REST_MIN 16u /* so many may be looked at in vain */

/* Would a look at it find what the last one found? *now: sys_now_ns, or 0 until
 * somebody has to know it. */
bool epoll_is_quiet(const struct epoll_member *m, uint64_t *now);
/* A look found nothing at that time; so much had been told before it (m->news).
 */
void epoll_note_quiet(struct epoll_member *m, uint32_t news, uint64_t now);
/* Sends those to rest that may. Takes the engine lock. */
void epoll_rest(struct epoll *e);

#endif
