package prices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

const (
	// BookName is the name of the ConfigMap with the price book, in the controller's namespace.
	BookName = "karpenter-price-book"
	// BookKey is the only key of that ConfigMap.
	BookKey = "prices.yaml"
	// bookEvery is the interval at which the price book is read and nodes are counted.
	bookEvery = time.Minute
)

// PaidConfig has the dependencies and settings of Paid.
type PaidConfig struct {
	List *Book
	// Client reads claims from a cache. Reader reads the ConfigMap from the API server.
	Client, Reader client.Reader
	// Namespace is the namespace of the controller. If it is empty, there is no price book.
	Namespace string
}

// Paid returns the prices that the account pays: the list prices, changed by the rules of the price book. The price
// book is a ConfigMap. Without it, the list prices apply. Paid is safe for concurrent use, and readers never wait.
type Paid struct {
	PaidConfig

	state atomic.Pointer[paid]
	last  telemetry.LastError // only Refresh uses it, and its calls do not overlap
	// known is true once the rules in use are those of a valid price book, or there was none.
	known atomic.Bool
}

// paid is immutable once stored.
type paid struct {
	text     string
	rules    Rules
	usage    Usage
	revision uint64
}

// NewPaid returns a Paid. It returns list prices until its first Refresh.
func NewPaid(c PaidConfig) *Paid {
	p := &Paid{PaidConfig: c}
	p.state.Store(&paid{})
	return p
}

// OnDemand returns the price of an on-demand instance of the type by the rules, and false if its list price is not
// known.
func (p *Paid) OnDemand(instanceType string) (float64, bool) {
	s := p.state.Load()
	list, ok := p.list(s, instanceType)
	return s.rules.Price(instanceType, apiv1.CapacityTypeOnDemand, list, s.usage), ok
}

// list returns the list price of the price book, or else that of AWS.
func (p *Paid) list(s *paid, instanceType string) (float64, bool) {
	if own, ok := s.rules.ListPrices[instanceType]; ok {
		return own, true
	}
	return p.List.OnDemand(instanceType)
}

// Spot returns the price of a spot instance of the type in the zone by the rules, and false if its spot price is not
// known.
func (p *Paid) Spot(instanceType, zone string) (float64, bool) {
	price, ok := p.List.Spot(instanceType, zone)
	s := p.state.Load()
	return s.rules.Price(instanceType, apiv1.CapacityTypeSpot, price, s.usage), ok
}

// SpotSince returns since when the spot price of the type in the zone is in force, zero if that is not known.
func (p *Paid) SpotSince(instanceType, zone string) time.Time {
	return p.List.SpotSince(instanceType, zone)
}

// Covers returns the commitments that cover on-demand instances of the type in the zone, in the order in which they apply.
// fees is the price of an instance that they cover wholly.
func (p *Paid) Covers(instanceType, zone string) (covers []commitment.Cover, fees float64) {
	s := p.state.Load()
	if len(s.rules.Commitments) == 0 {
		return nil, 0
	}
	list, _ := p.list(s, instanceType)
	return s.rules.Covers(instanceType, zone, list)
}

// Current reports whether the rules are known: a valid price book was read since the start, or there was none. It has no time
// limit. Without the discounts and commitments of a faulty book, consolidation would move pods off instances that are paid for.
func (p *Paid) Current() bool { return p.Namespace == "" || p.known.Load() }

// Revision returns a number that changes whenever a price may change.
func (p *Paid) Revision() uint64 { return p.List.Revision() + p.state.Load().revision<<32 }

// Task returns the task that refreshes the price book.
func (p *Paid) Task() periodic.Task {
	return periodic.Task{Label: "providers.pricebook", Run: func(ctx context.Context) (time.Duration, error) {
		return bookEvery, p.Refresh(ctx)
	}}
}

// Refresh reads the price book and counts nodes. An invalid price book is logged, again each hour, and the previous rules stay in
// use. If there are none since the start, prices are not current until the book is valid (Current). Without a price book there are
// no rules.
func (p *Paid) Refresh(ctx context.Context) error {
	if p.Namespace == "" {
		return nil
	}
	var stored corev1.ConfigMap
	err := p.Reader.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: BookName}, &stored)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err): // then there is no price book
	case err != nil:
		return fmt.Errorf("read price book: %w", err)
	}
	old := p.state.Load()
	next := &paid{text: stored.Data[BookKey], rules: old.rules, revision: old.revision}
	valid := true
	if next.text != old.text {
		if next.rules, err = ParseRules(next.text); err != nil {
			p.tell(ctx, err)
			next.rules, next.text, valid = old.rules, old.text, false
		} else {
			p.last.Succeeded()
			log.FromContext(ctx).Info("applied price overrides", "ConfigMap", klog.KRef(p.Namespace, BookName),
				"list-prices", len(next.rules.ListPrices), "discounts", len(next.rules.Discounts), "fees", len(next.rules.Fees), "commitments", len(next.rules.Commitments))
		}
	}
	if next.usage, err = p.count(ctx, next.rules); err != nil {
		return err
	}
	if next.text != old.text || !maps.Equal(next.usage.Nodes, old.usage.Nodes) || !maps.Equal(next.usage.VCPUs, old.usage.VCPUs) {
		next.revision++
		p.state.Store(next)
	}
	if valid {
		p.known.Store(true)
	}
	return nil
}

func (p *Paid) tell(ctx context.Context, err error) {
	if text := err.Error(); p.last.Failed(text, bookEvery) {
		message := "invalid price overrides, keeping the previous ones"
		if !p.known.Load() {
			message = "invalid price overrides, consolidation waits until they are valid"
		}
		log.FromContext(ctx).Error(errors.New(strings.ReplaceAll(text, "\n", "; ")), message, "ConfigMap", klog.KRef(p.Namespace, BookName))
	}
}

// count returns the numbers of launched nodes and their vCPUs, by instance type and capacity type. The result is
// empty if no discount is limited to a number of instances or vCPUs.
func (p *Paid) count(ctx context.Context, r Rules) (Usage, error) {
	counts := false
	for _, d := range r.Discounts {
		counts = counts || d.Instances > 0 || d.VCPUs > 0
	}
	if !counts {
		return Usage{}, nil
	}
	var claims apiv1.NodeClaimList
	if err := p.Client.List(ctx, &claims); err != nil {
		return Usage{}, fmt.Errorf("list claims: %w", err)
	}
	u := Usage{Nodes: map[Sold]int{}, VCPUs: map[Sold]int64{}}
	for i := range claims.Items {
		c := &claims.Items[i]
		if c.Status.ProviderID == "" || c.Spec.NodeClassRef == nil || c.Spec.NodeClassRef.Group != awsv1.Group {
			continue
		}
		sold := Sold{c.Labels[corev1.LabelInstanceTypeStable], c.Labels[apiv1.CapacityTypeLabelKey]}
		u.Nodes[sold]++
		u.VCPUs[sold] += c.Status.Capacity.Cpu().Value()
	}
	return u, nil
}

// familyOf returns the part of a type's name before the dot.
func familyOf(instanceType string) string {
	family, _, _ := strings.Cut(instanceType, ".")
	return family
}
