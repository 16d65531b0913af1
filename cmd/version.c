/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* version: what --version prints. */
#include "version.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

/* The makefile says which one; a checker of this file does not. */
#ifndef SMC_R_VERSION
#define SMC_R_VERSION "0"
#endif

bool version_answer(const char *command, int argc, char **argv, int *status)
{
	if (argc != 2 || strcmp(argv[1], "--version") != 0)
		return false;
	printf("%s (smc_r) %s\n", command, SMC_R_VERSION);
	*status = output_end(command, 0, 1);
	return true;
}
