# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# go: a program of Go makes its system calls itself; its peer is curl
# programs: Go programs
# needs: go curl
# length: long
# gets: smc=none must=PEER_NO_SMC
stranger() {
	cat >main.go <<-'EOT'
		package main
		import ("fmt"; "io"; "net/http"; "os"; "strings")
		func main() {
			if os.Args[1] == "server" {
				http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					w.Write([]byte(strings.ToUpper(string(b))))
				})
				http.ListenAndServe("127.0.0.1:" + os.Args[2], nil)
			}
			for i := 0; i < 20; i++ {
				r, err := http.Post("http://127.0.0.1:" + os.Args[2], "text/plain", strings.NewReader(strings.Repeat("abc", i * 10000)))
				if err != nil { fmt.Println(err); return }
				b, _ := io.ReadAll(r.Body)
				fmt.Print(len(b), " ")
			}
			fmt.Println()
		}
	EOT
	GOCACHE=$place/cache GO111MODULE=off CGO_ENABLED=0 HOME=$place go build -o m main.go
	serve server ./m server "$port"
	await_port "$port"
	ask ./m client "$port"
	ask curl -sS -d hello "http://127.0.0.1:$port/"
}
