/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * settings: the settings of smc_r0, as this process last read them.
 *
 * A look costs one load of the generation word; the file is read again only
 * when that moved. Without a run directory it is looked for ten times a
 * second at most.
 *
 * Locking: engine lock held by the caller, but for settings_moved(),
 *          settings_may_match(), settings_has_address() and settings_learn().
 */
#ifndef SMC_R_SETTINGS_H
#define SMC_R_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/snapshot.h"

/*
 * The current settings, or NULL with *reason (reason.h) set: device not
 * Available, this program excluded, found to enter the kernel past libc, or
 * switched off by SMC_R=0. Valid until the engine lock is given back.
 */
const struct snapshot *settings_now(uint32_t *reason);

/* False for a program that enters the kernel past libc. The first call looks at
 * all its instructions, so it comes when a connection may be ours. */
bool settings_serve(void);

/* Names what settings_now last saw; never 0. */
uint64_t settings_generation(void);
/* Has anything been published since? One load; no lock needed. */
bool settings_moved(uint64_t since);

/* False when no connection to this port can be ours. A few loads, no lock. */
bool settings_may_match(uint16_t server_port);

/* Are short connections left to TCP (worth.h)? One load, no lock. */
bool settings_learn(void);

/* One of the device's, as they were last read: an address of this host. A few
 * loads, no lock. IPv4 as ::ffff:a.b.c.d. */
bool settings_has_address(const struct in6_addr *address);
/* That, or loopback. */
bool settings_is_here(const struct in6_addr *address);

/* 0, or why a connection with this local address and server port stays on
 * TCP. local may be NULL: not known yet. Asks settings_serve where the port
 * is ours. */
uint32_t settings_match(const struct snapshot *s, const struct in6_addr *local,
			uint16_t server_port);

#endif
