package e2e

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// requestTotal matches a line of the API server's counter of requests, with labels and value.
var requestTotal = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)

// requestLabel matches one label of a counter.
var requestLabel = regexp.MustCompile(`(\w+)="([^"]*)"`)

// A tally has numbers of write requests to the API server.
type tally struct {
	// byName has the writes of all kinds by verb and resource.
	byName map[string]int
	// refused has the writes of all kinds whose response was an error, by verb, resource and status code.
	refused map[string]int
	// writes is the number of writes to nodes and claims, including their status. conflicts is the number of those
	// with the response Conflict.
	writes, conflicts int
	// conflicting has these conflicts, by verb and resource.
	conflicting map[string]int
}

// since returns the difference between t and an earlier tally.
func (t tally) since(before tally) tally {
	t.writes, t.conflicts = t.writes-before.writes, t.conflicts-before.conflicts
	t.byName, t.refused = increase(before.byName, t.byName), increase(before.refused, t.refused)
	t.conflicting = increase(before.conflicting, t.conflicting)
	return t
}

// increase returns by how much each number increased, without those that did not.
func increase(before, after map[string]int) map[string]int {
	out := map[string]int{}
	for name, n := range after {
		if n -= before[name]; n != 0 {
			out[name] = n
		}
	}
	return out
}

// counts reads the current tally from the API server's metrics.
func (a *API) counts(ctx context.Context) (tally, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+"/metrics", nil)
	if err != nil {
		return tally{}, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return tally{}, err
	}
	defer response.Body.Close()
	return countWrites(response.Body)
}

// String lists the numbers of writes by verb and resource, the most frequent first. Those that were refused are also listed by
// themselves, with their status codes.
func (t tally) String() string {
	text := mostFrequent(t.byName)
	if len(t.refused) > 0 {
		text += "; of these refused: " + mostFrequent(t.refused)
	}
	return text
}

// mostFrequent lists counts, the highest first.
func mostFrequent(counts map[string]int) string {
	names := slices.Collect(maps.Keys(counts))
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	const shown = 12
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names[:min(shown, len(names))], ", ")
}

// countWrites returns the tally in the text of metrics.
func countWrites(metrics io.Reader) (tally, error) {
	t := tally{byName: map[string]int{}, refused: map[string]int{}, conflicting: map[string]int{}}
	lines := bufio.NewScanner(metrics)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		match := requestTotal.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		labels := map[string]string{}
		for _, l := range requestLabel.FindAllStringSubmatch(match[1], -1) {
			labels[l[1]] = l[2]
		}
		n, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return t, fmt.Errorf("read metrics: %q: %w", lines.Text(), err)
		}
		switch labels["verb"] {
		case "GET", "LIST", "WATCH", "CONNECT":
			continue
		}
		name := labels["verb"] + " " + labels["resource"]
		if sub := labels["subresource"]; sub != "" {
			name += "/" + sub
		}
		t.byName[name] += int(n)
		if code := labels["code"]; code >= "400" {
			t.refused[name+" with "+code] += int(n)
		}
		if resource := labels["resource"]; resource == "nodes" || resource == "nodeclaims" {
			t.writes += int(n)
			if labels["code"] == "409" {
				t.conflicts += int(n)
				t.conflicting[name] += int(n)
			}
		}
	}
	return t, lines.Err()
}
