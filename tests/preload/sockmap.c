/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sockmap: a proxy that puts its two connections into a map, and leaves the
 * rest to the kernel: a BPF program sends what comes on one out on the other.
 *
 *   sockmap 4 | 8	bytes of a value of the map
 *
 * What the client sent before and after that comes out. Ends with 77 where the
 * kernel gives no such map or program.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "socket_helpers.h"

static int bpf(int command, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, command, a, sizeof(*a));
}

static int make_map(unsigned value_bytes)
{
	union bpf_attr a = {.map_type = BPF_MAP_TYPE_SOCKMAP,
			    .key_size = 4,
			    .value_size = value_bytes,
			    .max_entries = 2};

	return bpf(BPF_MAP_CREATE, &a);
}

/* Everything goes to the socket that is the second in the map. */
static int make_program(int map)
{
	const struct bpf_insn code[] = {
	    {.code = BPF_LD | BPF_DW | BPF_IMM,
	     .dst_reg = 2,
	     .src_reg = BPF_PSEUDO_MAP_FD,
	     .imm = map},
	    {0},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 1},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = 0},
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_sk_redirect_map},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SK_SKB,
			    .insns = (uintptr_t)code,
			    .insn_cnt = sizeof(code) / sizeof(code[0]),
			    .license = (uintptr_t) "GPL"};

	return bpf(BPF_PROG_LOAD, &a);
}

static void put(int map, uint32_t key, int fd, unsigned value_bytes)
{
	uint64_t wide = (uint64_t)fd;
	uint32_t narrow = (uint32_t)fd;
	union bpf_attr a = {.map_fd = (uint32_t)map, .key = (uintptr_t)&key};

	a.value = value_bytes == 8 ? (uintptr_t)&wide : (uintptr_t)&narrow;
	check(!bpf(BPF_MAP_UPDATE_ELEM, &a), "an element of the map");
}

/* Both connections are used by the time. */
static void begin(int ends[2])
{
	char c;

	helper_pair(ends);
	send_all(ends[0], "x", 1);
	check(recv_all(ends[1], &c, 1) == 1, "a byte");
	send_all(ends[1], "y", 1);
	check(recv_all(ends[0], &c, 1) == 1, "a byte back");
}

int main(int argc, char **argv)
{
	unsigned value_bytes = argc == 2 ? (unsigned)atoi(argv[1]) : 0;
	union bpf_attr a = {.attach_type = BPF_SK_SKB_STREAM_VERDICT};
	int client[2], upstream[2];
	char text[9] = "";
	int map, program;

	if (value_bytes != 4 && value_bytes != 8)
		return 2;
	map = make_map(value_bytes);
	program = map < 0 ? -1 : make_program(map);
	a.target_fd = (uint32_t)map;
	a.attach_bpf_fd = (uint32_t)program;
	if (program < 0 || bpf(BPF_PROG_ATTACH, &a)) {
		perror("bpf");
		return 77;
	}
	watchdog_start(10);
	begin(client);
	begin(upstream);
	send_all(client[0], "one ", 4);
	put(map, 0, client[1], value_bytes);
	put(map, 1, upstream[0], value_bytes);
	send_all(client[0], "two ", 4);
	check(recv_all(upstream[1], text, 8) == 8, "all bytes");
	puts(text);
	return 0;
}
