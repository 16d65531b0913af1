/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_netlink_fuzz: any bytes as a program's request about RDMA devices, and
 * as what the kernel answers to it. What the program gets is one list of whole
 * messages.
 *
 * Input: pieces, each with its length in two bytes: the request, then answers,
 * which come in turns; an error follows the last one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ofed_core/shim/shim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROGRAM 3    /* its descriptor */
#define OTHERS  1000 /* of the kernel and of the core */

static const uint8_t *rest;
static size_t rest_bytes;

static void must(int holds)
{
	if (!holds)
		abort();
}

static const uint8_t *take_piece(size_t *size)
{
	const uint8_t *piece;

	if (rest_bytes < 2)
		return NULL;
	*size = rest[0] | (size_t)rest[1] << 8;
	piece = rest + 2;
	rest_bytes -= 2;
	*size = *size < rest_bytes ? *size : rest_bytes;
	rest = piece + *size;
	rest_bytes -= *size;
	return piece;
}

/* ---- what stands in for the core and the kernel ---- */

int shim_connect(void)
{
	return OTHERS;
}

int shim_call(int fd, const struct shim_request *request, const void *bytes,
	      int extra, struct shim_answer *answer)
{
	const struct shim_device devices[2] = {
	    {.name = "ent0", .netdev = "eth0", .index = 1000, .is_up = 1},
	    {.name = "ent1", .netdev = "eth1", .index = 1001, .uverbs = 1}};

	(void)fd;
	(void)request;
	(void)bytes;
	(void)extra;
	memset(answer, 0, sizeof(*answer));
	answer->bytes = sizeof(devices);
	memcpy(answer->data, devices, sizeof(devices));
	return 0;
}

enum shim_path shim_path(const char *path, char *out, size_t size,
			 unsigned *number)
{
	(void)path;
	(void)out;
	(void)size;
	(void)number;
	return SHIM_PATH_CM;
}

void shim_fd_set(int fd, enum shim_fd_kind kind, unsigned number)
{
	(void)fd;
	(void)kind;
	(void)number;
}

static int call(int fd, ...)
{
	return fd;
}

static ssize_t answer(int fd, void *out, size_t count)
{
	size_t size;
	const uint8_t *piece = take_piece(&size);

	must(fd == OTHERS);
	if (!piece) {
		errno = ENOBUFS;
		return -1;
	}
	count = count < size ? count : size;
	memcpy(out, piece, count);
	return (ssize_t)count;
}

static ssize_t check_answer(const void *bytes, size_t count);

/* The request goes to the kernel, the answer to the program. */
static ssize_t send_either(int fd, const void *bytes, size_t count)
{
	return fd == PROGRAM ? check_answer(bytes, count) : (ssize_t)count;
}

#define next_socket(domain, type, protocol) call(OTHERS, domain, type, protocol)
#define next_close(fd)                      call(fd)
#define next_bind(fd, address, size)        call(fd, address, size)
#define next_getsockname(fd, address, size) call(fd, address, size)
#define next_connect(fd, address, size)     call(fd, address, size)
#define next_recv(fd, out, count, flags)    answer(fd, out, count)
#define next_send(fd, bytes, count, flags)  send_either(fd, bytes, count)

/* The file under test is taken in whole, so that its calls come here. */
#undef SHIM_NEXT
#define SHIM_NEXT(name) next_##name
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "ofed_core/shim/shim_netlink.c"

static ssize_t check_answer(const void *bytes, size_t count)
{
	size_t at = 0;
	struct nlmsghdr h;

	must(count <= ANSWER_BYTES);
	while (at < count) {
		must(count - at >= sizeof(h));
		memcpy(&h, (const char *)bytes + at, sizeof(h));
		must(h.nlmsg_len >= sizeof(h) && h.nlmsg_len <= count - at);
		at += NLMSG_ALIGN(h.nlmsg_len);
	}
	must(at == count);
	return (ssize_t)count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = 0;
	const uint8_t *piece;
	uint8_t *request;

	rest = data;
	rest_bytes = size;
	piece = take_piece(&count);
	request = malloc(count + 1);
	must(request != NULL);
	if (piece)
		memcpy(request, piece, count);
	shim_netlink_send(PROGRAM, request, count);
	free(request);
	return 0;
}
