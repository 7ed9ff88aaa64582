package ledger_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	emulated "github.com/karpenter-go/karpenter/internal/awsemu/catalog"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/prices"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// market answers requests for prices with the prices of an emulated account, as EC2 does.
type market struct{ *world.World }

func (m market) GetProducts(context.Context, *pricing.GetProductsInput, ...func(*pricing.Options)) (*pricing.GetProductsOutput, error) {
	out := &pricing.GetProductsOutput{}
	for name, usd := range m.OnDemandPrices("us-east-1") {
		out.PriceList = append(out.PriceList, fmt.Sprintf(`{"product":{"attributes":{"instanceType":%q}},
			"terms":{"OnDemand":{"t":{"priceDimensions":{"d":{"pricePerUnit":{"USD":"%v"}}}}}}}`, name, usd))
	}
	return out, nil
}

func (m market) DescribeSpotPriceHistory(
	_ context.Context, in *ec2.DescribeSpotPriceHistoryInput, _ ...func(*ec2.Options),
) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	out := &ec2.DescribeSpotPriceHistoryOutput{}
	for _, p := range m.SpotHistory(*in.StartTime, time.Time{}) {
		out.SpotPriceHistory = append(out.SpotPriceHistory, ec2types.SpotPrice{
			InstanceType: ec2types.InstanceType(p.Type), AvailabilityZone: aws.String(p.Zone),
			SpotPrice: aws.String(fmt.Sprint(p.USD)), Timestamp: aws.Time(p.At),
		})
	}
	return out, nil
}

// account is an emulated account with the NodeClaims of its instances. The test moves its clock.
type account struct {
	t       *testing.T
	world   *world.World
	clock   *testclock.FakeClock
	book    *prices.Book
	base    []*model.InstanceType
	claims  []*apiv1.NodeClaim // in order of launch
	nodes   map[string]*corev1.Node
	pods    map[string][]*corev1.Pod // by node
	ends    map[string]time.Time     // time at which the instance is terminated, by claim
	reacted map[string]time.Time     // time at which the controller detects the termination
	dice    *rand.Rand
	n       int
}

var start = time.Date(2026, 11, 21, 12, 7, 13, 0, time.UTC)

func newAccount(t *testing.T) *account {
	t.Helper()
	table, err := emulated.Load()
	if err != nil {
		t.Fatal(err)
	}
	clock := testclock.NewFakeClock(start)
	w, err := world.New(world.Config{
		Clock: clock, Seed: 11, Region: "us-east-1", Account: "123456789012", Cluster: "demo", Catalog: table,
		PendingFor: 10 * time.Second, ShuttingFor: 20 * time.Second, TerminatedFor: time.Minute,
		Sells: []string{"m5.large", "m5.xlarge", "c5.2xlarge"},
	})
	if err != nil {
		t.Fatal(err)
	}
	known, err := shipped.Load()
	if err != nil {
		t.Fatal(err)
	}
	a := &account{
		t: t, world: w, clock: clock, nodes: map[string]*corev1.Node{}, pods: map[string][]*corev1.Pod{},
		ends: map[string]time.Time{}, reacted: map[string]time.Time{}, dice: rand.New(rand.NewPCG(3, 4)),
	}
	a.book = prices.New(prices.Config{Products: market{w}, History: market{w}, Region: "us-east-1", Shipped: known, Metrics: prometheus.NewRegistry()})
	for _, it := range [][2]string{{"c5.2xlarge", "8"}, {"m5.large", "2"}, {"m5.xlarge", "4"}} {
		name, cpu := it[0], it[1]
		size := model.CapacityOf(corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("50")})
		it := &model.InstanceType{Name: name, Capacity: size, Allocatable: size, Requirements: require.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: name})}
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			for _, capacity := range []string{"spot", "on-demand"} {
				it.Offerings = append(it.Offerings, model.Offering{Zone: zone, CapacityType: capacity})
			}
		}
		a.base = append(a.base, it)
	}
	a.refresh()
	return a
}

