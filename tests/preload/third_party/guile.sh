# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# guile: Guile: threads that block, select, ports over sockets
# programs: Guile
# needs: guile
# length: long
# gets: smc=7 may=CLOSED,TIMEOUT
stranger() {
	cat >p.scm <<-'EOT'
		(use-modules (ice-9 rdelim) (ice-9 threads))
		(define what (cadr (command-line)))
		(define port (string->number (caddr (command-line))))
		(define (fresh) (socket PF_INET SOCK_STREAM 0))
		(define (serve c)
		  (let loop ((l (read-line c)))
		    (unless (eof-object? l)
		      (display (string-reverse l) c) (newline c) (force-output c)
		      (loop (read-line c))))
		  (close c))
		(define (server)
		  (define s (fresh))
		  (setsockopt s SOL_SOCKET SO_REUSEADDR 1)
		  (bind s AF_INET INADDR_LOOPBACK port) (listen s 20)
		  (let loop ()
		    (select (list s) '() '())
		    (let ((c (car (accept s)))) (call-with-new-thread (lambda () (serve c))))
		    (loop)))
		(define (client k)
		  (define c (fresh))
		  (connect c AF_INET INADDR_LOOPBACK port)
		  (setvbuf c 'block 65536)
		  (let loop ((i 1) (n 0))
		    (if (<= i 40)
		      (begin
		        (display (make-string (* i 200) #\x) c) (newline c) (force-output c)
		        (loop (+ i 1) (+ n (string-length (read-line c)))))
		      (begin
		        (shutdown c 1)
		        (list k n (eof-object? (read-line c)))))))
		(if (string=? what "server") (server)
		  (for-each (lambda (r) (write r) (newline)) (par-map client '(1 2 3 4 5 6 7))))
	EOT
	export GUILE_AUTO_COMPILE=0 XDG_CACHE_HOME=$place
	serve server guile p.scm server "$port"
	await_port "$port"
	ask guile p.scm client "$port"
}
