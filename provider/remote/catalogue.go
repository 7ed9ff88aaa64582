package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

const (
	// firstWait and lastWait bound the wait before a stream that has ended is opened again. The
	// wait doubles after each end of a stream, and begins anew after a stream with a commit. After
	// a rejected message it is lastWait.
	firstWait = time.Second
	lastWait  = 30 * time.Second
	// unused is the time after which a stream is closed whose catalogue is not read.
	unused = 10 * time.Minute
	// priceWait is the maximum time for which consolidation waits for current prices.
	priceWait = 10 * time.Minute
)

// A shelfKey identifies a catalogue by the values in the request for it.
type shelfKey struct {
	class                     apiv1.NodeClassReference
	json                      string
	taints, startupTaintsJSON string
}

// A shelf has the catalogues of the node classes in use, by shelfKey.
type shelf struct {
	mu   sync.Mutex // guards open
	open map[shelfKey]*catalogue
}

// A catalogue has the instance types for one shelfKey that the provider has sent on a stream.
type catalogue struct {
	cancel context.CancelFunc

	mu      sync.Mutex // guards all below
	used    time.Time
	current []*cloud.InstanceType // in name order, as of the last commit
	failure error                 // the failure in the last commit, if it had one
	known   bool                  // true after the first commit
	ended   error                 // the reason why the stream ended; nil while it is open
	changed chan struct{}         // closed and replaced with each change of known, failure and ended
	shifted []string
	// outdated is the time since which the prices are outdated, zero if they are current.
	outdated time.Time
}

// InstanceTypes implements cloud.Provider. The types are those of the last commit of the stream. Offerings that launches
// have found to be exhausted are not available. If the provider has not answered for a minute, its node classes are not
// ready.
func (p *Provider) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	spec := pool.Spec.Template.Spec
	return p.types(ctx, spec.NodeClassRef, spec.Taints, spec.StartupTaints)
}

func (p *Provider) types(ctx context.Context, ref *apiv1.NodeClassReference, taints, startup []corev1.Taint) ([]*cloud.InstanceType, error) {
	if !p.info.Facts.Manages(ref) {
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("%v is no node class of provider %s", ref, p.Name())}
	}
	if err := p.gone(); err != nil {
		return nil, err
	}
	class, err := p.class(ctx, ref)
	if err != nil {
		return nil, err
	}
	key := shelfKey{class: *ref, json: class}
	for _, t := range []struct {
		list []corev1.Taint
		to   *string
	}{{taints, &key.taints}, {startup, &key.startupTaintsJSON}} {
		if len(t.list) == 0 {
			continue
		}
		data, err := json.Marshal(t.list)
		if err != nil {
			return nil, fmt.Errorf("encode taints: %w", err)
		}
		*t.to = string(data)
	}
	list, err := p.catalogue(key).wait(ctx, p)
	if err != nil {
		return nil, err
	}
	return p.shortages.apply(list, p.config.Clock.Now()), nil
}

// gone returns a NodeClassNotReadyError if the provider has not answered for longer than grace, otherwise nil.
func (p *Provider) gone() error {
	since, cause, down := p.silent()
	if !down || p.config.Clock.Since(since) < grace {
		return nil
	}
	return &cloud.NodeClassNotReadyError{Err: fmt.Errorf("provider %s has not answered since %s: %s",
		p.Name(), since.UTC().Format(time.RFC3339), cause)}
}

// catalogue returns the catalogue of the key, and opens its stream if there is none. It closes the streams of other
// catalogues that have not been read for ten minutes (unused).
func (p *Provider) catalogue(key shelfKey) *catalogue {
	now := p.config.Clock.Now()
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	for k, c := range p.shelf.open {
		if k != key && c.idle(now) {
			c.cancel()
			delete(p.shelf.open, k)
		}
	}
	c := p.shelf.open[key]
	if c == nil {
		c = &catalogue{changed: make(chan struct{})}
		var ctx context.Context
		ctx, c.cancel = context.WithCancel(p.running)
		p.shelf.open[key] = c
		p.wait.Go(func() { p.follow(ctx, key, c) })
	}
	c.mu.Lock()
	c.used = now
	c.mu.Unlock()
	return c
}

func (c *catalogue) idle(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.used) > unused
}

// wait returns the types of the last commit, or the failure in it. Before the first commit it waits for that commit, at most
// five seconds (firstTypes). If the stream or this time ends without a commit, it returns a NodeClassNotReadyError.
func (c *catalogue) wait(ctx context.Context, p *Provider) ([]*cloud.InstanceType, error) {
	bounded, cancel := timeout.Context(ctx, p.config.Clock, firstTypes)
	defer cancel()
	for {
		c.mu.Lock()
		known, failure, list, ended, changed := c.known, c.failure, c.current, c.ended, c.changed
		c.mu.Unlock()
		switch {
		case known && failure != nil:
			return nil, failure
		case known:
			return list, nil
		case ended != nil:
			return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("provider %s has sent no instance types: %w", p.Name(), ended)}
		}
		select {
		case <-changed:
		case <-bounded.Done():
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("provider %s has sent no instance types within %s", p.Name(), firstTypes)}
		}
	}
}

