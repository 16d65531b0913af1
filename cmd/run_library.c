/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_library: finds the preload library and names it to a program.
 */
#include "run_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ofed_core/base/ofed_rundir.h"

#define INTERPRETERS_MAX 4 /* scripts that run scripts */

/* ---- The library -------------------------------------------------------- */

static int take_file(const char *path, char *out, size_t size)
{
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(path, real))
		return -errno;
	if (stat(real, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	if (access(real, R_OK) != 0)
		return -errno;
	if (strlen(real) >= size)
		return -ENAMETOOLONG;
	strcpy(out, real);
	return 0;
}

/* The directory of this executable; "" when it cannot be told. */
static void own_directory(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	char *slash;

	out[n > 0 ? n : 0] = '\0';
	slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
}

static int take_beside(const char *directory, const char *way, char *out,
		       size_t size)
{
	char path[PATH_MAX];

	if (!*directory || snprintf(path, sizeof(path), "%s/%s", directory,
				    way) >= (int)sizeof(path))
		return -ENOENT;
	return take_file(path, out, size);
}

/* In a build tree, or as installed. */
static int take_installed(const char *name, char *out, size_t size)
{
	static const char *const ways[] = {"../lib", "../lib/smc_r"};
	char own[PATH_MAX];
	char path[PATH_MAX];

	own_directory(own, sizeof(own));
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", ways[i], name);
		if (take_beside(own, path, out, size) == 0)
			return 0;
	}
	return -ENOENT;
}

int run_library_rdma(char *out, size_t size)
{
	const char *named = getenv("OFED_CORE_LIB");
	char path[PATH_MAX];
	int error = ofed_rundir_path(path, sizeof(path), "verbs");

	if (error)
		return error;
	if (access(path, F_OK) != 0)
		return -ENOENT;
	if (named && *named)
		return take_file(named, out, size);
	return take_installed("libofed_core.so", out, size);
}

int run_library_find(char *out, size_t size, char *why, size_t why_size)
{
	const char *named = getenv(RUN_LIBRARY_VARIABLE);
	char own[PATH_MAX];
	int error;

	if (named && *named) {
		error = take_file(named, out, size);
		if (error)
			snprintf(why, why_size,
				 RUN_LIBRARY_VARIABLE "=%s cannot be used: %s",
				 named, strerror(-error));
		return error;
	}
	own_directory(own, sizeof(own));
	error = take_installed(RUN_LIBRARY_NAME, out, size);
	if (error)
		snprintf(why, why_size,
			 RUN_LIBRARY_NAME " is missing: not in %s/../lib, "
					  "%s/../lib/smc_r; install it, or "
					  "name it in $" RUN_LIBRARY_VARIABLE,
			 own, own);
	return error;
}

/* What the loader puts in the place of $LIB: libc lives there. */
static const char *loader_lib(char directory[PATH_MAX])
{
	Dl_info libc;
	char *slash;

	if (!dladdr((const void *)(uintptr_t)gnu_get_libc_version, &libc) ||
	    !libc.dli_fname || strlen(libc.dli_fname) >= PATH_MAX)
		return NULL;
	strcpy(directory, libc.dli_fname);
	slash = strrchr(directory, '/');
	if (!slash || directory[0] != '/')
		return NULL;
	*slash = '\0';
	return strncmp(directory, "/usr/", 5) == 0 ? directory + 5
						   : directory + 1;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void run_library_line(const char *library, char out[PATH_MAX])
{
	const char *slash = strrchr(library, '/');
	int n = slash ? (int)(slash - library) : 0;
	char path[PATH_MAX], libc[PATH_MAX];
	const char *lib = loader_lib(libc);

	if (!lib ||
	    snprintf(path, PATH_MAX, "%.*s/system/%s/" RUN_LIBRARY_NAME, n,
		     library, lib) >= PATH_MAX ||
	    !is_same_file(path, library) ||
	    snprintf(out, PATH_MAX, "%.*s/system/$LIB/" RUN_LIBRARY_NAME, n,
		     library) >= PATH_MAX)
		snprintf(out, PATH_MAX, "%s", library);
}

bool run_library_is_listed(const char *list, const char *path)
{
	size_t n = strlen(path);

	for (list += strspn(list, " :"); *list; list += strspn(list, " :")) {
		if (strncmp(list, path, n) == 0 && strchr(" :", list[n]))
			return true;
		list += strcspn(list, " :");
	}
	return false;
}

int run_library_preload(const char *path, bool again)
{
	const char *there = getenv(RUN_LIBRARY_LIST);
	char *list = NULL;
	int error = 0;

	if (strpbrk(path, " \t\n:"))
		return -EINVAL;
	if (!there || !*there)
		return setenv(RUN_LIBRARY_LIST, path, 1) ? -errno : 0;
	if (!again && run_library_is_listed(there, path))
		return 0;
	if (asprintf(&list, "%s:%s", path, there) < 0)
		return -ENOMEM;
	if (setenv(RUN_LIBRARY_LIST, list, 1) != 0)
		error = -errno;
	free(list);
	return error;
}

/* ---- The program -------------------------------------------------------- */

static int take_program(const char *path, char *out, size_t size)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
		return -EACCES;
	if (strlen(path) >= size)
		return -ENAMETOOLONG;
	strcpy(out, path);
	return 0;
}

