package breaker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

type events []string

func (e *events) Event(o client.Object, _, reason, message string) {
	*e = append(*e, o.GetName()+" "+reason+" "+message)
}

func some(class string, n int) (out []instances.Instance) {
	for k := range n {
		out = append(out, instances.Instance{ID: fmt.Sprint(class, k), Tags: map[string]string{awsv1.TagNodeClass: class}})
	}
	return out
}

func TestAdmit(t *testing.T) {
	lifted := &awsv1.EC2NodeClass{}
	lifted.Name, lifted.Annotations = "lifted", map[string]string{awsv1.AnnotationAllowMassTermination: "true"}
	bounded := &awsv1.EC2NodeClass{}
	bounded.Name = "bounded"
	k := fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(lifted, bounded).Build()
	for _, tt := range []struct {
		name                    string
		bounded, lifted, absent int // instances by class
		managed                 int
		admitted, withheld      int
		events                  int
	}{
		{"none", 0, 0, 0, 100, 0, 0, 0},
		{"three of a small cluster", 3, 0, 0, 3, 3, 0, 0},
		{"four of a small cluster", 4, 0, 0, 4, 0, 4, 1},
		{"a fifth", 20, 0, 0, 100, 20, 0, 0},
		{"more than a fifth", 21, 0, 0, 100, 0, 21, 1},
		{"a class lifts the bound", 3, 90, 0, 100, 93, 0, 0},
		{"a class lifts the bound, another exceeds it", 30, 60, 0, 100, 60, 30, 1},
		{"a class that is gone", 0, 0, 30, 100, 0, 30, 0},
	} {
		var told events
		b := New(k, &told, prometheus.NewRegistry())
		chosen := append(append(some("bounded", tt.bounded), some("lifted", tt.lifted)...), some("absent", tt.absent)...)
		got, err := b.Admit(t.Context(), CauseNoClaim, chosen, tt.managed)
		withheld := int(testutil.ToFloat64(b.withheld.WithLabelValues("without_nodeclaim")))
		if err != nil || len(got) != tt.admitted || withheld != tt.withheld || len(told) != tt.events {
			t.Errorf("%s: %d admitted, %d withheld, events %v, error %v", tt.name, len(got), withheld, told, err)
		}
		for _, e := range told {
			if !strings.HasPrefix(e, "bounded TerminationWithheld ") || !strings.Contains(e, "at most") {
				t.Errorf("%s: event %s", tt.name, e)
			}
		}
	}
}
