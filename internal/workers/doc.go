// Package workers decides how many concurrent reconciles a controller has, and the delay of its retries.
//
// The number of workers grows with the cpu request of the process. So a small installation has few workers, and a
// large one can handle thousands of nodes.
package workers
