/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dispatch: from a packet that arrived to its queue pair.
 */
#ifndef OFED_CORE_DISPATCH_H
#define OFED_CORE_DISPATCH_H

#include "ofed_core/wire/wire.h"

/* Hands arrivals, in order, to their queue pairs; wire_open() is given it. */
void dispatch(const struct arrival *a, unsigned count);

#endif
