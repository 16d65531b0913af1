/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rmb_fuzz: memory that a stranger sent, and the sizes that it is said to have.
 *
 * Input: what the descriptor is, its seals, elements (4 bytes), bytes of an
 * RMBE (4), and what the file's size differs by from the right one (4).
 *
 * It is mapped exactly when nothing can make a touch of it a fault; then every
 * page is touched, after the stranger did what it still can.
 */
#include "smc_r/memory/rmb.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_MAX (8u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum kind {
	KIND_MEMFD,
	KIND_UNSEALABLE,
	KIND_HUGE,
	KIND_FILE,
	KIND_PIPE,
	KIND_READ_ONLY,
	KIND_NONE,
	KIND_COUNT,
};

static void must(int holds)
{
	if (!holds)
		abort();
}

static int seals_of(uint8_t bits)
{
	return (bits & 1 ? F_SEAL_SHRINK : 0) | (bits & 2 ? F_SEAL_GROW : 0) |
	       (bits & 4 ? F_SEAL_WRITE : 0) |
	       (bits & 8 ? F_SEAL_FUTURE_WRITE : 0) |
	       (bits & 16 ? F_SEAL_SEAL : 0);
}

static int make_memfd(unsigned flags, off_t bytes, int seals)
{
	const struct rmb_header h = {.magic = RMB_MAGIC,
				     .version = RMB_VERSION};
	int fd = memfd_create("fuzz", MFD_CLOEXEC | flags);

	if (fd < 0)
		return -1;
	if (!(flags & MFD_HUGETLB))
		must(pwrite(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h));
	if (ftruncate(fd, bytes) < 0 ||
	    (seals && fcntl(fd, F_ADD_SEALS, seals) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int make_file(off_t bytes)
{
	char name[] = "/tmp/rmb_fuzz.XXXXXX";
	int fd = mkstemp(name);

	must(fd >= 0);
	unlink(name);
	must(ftruncate(fd, bytes) == 0);
	return fd;
}

static int make_pipe(void)
{
	int ends[2];

	must(pipe(ends) == 0);
	close(ends[1]);
	return ends[0];
}

static int make_read_only(off_t bytes, int seals)
{
	int fd = make_memfd(MFD_ALLOW_SEALING, bytes, seals);
	char path[64];
	int other;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	return other;
}

static int make(enum kind kind, off_t bytes, int seals)
{
	switch (kind) {
	case KIND_MEMFD:
		return make_memfd(MFD_ALLOW_SEALING, bytes, seals);
	case KIND_UNSEALABLE:
		return make_memfd(0, bytes, 0);
	case KIND_HUGE:
		return make_memfd(MFD_ALLOW_SEALING | MFD_HUGETLB,
				  (bytes + 0x1fffff) & ~(off_t)0x1fffff, seals);
	case KIND_FILE:
		return make_file(bytes);
	case KIND_PIPE:
		return make_pipe();
	case KIND_READ_ONLY:
		return make_read_only(bytes, seals);
	default:
		return -1;
	}
}

/* The stranger may still cut holes, and may no longer shorten. */
static void touch(struct rmb_map *m, int fd, size_t bytes)
{
	must(m->bytes == bytes);
	must(ftruncate(fd, 0) < 0);
	must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		       (off_t)bytes) == 0);
	for (size_t i = 0; i < bytes; i += 4096)
		m->base[i] ^= 1;
	m->base[bytes - 1] ^= 1;
}

static uint32_t word(const uint8_t *at)
{
	uint32_t w;

	memcpy(&w, at, sizeof(w));
	return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rmb_map m = {0};
	uint32_t elements, rmbe_bytes, overflow_bytes;
	size_t bytes = 4096;
	enum kind kind;
	off_t length;
	int seals, fd, valid;

	if (size != 14)
		return 0;
	kind = data[0] % KIND_COUNT;
	seals = seals_of(data[1]);
	elements = word(data + 2);
	rmbe_bytes = word(data + 6);
	overflow_bytes = data[1] & 32 ? RMB_OVERFLOW : 0;
	valid = rmb_size_is_valid(elements, rmbe_bytes, overflow_bytes);
	if (valid)
		bytes = rmb_bytes(elements, rmbe_bytes) +
			(size_t)elements * 2 * overflow_bytes;
	if (bytes > MEMORY_MAX)
		return 0;
	length = (off_t)bytes + (int32_t)word(data + 10);
	if (length < 0 || length > MEMORY_MAX)
		return 0;
	fd = make(kind, length, seals);
	if (rmb_map(&m, fd, elements, rmbe_bytes, overflow_bytes) == 0) {
		must(valid && kind == KIND_MEMFD && length == (off_t)bytes &&
		     (seals & F_SEAL_SHRINK) &&
		     !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)));
		touch(&m, fd, bytes);
		rmb_unmap(&m);
	} else {
		must(!m.base);
		must(!(valid && kind == KIND_MEMFD && length == (off_t)bytes &&
		       (seals & F_SEAL_SHRINK) &&
		       !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))));
	}
	if (fd >= 0)
		close(fd);
	return 0;
}
