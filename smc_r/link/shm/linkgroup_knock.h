/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup_knock: a client that shares a link group with each process that may
 * accept it says beforehand which element it would take of each.
 *
 * It writes a random token into these elements, and the BPF program takes the
 * token along to the socket that one of the processes accepts (option.h). So
 * the kernel ties an element to the connection, and memory that only two
 * processes have ties it to the group. The end that changes the token first
 * decides: the server takes the element, or the client takes the token back,
 * because it has waited long enough or another server took it.
 *
 * An element may be knocked at when both ends are done with its last use: the
 * word is open, and the client has released it.
 *
 * Locking: engine lock held by the caller, but for the first function.
 */
#ifndef SMC_R_LINKGROUP_KNOCK_H
#define SMC_R_LINKGROUP_KNOCK_H

#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/os/option.h"

/* ---- client ---- */

/* Has any group ever accepted connections to such a port? No lock needed. */
bool linkgroup_knock_is_likely(uint16_t port);

/* An element that a client knocks at; taken, like one that was named
 * (linkgroup_take_named). */
struct knocked {
	struct rmb *rmb;
	uint32_t element;
	uint32_t group; /* its number */
	uint32_t rings; /* that the client's bell for bytes had then */
	int bell;       /* this one */
	bool held;      /* must be given back */
};

struct knocks {
	uint64_t token;
	uint32_t count;
	bool all; /* nobody else has accepted at the port lately */
	bool all_acceptors_known; /* besides, the last ones were answered */
	struct knocked at[OPTION_KNOCKS_MAX];
};

/* Knocks at an element of each group that accepted at this port lately. False:
 * there is none, or it does not pay. */
bool linkgroup_knock(uint16_t port, struct knocks *k);
/* Fills in what the kernel is to bring. */
void linkgroup_knock_describe(const struct knocks *k, struct option_knock *o);

enum knocking {
	KNOCKING_WAITS,
	KNOCKING_TAKING, /* any moment now */
	KNOCKING_TAKEN,
};

/* Tells what became of it. No lock is needed while it is not given back. */
enum knocking linkgroup_knock_look(const struct knocked *at, uint64_t token);

/* Says that the caller goes to sleep on its bell for bytes, which rings when
 * the element is taken. False: it need not. No lock needed, as before. */
bool linkgroup_knock_sleeps(const struct knocked *at, uint64_t token);

/* The client waits no longer. False: the server was first. */
bool linkgroup_knock_take_back(const struct knocked *at, uint64_t token);
/* Gives an element back that was taken back. reuse false: it never is. */
void linkgroup_knock_give(struct knocked *at, bool reuse);

/* This group's server has accepted a connection to the port. */
void linkgroup_knock_learn(struct linkgroup *g, uint16_t port);
/* A knock was answered, and speaks for all groups that it was out at, where no
 * other process accepts; or a process accepted at whose group there was none:
 * then some of the next connections do without, more and more. */
void linkgroup_knock_was_met(const struct knocks *k,
			     const struct knocked *taken);
void linkgroup_knock_was_vain(uint32_t group_number);

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
/* The server is done with the last use of the element, and nobody knocks. */
bool linkgroup_knock_is_open(const struct rmb_element *e);
/* The server is done with the last use. */
void linkgroup_knock_open(struct rmb_element *e);

#endif
