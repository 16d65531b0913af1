/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * registry_places: what ended at the ports of users who have no BPF. For
 * commands; they read what is a stranger's, and show it.
 *
 * Locking: none.
 */
#ifndef SMC_R_REGISTRY_PLACES_H
#define SMC_R_REGISTRY_PLACES_H

#include "smc_r/peer/registry.h"

/* Calls each() with every port where a connection has ended; stops when it
 * returns other than 0, and returns that. Else as user_directory_each. */
int registry_places_each(const char *rundir,
			 int (*each)(void *owner, uint16_t port,
				     const struct worth *worth),
			 void *owner);

#endif
