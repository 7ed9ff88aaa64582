package story

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

func pods(pending, bound, running int) []corev1.Pod {
	var list []corev1.Pod
	for range pending {
		list = append(list, corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}})
	}
	for range bound {
		list = append(list, corev1.Pod{
			Spec:   corev1.PodSpec{NodeName: "n"},
			Status: corev1.PodStatus{Phase: corev1.PodPending},
		})
	}
	for range running {
		list = append(list, corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}})
	}
	return list
}

func claim(conditions ...string) []apiv1.NodeClaim {
	c := apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-x", Labels: map[string]string{
		corev1.LabelInstanceTypeStable: "c7a.2xlarge", corev1.LabelTopologyZone: "us-east-1a",
		apiv1.CapacityTypeLabelKey: "spot",
	}}}
	c.Status.NodeName = "ip-10-0-0-1"
	for _, kind := range conditions {
		c.Status.Conditions = append(c.Status.Conditions,
			metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
	}
	return []apiv1.NodeClaim{c}
}

// Each change is printed once, in the order in which it was seen. A line is printed only when it is true.
func TestTellerTellsNewsOnce(t *testing.T) {
	var lines []string
	teller := newTeller(3, func(line string) { lines = append(lines, line) })
	teller.sawPods(pods(1, 0, 0)) // not all made yet
	teller.sawPods(pods(3, 0, 0))
	teller.sawPods(pods(3, 0, 0))
	teller.sawPlan(Plan{
		Pods: 3, Nodes: 2, PricePerHour: 0.5, FloorPerHour: 0.25, InstanceTypes: []string{"2 x c7a.large"},
	})
	teller.sawFleet(control.Call{Params: map[string]string{
		"TargetCapacitySpecification.TotalTargetCapacity":       "1",
		"TargetCapacitySpecification.DefaultTargetCapacityType": "spot",
		"LaunchTemplateConfigs.1.Overrides.1.InstanceType":      "c7a.large",
		"LaunchTemplateConfigs.1.Overrides.2.InstanceType":      "c7a.large",
		"LaunchTemplateConfigs.1.Overrides.3.InstanceType":      "m7a.large",
	}})
	teller.sawClaims(claim())
	teller.sawClaims(claim("Launched"))
	teller.sawClaims(claim("Launched", "Registered"))
	teller.sawPods(pods(0, 3, 0))
	if teller.done() {
		t.Error("done while no pod runs")
	}
	teller.sawPods(pods(0, 2, 1))
	teller.sawClaims(claim("Launched", "Registered", "Initialized"))
	teller.sawClaims(claim("Launched", "Registered", "Initialized"))
	teller.sawPods(pods(0, 0, 3))
	if !teller.done() {
		t.Error("not done when all pods run")
	}
	want := []string{
		"3 pods pending",
		"plan: 3 pods on 2 new nodes, 2 x c7a.large; $0.5000/h, lower bound $0.2500/h",
		"CreateFleet: 1 spot instance, any of 3 offerings of 2 types",
		"claim default-x launched: c7a.2xlarge, spot, us-east-1a",
		"node ip-10-0-0-1 registered",
		"1 of 3 Running",
		"node ip-10-0-0-1 initialized",
		"3 of 3 Running",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestFleetLineNamesTheRefusal(t *testing.T) {
	got := fleetLine(control.Call{Code: "UnauthorizedOperation"})
	if !strings.HasSuffix(got, "refused, UnauthorizedOperation") {
		t.Errorf("line %q does not name the refusal", got)
	}
}

// Only complete lines that are plans are returned. The rest of the log is ignored.
func TestReadPlans(t *testing.T) {
	log := `not json
{"level":"INFO","message":"started"}
{"message":"computed new nodeclaim(s) to fit pod(s)","pods":9,"nodeclaims":2,"existing":1,"price-per-hour":0.5,"instance-types":["2 x c7a.2xlarge"]}
{"message":"computed new nodeclaim(s) to fit pod(s)","pods":1,"no`
	plans, end, err := readPlans(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	want := []Plan{{
		Message: "computed new nodeclaim(s) to fit pod(s)", Pods: 9, Nodes: 2, Existing: 1, PricePerHour: 0.5,
		InstanceTypes: []string{"2 x c7a.2xlarge"},
	}}
	if diff := cmp.Diff(want, plans); diff != "" {
		t.Errorf("plans (-want +got):\n%s", diff)
	}
	if rest := log[end:]; rest != `{"message":"computed new nodeclaim(s) to fit pod(s)","pods":1,"no` {
		t.Errorf("goes on at %q, want at the unfinished line", rest)
	}
}

func TestSummary(t *testing.T) {
	rows := []row{
		{"ip-1", "c7a.large", "us-east-1a", "spot", 1, 0.25},
		{"ip-2", "m7a.large", "us-east-1b", "on-demand", 2, -1},
	}
	for name, tt := range map[string]struct {
		plans []Plan
		want  string
	}{
		"plans made these nodes": {
			[]Plan{{Nodes: 1, FloorPerHour: 0.1}, {Nodes: 1, FloorPerHour: 0.2}},
			`NODE         TYPE       ZONE        CAPACITY   PODS  $/H
ip-1         c7a.large  us-east-1a  spot       1     0.2500
ip-2         m7a.large  us-east-1b  on-demand  2     ?
2 nodes                                        3     0.2500
lower bound                                          0.3000
`,
		},
		"no price is known": {
			nil,
			`NODE     TYPE       ZONE        CAPACITY   PODS  $/H
ip-1     c7a.large  us-east-1a  spot       1     0.2500
ip-2     m7a.large  us-east-1b  on-demand  2     ?
2 nodes                                    3     0.2500
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := printSummary(&out, rows, tt.plans); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPriceOfNode(t *testing.T) {
	prices := map[string]float64{"i-1": 0.5}
	instance := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1a/i-1"}}
	labelled := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"eks-node-viewer/instance-price": "0.125"},
	}}
	if got := price(instance, prices); got != 0.5 {
		t.Errorf("price of an instance is %v", got)
	}
	if got := price(labelled, prices); got != 0.125 {
		t.Errorf("price by label is %v", got)
	}
	if got := price(&corev1.Node{}, prices); got != -1 {
		t.Errorf("price of a stranger is %v", got)
	}
}
