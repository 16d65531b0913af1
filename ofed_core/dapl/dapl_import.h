/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapl_import: a function that a loaded library calls by name is replaced for
 * that library alone.
 */
#ifndef OFED_CORE_DAPL_IMPORT_H
#define OFED_CORE_DAPL_IMPORT_H

/*
 * library: of dlopen(). 0; -ENOENT when the library calls no such function by
 * way of its table of functions; another -errno.
 */
int dapl_import_replace(void *library, const char *name, void *function);

#endif
