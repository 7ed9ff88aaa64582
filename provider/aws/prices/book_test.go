package prices

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// lists is a fake of the Pricing API with list prices by tenancy.
type lists struct {
	byTenancy map[string][]string
	err       error
}

func (l *lists) GetProducts(
	_ context.Context, in *pricing.GetProductsInput, _ ...func(*pricing.Options),
) (*pricing.GetProductsOutput, error) {
	asked := map[string]string{}
	for _, f := range in.Filters {
		asked[*f.Field] = *f.Value
	}
	return &pricing.GetProductsOutput{PriceList: l.byTenancy[asked["tenancy"]]}, l.err
}

// history is a fake of the spot price history that returns each record on its own page.
type history struct {
	records []ec2types.SpotPrice
	err     error
}

func (h *history) DescribeSpotPriceHistory(
	_ context.Context, in *ec2.DescribeSpotPriceHistoryInput, _ ...func(*ec2.Options),
) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	if h.err != nil || len(h.records) == 0 {
		return &ec2.DescribeSpotPriceHistoryOutput{}, h.err
	}
	at := 0
	if in.NextToken != nil {
		fmt.Sscan(*in.NextToken, &at)
	}
	out := &ec2.DescribeSpotPriceHistoryOutput{SpotPriceHistory: h.records[at : at+1]}
	if at+1 < len(h.records) {
		out.NextToken = aws.String(fmt.Sprint(at + 1))
	}
	return out, nil
}

func product(name, currency, price string) string {
	return fmt.Sprintf(`{"product":{"attributes":{"instanceType":%q}},
		"terms":{"OnDemand":{"sku.term":{"priceDimensions":{"code":{"pricePerUnit":{%q:%q}}}}}}}`, name, currency, price)
}

func spotPrice(name, zone, price string, minute int) ec2types.SpotPrice {
	return ec2types.SpotPrice{
		InstanceType: ec2types.InstanceType(name), AvailabilityZone: aws.String(zone), SpotPrice: aws.String(price),
		Timestamp: aws.Time(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)),
	}
}

func book(t *testing.T, region string, l *lists, h *history) *Book {
	t.Helper()
	table, err := shipped.Load()
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Products: l, History: h, Region: region, Shipped: table, Metrics: prometheus.NewRegistry()})
}

func wantPrice(t *testing.T, what string, want float64) func(float64, bool) {
	return func(got float64, ok bool) {
		t.Helper()
		if got != want || ok != (want != 0) {
			t.Errorf("%s is %v, %v; want %v", what, got, ok, want)
		}
	}
}

