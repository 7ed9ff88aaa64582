package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// priceLabel holds a node's price in dollars per hour.
const priceLabel = "eks-node-viewer/instance-price"

// A kind is a watched kind of objects.
type kind int

const (
	pods kind = iota
	nodes
	claims
	kinds
)

// paths are the API paths of the kinds.
var paths = [kinds]string{"/api/v1/namespaces/default/pods", "/api/v1/nodes", "/apis/karpenter.sh/v1/nodeclaims"}

// Seen has the objects and times from watches of the API server. It is safe for concurrent use.
type Seen struct {
	// mu guards the fields below.
	mu sync.Mutex
	// now has the existing objects. ever has the names of all objects that have existed.
	now  [kinds]map[string]object
	ever [kinds]map[string]bool
	// first is when the first object of each kind was first seen. last is when the newest object of each kind was first seen.
	first, last [kinds]time.Time
	// claimsThen is the number of claims that had been created when the first pod ran.
	claimsThen int
	// ran has the names of pods that have run. ranTimes has the times when pods started to run, in order.
	ran      map[string]bool
	ranTimes []time.Time
}

// A Look is the state at one time.
type Look struct {
	// Pods is the number of pods without a deletion timestamp. Running is the number of those that run.
	Pods, Running int
	// Nodes is the number of nodes, including those that are being deleted. Price is their price in dollars per hour.
	Nodes int
	Price float64
	// Claims is the number of claims that have been created. Planned is that number when the first pod ran.
	Claims, Planned int
	// FirstPod, LastPod and FirstClaim are the times of the first events of the first pod, the newest pod and the first
	// claim; zero if there was none.
	FirstPod, LastPod, FirstClaim time.Time
	// HalfRan and MostRan are the times when 50% and 90% of all pods that ever ran had started to run.
	HalfRan, MostRan time.Time
}

// Watch watches the cluster until ctx is done; wait returns after all watches have ended.
func Watch(ctx context.Context, a *API) (s *Seen, wait func()) {
	s = &Seen{ran: map[string]bool{}}
	var watchers sync.WaitGroup
	for k, path := range paths {
		s.now[k], s.ever[k] = map[string]object{}, map[string]bool{}
		watchers.Go(func() {
			a.follow(ctx, path, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				clear(s.now[k])
			}, func(c change) { s.take(kind(k), c) })
		})
	}
	return s, watchers.Wait
}

// take applies one change.
func (s *Seen) take(k kind, c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, at := c.Object.Metadata.Name, time.Now()
	if c.Type == "DELETED" {
		delete(s.now[k], name)
		return
	}
	s.now[k][name] = c.Object
	if !s.ever[k][name] {
		s.ever[k][name] = true
		s.last[k] = at
		if s.first[k].IsZero() {
			s.first[k] = at
		}
	}
	if k == pods && c.Object.Status.Phase == "Running" && !s.ran[name] {
		s.ran[name], s.ranTimes = true, append(s.ranTimes, at)
		if len(s.ranTimes) == 1 {
			s.claimsThen = len(s.ever[claims])
		}
	}
}

// Look returns the current state.
func (s *Seen) Look() Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Look{
		Nodes: len(s.now[nodes]), Claims: len(s.ever[claims]), Planned: s.claimsThen,
		FirstPod: s.first[pods], LastPod: s.last[pods], FirstClaim: s.first[claims],
	}
	if n := len(s.ranTimes); n > 0 {
		l.HalfRan, l.MostRan = s.ranTimes[n/2], s.ranTimes[n*9/10]
	}
	for _, p := range s.now[pods] {
		if p.Metadata.DeletionTimestamp != nil {
			continue
		}
		l.Pods++
		if p.Status.Phase == "Running" {
			l.Running++
		}
	}
	for _, n := range s.now[nodes] {
		if price, err := strconv.ParseFloat(n.Metadata.Labels[priceLabel], 64); err == nil {
			l.Price += price
		}
	}
	return l
}

// Ran returns the number of pods that have run so far.
func (s *Seen) Ran() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ranTimes)
}

// RanAt returns the time when the i-th pod, from 0, started to run.
func (s *Seen) RanAt(i int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ranTimes[i]
}

// names returns the names of the objects of the kind.
func (s *Seen) names(k kind) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.now[k]))
}

// settled waits until there are exactly n nodes, all of the given generation, and n running pods.
func (s *Seen) settled(ctx context.Context, n int, generation string, limit time.Duration) error {
	return eventually(ctx, limit, func() (bool, string) {
		right, wrong := s.generations(generation)
		l := s.Look()
		return right == n && wrong == 0 && l.Running == n && l.Pods == n,
			fmt.Sprintf("%d of %d nodes are of generation %s, %d are not, %d of %d pods run", right, n, generation, wrong, l.Running, n)
	})
}

// generations returns how many nodes are of the generation, and how many are not.
func (s *Seen) generations(generation string) (right, wrong int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.now[nodes] {
		if o.Metadata.Labels[generationLabel] == generation {
			right++
		} else {
			wrong++
		}
	}
	return right, wrong
}
