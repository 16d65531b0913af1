/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * syn_option: runs a command while TCP connections to a port, and listeners on
 * it, announce SMC: a BPF program of the root control group puts the option
 * (fe 06 e2 d4 c3 d9) on their SYNs, and on a SYN-ACK where the SYN had it.
 *
 *   syn_option PORT COMMAND [ARGUMENTS...]
 *
 * The program is attached as long as the command runs.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define I(c, d, s, o, i)                                                       \
	{                                                                      \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o),       \
		.imm = (i)                                                     \
	}
#define LDX32(d, f)                                                            \
	I(BPF_LDX | BPF_MEM | BPF_W, d, 6, offsetof(struct bpf_sock_ops, f), 0)
#define MOVI(d, i)      I(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOVR(d, s)      I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADDI(d, i)      I(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define JEQ32(d, i, o)  I(BPF_JMP32 | BPF_JEQ | BPF_K, d, 0, o, i)
#define JSET32(d, i, o) I(BPF_JMP32 | BPF_JSET | BPF_K, d, 0, o, i)
#define JSLT(d, i, o)   I(BPF_JMP | BPF_JSLT | BPF_K, d, 0, o, i)
#define JA(o)           I(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(f)         I(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT()          I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define ST8(o, i)       I(BPF_ST | BPF_MEM | BPF_B, 10, 0, o, i)

static int load(const struct bpf_insn *prog, size_t count)
{
	static char log[16384];
	union bpf_attr a;
	int fd;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_SOCK_OPS;
	a.insns = (uintptr_t)prog;
	a.insn_cnt = (uint32_t)count;
	a.license = (uintptr_t) "GPL";
	a.log_buf = (uintptr_t)log;
	a.log_size = sizeof(log);
	a.log_level = 1;
	fd = (int)syscall(__NR_bpf, BPF_PROG_LOAD, &a, sizeof(a));
	if (fd < 0) {
		perror("BPF_PROG_LOAD");
		fputs(log, stderr);
	}
	return fd;
}

/* A descriptor that holds the attachment to all processes. */
static int attach(int program)
{
	union bpf_attr a;
	int fd, cg = open("/sys/fs/cgroup/unified", O_RDONLY | O_DIRECTORY);

	if (cg < 0)
		cg = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
	memset(&a, 0, sizeof(a));
	a.link_create.prog_fd = (uint32_t)program;
	a.link_create.target_fd = (uint32_t)cg;
	a.link_create.attach_type = BPF_CGROUP_SOCK_OPS;
	fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &a, sizeof(a));
	if (fd < 0)
		perror("BPF_LINK_CREATE");
	close(cg);
	return fd;
}

static int syn_option(int port)
{
	struct bpf_insn prog[] = {
	    MOVR(6, 1),
	    LDX32(7, op),
	    LDX32(8, skb_tcp_flags),
	    LDX32(2, remote_port),
	    JEQ32(2, (int)htonl(port), 3),
	    LDX32(2, local_port),
	    JEQ32(2, port, 1),
	    JA(38),
	    JEQ32(7, BPF_SOCK_OPS_TCP_CONNECT_CB, 2),
	    JEQ32(7, BPF_SOCK_OPS_TCP_LISTEN_CB, 1),
	    JA(4),
	    /* Connect, listen: header option callbacks are wanted. */
	    MOVR(1, 6),
	    MOVI(2, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG),
	    CALL(BPF_FUNC_sock_ops_cb_flags_set),
	    JA(31),
	    JSET32(8, 2, 1),
	    JA(29),
	    ST8(-8, 0xfe),
	    ST8(-7, 6),
	    ST8(-6, 0xe2),
	    ST8(-5, 0xd4),
	    ST8(-4, 0xc3),
	    ST8(-3, 0xd9),
	    JEQ32(7, BPF_SOCK_OPS_HDR_OPT_LEN_CB, 2),
	    JEQ32(7, BPF_SOCK_OPS_WRITE_HDR_OPT_CB, 15),
	    JA(20),
	    JSET32(8, 0x10, 1),
	    JA(7),
	    MOVR(1, 6),
	    MOVR(2, 10),
	    ADDI(2, -8),
	    MOVI(3, 6),
	    MOVI(4, BPF_LOAD_HDR_OPT_TCP_SYN),
	    CALL(BPF_FUNC_load_hdr_opt),
	    JSLT(0, 0, 11),
	    MOVR(1, 6),
	    MOVI(2, 6),
	    MOVI(3, 0),
	    CALL(BPF_FUNC_reserve_hdr_opt),
	    JA(6),
	    MOVR(1, 6),
	    MOVR(2, 10),
	    ADDI(2, -8),
	    MOVI(3, 6),
	    MOVI(4, 0),
	    CALL(BPF_FUNC_store_hdr_opt),
	    MOVI(0, 1),
	    EXIT(),
	};

	return load(prog, sizeof(prog) / sizeof(prog[0]));
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: syn_option PORT COMMAND...\n");
		return 2;
	}
	fd = syn_option(atoi(argv[1]));
	if (fd >= 0)
		fd = attach(fd);
	if (fd < 0)
		return 1;
	/* The command holds the attachment. */
	fcntl(fd, F_SETFD, 0);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