// Spot prices far from the list price are ignored: the price that was in use stays.
func TestImplausibleSpotPrices(t *testing.T) {
	h := &history{records: []ec2types.SpotPrice{
		spotPrice("m5.large", "a", "0.00001", 1), spotPrice("m5.large", "b", "0.03", 1), spotPrice("m5.large", "c", "5", 1),
		spotPrice("x99.large", "a", "0.00001", 1),
	}}
	b := book(t, "us-east-1", &lists{}, h)
	guess, _ := b.Spot("m5.large", "a")
	refresh := func(ignored float64) {
		t.Helper()
		if err := b.refreshSpot(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if n := testutil.ToFloat64(b.ignored); n != ignored {
			t.Errorf("%v prices ignored, want %v", n, ignored)
		}
	}
	refresh(2)
	wantPrice(t, "far below", guess)(b.Spot("m5.large", "a"))
	wantPrice(t, "plausible", 0.03)(b.Spot("m5.large", "b"))
	wantPrice(t, "far above", guess)(b.Spot("m5.large", "c"))
	wantPrice(t, "a type without list price", 0.00001)(b.Spot("x99.large", "a"))
	h.records = []ec2types.SpotPrice{spotPrice("m5.large", "b", "0.00001", 2)}
	refresh(1)
	wantPrice(t, "far below the last", 0.03)(b.Spot("m5.large", "b"))
	h.records = []ec2types.SpotPrice{spotPrice("m5.large", "b", "0.04", 3)}
	refresh(0)
	wantPrice(t, "plausible again", 0.04)(b.Spot("m5.large", "b"))
}

func TestFallback(t *testing.T) {
	b := book(t, "us-east-1", &lists{}, &history{})
	wantPrice(t, "m5.large on demand", 0.096)(b.OnDemand("m5.large"))
	wantPrice(t, "an unknown type", 0)(b.OnDemand("x99.large"))
	wantPrice(t, "an unknown type on spot", 0)(b.Spot("x99.large", "us-east-1a"))
	spot, ok := b.Spot("m5.large", "us-east-1a")
	if !ok || spot <= 0 || spot > 0.096 {
		t.Errorf("m5.large on spot is guessed at %v", spot)
	}
	other := book(t, "mars-north-1", &lists{}, &history{})
	wantPrice(t, "m5.large in an unknown region", 0.096)(other.OnDemand("m5.large"))
}

// In China, EC2 returns spot prices in yuan. Until list prices in yuan are read, the shipped prices are converted.
func TestPricesOfChina(t *testing.T) {
	l := &lists{err: errors.New("down")}
	h := &history{records: []ec2types.SpotPrice{spotPrice("m5.large", "a", "0.3", 1)}}
	b := book(t, "cn-north-1", l, h)
	dollars := book(t, "us-east-1", l, h)
	guess, _ := dollars.Spot("m5.large", "a")
	wantPrice(t, "m5.large on spot, at first", guess*yuanPerDollar)(b.Spot("m5.large", "a"))
	b.Estimate(t.Context(), map[string]int64{"m8i.large": 2})
	m7i, _ := dollars.OnDemand("m7i.large")
	wantPrice(t, "m8i.large on demand, estimated", m7i*yuanPerDollar)(b.OnDemand("m8i.large"))
	if err := b.Refresh(t.Context(), time.Unix(0, 0)); err == nil {
		t.Error("no error")
	}
	list, _ := b.OnDemand("m5.large")
	spot, _ := b.Spot("m5.large", "a")
	if spot != 0.3 || spot >= list {
		t.Errorf("spot costs %v, on-demand %v", spot, list)
	}
	l.err, l.byTenancy = nil, map[string][]string{
		"Shared": {product("m5.large", "CNY", "0.9")}, "Dedicated": {product("m5.metal", "CNY", "40")},
	}
	if err := b.Refresh(t.Context(), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	wantPrice(t, "m5.large of the price list", 0.9)(b.OnDemand("m5.large"))
}

// Prices are current when spot prices were read, or when attempts have failed for ten minutes.
func TestCurrent(t *testing.T) {
	denied, start := errors.New("denied"), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		listErr error
		spotErr error
		calls   []time.Duration // when Refresh is called
		want    []bool          // whether prices are current then
	}{
		{"both come", nil, nil, []time.Duration{0, time.Minute, 10 * time.Minute}, []bool{true, true, true}},
		{"list prices are denied", denied, nil, []time.Duration{0, time.Minute, 10 * time.Minute}, []bool{true, true, true}},
		{"spot prices are denied", nil, denied, []time.Duration{0, 7 * time.Minute, 15 * time.Minute}, []bool{false, false, true}},
		{"both are denied", denied, denied, []time.Duration{0, 9 * time.Minute, 10 * time.Minute}, []bool{false, false, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tenancies := map[string][]string{"Shared": {product("m5.large", "USD", "0.2")}, "Dedicated": {product("m5.metal", "USD", "5")}}
			spot := []ec2types.SpotPrice{spotPrice("m5.large", "a", "0.03", 1)}
			b := book(t, "us-east-1", &lists{byTenancy: tenancies, err: tt.listErr}, &history{records: spot, err: tt.spotErr})
			if b.Current(start) {
				t.Error("the shipped prices are current")
			}
			for i, after := range tt.calls {
				err := b.Refresh(t.Context(), start.Add(after))
				if (err == nil) != (tt.listErr == nil && tt.spotErr == nil) {
					t.Errorf("after %s: error %v", after, err)
				}
				if got := b.Current(start.Add(after)); got != tt.want[i] {
					t.Errorf("after %s: current is %v, want %v", after, got, tt.want[i])
				}
			}
		})
	}
}

// While spot prices cannot be read, prices count as current after ten minutes, although attempts are further apart by then.
func TestCurrentBetweenAttempts(t *testing.T) {
	b := book(t, "us-east-1", &lists{err: errors.New("denied")}, &history{err: errors.New("denied")})
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakePassiveClock(start)
	task := b.Task(clock)
	for next := start; next.Before(start.Add(10 * time.Minute)); {
		clock.SetTime(next)
		pause, err := task.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next = next.Add(pause)
	}
	for after, want := range map[time.Duration]bool{10*time.Minute - time.Second: false, 10 * time.Minute: true} {
		if got := b.Current(start.Add(after)); got != want {
			t.Errorf("after %s: current is %v, want %v", after, got, want)
		}
	}
}

func TestRefresh(t *testing.T) {
	l := &lists{byTenancy: map[string][]string{
		"Shared":    {product("m5.large", "USD", "0.2"), product("m99.large", "USD", "1.5"), product("c5.large", "USD", "0"), "no JSON"},
		"Dedicated": {product("m5.metal", "USD", "5")},
	}}
	h := &history{records: []ec2types.SpotPrice{
		spotPrice("m5.large", "a", "0.03", 1), spotPrice("m5.large", "a", "0.04", 2), spotPrice("m5.large", "b", "x", 1),
		{InstanceType: "m5.large", AvailabilityZone: aws.String("c"), SpotPrice: aws.String("1")}, // no time
	}}
	b := book(t, "us-east-1", l, h)
	before := b.Revision()
	if err := b.Refresh(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	wantPrice(t, "m5.large", 0.2)(b.OnDemand("m5.large"))
	wantPrice(t, "a new type", 1.5)(b.OnDemand("m99.large"))
	wantPrice(t, "a free one keeps its price", 0.085)(b.OnDemand("c5.large"))
	wantPrice(t, "metal", 5)(b.OnDemand("m5.metal"))
	wantPrice(t, "spot in a, the newest", 0.04)(b.Spot("m5.large", "a"))
	wantPrice(t, "spot in b, not to be read", 0)(b.Spot("m5.large", "b"))
	wantPrice(t, "spot in c, without time", 0)(b.Spot("m5.large", "c"))
	after := b.Revision()
	if after == before {
		t.Error("new prices, same revision")
	}
	if err := b.Refresh(t.Context(), time.Now()); err != nil || b.Revision() != after {
		t.Errorf("same prices, another revision; %v", err)
	}
}

func TestOneFailingPartDoesNotStopTheOther(t *testing.T) {
	l := &lists{err: errors.New("html")}
	h := &history{records: []ec2types.SpotPrice{spotPrice("m5.large", "a", "0.03", 1)}}
	b := book(t, "us-east-1", l, h)
	if err := b.Refresh(t.Context(), time.Now()); err == nil {
		t.Error("a failed part is not told")
	}
	wantPrice(t, "m5.large on demand", 0.096)(b.OnDemand("m5.large"))
	wantPrice(t, "m5.large on spot", 0.03)(b.Spot("m5.large", "a"))

	l.err, l.byTenancy, h.records = nil, map[string][]string{"Shared": {product("m5.large", "USD", "0.2")}}, nil
	if err := b.Refresh(t.Context(), time.Now()); err == nil {
		t.Error("half a list and no history are not told")
	}
	wantPrice(t, "m5.large after half a list", 0.096)(b.OnDemand("m5.large"))
	wantPrice(t, "m5.large on spot, kept", 0.03)(b.Spot("m5.large", "a"))
}

func TestTaskComplainsOnce(t *testing.T) {
	h := &history{err: errors.New("down")}
	b := book(t, "us-gov-west-1", &lists{err: errors.New("not asked in GovCloud")}, h)
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	ctx := log.IntoContext(t.Context(), logger)
	task := b.Task(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	var pauses []time.Duration
	for range 8 {
		next, err := task.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		pauses = append(pauses, next)
	}
	if len(lines) != 1 || pauses[0] != time.Minute || pauses[1] != 2*time.Minute || pauses[7] != time.Hour {
		t.Errorf("complained %d times, pauses are %v", len(lines), pauses)
	}
	h.err, h.records = nil, []ec2types.SpotPrice{spotPrice("m5.large", "a", "0.03", 1)}
	if next, err := task.Run(ctx); next != spotEvery || err != nil || len(lines) != 2 {
		t.Errorf("after success: next in %v, %v, %d lines", next, err, len(lines))
	}
}

// A spot price that EC2 has not returned for a day is removed, list prices are not.
func TestSpotPriceIsRemoved(t *testing.T) {
	h := &history{records: []ec2types.SpotPrice{spotPrice("m5.large", "a", "0.03", 1), spotPrice("m5.large", "b", "0.04", 1)}}
	b := book(t, "us-east-1", &lists{byTenancy: map[string][]string{
		"Shared": {product("m5.large", "USD", "0.2")}, "Dedicated": {product("m5.metal", "USD", "5")},
	}}, h)
	start := time.Unix(0, 0)
	refresh := func(after time.Duration) {
		t.Helper()
		if err := b.Refresh(t.Context(), start.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	refresh(0)
	h.records = []ec2types.SpotPrice{spotPrice("m5.large", "a", "0.02", 2)}
	refresh(time.Hour)
	if got := b.SpotSince("m5.large", "b"); !got.Equal(*spotPrice("", "", "", 1).Timestamp) {
		t.Errorf("the kept price is in force since %v", got)
	}
	refresh(spotLife - time.Second)
	wantPrice(t, "b within a day", 0.04)(b.Spot("m5.large", "b"))
	before := b.Revision()
	refresh(spotLife)
	wantPrice(t, "b after a day", 0)(b.Spot("m5.large", "b"))
	wantPrice(t, "a", 0.02)(b.Spot("m5.large", "a"))
	wantPrice(t, "a list price that was not returned", 0.085)(b.OnDemand("c5.large"))
	if b.Revision() == before {
		t.Error("a price less, same revision")
	}
}

// Spot prices are read every hour, list prices every twelve hours.
func TestTaskIntervals(t *testing.T) {
	l := &lists{byTenancy: map[string][]string{
		"Shared": {product("m5.large", "USD", "0.2")}, "Dedicated": {product("m5.metal", "USD", "5")},
	}}
	h := &history{records: []ec2types.SpotPrice{spotPrice("m5.large", "a", "0.03", 1)}}
	b := book(t, "us-east-1", l, h)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	task := b.Task(clock)
	for hour := range 13 {
		clock.SetTime(time.Unix(0, 0).Add(time.Duration(hour) * time.Hour))
		l.byTenancy["Shared"] = []string{product("m5.large", "USD", fmt.Sprint(1+hour))}
		spot := float64(50+hour) / 100
		h.records = []ec2types.SpotPrice{spotPrice("m5.large", "a", fmt.Sprint(spot), 1)}
		if next, err := task.Run(t.Context()); next != time.Hour || err != nil {
			t.Fatalf("hour %d: next in %v, %v", hour, next, err)
		}
		listed := 1.0
		if hour >= 12 {
			listed = 13
		}
		wantPrice(t, fmt.Sprintf("list price in hour %d", hour), listed)(b.OnDemand("m5.large"))
		wantPrice(t, fmt.Sprintf("spot price in hour %d", hour), spot)(b.Spot("m5.large", "a"))
	}
}

func TestEndpoint(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "us-east-1", "ap-northeast-1": "ap-south-1", "cn-north-1": "cn-northwest-1", "eu-west-1": "eu-central-1",
	} {
		if got := Endpoint(region); got != want {
			t.Errorf("%s is served by %s, want %s", region, got, want)
		}
	}
}
