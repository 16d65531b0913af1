/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/memory/rmb.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* ---- sizes ---- */

Test(rmb, only_powers_of_two_within_bounds_are_sizes)
{
	const uint32_t good[] = {16384,  32768,  65536,  131072,
				 262144, 524288, 1048576};
	const uint32_t bad[] = {0,       1,     2,      8192,
				16383,   16385, 24576,  1048575,
				2097152, 49152, 131073, 1u << 31};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_assert(rmb_size_is_valid(1, good[i], 0));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert(!rmb_size_is_valid(1, bad[i], 0), "%u", bad[i]);
	for (uint32_t n = 1; n <= RMB_ELEMENTS_MAX; n++)
		cr_assert(rmb_size_is_valid(n, RMB_RMBE_MIN, 0));
	cr_assert(!rmb_size_is_valid(0, RMB_RMBE_MIN, 0));
	cr_assert(!rmb_size_is_valid(RMB_ELEMENTS_MAX + 1, RMB_RMBE_MIN, 0));
	cr_assert(!rmb_size_is_valid(UINT32_MAX, RMB_RMBE_MIN, 0));
	cr_assert(rmb_size_is_valid(1, RMB_RMBE_MIN, RMB_OVERFLOW));
	cr_assert(!rmb_size_is_valid(1, RMB_RMBE_MIN, RMB_OVERFLOW / 2));
	cr_assert(!rmb_size_is_valid(1, RMB_RMBE_MIN, 2 * RMB_OVERFLOW));
}

struct span {
	const uint8_t *from, *to;
};

static bool overlap(struct span a, struct span b)
{
	return a.from < b.to && b.from < a.to;
}

static void assert_apart(const struct rmb_map *m)
{
	struct span part[5 * RMB_ELEMENTS_MAX + 1];
	uint32_t n = 5 * m->elements;

	for (uint32_t i = 0; i < m->elements; i++) {
		struct rmb_element *e = rmb_element(m, i);

		cr_assert_eq((uintptr_t)e % 64, 0);
		part[5 * i + 4] =
		    (struct span){(const uint8_t *)e, (const uint8_t *)(e + 1)};
		for (int side = 0; side < 2; side++) {
			struct span *s = &part[5 * i + 2 * (uint32_t)side];

			s[0].from = rmb_ring(m, i, side);
			s[0].to = s[0].from + m->rmbe_bytes;
			s[1].from = rmb_overflow(m, i, side);
			s[1].to = s[1].from + m->overflow_bytes;
			for (int k = 0; k < 2; k++) {
				cr_assert_geq(s[k].from, m->base);
				cr_assert_leq(s[k].to, m->base + m->bytes);
			}
			cr_assert_eq((uintptr_t)s[0].from % 64, 0);
			cr_assert_eq((uintptr_t)s[1].from % 4096, 0);
		}
	}
	part[n] = (struct span){m->base, m->base + sizeof(struct rmb_header)};
	for (uint32_t i = 0; i <= n; i++)
		for (uint32_t j = 0; j < i; j++)
			cr_assert(!overlap(part[i], part[j]), "%u, %u", i, j);
}

Test(rmb, rings_and_control_blocks_lie_apart)
{
	const uint32_t elements[] = {1, 2, 3, 7, 8, 31, 32};
	struct rmb_map m;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
		cr_assert_eq(rmb_create(&m, elements[i], 16384, &fd), 0);
		cr_assert_eq(m.bytes,
			     rmb_bytes(elements[i], 16384) +
				 elements[i] * 2 * (size_t)RMB_OVERFLOW);
		cr_assert_geq(m.bytes, elements[i] * 2 * 16384u);
		assert_apart(&m);
		rmb_unmap(&m);
		close(fd);
	}
}

static size_t page_of(const void *at)
{
	return (uintptr_t)at / 4096;
}

/* Each of thousands of connections needs one page, not three. */
Test(rmb, what_a_conversation_needs_lies_in_one_page)
{
	const uint32_t bytes[] = {RMB_RMBE_MIN, RMB_RMBE_MAX};
	struct rmb_map m;
	int fd;

	for (uint32_t place = 0; place < RMB_PLACES; place++) {
		cr_assert_eq(
		    rmb_create(&m, RMB_ELEMENTS_MAX, bytes[place & 1], &fd), 0);
		for (uint32_t i = 0; i < m.elements; i++) {
			const uint8_t *e = (uint8_t *)rmb_element(&m, i);
			const uint8_t *short_0 =
			    rmb_ring(&m, i, 0) + m.rmbe_bytes - RMB_SHORT;
			const uint8_t *short_1 = rmb_ring(&m, i, 1);

			cr_assert_eq(page_of(short_0), page_of(e));
			cr_assert_eq(page_of(short_1 + RMB_SHORT - 1),
				     page_of(e));
		}
		rmb_unmap(&m);
		close(fd);
	}
}

