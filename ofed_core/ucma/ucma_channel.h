/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucma_channel: one open rdma_cm node: its ids and its queue of events.
 *
 * Ownership: a channel owns its events, and its ids, which end with it. The
 *            client that opened the node owns the channel.
 * Locking:   destroy takes cm_lock; core_lock is held for writing.
 */
#ifndef OFED_CORE_UCMA_CHANNEL_H
#define OFED_CORE_UCMA_CHANNEL_H

struct client;
struct cm_channel;

/* 0 or -ENOMEM. */
int ucma_channel_create(struct cm_channel **out, struct client *c);
void ucma_channel_destroy(struct cm_channel *ch);

#endif
