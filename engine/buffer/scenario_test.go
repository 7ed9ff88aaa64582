package buffer_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/engine/buffer"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// A given is a buffer and what it references: a template, and the replicas of a scalableRef.
type given struct {
	Name     string                                `json:"name"`
	Spec     autoscalingv1beta1.CapacityBufferSpec `json:"spec"`
	Template *corev1.PodTemplateSpec               `json:"template,omitempty"`
	Scale    *int32                                `json:"scale,omitempty"`
	Missing  string                                `json:"missing,omitempty"` // reason why there is no template
}

// TestScenarios plans the virtual pods of the buffers of a section buffers.yaml. The result is the plan, and the conditions
// in the status of each buffer.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, ar *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		var buffers []given
		if err := yaml.UnmarshalStrict(scenario.Section(t, ar, "buffers.yaml").Data, &buffers); err != nil {
			t.Fatal(err)
		}
		quotas := quotasOf(t, ar)
		pods, sources := make([][]*corev1.Pod, len(buffers)), make([]buffer.Source, len(buffers))
		for i, g := range buffers {
			sources[i] = g.source()
			sources[i].Ration = quotas.Give(g.Template, buffer.Count(g.Spec, sources[i]))
			pods[i] = buffer.Pods(g.object(), sources[i])
			s = s.Apply(model.Delta{Virtual: pods[i]})
		}
		plan := pack.Solve(s, pack.Options{Labels: apiv1.CoreLabels()})
		targets := map[string]string{}
		for _, pl := range plan.Placements {
			for _, p := range pl.Pods {
				targets[p.Key] = pl.Node.Name
			}
		}
		var b strings.Builder
		b.WriteString(plan.String())
		for i, g := range buffers {
			status := buffer.Status(g.object(), sources[i], pods[i], s.WithTargets(targets))
			for _, c := range status.Conditions {
				fmt.Fprintf(&b, "%s %s=%s %s: %s\n", g.Name, c.Type, c.Status, c.Reason, c.Message)
			}
		}
		return b.String()
	})
}

// quotasOf reads the ResourceQuotas of the section quotas.yaml, if there is one.
func quotasOf(t *testing.T, ar *txtar.Archive) *buffer.Quotas {
	t.Helper()
	for _, f := range ar.Files {
		if f.Name != "quotas.yaml" {
			continue
		}
		var list []*corev1.ResourceQuota
		if err := yaml.UnmarshalStrict(f.Data, &list); err != nil {
			t.Fatal(err)
		}
		return buffer.NewQuotas(list)
	}
	return buffer.NewQuotas(nil)
}

func (g given) object() *autoscalingv1beta1.CapacityBuffer {
	return &autoscalingv1beta1.CapacityBuffer{
		ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: "default", UID: types.UID(g.Name)}, Spec: g.Spec,
	}
}

func (g given) source() buffer.Source {
	if g.Missing != "" {
		return buffer.Source{Problem: &buffer.Problem{Reason: g.Missing, Message: "it does not exist"}}
	}
	return buffer.Source{Template: g.Template, Scale: g.Scale}
}
