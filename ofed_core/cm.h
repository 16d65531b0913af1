/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * cm: connection management: the messages between two cores, and the ids
 * that programs drive them with.
 */
#ifndef OFED_CORE_CM_H
#define OFED_CORE_CM_H

#include "wire.h"

/* A datagram to queue pair 1. core_lock is held for reading. */
void cm_receive(const struct arrival *a);

/* A program has closed its last node: nobody waits for it to listen again. */
void cm_vacant_gone(pid_t pid);

#endif
