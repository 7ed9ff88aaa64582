package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/objects"
)

// The published example is checked in detail: the requests to EC2, the fields of nodes and claims, and the output of kubectl.
// In the end everything is deleted.
func TestQuickstartInDetail(t *testing.T) {
	t.Parallel()
	s := newScene(t, "quick")
	s.quickstart()
	s.scale("inflate", 10)
	pods := s.awaitRunning("inflate", 10)
	claims := s.settled(len(s.claims()))
	nodes := s.nodes()
	home := map[string]bool{}
	for i := range nodes {
		home[nodes[i].Name] = true
		s.wantNode(&nodes[i])
	}
	for _, p := range pods {
		if !home[p.Spec.NodeName] {
			t.Errorf("pod %s runs on %s, which is not of the pool", p.Name, p.Spec.NodeName)
		}
	}
	s.wantClaims(claims, nodes)
	s.wantFleets(len(claims))
	s.wantColumns(claims, nodes)
	s.wantCost()
	s.scale("inflate", 0)
	s.awaitNothing()
}

// quickstart applies the example with the name of the scene.
func (s *scene) quickstart() {
	s.t.Helper()
	example, err := objects.ReadDir("../../examples/quickstart")
	if err != nil {
		s.t.Fatal(err)
	}
	s.pools = append(s.pools, s.name)
	for _, o := range example {
		switch o.GetKind() {
		case "Deployment":
			o.SetNamespace(s.name)
			s.set(o, map[string]any{sceneKey: s.name}, "spec", "template", "spec", "nodeSelector")
		case "NodePool":
			s.set(o, s.name, "spec", "template", "spec", "nodeClassRef", "name")
			s.set(o, s.name, "spec", "template", "metadata", "labels", sceneKey)
			s.set(o, "2s", "spec", "disruption", "consolidateAfter")
			o.SetName(s.name)
		case "EC2NodeClass":
			o.SetName(s.name)
		}
		if err := objects.Apply(s.t.Context(), s, o); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *scene) set(o *unstructured.Unstructured, value any, path ...string) {
	s.t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) scale(deployment string, replicas int) {
	s.t.Helper()
	shared.Kubectl(s.t, "scale", "-n", s.name, "deployment", deployment, "--replicas="+strconv.Itoa(replicas))
}

var providerIDForm = regexp.MustCompile(`^aws:///(us-east-1[abc])/(i-[0-9a-f]{17})$`)

// wantNode checks the labels, taints and name of a node, and that its maximum number of pods is that of the user data.
func (s *scene) wantNode(n *corev1.Node) {
	s.t.Helper()
	id := providerIDForm.FindStringSubmatch(n.Spec.ProviderID)
	if id == nil {
		s.t.Fatalf("node %s has providerID %q", n.Name, n.Spec.ProviderID)
	}
	var instance control.Instance
	for _, i := range s.instances() {
		if i.ID == id[2] {
			instance = i
		}
	}
	for key, want := range map[string]string{
		apiv1.NodePoolLabelKey: s.name, apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
		corev1.LabelInstanceTypeStable: instance.Type, corev1.LabelTopologyZone: id[1], "team": "platform",
		apiv1.CapacityTypeLabelKey: "on-demand", corev1.LabelArchStable: "amd64", corev1.LabelHostname: n.Name,
	} {
		if got := n.Labels[key]; got != want || want == "" {
			s.t.Errorf("node %s has label %s=%q, want %q", n.Name, key, got, want)
		}
	}
	if len(n.Spec.Taints) != 0 || !ready(n) || n.Name != instance.Node {
		s.t.Errorf("node %s of instance %+v is ready %v with taints %v", n.Name, instance, ready(n), n.Spec.Taints)
	}
	if got, want := n.Status.Capacity.Pods().Value(), s.maxPods(instance); got != want {
		s.t.Errorf("node %s takes %d pods, its user data says %d", n.Name, got, want)
	}
}

var maxPodsForm = regexp.MustCompile(`maxPods: (\d+)`)

// maxPods returns the maximum number of pods in the user data of an instance.
func (s *scene) maxPods(instance control.Instance) int64 {
	s.t.Helper()
	out, err := ec2.NewFromConfig(s.AWS()).DescribeLaunchTemplateVersions(s.t.Context(),
		&ec2.DescribeLaunchTemplateVersionsInput{
			LaunchTemplateId: aws.String(instance.Tags["aws:ec2launchtemplate:id"]),
			Versions:         []string{instance.Tags["aws:ec2launchtemplate:version"]},
		})
	if err != nil || len(out.LaunchTemplateVersions) != 1 {
		s.t.Fatalf("read launch template of %s: %v, %v", instance.ID, out, err)
	}
	data, err := base64.StdEncoding.DecodeString(aws.ToString(out.LaunchTemplateVersions[0].LaunchTemplateData.UserData))
	if err != nil {
		s.t.Fatal(err)
	}
	said := maxPodsForm.FindSubmatch(data)
	if said == nil {
		s.t.Fatalf("user data says no maxPods:\n%s", data)
	}
	n, err := strconv.ParseInt(string(said[1]), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// wantClaims checks that claims are complete, that each has one node, and that they request the sum of their pods.
func (s *scene) wantClaims(claims []apiv1.NodeClaim, nodes []corev1.Node) {
	s.t.Helper()
	if len(claims) == 0 || len(claims) != len(nodes) {
		s.t.Errorf("%d claims for %d nodes", len(claims), len(nodes))
	}
	cpu, memory := int64(0), int64(0)
	for i := range claims {
		c := &claims[i]
		if !condition.IsTrue(c, apiv1.ConditionTypeLaunched, apiv1.ConditionTypeRegistered,
			apiv1.ConditionTypeInitialized, apiv1.ConditionTypeReady) {
			s.t.Errorf("claim %s: %s", c.Name, conditions(c.Status.Conditions))
		}
		requests := c.Spec.Resources.Requests
		cpu, memory = cpu+requests.Cpu().Value(), memory+requests.Memory().Value()
		same := 0
		for j := range nodes {
			if nodes[j].Name == c.Status.NodeName && nodes[j].Spec.ProviderID == c.Status.ProviderID {
				same++
			}
		}
		if same != 1 || c.Status.ImageID == "" || c.Status.Allocatable.Cpu().IsZero() {
			s.t.Errorf("claim %s has node %q, status %+v", c.Name, c.Status.NodeName, c.Status)
		}
	}
	if cpu != 10 || memory != 10<<30 {
		s.t.Errorf("claims ask for %d CPUs and %d bytes, the pods for 10 and 10 GiB", cpu, memory)
	}
}

// wantFleets checks the CreateFleet requests of the instances.
func (s *scene) wantFleets(instances int) {
	s.t.Helper()
	calls, err := s.Steer().Calls(s.t.Context(), 0)
	if err != nil {
		s.t.Fatal(err)
	}
	asked := 0
	for _, c := range calls {
		if c.Action != "CreateFleet" || !hasTag(c, apiv1.NodePoolLabelKey, s.name) {
			continue
		}
		n, err := strconv.Atoi(c.Params["TargetCapacitySpecification.TotalTargetCapacity"])
		if err != nil {
			s.t.Fatal(err)
		}
		asked += n
		overrides := 0
		for key := range c.Params {
			if strings.HasSuffix(key, ".SubnetId") {
				overrides++
			}
		}
		if c.Params["Type"] != "instant" || overrides < 6 || !hasTag(c, "team", "platform") ||
			!hasTag(c, "kubernetes.io/cluster/local", "owned") || c.Params["ClientToken"] == "" {
			s.t.Errorf("CreateFleet with %d overrides: %v", overrides, c.Params)
		}
	}
	if asked != instances {
		s.t.Errorf("%d instances were asked for, want %d", asked, instances)
	}
}

// hasTag reports whether a call sets the tag on instances.
func hasTag(c control.Call, key, value string) bool {
	for param, said := range c.Params {
		if name, ok := strings.CutSuffix(param, ".Key"); ok && said == key && c.Params[name+".Value"] == value {
			return true
		}
	}
	return false
}

// wantColumns checks the output of kubectl get.
func (s *scene) wantColumns(claims []apiv1.NodeClaim, nodes []corev1.Node) {
	s.t.Helper()
	out := shared.Kubectl(s.t, "get", "nodepools,nodeclaims,ec2nodeclasses,nodes")
	shown := strings.Join(strings.Fields(out), " ")
	wants := []string{
		"NAME NODECLASS NODES READY AGE",
		fmt.Sprintf("nodepool.karpenter.sh/%s %s %d True", s.name, s.name, len(nodes)),
		"NAME TYPE CAPACITY ZONE NODE READY AGE",
		"NAME READY AGE",
		"ec2nodeclass.karpenter.k8s.aws/" + s.name + " True",
	}
	for i := range claims {
		c := &claims[i]
		wants = append(wants, fmt.Sprintf("nodeclaim.karpenter.sh/%s %s on-demand %s %s True", c.Name,
			c.Labels[corev1.LabelInstanceTypeStable], c.Labels[corev1.LabelTopologyZone], c.Status.NodeName))
	}
	for i := range nodes {
		wants = append(wants, "node/"+nodes[i].Name+" Ready")
	}
	for _, want := range wants {
		if !strings.Contains(shown, want) {
			s.t.Errorf("kubectl get does not show %q:\n%s", want, out)
		}
	}
}

// wantCost checks that the price of nodes that the controller reports is the price of the instances in EC2.
func (s *scene) wantCost() {
	s.t.Helper()
	price := 0.0
	for _, i := range s.instances() {
		price += i.PricePerHour
	}
	log, err := os.ReadFile(s.Cluster.Dir().Log(cluster.ControllerName))
	if err != nil {
		s.t.Fatal(err)
	}
	told := 0.0
	for line := range bytes.Lines(log) {
		var said struct {
			Message      string
			NodePool     struct{ Name string }
			PricePerHour float64 `json:"price-per-hour"`
		}
		if json.Unmarshal(line, &said) == nil && said.Message == "created nodeclaim" && said.NodePool.Name == s.name {
			told += said.PricePerHour
		}
	}
	if price <= 0 || math.Abs(told-price) > 1e-6 {
		s.t.Errorf("the controller promised a price of $%g/h, EC2 takes $%g/h", told, price)
	}
}
