/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_commands_fuzz: any bytes as the bodies of uverbs commands, one after the
 * other, of a program that then ends.
 *
 * Input: commands; each is its number (high bit: an extended one), the words of
 * its answer, the bytes of its body, and these. Small addresses of memory to be
 * registered lie in memory of ours. The headers are right; ofed_uverbs_fuzz has
 * those that are not.
 *
 * An answer fits its room, and the end of the program leaves no descriptor.
 */
#include "tests/fuzz/core_client.h"

#define COMMANDS_MAX 24
#define EXTENDED     0x80
#define MEMORY_BYTES 65536
#define BODY_MAX     256
#define DRIVER_WORDS 4 /* of 8 bytes, for what the driver answers */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct source *listener;
static uint8_t memory[MEMORY_BYTES] __attribute__((aligned(4096)));

int wire_send(const struct address *to, const struct packet *p)
{
	(void)to;
	(void)p;
	return 0;
}

struct plain {
	struct ib_uverbs_cmd_hdr h;
	uint8_t body[BODY_MAX];
};

struct extended {
	struct ib_uverbs_cmd_hdr h;
	struct ib_uverbs_ex_cmd_hdr ex;
	uint8_t body[BODY_MAX];
};

static void place_memory(struct ib_uverbs_reg_mr *m)
{
	if (m->start >= MEMORY_BYTES)
		return;
	m->start += (uintptr_t)memory;
	m->hca_va += (uintptr_t)memory;
}

static void run_plain(struct core_client *c, uint8_t number, uint8_t words,
		      const uint8_t *body, size_t n)
{
	struct plain p = {.h = {.command = number, .out_words = words}};
	size_t room = words * 4u, came;
	void *answer = malloc(room + 1);

	must(answer != NULL);
	memcpy(p.body, body, n);
	n = (n + 3) & ~(size_t)3;
	p.h.in_words = (uint16_t)((sizeof(p.h) + n) / 4);
	if (number == IB_USER_VERBS_CMD_REG_MR)
		place_memory((struct ib_uverbs_reg_mr *)(void *)p.body);
	core_client_run(c, &p, sizeof(p.h) + n, answer, room, &came);
	free(answer);
}

static void run_extended(struct core_client *c, uint8_t number, uint8_t words,
			 const uint8_t *body, size_t n)
{
	struct extended x = {
	    .h = {.command = number | IB_USER_VERBS_CMD_FLAG_EXTENDED,
		  .out_words = words},
	    .ex = {.response = 1, .provider_out_words = DRIVER_WORDS}};
	size_t room = (words + DRIVER_WORDS) * 8u, came;
	void *answer = malloc(room + 1);

	must(answer != NULL);
	memcpy(x.body, body, n);
	n = (n + 7) & ~(size_t)7;
	x.h.in_words = (uint16_t)(n / 8);
	core_client_run(c, &x, sizeof(x.h) + sizeof(x.ex) + n, answer, room,
			&came);
	free(answer);
}

static int free_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct core_client c;
	int before;

	if (!listener)
		listener = core_client_listen();
	before = free_descriptor();
	core_client_open(&c, listener);
	for (int i = 0; i < COMMANDS_MAX && size >= 3; i++) {
		size_t n = data[2] < size - 3 ? data[2] : size - 3;
		uint8_t number = data[0] & ~EXTENDED;

		if (data[0] & EXTENDED)
			run_extended(&c, number, data[1], data + 3, n);
		else
			run_plain(&c, number, data[1], data + 3, n);
		data += 3 + n;
		size -= 3 + n;
		idle_worker_run();
	}
	core_client_close(&c);
	must(free_descriptor() == before);
	return 0;
}
