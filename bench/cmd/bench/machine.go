package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine says where and when figures are taken, and how busy the machine is: a table without that means little.
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

// load says how busy the machine is.
func load() string {
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(data)); len(fields) > 2 {
			return "load " + strings.Join(fields[:3], " ")
		}
	}
	return "unknown load"
}
