package upstream

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	labelPair = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	ofKind    = regexp.MustCompile(`^operator_[a-z0-9]+_(status_condition|termination)_`)
	ofType    = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// Breaches compares the series of a scrape, each in the form name{label="value",...}, with the metrics of Names. It
// returns a text for each series with other labels than upstream, or with a label value that upstream does not have.
// Series of other metrics are ignored. seen counts the listed metrics that the scrape has.
func Breaches(series []string) (breaches []string, seen int, err error) {
	names, err := Names()
	if err != nil {
		return nil, 0, err
	}
	metrics := map[string]Name{}
	for _, n := range names["metrics"] {
		metrics[n.Name] = n
	}
	found, wrong := map[string]bool{}, map[string]bool{}
	for _, s := range series {
		name, _, _ := strings.Cut(s, "{")
		n, listed := lookUp(metrics, name)
		if !listed {
			continue
		}
		found[n.Name] = true
		for _, w := range n.breaches(labelPair.FindAllStringSubmatch(s, -1)) {
			wrong[n.Name+": "+w] = true
		}
	}
	return slices.Sorted(maps.Keys(wrong)), len(found), nil
}

// Series returns the series of a scrape in the text format, each without its value.
func Series(scrape string) []string {
	var series []string
	for line := range strings.Lines(scrape) {
		line = strings.TrimSpace(line)
		if space := strings.LastIndexByte(line, ' '); space > 0 && !strings.HasPrefix(line, "#") {
			series = append(series, line[:space])
		}
	}
	return series
}

// lookUp finds the metric of a series. The names of series of conditions contain the kind, and those of histograms
// have a suffix.
func lookUp(metrics map[string]Name, series string) (Name, bool) {
	for _, name := range []string{series, ofType.ReplaceAllString(series, "")} {
		if n, ok := metrics[name]; ok {
			return n, true
		}
		if n, ok := metrics[ofKind.ReplaceAllString(name, "operator_KIND_${1}_")]; ok {
			return n, true
		}
	}
	return Name{}, false
}

// breaches compares the labels of one series with those of n. Each of pairs is a match, a name and a value.
func (n Name) breaches(pairs [][]string) []string {
	var out, have []string
	fixed, want := FixedValues(n.Columns[2]), strings.Fields(n.Columns[1])
	for _, pair := range pairs {
		if pair[1] == "le" || pair[1] == "quantile" {
			continue
		}
		have = append(have, pair[1])
		if values := fixed[pair[1]]; values != nil && !slices.Contains(values, pair[2]) {
			out = append(out, fmt.Sprintf("label %s has the value %q", pair[1], pair[2]))
		}
	}
	node := slices.Index(want, "NODE")
	if node >= 0 {
		want = slices.Replace(want, node, node+1, "node_name", "phase", "managed")
	}
	for _, label := range want {
		if !slices.Contains(have, label) {
			out = append(out, "label "+label+" is missing")
		}
	}
	for _, label := range have {
		if !slices.Contains(want, label) && node < 0 {
			out = append(out, "label "+label+" is not upstream's")
		}
	}
	return out
}
