package verify

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// BenchmarkPlan checks plans with 20 pods on a node and 300 types of 6 offerings. In "services", a service has ten pods. In
// "own", each pod is a service by itself, so its labels and selectors are unique. All pods have constraints on other pods, of
// five kinds (see servicePod).
func BenchmarkPlan(b *testing.B) {
	for _, replicas := range []int{10, 1} {
		for _, pods := range []int{1000, 10_000} {
			name := fmt.Sprintf("services/%d", pods)
			if replicas == 1 {
				name = fmt.Sprintf("own/%d", pods)
			}
			b.Run(name, func(b *testing.B) {
				s, p := crowded(pods, replicas)
				for b.Loop() {
					if found := Plan(s, p); len(found) > 0 {
						b.Fatalf("violations: %d, the first is %s", len(found), found[0])
					}
				}
			})
		}
	}
}

// BenchmarkLargeCluster checks a plan for 40 pods beside 150,000 running pods on 5,000 nodes. All pods have constraints on other
// pods (see servicePod) and 20 labels.
func BenchmarkLargeCluster(b *testing.B) {
	pool := newPool()
	pool.Spec.Limits = nil
	pool.Spec.Template.Spec.Requirements = pool.Spec.Template.Spec.Requirements[:1]
	types := []*model.InstanceType{benchType(0)}
	d := model.Delta{Pools: []*apiv1.NodePool{pool}, Types: map[string][]*model.InstanceType{"default": types}}
	const nodes, podsPerNode, replicas = 5000, 30, 20
	for i := range nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}
		n.Labels = map[string]string{corev1.LabelHostname: n.Name, corev1.LabelTopologyZone: zoneOf(i)}
		n.Spec.ProviderID = "x://" + n.Name
		d.Nodes = append(d.Nodes, n)
		for k := i * podsPerNode; k < (i+1)*podsPerNode; k++ {
			p := servicePod(k/replicas, k%replicas)
			p.Spec.NodeName, p.Status.Phase = n.Name, corev1.PodRunning
			for l := range 17 {
				p.Labels[fmt.Sprintf("label-%d", l)] = strconv.Itoa(k % 50)
			}
			d.Pods = append(d.Pods, p)
		}
	}
	for i := range 40 {
		d.Pods = append(d.Pods, servicePod(nodes*podsPerNode/replicas+i, 0))
	}
	s := model.Compile(d)
	known, _ := s.Pool("default")
	plan := &model.Plan{}
	for i, p := range s.Pending() {
		offering := types[0].Offerings[2*(i%3)]
		plan.Nodes = append(plan.Nodes, model.PlannedNode{
			Pool: known, Requirements: known.Requirements.With(require.New(corev1.LabelTopologyZone, require.In, offering.Zone)),
			Options: types, Offering: offering, Requests: p.Requests, Pods: []*model.Pod{p},
		})
		plan.Price += offering.Price
	}
	for b.Loop() {
		if found := Plan(s, plan); len(found) > 0 {
			b.Fatalf("violations: %d, the first is %s", len(found), found[0])
		}
	}
}

// crowded returns a correct plan for the given number of pods. Each service has the given number of replicas.
func crowded(pods, replicas int) (*model.Snapshot, *model.Plan) {
	var d model.Delta
	for i := range pods {
		d.Pods = append(d.Pods, servicePod(i/replicas, i%replicas))
	}
	pool := newPool()
	pool.Spec.Limits = nil
	pool.Spec.Template.Spec.Requirements = pool.Spec.Template.Spec.Requirements[:1]
	d.Pools = []*apiv1.NodePool{pool}
	var types []*model.InstanceType
	for i := range 300 {
		types = append(types, benchType(i))
	}
	d.Types = map[string][]*model.InstanceType{"default": types}
	s := model.Compile(d)

	known, _ := s.Pool("default")
	p := &model.Plan{Nodes: make([]model.PlannedNode, max(pods/20/3*3, 3*replicas))}
	for i := range p.Nodes {
		zone := require.New(corev1.LabelTopologyZone, require.In, zoneOf(i))
		shift := require.New("shift", require.NotIn, strconv.Itoa(i%40)) // with three zones, 120 different requirements
		p.Nodes[i] = model.PlannedNode{
			Pool: known, Requirements: known.Requirements.With(zone, shift), Options: types,
			Offering: types[0].Offerings[2*(i%3)], Requests: model.Resources{},
		}
		p.Price += p.Nodes[i].Offering.Price
	}
	for i, o := range d.Pods {
		service, replica := i/replicas, i%replicas
		at := service + replica
		if service%5 == 3 {
			at = service + 3*replica // every third node is in the same zone
		}
		n := &p.Nodes[at%len(p.Nodes)]
		pod, _ := s.Pods.Get(o.Namespace + "/" + o.Name)
		n.Pods = append(n.Pods, pod)
		n.Requests = n.Requests.Plus(pod.Requests)
	}
	return s, p
}

func zoneOf(node int) string { return string(rune('a' + node%3)) }

// benchType returns a type in three zones, on demand and spot, with a dozen labels.
func benchType(i int) *model.InstanceType {
	price := 1 + float64(i)/1000
	t := newType(fmt.Sprintf("t%03d", i), strconv.Itoa(i/10), 64_000, price)
	t.Allocatable = model.Resources{corev1.ResourceCPU: 64_000, corev1.ResourceMemory: 256 << 30, corev1.ResourcePods: 110}
	t.Capacity = t.Allocatable
	t.Requirements = t.Requirements.Without(corev1.LabelTopologyZone).With(
		require.New(corev1.LabelTopologyZone, require.In, "a", "b", "c"))
	for k := range 8 {
		t.Requirements = t.Requirements.With(require.New(fmt.Sprintf("example.com/l%d", k), require.In, strconv.Itoa(i%(k+2))))
	}
	t.Offerings = nil
	for z := range 3 {
		for _, capacityType := range []string{apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot} {
			t.Offerings = append(t.Offerings, model.Offering{
				Zone: zoneOf(z), CapacityType: capacityType, Price: price, Available: true,
				Requirements: require.FromLabels(map[string]string{
					corev1.LabelTopologyZone: zoneOf(z), apiv1.CapacityTypeLabelKey: capacityType,
				}),
			})
		}
	}
	return t
}

// servicePod returns a replica of a service. Its constraint depends on the number of the service: spread over zones or hosts,
// anti-affinity over hosts, affinity over zones, or anti-affinity by a label expression together with a node selector.
func servicePod(service, replica int) *corev1.Pod {
	app := fmt.Sprintf("app-%d", service)
	p := newPod(fmt.Sprintf("%s-%d", app, replica), "100m")
	p.Labels = map[string]string{"app": app, "pod-template-hash": app, "team": strconv.Itoa(service % 7)}
	switch service % 5 {
	case 0, 1:
		key := corev1.LabelTopologyZone
		if service%5 == 1 {
			key = corev1.LabelHostname
		}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: ofApp(app),
			MatchLabelKeys: []string{"pod-template-hash"},
		}}
	case 2:
		anti(p, near(corev1.LabelHostname, app))
	case 3:
		with(p, near(corev1.LabelTopologyZone, app))
	case 4:
		anti(p, corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{app, "nobody"}},
			},
		}})
		p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
	}
	return p
}
