/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ucma: the commands of the kernel's rdma_ucm write() interface.
 *
 * Every handler runs with core_lock (for writing) and cm_lock held. It finds
 * its request in c->in, padded with zeros where the program's is shorter, and
 * in c->object the id that it is about, where its entry tells of one.
 */
#ifndef OFED_CORE_UCMA_H
#define OFED_CORE_UCMA_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "ofed_core/verbs/client.h"

/* Runs a command: 0 or -errno; fills c->out. */
int ucma_command(struct command *c, const void *bytes, size_t count);

/* Pure: reads and checks the header. 0 or -EINVAL. */
int ucma_decode(const void *bytes, size_t count, struct rdma_ucm_cmd_hdr *h);

/* The answer, cut to the room the program gave. */
int ucma_answer(struct command *c, const void *bytes, size_t count);

int ucma_create_id(struct command *c);
int ucma_destroy_id(struct command *c);
int ucma_bind_ip(struct command *c);
int ucma_resolve_ip(struct command *c);
int ucma_resolve_route(struct command *c);
int ucma_query_route(struct command *c);
int ucma_connect(struct command *c);
int ucma_listen(struct command *c);
int ucma_accept(struct command *c);
int ucma_reject(struct command *c);
int ucma_disconnect(struct command *c);
int ucma_init_qp_attr(struct command *c);
int ucma_get_event(struct command *c);
int ucma_set_option(struct command *c);
int ucma_notify(struct command *c);
int ucma_join_ip_mcast(struct command *c);
int ucma_leave_mcast(struct command *c);
int ucma_migrate_id(struct command *c);

#endif
