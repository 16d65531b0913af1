/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_nodes: opening a device node of the core, and write() on it.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <rdma/rdma_user_rxe.h>
#include <string.h>
#include <unistd.h>

#define UVERBS_RESPONSE_OFFSET 8
#define STATE_RTS              3  /* enum ib_qp_state */
#define DRIVER_POINTER_OFFSET  24 /* struct ib_uverbs_modify_srq, after hdr */

/* For these the kernel wants pages that may be written. */
#define ACCESS_WRITES                                                          \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |        \
	 IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_MW_BIND)

static int fail(int error)
{
	errno = -error;
	return -1;
}

static int open_node(struct shim_request *r, int flags, enum shim_fd_kind kind)
{
	struct shim_answer answer;
	int fd = shim_connect();
	int rc;

	if (fd < 0)
		return fail(fd == -ENOENT ? -ENODEV : fd);
	r->offset = SHIM_PROTOCOL;
	/* The core knows the node again when a command names it. */
	rc = shim_call(fd, r, NULL, fd, &answer);
	if (rc == 0)
		rc = answer.result;
	if (rc < 0) {
		SHIM_NEXT(close)(fd);
		return fail(rc);
	}
	if (!(flags & O_CLOEXEC))
		SHIM_NEXT(fcntl)(fd, F_SETFD, 0);
	if (flags & O_NONBLOCK)
		SHIM_NEXT(fcntl)(fd, F_SETFL, O_NONBLOCK);
	shim_fd_set(fd, kind, r->argument);
	return fd;
}

int shim_open_uverbs(unsigned number, int flags)
{
	struct shim_request r = {.kind = SHIM_OPEN_UVERBS, .argument = number};

	return open_node(&r, flags, SHIM_FD_UVERBS);
}

int shim_open_cm(int flags)
{
	struct shim_request r = {.kind = SHIM_OPEN_CM};

	return open_node(&r, flags, SHIM_FD_CM);
}

static uint32_t word_at(const void *bytes, size_t offset)
{
	uint32_t v;

	memcpy(&v, (const char *)bytes + offset, sizeof(v));
	return v;
}

static void *pointer_at(const void *bytes, size_t count, size_t offset)
{
	uint64_t v;

	if (count < offset + sizeof(v))
		return NULL;
	memcpy(&v, (const char *)bytes + offset, sizeof(v));
	return (void *)(uintptr_t)v;
}

/* Closes what was passed, if anything was. */
static ssize_t fail_closing(int fd, int error)
{
	if (fd >= 0)
		SHIM_NEXT(close)(fd);
	return fail(error);
}

/* Copies the answer out and puts the passed descriptor in its place. */
static ssize_t finish(struct shim_answer *a, void *response, size_t count)
{
	if (a->result < 0)
		return fail_closing(a->fd, a->result);
	if (a->fd >= 0) {
		if (a->fd_offset + sizeof(int) > a->bytes || !response)
			return fail_closing(a->fd, -EIO);
		memcpy(a->data + a->fd_offset, &a->fd, sizeof(int));
	}
	if (a->bytes && !response)
		return fail(-EFAULT);
	if (a->bytes)
		memcpy(response, a->data, a->bytes);
	return (ssize_t)count;
}

/* Where a command has a word that matters here; headers count. */
struct place {
	uint32_t command;
	size_t at;
};

#define CMD(name)      IB_USER_VERBS_CMD_##name
#define EXTENDED(name) (CMD(name) | IB_USER_VERBS_CMD_FLAG_EXTENDED)
#define AT(name, word) (8 + offsetof(struct ib_uverbs_##name, word))

/* The word there, or UINT32_MAX. */
static uint32_t word_of(const struct place *list, size_t places,
			const void *bytes, size_t count)
{
	for (size_t i = 0; i < places; i++)
		if (list[i].command == word_at(bytes, 0) &&
		    count >= list[i].at + sizeof(uint32_t))
			return word_at(bytes, list[i].at);
	return UINT32_MAX;
}

/* The descriptor a command names by number, or -1. */
static int named_descriptor(const void *bytes, size_t count)
{
	static const struct place list[] = {
	    {CMD(CREATE_CQ), AT(create_cq, comp_channel)},
	    {EXTENDED(CREATE_CQ), 16 + AT(ex_create_cq, comp_channel)},
	};

	return (int)word_of(list, 2, bytes, count);
}

