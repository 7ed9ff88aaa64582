package examples

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// An example describes the expected result for the pods of one directory.
type example struct {
	// before prepares the account, or emulates a program that the example needs. It returns the replacements that a reader
	// would make in the files: old and new text in turn.
	before func(*testing.T, *place) []string
	// pools are the NodePools of the nodes on which the pods run, sorted.
	pools []string
	// labels are labels that each of these nodes has, with one of the listed values, or with any value if none is listed.
	labels map[string][]string
	// has are minimum amounts of resources that each of these nodes has.
	has map[corev1.ResourceName]string
	// after makes further checks.
	after func(*stage, []landing)
	// always is true if the example also runs without KARPENTER_LONG.
	always bool
}

// Keys of labels.
const (
	capacity, zone = apiv1.CapacityTypeLabelKey, corev1.LabelTopologyZone
	arch, system   = corev1.LabelArchStable, corev1.LabelOSStable
	family         = "karpenter.k8s.aws/instance-family"
	category       = "karpenter.k8s.aws/instance-category"
)

var (
	spot     = map[string][]string{capacity: {"spot"}}
	onDemand = map[string][]string{capacity: {"on-demand"}}
)

// examples has the expected result of each example, by directory.
var examples = map[string]example{
	"batch":     {pools: []string{"batch"}, labels: spot},
	"big-disks": {pools: []string{"scratch"}, labels: onDemand, has: resources("ephemeral-storage", "400Gi")},
	"bottlerocket": {pools: []string{"bottlerocket"}, after: func(s *stage, landed []landing) {
		s.everyNode(landed, func(n *corev1.Node) string { return without(n.Status.NodeInfo.OSImage, "Bottlerocket") })
	}},
	"budgets-by-calendar": {pools: []string{"office"}, labels: onDemand},
	"capacity-buffer":     {always: true, pools: []string{"default"}, labels: onDemand, after: (*stage).headroom},
	"ci-on-spot":          {always: true, pools: []string{"ci"}, labels: map[string][]string{capacity: {"spot"}, category: {"c", "m"}}},
	"custom-ami":          {always: true, before: ownImage, pools: []string{"custom"}, after: (*stage).onOwnImage},
	"dedicated-tenancy":   {pools: []string{"dedicated"}, labels: map[string][]string{"karpenter.k8s.aws/instance-tenancy": {"dedicated"}}},
	"dense-nodes": {pools: []string{"dense"}, has: resources("pods", "200"), after: func(s *stage, landed []landing) {
		if n := len(nodes(landed)); n != 1 {
			s.t.Errorf("150 small pods run on %d nodes, want one that takes 200", n)
		}
	}},
	"efa": {before: placement("hpc"), pools: []string{"hpc"}, has: resources("vpc.amazonaws.com/efa", "1"),
		labels: map[string][]string{family: {"c7i", "c6i", "m6i"}, "karpenter.k8s.aws/placement-group-id": nil}},
	"gpu": {pools: []string{"gpu"}, has: resources("nvidia.com/gpu", "1"),
		labels: map[string][]string{category: {"g"}, "karpenter.k8s.aws/instance-gpu-manufacturer": {"nvidia"}}},
	"graviton": {pools: []string{"amd64", "arm64"}, after: func(s *stage, landed []landing) {
		s.byApp(landed, arch, map[string]string{"both": "arm64", "old": "amd64"})
	}},
	"high-availability": {pools: []string{"ha"}, labels: onDemand, after: (*stage).spread},
	"local-nvme": {pools: []string{"nvme"}, has: resources("ephemeral-storage", "100Gi"),
		labels: map[string][]string{"karpenter.k8s.aws/instance-local-nvme": nil}},
	"multi-team": {pools: []string{"blue", "red", "shared"}, after: func(s *stage, landed []landing) {
		s.byApp(landed, apiv1.NodePoolLabelKey, map[string]string{"red-app": "red", "blue-app": "blue", "common": "shared"})
	}},
	"neuron":       {pools: []string{"neuron"}, has: resources("aws.amazon.com/neuron", "1"), labels: map[string][]string{family: {"inf2"}}},
	"node-overlay": {pools: []string{"default"}, labels: onDemand, after: (*stage).overlaid},
	"on-demand-base": {pools: []string{"base", "burst"}, after: func(s *stage, landed []landing) {
		s.byPool(landed, capacity, map[string]string{"base": "on-demand", "burst": "spot"})
	}},
	"quickstart":         {before: swap("replicas: 0", "replicas: 10"), pools: []string{"default"}, labels: onDemand},
	"reserved-capacity":  {before: reservation, pools: []string{"reserved"}, after: (*stage).reserved},
	"spot-diversity":     {pools: []string{"diverse"}, labels: spot},
	"spot-with-fallback": {pools: []string{"spot"}, labels: spot, after: (*stage).fallback},
	"startup-taints":     {before: networkAgent, pools: []string{"cilium"}, labels: onDemand},
	"stateful":           {pools: []string{"stateful"}, labels: onDemand, after: (*stage).zonal},
	"static-capacity":    {after: (*stage).static},
	"two-environments": {pools: []string{"production", "staging"}, after: func(s *stage, landed []landing) {
		s.byPool(landed, capacity, map[string]string{"production": "on-demand", "staging": "spot"})
	}},
	"windows": {pools: []string{"windows"}, labels: map[string][]string{system: {"windows"}, corev1.LabelWindowsBuild: {"10.0.20348"}}},
}

