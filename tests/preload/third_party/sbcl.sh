# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# sbcl: SBCL: threads, a collector that stops them by signals
# programs: SBCL
# needs: sbcl
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
stranger() {
	cat >s.lisp <<-'EOT'
		(require :sb-bsd-sockets) (use-package :sb-bsd-sockets)
		(defun serve (c) (let ((s (socket-make-stream c :input t :output t :buffering :full :element-type :default)))
		  (unwind-protect (loop for l = (read-line s nil) while l do
		      (write-line (reverse l) s) (finish-output s) (make-array 20000))
		    (close s))))
		(defun server (port)
		  (let ((l (make-instance 'inet-socket :type :stream :protocol :tcp)))
		    (setf (sockopt-reuse-address l) t) (socket-bind l #(127 0 0 1) port) (socket-listen l 20)
		    (loop (let ((c (socket-accept l))) (sb-thread:make-thread (lambda () (ignore-errors (serve c))))))))
		(defun client (port i)
		  (let ((c (make-instance 'inet-socket :type :stream :protocol :tcp)) (n 0))
		    (socket-connect c #(127 0 0 1) port)
		    (let ((s (socket-make-stream c :input t :output t :buffering :full)))
		      (dotimes (k 100) (write-line (make-string (* k 300) :initial-element (code-char (+ 65 i))) s)
		        (finish-output s) (incf n (length (read-line s))))
		      (close s) n)))
		(let ((port (parse-integer (third sb-ext:*posix-argv*))))
		  (if (string= (second sb-ext:*posix-argv*) "server") (server port)
		    (let ((ts (loop for i below 6 collect (let ((i i)) (sb-thread:make-thread (lambda () (client port i)))))))
		      (dotimes (i 5) (sb-ext:gc :full t))
		      (print (mapcar #'sb-thread:join-thread ts)) (terpri))))
	EOT
	serve server sbcl --noinform --disable-debugger --no-sysinit --no-userinit --load s.lisp --end-toplevel-options server "$port"
	await_port "$port"
	ask sbcl --noinform --disable-debugger --no-sysinit --no-userinit --load s.lisp --quit --end-toplevel-options client "$port"
}
