package e2e

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// requestTotal is a counter of the API server with its labels and its value.
var requestTotal = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)

// requestLabel is one label of a counter.
var requestLabel = regexp.MustCompile(`(\w+)="([^"]*)"`)

// Requests returns how many writes the API server has answered so far, by verb and resource, the most frequent first.
func (a *API) Requests(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+"/metrics", nil)
	if err != nil {
		return "", err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	counts, err := countWrites(response.Body)
	if err != nil {
		return "", err
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	const shown = 12
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names[:min(shown, len(names))], ", "), nil
}

// countWrites reads metrics and returns the writes by verb and resource.
func countWrites(metrics io.Reader) (map[string]int, error) {
	counts := map[string]int{}
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
			return nil, fmt.Errorf("read metrics: %q: %w", lines.Text(), err)
		}
		switch labels["verb"] {
		case "GET", "LIST", "WATCH", "CONNECT":
			continue
		}
		resource := labels["resource"]
		if sub := labels["subresource"]; sub != "" {
			resource += "/" + sub
		}
		counts[labels["verb"]+" "+resource] += int(n)
	}
	return counts, lines.Err()
}
