package view

import "math"

// round returns v with at most six decimals. Sums in different orders then are equal.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }
