package view

import "math"

// round rounds v to six decimals. Without rounding, sums of the same numbers in different orders could differ.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }
