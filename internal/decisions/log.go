package decisions

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Bounds of a Log: the number of episodes, and the estimated size of their JSON in bytes. The newest episode is kept even
// if it is larger.
const (
	MaxEpisodes = 1000
	MaxBytes    = 4 << 20
)

// A Log holds the newest episodes. It is safe for concurrent use. A nil Log records nothing and has no episodes, but
// RemovedSince, OnChange and Subscribe must not be called on it.
type Log struct {
	clock  clock.PassiveClock
	prefix string
	out    io.Writer // nil: no lines are written

	mu      sync.Mutex // guards the rest
	entries []*entry   // oldest first
	bytes   int        // sum of the sizes of entries
	// claims has, by NodeClaim, the open episodes that launch or remove it.
	claims map[string][]*entry
	// nodes has, by node name, the NodeClaims of the nodes that open episodes remove.
	nodes   map[string]string
	version uint64
	number  int
	readers map[*Subscription]bool
	changed func()
	failed  error // the last error of out
}

// An entry is an episode of the log.
type entry struct {
	Episode
	size    int
	coming  map[string]stage  // launched NodeClaims that are neither initialized nor failed
	leaving map[string]stage  // NodeClaims to remove that still exist
	nodes   map[string]string // NodeClaims of the nodes to remove, by the name of the node
	noted   map[string]bool   // keys of the events that are among the effects, so that no event is added twice
	encoded []byte            // JSON of Episode; nil if Episode has changed since it was encoded
}

// A stage is the number of the last effect on a NodeClaim that an episode has recorded. Each numbered effect is recorded once.
type stage int

// stageOf returns the stage that an effect reaches, 0 if the effect may be repeated.
func stageOf(kind EffectKind) stage {
	switch kind {
	case EffectLaunched, EffectTerminating:
		return 1
	case EffectRegistered:
		return 2
	}
	return 0
}

// New returns an empty log. If out is not nil, the log writes each change to it as one line of JSON.
func New(c clock.PassiveClock, out io.Writer) *Log {
	return &Log{
		clock: c, out: out, prefix: strconv.FormatInt(c.Now().UnixMilli(), 36),
		claims: map[string][]*entry{}, nodes: map[string]string{}, readers: map[*Subscription]bool{},
	}
}

// A Change is a change of an episode. It is one line of the JSON output, and subscribers receive it.
type Change struct {
	// Type is "begin", "effect" or "end". Episode is set for begin and end, Effect for effect.
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Episode *Episode  `json:"episode,omitempty"`
	Effect  *Effect   `json:"effect,omitempty"`
}

// Begin adds an episode and returns its ID. It sets ID, Time, State and Progress. It raises each total to at least the
// length of its list. An episode that launches and removes nothing, such as a reboot, ends at once with StateDone. A nil
// Log returns "".
func (l *Log) Begin(e Episode) string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	e.ID, e.Time, e.State = fmt.Sprintf("%s-%d", l.prefix, l.number), l.clock.Now().UTC(), StateOpen
	e.Progress, e.Effects, e.EffectsTotal, e.Evictions, e.Ended = map[EffectKind]int{}, nil, 0, 0, nil
	x := &entry{coming: map[string]stage{}, leaving: map[string]stage{}, nodes: map[string]string{}}
	for _, c := range e.Launches {
		x.coming[c.Claim] = 0
	}
	for _, r := range e.Removals {
		if e.Action == "reboot" {
			break // the node stays
		}
		x.leaving[r.Claim] = 0
		if r.Node != "" {
			x.nodes[r.Node] = r.Claim
		}
	}
	e.bound()
	x.Episode = e
	l.insert(x)
	l.tell(Change{Type: "begin", ID: e.ID, Time: e.Time, Episode: x.copied()})
	if len(x.coming) == 0 && len(x.leaving) == 0 {
		l.end(x, StateDone)
	}
	return e.ID
}

// insert adds the entry and removes the oldest ones that exceed the bounds.
func (l *Log) insert(x *entry) {
	for claim := range x.coming {
		l.claims[claim] = append(l.claims[claim], x)
	}
	for claim := range x.leaving {
		if _, both := x.coming[claim]; !both {
			l.claims[claim] = append(l.claims[claim], x)
		}
	}
	maps.Copy(l.nodes, x.nodes)
	data, err := json.Marshal(&x.Episode)
	if err != nil {
		data = nil // an error occurs only for NaN and infinite prices, which no catalogue has
	}
	x.encoded, x.size = data, len(data)
	l.entries = append(l.entries, x)
	l.bytes += x.size
	l.trim()
}

// trim removes the oldest entries that exceed the bounds.
func (l *Log) trim() {
	for len(l.entries) > MaxEpisodes || l.bytes > MaxBytes && len(l.entries) > 1 {
		l.forget(l.entries[0])
		l.bytes -= l.entries[0].size
		l.entries = slices.Delete(l.entries, 0, 1)
	}
}

