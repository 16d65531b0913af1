/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * linkgroup_deaths: a process that sleeps hears that a peer has died.
 *
 * A group without connections holds memory and descriptors for the next one.
 * When its peer has died there is none, and only the channel tells, by hanging
 * up. So all channels sit in one epoll instance, the deaths, and a thread that
 * goes to sleep in a call of ours watches that as well, where there is such a
 * group, or where other threads have connections and may leave one while it
 * sleeps.
 *
 * The instance is made when the first thread is to watch it, and nobody wakes
 * up where nobody dies.
 */
#ifndef SMC_R_LINKGROUP_DEATHS_H
#define SMC_R_LINKGROUP_DEATHS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/link/shm/linkgroup.h"
#include "smc_r/os/process.h"
#include "smc_r/os/relaxed.h"

/* The descriptor that becomes readable when a peer has died, for a thread that
 * goes to sleep; -1: it need not watch. Takes the engine lock, the first time.
 */
int linkgroup_deaths(void);
/* Tells that instance from those before and after it; 0: there is none. */
uint32_t linkgroup_deaths_generation(void);
extern _Atomic int linkgroups_idle; /* groups without a connection */

/* Is there a group that only a peer's death makes useless? No lock needed. */
static inline bool linkgroup_deaths_matter(void)
{
	return relaxed_load(&linkgroups_idle) > 0 && !process.confined;
}

/* It is readable: gives back what the dead held. Takes the engine lock. */
void linkgroup_deaths_heard(void);

/* Sleeps as ppoll() does, until end_ns (UINT64_MAX: for ever), with the deaths
 * as entry `at`: they are heard of inside of the sleep. Signals are let in by
 * the kernel's call alone, or one that comes while they are heard of would not
 * end the program's. */
int linkgroup_deaths_poll(struct pollfd *p, nfds_t n, nfds_t at,
			  uint64_t end_ns, const sigset_t *mask);

/* ---- engine lock held ---- */

/* Closes the instance, if no group needs it now. */
void linkgroup_deaths_give_back(void);

/* The group's channel is watched from here on, and no more. */
void linkgroup_deaths_watch(const struct linkgroup *g);
void linkgroup_deaths_forget(const struct linkgroup *g);

/* A group that stands on the list has one connection more, or less. */
void linkgroup_begin_use(struct linkgroup *g);
void linkgroup_end_use(struct linkgroup *g);
/* So many groups more, or fewer, stand there without any. */
void linkgroup_deaths_count(int groups);

/* In the child of a fork. */
void linkgroup_deaths_forked(void);

#endif
