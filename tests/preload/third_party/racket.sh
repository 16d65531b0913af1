# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# racket: Racket: green threads over its own poll
# programs: Racket
# needs: racket
# length: long
# gets: smc=7 may=CLOSED,TIMEOUT
stranger() {
	cat >s.rkt <<-'EOT'
		#lang racket/base
		(require racket/tcp racket/port)
		(define a (current-command-line-arguments))
		(define port (string->number (vector-ref a 1)))
		(define (serve i o)
		  (let loop () (define l (read-line i)) (unless (eof-object? l)
		    (write-string (list->string (reverse (string->list l))) o) (newline o) (flush-output o) (loop)))
		  (close-input-port i) (close-output-port o))
		(define (server) (define l (tcp-listen port 20 #t "127.0.0.1"))
		  (let loop () (define-values (i o) (tcp-accept l)) (thread (lambda () (serve i o))) (loop)))
		(define (client k) (define-values (i o) (tcp-connect "127.0.0.1" port))
		  (define n (for/sum ([j 60]) (write-string (make-string (* j 200) #\x) o) (newline o) (flush-output o)
		    (string-length (read-line i))))
		  (define w (thread (lambda () (write-string (string-append (make-string 700000 #\y) "\n") o) (close-output-port o))))
		  (define b (port->bytes i)) (thread-wait w) (list n (bytes-length b)))
		(if (equal? (vector-ref a 0) "server") (server)
		  (let ([cs (for/list ([k 7]) (let ([ch (make-channel)]) (thread (lambda () (channel-put ch (client k)))) ch))])
		    (for ([c cs]) (displayln (channel-get c)))))
	EOT
	serve server racket s.rkt server "$port"
	await_port "$port"
	ask racket s.rkt client "$port"
}