// forget removes the entry from the indexes by NodeClaim and by node.
func (l *Log) forget(x *entry) {
	for _, of := range []map[string]stage{x.coming, x.leaving} {
		for claim := range of {
			l.release(claim, x)
		}
	}
	for node, claim := range x.nodes {
		if len(l.claims[claim]) == 0 { // otherwise another open episode removes the node
			delete(l.nodes, node)
		}
	}
}

func (l *Log) release(claim string, x *entry) {
	kept := slices.DeleteFunc(l.claims[claim], func(y *entry) bool { return x == y })
	if len(kept) == 0 {
		delete(l.claims, claim)
		return
	}
	l.claims[claim] = kept
}

// Expects reports whether an open episode launches or removes the NodeClaim.
func (l *Log) Expects(claim string) (launches, removes bool) {
	if l == nil {
		return false, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.claims[claim] {
		_, comes := x.coming[claim]
		_, leaves := x.leaving[claim]
		launches, removes = launches || comes, removes || leaves
	}
	return launches, removes
}

// RemovedSince returns when the newest open episode that removes the NodeClaim began, the zero time if there is none.
func (l *Log) RemovedSince(claim string) (since time.Time) {
	if l == nil {
		return since
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.claims[claim] {
		if _, leaves := x.leaving[claim]; leaves {
			since = x.Time
		}
	}
	return since
}

// NoteNode adds an effect to the open episodes of the NodeClaim of a node, if an open episode removes the node.
func (l *Log) NoteNode(node string, kind EffectKind, object, message string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	claim := l.nodes[node]
	l.mu.Unlock()
	if claim != "" {
		l.Note(claim, kind, object, message)
	}
}

// Note adds an effect to each open episode of the NodeClaim to which effects of this kind belong. object and message are
// fields of the effect. An effect that the episode already has is not added again. An episode takes at most about 200
// effects with a message.
func (l *Log) Note(claim string, kind EffectKind, object, message string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range slices.Clone(l.claims[claim]) {
		if x.takes(claim, kind) {
			l.add(x, claim, Effect{Time: l.clock.Now().UTC(), Kind: kind, Object: object, Message: cut(message)})
		}
	}
}

// takes reports whether an effect on the NodeClaim belongs to the episode. Effects of a launch belong to the episode that
// launches the NodeClaim. Terminated and note belong to every episode of the NodeClaim. The others belong to the episode that
// removes it.
func (x *entry) takes(claim string, kind EffectKind) bool {
	of := x.leaving
	switch kind {
	case EffectLaunched, EffectRegistered, EffectInitialized, EffectFailed:
		of = x.coming
	case EffectTerminated, EffectNote:
		return true
	}
	had, there := of[claim]
	if !there {
		return false
	}
	reached := stageOf(kind)
	if reached == 0 {
		return true
	}
	of[claim] = max(had, reached)
	return reached > had
}

// add adds one effect. If no more effects are expected, it ends the episode.
func (l *Log) add(x *entry, claim string, f Effect) {
	if f.Message != "" {
		key := string(f.Kind) + "\x00" + f.Object + "\x00" + f.Message
		if x.noted[key] || len(x.noted) > 4*maxList {
			return
		}
		if x.noted == nil {
			x.noted = map[string]bool{}
		}
		x.noted[key] = true
	}
	if x.Effects = append(x.Effects, f); len(x.Effects) > maxEffects {
		x.Effects = slices.Delete(x.Effects, 0, 1)
	} else {
		grown := len(f.Object) + len(f.Message) + 80 // an estimate of the size of its JSON
		x.size, l.bytes = x.size+grown, l.bytes+grown
	}
	x.EffectsTotal++
	x.Progress[f.Kind]++
	if f.Kind == EffectEvicted {
		x.Evictions++
	}
	x.encoded = nil
	l.tell(Change{Type: "effect", ID: x.ID, Time: f.Time, Effect: &f})
	switch f.Kind {
	case EffectInitialized, EffectFailed:
		delete(x.coming, claim)
	case EffectTerminated:
		if _, comes := x.coming[claim]; comes {
			x.Progress[EffectFailed]++ // deleted before it was initialized
		}
		delete(x.coming, claim)
		delete(x.leaving, claim)
	case EffectCancelled:
		delete(x.leaving, claim)
	}
	_, comes := x.coming[claim]
	if _, leaves := x.leaving[claim]; !comes && !leaves {
		l.release(claim, x)
	}
	if len(x.coming) > 0 && x.Progress[EffectCancelled] == 0 || len(x.leaving) > 0 {
		return
	}
	switch {
	case x.Progress[EffectCancelled] > 0:
		l.end(x, StateCancelled)
	case x.Progress[EffectFailed] > 0:
		l.end(x, StateFailed)
	default:
		l.end(x, StateDone)
	}
}

// end closes the episode.
func (l *Log) end(x *entry, state State) {
	now := l.clock.Now().UTC()
	l.forget(x)
	x.State, x.Ended, x.encoded, x.noted = state, &now, nil, nil
	x.coming, x.leaving, x.nodes = nil, nil, nil
	l.tell(Change{Type: "end", ID: x.ID, Time: now, Episode: x.copied()})
}

// copied returns a copy of the episode. Later changes of the entry do not change the copy.
func (x *entry) copied() *Episode {
	e := x.Episode
	e.Effects, e.Progress = slices.Clone(x.Effects), maps.Clone(x.Progress)
	return &e
}

// tell passes a change to the output, to the subscribers and to the function of OnChange. It ends subscriptions that have
// no room for the change. The caller holds mu.
func (l *Log) tell(c Change) {
	l.version++
	if l.out != nil {
		if line, err := json.Marshal(c); err == nil {
			_, l.failed = l.out.Write(append(line, '\n'))
		}
	}
	for r := range l.readers {
		select {
		case r.changes <- c:
		default:
			delete(l.readers, r)
			close(r.changes)
		}
	}
	if l.changed != nil {
		l.changed()
	}
}

// OnChange sets the function that is called after each change. It must return at once and must not call the log.
func (l *Log) OnChange(f func()) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = f
}

// Err returns the error of the last write to the output, nil if it succeeded.
func (l *Log) Err() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Version returns a number that grows with each change.
func (l *Log) Version() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version
}