// refresh updates the prices, as the controller does once an hour.
func (a *account) refresh() {
	a.t.Helper()
	if err := a.book.Refresh(a.t.Context(), a.clock.Now()); err != nil {
		a.t.Fatal(err)
	}
}

// launch launches an instance with its claim. The instance is terminated after life. Its node joins later.
func (a *account) launch(life time.Duration) {
	a.t.Helper()
	it := a.base[a.dice.IntN(len(a.base))]
	zone, spot := []string{"us-east-1a", "us-east-1b"}[a.dice.IntN(2)], a.dice.IntN(3) > 0
	made, failure := a.world.RunInstances(world.Run{
		Min: 1, Max: 1, Spot: spot, Zone: zone, Data: world.TemplateData{InstanceType: it.Name, ImageID: a.image()},
	})
	if failure != nil {
		a.t.Fatal(failure)
	}
	a.n++
	capacity := map[bool]string{true: "spot", false: "on-demand"}[spot]
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("n%d", a.n), UID: types.UID(made[0].ID), CreationTimestamp: metav1.NewTime(a.clock.Now().Truncate(time.Second)),
		Labels: map[string]string{
			apiv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: it.Name, corev1.LabelTopologyZone: zone,
			apiv1.CapacityTypeLabelKey: capacity,
		},
	}}
	c.Status.ProviderID = "aws:///" + zone + "/" + made[0].ID
	c.Status.Capacity, c.Status.Allocatable = it.Capacity.List(), it.Allocatable.List()
	a.set(c, apiv1.ConditionTypeLaunched)
	a.claims = append(a.claims, c)
	a.ends[c.Name] = a.clock.Now().Add(life)
}

func (a *account) image() string {
	for _, i := range a.world.Images() {
		if i.Arch == "x86_64" {
			return i.ID
		}
	}
	a.t.Fatal("no image")
	return ""
}

// set sets a condition. Its time is that of the controller, which is a second late and in whole seconds.
func (a *account) set(c *apiv1.NodeClaim, condition string) {
	at := metav1.NewTime(a.clock.Now().Add(time.Second).Truncate(time.Second))
	c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, LastTransitionTime: at})
}

// step updates the account and its claims to the current time: nodes join after 40 seconds, and instances end.
func (a *account) step() {
	a.t.Helper()
	now := a.clock.Now()
	var left []*apiv1.NodeClaim
	for i, c := range a.claims {
		switch gone := a.reacted[c.Name]; {
		case !gone.IsZero() && !now.Before(gone):
			delete(a.nodes, c.Name)
			delete(a.pods, c.Name)
			continue
		case gone.IsZero() && !now.Before(a.ends[c.Name]):
			if _, failure := a.world.Terminate([]string{string(c.UID)}); failure != nil {
				a.t.Fatal(failure)
			}
			a.claims[i] = c.DeepCopy()
			c = a.claims[i]
			a.set(c, apiv1.ConditionTypeInstanceTerminating)
			a.reacted[c.Name] = now.Add(25 * time.Second)
		case a.nodes[c.Name] == nil && now.Sub(c.CreationTimestamp.Time) > 40*time.Second:
			a.join(c)
		}
		left = append(left, c)
	}
	a.claims = left
}

func (a *account) join(c *apiv1.NodeClaim) {
	labels := map[string]string{apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true"}
	for k, v := range c.Labels {
		labels[k] = v
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: labels}}
	n.Spec.ProviderID, n.Status.Capacity, n.Status.Allocatable = c.Status.ProviderID, c.Status.Capacity, c.Status.Allocatable
	a.nodes[c.Name] = n
	for i := range a.dice.IntN(4) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", c.Name, i), Namespace: []string{"shop", "batch"}[i%2]}}
		p.Spec.NodeName = n.Name
		p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			"cpu": resource.MustParse("400m"), "memory": resource.MustParse("1Gi"),
		}}}}
		a.pods[c.Name] = append(a.pods[c.Name], p)
	}
}

