/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netdev: follows the interfaces of the network namespace and their
 * addresses; devices, GIDs and port events come from here.
 *
 * Locking: the netlink descriptor is served by worker 0; changes are made
 *          with core_lock held for writing.
 * Upward:  netdev_start() is given the functions that are told what changes,
 *          with core_lock held for writing.
 */
#ifndef OFED_CORE_NETDEV_H
#define OFED_CORE_NETDEV_H

#include "ofed_core/device/device.h"

enum netdev_change {
	NETDEV_GIDS,
	NETDEV_LID,
	NETDEV_UP,
	NETDEV_DOWN,
};

struct netdev_events {
	/* The interface was deleted. */
	void (*on_gone)(const struct device *d);
	void (*on_change)(const struct device *d, enum netdev_change change);
	/* True while anything points to a device that has gone. */
	bool (*is_used)(const struct device *d);
};

/* Reads what there is, and follows it from now on; e stays the caller's. */
int netdev_start(const struct netdev_events *e);

#endif
