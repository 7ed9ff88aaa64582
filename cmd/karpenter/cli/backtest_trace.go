package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/backtest"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// errStdinTwice is the error of flags that read standard input twice.
var errStdinTwice = errors.New("-f -: standard input can be read once only; write it to a file")

// separate moves the trace, if there is one among the files of -f, to s.trace. The other files remain.
func (s *backtesting) separate(cmd *cobra.Command) error {
	var traces, manifests []string
	if s.trace != "" {
		traces = append(traces, s.trace)
	}
	for _, name := range s.files {
		is, err := isTrace(cmd, name)
		switch {
		case err != nil:
			return err
		case is:
			traces = append(traces, name)
		default:
			manifests = append(manifests, name)
		}
	}
	if len(traces) > 1 {
		return coded{exitUsage, fmt.Errorf("more than one trace is given: %s; leave one", strings.Join(traces, ", "))}
	}
	if slices.Contains(manifests, manifest.Stdin) && len(s.policies) > 0 {
		return coded{exitUsage, errStdinTwice}
	}
	if len(traces) == 1 {
		s.trace = traces[0]
	}
	s.files = manifests
	return nil
}

// isTrace reports whether a file of -f is a trace. It does not read directories and pipes, which have manifests. Standard input
// remains complete.
func isTrace(cmd *cobra.Command, name string) (bool, error) {
	if name == manifest.Stdin {
		form, all, err := backtest.Recognize(cmd.InOrStdin())
		if err != nil {
			return false, fmt.Errorf("standard input: %w", err)
		}
		cmd.SetIn(all)
		return form == backtest.TraceForm, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return false, err // the error names the operation and the file
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return false, err // the error names the operation and the file
	}
	defer file.Close() // was read only
	form, _, err := backtest.Recognize(file)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return form == backtest.TraceForm, nil
}

// readTrace reads the trace and cuts the replayed period out of it. Without a trace, the pods in the manifests of -f are the
// trace. These are set and catalogue.
func (s *backtesting) readTrace(
	cmd *cobra.Command, p *progress, set *manifest.Set, catalogue *offline.Catalogue,
) (*backtest.Trace, error) {
	name := titleOf(s.trace)
	var trace *backtest.Trace
	var err error
	if s.trace == "" {
		name = "the manifests of -f"
		trace, err = s.podsOf(set, catalogue)
	} else {
		trace, err = s.openTrace(cmd, p, name)
	}
	if err != nil {
		return nil, err
	}
	if s.trace == "" && len(trace.Pods) == 0 {
		return nil, errors.New("no trace: no file of -f is a CSV file with pods or an audit log, and the manifests have no pods")
	}
	from, _ := s.begin() // was checked
	if err := trace.Cut(from, s.duration); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.pause()
	warn(cmd.ErrOrStderr(), trace.Warnings)
	return trace, nil
}

// openTrace reads the file s.trace. A file that has manifests is a trace of their pods.
func (s *backtesting) openTrace(cmd *cobra.Command, p *progress, name string) (*backtest.Trace, error) {
	in := cmd.InOrStdin()
	if s.trace != manifest.Stdin {
		file, err := os.Open(s.trace)
		if err != nil {
			return nil, fmt.Errorf("read the trace: %w", err)
		}
		defer file.Close() // was read only
		in = file
	}
	form, all, err := backtest.Recognize(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if form == backtest.ManifestForm {
		return s.traceOfManifests(cmd, p, all)
	}
	p.say("reading " + name)
	return backtest.Read(name, all, func(lines int) {
		if lines%1_000_000 == 0 {
			p.say(fmt.Sprintf("reading %s: %s lines", name, units.Grouped(lines)))
		}
	})
}

// traceOfManifests reads the manifests in the file s.trace, from in if it is standard input or a pipe.
func (s *backtesting) traceOfManifests(cmd *cobra.Command, p *progress, in io.Reader) (*backtest.Trace, error) {
	from := s.input
	from.files = []string{s.trace}
	if info, err := os.Stat(s.trace); s.trace == manifest.Stdin || err == nil && !info.Mode().IsRegular() {
		cmd.SetIn(in)
		from.files = []string{manifest.Stdin}
	}
	_, set, catalogue, err := from.readAll(cmd, p, &s.solver)
	if err != nil {
		return nil, err
	}
	return s.podsOf(set, catalogue)
}

// podsOf returns a trace with the pods of the manifests, and those of their workloads. All exist during the whole period,
// whatever their node. It changes the pods in set.
func (s *backtesting) podsOf(set *manifest.Set, catalogue *offline.Catalogue) (*backtest.Trace, error) {
	for _, p := range manifest.Of[*corev1.Pod](set) {
		p.Spec.NodeName = ""
	}
	c, err := offline.AssembleWithout(set, catalogue, time.Now(), s.off())
	if err != nil {
		return nil, err
	}
	return backtest.AtOnce(c.Delta.Pods), nil
}
