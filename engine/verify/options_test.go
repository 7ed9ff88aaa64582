package verify

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

func TestPool(t *testing.T) {
	narrow := func(rs ...require.Requirement) func(*model.Plan) {
		return func(p *model.Plan) { p.Nodes[0].Requirements = p.Nodes[0].Requirements.With(rs...) }
	}
	widen := func(key string, rs ...require.Requirement) func(*model.Plan) {
		return func(p *model.Plan) {
			n := &p.Nodes[0]
			n.Requirements = n.Requirements.Without(key).With(rs...)
		}
	}
	for _, tt := range []spoiled{
		{
			name: "no pool", plan: func(p *model.Plan) { p.Nodes[0].Pool = nil }, only: true,
			want: "pool: planned node 0: has no pool",
		},
		{
			name: "another version of the pool", only: true,
			plan: func(p *model.Plan) { p.Nodes[0].Pool = model.NewPool(newPool(), nil) },
			want: "pool: planned node 0 (default): its pool is not in the snapshot",
		},
		{
			name: "the pool is being deleted", only: true,
			cluster: func(st *story) { now := metav1.NewTime(time.Unix(0, 0)); st.pool.DeletionTimestamp = &now },
			want:    "pool: planned node 0 (default): its pool is being deleted",
		},
		{
			name: "the pool is static", only: true,
			cluster: func(st *story) { three := int64(3); st.pool.Spec.Replicas = &three },
			want:    "pool: planned node 0 (default): its pool is static",
		},
		{
			name: "the pool is not ready", only: true,
			cluster: func(st *story) { st.pool.Status.Conditions[0].Status = metav1.ConditionFalse },
			want:    "pool: planned node 0 (default): its pool is not ready",
		},
		{
			name: "the claim leaves out a requirement on the type", only: true,
			cluster: func(st *story) {
				st.large.Requirements = st.large.Requirements.Without(corev1.LabelArchStable).
					With(require.New(corev1.LabelArchStable, require.In, "arm64"))
			},
			plan: widen(corev1.LabelArchStable),
			want: `pool: planned node 0 (default), type c.large: kubernetes.io/arch may become "arm64", which the pool's requirements rule out`,
		},
		{
			name: "the claim leaves out a requirement on the offering", only: true,
			cluster: func(st *story) {
				st.web[0].Spec.NodeSelector, st.web[1].Spec.NodeSelector = nil, nil
				st.small.Offerings = st.small.Offerings[:2]
				st.large.Offerings[3].Price = 0.3
				st.large.Offerings[2].Price = 0.3
			},
			plan: widen(corev1.LabelTopologyZone),
			want: `pool: planned node 0 (default), type c.large: topology.kubernetes.io/zone may become "c", which the pool's`,
		},
		{
			name: "the claim leaves out a requirement of the pool's own", only: true, plan: widen("shift"),
			want: `pool: planned node 0 (default), type m.small: shift may become "0", which the pool's requirements rule out`,
		},
		{
			name: "the claim contradicts itself", plan: narrow(require.New("shift", require.In, "night")),
			want: "type: planned node 0 (default), type m.small: shift can have no value",
		},
		{
			name: "the type contradicts a label of the template",
			cluster: func(st *story) {
				st.small.Requirements = st.small.Requirements.With(require.New("team", require.In, "data"))
				st.wish.Spec.Requirements[0].Values = []string{"m.small", "c.large"}
			},
			plan: widen("team"),
			want: `pool: planned node 0 (default), type m.small: team is ["data"], but the pool labels its nodes "web"`,
		},
		{
			name: "a bounded label gets a number within", plan: widen("shift", require.New("shift", require.Gt, "5"), require.New("shift", require.NotIn, "6")),
			cluster: func(st *story) {
				rs := st.pool.Spec.Template.Spec.Requirements
				rs[4] = apiv1.NodeSelectorRequirementWithMinValues{Key: "shift", Operator: require.Gte, Values: []string{"6"}}
				st.web[1].Spec.Affinity = affinity(corev1.NodeSelectorRequirement{Key: "shift", Operator: require.Gt, Values: []string{"6"}})
			},
		},
		{
			name: "a bounded label goes beyond", plan: widen("shift", require.New("shift", require.Lt, "5")), only: true,
			cluster: func(st *story) {
				rs := st.pool.Spec.Template.Spec.Requirements
				rs[4] = apiv1.NodeSelectorRequirementWithMinValues{Key: "shift", Operator: require.Gte, Values: []string{"4"}}
			},
			want: `pool: planned node 0 (default), type m.small: shift may become "0"`,
		},
		{
			name: "too little diversity", only: true,
			plan: func(p *model.Plan) { p.Nodes[0].Options = p.Nodes[0].Options[:1] },
			want: "minValues: planned node 0 (default): leaves 1 values of example.com/family, minValues of the pool is 2",
		},
		{
			name: "too little diversity, relaxed",
			plan: func(p *model.Plan) {
				p.Nodes[0].Options = p.Nodes[0].Options[:1]
				p.Nodes[0].MinValuesRelaxed = true
			},
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []spoiled{
		{
			name: "no type at all",
			plan: func(p *model.Plan) { p.Nodes[0].Options = nil },
			want: "type: planned node 0 (default): has no instance type to launch",
		},
		{
			name: "a type of another pool",
			plan: func(p *model.Plan) {
				p.Nodes[0].Options = append(p.Nodes[0].Options, newType("m.small", "m", 4000, 0.3))
			},
			want: "type: planned node 0 (default), type m.small: is not a type of the pool", only: true,
		},
		{
			name: "a type twice", only: true,
			plan: func(p *model.Plan) { p.Nodes[0].Options = append(p.Nodes[0].Options, p.Nodes[0].Options[1]) },
			want: "type: planned node 0 (default), type c.large: is listed twice",
		},
		{
			name: "more types than a claim may name",
			plan: func(p *model.Plan) { p.Nodes[0].Options = slices.Repeat(p.Nodes[0].Options, 301) },
			want: "type: planned node 0 (default): has 602 options, more than the 600",
		},
		{
			name: "a type outside of the requirements", only: true,
			plan: func(p *model.Plan) {
				n := &p.Nodes[0]
				n.Requirements = n.Requirements.With(require.New(family, require.In, "m"))
				n.MinValuesRelaxed = true
			},
			want: `type: planned node 0 (default), type c.large: example.com/family is ["c"], which the node's requirements rule out`,
		},
		{
			name: "a type that is sold out", only: true,
			cluster: func(st *story) { st.large.Offerings[1].Available = false },
			plan:    func(p *model.Plan) { p.Nodes[0].MinValuesRelaxed = true },
			want:    "offering: planned node 0 (default), type c.large: has no available offering",
		},
		{
			name: "the offering is sold out", only: true,
			plan: func(p *model.Plan) {
				p.Nodes[0].Offering = p.Nodes[0].Options[0].Offerings[0]
				p.Price, p.Floor = p.Nodes[0].Price(), 0
			},
			want: "offering: planned node 0 (default), type m.small: a spot at 0.05 is not available",
		},
		{
			name: "the offering is elsewhere", only: true,
			plan: func(p *model.Plan) {
				p.Nodes[0].Offering = p.Nodes[0].Options[0].Offerings[2]
				p.Price, p.Floor = p.Nodes[0].Price(), 0
			},
			want: "offering: planned node 0 (default), type m.small: b spot at",
		},
		{
			name: "the offering has another price",
			plan: func(p *model.Plan) { p.Nodes[0].Offering.Price, p.Price, p.Floor = 0.09, 0.09, 0 },
			want: "offering: planned node 0 (default), type m.small: a on-demand at 0.09", only: true,
		},
		{
			name: "the options are in the wrong order",
			plan: func(p *model.Plan) {
				n := &p.Nodes[0]
				n.Options = []*model.InstanceType{n.Options[1], n.Options[0]}
			},
			want: "offering: planned node 0 (default), type c.large: a on-demand at 0.1 is not available",
		},
		{
			name: "a cheaper option is passed over",
			plan: func(p *model.Plan) {
				n := &p.Nodes[0]
				n.Options = []*model.InstanceType{n.Options[1], n.Options[0]}
				n.Offering, p.Price = n.Options[0].Offerings[1], 0.2
			},
			want: "price: planned node 0 (default), type m.small: costs 0.1, less than the node's price of 0.2", only: true,
		},
		{
			name: "a cheaper offering of the option is passed over", only: true,
			cluster: func(st *story) {
				st.small.Offerings = append(st.small.Offerings, st.small.Offerings[1])
				st.small.Offerings[4].Price = 0.05
			},
			want: "price: planned node 0 (default), type m.small: costs 0.05, less than the node's price of 0.1",
		},
		{
			name: "a reservation without capacity left",
			cluster: func(st *story) {
				free := st.small.Offerings[1]
				free.ReservationID, free.Price = "r-1", 0
				st.small.Offerings = append(st.small.Offerings, free)
			},
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestOptionsOutOfOrder(t *testing.T) {
	st := newStory()
	st.large.Offerings[1].Price = 0.10 // the price of type small
	s, p := st.told(t)
	middle := newType("m.middle", "m", 6000, 0.15)
	s = s.Apply(model.Delta{Types: map[string][]*model.InstanceType{"default": {st.small, middle, st.large}}})
	p.Nodes[0].Options = []*model.InstanceType{st.small, middle, st.large}
	found := Plan(s, p)
	want := "price: planned node 0 (default): its options are not in the order of their prices"
	if len(found) != 1 || found[0].String() != want {
		t.Errorf("found %q, want %q", found, want)
	}
}
