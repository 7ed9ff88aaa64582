package telemetry

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

func TestResourceType(t *testing.T) {
	for name, want := range map[corev1.ResourceName]string{
		"cpu": "cpu", "ephemeral-storage": "ephemeral_storage", "hugepages-2Mi": "hugepages_2mi",
		"nvidia.com/gpu": "nvidia.com/gpu", "vpc.amazonaws.com/pod-eni": "vpc.amazonaws.com/pod_eni",
	} {
		if got := ResourceType(name); got != want {
			t.Errorf("ResourceType(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "Ready": "ready", "AcceleratedHardwareReady": "accelerated_hardware_ready", "KWOKUnhealthy": "kwok_unhealthy",
		"KWOKRebootRequired": "kwok_reboot_required", "Disk2Full": "disk2_full", "MemoryPressure": "memory_pressure",
		"WhenEmpty": "when_empty", "WhenEmptyOrUnderutilized": "when_empty_or_underutilized", "Balanced": "balanced",
	} {
		if got := SnakeCase(name); got != want {
			t.Errorf("SnakeCase(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want int
	}{
		"short":                      {"too few addresses", 17},
		"as long as it may be":       {strings.Repeat("x", 1024), 1024},
		"a byte more":                {strings.Repeat("x", 1025), 1024},
		"one line":                   {"a\r\nb\n", 4},
		"cut in a character of four": {strings.Repeat("x", 1019) + strings.Repeat("😀", 3), 1022},
	} {
		t.Run(name, func(t *testing.T) {
			got := Cut(tt.in)
			if len(got) != tt.want || !utf8.ValidString(got) || len(tt.in) > 1024 && !strings.HasSuffix(got, "...") {
				t.Errorf("%d bytes, want %d: %q", len(got), tt.want, got)
			}
		})
	}
}
