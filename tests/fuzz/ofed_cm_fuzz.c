/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_cm_fuzz: any bytes as a message of connection management. What can be
 * decoded means the same after encoding it.
 */
#include "ofed_core/pure/cm_message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[CM_MESSAGE_BYTES];
	uint8_t twice[CM_MESSAGE_BYTES];
	struct cm_message m;
	struct cm_message again;
	struct cm_ip_header ip;
	uint8_t header[CM_IP_HEADER_BYTES];

	if (cm_decode(&m, data, size) < 0)
		return 0;
	if (m.private_bytes != cm_private_room(m.kind))
		abort();
	cm_encode(&m, out);
	if (cm_decode(&again, out, sizeof(out)) < 0)
		abort();
	cm_encode(&again, twice);
	if (memcmp(out, twice, sizeof(out)) != 0)
		abort();
	if (cm_ip_decode(&ip, m.private_data, m.private_bytes) == 0)
		cm_ip_encode(&ip, header);
	return 0;
}
