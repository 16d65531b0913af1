/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pass_on: another program on this host has our name (lsattr of e2fsprogs,
 * lsdev of procinfo); what is not meant for us goes to it unchanged.
 */
#ifndef CMD_PASS_ON_H
#define CMD_PASS_ON_H

/*
 * Becomes the next program of this name: the first on PATH, then in /usr/bin
 * and /bin, that is not this one. Returns -ENOENT when there is none, or
 * another -errno.
 */
int pass_on(const char *name, char *const *argv);

#endif
