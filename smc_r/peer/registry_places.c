/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* registry_places: what ended at the ports of users who have no BPF. */
#include "smc_r/peer/registry_places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/found.h"
#include "smc_r/status/user_directory.h"

struct walk {
	int (*each)(void *owner, uint16_t port, const struct worth *worth);
	void *owner;
};

static int look(void *owner, const struct user_directory *u)
{
	struct registry_place places[REGISTRY_PLACES];
	const struct found wanted = {.flags = O_RDONLY,
				     .owner = {u->uid, u->uid}};
	const struct walk *w = owner;
	struct stat st;
	int result = 0;
	int fd = found_open(u->status, "registry", &wanted, &st);

	if (fd < 0)
		return 0;
	/* One of an older revision has none. */
	if (st.st_size == REGISTRY_BYTES &&
	    pread(fd, places, sizeof(places),
		  (off_t)(REGISTRY_BYTES - sizeof(places))) ==
		(ssize_t)sizeof(places))
		for (unsigned i = 0; i < REGISTRY_PLACES && !result; i++)
			if (places[i].port)
				result =
				    w->each(w->owner, (uint16_t)places[i].port,
					    &places[i].worth);
	close(fd);
	return result;
}

int registry_places_each(const char *rundir,
			 int (*each)(void *owner, uint16_t port,
				     const struct worth *worth),
			 void *owner)
{
	struct walk w = {each, owner};

	return user_directory_each(rundir, look, &w);
}
