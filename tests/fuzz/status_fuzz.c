/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status_fuzz: a status segment with any bytes, through all that reads one.
 *
 * The input is a header, then slots; the gap between them is left out. The
 * fields that the name and the owner of the file must agree with are made to
 * agree, and the last byte says whether this process is a holder, so that
 * most inputs come past the first checks.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/statistics.h"
#include "smc_r/os/alive.h"
#include "smc_r/status/holders.h"
#include "smc_r/status/status_sweep.h"

#define SLOTS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char rundir[4096];
static int status_dir = -1;
static FILE *nowhere;

static void remove_place(void)
{
	char command[4200];

	snprintf(command, sizeof(command), "rm -rf '%s'", rundir);
	if (system(command) != 0)
		_exit(1);
}

static void make_place(void)
{
	const char *tmp = getenv("TMPDIR");
	const char settings[] = "smc_r0 version 1\ngeneration 1\nenabled 1\n"
				"ip_addr_list 127.0.0.1\n"
				"max_memory_bytes 67108864\n"
				"port_range_list 7000\nsystem_preload 0\n"
				"exclude_list\nend\n";
	const char *const part[] = {"", "/000000", "/000000/status"};
	char path[4200];
	FILE *file;

	snprintf(rundir, sizeof(rundir), "%s/status_fuzz.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(rundir))
		abort();
	atexit(remove_place);
	snprintf(path, sizeof(path), "%s/smc_r0", rundir);
	file = fopen(path, "w");
	if (!file || fputs(settings, file) < 0 || fclose(file) != 0)
		abort();
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/users%s", rundir, part[i]);
		if (mkdir(path, 0700) != 0)
			abort();
	}
	status_dir = open(path, O_RDONLY | O_DIRECTORY);
	nowhere = fopen("/dev/null", "w");
	if (status_dir < 0 || !nowhere)
		abort();
}

static void agree(struct status_header *h, uint8_t choice)
{
	uint64_t start = 0;

	if (alive_start(getpid(), &start) != 0)
		abort();
	h->uid = geteuid();
	if (choice & 1) {
		h->magic = STATUS_MAGIC;
		h->version = STATUS_VERSION;
		h->slot_size = sizeof(struct status_slot);
	}
	if (choice & 2) {
		h->holders[0].pid = getpid();
		h->holders[0].start = start;
	}
	if (choice & 4)
		h->slot_count %= SLOTS_MAX + 1;
	if (h->pid <= 0)
		h->pid = 1;
}

static void write_segment(const char *name, const struct status_header *h,
			  const uint8_t *slots, size_t size)
{
	int fd = openat(status_dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || pwrite(fd, h, sizeof(*h), 0) != sizeof(*h) ||
	    pwrite(fd, slots, size, STATUS_SLOTS_AT) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct status_header h;
	struct statistics s;
	char name[48];
	size_t taken;

	if (status_dir < 0)
		make_place();
	if (size == 0)
		return 0;
	memset(&h, 0, sizeof(h));
	taken = size - 1 < sizeof(h) ? size - 1 : sizeof(h);
	memcpy(&h, data, taken);
	agree(&h, data[size - 1]);
	snprintf(name, sizeof(name), "%d.%" PRIu64, h.pid, h.start);
	write_segment(name, &h, data + taken, size - taken);
	holders_list(rundir, NULL, 0);
	if (statistics_read(rundir, "smc_r0", &s) == 0) {
		statistics_print(nowhere, &s, 1);
		if (statistics_print_json(nowhere, &s) != 0)
			abort();
		statistics_free(&s);
	}
	unlinkat(status_dir, name, 0);
	return 0;
}
