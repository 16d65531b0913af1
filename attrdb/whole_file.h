/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * whole_file: the text of a file that others read while it is replaced.
 */
#ifndef ATTRDB_WHOLE_FILE_H
#define ATTRDB_WHOLE_FILE_H

#include <stddef.h>

/* Opens the directory that this name, of less than PATH_MAX bytes, is in: a
 * descriptor or a negative errno. */
int whole_file_directory(const char *path);

/* Writes all of it and syncs. 0 or a negative errno. */
int whole_file_write(int fd, const char *bytes, size_t length);

#endif
