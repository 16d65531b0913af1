/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * splice_copy: splice(2) and sendfile(2) where one end is on SMC and the
 * other one is a pipe: by copying, as the ring is not made of pages.
 *
 * Locking: the caller holds no lock; a cancellation point, as splice is.
 */
#ifndef SMC_R_SPLICE_COPY_H
#define SMC_R_SPLICE_COPY_H

#include <stddef.h>
#include <sys/types.h>

/* Bytes moved, 0 at the end of the input, -1 with errno, SOCKET_KERNEL. Never
 * takes more from the input than the output can hold. */
ssize_t splice_copy(int in, int out, size_t n, unsigned flags);

#endif
