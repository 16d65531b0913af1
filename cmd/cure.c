/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cure: what somebody can do about a call of the kernel that failed. */
#include "cure.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

/* Another place is a way out where the place is at fault. */
static const struct {
	int error;
	bool is_place;
	const char *text;
} cures[] = {
    {EACCES, true, "Run the command as root"},
    {EPERM, true, "Run the command as root"},
    {EROFS, true, "Mount its file system writable (mount -o remount,rw)"},
    {ENOSPC, true, "Make room in its file system (df, df -i)"},
    {EDQUOT, true, "Make room: the owner's quota is used up (quota)"},
    {ENOENT, true, "Make the directory that it is to be in"},
    {ENOTDIR, true, "Move the file away that stands where a directory must"},
    {EISDIR, true, "Move the directory away that stands in its place"},
    {ENOTEMPTY, true, "Move the directory away that stands in its place"},
    {EEXIST, true, "Move away what stands in its place"},
    {ELOOP, true, "Move the symbolic link away that stands in its place"},
    {ENXIO, true, "Move away what stands in its place"},
    {ENODEV, true, "Move away what stands in its place"},
    {EINVAL, true, "Move away what stands in its place"},
    {EPROTO, true, "Move away what stands in its place"},
    {ENAMETOOLONG, true, "Give it a shorter path"},
    {EOPNOTSUPP, true, "Use a file system of this host (ext4, xfs, tmpfs)"},
    {ENOLCK, true, "Use a file system of this host (ext4, xfs, tmpfs)"},
    {EXDEV, true, "Unmount what is mounted over it"},
    {EFBIG, false, "Raise the limit of the size of files (ulimit -f)"},
    {EIO, true, "Look for a defect of the disk (dmesg), and repair it"},
    {EMFILE, false, "Raise the limit of open files (ulimit -n)"},
    {ENFILE, false,
     "Raise the host's limit of open files (sysctl fs.file-max)"},
    {ENOMEM, false, "Free memory, and run the command again"},
    {EBUSY, false, "Run the command again when nobody uses it"},
    {EAGAIN, false, "Run the command again when nobody uses it"},
    {ETXTBSY, false, "Run the command again when nobody uses it"},
    {EINTR, false, "Run the command again"},
};

const char *cure_of(int error, const char *variable)
{
	static char out[256];
	const char *text = "Look for the cause in the kernel's log (dmesg)";
	bool is_place = true;

	for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++) {
		if (cures[i].error != -error)
			continue;
		text = cures[i].text;
		is_place = cures[i].is_place;
	}
	if (is_place && variable)
		snprintf(out, sizeof(out), "%s, or set %s to another place.",
			 text, variable);
	else
		snprintf(out, sizeof(out), "%s.", text);
	return out;
}
