/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* exec_check: would a program that is about to be executed have the engine? */
#include "smc_r/socket/exec_check.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "smc_r/os/sys.h"

#define PRELOAD          "LD_PRELOAD="
#define PRELOAD_BYTES    (sizeof(PRELOAD) - 1)
#define RUNDIR           RUNDIR_VARIABLE "="
#define HEIR             "SMC_R_HEIR="
#define INTERPRETERS_MAX 4 /* scripts that run scripts */
#define HEAD_BYTES       256
#define LOADER_FILE      "/etc/ld.so.preload"
#define LOADER_BYTES     4096 /* our line is the first one */

static const char *library = "";
static const char *name = "";
/* SMC_R_RUNDIR=..., NULL when it is not set. Programs write their titles over
 * the environment that they were started with. */
static char rundir_entry[512];
static const char *rundir;
static bool inherits_listeners;

static const char *entry_of(char *const *env, const char *variable)
{
	size_t n = strlen(variable);

	for (; env && *env; env++)
		if (strncmp(*env, variable, n) == 0)
			return *env;
	return NULL;
}

void exec_check_init(void)
{
	const char *place =
	    secure_getenv(RUNDIR_VARIABLE) ? entry_of(environ, RUNDIR) : NULL;
	const char *slash;
	Dl_info info;

	inherits_listeners = entry_of(environ, HEIR);
	if (place && strlen(place) < sizeof(rundir_entry))
		rundir = strcpy(rundir_entry, place);
	if (!dladdr((void *)(uintptr_t)exec_check_init, &info) ||
	    !info.dli_fname)
		return;
	library = info.dli_fname;
	slash = strrchr(library, '/');
	name = slash ? slash + 1 : library;
}

bool exec_check_inherits_listeners(void)
{
	return inherits_listeners;
}

/* ---- the file ---- */

/* The kernel follows links to it, and executes nothing else. */
static int open_file(int dir, const char *path)
{
	struct stat st;
	int fd;

	if (!*path)
		return (int)SYS_CALL3(SYS_fcntl, dir, F_DUPFD_CLOEXEC, 0);
	fd = (int)SYS_CALL4(SYS_openat, dir, path,
			    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd >= 0 && (sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		sys_close(fd);
		return -EACCES;
	}
	return fd;
}

/* As execvp does: the first that may be executed. */
static int open_in_path(const char *file)
{
	const char *list = getenv("PATH");
	char path[PATH_MAX];

	for (list = list ? list : "/bin:/usr/bin"; *list;) {
		size_t n = strcspn(list, ":");

		if (n + strlen(file) + 2 < sizeof(path)) {
			memcpy(path, list, n);
			memcpy(path + n, "/", 2);
			strcpy(path + n + (n > 0), file);
			if (SYS_CALL4(SYS_faccessat, AT_FDCWD, path, 1, 0) == 0)
				return open_file(AT_FDCWD, path);
		}
		list += n + (list[n] == ':');
	}
	return -1;
}

static bool read_at(int fd, void *out, size_t n, size_t at)
{
	return SYS_CALL4(SYS_pread64, fd, out, n, at) == (long)n;
}

/* The loader then believes nothing that the environment says. */
static bool gains_rights(int fd)
{
	uid_t user = (uid_t)SYS_CALL3(SYS_getuid, 0, 0, 0);
	gid_t group = (gid_t)SYS_CALL3(SYS_getgid, 0, 0, 0);
	struct stat st;

	return SYS_CALL4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) < 0 ||
	       user != sys_geteuid() ||
	       group != (gid_t)SYS_CALL3(SYS_getegid, 0, 0, 0) ||
	       ((st.st_mode & S_ISUID) && st.st_uid != user) ||
	       ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
		st.st_gid != group) ||
	       (user != 0 && SYS_CALL4(SYS_fgetxattr, fd, "security.capability",
				       NULL, 0) > 0);
}

/* Is it our loader that loads it? That of another C library (musl) takes
 * LD_PRELOAD for its own, and cannot load us. */
