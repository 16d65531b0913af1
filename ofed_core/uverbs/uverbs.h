/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs: the commands of the kernel's uverbs write() interface.
 *
 * Every handler runs with core_lock held as its table entry says. It finds its
 * request in c->in, aligned and long enough for the structure, and in c->object
 * what the request names, where the entry tells of which type that is. It
 * returns 0 or -errno.
 */
#ifndef OFED_CORE_UVERBS_H
#define OFED_CORE_UVERBS_H

#include "ofed_core/verbs/client.h"

/* Runs a command: 0 or -errno; fills c->out. */
int uverbs_command(struct command *c, const void *bytes, size_t count);

/*
 * Puts the answer in place: the core structure, then the driver's part.
 * -ENOSPC when the program left no room for it.
 */
int command_answer(struct command *c, const void *core, size_t core_bytes,
		   const void *driver, size_t driver_bytes);

/* Where a program may map the ring. */
static inline struct mminfo ring_info(const struct ring *r)
{
	return (struct mminfo){.offset = r->offset, .size = (uint32_t)r->bytes};
}

int uverbs_get_context(struct command *c);
int uverbs_query_device(struct command *c);
int uverbs_ex_query_device(struct command *c);
int uverbs_query_port(struct command *c);
int uverbs_alloc_pd(struct command *c);
int uverbs_reg_mr(struct command *c);
int uverbs_dereg_mr(struct command *c);
int uverbs_alloc_mw(struct command *c);
int uverbs_create_channel(struct command *c);
int uverbs_create_cq(struct command *c);
int uverbs_ex_create_cq(struct command *c);
int uverbs_resize_cq(struct command *c);
int uverbs_destroy_cq(struct command *c);
int uverbs_req_notify_cq(struct command *c);
int uverbs_create_qp(struct command *c);
int uverbs_ex_create_qp(struct command *c);
int uverbs_query_qp(struct command *c);
int uverbs_modify_qp(struct command *c);
int uverbs_ex_modify_qp(struct command *c);
int uverbs_attach_mcast(struct command *c);
int uverbs_detach_mcast(struct command *c);
int uverbs_create_srq(struct command *c);
int uverbs_modify_srq(struct command *c);
int uverbs_query_srq(struct command *c);
int uverbs_create_ah(struct command *c);

/* The header of a command, judged; see uverbs_decode(). */
struct uverbs_header {
	uint32_t number;
	bool is_extended;
	size_t in_at; /* of the core structure */
	size_t in_bytes;
	size_t driver_in_bytes;
	size_t out_bytes;
	size_t driver_out_bytes;
};

/* Pure: reads and checks the header. 0 or -EINVAL. */
int uverbs_decode(struct uverbs_header *h, const void *bytes, size_t count);

#endif