// follow opens the stream, and opens it again whenever it has ended, until ctx is done.
func (p *Provider) follow(ctx context.Context, key shelfKey, c *catalogue) {
	pause := firstWait
	for {
		committed, err := p.read(ctx, key, c)
		if ctx.Err() != nil {
			return
		}
		var r *wire.Rejection
		if errors.As(err, &r) {
			err = p.checked(err)
			pause = lastWait
		} else {
			p.heard(ctx, p.config.Clock.Now(), err)
			err = p.said(err)
		}
		c.end(err)
		if committed {
			pause = firstWait
		}
		timer := p.config.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		pause = min(2*pause, lastWait)
	}
}

// read opens the stream once and reads it to its end. committed reports whether there was a commit.
func (p *Provider) read(ctx context.Context, key shelfKey, c *catalogue) (committed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.api.WatchCatalogue(ctx, &cloudv1.WatchCatalogueRequest{
		NodeClass:     &cloudv1.NodeClassRef{Group: key.class.Group, Kind: key.class.Kind, Name: key.class.Name},
		NodeClassJson: key.json, TaintsJson: key.taints, StartupTaintsJson: key.startupTaintsJSON,
	})
	if err != nil {
		return false, err
	}
	work := draft{types: map[string]*cloud.InstanceType{}}
	for {
		m, err := stream.Recv()
		if err != nil {
			return committed, err
		}
		if err := work.apply(m, p.info); err != nil {
			return committed, err
		}
		if !m.GetCommit() {
			continue
		}
		p.heard(ctx, p.config.Clock.Now(), nil)
		committed = true
		c.commit(work, m, p.config.Clock.Now())
		ctrl.LoggerFrom(ctx).V(1).Info("catalogue of provider changed", "provider", p.Name(), "types", len(work.types))
	}
}

// A draft has the instance types after all messages of a stream so far. A commit makes them the current catalogue.
type draft struct {
	types     map[string]*cloud.InstanceType
	offerings int
}

// apply applies the changes in a message to the draft. It returns a wire.Rejection if the message breaks a rule of
// the protocol.
func (d *draft) apply(m *cloudv1.WatchCatalogueResponse, info *wire.Info) error {
	if m.GetReset_() {
		clear(d.types)
		d.offerings = 0
	}
	for _, name := range m.GetRemoved() {
		if t := d.types[name]; t != nil {
			d.offerings -= len(t.Offerings)
			delete(d.types, name)
		}
	}
	for _, in := range m.GetInstanceTypes() {
		t, err := wire.ReadType(in, info.Facts.Labels.WellKnown)
		if err != nil {
			return err
		}
		if old := d.types[t.Name]; old != nil {
			d.offerings -= len(old.Offerings)
		}
		d.types[t.Name] = t
		d.offerings += len(t.Offerings)
		if len(d.types) > wire.MaxTypes || d.offerings > wire.MaxOfferings {
			return wire.Reject(wire.TooMany, "the catalogue has more than %d instance types or %d offerings", wire.MaxTypes, wire.MaxOfferings)
		}
	}
	for _, u := range m.GetUpdates() {
		t := d.types[u.GetOffering().GetInstanceType()]
		if t == nil {
			return wire.Reject(wire.Missing, "an update is for an instance type that was not sent")
		}
		changed, err := wire.Update(t, u)
		if err != nil {
			return err
		}
		d.types[t.Name] = changed
	}
	return nil
}

// commit makes the draft the current catalogue.
func (c *catalogue) commit(d draft, m *cloudv1.WatchCatalogueResponse, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure, c.current = wire.ReadFailure(m.GetFailure()), nil
	for _, name := range slices.Sorted(maps.Keys(d.types)) {
		c.current = append(c.current, d.types[name])
	}
	c.known, c.ended = true, nil
	c.shifted = wire.ReadZones(m.GetShiftedZones())
	switch {
	case !m.GetPricesOutdated():
		c.outdated = time.Time{}
	case c.outdated.IsZero():
		c.outdated = now
	}
	c.tell()
}

// end records that the stream has ended. The types of the last commit stay in use.
func (c *catalogue) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = err
	c.tell()
}

// tell wakes all waiting callers of wait. The caller holds mu.
func (c *catalogue) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// pricesCurrent reports whether all catalogues have current prices. A catalogue whose prices have been outdated for ten
// minutes (priceWait) counts as current.
func (s *shelf) pricesCurrent(now time.Time) bool {
	for _, c := range s.all() {
		c.mu.Lock()
		waits := !c.outdated.IsZero() && now.Sub(c.outdated) < priceWait
		c.mu.Unlock()
		if waits {
			return false
		}
	}
	return true
}

func (s *shelf) shiftedZones() []string {
	var zones []string
	for _, c := range s.all() {
		c.mu.Lock()
		zones = append(zones, c.shifted...)
		c.mu.Unlock()
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

func (s *shelf) all() []*catalogue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.open))
}
