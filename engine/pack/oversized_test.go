package pack

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

func TestOversized(t *testing.T) {
	s := model.Compile(model.Delta{Pools: []*apiv1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}, Types: map[string][]*model.InstanceType{
		"p": {{Name: "vast", Allocatable: model.Resources{"example.com/store": 1 << 50}}},
	}})
	for _, tt := range []struct {
		requests model.Resources
		want     string
	}{
		{model.Resources{"cpu": 1000, "memory": maxRequest}, "fits"},
		{model.Resources{"example.com/store": 1 << 50}, "fits"},
		{model.Resources{"example.com/store": 1<<50 + 1}, "requests 1P example.com/store, which no node can have"},
		{model.Resources{"cpu": model.MaxAmount, "memory": model.MaxAmount}, "requests more than 9T cpu, which no node can have"},
		{model.Resources{"cpu": 1, "memory": 1 << 44}, "requests 16Ti memory, which no node can have"},
		{model.Resources{"hugepages-2Mi": model.MaxAmount}, "requests more than 8Pi hugepages-2Mi, which no node can have"},
	} {
		if got := oversized(s, tt.requests).String(); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.requests, got, tt.want)
		}
	}
}
