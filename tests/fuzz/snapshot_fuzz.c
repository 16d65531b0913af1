/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * snapshot_fuzz: any bytes as a snapshot. What is accepted must be canonical:
 * printed again it is the same text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[SNAPSHOT_TEXT_MAX + 1];
	struct snapshot s;

	if (snapshot_parse((const char *)data, size, &s) != 0)
		return 0;
	if (snapshot_format(&s, text, sizeof(text)) != (int)size ||
	    memcmp(text, data, size) != 0)
		abort();
	for (unsigned i = 0; i < s.range_count; i++)
		if (!snapshot_has_port(&s, s.ranges[i].low) ||
		    !snapshot_has_port(&s, s.ranges[i].high))
			abort();
	for (unsigned i = 0; i < s.address_count; i++)
		if (snapshot_match(&s, &s.addresses[i], 0) !=
		    (s.enabled ? SNAPSHOT_NO_PORT : SNAPSHOT_DISABLED))
			abort();
	return 0;
}
