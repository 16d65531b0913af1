/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim: what the files of the shim library share.
 *
 * The shim lives in programs that are not ours: libc only, no allocation, errno
 * is kept where the call succeeds. Every interposed call ends in the next
 * definition (dlsym RTLD_NEXT), which may belong to another preload library.
 */
#ifndef OFED_CORE_SHIM_H
#define OFED_CORE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ofed_core/base/shim_protocol.h"

#define SHIM_EXPORT __attribute__((visibility("default")))

/*
 * The next definition of a libc name, looked up once. Racing threads store
 * the same pointer.
 */
#define SHIM_NEXT(name)                                                        \
	({                                                                     \
		static void *next_;                                            \
		void *p_ = __atomic_load_n(&next_, __ATOMIC_RELAXED);          \
		if (!p_) {                                                     \
			p_ = shim_next(#name);                                 \
			__atomic_store_n(&next_, p_, __ATOMIC_RELAXED);        \
		}                                                              \
		(__typeof__(&name))p_;                                         \
	})

void *shim_next(const char *name);

enum shim_fd_kind {
	SHIM_FD_NONE,
	SHIM_FD_UVERBS,
	SHIM_FD_CM,
	SHIM_FD_NETLINK,
	SHIM_FD_CHANNEL, /* completion events */
};

/* Descriptors of ours. Numbers beyond the table are never ours. */
enum shim_fd_kind shim_fd_kind(int fd);
unsigned shim_fd_number(int fd); /* N of uverbsN */
void shim_fd_set(int fd, enum shim_fd_kind kind, unsigned number);
void shim_fd_clear(int fd);
void shim_fd_copy(int to, int from);
void shim_fd_clear_range(unsigned first, unsigned last);
/* In a child of vfork(), which must leave our tables alone. */
bool shim_memory_is_borrowed(void);

/* An answer of the core. */
struct shim_answer {
	int result;
	uint32_t bytes;
	uint32_t fd_offset;
	int fd; /* owned by the caller; -1 when none came */
	_Alignas(8) unsigned char data[SHIM_COMMAND_BYTES];
};

/* A connected descriptor, or -errno. */
int shim_connect(void);

/*
 * Sends a request, with the extra descriptor when >= 0, and waits for the
 * answer. 0 when an answer came (its result may still be an error), or
 * -errno of the conversation itself.
 */
int shim_call(int fd, const struct shim_request *request, const void *bytes,
	      int extra, struct shim_answer *answer);
int shim_post(int fd, const struct shim_request *request);

/* open() of a device node: descriptor or -1 with errno. */
int shim_open_uverbs(unsigned number, int flags);
int shim_open_cm(int flags);
ssize_t shim_uverbs_write(int fd, const void *bytes, size_t count);
ssize_t shim_cm_write(int fd, const void *bytes, size_t count);

/*
 * Every page of [begin, begin + bytes) is mapped and may be read, or written.
 * True as well where the kernel does not tell.
 */
bool shim_memory_is_there(uint64_t begin, uint64_t bytes, bool is_written);

/* read() of a completion channel. */
ssize_t shim_event_read(int fd, void *bytes, size_t count);

/*
 * Rings that the program has mapped, by queue pair or completion queue (their
 * handles differ). A full table only costs requests to the core.
 */
void shim_ring_add(int fd, uint32_t handle, uint64_t offset);
void shim_ring_mapped(int fd, uint64_t offset, void *ring);
void shim_ring_remove(int fd, uint32_t handle);
void shim_ring_remove_all(int fd);
/* A word of its header (enum shim_ring_word); fallback when not known. */
uint32_t shim_ring_word(int fd, uint32_t handle, unsigned word,
			uint32_t fallback);
/* Arms a completion queue; false when the core has to. */
bool shim_ring_arm(int fd, uint32_t handle, bool solicited_only);

/* What a path means to us. */
enum shim_path {
	SHIM_PATH_OTHER,
	SHIM_PATH_REWRITTEN, /* under the sysfs tree of the core */
	SHIM_PATH_UVERBS,    /* a node of ours */
	SHIM_PATH_CM,
};

/*
 * Classifies path; for SHIM_PATH_REWRITTEN fills out (size bytes), for
 * SHIM_PATH_UVERBS *number.
 */
enum shim_path shim_path(const char *path, char *out, size_t size,
			 unsigned *number);

/* The netlink socket of protocol NETLINK_RDMA. */
int shim_netlink_open(int type, int protocol);
ssize_t shim_netlink_send(int fd, const void *bytes, size_t count);

#endif
