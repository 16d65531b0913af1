/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * poll_call: one call of poll, as the files that carry it out hand it on:
 * poll_look.c asks, poll_sleep.c waits in the kernel, poll_wait.c decides.
 *
 * A sleep asks the kernel itself: about the kernel's own descriptors poll()
 * asks while it spins, and by the very call in which it sleeps; not once more
 * before and after it. epoll_wait() does the same.
 */
#ifndef SMC_R_POLL_CALL_H
#define SMC_R_POLL_CALL_H

#include <stdint.h>

#include "smc_r/connection/connection.h"
#include "smc_r/connection/sleepers.h"
#include "smc_r/connection/spin.h"
#include "smc_r/epoll/epoll_set.h"
#include "smc_r/poll/poll_wait.h"

#define POLL_PER_FD 3 /* kernel entries that one descriptor may need */

struct poll_call {
	struct pollfd *fds;
	struct pollfd *all; /* for the kernel: each of fds, then bells */
	nfds_t entries;     /* entries of all */
	nfds_t room;        /* entries that fit into all */
	short *notes;       /* one for each of fds */
	nfds_t n;
	const sigset_t *mask;
	bool for_ever;
	bool only_looks;
	bool by_clock; /* time goes on while the process is stopped */
	uint64_t wait_ns;
	uint64_t end_ns;
	struct connection *spun; /* its spin was in vain */
	struct spin spin;        /* of that connection */
	bool crowded;            /* the clock must be looked at, too */
	bool unfenced;           /* some writers leave fences to us */
	bool rung;               /* the last slice was ended by a ring */
	bool slept;              /* what the kernel said of all is in there */
	bool gathered;           /* but not of each bell */
	nfds_t deaths;           /* entry of linkgroup_deaths(), 0: none */
	unsigned slice_ms;       /* the next one */
	struct sleeper call;     /* this sleep */
};

/* The connection of this descriptor that is not plain TCP, or NULL. */
static inline struct connection *poll_member(int fd)
{
	struct connection *c = connection_of(fd);

	return c && connection_phase(c) != PHASE_NATIVE ? c : NULL;
}

/* An epoll instance whose members only we know, or NULL. */
struct epoll *poll_instance(int fd);
bool poll_only_members(const struct pollfd *fds, nfds_t n);

/* ---- one look: fills in revents ---- */

/* Looks at members only. How many are ready. */
int poll_look_members(struct pollfd *fds, nfds_t n);
/* Tells POLLIN and its kin of an instance, as far as they are asked for. */
short poll_instance_bits(const struct pollfd *p);
/* Takes what the kernel said of all, in the same order: of the others, and
 * whether peers of members have ended, *ended. */
void poll_take_answers(struct pollfd *fds, const struct pollfd *all, nfds_t n,
		       bool *ended);
/* A member may become the kernel's between two looks: the sum of both is not
 * what the array says. */
int poll_count_ready(const struct pollfd *fds, nfds_t n);
/* Looks at everything, without waiting. -1 with errno. */
int poll_look_all(struct pollfd *fds, struct pollfd *all, nfds_t n);
/*
 * Ready members need not wait for what the kernel has to say, of the others or
 * of the end of a peer behind bytes that nobody reads, as long as it is heard
 * often enough. Where there are others, never late for a call that only looks,
 * nor for another set than the last one, which may be asked about in turn.
 */
bool poll_kernel_is_due(const struct poll_call *p);
/* The kernel was not asked about the others: nothing is known of them. How many
 * are ready without them. */
int poll_without_kernel(struct poll_call *p);

/* ---- sleeping ---- */

#define POLL_SLICE_FIRST_MS 1

uint64_t poll_left_ns(const struct poll_call *p);
/* Sleeps once, unless something is ready: how many are, 0 to go on, -1 with
 * errno. */
int poll_sleep(struct poll_call *p);

#endif