static size_t way_of(const volatile void *line)
{
	return (uintptr_t)line % 4096 / 64;
}

/* So many lines find room in one place of a cache, and a wait needs the words
 * of all RMBs. */
Test(rmb, the_ready_words_of_several_lie_in_different_places)
{
	struct rmb_map m[RMB_PLACES];
	int fd;

	for (uint32_t i = 0; i < RMB_PLACES; i++) {
		cr_assert_eq(rmb_create(&m[i], 1, 16384, &fd), 0);
		close(fd);
		for (int side = 0; side < 2; side++) {
			size_t way = way_of(rmb_ready(&m[i], side));

			cr_assert_neq(way, way_of(rmb_ready(&m[i], !side)));
			for (uint32_t j = 0; j < i; j++)
				cr_assert_neq(way,
					      way_of(rmb_ready(&m[j], side)));
		}
	}
	for (uint32_t i = 0; i < RMB_PLACES; i++)
		rmb_unmap(&m[i]);
}

/* ---- making one ---- */

Test(rmb, a_new_one_is_sealed_empty_and_says_what_it_is)
{
	struct rmb_map m;
	struct stat st;
	int fd;

	cr_assert_eq(rmb_create(&m, 4, 32768, &fd), 0);
	cr_assert_eq(fcntl(fd, F_GET_SEALS) & SEALS, SEALS);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq((size_t)st.st_size,
		     rmb_bytes(4, 32768) + 8 * (size_t)RMB_OVERFLOW);
	/* The header has memory, and each control block with what is beside it.
	 */
	cr_assert_eq(st.st_blocks * 512, 5 * RMB_PAGE);
	cr_assert_eq(ftruncate(fd, 4096), -1);
	cr_assert_eq(ftruncate(fd, st.st_size + 4096), -1);
	cr_assert_eq(rmb_header(&m)->magic, RMB_MAGIC);
	cr_assert_eq(rmb_header(&m)->version, RMB_VERSION);
	cr_assert_eq(rmb_header(&m)->elements, 4);
	cr_assert_eq(rmb_header(&m)->rmbe_bytes, 32768);
	cr_assert_eq(m.elements, 4);
	cr_assert_eq(m.rmbe_bytes, 32768);
	cr_assert_eq(rmb_header(&m)->place, m.place);
	cr_assert_eq(rmb_header(&m)->overflow_bytes, RMB_OVERFLOW);
	for (size_t i = sizeof(struct rmb_header); i < rmb_bytes(4, 32768); i++)
		cr_assert_eq(m.base[i], 0);
	rmb_unmap(&m);
	cr_assert_null(m.base);
	rmb_unmap(&m);
	close(fd);
}

static size_t memory_of(int fd)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return (size_t)st.st_blocks * 512;
}

Test(rmb, a_ring_gets_memory_when_its_writer_wants_it)
{
	struct rmb_map m;
	int fd;

	cr_assert_eq(rmb_create(&m, 2, 65536, &fd), 0);
	cr_assert_eq(memory_of(fd), 3 * RMB_PAGE);
	/* What lies beside the control block needs none. */
	memset(rmb_ring(&m, 1, SIDE_SERVER) + 65536 - RMB_SHORT, 1, RMB_SHORT);
	memset(rmb_ring(&m, 1, SIDE_CLIENT), 1, RMB_SHORT);
	cr_assert_eq(memory_of(fd), 3 * RMB_PAGE);
	cr_assert_eq(rmb_ring_fill(&m, 1, SIDE_SERVER, 16384), 0);
	cr_assert_eq(memory_of(fd), 8 * RMB_PAGE);
	memset(rmb_ring(&m, 1, SIDE_SERVER), 1, 16384);
	cr_assert_eq(rmb_ring_fill(&m, 1, SIDE_CLIENT, 65536), 0);
	cr_assert_eq(memory_of(fd), 24 * RMB_PAGE);
	memset(rmb_ring(&m, 1, SIDE_CLIENT), 1, 65536);
	cr_assert_eq(memory_of(fd), 24 * RMB_PAGE);
	cr_assert_eq(rmb_ring_fill(&m, 1, SIDE_SERVER, 65536), 0);
	memset(rmb_ring(&m, 1, SIDE_SERVER), 1, 65536);
	cr_assert_eq(memory_of(fd), 35 * RMB_PAGE);
	rmb_unmap(&m);
	close(fd);
}

