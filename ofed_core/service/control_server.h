/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * control_server: the core's side of the conversation that control.h tells.
 *
 * Locking: called from the thread that starts the core, then from worker 0.
 */
#ifndef OFED_CORE_CONTROL_SERVER_H
#define OFED_CORE_CONTROL_SERVER_H

/* 0 or -errno; -EALREADY when another core serves this network namespace. */
int control_listen(void);

/*
 * The memory of those that are still connected when the workers have ended. The
 * kernel closes their descriptors with the process: they wait for that.
 */
void control_forget(void);

#endif
