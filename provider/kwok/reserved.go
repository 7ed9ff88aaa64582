package kwok

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// bridged is the time for which the ledger counts a launch. By then, the labels of the claim show which reservation
// it uses.
const bridged = time.Minute

// A ledger records recent launches in reservations. Earlier launches are counted by the labels of nodes and claims, so
// the ledger may be lost in a restart.
type ledger struct {
	// launching is held from the choice of a reserved offering until it is recorded, so that no instance of a
	// reservation is used twice.
	launching sync.Mutex
	// mu guards recent: the last launches by name of their claim.
	mu     sync.Mutex
	recent map[string]taken
}

// taken is one launch in a reservation.
type taken struct {
	reservation string
	at          time.Time
}

// reserves reports whether some type has a reserved offering.
func reserves(types []*cloud.InstanceType) bool {
	return slices.ContainsFunc(types, func(t *cloud.InstanceType) bool {
		return slices.ContainsFunc(t.Offerings, func(o cloud.Offering) bool { return o.ReservationID != "" })
	})
}

// left returns the types with the number of instances left in their reservations. The claim with the name claim does
// not count as using its reservation.
func (p *Provider) left(ctx context.Context, reader client.Reader, claim string) ([]*cloud.InstanceType, error) {
	if !p.reserves {
		return p.config.Types, nil
	}
	used, err := p.used(ctx, reader)
	if err != nil {
		return nil, err
	}
	delete(used, claim)
	count := map[string]int{}
	for _, reservation := range used {
		count[reservation]++
	}
	out := slices.Clone(p.config.Types)
	for i, t := range out {
		c := *t
		c.Offerings = slices.Clone(t.Offerings)
		for k := range c.Offerings {
			if o := &c.Offerings[k]; o.ReservationID != "" {
				o.ReservationCapacity = max(0, o.ReservationCapacity-count[o.ReservationID])
			}
		}
		out[i] = &c
	}
	return out, nil
}

// used returns the reservation of each node, claim and recent launch that has one, by name. Recent
// launches count while their claim exists. A claim and its node have the same name.
func (p *Provider) used(ctx context.Context, reader client.Reader) (map[string]string, error) {
	used := map[string]string{}
	var nodes corev1.NodeList
	var claims apiv1.NodeClaimList
	reserved := client.MatchingLabels{apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeReserved}
	for _, list := range []client.ObjectList{&nodes, &claims} {
		if err := reader.List(ctx, list, reserved); err != nil {
			return nil, fmt.Errorf("count what is reserved: %w", err)
		}
	}
	add := func(o client.Object) {
		if c, ok := p.madeOf(o.GetLabels()); ok {
			used[o.GetName()] = c.offering.ReservationID
		}
	}
	for i := range nodes.Items {
		add(&nodes.Items[i])
	}
	for i := range claims.Items {
		add(&claims.Items[i])
	}
	for name, reservation := range p.recent() {
		if used[name] != "" {
			continue
		}
		err := reader.Get(ctx, client.ObjectKey{Name: name}, &apiv1.NodeClaim{})
		switch {
		case err == nil:
			used[name] = reservation
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("count what is reserved: %w", err)
		}
	}
	return used, nil
}

// recent returns the reservations of the last launches, by name of their claim.
// It removes those that are older than bridged.
func (p *Provider) recent() map[string]string {
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	out := map[string]string{}
	for name, t := range p.ledger.recent {
		if p.config.Clock.Since(t.at) > bridged {
			delete(p.ledger.recent, name)
			continue
		}
		out[name] = t.reservation
	}
	return out
}

// reserve records that the claim uses the reservation of the offering. It does nothing for an offering without a
// reservation.
func (p *Provider) reserve(claim string, o cloud.Offering) {
	if o.ReservationID == "" {
		return
	}
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	p.ledger.recent[claim] = taken{reservation: o.ReservationID, at: p.config.Clock.Now()}
}
