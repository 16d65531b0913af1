/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* output: the end of what a command prints. */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int output_end(const char *command, int status, int failed)
{
	int error = ferror(stdout) ? EIO : 0;

	if (fflush(stdout) != 0)
		error = errno;
	if (!error)
		return status;
	fprintf(stderr, "%s: cannot write: %s\n", command, strerror(error));
	return failed;
}
