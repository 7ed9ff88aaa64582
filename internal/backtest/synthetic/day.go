// Package synthetic generates traces for tests and benchmarks of the backtest.
package synthetic

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
)

// Day returns a trace of 24 hours as CSV: services whose number of replicas follows the time of day, and jobs that run for
// 1 to 61 minutes. pods is about the number of pods of the services at noon, and the number of jobs in the day. The same
// seed gives the same trace.
func Day(pods int, seed uint64) []byte {
	d := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	b.WriteString("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,owner\n")
	const length = 24 * 3600
	number := 0
	line := func(owner string, cpu, memory, from, to int) {
		number++
		end := ""
		if to < length {
			end = fmt.Sprint(to)
		}
		fmt.Fprintf(&b, "p%d,%d,%d,0,0,%d,%s,%s\n", number, cpu, memory, from, end, owner)
	}
	sizes := []int{250, 500, 1000, 2000, 4000}
	for app := range max(1, pods/50) {
		cpu := sizes[d.IntN(len(sizes))]
		memory := cpu * (1 + d.IntN(6))
		var running []int // creation times
		peak := 10 + d.IntN(81)
		for minute := range 24 * 60 {
			now := minute * 60
			share := 0.45 - 0.55*math.Cos(2*math.Pi*float64(minute)/1440)/1.0
			want := max(2, int(float64(peak)*min(1, max(0.2, share+0.1*d.Float64()))))
			if minute%15 != app%15 && minute > 0 {
				continue
			}
			for len(running) > want {
				line(fmt.Sprint("app-", app), cpu, memory, running[0], now+d.IntN(60))
				running = running[1:]
			}
			for len(running) < want {
				at := now
				if minute > 0 {
					at += d.IntN(60)
				}
				running = append(running, at)
			}
		}
		for _, at := range running {
			line(fmt.Sprint("app-", app), cpu, memory, at, length)
		}
	}
	for range pods {
		from := d.IntN(length)
		cpu := sizes[d.IntN(len(sizes))]
		line("job", cpu, cpu*2, from, from+60+d.IntN(3600))
	}
	return b.Bytes()
}
