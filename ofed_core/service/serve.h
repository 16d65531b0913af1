/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * serve: connections of the shim, their requests and their end.
 *
 * Locking: losing a device needs core_lock for writing.
 */
#ifndef OFED_CORE_SERVE_H
#define OFED_CORE_SERVE_H

#include "ofed_core/device/netdev.h"

/* Starts to listen on ofed_rundir_path("verbs"). */
int serve_listen(void);
/*
 * The device has gone, or all have (NULL): tells of it, and breaks what is on
 * it. After all have gone no node can be opened.
 */
void serve_lose(const struct device *d);
/* What changes of interfaces mean for programs. */
extern const struct netdev_events serve_netdev_events;

#endif
