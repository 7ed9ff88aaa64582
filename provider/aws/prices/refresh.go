package prices

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/internal/parallel"
)

// Products is the part of the Pricing API that returns list prices.
type Products interface {
	GetProducts(context.Context, *pricing.GetProductsInput, ...func(*pricing.Options)) (*pricing.GetProductsOutput, error)
}

// History is the part of EC2 that returns spot prices.
type History interface {
	DescribeSpotPriceHistory(context.Context, *ec2.DescribeSpotPriceHistoryInput, ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error)
}

var (
	_ Products = (*pricing.Client)(nil)
	_ History  = (*ec2.Client)(nil)
)

// Refresh reads list prices and the spot prices at now, concurrently. If one of them fails, the other is still updated.
// The error joins the failures. The earlier prices of the failed part stay in use.
func (b *Book) Refresh(ctx context.Context, now time.Time) error {
	b.begun.CompareAndSwap(0, now.Unix())
	errs := parallel.All(ctx, func() error { return b.refreshOnDemand(ctx) }, func() error { return b.refreshSpot(ctx, now) })
	listErr, spotErr := errs[0], errs[1]
	if listErr != nil {
		b.reportEstimates(ctx)
	}
	if spotErr == nil {
		b.current.Store(true)
	}
	return errors.Join(listErr, spotErr)
}

// patience is the time without spot prices after which the shipped prices count as current. A missing permission must
// not prevent consolidation forever.
const patience = 10 * time.Minute

// Current reports whether spot prices were refreshed since the start, or could not be refreshed for ten minutes (patience)
// before now. List prices need not be refreshed, because they rarely change.
func (b *Book) Current(now time.Time) bool {
	begun := b.begun.Load()
	return b.current.Load() || begun != 0 && now.Sub(time.Unix(begun, 0)) >= patience
}

// Listed reports whether list prices can be read for this region. They cannot in an isolated
// VPC, and in GovCloud, which has no Pricing API.
func (b *Book) Listed() bool { return !b.isolated && Served(b.region) }

// Served reports whether a Pricing API serves the region.
func Served(region string) bool { return !strings.HasPrefix(region, "us-gov") }

func (b *Book) refreshOnDemand(ctx context.Context) error {
	if !b.Listed() {
		return nil
	}
	var shared, metal map[string]float64
	errs := parallel.All(ctx,
		func() (err error) { shared, err = b.list(ctx, "Shared", "Compute Instance"); return err },
		func() (err error) { metal, err = b.list(ctx, "Dedicated", "Compute Instance (bare metal)"); return err })
	if err := cmp.Or(errs...); err != nil {
		return fmt.Errorf("list on-demand prices: %w", err)
	}
	if len(shared) == 0 || len(metal) == 0 {
		return fmt.Errorf("list on-demand prices: got %d for shared and %d for bare metal", len(shared), len(metal))
	}
	maps.Copy(shared, metal)
	b.learnListed(shared)
	return nil
}

func (b *Book) list(ctx context.Context, tenancy, family string) (map[string]float64, error) {
	match := func(field, value string) pricingtypes.Filter {
		return pricingtypes.Filter{
			Field: aws.String(field), Type: pricingtypes.FilterTypeTermMatch, Value: aws.String(value),
		}
	}
	pages := pricing.NewGetProductsPaginator(b.products, &pricing.GetProductsInput{
		ServiceCode: aws.String("AmazonEC2"),
		MaxResults:  aws.Int32(100),
		Filters: []pricingtypes.Filter{
			match("regionCode", b.region), match("serviceCode", "AmazonEC2"), match("preInstalledSw", "NA"),
			match("operatingSystem", "Linux"), match("capacitystatus", "Used"), match("marketoption", "OnDemand"),
			match("tenancy", tenancy), match("productFamily", family),
		},
	})
	currency := "USD"
	if inChina(b.region) {
		currency = "CNY"
	}
	out := map[string]float64{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, text := range page.PriceList {
			if name, price, ok := parseProduct(text, currency); ok {
				out[name] = price
			}
		}
	}
	return out, nil
}

