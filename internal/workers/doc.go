// Package workers decides how many workers a controller has and how fast it tries again.
//
// Workers grow with the CPU that the process asks for, since most of them wait for an API: a small installation stays
// small, a large one keeps up with thousands of nodes.
package workers
