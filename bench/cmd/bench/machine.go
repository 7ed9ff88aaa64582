package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine returns the processor, the date and the load of the machine, since measurements depend on them.
func machine() string {
	model := "unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s; %d cores, %s; %s; %s at the start.", time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), model,
		runtime.Version(), load())
}

// load returns the load of the machine.
func load() string {
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(data)); len(fields) > 2 {
			return "load " + strings.Join(fields[:3], " ")
		}
	}
	return "unknown load"
}