// Each example has its expected result on a cluster. Directories without pods are skipped.
func TestExamples(t *testing.T) {
	dirs, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		name := dir.Name()
		if name == "helm" || name == "legacy" || name == "migrate" || name == "providers" {
			continue // values, manifests of old kinds, dumps, and programs: tested where they are read
		}
		want, known := examples[name]
		if !known {
			t.Errorf("nothing is said here of examples/%s: add it", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			if !want.always && os.Getenv("KARPENTER_LONG") == "" {
				t.Skip("all together take minutes; set KARPENTER_LONG=1")
			}
			play(t, name, want)
		})
	}
}

// play applies an example and checks the result.
func play(t *testing.T, name string, want example) {
	var swaps []string
	if want.before != nil {
		swaps = want.before(t, here)
	}
	s := here.apply(t, name, swaps...)
	landed := s.run()
	pools := map[string]bool{}
	for _, n := range nodes(landed) {
		pools[n.Labels[apiv1.NodePoolLabelKey]] = true
		for key, values := range want.labels {
			if got, is := n.Labels[key]; !is || (values != nil && !slices.Contains(values, got)) {
				t.Errorf("node %s has %s=%q, want one of %q", n.Name, key, got, values)
			}
		}
		for res, least := range want.has {
			if got := n.Status.Allocatable[res]; got.Cmp(resource.MustParse(least)) < 0 {
				t.Errorf("node %s has %s of %s for pods, want %s", n.Name, got.String(), res, least)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(pools)); !slices.Equal(got, want.pools) {
		t.Errorf("pods run on nodes of %q, want %q", got, want.pools)
	}
	if want.after != nil {
		want.after(s, landed)
	}
}

func resources(name corev1.ResourceName, least string) map[corev1.ResourceName]string {
	return map[corev1.ResourceName]string{name: least}
}

func without(text, part string) string {
	if strings.Contains(text, part) {
		return ""
	}
	return fmt.Sprintf("%q has no %s", text, part)
}

func (s *stage) everyNode(landed []landing, wrong func(*corev1.Node) string) {
	s.t.Helper()
	for _, n := range nodes(landed) {
		if w := wrong(&n); w != "" {
			s.t.Errorf("node %s: %s", n.Name, w)
		}
	}
}

// byApp checks that the nodes of each app's pods have a value of a label.
func (s *stage) byApp(landed []landing, key string, want map[string]string) {
	s.t.Helper()
	for _, l := range landed {
		if got := l.node.Labels[key]; got != want[l.pod.Labels["app"]] {
			s.t.Errorf("pod %s runs on %s=%s, want %s", l.pod.Name, key, got, want[l.pod.Labels["app"]])
		}
	}
}

// byPool checks that the nodes of each pool have a value of a label.
func (s *stage) byPool(landed []landing, key string, want map[string]string) {
	s.t.Helper()
	for _, n := range nodes(landed) {
		if pool := n.Labels[apiv1.NodePoolLabelKey]; n.Labels[key] != want[pool] {
			s.t.Errorf("node %s of pool %s has %s=%s, want %s", n.Name, pool, key, n.Labels[key], want[pool])
		}
	}
}

// spread checks that each pod has its own node and that zones have equal numbers of nodes.
func (s *stage) spread(landed []landing) {
	zones := map[string]int{}
	for _, n := range nodes(landed) {
		zones[n.Labels[zone]]++
	}
	if len(nodes(landed)) != 6 || zones["us-east-1a"] != 2 || zones["us-east-1b"] != 2 || zones["us-east-1c"] != 2 {
		s.t.Errorf("6 pods run on %d nodes in %v, want 6, two in each zone", len(nodes(landed)), zones)
	}
}

// fallback removes all spot capacity and adds pods. The new pods must get on-demand nodes.
func (s *stage) fallback(landed []landing) {
	all := control.Pool{Type: "*", Zone: "*", Capacity: "spot"}
	if err := s.Steer().ICE(s.t.Context(), all); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := s.Steer().ClearCapacity(context.WithoutCancel(s.t.Context()), all); err != nil {
			s.t.Error(err)
		}
	})
	before := len(nodes(landed))
	s.scale("web", 60)
	kinds := map[string]int{}
	for _, n := range nodes(s.run()) {
		kinds[n.Labels[capacity]]++
	}
	if kinds["on-demand"] == 0 || kinds["spot"] > before {
		s.t.Errorf("with no spot to be had, nodes are %v; %d were spot before", kinds, before)
	}
}

