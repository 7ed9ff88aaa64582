package launch

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// memory is what this process knows of its own launches. The claims it is handed may be older than that.
type memory struct {
	mu       sync.Mutex // guards all below
	launched map[types.UID]instances.Instance
	owner    map[string]types.UID // by instance id
	records  map[types.UID]Record
	// settled are tokens whose call has an outcome, or was never made: repeating it would launch nothing.
	settled map[string]bool
	flights map[types.UID]*batch.Ticket[instances.Instance]
}

func newMemory() *memory {
	return &memory{
		launched: map[types.UID]instances.Instance{}, owner: map[string]types.UID{}, records: map[types.UID]Record{},
		settled: map[string]bool{}, flights: map[types.UID]*batch.Ticket[instances.Instance]{},
	}
}

func (m *memory) of(uid types.UID) (instances.Instance, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.launched[uid]
	return i, ok
}

func (m *memory) give(uid types.UID, i instances.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.launched[uid], m.owner[i.ID] = i, uid
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(uid)
}

// drop forgets all of one claim. The caller holds mu.
func (m *memory) drop(uid types.UID) {
	if i, ok := m.launched[uid]; ok {
		delete(m.owner, i.ID)
	}
	delete(m.launched, uid)
	if r, ok := m.records[uid]; ok {
		delete(m.settled, r.Token)
	}
	delete(m.records, uid)
	delete(m.flights, uid)
}

// record returns the newest record of the claim: ours is newer than what the claim was read with.
func (m *memory) record(claim *apiv1.NodeClaim) (Record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.records[claim.UID]; ok {
		return r, true
	}
	return RecordOf(claim)
}

func (m *memory) note(uids []types.UID, r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range uids {
		m.records[u] = r
	}
	delete(m.settled, r.Token)
}

func (m *memory) settle(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled[token] = true
}

func (m *memory) isSettled(token string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settled[token]
}

// flight returns the launch of the claim that is on its way, if any.
func (m *memory) flight(uid types.UID) (*batch.Ticket[instances.Instance], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.flights[uid]
	if ok && t.Done() {
		delete(m.flights, uid)
		return nil, false
	}
	return t, ok
}

// depart notes a launch, unless one is on its way already: then it returns that one.
func (m *memory) depart(
	uid types.UID, start func() *batch.Ticket[instances.Instance],
) *batch.Ticket[instances.Instance] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.flights[uid]; ok && !t.Done() {
		return t
	}
	t := start()
	m.flights[uid] = t
	return t
}

// known returns carriers with the instances that this process gave them and that their status does not show yet.
func (m *memory) known(carriers []Carrier) []Carrier {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Carrier, len(carriers))
	for n, c := range carriers {
		if i, ok := m.launched[c.UID]; ok && c.Instance == "" {
			c.Instance = i.ID
		}
		out[n] = c
	}
	return out
}

// keep forgets all claims but those given.
func (m *memory) keep(claims map[types.UID]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, uids := range []map[types.UID]bool{keys(m.launched), keys(m.records), keys(m.flights)} {
		for uid := range uids {
			if t, flying := m.flights[uid]; !claims[uid] && (!flying || t.Done()) {
				m.drop(uid)
			}
		}
	}
	if len(m.records) == 0 {
		clear(m.settled)
	}
}

func keys[V any](m map[types.UID]V) map[types.UID]bool {
	out := make(map[types.UID]bool, len(m))
	for k := range maps.Keys(m) {
		out[k] = true
	}
	return out
}