static ssize_t doorbell(int fd, const void *bytes, size_t count)
{
	struct shim_request r = {.kind = SHIM_DOORBELL};
	int rc;

	r.argument = word_at(bytes, AT(post_send, qp_handle));
	if (shim_ring_word(fd, r.argument, SHIM_RING_STATE, STATE_RTS) <
	    STATE_RTS)
		return fail(-EINVAL);
	if (shim_ring_word(fd, r.argument, SHIM_RING_POLLED, 0))
		return (ssize_t)count;
	rc = shim_post(fd, &r);
	return rc < 0 ? fail(rc) : (ssize_t)count;
}

static bool arm(int fd, const void *bytes)
{
	return shim_ring_arm(fd, word_at(bytes, AT(req_notify_cq, cq_handle)),
			     word_at(bytes, AT(req_notify_cq, solicited_only)));
}

/* The ring of a new queue: where its place stands in the driver's answer. */
static void learn_ring(int fd, uint32_t handle, const struct shim_answer *a,
		       size_t at)
{
	struct mminfo place;

	if (a->bytes < at + sizeof(place))
		return;
	memcpy(&place, a->data + at, sizeof(place));
	shim_ring_add(fd, handle, place.offset);
}

/* Learns from commands that went well which rings there are. */
static void follow(int fd, uint32_t command, const void *bytes,
		   const struct shim_answer *a)
{
	const size_t sq = offsetof(struct rxe_create_qp_resp, sq_mi);
	uint32_t handle = word_at(a->data, 0);
	/* Extended answers: the number of words stands in the command. */
	size_t extended = (word_at(bytes, 4) >> 16) * 8;

	switch (command) {
	case CMD(CREATE_QP):
		extended = sizeof(struct ib_uverbs_create_qp_resp);
		/* fall through */
	case EXTENDED(CREATE_QP):
		learn_ring(fd, handle, a, extended + sq);
		return;
	case CMD(CREATE_CQ):
		extended = sizeof(struct ib_uverbs_create_cq_resp);
		/* fall through */
	case EXTENDED(CREATE_CQ):
		learn_ring(fd, handle, a, extended);
		return;
	case CMD(RESIZE_CQ):
		learn_ring(fd, word_at(bytes, AT(resize_cq, cq_handle)), a,
			   sizeof(struct ib_uverbs_resize_cq_resp));
		return;
	}
}

/* Before a command that ends the use of a ring. */
static void forget(int fd, const void *bytes, size_t count)
{
	static const struct place list[] = {
	    {CMD(DESTROY_QP), AT(destroy_qp, qp_handle)},
	    {CMD(DESTROY_CQ), AT(destroy_cq, cq_handle)},
	    {CMD(RESIZE_CQ), AT(resize_cq, cq_handle)},
	};
	uint32_t handle = word_of(list, 3, bytes, count);

	if (handle != UINT32_MAX)
		shim_ring_remove(fd, handle);
}

/* Memory that cannot be registered; what is wrong otherwise the core says. */
static bool is_bad_memory(const void *bytes, size_t count)
{
	struct ib_uverbs_reg_mr q;

	if (word_at(bytes, 0) != CMD(REG_MR) || count < 8 + sizeof(q))
		return false;
	memcpy(&q, (const char *)bytes + 8, sizeof(q));
	return q.start + q.length > q.start &&
	       !(q.access_flags & IB_UVERBS_ACCESS_ON_DEMAND) &&
	       !shim_memory_is_there(q.start, q.length,
				     q.access_flags & ACCESS_WRITES);
}

ssize_t shim_uverbs_write(int fd, const void *bytes, size_t count)
{
	struct shim_request r = {.kind = SHIM_COMMAND};
	struct shim_answer answer;
	void *response;
	uint32_t command;
	int rc;

	if (count < 8 || count > SHIM_COMMAND_BYTES)
		return fail(-EINVAL);
	command = word_at(bytes, 0);
	if (command == CMD(POST_SEND) &&
	    count >= 8 + sizeof(struct ib_uverbs_post_send))
		return doorbell(fd, bytes, count);
	if (command == CMD(REQ_NOTIFY_CQ) &&
	    count >= 8 + sizeof(struct ib_uverbs_req_notify_cq) &&
	    arm(fd, bytes))
		return (ssize_t)count;
	if (is_bad_memory(bytes, count))
		return fail(-EFAULT);
	r.bytes = (uint32_t)count;
	forget(fd, bytes, count);
	rc = shim_call(fd, &r, bytes, named_descriptor(bytes, count), &answer);
	if (rc < 0)
		return fail(rc);
	if (answer.result == 0)
		follow(fd, command, bytes, &answer);
	if (command == CMD(CREATE_COMP_CHANNEL) && answer.fd >= 0)
		shim_fd_set(answer.fd, SHIM_FD_CHANNEL, 0);
	response =
	    pointer_at(bytes, count,
		       command == CMD(MODIFY_SRQ) ? DRIVER_POINTER_OFFSET
						  : UVERBS_RESPONSE_OFFSET);
	return finish(&answer, response, count);
}

