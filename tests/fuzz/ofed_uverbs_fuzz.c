/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_uverbs_fuzz: any bytes as a command to a device node. What the decoders
 * promise to a handler must lie within the command.
 */
#include <stdint.h>
#include <stdlib.h>

#include "ofed_core/ucma/ucma.h"
#include "ofed_core/uverbs/uverbs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rdma_ucm_cmd_hdr cm;
	struct uverbs_header h;

	if (uverbs_decode(&h, data, size) == 0 &&
	    h.in_at + h.in_bytes + h.driver_in_bytes != size)
		abort();
	if (ucma_decode(data, size, &cm) == 0 && cm.in + sizeof(cm) > size)
		abort();
	return 0;
}
