/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rmb: memory that two processes share. */
#include "smc_r/memory/rmb.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "smc_r/os/inject.h"
#include "smc_r/os/process.h"
#include "smc_r/os/sys.h"

#define TMPFS_KIND   0x01021994
#define PAGE         RMB_PAGE
#define MEMFD_FLAGS  (MFD_CLOEXEC | MFD_ALLOW_SEALING)
#define MEMFD_NOEXEC 0x0008U /* MFD_NOEXEC_SEAL, Linux 6.3 */
#define SEALS_ALL    (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#ifndef MADV_POPULATE_WRITE /* since Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

bool rmb_size_is_valid(uint32_t elements, uint32_t rmbe_bytes,
		       uint32_t overflow_bytes)
{
	return (overflow_bytes == 0 || overflow_bytes == RMB_OVERFLOW) &&
	       elements >= 1 && elements <= RMB_ELEMENTS_MAX &&
	       rmbe_bytes >= RMB_RMBE_MIN && rmbe_bytes <= RMB_RMBE_MAX &&
	       (rmbe_bytes & (rmbe_bytes - 1)) == 0;
}

size_t rmb_bytes(uint32_t elements, uint32_t rmbe_bytes)
{
	size_t n = PAGE + elements * (2 * (size_t)rmbe_bytes + RMB_GAP);

	return (n + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static size_t all_bytes(uint32_t elements, uint32_t rmbe_bytes,
			uint32_t overflow_bytes)
{
	return rmb_bytes(elements, rmbe_bytes) +
	       (size_t)elements * 2 * overflow_bytes;
}

uint8_t *rmb_ring(const struct rmb_map *m, uint32_t element, int side)
{
	uint8_t *middle = (uint8_t *)rmb_element(m, element);

	return side == SIDE_SERVER ? middle - m->rmbe_bytes
				   : middle + sizeof(struct rmb_element);
}

uint8_t *rmb_overflow(const struct rmb_map *m, uint32_t element, int side)
{
	return m->overflow_bytes
		   ? m->base + rmb_bytes(m->elements, m->rmbe_bytes) +
			 ((size_t)element * 2 + (size_t)side) *
			     m->overflow_bytes
		   : NULL;
}

static int populate(uint8_t *at, size_t bytes)
{
	return inject_fails() ? -ENOMEM
			      : (int)SYS_CALL3(SYS_madvise, at, bytes,
					       MADV_POPULATE_WRITE);
}

int rmb_overflow_fill(const struct rmb_map *m, uint32_t element, int side)
{
	uint8_t *at = rmb_overflow(m, element, side);

	return at ? populate(at, m->overflow_bytes) : -ENOMEM;
}

/* Where the kernel does not know the request, rmb_create() has done it. */
int rmb_ring_fill(const struct rmb_map *m, uint32_t element, int side,
		  size_t bytes)
{
	uint8_t *ring = rmb_ring(m, element, side);
	size_t before = (size_t)(ring - m->base) % PAGE;
	int result = populate(ring - before, before + bytes);

	return result == -EINVAL ? 0 : result;
}

void rmb_overflow_empty(const struct rmb_map *m, uint32_t element, int side)
{
	uint8_t *at = rmb_overflow(m, element, side);

	if (at &&
	    atomic_load(&rmb_element(m, element)->side[side].producer.switched))
		SYS_CALL3(SYS_madvise, at, m->overflow_bytes, MADV_REMOVE);
}

static bool allows(int resource, size_t bytes)
{
	struct rlimit limit;

	return getrlimit((__rlimit_resource_t)resource, &limit) < 0 ||
	       limit.rlim_cur >= bytes;
}

/* A program with a limit to its addresses needs them itself. */
static uint32_t overflow_bytes_for(uint32_t elements, uint32_t rmbe_bytes)
{
	return allows(RLIMIT_AS, RLIM_INFINITY) &&
		       allows(RLIMIT_FSIZE,
			      all_bytes(elements, rmbe_bytes, RMB_OVERFLOW))
		   ? RMB_OVERFLOW
		   : 0;
}

static int make_memfd(size_t bytes)
{
	long fd;

	/* Growing a file beyond this limit raises SIGXFSZ. */
	if (!allows(RLIMIT_FSIZE, bytes))
		return -ENOMEM;
	fd =
	    SYS_CALL3(SYS_memfd_create, "smc_r", MEMFD_FLAGS | MEMFD_NOEXEC, 0);
	if (fd == -EINVAL)
		fd = SYS_CALL3(SYS_memfd_create, "smc_r", MEMFD_FLAGS, 0);
	if (fd < 0)
		return (int)fd;
	if (SYS_CALL3(SYS_ftruncate, fd, bytes, 0) < 0) {
		sys_close((int)fd);
		return -ENOMEM;
	}
	return (int)fd;
}

static int map_bytes(struct rmb_map *m, int fd, uint32_t elements,
		     uint32_t rmbe_bytes, uint32_t overflow_bytes)
{
	size_t bytes = all_bytes(elements, rmbe_bytes, overflow_bytes);
	void *base =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	m->base = base;
	m->bytes = bytes;
	m->elements = elements;
	m->rmbe_bytes = rmbe_bytes;
	m->overflow_bytes = overflow_bytes;
	return 0;
}

static int give_memory(int fd, size_t at, size_t bytes)
{
	return (int)SYS_CALL4(SYS_fallocate, fd, 0, at, bytes);
}

/* Can the ends get memory for a ring of a mapping when they want it? */
static bool can_populate(const struct rmb_map *m)
{
	return SYS_CALL3(SYS_madvise, m->base, PAGE, MADV_POPULATE_WRITE) !=
	       -EINVAL;
}

/* What is touched without a question gets memory now: a lack shows here, and
 * not as SIGBUS in the program. */
static int fill(const struct rmb_map *m, int fd)
{
	int result = give_memory(fd, 0, PAGE);

	if (result == 0 && !can_populate(m))
		return give_memory(fd, 0,
				   rmb_bytes(m->elements, m->rmbe_bytes));
	for (uint32_t i = 0; i < m->elements && result == 0; i++) {
		const uint8_t *middle = (const uint8_t *)rmb_element(m, i);
		size_t at = (size_t)(middle - m->base) & ~(size_t)(PAGE - 1);

		result = give_memory(fd, at, PAGE);
	}
	return result;
}

/* RMBs of one process take turns, and processes begin anywhere. */
static uint32_t next_place(void)
{
	static uint32_t made;

	return (made++ + (uint32_t)process.pid) % RMB_PLACES;
}

int rmb_create(struct rmb_map *m, uint32_t elements, uint32_t rmbe_bytes,
	       int *memfd)
{
	uint32_t overflow_bytes = overflow_bytes_for(elements, rmbe_bytes);
	struct rmb_header *h;
	int fd = make_memfd(all_bytes(elements, rmbe_bytes, overflow_bytes));

	if (fd < 0)
		return fd;
	m->place = next_place();
	if (map_bytes(m, fd, elements, rmbe_bytes, overflow_bytes) < 0 ||
	    fill(m, fd) < 0 ||
	    SYS_CALL3(SYS_fcntl, fd, F_ADD_SEALS, SEALS_ALL) < 0) {
		rmb_unmap(m);
		sys_close(fd);
		return -ENOMEM;
	}
	h = rmb_header(m);
	h->magic = RMB_MAGIC;
	h->version = RMB_VERSION;
	h->elements = elements;
	h->rmbe_bytes = rmbe_bytes;
	h->overflow_bytes = overflow_bytes;
	h->place = m->place;
	*memfd = fd;
	return 0;
}

/* A file that can shrink, or one of hugetlbfs, could fault under us. */
static int check_memfd(int fd, size_t bytes)
{
	struct statfs fs;
	struct stat st;
	long seals = SYS_CALL3(SYS_fcntl, fd, F_GET_SEALS, 0);

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return -EPROTO;
	if (sys_fstat(fd, &st) < 0 || st.st_size != (off_t)bytes)
		return -EPROTO;
	if (fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_KIND)
		return -EPROTO;
	return 0;
}

/* Reads once what the peer wrote there. */
static bool take_header(struct rmb_map *m)
{
	const volatile struct rmb_header *h = rmb_header(m);

	m->place = h->place;
	return h->magic == RMB_MAGIC && h->version == RMB_VERSION &&
	       m->place < RMB_PLACES;
}

int rmb_map(struct rmb_map *m, int memfd, uint32_t elements,
	    uint32_t rmbe_bytes, uint32_t overflow_bytes)
{
	int result;

	if (!rmb_size_is_valid(elements, rmbe_bytes, overflow_bytes))
		return -EPROTO;
	result =
	    check_memfd(memfd, all_bytes(elements, rmbe_bytes, overflow_bytes));
	if (result < 0)
		return result;
	result = -ENOMEM;
	if (overflow_bytes && allows(RLIMIT_AS, RLIM_INFINITY))
		result =
		    map_bytes(m, memfd, elements, rmbe_bytes, overflow_bytes);
	if (result < 0)
		result = map_bytes(m, memfd, elements, rmbe_bytes, 0);
	if (result == 0 && !take_header(m)) {
		rmb_unmap(m);
		result = -EPROTO;
	}
	return result;
}

void rmb_unmap(struct rmb_map *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	memset(m, 0, sizeof(*m));
}

/* Where the two ends ran last is as good a guess as any for the next ones. */
void rmb_element_reset(const struct rmb_map *m, uint32_t element)
{
	struct rmb_element *e = rmb_element(m, element);

	for (int side = 0; side < 2; side++) {
		/* The process that should have done so was killed. */
		rmb_overflow_empty(m, element, side);
		atomic_store(&e->side[side].producer.cursor, 0);
		atomic_store(&e->side[side].producer.shift, 0);
		atomic_store(&e->side[side].producer.before, 0);
		atomic_store(&e->side[side].producer.switched, 0);
		atomic_store(&e->side[side].producer.since, 0);
		atomic_store(&e->side[side].producer.heard, 0);
		atomic_store(&e->side[side].producer.flags, 0);
		atomic_store(&e->side[side].producer.unfenced, 0);
		atomic_store(&e->side[side].producer.recalled, 0);
		atomic_store(&e->side[side].producer.resent, 0);
		atomic_store(&e->side[side].producer.shut_pid, 0);
		atomic_store(&e->side[side].producer.shut_fd, 0);
		atomic_store(&e->side[side].producer.sndbuf, 0);
		atomic_store(&e->side[side].producer.limit, 0);
		atomic_store(&e->side[side].consumer.cursor, 0);
		atomic_store(&e->side[side].consumer.flags, 0);
		atomic_store(&e->side[side].consumer.rest, REST_OPEN);
		atomic_store(&e->side[side].consumer.barrier, 0);
		atomic_store(&e->side[side].consumer.rcvbuf, 0);
		atomic_store(&e->side[side].consumer.overflow, 0);
		atomic_store(&e->side[side].wait.armed_data, 0);
		atomic_store(&e->side[side].wait.armed_room, 0);
		atomic_store(&e->side[side].wait.waiter, 0);
		atomic_store(&e->side[side].wait.ordered, 0);
	}
	atomic_store(&e->accept, ACCEPT_STANDS);
}

void rmb_element_release(struct rmb_element *e)
{
	atomic_store(&e->released, atomic_load(&e->epoch));
}