Test(rmb, both_sides_see_the_same_memory)
{
	struct rmb_map ours;
	struct rmb_map theirs;
	int fd;

	cr_assert_eq(rmb_create(&ours, 2, 16384, &fd), 0);
	cr_assert_eq(rmb_map(&theirs, fd, 2, 16384, RMB_OVERFLOW), 0);
	close(fd);
	cr_assert_neq(ours.base, theirs.base);
	cr_assert_eq(ours.place, theirs.place);
	strcpy((char *)rmb_ring(&ours, 1, SIDE_SERVER), "hello");
	cr_assert_str_eq((char *)rmb_ring(&theirs, 1, SIDE_SERVER), "hello");
	atomic_store(&rmb_element(&theirs, 1)->side[1].producer.cursor, 77);
	cr_assert_eq(
	    atomic_load(&rmb_element(&ours, 1)->side[1].producer.cursor), 77);
	rmb_unmap(&ours);
	/* The maker may go; what was written stays readable. */
	cr_assert_str_eq((char *)rmb_ring(&theirs, 1, SIDE_SERVER), "hello");
	rmb_unmap(&theirs);
}

Test(rmb, a_limit_of_file_sizes_is_an_error_and_no_signal)
{
	const struct rlimit small = {65536, RLIM_INFINITY};
	struct rmb_map m = {0};
	int fd = -7;

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	cr_assert_eq(rmb_create(&m, 1, 65536, &fd), -ENOMEM);
	cr_assert_eq(fd, -7);
	cr_assert_null(m.base);
	cr_assert_eq(rmb_create(&m, 1, 16384, &fd), 0);
	close(fd);
	rmb_unmap(&m);
}

Test(rmb, no_descriptors_is_an_error_that_says_so)
{
	struct rlimit none;
	struct rmb_map m = {0};
	int fd;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &none), 0);
	fd = dup(1);
	cr_assert_geq(fd, 0);
	close(fd);
	none.rlim_cur = (rlim_t)fd;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_assert_eq(rmb_create(&m, 1, 16384, &fd), -EMFILE);
}

Test(rmb, no_address_space_is_an_error_and_leaves_nothing_open)
{
	struct rlimit none = {1, RLIM_INFINITY};
	struct rmb_map m = {0};
	int before = dup(1);
	int fd = -1;
	int after;

	/* An address space this small is there already, and cannot grow. */
	cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
	cr_assert_eq(rmb_create(&m, 1, 16384, &fd), -ENOMEM);
	after = dup(1);
	none.rlim_cur = RLIM_INFINITY;
	cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
	cr_assert_eq(after, before + 1);
	cr_assert_null(m.base);
}

/* ---- overflow rings ---- */

Test(rmb, an_overflow_has_memory_from_filling_to_emptying)
{
	size_t before;
	struct rmb_map m;
	int fd;

	cr_assert_eq(rmb_create(&m, 2, 16384, &fd), 0);
	before = memory_of(fd);
	cr_assert_eq(rmb_overflow_fill(&m, 1, SIDE_CLIENT), 0);
	cr_assert_eq(memory_of(fd), before + RMB_OVERFLOW);
	/* Nobody went there. */
	rmb_overflow_empty(&m, 1, SIDE_CLIENT);
	cr_assert_eq(memory_of(fd), before + RMB_OVERFLOW);
	atomic_store(&rmb_element(&m, 1)->side[SIDE_CLIENT].producer.switched,
		     1);
	rmb_overflow_empty(&m, 1, SIDE_CLIENT);
	cr_assert_eq(memory_of(fd), before);
	/* Left by one that was killed: the next use begins without. */
	cr_assert_eq(rmb_overflow_fill(&m, 1, SIDE_SERVER), 0);
	atomic_store(&rmb_element(&m, 1)->side[SIDE_SERVER].producer.switched,
		     1);
	rmb_element_reset(&m, 1);
	cr_assert_eq(memory_of(fd), before);
	rmb_unmap(&m);
	close(fd);
}

