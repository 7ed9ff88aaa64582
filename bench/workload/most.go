package workload

import (
	"math"
	"os"
	"strconv"
)

// Most is how many nodes or pods a measurement may have: as many as BENCH_MOST says, or any number. Passes over larger
// fleets are left out, whatever else would be larger has so many instead.
func Most() int {
	if n, err := strconv.Atoi(os.Getenv("BENCH_MOST")); err == nil {
		return n
	}
	return math.MaxInt
}
