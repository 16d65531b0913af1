/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * baseline_fuzz: any bytes as what the counters showed at the last reset, taken
 * off other counters.
 *
 * Input: a byte, which the counters of now are made of, then the file. The last
 * byte says which fields are made right, so that most inputs come past the
 * first checks.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/status/baseline.h"

#define FILE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void agree(uint8_t *file, size_t size, uint8_t choice)
{
	const uint32_t head[2] = {STATUS_MAGIC, STATUS_VERSION};
	const uint64_t told = size, table = STATUS_REASON_TABLE;

	if (size < sizeof(head) + 2 * sizeof(told))
		return;
	if (choice & 1)
		memcpy(file, head, sizeof(head));
	if (choice & 2)
		memcpy(file + sizeof(head), &told, sizeof(told));
	if (choice & 4)
		memcpy(file + size - sizeof(table), &table, sizeof(table));
}

static void subtract(const struct baseline *b, uint8_t now)
{
	struct status_counters counters;
	const uint64_t *then = (const uint64_t *)(const void *)&b->counters;
	uint64_t words[sizeof(counters) / sizeof(uint64_t)];
	uint64_t before;

	memset(&counters, now, sizeof(counters));
	memset(&before, now, sizeof(before));
	baseline_subtract(&counters, b);
	memcpy(words, &counters, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i] != (before > then[i] ? before - then[i] : 0))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct baseline b;
	uint8_t *file;

	if (size < 2 || size > FILE_MAX)
		return 0;
	file = malloc(size);
	if (!file)
		abort();
	memcpy(file, data + 1, size - 1);
	agree(file, size - 2, data[size - 1]);
	memset(&b, 0xff, sizeof(b));
	if (baseline_decode(file, size - 2, &b) == 0)
		subtract(&b, data[0]);
	free(file);
	return 0;
}