// Snapshot returns all episodes, oldest first.
func (l *Log) Snapshot() []Episode {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.episodes()
}

// Find returns the newest episode for which ok returns true. ok must not change or keep the episode, and must not call the
// log. found is false if there is none.
func (l *Log) Find(ok func(*Episode) bool) (e Episode, found bool) {
	if l == nil {
		return Episode{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range slices.Backward(l.entries) {
		if ok(&x.Episode) {
			return *x.copied(), true
		}
	}
	return Episode{}, false
}

func (l *Log) episodes() []Episode {
	out := make([]Episode, len(l.entries))
	for i, x := range l.entries {
		out[i] = *x.copied()
	}
	return out
}

// A Subscription delivers the changes after a snapshot.
type Subscription struct {
	log     *Log
	changes chan Change
}

// Subscribe returns all episodes and a subscription to later changes. The subscription holds at most buffer unread changes. If
// there are more, it ends: the channel of Changes is closed, and the reader must subscribe again.
func (l *Log) Subscribe(buffer int) ([]Episode, *Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Subscription{log: l, changes: make(chan Change, buffer)}
	l.readers[s] = true
	return l.episodes(), s
}

// Changes returns the channel of changes. Their values are shared by all subscribers and must not be changed.
func (s *Subscription) Changes() <-chan Change { return s.changes }

// Close ends the subscription.
func (s *Subscription) Close() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if s.log.readers[s] {
		delete(s.log.readers, s)
		close(s.changes)
	}
}

// Restore adds the episodes of an earlier process before those of this process, unless the log has them already. Open episodes
// remain open and take later effects. Restore is called when a process starts.
func (l *Log) Restore(earlier []Episode) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ours := l.entries
	known := map[string]bool{}
	for _, x := range ours {
		known[x.ID] = true
	}
	l.entries = nil
	for _, e := range earlier {
		if known[e.ID] {
			continue
		}
		if e.Progress == nil {
			e.Progress = map[EffectKind]int{}
		}
		x := &entry{Episode: e}
		if e.State == StateOpen {
			x.reopen()
		}
		l.insert(x)
	}
	l.entries = append(l.entries, ours...)
	l.trim()
	l.version++
}

// reopen restores from the effects of an open episode which NodeClaims it waits for. NodeClaims that were cut at maxList
// are lost. A NodeClaim whose last effect was cut at maxEffects counts as one that it waits for.
func (x *entry) reopen() {
	x.coming, x.leaving, x.nodes, x.noted = map[string]stage{}, map[string]stage{}, map[string]string{}, map[string]bool{}
	over := map[string]bool{}
	for _, f := range x.Effects {
		switch f.Kind {
		case EffectInitialized, EffectFailed, EffectTerminated, EffectCancelled:
			over[f.Object] = true
		}
	}
	for _, c := range x.Launches {
		if !over[ClaimObject(c.Claim)] {
			x.coming[c.Claim] = 2 // all effects before initialized may have been recorded, and cut from Effects
		}
	}
	for _, r := range x.Removals {
		if !over[ClaimObject(r.Claim)] {
			x.leaving[r.Claim] = 1
			if r.Node != "" {
				x.nodes[r.Node] = r.Claim
			}
		}
	}
}

// ClaimObject returns the Object of an effect on the NodeClaim.
func ClaimObject(name string) string { return "nodeclaim " + name }

// OpenClaims returns the NodeClaims of open episodes, in the order of their names.
func (l *Log) OpenClaims() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.claims))
}
