/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * llc_fuzz: any bytes as a control message of a link group. What can be
 * decoded can be encoded, and means the same after that.
 */
#include "smc_r/protocol/llc_wire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[LLC_BYTES_MAX];
	static struct llc_message m;
	static struct llc_message again;
	int n;

	if (llc_decode(&m, data, size) != 0)
		return 0;
	n = llc_encode(&m, bytes, sizeof(bytes));
	if (n < LLC_BYTES || llc_decode(&again, bytes, (size_t)n) != 0 ||
	    memcmp(&m, &again, sizeof(m)) != 0)
		abort();
	return 0;
}
