/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * generate: a script from a seed. The same seed gives the same script.
 */
#ifndef TESTS_ORACLE_GENERATE_H
#define TESTS_ORACLE_GENERATE_H

#include <stdio.h>

/* Seeds from here on take steps that those before do not know, so that each
 * goes on to mean what it did. Those from GENERATE_ALL on: what is done to a
 * connection while it begins (model_begin.c), most of them. */
#define GENERATE_MORE  1000000
#define GENERATE_MOST  3000000
#define GENERATE_FRESH 10000000
#define GENERATE_ALL   20000000

void generate(unsigned long seed, FILE *script);

#endif
