/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fork_page: variables that are written around each fork, and at each accept,
 * and those that a call on a descriptor of the kernel's looks at. A process
 * that forks copies each page that it or its child writes to behind it, and
 * each system call leaves the caches colder, so these lie together.
 */
#ifndef SMC_R_FORK_PAGE_H
#define SMC_R_FORK_PAGE_H

#define FORK_PAGE __attribute__((section(".data.fork")))

/*
 * What such a child runs, and the calls that most servers make on a descriptor
 * of the kernel's. The linker sorts by alignment, so these come first; PRELOAD
 * functions follow (preload.h).
 */
#define FORK_TEXT __attribute__((section(".text.hot.fork"), aligned(32)))

/* The table that begins in their page, behind them: the most aligned one. */
#define BEHIND_FORK_PAGE _Alignas(256)

#endif