int run_library_program(const char *name, char *out, size_t size)
{
	const char *path = getenv("PATH");
	int error = -ENOENT;
	char candidate[PATH_MAX];

	if (strchr(name, '/'))
		return take_program(name, out, size);
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		int n = (int)strcspn(path, ":");
		int tried;

		/* An empty part is the working directory. */
		snprintf(candidate, sizeof(candidate), "%.*s%s%s", n, path,
			 n ? "/" : "./", name);
		tried = take_program(candidate, out, size);
		if (!tried)
			return 0;
		if (tried == -EACCES)
			error = tried;
		if (!path[n])
			return error;
		path += n + 1;
	}
}

/* Gains rights at exec, so that the loader ignores LD_PRELOAD (AT_SECURE). */
static bool gains_rights(int fd, const struct stat *st)
{
	if (st->st_mode & S_ISUID && st->st_uid != getuid())
		return true;
	if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP &&
	    st->st_gid != getgid())
		return true;
	return getuid() != 0 &&
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static const char other_libc[] = "is of another C library";

/* Programs name their loader, and each C library has its own. */
static const char *loader_obstacle(int fd, const ElfW(Phdr) * part)
{
	char path[PATH_MAX];
	size_t n = part->p_filesz;
	const char *slash;

	if (n == 0 || n > sizeof(path) ||
	    pread(fd, path, n, (off_t)part->p_offset) != (ssize_t)n)
		return "is damaged";
	path[n - 1] = '\0';
	slash = strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, LD_SO) == 0 ? NULL : other_libc;
}

static const char *interpreter_obstacle(int fd, const ElfW(Ehdr) * header)
{
	ElfW(Phdr) part;
	int i;

	for (i = 0; i < header->e_phnum; i++) {
		off_t at = (off_t)(header->e_phoff + (size_t)i * sizeof(part));

		if (header->e_phentsize != sizeof(part) ||
		    pread(fd, &part, sizeof(part), at) != sizeof(part))
			break;
		if (part.p_type == PT_INTERP)
			return loader_obstacle(fd, &part);
	}
	return "is statically linked";
}

static const char *elf_obstacle(int fd)
{
	const unsigned char class =
	    sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	ElfW(Ehdr) header, own;
	int self;
	bool foreign;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return "is damaged";
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	foreign =
	    header.e_ident[EI_CLASS] != class ||
	    (self >= 0 && pread(self, &own, sizeof(own), 0) == sizeof(own) &&
	     own.e_machine != header.e_machine);
	if (self >= 0)
		close(self);
	if (foreign)
		return "is built for another machine";
	return interpreter_obstacle(fd, &header);
}

/* Cuts the interpreter's path out of a line "#! /path argument". */
static bool read_interpreter(const char *text, char *out, size_t size)
{
	size_t n;

	if (strncmp(text, "#!", 2) != 0)
		return false;
	text += 2 + strspn(text + 2, " \t");
	n = strcspn(text, " \t\n");
	if (n == 0 || n >= size)
		return false;
	memcpy(out, text, n);
	out[n] = '\0';
	return true;
}

/* True when `path` is a script; then it becomes its interpreter. */
static bool step(char *path, size_t size, const char **obstacle)
{
	char head[256];
	struct stat st;
	bool script = false;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*obstacle = NULL;
	if (fd < 0)
		return false;
	n = pread(fd, head, sizeof(head) - 1, 0);
	head[n > 0 ? n : 0] = '\0';
	if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0) {
		if (fstat(fd, &st) == 0 && gains_rights(fd, &st))
			*obstacle = "runs with the rights of its owner";
		else
			*obstacle = elf_obstacle(fd);
	} else {
		script = read_interpreter(head, path, size);
	}
	close(fd);
	return script;
}

const char *run_library_obstacle(const char *path)
{
	const char *obstacle = NULL;
	char file[PATH_MAX];
	int i;

	if (strlen(path) >= sizeof(file))
		return NULL;
	strcpy(file, path);
	for (i = 0; i < INTERPRETERS_MAX; i++) {
		if (!step(file, sizeof(file), &obstacle))
			break;
	}
	return obstacle;
}

bool run_library_is_refused(const char *path)
{
	return run_library_obstacle(path) == other_libc;
}
