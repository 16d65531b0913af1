/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sock_diag_fuzz: any bytes as the kernel's answer about a socket. The cookie
 * and the inode are in it where they were found.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/peer/sock_diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sock_diag_socket found = {0};

	if (sock_diag_decode(data, size, &found) != 0) {
		if (found.cookie || found.inode)
			abort();
		return 0;
	}
	if (!memmem(data, size, &found.cookie, sizeof(found.cookie)) ||
	    !memmem(data, size, &found.inode, sizeof(found.inode)))
		abort();
	return 0;
}
