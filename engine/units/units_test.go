package units

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestAmount(t *testing.T) {
	for _, tt := range []struct {
		name  corev1.ResourceName
		v     int64
		round Rounding
		want  string
	}{
		{"cpu", 0, Nearest, "0"},
		{"cpu", 250, Nearest, "0.25"},
		{"cpu", 1107, Nearest, "1.107"},
		{"cpu", 1_300_000, Nearest, "1,300"},
		{"cpu", -1500, Nearest, "-1.5"},
		{"memory", 7838315316, Nearest, "7.3Gi"},
		{"memory", 7838315316, Up, "7.4Gi"},
		{"memory", 455 << 20, Up, "455Mi"},
		{"memory", 455<<20 + 1, Up, "455.1Mi"},
		{"memory", 455<<20 + 1, Nearest, "455Mi"},
		{"memory", 16 << 30, Nearest, "16Gi"},
		{"memory", 1<<30 - 1, Up, "1Gi"},
		{"memory", 1<<30 - 1, Down, "1,023.9Mi"},
		{"memory", 100, Nearest, "100"},
		{"ephemeral-storage", 20 << 30, Nearest, "20Gi"},
		{"hugepages-2Mi", 1 << 30, Nearest, "1Gi"},
		{"nvidia.com/gpu", 8, Nearest, "8"},
		{"pods", 12000, Nearest, "12,000"},
	} {
		if got := Amount(tt.name, tt.v, tt.round); got != tt.want {
			t.Errorf("Amount(%s, %d, %d) = %s, want %s", tt.name, tt.v, tt.round, got, tt.want)
		}
	}
}

func TestPeriod(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 30 * time.Second: "30s", 15 * time.Minute: "15m", 90 * time.Second: "1m30s", 24 * time.Hour: "24h",
		90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 20 * time.Hour: "20h",
	} {
		if got := Period(d); got != want {
			t.Errorf("Period(%s) = %s, want %s", time.Duration(d).String(), got, want)
		}
	}
}
