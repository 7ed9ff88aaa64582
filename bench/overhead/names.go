package overhead

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Names are the metrics and the reasons of events that upstream Karpenter has.
type Names struct {
	metrics []*regexp.Regexp
	reasons map[string]bool
}

// ReadNames reads docs/upstream-names.md: the first columns of its tables of metrics, events and conditions. The type of a condition is
// the reason of events about its changes.
func ReadNames(file string) (*Names, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the names of upstream: %w", err)
	}
	n := &Names{reasons: map[string]bool{}}
	section := ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		row := strings.SplitN(line, "`", 3)
		if len(row) < 3 || row[0] != "| " {
			continue
		}
		switch section {
		case "Metrics":
			pattern := strings.ReplaceAll(regexp.QuoteMeta(row[1]), "KIND", "[a-z0-9]+")
			n.metrics = append(n.metrics, regexp.MustCompile("^"+pattern+"(_bucket|_sum|_count)?$"))
		case "Events", "Conditions":
			n.reasons[row[1]] = true
		}
	}
	if len(n.metrics) == 0 || len(n.reasons) == 0 {
		return nil, fmt.Errorf("%s has no tables of metrics and events", file)
	}
	return n, nil
}

// libraries are the prefixes of metrics of the libraries that upstream uses too: controller-runtime, client-go and Prometheus.
var libraries = []string{"controller_runtime_", "workqueue_", "rest_client_", "leader_election_", "certwatcher_", "go_", "process_", "promhttp_"}

// ownSamples returns which share of the samples in a file in the text format of Prometheus belongs to metrics that upstream does
// not have, from 0 to 1.
func (n *Names) ownSamples(file string) (float64, error) {
	in, err := os.Open(file)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer in.Close() // was read only
	own, all := 0, 0
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		end := strings.IndexAny(lines.Text(), "{ ")
		if end < 1 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		all++
		if name := lines.Text()[:end]; !hasPrefix(name, libraries) && !n.hasMetric(name) {
			own++
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", file, err)
	}
	if all == 0 {
		return 0, fmt.Errorf("%s has no samples", file)
	}
	return float64(own) / float64(all), nil
}

func (n *Names) hasMetric(name string) bool {
	for _, m := range n.metrics {
		if m.MatchString(name) {
			return true
		}
	}
	return false
}

// ownEvents returns which share of Karpenter's events in a list in JSON has reasons that upstream does not have, from 0 to 1.
func (n *Names) ownEvents(file string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("read events: %w", err)
	}
	var list struct {
		Items []struct {
			Reason string
			Source struct{ Component string }
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return 0, fmt.Errorf("read %s: %w", file, err)
	}
	own, all := 0, 0
	for _, e := range list.Items {
		if e.Source.Component != "karpenter" {
			continue
		}
		all++
		if !n.reasons[e.Reason] {
			own++
		}
	}
	if all == 0 {
		return 0, fmt.Errorf("%s has no events of Karpenter", file)
	}
	return float64(own) / float64(all), nil
}
