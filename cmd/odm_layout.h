/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * odm_layout: a class as a structure of C, which odmshow prints for people and
 * odmcreate -h for programs.
 */
#ifndef CMD_ODM_LAYOUT_H
#define CMD_ODM_LAYOUT_H

#include <stdio.h>

#include "attrdb/odm_class.h"

/* word is "class" or "struct"; members stand below each other. */
void odm_layout_print(FILE *file, const struct odm_class *c, const char *word);

#endif
