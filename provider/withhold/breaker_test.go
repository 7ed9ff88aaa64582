package withhold

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// class returns a node class. Its kind does not matter.
func class(name string, annotations map[string]string) client.Object {
	c := &awsv1.EC2NodeClass{}
	c.Name, c.Annotations = name, annotations
	return c
}

func TestAdmit(t *testing.T) {
	classes := []client.Object{
		class("lifted", map[string]string{apiv1.AllowMassTerminationAnnotationKey: "true"}), class("bounded", nil), class("other", nil),
	}
	for _, tt := range []struct {
		name                             string
		bounded, lifted, absent, unknown int // instances by class
		managed                          int
		admitted, withheld               int
		warned                           string
	}{
		{"none", 0, 0, 0, 0, 100, 0, 0, ""},
		{"three of a small cluster", 3, 0, 0, 0, 3, 3, 0, ""},
		{"four of a small cluster", 4, 0, 0, 0, 4, 0, 4, "bounded"},
		{"a fifth", 20, 0, 0, 0, 100, 20, 0, ""},
		{"more than a fifth", 21, 0, 0, 0, 100, 0, 21, "bounded"},
		{"a class lifts the bound", 3, 90, 0, 0, 100, 93, 0, ""},
		{"a class lifts the bound, another exceeds it", 30, 60, 0, 0, 100, 60, 30, "bounded"},
		{"a class that is gone", 0, 0, 30, 0, 100, 0, 30, ""},
		{"a class that is not known may be any", 0, 0, 0, 30, 100, 0, 30, "bounded other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var warned []string
			b := New(Config{
				Provider: "test", Kind: "TestNodeClass", Classes: func(context.Context) ([]client.Object, error) { return classes, nil },
				Metrics: prometheus.NewRegistry(),
				Warn: func(about client.Object, message string) {
					warned = append(warned, about.GetName())
					if !strings.Contains(message, "at most") || !strings.Contains(message, "=true on their TestNodeClass") {
						t.Errorf("event %s", message)
					}
				},
			})
			chosen := slices.Concat(slices.Repeat([]string{"bounded"}, tt.bounded), slices.Repeat([]string{"lifted"}, tt.lifted),
				slices.Repeat([]string{"absent"}, tt.absent), slices.Repeat([]string{""}, tt.unknown))
			allowed, err := b.Admit(t.Context(), CauseNoClaim, chosen, tt.managed)
			if err != nil {
				t.Fatal(err)
			}
			admitted := 0
			for _, name := range chosen {
				if allowed(name) {
					admitted++
				}
			}
			withheld := int(testutil.ToFloat64(b.withheld.WithLabelValues("test", "without_nodeclaim")))
			if admitted != tt.admitted || withheld != tt.withheld || strings.Join(warned, " ") != tt.warned {
				t.Errorf("%d admitted, %d withheld, events on %v", admitted, withheld, warned)
			}
		})
	}
}

// If all classes lift the bound, it is lifted for instances whose class is not known.
func TestLiftedForUnknownClass(t *testing.T) {
	lifted := map[string]string{apiv1.AllowMassTerminationAnnotationKey: "true"}
	for want, classes := range map[bool][]client.Object{
		true: {class("a", lifted), class("b", lifted)}, false: {class("a", lifted), class("b", nil)},
	} {
		b := New(Config{
			Classes: func(context.Context) ([]client.Object, error) { return classes, nil }, Warn: func(client.Object, string) {},
		})
		allowed, err := b.Admit(t.Context(), CauseNoClaim, make([]string, 10), 10)
		if err != nil || allowed("") != want {
			t.Errorf("allowed is %t, %v; want %t", allowed(""), err, want)
		}
	}
}

// The providers of one process share the metric.
func TestProvidersShareTheMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, name := range []string{"a", "b"} {
		New(Config{Provider: name, Metrics: registry}).KeptInUse(1)
	}
	if n, err := testutil.GatherAndCount(registry, "karpenter_cloudprovider_terminations_withheld"); n != 2 || err != nil {
		t.Errorf("%d series, %v; want one for each provider", n, err)
	}
}