/*
 * The byte that announces an event is read first, so that the descriptor's
 * own blocking mode decides whether the program waits.
 */
static int await_event_byte(int fd)
{
	char byte;
	ssize_t n = SHIM_NEXT(read)(fd, &byte, 1);

	if (n < 0)
		return -errno;
	return n == 0 ? -ENODEV : 0;
}

/*
 * Another thread has closed the descriptor after an event had come, which went
 * away with its id. In the kernel the call would hold the file and go on
 * waiting; programs count on that at their end (rping).
 */
static ssize_t wait_in_vain(void)
{
	pause();
	return fail(-EBADF);
}

static ssize_t get_event(int fd, const void *bytes, size_t count)
{
	struct shim_request r = {.kind = SHIM_COMMAND,
				 .bytes = (uint32_t)count};
	struct shim_answer answer;
	int rc = await_event_byte(fd);

	if (rc < 0)
		return fail(rc);
	for (;;) {
		rc = shim_call(fd, &r, bytes, -1, &answer);
		if (rc == 0 && answer.result != -EAGAIN)
			return finish(&answer, pointer_at(bytes, count, 8),
				      count);
		/* The event went away with its id: wait for the next. */
		if (rc == 0)
			rc = await_event_byte(fd);
		if (rc < 0 && shim_fd_kind(fd) != SHIM_FD_CM)
			return wait_in_vain();
		if (rc < 0)
			return fail(rc);
	}
}

/* The value of an option lies behind a pointer: it travels with the command. */
static ssize_t set_option(int fd, const void *bytes, size_t count)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_set_option option;
		unsigned char value[1024];
	} c = {0};
	const void *value = pointer_at(bytes, count, sizeof(c.hdr));
	struct shim_request r = {.kind = SHIM_COMMAND};
	struct shim_answer answer;
	int rc;

	if (count < sizeof(c.hdr) + sizeof(c.option))
		return fail(-EINVAL);
	memcpy(&c, bytes, sizeof(c.hdr) + sizeof(c.option));
	if (c.option.optlen > sizeof(c.value) || (c.option.optlen && !value))
		return fail(-EINVAL);
	if (c.option.optlen)
		memcpy(c.value, value, c.option.optlen);
	r.bytes = (uint32_t)(offsetof(__typeof__(c), value) + c.option.optlen);
	rc = shim_call(fd, &r, &c, -1, &answer);
	return rc < 0 ? fail(rc) : finish(&answer, NULL, count);
}

ssize_t shim_cm_write(int fd, const void *bytes, size_t count)
{
	struct shim_request r = {.kind = SHIM_COMMAND,
				 .bytes = (uint32_t)count};
	struct shim_answer answer;
	size_t response = sizeof(struct rdma_ucm_cmd_hdr);
	int extra = -1;
	int rc;

	if (count < response || count > SHIM_COMMAND_BYTES)
		return fail(-EINVAL);
	switch (word_at(bytes, 0)) {
	case RDMA_USER_CM_CMD_GET_EVENT:
		return get_event(fd, bytes, count);
	case RDMA_USER_CM_CMD_SET_OPTION:
		return set_option(fd, bytes, count);
	case RDMA_USER_CM_CMD_CREATE_ID:
		response += offsetof(struct rdma_ucm_create_id, response);
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		if (count >= response + sizeof(struct rdma_ucm_migrate_id))
			extra = (int)word_at(
			    bytes,
			    response +
				offsetof(struct rdma_ucm_migrate_id, fd));
		break;
	}
	rc = shim_call(fd, &r, bytes, extra, &answer);
	if (rc < 0)
		return fail(rc);
	return finish(&answer, pointer_at(bytes, count, response), count);
}
