/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * doubts: values that an attribute may have, and that will not do now what
 * somebody may expect of them.
 */
#ifndef CMD_DOUBTS_H
#define CMD_DOUBTS_H

#include "message.h"

/* Says so, as notes, of the new value of an attribute of smc_r0. */
void doubts_say(const struct cmd *cmd, const char *attribute,
		const char *value);

#endif