// swap returns replacements for examples that a reader edits by hand.
func swap(text ...string) func(*testing.T, *place) []string {
	return func(*testing.T, *place) []string { return text }
}

// scale sets the replicas of a Deployment of the example.
func (s *stage) scale(name string, replicas int64) {
	s.t.Helper()
	for _, o := range s.objects {
		if o.GetKind() != "Deployment" || o.GetName() != name {
			continue
		}
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		if err := s.Patch(s.t.Context(), o, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// headroom checks that there is free capacity for three more pods.
func (s *stage) headroom([]landing) {
	s.Poll(s.t, func(ctx context.Context) string {
		var buffers autoscalingv1beta1.CapacityBufferList
		if err := s.List(ctx, &buffers); err != nil {
			return err.Error()
		}
		if len(buffers.Items) != 1 {
			return fmt.Sprintf("%d buffers", len(buffers.Items))
		}
		b := &buffers.Items[0]
		for _, c := range b.Status.Conditions {
			if c.Type == "Provisioning" && c.Status == "True" && b.Status.Replicas != nil && *b.Status.Replicas == 3 {
				return s.room(ctx, 3)
			}
		}
		return fmt.Sprintf("the room is not there: %v of %v", b.Status.Conditions, b.Status.Replicas)
	})
}

// room returns "" if the free CPU of the nodes is sufficient for want pods of one core, and otherwise how much is free.
func (s *stage) room(ctx context.Context, want int64) string {
	var all corev1.NodeList
	var pods corev1.PodList
	if err := s.List(ctx, &all); err != nil {
		return err.Error()
	}
	if err := s.List(ctx, &pods); err != nil {
		return err.Error()
	}
	var holds int64
	for _, n := range all.Items {
		free := n.Status.Allocatable.Cpu().MilliValue()
		for _, p := range pods.Items {
			if p.Spec.NodeName == n.Name {
				free -= p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			}
		}
		holds += free / 1000
	}
	if holds < want {
		return fmt.Sprintf("there is room for %d more pods, want %d", holds, want)
	}
	return ""
}

// overlaid checks that both overlays are valid.
func (s *stage) overlaid([]landing) {
	s.Poll(s.t, func(ctx context.Context) string {
		var overlays overlayv1alpha1.NodeOverlayList
		if err := s.List(ctx, &overlays); err != nil {
			return err.Error()
		}
		for i := range overlays.Items {
			if o := &overlays.Items[i]; !condition.Ready(o) {
				return fmt.Sprintf("overlay %s is not ready: %v", o.Name, o.Status.Conditions)
			}
		}
		if len(overlays.Items) != 2 {
			return fmt.Sprintf("%d overlays, want 2", len(overlays.Items))
		}
		return ""
	})
}

// static checks that the pool has four nodes, although there are no pods.
func (s *stage) static(landed []landing) {
	s.Poll(s.t, func(ctx context.Context) string {
		var all corev1.NodeList
		if err := s.List(ctx, &all, client.MatchingLabels{apiv1.NodePoolLabelKey: "static", apiv1.NodeInitializedLabelKey: "true"}); err != nil {
			return err.Error()
		}
		if len(all.Items) != 4 || len(landed) != 0 {
			return fmt.Sprintf("%d nodes and %d pods, want 4 and none", len(all.Items), len(landed))
		}
		return ""
	})
}

// ownImage gives one of AWS's images the tags by which the example selects an image.
func ownImage(t *testing.T, p *place) []string {
	id := image(t, p)
	tags := []ec2types.Tag{{Key: aws.String("team"), Value: aws.String("platform")}, {Key: aws.String("image"), Value: aws.String("node")}}
	if _, err := ec2.NewFromConfig(p.AWS()).CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: tags}); err != nil {
		t.Fatal(err)
	}
	return []string{"owner: self", "owner: amazon"}
}

func image(t *testing.T, p *place) string {
	t.Helper()
	out, err := ssm.NewFromConfig(p.AWS()).GetParameter(t.Context(), &ssm.GetParameterInput{
		Name: aws.String("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Parameter.Value
}

// onOwnImage checks that all claims use the image of ownImage.
func (s *stage) onOwnImage([]landing) {
	var claims apiv1.NodeClaimList
	if err := s.List(s.t.Context(), &claims); err != nil {
		s.t.Fatal(err)
	}
	want := image(s.t, s.place)
	for _, c := range claims.Items {
		if c.Status.ImageID != want {
			s.t.Errorf("claim %s has image %s, want the one with the tags, %s", c.Name, c.Status.ImageID, want)
		}
	}
}

// placement creates a placement group.
func placement(name string) func(*testing.T, *place) []string {
	return func(t *testing.T, p *place) []string {
		if _, err := p.Steer().Place(t.Context(), control.Placement{Name: name, Strategy: "cluster"}); err != nil {
			t.Fatal(err)
		}
		return nil
	}
}

// reservation creates a capacity reservation of two instances.
func reservation(t *testing.T, p *place) []string {
	id, err := p.Steer().Reserve(t.Context(), control.Reservation{
		Type: "m7i.xlarge", Zone: "us-east-1a", Count: 2, Tags: map[string]string{"purpose": "kubernetes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Steer().Cancel(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	})
	return nil
}

// reserved checks that nodes use reserved capacity.
func (s *stage) reserved(landed []landing) {
	kinds := map[string]int{}
	for _, n := range nodes(landed) {
		kinds[n.Labels[capacity]]++
	}
	if kinds["reserved"] == 0 {
		s.t.Errorf("nodes are %v, want reserved ones", kinds)
	}
}
