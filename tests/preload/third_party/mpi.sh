# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mpi: Open MPI with its TCP transport alone
# programs: Open MPI
# needs: mpirun mpicc
# length: long
# gets: smc=1 may=TIMEOUT,CLOSED,FORK,SAME_PROCESS,DEMOTED_EXEC,DEMOTED_PEER
stranger() {
	cat >p.c <<-'EOT'
		#include <mpi.h>
		#include <stdio.h>
		static int a[300000];
		int main(int c, char **v) {
			int r, n; long s = 0;
			MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &n);
			for (int k = 0; k < 20; k++) {
				for (int i = 0; i < 300000; i++) a[i] = r * i + k;
				MPI_Allreduce(MPI_IN_PLACE, a, 300000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
				s += a[k * 1000];
			}
			if (r == 0) printf("%d %ld\n", n, s);
			MPI_Finalize();
		}
	EOT
	mpicc -o p p.c
	ask_limit=60 ask mpirun --allow-run-as-root --oversubscribe -n 3 --mca btl tcp,self \
		--mca btl_tcp_if_include lo --mca pml ob1 ./p
}
