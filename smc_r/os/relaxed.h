/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relaxed: words that other threads or processes change as well, where no order
 * with other words matters, or a fence beside them makes it.
 */
#ifndef SMC_R_RELAXED_H
#define SMC_R_RELAXED_H

#include <stdatomic.h>

#define relaxed_load(word) atomic_load_explicit(word, memory_order_relaxed)
#define relaxed_store(word, value)                                             \
	atomic_store_explicit(word, value, memory_order_relaxed)
#define relaxed_add(word, value)                                               \
	atomic_fetch_add_explicit(word, value, memory_order_relaxed)

#endif
