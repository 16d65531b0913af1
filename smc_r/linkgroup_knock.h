/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup_knock: a client that shares a link group with who will probably
 * accept it says beforehand which element it would take.
 *
 * It writes a random token into the element, and the BPF program takes the
 * token along to the socket that the server accepts (option.h). So the element
 * is tied to the connection by the kernel, and to the group by memory that only
 * the two processes have. Whoever changes the token first decides: the server,
 * who takes the element, or the client, who has waited long enough.
 *
 * An element may be knocked at when both ends are done with its last use: the
 * word is open, and the client has released it.
 *
 * Locking: engine lock held by the caller, but for the first function.
 */
#ifndef SMC_R_LINKGROUP_KNOCK_H
#define SMC_R_LINKGROUP_KNOCK_H

#include "linkgroup.h"
#include "option.h"

/* ---- client ---- */

/* Has any group ever accepted connections to such a port? No lock needed. */
bool linkgroup_knock_is_likely(uint16_t port);

/* Knocks at an element of the group that last accepted at this port. False:
 * there is none, or it does not pay. The element is taken, like one that was
 * named (linkgroup_take_named). */
bool linkgroup_knock(uint16_t port, struct rmb **rmb, uint32_t *element,
		     struct option_knock *knock);

enum knocking {
	KNOCKING_WAITS,
	KNOCKING_TAKING, /* any moment now */
	KNOCKING_TAKEN,
};

/* What became of it. No lock needed. */
enum knocking linkgroup_knock_look(const struct rmb_element *e, uint64_t token);

/* Says that the caller goes to sleep on its bell for bytes, which rings when
 * the element is taken. False: it need not. No lock needed. */
bool linkgroup_knock_sleeps(struct rmb_element *e, uint64_t token);

/* The client waits no longer. False: the server was first. sleeps: another
 * thread does; the element is kept until linkgroup_knock_give(). */
bool linkgroup_knock_take_back(struct rmb *rmb, uint32_t element,
			       uint64_t token, bool sleeps);
/* Gives an element back that was knocked at in vain. */
void linkgroup_knock_give(struct rmb *rmb, uint32_t element, bool reuse);

/* This group's server has accepted a connection to the port. */
void linkgroup_knock_learn(struct linkgroup *g, uint16_t port);
/* A knock at this group was answered; or somebody else accepted: then some of
 * the next connections do without one, more and more of them. */
void linkgroup_knock_was_met(struct linkgroup *g);
void linkgroup_knock_was_vain(uint32_t group_number);
/* Were the last ones answered? */
bool linkgroup_knock_is_sure(const struct linkgroup *g);
/* Do all groups that accepted at this port belong to one process? */
bool linkgroup_knock_meets_one(uint16_t port);

/* In the child of a fork. */
void linkgroup_knock_forked(void);

/* ---- server ---- */

/* Takes the element that a client knocked at. False: it is not ours, or the
 * client was first. The client goes on after linkgroup_knock_answer(), to which
 * *asleep belongs. */
bool linkgroup_take_knocked(const struct option_knock *knock, struct rmb **rmb,
			    uint32_t *element, bool *asleep);
void linkgroup_knock_answer(struct rmb *rmb, uint32_t element, bool asleep);

/* No client may knock at this element, or at any of the RMB, from here on.
 * False: one has, and nothing is changed. */
bool linkgroup_knock_shut(struct rmb_element *e);
bool linkgroup_knock_shut_all(struct rmb *rmb);
/* The server is done with the last use of the element. */
void linkgroup_knock_open(struct rmb_element *e);

#endif
