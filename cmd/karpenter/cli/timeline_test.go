package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/internal/decisions"
)

// The filters of timeline select decisions, and each format prints every selected decision once.
func TestTimelineFormats(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	all := []decisions.Episode{
		{ID: "a", Time: at, Kind: decisions.KindProvisioning, Pools: []string{"default"}, Decision: "launch 1 node"},
		{ID: "b", Time: at.Add(time.Minute), Kind: decisions.KindDisruption, Pools: []string{"gpu"}, Decision: "delete 1 node"},
		{ID: "c", Time: at.Add(2 * time.Minute), Kind: decisions.KindProvisioning, Pools: []string{"gpu"}, Decision: "launch 2 nodes"},
	}
	for _, tt := range []struct {
		name string
		view timeline
		want []string
	}{
		{"pool", timeline{pool: "gpu", output: asJSON}, []string{"b", "c"}},
		{"kind", timeline{kind: string(decisions.KindProvisioning), output: asYAML}, []string{"a", "c"}},
		{"newest", timeline{last: 1, output: asYAML}, []string{"c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.view.check(); err != nil {
				t.Fatal(err)
			}
			tt.view.told = map[string]shown{}
			var out bytes.Buffer
			if err := tt.view.print(&out, tt.view.chosen(all)); err != nil {
				t.Fatal(err)
			}
			separator := "\n"
			if tt.view.output == asYAML {
				separator = "---\n"
			}
			var got []string
			for part := range strings.SplitSeq(out.String(), separator) {
				if part == "" {
					continue
				}
				var e decisions.Episode
				if err := yaml.Unmarshal([]byte(part), &e); err != nil {
					t.Fatalf("%v in %q", err, part)
				}
				got = append(got, e.ID)
			}
			if strings.Join(got, ",") != strings.Join(tt.want, ",") {
				t.Errorf("printed %v, want %v", got, tt.want)
			}
			size := out.Len()
			if err := tt.view.print(&out, tt.view.matching(all)[len(tt.view.matching(all))-1:]); err != nil || out.Len() != size {
				t.Errorf("printed a decision again: %v", err)
			}
		})
	}
	bad := timeline{output: "xml"}
	if err := bad.check(); err == nil || !strings.Contains(err.Error(), "use text, wide, json or yaml") {
		t.Errorf("error %v", err)
	}
}

// The newest hundred decisions are shown. With a period, all decisions of the period are, unless --last is given too.
func TestTimelineOfAPeriod(t *testing.T) {
	var published strings.Builder
	for n := range 150 {
		line, err := json.Marshal(decisions.Episode{ID: fmt.Sprint("e", n), Time: time.Now().Add(-time.Hour), Kind: decisions.KindProvisioning})
		if err != nil {
			t.Fatal(err)
		}
		published.Write(append(line, '\n'))
	}
	serveDecisions(t, published.String())
	for args, want := range map[string]int{
		"": 100, "--since 24h": 150, "--since 24h --last 20": 20, "--since 24h --last 100": 100, "--last 0": 150, "--since 1m": 0,
	} {
		out, _, err := run(t, timelineCommand(), append(strings.Fields(args), "--controller-namespace", "karpenter", "-o", "json")...)
		if got := strings.Count(out, "\n"); err != nil || got != want {
			t.Errorf("timeline %s: %d decisions, want %d; error %v", args, got, want, err)
		}
	}
}