Test(rmb, who_has_few_addresses_does_without_overflows)
{
	struct rlimit few = {1ull << 60, RLIM_INFINITY};
	struct rmb_map ours, theirs;
	int fd;

	cr_assert_eq(rmb_create(&ours, 1, 16384, &fd), 0);
	cr_assert_eq(setrlimit(RLIMIT_AS, &few), 0);
	cr_assert_eq(rmb_map(&theirs, fd, 1, 16384, RMB_OVERFLOW), 0);
	close(fd);
	cr_assert_null(rmb_overflow(&theirs, 0, SIDE_CLIENT));
	cr_assert_eq(rmb_overflow_fill(&theirs, 0, SIDE_CLIENT), -ENOMEM);
	cr_assert_eq(theirs.bytes, rmb_bytes(1, 16384));
	strcpy((char *)rmb_ring(&ours, 0, SIDE_SERVER), "hello");
	cr_assert_str_eq((char *)rmb_ring(&theirs, 0, SIDE_SERVER), "hello");
	rmb_unmap(&ours);
	rmb_unmap(&theirs);
	cr_assert_eq(rmb_create(&ours, 1, 16384, &fd), 0);
	close(fd);
	cr_assert_eq(ours.overflow_bytes, 0);
	rmb_unmap(&ours);
}

/* ---- what a stranger sends ---- */

static int memfd(unsigned flags, size_t bytes, int seals)
{
	int fd = memfd_create("forged", MFD_CLOEXEC | flags);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
	if (seals)
		cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void assert_refused(int fd)
{
	struct rmb_map m = {0};

	cr_assert_lt(rmb_map(&m, fd, 1, 16384, 0), 0);
	cr_assert_null(m.base);
	close(fd);
}

/* With what its maker wrote at its beginning. */
static int headed(struct rmb_header h)
{
	int fd = memfd(MFD_ALLOW_SEALING, rmb_bytes(1, 16384), SEALS);

	cr_assert_eq(pwrite(fd, &h, sizeof(h), 0), (ssize_t)sizeof(h));
	return fd;
}

static int good_one(void)
{
	return headed((struct rmb_header){.magic = RMB_MAGIC,
					  .version = RMB_VERSION,
					  .elements = 1,
					  .rmbe_bytes = 16384,
					  .place = RMB_PLACES - 1});
}

Test(rmb, a_sealed_memfd_of_the_right_size_is_taken)
{
	struct rmb_map m;
	int fd = good_one();

	cr_assert_eq(rmb_map(&m, fd, 1, 16384, 0), 0);
	/* The descriptor stays the caller's. */
	cr_assert_neq(fcntl(fd, F_GETFD), -1);
	/* A hole reads as zeros and does not fault. */
	cr_assert_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       0, (off_t)m.bytes),
		     0);
	for (size_t i = 0; i < m.bytes; i += 512)
		cr_assert_eq(m.base[i], 0);
	memset(m.base, 1, m.bytes);
	rmb_unmap(&m);
	close(fd);
}

/* It is of another version of the library, or of a peer that would have us read
 * elsewhere. */
Test(rmb, what_its_header_does_not_say_right_is_refused)
{
	struct rmb_header h = {.magic = RMB_MAGIC, .version = RMB_VERSION};

	h.place = RMB_PLACES;
	assert_refused(headed(h));
	h.place = UINT32_MAX;
	assert_refused(headed(h));
	h.place = 0;
	h.version = RMB_VERSION - 1;
	assert_refused(headed(h));
	h.version = RMB_VERSION;
	h.magic = 0;
	assert_refused(headed(h));
}

Test(rmb, a_memfd_that_can_shrink_is_refused)
{
	size_t bytes = rmb_bytes(1, 16384);

	assert_refused(memfd(0, bytes, 0));
	assert_refused(memfd(MFD_ALLOW_SEALING, bytes, 0));
	assert_refused(memfd(MFD_ALLOW_SEALING, bytes, F_SEAL_GROW));
	assert_refused(memfd(MFD_ALLOW_SEALING, bytes, F_SEAL_SEAL));
	assert_refused(
	    memfd(MFD_ALLOW_SEALING, bytes, F_SEAL_GROW | F_SEAL_SEAL));
}

Test(rmb, a_memfd_of_another_size_is_refused)
{
	const long off[] = {-4096, -1, 1, 4096, 1l << 30};
	size_t bytes = rmb_bytes(1, 16384);
	size_t i;

	for (i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		assert_refused(memfd(MFD_ALLOW_SEALING,
				     (size_t)((long)bytes + off[i]), SEALS));
	assert_refused(memfd(MFD_ALLOW_SEALING, 0, SEALS));
}

Test(rmb, a_memfd_that_cannot_be_written_is_refused)
{
	size_t bytes = rmb_bytes(1, 16384);
	int fd = good_one();
	char path[64];

	assert_refused(memfd(MFD_ALLOW_SEALING, bytes, SEALS | F_SEAL_WRITE));
	assert_refused(
	    memfd(MFD_ALLOW_SEALING, bytes, SEALS | F_SEAL_FUTURE_WRITE));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_refused(open(path, O_RDONLY | O_CLOEXEC));
	assert_refused(open(path, O_PATH | O_CLOEXEC));
	close(fd);
}

/* Seals it has; but its pages may not be there when they are touched. */
Test(rmb, a_memfd_of_hugetlbfs_is_refused)
{
	int fd =
	    memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (fd < 0)
		cr_skip_test("no hugetlbfs here");
	cr_assert_eq(ftruncate(fd, 2 << 20), 0);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, SEALS), 0);
	assert_refused(fd);
}

