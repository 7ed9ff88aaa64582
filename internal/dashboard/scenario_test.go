package dashboard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

// TestScenarios sends the requests of each file of testdata/scenario, and compares the answers.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, ar *txtar.Archive) string {
		server := serve(t, optionsOf(t, c))
		var out strings.Builder
		for line := range strings.Lines(string(scenario.Section(t, ar, "requests").Data)) {
			line = strings.TrimSpace(line)
			response, body := ask(t, server.Handler(), line, "Content-Type", "application/json")
			var text bytes.Buffer
			if err := json.Indent(&text, []byte(body), "", "  "); err != nil {
				t.Fatalf("%s: %v: %s", line, err, body)
			}
			fmt.Fprintf(&out, "%d %s\n%s\n", response.StatusCode, line, text.String())
		}
		return out.String()
	})
}
