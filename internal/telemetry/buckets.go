package telemetry

import "github.com/prometheus/client_golang/prometheus"

// DurationBuckets returns 45 bounds in seconds, from 5 ms to 10 min, dense below one second, for histograms of
// durations. Each call returns a new slice.
func DurationBuckets() []float64 {
	return []float64{
		0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
		1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
		120, 180, 300, 450, 600,
	}
}

// lifetimeBuckets returns the bounds in seconds of the histogram of nodes' lifetimes: from 15 minutes to 60 days.
func lifetimeBuckets() []float64 {
	const minute, hour, day = 60.0, 3600.0, 86400.0
	return []float64{
		15 * minute, 30 * minute, 45 * minute, hour, 2 * hour, 3 * hour, 4 * hour, 6 * hour, 8 * hour, 12 * hour, 18 * hour,
		day, 2 * day, 3 * day, 4 * day, 5 * day, 7 * day, 10 * day, 14 * day, 21 * day, 30 * day, 45 * day, 60 * day,
	}
}

// powersOfTwo returns 2^0 to 2^last, in seconds.
func powersOfTwo(last int) []float64 { return prometheus.ExponentialBuckets(1, 2, last+1) }

// rebootBuckets returns the bounds in seconds of the histograms of the duration of reboots: from 10 s to 21 minutes.
func rebootBuckets() []float64 { return prometheus.ExponentialBuckets(10, 2, 8) }

// scoreBuckets returns the bounds of the histogram of scores. The score of a consolidation is the saved share of the cost
// divided by the disrupted share of the pods.
func scoreBuckets() []float64 { return []float64{.1, .25, .33, .5, 1, 2, 5, 10} }

// ratioBuckets returns the bounds of histograms of relative errors.
func ratioBuckets() []float64 { return []float64{0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1} }