func (a *account) snapshot() *model.Snapshot {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	always := func(*model.InstanceType, *model.Offering) bool { return true }
	d := model.Delta{
		Pools: []*apiv1.NodePool{pool}, Claims: a.claims,
		Types: map[string][]*model.InstanceType{"default": catalog.Price(a.base, a.book, always)},
	}
	for _, c := range a.claims {
		if n := a.nodes[c.Name]; n != nil {
			d.Nodes = append(d.Nodes, n)
			d.Pods = append(d.Pods, a.pods[c.Name]...)
		}
	}
	return model.Compile(d).At(a.clock.Now())
}

// The sum of the ledger agrees with the bill of the account over a day. During the day spot prices change, some of them by a large
// factor, and become known up to an hour later. Some instances live for minutes only, and the controller is restarted.
func TestLedgerAgreesWithTheBill(t *testing.T) {
	a := newAccount(t)
	reg := prometheus.NewRegistry()
	l := ledger.New(telemetry.NewMetrics(reg, nil).Cost, "")
	l.Begin()
	l.Observe(a.snapshot(), ledger.Decision{})
	for range 20 {
		a.launch(time.Duration(20+a.dice.IntN(200)) * time.Hour / 10)
	}
	end := start.Add(24 * time.Hour)
	hour, short := start, 0
	for a.clock.Now().Before(end) {
		a.clock.Step(time.Duration(5+a.dice.IntN(20)) * time.Second)
		now := a.clock.Now()
		if a.dice.IntN(17) == 0 {
			a.launch(time.Duration(70+a.dice.IntN(600)) * time.Second)
			short++
		}
		if a.dice.IntN(150) == 0 {
			a.launch(time.Duration(1+a.dice.IntN(8)) * time.Hour)
		}
		if a.dice.IntN(1500) == 0 {
			a.world.SetPrice(world.Pool{Type: "m5.*", Zone: "us-east-1?", Capacity: "spot"}, 0.02+0.1*a.dice.Float64())
		}
		if now.Sub(hour) >= time.Hour {
			hour = now
			a.refresh()
		}
		a.step()
		if a.dice.IntN(1000) == 0 {
			l = restarted(t, l)
			a.clock.Step(40 * time.Second)
			a.step()
		}
		l.Observe(a.snapshot(), ledger.Decision{})
	}
	// Changes of prices in the last hour are not known yet, so the prices are refreshed before the comparison.
	a.refresh()
	a.clock.Step(time.Second)
	a.step()
	l.Observe(a.snapshot(), ledger.Decision{})
	bill, count := 0.0, 0
	for _, c := range a.world.Bill(time.Time{}) {
		bill += c.USD
		count++
	}
	got := 0.0
	r := l.Save().Report(ledger.Query{})
	got = r.Dollars
	if difference := math.Abs(got/bill - 1); difference > 0.001 || count < 200 {
		t.Errorf("ledger %.6f, bill %.6f of %d instances (%d short): difference %.4f%%", got, bill, count, short, 100*difference)
	} else {
		t.Logf("ledger %.6f, bill %.6f of %d instances (%d short): difference %.4f%%", got, bill, count, short, 100*difference)
	}
	sum := r.Overhead.Dollars
	for _, x := range r.Rows {
		sum += x.Dollars
	}
	for _, x := range r.Idle {
		sum += x.Dollars
	}
	if math.Abs(sum-r.Dollars) > 1e-9 {
		t.Errorf("parts add up to %v, total %v", sum, r.Dollars)
	}
}

// restarted returns a new ledger that was restored from the stored data of l.
func restarted(t *testing.T, l *ledger.Ledger) *ledger.Ledger {
	t.Helper()
	text, err := l.Save().Encode()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := ledger.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	next := ledger.New(nil, "")
	next.Restore(saved)
	next.Begin()
	return next
}