Test(rmb, what_is_no_memfd_is_refused)
{
	char name[256];
	const char *tmp = getenv("TMPDIR");
	int pair[2];
	int fd;

	assert_refused(-1);
	assert_refused(open("/dev/zero", O_RDWR | O_CLOEXEC));
	assert_refused(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	cr_assert_eq(pipe(pair), 0);
	assert_refused(pair[0]);
	assert_refused(pair[1]);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_refused(pair[0]);
	close(pair[1]);
	snprintf(name, sizeof(name), "%s/rmb.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(name);
	cr_assert_geq(fd, 0);
	unlink(name);
	cr_assert_eq(ftruncate(fd, (off_t)rmb_bytes(1, 16384)), 0);
	assert_refused(fd);
	/* A file of a tmpfs that is mounted: its owner can cut it. */
	fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	cr_assert_eq(ftruncate(fd, (off_t)rmb_bytes(1, 16384)), 0);
	assert_refused(fd);
}

Test(rmb, sizes_that_are_none_are_refused_before_anything_else)
{
	struct rmb_map m = {0};
	int fd = good_one();

	cr_assert_eq(rmb_map(&m, fd, 0, 16384, 0), -EPROTO);
	cr_assert_eq(rmb_map(&m, fd, 33, 16384, 0), -EPROTO);
	cr_assert_eq(rmb_map(&m, fd, UINT32_MAX, UINT32_MAX, 0), -EPROTO);
	cr_assert_eq(rmb_map(&m, fd, 1, 0, 0), -EPROTO);
	cr_assert_eq(rmb_map(&m, fd, 1, 32768, 0), -EPROTO);
	cr_assert_eq(rmb_map(&m, fd, 2, 16384, 0), -EPROTO);
	cr_assert_null(m.base);
	close(fd);
}

/* ---- elements ---- */

Test(rmb, a_reset_element_is_as_new_but_for_its_epochs)
{
	struct rmb_element clean;
	struct rmb_map m;
	struct rmb_element *e;
	int fd;

	cr_assert_eq(rmb_create(&m, 1, 16384, &fd), 0);
	close(fd);
	e = rmb_element(&m, 0);
	memset(&clean, 0, sizeof(clean));
	memset(e, 0xa5, sizeof(*e));
	rmb_element_reset(&m, 0);
	cr_assert_eq(atomic_load(&e->epoch), 0xa5a5a5a5);
	cr_assert_eq(atomic_load(&e->released), 0xa5a5a5a5);
	for (int side = 0; side < 2; side++) {
		cr_assert_eq(atomic_load(&e->side[side].producer.cursor), 0);
		cr_assert_eq(atomic_load(&e->side[side].producer.flags), 0);
		cr_assert_eq(atomic_load(&e->side[side].consumer.cursor), 0);
		cr_assert_eq(atomic_load(&e->side[side].consumer.flags), 0);
		cr_assert_eq(atomic_load(&e->side[side].wait.armed_data), 0);
		cr_assert_eq(atomic_load(&e->side[side].wait.armed_room), 0);
		cr_assert_eq(atomic_load(&e->side[side].wait.waiter), 0);
	}
	rmb_unmap(&m);
}

Test(rmb, a_released_element_is_released_for_this_use_only)
{
	struct rmb_map m;
	struct rmb_element *e;
	int fd;

	cr_assert_eq(rmb_create(&m, 1, 16384, &fd), 0);
	close(fd);
	e = rmb_element(&m, 0);
	cr_assert_eq(atomic_load(&e->released), atomic_load(&e->epoch));
	atomic_fetch_add(&e->epoch, 1);
	cr_assert_neq(atomic_load(&e->released), atomic_load(&e->epoch));
	rmb_element_release(e);
	cr_assert_eq(atomic_load(&e->released), atomic_load(&e->epoch));
	atomic_fetch_add(&e->epoch, 1);
	cr_assert_neq(atomic_load(&e->released), atomic_load(&e->epoch));
	rmb_unmap(&m);
}
