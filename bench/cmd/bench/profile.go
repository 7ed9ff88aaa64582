package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// profiles has the requested profiles of a run.
type profiles struct {
	cpu, mem string
	file     *os.File
}

func (p *profiles) flags(f *flag.FlagSet) {
	f.StringVar(&p.cpu, "cpuprofile", "", "write a CPU profile to this file")
	f.StringVar(&p.mem, "memprofile", "", "write a profile of all allocations to this file")
}

func (p *profiles) start() error {
	if p.mem != "" {
		runtime.MemProfileRate = 4096
	}
	if p.cpu == "" {
		return nil
	}
	var err error
	if p.file, err = os.Create(p.cpu); err != nil {
		return fmt.Errorf("make CPU profile: %w", err)
	}
	return pprof.StartCPUProfile(p.file)
}

func (p *profiles) stop() error {
	if p.file != nil {
		pprof.StopCPUProfile()
		if err := p.file.Close(); err != nil {
			return fmt.Errorf("write CPU profile: %w", err)
		}
	}
	if p.mem == "" {
		return nil
	}
	file, err := os.Create(p.mem)
	if err != nil {
		return fmt.Errorf("make memory profile: %w", err)
	}
	if err := pprof.Lookup("allocs").WriteTo(file, 0); err != nil {
		return fmt.Errorf("write memory profile: %w", err)
	}
	return file.Close()
}
