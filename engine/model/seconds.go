package model

import (
	"math"
	"time"
)

// maxSeconds is how many whole seconds a time.Duration can hold, some 292 years.
const maxSeconds = math.MaxInt64 / int64(time.Second)

// Seconds returns n seconds. More than a time.Duration holds is the most that it holds; less than none is none.
func Seconds(n int64) time.Duration {
	return time.Duration(max(0, min(n, maxSeconds))) * time.Second
}
