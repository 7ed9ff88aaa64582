package dashboard

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/dashboard/history"
	"github.com/karpenter-go/karpenter/internal/dashboard/stream"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A state has the current data of the dashboard and its history.
type state struct {
	Options
	hub *stream.Hub

	mu sync.Mutex // guards the rest
	// types are the instance types by NodePool. typesAt is when they were listed.
	types   map[string][]*model.InstanceType
	typesAt time.Time
	devices devices
	// leader is the name of the leader's pod, looked up at leaderAt. It is empty if this replica is the leader, or if the
	// leader is not known.
	leader   string
	leaderAt time.Time
	// seen has the versions of the data from which the fleet was computed, at computedAt.
	seen       seen
	computedAt time.Time
	snapshot   *model.Snapshot
	prices     view.Prices
	outcome    decisions.Outcome
	fleet      view.Fleeter
	strip      view.Strip
	// version is the number of the last message.
	version uint64
	pending pending
	log     *decisions.Subscription
	moments history.Moments
	trends  history.Trends
	// first caches the message with the whole fleet, with which a stream begins.
	first *stream.Message
	// used is the use of the hub that the metrics already include.
	used stream.Use
	// changed is true if the fleet has changed since the last moment.
	changed bool
}

// seen has the versions of all data from which the fleet is computed.
type seen struct {
	cluster, outcome, log uint64
	typesAt               time.Time
	leader                bool
	leaderName            string
}

// pending has the groups of pending pods and their JSON.
type pending struct {
	pender  view.Pender
	groups  []view.PendingGroup
	json    []byte
	at      time.Time
	cluster uint64
	outcome uint64
}

// devices are the ResourceClaims that were read at the time, or why they were not.
type devices struct {
	claims  view.Claims
	problem string
	at      time.Time
}

func newState(o Options) *state { return &state{Options: o, hub: stream.New(maxReaders)} }

// run updates the fleet at each tick until the context is done.
func (s *state) run(ctx context.Context) error {
	defer s.hub.Close()
	ticker := s.Clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			s.step(ctx)
		}
	}
}

