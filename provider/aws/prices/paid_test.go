package prices

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const priceBook = `
discounts:
- {name: reserved, match: {types: [m5.large]}, percent: 100, instances: 2}
- {name: plan, match: {families: [m5]}, percent: 50, vcpus: 10}
- {name: negotiated, percent: 10}
fees:
- {name: agent, usd: 0.01}
- {name: licence, match: {types: ["*.metal"], capacityTypes: [on-demand]}, usd: 1}
`

func TestRules(t *testing.T) {
	r, err := ParseRules(priceBook)
	if err != nil {
		t.Fatal(err)
	}
	used := func(nodes int, vcpus int64) Usage {
		m5 := Sold{"m5.large", "on-demand"}
		return Usage{Nodes: map[Sold]int{m5: nodes}, VCPUs: map[Sold]int64{m5: vcpus, {"c5.large", "on-demand"}: 100}}
	}
	for _, tt := range []struct {
		name, instanceType, capacityType string
		u                                Usage
		want                             float64
	}{
		{"paid for already", "m5.large", "on-demand", used(1, 2), 0.01},
		{"beyond what is reserved, in the plan", "m5.large", "on-demand", used(2, 4), 0.51},
		{"in the plan", "m5.xlarge", "on-demand", used(0, 9), 0.51},
		{"beyond the plan", "m5.large", "on-demand", used(5, 10), 0.91},
		{"of no commitment", "c5.large", "on-demand", used(0, 0), 0.91},
		{"discounts are not for spot", "m5.large", "spot", used(0, 0), 1.01},
		{"metal", "c5.metal", "on-demand", used(0, 0), 1.91},
		{"metal on spot", "c5.metal", "spot", used(0, 0), 1.01},
	} {
		if got := r.Price(tt.instanceType, tt.capacityType, 1, tt.u); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	_, err = ParseRules("discounts: [{percent: 120, instances: -1, match: {capacityTypes: [cheap]}}]\nfees: [{usd: -1}, {usd: 1e300}]")
	for _, want := range []string{"discounts[0].percent", "discounts[0].match.capacityTypes", "instances", "fees[0].usd", "fees[1].usd"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
	_, err = ParseRules("listPrices: {m8i: 1, 'm8i.*': 1, m8i.large: 0, m8i.xlarge: 1e300}")
	for _, want := range []string{`"m8i" is not`, `"m8i.*" is not`, "listPrices[m8i.large]", "listPrices[m8i.xlarge]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not contain %s", err, want)
		}
	}
	if _, err := ParseRules("discount: []"); err == nil {
		t.Error("a misspelt field is passed over")
	}
}

// The rules of the price book apply. If the book becomes invalid, the previous rules stay in use. If it is deleted,
// there are no rules.
func TestPaid(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: BookName}, Data: map[string]string{BookKey: priceBook}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()
	p := NewPaid(PaidConfig{List: book(t, "us-east-1", &lists{}, &history{}), Client: kube, Reader: kube, Namespace: "karpenter"})
	price := func(what, instanceType string, want float64) {
		t.Helper()
		if got, ok := p.OnDemand(instanceType); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %s costs %v, %v; want %v", what, instanceType, got, ok, want)
		}
	}
	refresh := func(changes bool) {
		t.Helper()
		before := p.Revision()
		if err := p.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		if (p.Revision() != before) != changes {
			t.Errorf("revision %d after %d", p.Revision(), before)
		}
	}
	price("at first", "m5.large", 0.096)
	if p.Current() {
		t.Error("prices are current before the book is read")
	}
	refresh(true)
	price("by the book", "m5.large", 0.01)
	price("by the book", "c5.large", 0.085*0.9+0.01)
	refresh(false)
	for n := range 2 {
		c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("c", n), Labels: map[string]string{corev1.LabelInstanceTypeStable: "m5.large", apiv1.CapacityTypeLabelKey: "on-demand"},
		}}
		c.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group}
		c.Status.ProviderID, c.Status.Capacity = "aws:///a/i-1", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		if err := kube.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	refresh(true)
	price("both reserved ones run", "m5.large", 0.096/2+0.01)

	stored.Data[BookKey] = "discounts: [{percent: 120}]"
	if err := kube.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	before := len(lines)
	refresh(false)
	refresh(false)
	price("with a spoilt book", "c5.large", 0.085*0.9+0.01)
	if len(lines) != before+1 {
		t.Errorf("told %v", lines[before:])
	}
	if !p.Current() {
		t.Error("the previous rules are not current")
	}
	if err := kube.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	refresh(true)
	price("without a book", "m5.large", 0.096)
}

// List prices of the price book replace those of AWS, and are used for discounts and commitments. They are also for types
// whose list price is not known.
func TestListPricesOfTheBook(t *testing.T) {
	rules, err := ParseRules(`
listPrices: {m8i.large: 0.2, m5.large: 0.1, x99.large: 1}
discounts: [{match: {families: [m8i]}, percent: 10}]
commitments: [{name: plan, usdPerHour: 5}]
`)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPaid(PaidConfig{List: isolated(t, "us-east-1")})
	p.state.Store(&paid{rules: rules})
	for name, want := range map[string]float64{"m8i.large": 0.18, "m5.large": 0.1, "x99.large": 1, "c5.large": 0.085, "x99.xlarge": 0} {
		wantPrice(t, name, want)(p.OnDemand(name))
	}
	for name, want := range map[string]int64{"x99.large": 1e6, "c5.large": 85_000} {
		if covers, _ := p.Covers(name, "a"); len(covers) != 1 || covers[0].Use != want {
			t.Errorf("%s uses %v of the plan, want %d", name, covers, want)
		}
	}
}

// After a restart there are no previous rules. While the price book is invalid then, prices are not current: consolidation would
// move pods off instances that are paid for. They are current once the book is valid, or deleted.
func TestPaidAfterRestart(t *testing.T) {
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, mend := range map[string]func(client.Client, *corev1.ConfigMap) error{
		"valid": func(kube client.Client, stored *corev1.ConfigMap) error {
			stored.Data[BookKey] = priceBook
			return kube.Update(t.Context(), stored)
		},
		"deleted": func(kube client.Client, stored *corev1.ConfigMap) error { return kube.Delete(t.Context(), stored) },
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
			stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: BookName}, Data: map[string]string{BookKey: "discount: []"}}
			kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()
			p := NewPaid(PaidConfig{List: book(t, "us-east-1", &lists{}, &history{}), Client: kube, Reader: kube, Namespace: "karpenter"})
			refresh := func(current bool) {
				t.Helper()
				if err := p.Refresh(ctx); err != nil {
					t.Fatal(err)
				}
				if p.Current() != current {
					t.Errorf("current is %v, want %v", p.Current(), current)
				}
			}
			refresh(false)
			refresh(false)
			if len(lines) != 1 || !strings.Contains(lines[0], "consolidation waits") {
				t.Errorf("logged %v", lines)
			}
			if err := mend(kube, stored); err != nil {
				t.Fatal(err)
			}
			refresh(true)
		})
	}
	if !NewPaid(PaidConfig{}).Current() {
		t.Error("without a namespace there is no price book, and prices are not current")
	}
}
