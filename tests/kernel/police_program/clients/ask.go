// Asks 127.0.0.1 with Go's own client, kept and not kept: heads, a body of 10 MB with its length and in chunks. Prints the statuses.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	statuses := map[int]bool{}
	for turn := 0; turn < 30; turn++ {
		http.DefaultTransport.(*http.Transport).DisableKeepAlives = turn%2 == 0
		for _, method := range []string{"GET", "HEAD", "PUT", "POST"} {
			url, body := "http://127.0.0.1/", io.Reader(nil)
			if method[0] == 'P' && turn < 2 {
				file, _ := os.Open(os.Args[1])
				url, body = url+"put", file
			}
			request, _ := http.NewRequest(method, url, body)
			if method == "PUT" && turn < 2 {
				request.ContentLength = 10_000_000
			}
			reply, err := http.DefaultClient.Do(request)
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			io.Copy(io.Discard, reply.Body)
			reply.Body.Close()
			statuses[reply.StatusCode] = true
		}
	}
	fmt.Println(statuses)
}
