/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cure: what somebody can do about a call of the kernel that failed. */
#ifndef CMD_CURE_H
#define CMD_CURE_H

/*
 * A sentence for this negative errno; variable is the name of the environment
 * variable that names another place for the file, or NULL. The text is good
 * until the next call.
 */
const char *cure_of(int error, const char *variable);

#endif
