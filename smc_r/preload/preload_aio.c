/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_aio: requests that somebody carries out later, and past us: threads
 * of libc those of aio(7), the kernel those of io_submit(2), BPF programs what
 * a sockmap is for. Their connections are on TCP before.
 */
#include "smc_r/preload/preload.h"

#include <aio.h>
#include <dlfcn.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <string.h>

#include "smc_r/os/engines.h"
#include "smc_r/os/pages.h"
#include "smc_r/os/sys.h"
#include "smc_r/preload/preload_aio.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/successor.h"

static void give(int fd)
{
	if (fdtable_get(fd))
		successor_descriptor(fd, REASON_DEMOTED_AIO);
}

/* ---- aio(7) ---- */

/* Found once; a second thread finds the same. */
static void *next(void *_Atomic *found, const char *name)
{
	void *f = atomic_load_explicit(found, memory_order_acquire);

	if (!f) {
		f = engines_next(name);
		atomic_store_explicit(found, f, memory_order_release);
	}
	if (!f)
		errno = ENOSYS;
	return f;
}

#define ONE(name, block)                                                       \
	PRELOAD int name(struct block *b)                                      \
	{                                                                      \
		static void *_Atomic found;                                    \
		int (*f)(struct block *) =                                     \
		    (int (*)(struct block *))next(&found, #name);              \
                                                                               \
		if (f)                                                         \
			give(b->aio_fildes);                                   \
		return f ? f(b) : -1;                                          \
	}

ONE(aio_read, aiocb)
ONE(aio_write, aiocb)
ONE(aio_read64, aiocb64)
ONE(aio_write64, aiocb64)

#define LIST(name, block)                                                      \
	PRELOAD int name(int mode, struct block *const list[], int n,          \
			 struct sigevent *event)                               \
	{                                                                      \
		static void *_Atomic found;                                    \
		int (*f)(int, struct block *const[], int, struct sigevent *) = \
		    (int (*)(int, struct block *const[], int,                  \
			     struct sigevent *))next(&found, #name);           \
                                                                               \
		for (int i = 0; f && i < n; i++)                               \
			if (list[i])                                           \
				give(list[i]->aio_fildes);                     \
		return f ? f(mode, list, n, event) : -1;                       \
	}

LIST(lio_listio, aiocb)
LIST(lio_listio64, aiocb64)

/* ---- io_submit(2) ---- */

void aio_submitted(long n, struct iocb *const *list)
{
	for (long i = 0; list && i < n; i++)
		if (list[i])
			give((int)list[i]->aio_fildes);
}

/* libaio enters the kernel by itself. A plugin's is not among the libraries
 * that follow us, but it is loaded, or nobody could call. */
static void *libaio(void *_Atomic *found, const char *name)
{
	void *f = next(found, name);
	void *library;

	if (f)
		return f;
	library = dlopen("libaio.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return library ? dlsym(library, name) : NULL;
}

PRELOAD int io_submit(aio_context_t context, long n, struct iocb **list);
PRELOAD int io_submit(aio_context_t context, long n, struct iocb **list)
{
	static void *_Atomic found;
	int (*f)(aio_context_t, long, struct iocb **) =
	    (int (*)(aio_context_t, long, struct iocb **))libaio(&found,
								 "io_submit");

	aio_submitted(n, list);
	return f ? f(context, n, list) : -ENOSYS;
}

/* ---- bpf(2) ---- */

/* Has it sockets for values? Their bytes in a descriptor's number, else 0. */
static uint32_t socket_bytes_of(uint32_t map)
{
	struct bpf_map_info info = {0};
	union bpf_attr question = {.info = {.bpf_fd = map,
					    .info_len = sizeof(info),
					    .info = (uintptr_t)&info}};

	if (SYS_CALL3(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &question,
		      sizeof(question)) < 0 ||
	    (info.type != BPF_MAP_TYPE_SOCKMAP &&
	     info.type != BPF_MAP_TYPE_SOCKHASH))
		return 0;
	return info.value_size;
}

void bpf_updates_map(const union bpf_attr *a, unsigned bytes)
{
	const void *value;
	uint64_t number = UINT64_MAX;
	uint32_t half;

	if (bytes < offsetof(union bpf_attr, value) + sizeof(a->value) ||
	    !pages_hold(a, bytes, false))
		return;
	value = (const void *)(uintptr_t)a->value;
	switch (socket_bytes_of(a->map_fd)) {
	case sizeof(half):
		if (!pages_hold(value, sizeof(half), false))
			return;
		memcpy(&half, value, sizeof(half));
		number = half;
		break;
	case sizeof(number):
		if (!pages_hold(value, sizeof(number), false))
			return;
		memcpy(&number, value, sizeof(number));
		break;
	}
	if (number <= INT_MAX && connection_of((int)number))
		successor_descriptor((int)number, REASON_DEMOTED_CALL);
}