// parseProduct parses one item of a price list. ok is false for items that cannot be parsed or are free.
func parseProduct(text, currency string) (name string, price float64, ok bool) {
	var item struct {
		Product struct {
			Attributes struct {
				InstanceType string `json:"instanceType"`
			} `json:"attributes"`
		} `json:"product"`
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					PricePerUnit map[string]string `json:"pricePerUnit"`
				} `json:"priceDimensions"`
			} `json:"OnDemand"`
		} `json:"terms"`
	}
	if json.Unmarshal([]byte(text), &item) != nil || item.Product.Attributes.InstanceType == "" {
		return "", 0, false
	}
	for _, term := range item.Terms.OnDemand {
		for _, d := range term.PriceDimensions {
			if p, err := strconv.ParseFloat(d.PricePerUnit[currency], 64); err == nil && p > 0 {
				return item.Product.Attributes.InstanceType, p, true
			}
		}
	}
	return "", 0, false
}

func (b *Book) refreshSpot(ctx context.Context, now time.Time) error {
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(b.history, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
		StartTime:           aws.Time(now),
		MaxResults:          aws.Int32(2000),
	})
	spot, newest := map[place]float64{}, map[place]time.Time{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("describe spot prices: %w", err)
		}
		for _, h := range page.SpotPriceHistory {
			price, err := strconv.ParseFloat(aws.ToString(h.SpotPrice), 64)
			if err != nil || price <= 0 || h.Timestamp == nil {
				continue
			}
			at := place{string(h.InstanceType), aws.ToString(h.AvailabilityZone)}
			if h.Timestamp.Before(newest[at]) {
				continue
			}
			spot[at], newest[at] = price, *h.Timestamp
		}
	}
	if len(spot) == 0 {
		return errors.New("describe spot prices: EC2 returned none")
	}
	b.learnSpot(b.believable(ctx, spot), newest, now)
	return nil
}

// A spot price is plausible between these multiples of the list price. EC2 grants discounts of up to 90%.
const (
	leastOfList = 0.02
	mostOfList  = 10
)

// believable returns a copy of spot in which each implausible price is replaced by the result of
// before. If there is none, the entry is left out. If the list price of a type is not known or an
// estimate, all its spot prices are plausible.
func (b *Book) believable(ctx context.Context, spot map[place]float64) map[place]float64 {
	out, bad, example := map[place]float64{}, 0, ""
	lists := b.table.Load().onDemand
	for at, price := range spot {
		list, known := lists[at.instanceType]
		if !known || price >= leastOfList*list && price <= mostOfList*list {
			out[at] = price
			continue
		}
		bad++
		example = max(example, fmt.Sprintf("%s in %s for $%g, on demand $%g", at.instanceType, at.zone, price, list))
		if old, ok := b.before(at); ok {
			out[at] = old
		}
	}
	b.ignored.Set(float64(bad))
	if bad > 0 {
		log.FromContext(ctx).Info("ignored implausible spot prices", "count", bad, "example", example)
	}
	return out
}

// before returns the price that replaces an implausible one of a type and zone: the last plausible
// one, the shipped average, or the list price.
func (b *Book) before(at place) (float64, bool) {
	t := b.table.Load()
	if p, ok := t.spot[at]; ok {
		return p, true
	}
	if p, ok := t.guess[at.instanceType]; ok {
		return p, true
	}
	return b.OnDemand(at.instanceType)
}

// Endpoint returns the region whose Pricing API serves the given one.
func Endpoint(region string) string {
	for _, r := range []struct{ prefix, serves string }{
		{"ap-", "ap-south-1"}, {"cn-", "cn-northwest-1"}, {"eu-", "eu-central-1"},
	} {
		if strings.HasPrefix(region, r.prefix) {
			return r.serves
		}
	}
	return "us-east-1"
}
