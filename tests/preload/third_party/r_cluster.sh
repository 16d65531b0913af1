# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# r_cluster: R: a cluster of processes that exchange objects
# programs: R (PSOCK)
# needs: Rscript
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT,FORK,DEMOTED_EXEC,DEMOTED_PEER
stranger() {
	cat >c.R <<-'EOT'
		library(parallel)
		p <- as.integer(commandArgs(TRUE))
		cl <- makePSOCKcluster(3, port = p, rscript = file.path(R.home("bin"), "Rscript"))
		big <- seq_len(400000)
		clusterExport(cl, "big")
		print(unlist(parLapply(cl, 1:9, function(i) sum(as.numeric(big)) + i)))
		print(clusterApplyLB(cl, 1:12, function(i) i * i)[[12]])
		print(sum(unlist(clusterCall(cl, function() length(rep(pi, 300000))))))
		stopCluster(cl)
		s <- serverSocket(p)
		system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(sprintf("c <- socketConnection('127.0.0.1', %d, blocking = TRUE, open = 'r+'); for (i in 1:50) { writeLines(rev(readLines(c, 3)), c) }; close(c)", p))), wait = FALSE)
		a <- socketAccept(s, blocking = TRUE, open = "r+")
		for (i in 1:50) { writeLines(c("one", i, strrep("x", i * 300)), a); r <- readLines(a, 3) }
		print(nchar(r)); close(a); close(s)
	EOT
	ask_limit=60 ask Rscript --vanilla c.R "$port"
}
