package prices

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// In an isolated VPC, the price of a type that the shipped catalogue does not have follows from the most similar family.
func TestEstimate(t *testing.T) {
	for _, tt := range []struct {
		region, instanceType string
		vcpus                int64
		like                 string
		likeIn               string // default the region
		share                float64
	}{
		{"us-east-1", "m8i.large", 2, "m7i.large", "", 1},
		{"us-east-1", "m8i.metal-96xl", 384, "m7i.48xlarge", "", 2},
		{"us-east-1", "c8gn.4xlarge", 16, "c7gn.4xlarge", "", 1},
		{"us-east-1", "m8i-flex.xlarge", 4, "m7i-flex.xlarge", "", 1},
		{"us-east-1", "r8i-flex.large", 2, "r7i.large", "", 1},
		{"us-east-1", "r9g.large", 2, "r8g.large", "", 1},
		{"us-east-1", "p6-b200.48xlarge", 192, "p5.48xlarge", "", 1},
		{"us-east-1", "p5.4xlarge", 16, "p5.48xlarge", "", 16.0 / 192},
		{"us-east-1", "g7e.2xlarge", 8, "g6e.2xlarge", "", 1},
		{"us-gov-west-1", "m8g.large", 2, "m6g.large", "", 1},
		{"us-gov-east-1", "g6.xlarge", 4, "g4dn.xlarge", "", 1},
		{"us-gov-east-1", "trn1.2xlarge", 8, "trn1.2xlarge", "us-east-1", 1}, // the region has no family of the category
		{"us-east-1", "zz9.large", 2, "", "", 0},
		{"us-east-1", "9.large", 2, "", "", 0},
		{"us-east-1", "m8i.large", 0, "", "", 0},
	} {
		t.Run(tt.region+" "+tt.instanceType, func(t *testing.T) {
			b := isolated(t, tt.region)
			wantPrice(t, "before EC2 has returned the type, it", 0)(b.OnDemand(tt.instanceType))
			before := b.Revision()
			b.Estimate(t.Context(), map[string]int64{tt.instanceType: tt.vcpus, "m5.large": 2})
			want := 0.0
			if tt.like != "" {
				like, ok := isolated(t, cmp.Or(tt.likeIn, tt.region)).OnDemand(tt.like)
				if !ok {
					t.Fatalf("%s has no price", tt.like)
				}
				want = like * tt.share
			}
			got, ok := b.OnDemand(tt.instanceType)
			if math.Abs(got-want) > 1e-9 || ok != (want > 0) {
				t.Errorf("the list price is %v, %v; want %v", got, ok, want)
			}
			estimated := 0.0
			if want > 0 {
				estimated = 1
			}
			if n := testutil.ToFloat64(b.estimated); n != estimated {
				t.Errorf("%v prices are estimated, want %v", n, estimated)
			}
			if (b.Revision() != before) != (want > 0) {
				t.Errorf("revision %d after %d", b.Revision(), before)
			}
		})
	}
}

func isolated(t *testing.T, region string) *Book {
	t.Helper()
	table, err := shipped.Load()
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Products: &lists{err: errors.New("not asked")}, History: &history{}, Region: region, Isolated: true, Shipped: table,
		Metrics: prometheus.NewRegistry(),
	})
}

// Estimates count until list prices are read. Then they are gone, and later ones are not made.
func TestEstimateEnds(t *testing.T) {
	l := &lists{err: errors.New("denied")}
	h := &history{records: []ec2types.SpotPrice{spotPrice("m8i.large", "a", "0.001", 1)}}
	b := book(t, "us-east-1", l, h)
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	offered := map[string]int64{"m8i.large": 2, "m8i.xlarge": 4, "c8i.large": 2, "m5.large": 2}
	b.Estimate(ctx, offered)
	wantPrice(t, "m8i.large at first", 0.1008)(b.OnDemand("m8i.large"))
	wantPrice(t, "m8i.large on spot, before EC2 answers", 0.1008)(b.Spot("m8i.large", "a"))
	if len(lines) != 0 {
		t.Errorf("logged before the first refresh: %v", lines)
	}
	for range 2 {
		if err := b.Refresh(ctx, time.Unix(0, 0)); err == nil {
			t.Error("no error")
		}
		b.Estimate(ctx, offered)
	}
	wantPrice(t, "m8i.large while the Pricing API fails", 0.1008)(b.OnDemand("m8i.large"))
	wantPrice(t, "a spot price far from the estimate", 0.001)(b.Spot("m8i.large", "a"))
	if len(lines) != 1 || !strings.Contains(lines[0], `"count"=3`) || !strings.Contains(lines[0], `"families"="c8i,m8i"`) {
		t.Errorf("logged %v", lines)
	}
	before := b.Revision()
	l.err, l.byTenancy = nil, map[string][]string{
		"Shared": {product("m8i.large", "USD", "0.10584")}, "Dedicated": {product("m5.metal", "USD", "4.608")},
	}
	if err := b.Refresh(ctx, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	b.Estimate(ctx, offered)
	wantPrice(t, "m8i.large of the price list", 0.10584)(b.OnDemand("m8i.large"))
	wantPrice(t, "m8i.xlarge, which the price list lacks", 0)(b.OnDemand("m8i.xlarge"))
	if n := testutil.ToFloat64(b.estimated); n != 0 || b.Revision() == before {
		t.Errorf("%v prices are estimated, revision %d after %d", n, b.Revision(), before)
	}
}

// In GovCloud and in an isolated VPC the estimates are logged when they are made, once.
func TestEstimateIsLoggedOnce(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	for _, b := range []*Book{isolated(t, "us-east-1"), book(t, "us-gov-west-1", &lists{}, &history{})} {
		lines = nil
		b.Estimate(ctx, map[string]int64{"m5.large": 2})
		if len(lines) != 0 {
			t.Errorf("logged %v without estimates", lines)
		}
		for range 2 {
			b.Estimate(ctx, map[string]int64{"m8i.large": 2})
		}
		if len(lines) != 1 {
			t.Errorf("logged %v", lines)
		}
	}
}
