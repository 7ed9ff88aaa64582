package rig

import (
	"fmt"
	"strings"
	"testing"
)

func TestCauseOfDeath(t *testing.T) {
	noise := strings.Repeat("I1122 07:28:39 all is well\n", 100)
	var stacks strings.Builder
	for i := range 100 {
		fmt.Fprintf(&stacks, "goroutine %d\n", i)
	}
	for name, tt := range map[string]struct{ log, first, last string }{
		"a panic":        {noise + "panic: nil map\n" + stacks.String(), "panic: nil map", "goroutine 38"},
		"a fatal error":  {noise + "fatal error: concurrent map writes\n", "fatal error: concurrent map writes", ""},
		"klog's fatal":   {noise + "F1122 07:28:40 no etcd\n", "F1122 07:28:40 no etcd", ""},
		"without a word": {noise, "I1122 07:28:39 all is well", "I1122 07:28:39 all is well"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(causeOfDeath(tt.log), "\n")
			if lines[0] != tt.first || lines[len(lines)-1] != tt.last || len(lines) > 40 {
				t.Errorf("%d lines from %q to %q, want from %q to %q", len(lines), lines[0], lines[len(lines)-1], tt.first, tt.last)
			}
		})
	}
}
