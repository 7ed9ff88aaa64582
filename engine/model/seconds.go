package model

import (
	"math"
	"time"
)

// maxSeconds is the number of whole seconds that a time.Duration can hold, about 292 years.
const maxSeconds = math.MaxInt64 / int64(time.Second)

// Seconds returns n seconds, limited to the range from zero to the largest time.Duration.
func Seconds(n int64) time.Duration {
	return time.Duration(max(0, min(n, maxSeconds))) * time.Second
}
