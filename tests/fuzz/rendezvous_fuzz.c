/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rendezvous_fuzz: what a stranger may send to a client over the rendezvous
 * socket: any bytes, with any number of descriptors, the first of which stands
 * for an RMB.
 *
 * Input: number of descriptors; what they are; then the message. With the high
 * bit of the second byte set magic and version are made right, and with the
 * next one clear the first descriptor is memory, so that most inputs come past
 * the first checks. The others are pipes, or one of them is not.
 *
 * Whatever came, no descriptor and no mapping may be left.
 */
#include "smc_r/peer/rendezvous.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smc_r/os/fdtable.h"
#include "smc_r/os/process.h"

#define DESCRIPTORS_MAX (RENDEZVOUS_FDS_MAX + 4)
#define LIMIT           600 /* of descriptors: all numbers are looked at */
#define MEMORY_MAX      (8u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ends[2] = {-1, -1};

static void must(int holds)
{
	if (!holds)
		abort();
}

static void start(void)
{
	const struct rlimit limit = {LIMIT, LIMIT};

	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	process_init();
	must(fdtable_init() == 0);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < LIMIT; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int memory(const struct rendezvous_message *m, uint8_t kind)
{
	const struct rmb_header h = {.magic = RMB_MAGIC,
				     .version = RMB_VERSION};
	size_t bytes = 4096;
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	must(fd >= 0);
	must(pwrite(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h));
	if (rmb_size_is_valid(m->elements, m->rmbe_bytes, m->overflow_bytes))
		bytes = rmb_bytes(m->elements, m->rmbe_bytes) +
			(size_t)m->elements * 2 * m->overflow_bytes;
	if (kind & 4)
		bytes += 4096;
	must(ftruncate(fd, (off_t)bytes) == 0);
	if (kind & 1)
		must(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	if (kind & 2)
		must(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
	return fd;
}

static int pipe_end(int end)
{
	int fds[2];

	must(pipe(fds) == 0);
	close(fds[!end]);
	return fds[end];
}

static int descriptor(const struct rendezvous_message *m, uint8_t kind, int i)
{
	if (i == 0 && !(kind & 0x40))
		return memory(m, kind);
	if (kind & 0x20 && i % 5 == (kind >> 3 & 3))
		return dup(ends[0]);
	return pipe_end((i + 1) % 2); /* to sleep on, and to ring */
}

static void send_all(const void *message, size_t n, const int *fds, int count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * DESCRIPTORS_MAX)];
	} control;
	struct iovec v = {(void *)(uintptr_t)message, n};
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (count > 0) {
		memset(&control, 0, sizeof(control));
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
	}
	must(sendmsg(ends[0], &h, 0) == (ssize_t)n);
}

static void use(struct rmb_map *map)
{
	for (uint32_t i = 0; i < map->elements; i++)
		for (int side = 0; side < 2; side++) {
			uint8_t *ring = rmb_ring(map, i, side);

			ring[0] ^= 1;
			ring[map->rmbe_bytes - 1] ^= 1;
			rmb_element_release(rmb_element(map, i));
		}
}

static void receive(void)
{
	struct rendezvous_message m;
	struct rmb_map map = {0};
	int fds[RENDEZVOUS_FDS_MAX];
	int count = rendezvous_receive(ends[1], &m, fds);

	if (count <= 0)
		return;
	must(rmb_size_is_valid(m.elements, m.rmbe_bytes, m.overflow_bytes));
	must(count == (int)RENDEZVOUS_FDS(m.elements, m.bells));
	for (int i = 0; i < count; i++)
		must(fdtable_kind(fds[i], FDENTRY_PRIVATE) != NULL);
	if ((uint64_t)m.elements * m.rmbe_bytes * 2 <= MEMORY_MAX &&
	    rmb_map(&map, fds[0], m.elements, m.rmbe_bytes, m.overflow_bytes) ==
		0) {
		must(fcntl(fds[0], F_GET_SEALS) & F_SEAL_SHRINK);
		use(&map);
		rmb_unmap(&map);
	}
	private_fd_close(fds[0]);
	for (int i = 1; i < count; i += (int)m.bells) {
		struct bells b = bells_of_fds(fds + i, m.bells);

		if (bells_adopt(&b) == 0)
			bell_ring(b.peer_data);
		bells_close(&b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rendezvous_message m = {0};
	uint8_t bytes[sizeof(m) + 64] = {0};
	int fds[DESCRIPTORS_MAX];
	int before;
	int count;

	if (ends[0] < 0)
		start();
	if (size < 3 || size - 2 > sizeof(bytes))
		return 0;
	count = data[0] % (DESCRIPTORS_MAX + 1);
	memcpy(bytes, data + 2, size - 2);
	memcpy(&m, bytes, sizeof(m));
	if (data[1] & 0x80) {
		m.magic = RENDEZVOUS_MAGIC;
		m.version = RENDEZVOUS_VERSION;
		memcpy(bytes, &m, sizeof(m));
	}
	before = open_descriptors();
	for (int i = 0; i < count; i++)
		fds[i] = descriptor(&m, data[1], i);
	send_all(bytes, size - 2, fds, count);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	receive();
	must(open_descriptors() == before);
	return 0;
}
