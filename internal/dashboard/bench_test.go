package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// BenchmarkViewers measures what a second of changes costs at 5,000 nodes and 100,000 pods: 100 changes of pods in two ticks.
// The metric %core is the CPU time of the process in relation to that second. It contains the reading of the pages, and the
// changes themselves, which the observed cluster takes for the controllers anyway.
func BenchmarkViewers(b *testing.B) {
	for name, viewers := range map[string]int{"none": 0, "ten": 10} {
		b.Run(name, func(b *testing.B) {
			fleet, server, clock := generated(b, 5000, 100_000)
			web := httptest.NewServer(server.Handler())
			b.Cleanup(web.Close)
			for range viewers {
				watch(b, web.URL)
			}
			server.Refresh(b.Context())
			before := cpuTime()
			for b.Loop() {
				for range 2 {
					fleet.Step(50)
					clock.Step(500 * time.Millisecond)
					server.Refresh(b.Context())
				}
			}
			b.ReportMetric(100*(cpuTime()-before).Seconds()/float64(b.N), "%core")
		})
	}
}

// BenchmarkFirstView measures the time for encoding and compressing the fleet of 5,000 nodes and 100,000 pods.
func BenchmarkFirstView(b *testing.B) {
	_, server, _ := generated(b, 5000, 100_000)
	h := server.Handler()
	size := 0
	for b.Loop() {
		response, body := ask(b, h, "GET /api/v1/fleet", "Accept-Encoding", "gzip")
		size = len(body)
		if response.StatusCode != http.StatusOK {
			b.Fatal(response.Status)
		}
	}
	b.ReportMetric(float64(size)/1e3, "kB")
}

// watch reads the stream until the benchmark ends.
func watch(b *testing.B, url string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url+"/api/v1/stream", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = response.Body.Close() })
	if _, err := io.ReadFull(response.Body, make([]byte, 1<<10)); err != nil {
		b.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, response.Body) }()
}

// cpuTime returns the CPU time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
