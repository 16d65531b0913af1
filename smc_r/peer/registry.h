/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * registry: how two processes of one user and one network namespace find out
 * that both speak SMC where the TCP option is not to be had (no BPF).
 *
 * A client puts its Proposal into the registry, under the cookie of its
 * socket, before it connects. The acceptor asks the kernel (sock_diag) which
 * socket is at the other end, and claims the entry with that cookie. From then
 * on both are committed to CLC, whose answer comes in the TCP stream. An entry
 * that nobody claimed is withdrawn by the client, in one step that excludes a
 * claim: so no CLC byte is ever sent to a process that does not expect it.
 *
 * The file is status/registry in the user's directory, for processes of that
 * user only.
 *
 * Locking: engine lock held by the caller, where nothing else is said; between
 * processes, atomics.
 */
#ifndef SMC_R_REGISTRY_H
#define SMC_R_REGISTRY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "smc_r/protocol/worth.h"

#define REGISTRY_PROPOSAL_MAX 120

/* What ended at ports, at the end of the file. */
#define REGISTRY_PLACES 256u
#define REGISTRY_BYTES  170000u

struct registry_place {
	struct worth worth;
	uint32_t port; /* the last one noted; others may share it */
	uint32_t pad;
};

/* Listeners: a process that would claim accepts on this port. */
int registry_listen(uint16_t port);
void registry_unlisten(uint16_t port);
bool registry_has_listener(uint16_t port);
/* All of this process: it becomes a program that says it anew. */
void registry_unlisten_all(void);

/* Is it open? What there is of this process it may have made known. */
bool registry_is_open(void);

/* What ended at a port, and whether new connections to it are not worth SMC
 * (worth.h). Two ports may share one. No lock. */
void registry_note_ends(uint16_t port, const struct worth_ends *e);
bool registry_refuses(uint16_t port);

/* Client. Returns an entry number from 1, or 0 when there is no registry or no
 * room: then nothing is offered. */
uint32_t registry_offer(uint64_t cookie, const void *proposal, uint32_t bytes);
bool registry_is_claimed(uint32_t entry);
/* True when withdrawn; false when it was claimed meanwhile. */
bool registry_withdraw(uint32_t entry);
/* After a claim: frees the entry. */
void registry_done(uint32_t entry);

/* Server: bytes of the Proposal of the process at the other end of the
 * connection with these names, now claimed; 0 when that end offered nothing.
 * proposal has REGISTRY_PROPOSAL_MAX bytes. */
uint32_t registry_claim(const struct sockaddr_storage *local,
			const struct sockaddr_storage *peer, void *proposal);

/*
 * A child that inherits listeners may accept from its first moment on, whatever
 * its parent closes before the child runs: its entries are made before it is,
 * and it takes them over. After a fork that failed they are freed.
 */
void registry_before_fork(void);
void registry_forked(void);
void registry_fork_failed(void);

#endif
