// Google's own fake of Pub/Sub, as a process: prints where it listens, and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"os"

	"cloud.google.com/go/pubsub/v2/pstest"
)

func main() {
	server := pstest.NewServer()
	defer server.Close()
	fmt.Println(server.Addr)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
