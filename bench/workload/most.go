package workload

import (
	"math"
	"os"
	"strconv"
)

// Most returns the maximum number of nodes or pods of a measurement, from the environment variable BENCH_MOST; by
// default there is no limit. Passes over larger fleets are skipped; other measurements are reduced to this number.
func Most() int {
	if n, err := strconv.Atoi(os.Getenv("BENCH_MOST")); err == nil {
		return n
	}
	return math.MaxInt
}
