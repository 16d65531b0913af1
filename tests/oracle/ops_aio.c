/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ops_aio: requests that somebody else carries out later: threads of libc those
 * of aio(7), the kernel those of io_submit(2).
 */
#include "actor.h"

#include <aio.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 9

/* Its result, as the call itself would have had it. */
static long aio_result(struct aiocb *b)
{
	const struct aiocb *list[] = {b};
	struct timespec limit = {WAIT_SECONDS, 0};
	int error;

	if (aio_suspend(list, 1, &limit) < 0)
		return -1;
	error = aio_error(b);
	if (error) {
		errno = error;
		return -1;
	}
	return aio_return(b);
}

/* aioread FD SIZE [list] */
static void run_aioread(struct call *c)
{
	struct aiocb b = {.aio_fildes = name_fd(c->argv[1]),
			  .aio_buf = c->task->bytes,
			  .aio_nbytes = strtoul(c->argv[2], NULL, 0),
			  .aio_lio_opcode = LIO_READ};
	struct aiocb *list[] = {NULL, &b};
	long ret;

	ret = call_has(c, "list") ? lio_listio(LIO_NOWAIT, list, 2, NULL)
				  : aio_read(&b);
	if (ret == 0)
		ret = aio_result(&b);
	reply_result(c, ret);
	if (ret > 0)
		reply(c, " sum=%08x",
		      sum_bytes(SUM_START, c->task->bytes, (size_t)ret));
}

/* aiowrite FD SIZE PATTERN [list] */
static void run_aiowrite(struct call *c)
{
	struct aiocb b = {.aio_fildes = name_fd(c->argv[1]),
			  .aio_buf = c->task->bytes,
			  .aio_nbytes = strtoul(c->argv[2], NULL, 0),
			  .aio_lio_opcode = LIO_WRITE};
	struct aiocb *list[] = {&b};
	long ret;

	pattern_fill(c->task->bytes, b.aio_nbytes,
		     (uint32_t)strtoul(c->argv[3], NULL, 0), 0);
	ret = call_has(c, "list") ? lio_listio(LIO_WAIT, list, 1, NULL)
				  : aio_write(&b);
	if (ret == 0)
		ret = aio_result(&b);
	reply_result(c, ret);
}

/* One request, and what became of it; bits of poll are told by name. */
static void submit(struct call *c, struct iocb *b, bool is_poll)
{
	struct iocb *list[] = {b};
	struct timespec limit = {WAIT_SECONDS, 0};
	aio_context_t context = 0;
	struct io_event event;
	char bits[64];
	long ret;

	if (syscall(SYS_io_setup, 4, &context) < 0) {
		reply_bad(c, "io_setup");
		return;
	}
	event.res = 0;
	ret = syscall(SYS_io_submit, context, 1L, list);
	reply_result(c, ret);
	if (ret == 1)
		reply_result(c, syscall(SYS_io_getevents, context, 1L, 1L,
					&event, &limit));
	words_print(poll_words, (unsigned)event.res, bits, sizeof(bits));
	if (is_poll)
		reply(c, " %s", bits);
	else
		reply_result(c, (long)event.res);
	syscall(SYS_io_destroy, context);
}

/* kernelpoll FD events=...: IOCB_CMD_POLL, which waits. */
static void run_kernelpoll(struct call *c)
{
	struct iocb b = {.aio_fildes = (uint32_t)name_fd(c->argv[1]),
			 .aio_lio_opcode = IOCB_CMD_POLL,
			 .aio_buf = call_bits(c, "events", poll_words)};

	submit(c, &b, true);
}

/* kernelread FD SIZE: IOCB_CMD_PREAD */
static void run_kernelread(struct call *c)
{
	struct iocb b = {.aio_fildes = (uint32_t)name_fd(c->argv[1]),
			 .aio_lio_opcode = IOCB_CMD_PREAD,
			 .aio_buf = (uintptr_t)c->task->bytes,
			 .aio_nbytes = strtoul(c->argv[2], NULL, 0)};

	submit(c, &b, false);
}

const struct operation aio_operations[] = {
    {"aioread", 2, run_aioread},
    {"aiowrite", 3, run_aiowrite},
    {"kernelpoll", 2, run_kernelpoll},
    {"kernelread", 2, run_kernelread},
    {NULL, 0, NULL},
};