static bool has_our_loader(int fd, const ElfW(Phdr) * part)
{
	char path[HEAD_BYTES];
	size_t n = part->p_filesz;
	const char *slash;

	if (n == 0 || n > sizeof(path) || !read_at(fd, path, n, part->p_offset))
		return false;
	path[n - 1] = '\0';
	slash = strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, LD_SO) == 0;
}

enum loader {
	LOADER_NONE, /* static, or of another width */
	LOADER_OURS,
	LOADER_OTHER,
};

static enum loader loader_of(int fd)
{
	const unsigned char class =
	    sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	ElfW(Ehdr) header;
	ElfW(Phdr) part;

	if (!read_at(fd, &header, sizeof(header), 0) ||
	    header.e_ident[EI_CLASS] != class ||
	    header.e_phentsize != sizeof(part))
		return LOADER_NONE;
	for (size_t i = 0; i < header.e_phnum; i++) {
		if (!read_at(fd, &part, sizeof(part),
			     header.e_phoff + i * sizeof(part)))
			break;
		if (part.p_type == PT_INTERP)
			return has_our_loader(fd, &part) ? LOADER_OURS
							 : LOADER_OTHER;
	}
	return LOADER_NONE;
}

/* The path in "#! /path argument", in place. */
static const char *interpreter(char *text)
{
	text += 2 + strspn(text + 2, " \t");
	text[strcspn(text, " \t\n")] = '\0';
	return text;
}

/* The ways to name a library to a program's loader. */
enum namer {
	NAMER_NONE,
	NAMER_HOST,        /* LOADER_FILE alone */
	NAMER_ENVIRONMENT, /* LD_PRELOAD as well */
	NAMER_IN_VAIN,     /* LD_PRELOAD, and its loader dies of us */
};

static enum namer namer_of(int fd)
{
	enum loader loader = loader_of(fd);

	if (loader == LOADER_NONE)
		return NAMER_NONE;
	if (gains_rights(fd))
		return loader == LOADER_OURS ? NAMER_HOST : NAMER_NONE;
	return loader == LOADER_OURS ? NAMER_ENVIRONMENT : NAMER_IN_VAIN;
}

static int open_image(const struct exec_image *image)
{
	return image->search && !strchr(image->path, '/')
		   ? open_in_path(image->path)
		   : open_file(image->dir, image->path);
}

static enum namer find_namer(const struct exec_image *image)
{
	int fd = open_image(image);
	char head[HEAD_BYTES];

	for (int i = 0; i < INTERPRETERS_MAX && fd >= 0; i++) {
		long n = SYS_CALL4(SYS_pread64, fd, head, sizeof(head) - 1, 0);
		enum namer namer = NAMER_ENVIRONMENT;

		head[n > 0 ? n : 0] = '\0';
		if (strncmp(head, "#!", 2) == 0) {
			sys_close(fd);
			fd = open_file(AT_FDCWD, interpreter(head));
			continue;
		}
		/* Neither: execvp gives it to the shell, others fail. */
		if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
			namer = namer_of(fd);
		sys_close(fd);
		return namer;
	}
	if (fd >= 0)
		sys_close(fd);
	return NAMER_NONE;
}

/* ---- the loader's file ---- */

/* As the loader reads it: a comment goes from # to the end of the line. */
static bool is_named_in(char *text)
{
	size_t n = strlen(name);
	char *comment;

	while ((comment = strchr(text, '#')))
		memset(comment, ' ', strcspn(comment, "\n"));
	for (text += strspn(text, " \t\n:"); *text;
	     text += strspn(text, " \t\n:")) {
		size_t word = strcspn(text, " \t\n:");

		if (word > n && text[word - n - 1] == '/' &&
		    memcmp(text + word - n, name, n) == 0)
			return true;
		text += word;
	}
	return false;
}

