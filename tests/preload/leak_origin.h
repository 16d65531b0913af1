/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * leak_origin: which function made the system call in which a thread is held.
 *
 * Locking: none; one thread uses it.
 */
#ifndef TESTS_PRELOAD_LEAK_ORIGIN_H
#define TESTS_PRELOAD_LEAK_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct origin {
	bool is_library; /* libsmc_r.so made it, itself or through libc */
	char text[256];  /* file+offset of the instruction, and its caller */
};

/* instruction: address behind the syscall instruction. */
void origin_find(struct origin *o, pid_t tid, uint64_t instruction);

/* Memory of another process. */
bool memory_read(pid_t tid, uint64_t address, void *to, size_t size);

#endif
