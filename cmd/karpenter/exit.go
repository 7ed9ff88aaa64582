package main

import "errors"

// Exit codes; every command keeps to them.
const (
	exitBadInput    = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// coded is an error that says with which code to exit.
type coded struct {
	code int
	error
}

func (c coded) Unwrap() error { return c.error }

func codeOf(err error) int {
	var c coded
	if errors.As(err, &c) {
		return c.code
	}
	return exitBadInput
}