/* Now, and below the root directory that we have now. */
static bool host_names_us(void)
{
	char text[LOADER_BYTES];
	int fd = open_file(AT_FDCWD, LOADER_FILE);
	long n;

	if (fd < 0)
		return false;
	n = SYS_CALL4(SYS_pread64, fd, text, sizeof(text) - 1, 0);
	sys_close(fd);
	text[n > 0 ? n : 0] = '\0';
	return is_named_in(text);
}

static bool is_library_there(void)
{
	return SYS_CALL3(SYS_faccessat, AT_FDCWD, library, R_OK) == 0;
}

/* ---- the environment ---- */

static bool is_named(const char *list)
{
	return list && strstr(list, name);
}

enum exec_engine exec_check_engine(const struct exec_image *image)
{
	const char *off = entry_of(image->env, "SMC_R=");
	const char *list = entry_of(image->env, PRELOAD);
	const char *place = entry_of(image->env, RUNDIR);
	enum namer namer;

	/* Another run directory is another device's. */
	if ((off && strcmp(off, "SMC_R=0") == 0) ||
	    (place && (!rundir || strcmp(place, rundir) != 0)))
		return EXEC_NONE;
	namer = find_namer(image);
	/* One that gains rights has the default run directory. */
	if (namer == NAMER_NONE || namer == NAMER_IN_VAIN ||
	    (namer == NAMER_HOST && rundir) || !is_library_there())
		return EXEC_NONE;
	if (((namer == NAMER_ENVIRONMENT && is_named(list)) ||
	     host_names_us()) &&
	    (place || !rundir))
		return EXEC_LOADS;
	return namer == NAMER_ENVIRONMENT && *library == '/' ? EXEC_ASKED
							     : EXEC_NONE;
}

bool exec_check_is_misled(const struct exec_image *image)
{
	return is_named(entry_of(image->env, PRELOAD)) && *library == '/' &&
	       (!is_library_there() || find_namer(image) == NAMER_IN_VAIN);
}

static size_t count_of(char *const *env)
{
	size_t n = 0;

	while (env && env[n])
		n++;
	return n;
}

size_t exec_check_environment_bytes(char *const *env)
{
	const char *list = entry_of(env, PRELOAD);

	return (count_of(env) + 4) * sizeof(char *) + PRELOAD_BYTES +
	       strlen(library) + 1 + (list ? strlen(list) : 0) + 1;
}

/* The words of the list but those that name us, behind what is in text. */
static void add_others(char *text, const char *list)
{
	while (*(list += strspn(list, " :"))) {
		size_t word = strcspn(list, " :");
		size_t n = strlen(name), end = strlen(text);

		if (word < n || memcmp(list + word - n, name, n) != 0) {
			if (text[end - 1] != '=')
				text[end++] = ':';
			memcpy(text + end, list, word);
			text[end + word] = '\0';
		}
		list += word;
	}
}

/* LD_PRELOAD as it is to be; NULL: without it. */
static char *preload_entry(enum exec_words words, const char *list, char *text)
{
	strcpy(text, PRELOAD);
	/* Where the host's comes by itself, only our run directory is missing.
	 */
	if (words == EXEC_WITH_US && !host_names_us())
		strcat(text, library);
	if (list)
		add_others(text, list + PRELOAD_BYTES);
	return text[PRELOAD_BYTES] ? text : NULL;
}

char *const *exec_check_environment(enum exec_words words, char *const *env,
				    void *memory)
{
	const char *list = entry_of(env, PRELOAD);
	bool keeps_list = words == EXEC_TOLD;
	char **out = memory;
	char *text = (char *)(out + count_of(env) + 4);

	if (!keeps_list && preload_entry(words, list, text))
		*out++ = text;
	if (words == EXEC_WITH_US && rundir && !entry_of(env, RUNDIR))
		*out++ = (char *)(uintptr_t)rundir;
	if (words != EXEC_WITHOUT_US && !entry_of(env, HEIR))
		*out++ = (char *)(uintptr_t)HEIR "1";
	for (; env && *env; env++)
		if (keeps_list || strncmp(*env, PRELOAD, PRELOAD_BYTES) != 0)
			*out++ = *env;
	*out = NULL;
	return memory;
}