// step executes one tick.
func (s *state) step(ctx context.Context) {
	if !s.Cluster.Synced() {
		return
	}
	s.listTypes(ctx)
	s.findLeader(ctx)
	s.mu.Lock()
	claims := s.pending.pender.Devices && s.hub.Len() > 0
	s.mu.Unlock()
	if claims {
		s.listClaims(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.measure()
	if s.hub.Len() == 0 && s.Clock.Since(s.computedAt) < idleTick {
		return
	}
	s.refresh()
	s.sample()
}

// measure sets the metrics. The caller holds mu.
func (s *state) measure() {
	if s.Metrics == nil {
		return
	}
	use := s.hub.Use()
	s.Metrics.Pages.WithLabelValues().Set(float64(use.Readers))
	s.Metrics.DroppedPagesTotal.WithLabelValues().Add(float64(use.Dropped - s.used.Dropped))
	s.Metrics.SentBytesTotal.WithLabelValues().Add(float64(use.Sent - s.used.Sent))
	s.Metrics.SnapshotAgeSeconds.WithLabelValues().Set(s.Clock.Since(s.computedAt).Seconds())
	s.used = use
}

// listTypes lists the instance types if the last list is old. It does not hold the lock meanwhile, because the cloud may be
// slow.
func (s *state) listTypes(ctx context.Context) {
	s.mu.Lock()
	age := s.Clock.Since(s.typesAt)
	lacks := s.snapshot != nil && slices.ContainsFunc(s.snapshot.Pools(), func(p *model.Pool) bool { return len(s.types[p.Name]) == 0 })
	due := s.typesAt.IsZero() || age >= typesTick || lacks && age >= newPoolTick
	s.mu.Unlock()
	if !due || s.WithTypes == nil {
		return
	}
	with := s.WithTypes(ctx, s.Cluster.Snapshot())
	types := map[string][]*model.InstanceType{}
	for _, p := range with.Pools() {
		types[p.Name] = with.Types(p.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types, s.typesAt = types, s.Clock.Now()
}

// findLeader looks up the leader if this replica is not the leader. It does not hold the lock meanwhile.
func (s *state) findLeader(ctx context.Context) {
	s.mu.Lock()
	due := s.leaderAt.IsZero() || s.Clock.Since(s.leaderAt) >= leaderTick
	s.mu.Unlock()
	name := ""
	switch {
	case s.Options.Leader() || s.LeaderName == nil:
	case !due:
		return
	default:
		var err error
		if name, err = s.LeaderName(ctx); err != nil {
			s.Log.Error(err, "look up the leader for the dashboard")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader, s.leaderAt = name, s.Clock.Now()
}

// listClaims returns the ResourceClaims. It reads them if the last reading is old, and does not hold the lock meanwhile.
func (s *state) listClaims(ctx context.Context) devices {
	s.mu.Lock()
	last := s.devices
	s.mu.Unlock()
	if !last.at.IsZero() && s.Clock.Since(last.at) < claimsTick {
		return last
	}
	next := devices{at: s.Clock.Now(), problem: "they are not read here"}
	if s.Claims != nil {
		var err error
		next.problem = ""
		if next.claims, err = s.Claims(ctx); err != nil {
			next.problem = err.Error()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices = next
	s.pending.pender.Claims = next.claims
	s.computedAt, s.pending.at, s.pending.cluster = time.Time{}, time.Time{}, 0 // the groups are computed again
	return next
}

// refresh computes what has changed and passes it to the readers. The caller holds mu.
func (s *state) refresh() {
	outcome := s.Latest.Get()
	now := seen{
		cluster: s.Cluster.Version(), outcome: outcome.Version, log: s.Decisions.Version(), typesAt: s.typesAt, leader: s.Leader(), leaderName: s.leader,
	}
	if s.snapshot != nil && now == s.seen && s.pending.cluster == now.cluster && s.pending.outcome == now.outcome {
		s.computedAt = s.Clock.Now()
		return
	}
	if s.snapshot == nil || now != s.seen {
		s.snapshot = s.Cluster.Snapshot().Apply(model.Delta{Types: s.types})
		s.prices = view.PricesOf(s.snapshot, s.typesAt)
		s.seen, s.outcome = now, outcome
		s.tellFleet()
	}
	s.computedAt = s.Clock.Now()
	s.tellPending()
	s.tellEpisodes()
}

// tellFleet computes the fleet and the strip, and publishes what has changed in them.
func (s *state) tellFleet() {
	changes := s.fleet.Update(s.snapshot, s.prices, s.outcome)
	before := s.strip
	s.strip = s.summary()
	if len(changes.Tiles)+len(changes.Gone) > 0 {
		s.changed = true
		s.version++
		if s.hub.Len() > 0 {
			s.tellChanges(changes)
		}
	}
	if !equalStrips(before, s.strip) {
		s.version++
		if s.hub.Len() > 0 {
			s.hub.Publish(message(s.version, view.StripMessage{Type: "strip", Version: s.version, Strip: s.strip}))
		}
	}
}

// tellChanges publishes the changes of the fleet, or the whole fleet if most nodes have changed.
func (s *state) tellChanges(changes view.Changes) {
	if all := s.fleet.Len(); all > 100 && len(changes.Tiles) > all/2 {
		s.hub.Publish(s.snapshotMessage())
		return
	}
	// The order of the fields is that of the encoding: the list of owners is known only after the nodes.
	var owners view.Owners
	b := strconv.AppendUint([]byte(`{"type":"fleet","version":`), s.version, 10)
	b = view.AppendNodes(append(b, `,"nodes":`...), changes.Tiles, &owners)
	b = append(append(b, `,"owners":`...), encode(owners.List())...)
	b = append(append(b, `,"gone":`...), encode(append([]string{}, changes.Gone...))...)
	s.hub.Publish(stream.NewMessage(s.version, append(b, '}')))
}

// summary returns the strip.
func (s *state) summary() view.Strip {
	strip := s.fleet.Strip()
	for _, p := range s.snapshot.Pending() {
		if !p.Virtual() {
			strip.PodsPending++
		}
	}
	if floor, ok := s.Costs.Floor(); ok {
		strip.FloorPerHour = &floor
	}
	if e, ok := s.Decisions.Find(func(*decisions.Episode) bool { return true }); ok {
		strip.LastDecision = &e.Time
	}
	strip.Leader, strip.LeaderName = s.seen.leader, s.seen.leaderName
	return strip
}

// equalStrips compares the JSON of two strips, because their fields are pointers.
func equalStrips(a, b view.Strip) bool {
	return slices.Equal(encode(a), encode(b))
}

// tellPending computes the groups of pending pods and publishes changes, at most once per pendingTick.
func (s *state) tellPending() {
	p := &s.pending
	if p.json != nil && (s.Clock.Since(p.at) < pendingTick || p.cluster == s.seen.cluster && p.outcome == s.seen.outcome) {
		return
	}
	p.at, p.cluster, p.outcome = s.Clock.Now(), s.seen.cluster, s.seen.outcome
	p.groups = p.pender.Groups(s.snapshot, s.outcome, s.Pack.Labels)
	data := encode(p.groups)
	if slices.Equal(data, p.json) {
		return
	}
	p.json = data
	s.version++
	if s.hub.Len() > 0 {
		s.hub.Publish(s.pendingMessage())
	}
}

// logBuffer is the maximum number of unread changes of the decision log. If there are more, the log ends the subscription.
const logBuffer = 1000

// tellEpisodes publishes the episodes that have changed.
func (s *state) tellEpisodes() {
	if s.Decisions == nil {
		return
	}
	if s.log == nil {
		_, s.log = s.Decisions.Subscribe(logBuffer)
	}
	var ids []string
	seen := map[string]bool{}
	for more := true; more; {
		select {
		case c, open := <-s.log.Changes():
			if !open { // the subscription has ended because of too many changes; only the newest episodes are published
				_, s.log = s.Decisions.Subscribe(logBuffer)
			} else if !seen[c.ID] {
				seen[c.ID] = true
				ids = append(ids, c.ID)
			}
		default:
			more = false
		}
	}
	if s.hub.Len() == 0 {
		return
	}
	for _, id := range ids {
		if e, ok := s.Decisions.Find(func(e *decisions.Episode) bool { return e.ID == id }); ok {
			s.version++
			s.hub.Publish(message(s.version, view.EpisodeMessage{Type: "episode", Version: s.version, Episode: e}))
		}
	}
}

// sample adds the current values to the trends and the history, if they are due. The caller holds mu.
func (s *state) sample() {
	now := s.snapshot.Now
	if s.trends.Due(now) {
		s.trends.Add(now, s.strip)
	}
	if s.changed && now.Sub(s.moments.Last()) >= idleTick {
		s.changed = false
		s.moments.Add(now, s.strip, s.fleet.Tiles())
	}
}

// subscribe adds a reader of the stream. The stream begins with the whole fleet and the pending pods.
func (s *state) subscribe() (*stream.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	return s.hub.Subscribe(s.snapshotMessage(), s.pendingMessage())
}

// snapshotMessage returns the message with the whole fleet. The caller holds mu.
func (s *state) snapshotMessage() *stream.Message {
	if s.first != nil && s.first.Version() == s.version {
		return s.first
	}
	tiles := s.fleet.Tiles()
	b := make([]byte, 0, 1024+600*len(tiles))
	b = append(b, `{"type":"snapshot","version":`...)
	b = append(b, encode(s.version)...)
	b = append(b, `,"strip":`...)
	b = append(b, encode(s.strip)...)
	b = append(b, `,"fleet":`...)
	b = view.AppendFleet(b, tiles)
	s.first = stream.NewMessage(s.version, append(b, '}'))
	return s.first
}

func (s *state) pendingMessage() *stream.Message {
	return message(s.version, view.PendingMessage{Type: "pending", Version: s.version, Groups: s.pending.groups})
}

func message(version uint64, v any) *stream.Message { return stream.NewMessage(version, encode(v)) }

// encode returns the JSON of a value that can be encoded.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // an error occurs only for infinite numbers, which no view has
	}
	return data
}

// A present has the current data from which responses are computed.
type present struct {
	snapshot *model.Snapshot
	outcome  decisions.Outcome
	prices   view.Prices
	strip    view.Strip
	groups   []view.PendingGroup
}

// now returns the current data, which is at most one tick old.
func (s *state) now() present {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil || s.Clock.Since(s.computedAt) >= tick {
		s.refresh()
	}
	return present{s.snapshot, s.outcome, s.prices, s.strip, s.pending.groups}
}

// tiles returns the tiles of the fleet.
func (s *state) tiles() []*view.Tile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fleet.Tiles()
}
