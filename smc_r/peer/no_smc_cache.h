/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * no_smc_cache: the server without the engine that this process met last.
 *
 * Before a client connects to an address of its own host it asks the kernel
 * whether any listener at the port has the engine, and offers SMC. A client of
 * one without mostly connects again and again. So the answer is good for some
 * milliseconds after a connection to that server has come about; a server with
 * the engine that takes its place meanwhile gets these few connections on TCP.
 * Then one thread asks, and all others go on with the answer until it has
 * another one. A connect() that failed proves nothing: its server may be about
 * to begin.
 *
 * Locking: none; all may be called by any thread.
 */
#ifndef SMC_R_NO_SMC_CACHE_H
#define SMC_R_NO_SMC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define NO_SMC_CACHE_MS 10

/* A moment ago there was nobody with the engine, and somebody without. False:
 * this thread is to ask. */
bool no_smc_cache_has(uint16_t port);

/* The kernel has said that there is nobody with the engine; refuses: that there
 * is, and offers no SMC now. */
void no_smc_cache_note(uint16_t port, bool refuses);

/* Its last answer was EBUSY: the place offers no SMC. */
bool no_smc_cache_refuses(uint16_t port);

/* A connection came about behind that; later ones change nothing. */
void no_smc_cache_confirm(uint16_t port);

/* There is somebody with the engine, or nobody at all. */
void no_smc_cache_drop(uint16_t port);

/* This process listens itself. */
void no_smc_cache_clear(void);

#endif
