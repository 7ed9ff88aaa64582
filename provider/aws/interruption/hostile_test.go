package interruption

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Messages that do not come from AWS are parsed without a panic, and do not give notices of another kind.
func TestHostileMessages(t *testing.T) {
	const head = `{"version":"0","source":"aws.health","detail-type":"AWS Health Event","detail":`
	health := `{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":`
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, `,{"entityValue":"i-%d"}`, i)
	}
	for _, tt := range []struct {
		name, body string
		kind       string
		instances  int
	}{
		{"nested a thousand levels", head + strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1001), "", 0},
		{"nested beyond what JSON decoders read", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "", 0},
		{"ten thousand instances", head + health + "[" + many.String()[1:] + "]}}", string(model.NoticeScheduledChange), 10_000},
		{"an instance that is an object", head + health + `[{"entityValue":{"$ref":"i-1"}}]}}`, "", 0},
		{"instances that are null", head + health + `[null,{"entityValue":null}]}}`, string(model.NoticeScheduledChange), 0},
		{"cut off", (head + health + "[" + many.String()[1:])[:100_000], "", 0},
		{"a name with control characters", head + health + `[{"entityValue":"i-1\u0000\u001b[2J\n"}]}}`, string(model.NoticeScheduledChange), 1},
		{"a page", "<!doctype html><title>502 Bad Gateway</title>", "", 0},
		{"a time without end", `{"version":"0","time":"292277026596-12-04T15:30:07Z","detail":{}}`, "", 0},
		{"the same key twice", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-1","instance-id":"i-2"}}`,
			string(model.NoticeSpotInterrupted), 1},
	} {
		m, _ := Parse(tt.body)
		if string(m.Kind) != cmp.Or(tt.kind, string(NoOp)) || len(m.Instances) != tt.instances {
			t.Errorf("%s: %s of %d instances, want %s of %d", tt.name, m.Kind, len(m.Instances), tt.kind, tt.instances)
		}
	}
}
