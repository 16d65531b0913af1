# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# emacs: its server over TCP, network processes of its own, fetching a page
# programs: Emacs
# needs: emacs emacsclient python3
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT,DEMOTED_STALLED,DEMOTED_PEER
stranger() {
	export HOME=$place
	cat >server.el <<-EOT
		(setq server-use-tcp t server-host "127.0.0.1" server-port $port server-auth-dir "$place/auth/" server-name "x")
		(server-start)
	EOT
	serve server emacs -Q --fg-daemon --load server.el
	await_port "$port"
	await_true test -s auth/x
	ask emacsclient -f "$place/auth/x" --eval '(+ 1 2)'
	ask emacsclient -f "$place/auth/x" --eval '(length (make-string 3000000 ?a))'
	ask emacsclient -f "$place/auth/x" --eval '(make-string 100000 ?b)' | digest
	cat >self.el <<-'EOT'
		(defvar got "") (defvar done 0)
		(let* ((s (make-network-process :name "s" :server t :host "127.0.0.1" :service t :family 'ipv4
		           :filter (lambda (p x) (process-send-string p (upcase x)))))
		       (port (process-contact s :service))
		       (big (make-string 2000000 ?a))
		       (cs nil))
		  (dotimes (i 5)
		    (push (make-network-process :name "c" :host "127.0.0.1" :service port :nowait t :coding 'binary
		            :sentinel (lambda (p e) (when (string-match "open" e) (process-send-string p big)))
		            :filter (lambda (p x) (setq done (+ done (length x))))) cs))
		  (while (< done 10000000) (accept-process-output nil 5))
		  (mapc #'delete-process cs)
		  (message "%d" done))
		(require 'url)
		(with-current-buffer (url-retrieve-synchronously (getenv "PAGE")) (message "%d" (buffer-size)))
	EOT
	data page 3000000
	local page
	page=$(another)
	serve http python3 -m http.server --bind 127.0.0.1 "$page"
	await_port "$page"
	export PAGE=http://127.0.0.1:$page/page
	ask emacs -Q --batch --load self.el 2>&1
}
