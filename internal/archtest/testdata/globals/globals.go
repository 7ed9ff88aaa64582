// Package globals changes variables of a package in every way that the check is to see, and in some that are no mistake.
package globals

import "net/http"

var (
	count   int
	table   = map[string]int{}
	pointer = new(int)
	config  struct{ list []int }
)

func change() {
	count = 1                              // want changes count
	count++                                // want changes count
	table["a"]++                           // want changes table
	*pointer = 2                           // want changes pointer
	config.list[0] = 3                     // want changes config
	http.DefaultClient = nil               // want changes DefaultClient
	http.DefaultClient.CheckRedirect = nil // want changes DefaultClient
}

func keep(in []int) {
	count := 1
	count = 2
	in[0] = count
	c := config
	c.list = in
}
