/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_decode: the header of a uverbs command.
 *
 * Plain: {command, in_words, out_words} in words of 4 bytes, counted with the
 * header. Extended: 16 more bytes, counts in words of 8 without headers.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <string.h>

int uverbs_decode(struct uverbs_header *h, const void *bytes, size_t count)
{
	struct ib_uverbs_cmd_hdr plain;
	struct ib_uverbs_ex_cmd_hdr ex;

	*h = (struct uverbs_header){.in_at = sizeof(plain)};
	if (count < sizeof(plain))
		return -EINVAL;
	memcpy(&plain, bytes, sizeof(plain));
	if (plain.command & ~(uint32_t)(IB_USER_VERBS_CMD_FLAG_EXTENDED |
					IB_USER_VERBS_CMD_COMMAND_MASK))
		return -EINVAL;
	h->number = plain.command & IB_USER_VERBS_CMD_COMMAND_MASK;
	h->is_extended = plain.command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	if (!h->is_extended) {
		if (plain.in_words * 4u != count)
			return -EINVAL;
		h->in_bytes = count - sizeof(plain);
		h->out_bytes = plain.out_words * 4u;
		return 0;
	}
	if (count < sizeof(plain) + sizeof(ex))
		return -EINVAL;
	memcpy(&ex, (const char *)bytes + sizeof(plain), sizeof(ex));
	h->in_at = sizeof(plain) + sizeof(ex);
	h->in_bytes = plain.in_words * 8u;
	h->driver_in_bytes = ex.provider_in_words * 8u;
	h->out_bytes = plain.out_words * 8u;
	h->driver_out_bytes = ex.provider_out_words * 8u;
	if (ex.cmd_hdr_reserved ||
	    h->in_bytes + h->driver_in_bytes != count - h->in_at)
		return -EINVAL;
	if (ex.response ? !(h->out_bytes + h->driver_out_bytes)
			: h->out_bytes + h->driver_out_bytes != 0)
		return -EINVAL;
	return 0;
}
