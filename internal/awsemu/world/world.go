package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// Config describes the account. Zero durations mean no delay.
type Config struct {
	Clock   clock.PassiveClock
	Seed    uint64
	Region  string
	Account string
	Cluster string // name of the EKS cluster, for discovery tags
	Roles   []string
	Catalog *catalog.Catalog
	// Like is the region of the catalogue with the types, zones and prices of Region. It is needed if the catalogue lacks Region;
	// default Region.
	Like string
	// IPv6 gives every subnet a range of IPv6 addresses.
	IPv6 bool
	// Sells are patterns of the types that are offered; empty for all types of the region in the catalogue.
	Sells []string

	// PendingFor is the time for which an instance is pending, StoppingFor the time for which it is stopping, ShuttingFor the time
	// for which it shuts down, and TerminatedFor the time for which it remains visible afterwards.
	PendingFor, StoppingFor, ShuttingFor, TerminatedFor time.Duration
	// HiddenFor is the time for which the describe calls omit a new instance or launch template (eventual consistency).
	HiddenFor time.Duration

	// Deliver receives the JSON of every event that EventBridge would send to the cluster's queue. It is called with the lock of
	// the World held, so it must not call the World. If it is nil, events are dropped.
	Deliver func(body string)
}

// World is the account. It is safe for concurrent use.
type World struct {
	cfg    Config
	region *catalog.Region

	mu           sync.Mutex // guards everything below
	rng          *rand.Rand
	vpc          string
	subnets      []*Subnet
	groups       []SecurityGroup
	images       []Image
	templates    map[string]*Template // by id
	profiles     map[string]*Profile  // by name
	roles        map[string]Role      // by name
	instances    map[string]*Instance // by id
	order        []*Instance          // in order of launch
	nextDue      time.Time            // time of the next work of settle; zero for none
	sequence     int64
	capacity     []CapacityRule
	used         map[Pool]int
	quota        map[string]int // vCPUs by capacity type
	reservations []*Reservation
	placements   []PlacementGroup
	shifts       map[string]Shift // by zone id
	usedVCPU     map[string]int
	prices       []priceChange
	meters       map[string]*meter // by instance id
	metered      []*meter          // in the order of their first reading
	hiddenFor    time.Duration     // Config.HiddenFor, or the value of SetHidden
	// tagsHiddenFor is the time for which the describe calls omit the tags of a new instance.
	tagsHiddenFor time.Duration
	changed       chan struct{}
}

// New creates the network, the images and the roles of the account. It returns an error if the catalogue lacks the
// region.
func New(cfg Config) (*World, error) {
	like := firstSet(cfg.Like, cfg.Region)
	region, ok := cfg.Catalog.Region(like)
	if !ok {
		return nil, fmt.Errorf("find region %q: not in the catalog", like)
	}
	if like != cfg.Region {
		region = region.As(cfg.Region)
	}
	region = region.WithSpot()
	if len(cfg.Sells) > 0 {
		region = region.Only(func(name string) bool {
			return slices.ContainsFunc(cfg.Sells, func(p string) bool { return wire.Match(p, name) })
		})
	}
	w := &World{
		cfg: cfg, region: region, changed: make(chan struct{}, 1),
		rng: rand.New(rand.NewPCG(cfg.Seed, 0x6177_7365_6d75)), //nolint:gosec // repeatable on purpose
	}
	w.buildNetwork()
	w.reset()
	return w, nil
}

// Reset restores the initial state. It keeps the network. Identifiers and addresses continue, so that new objects do not get
// those of old ones.
func (w *World) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reset()
	w.notify()
}

func (w *World) reset() {
	w.templates = map[string]*Template{}
	w.profiles = map[string]*Profile{}
	w.roles = map[string]Role{}
	w.instances = map[string]*Instance{}
	w.order, w.nextDue, w.sequence = nil, time.Time{}, 0
	w.meters, w.metered = map[string]*meter{}, nil
	w.capacity, w.used = nil, map[Pool]int{}
	w.quota, w.usedVCPU = map[string]int{}, map[string]int{}
	w.prices, w.hiddenFor, w.tagsHiddenFor = nil, w.cfg.HiddenFor, 0
	w.reservations, w.placements, w.shifts = nil, nil, map[string]Shift{}
	for _, s := range w.subnets {
		s.Free, s.others, s.used = addressesPerSubnet, 0, map[int]bool{}
	}
	w.images = buildImages(w.cfg.Region)
	for _, name := range w.cfg.Roles {
		w.addRole(name)
	}
}

// Changed returns a channel that is signalled when instances are launched, rebooted or terminated, for loops that wait for the
// clock. Several signals may be merged into one.
func (w *World) Changed() <-chan struct{} { return w.changed }

// notify signals Changed without waiting for a listener.
func (w *World) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// SetHidden changes the time for which the describe calls omit new objects. It also applies to objects that exist already.
func (w *World) SetHidden(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hiddenFor = max(0, d)
}

// SetTagsHidden changes the time for which the describe calls return an instance without its tags, so that no filter by a tag
// matches it. It also applies to instances that exist already.
func (w *World) SetTagsHidden(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tagsHiddenFor = max(0, d)
}

// Wake signals Changed, so that machines are checked again.
func (w *World) Wake() { w.notify() }

// Region returns the name of the region.
func (w *World) Region() string { return w.cfg.Region }

// Partition returns the AWS partition of the region, as in ARNs.
func (w *World) Partition() string {
	switch {
	case strings.HasPrefix(w.cfg.Region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(w.cfg.Region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// Domain returns the domain of AWS services in the partition.
func (w *World) Domain() string {
	if w.Partition() == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// Account returns the account's ID.
func (w *World) Account() string { return w.cfg.Account }

// Zones returns the zones of the region, sorted by name.
func (w *World) Zones() []catalog.Zone { return w.region.Zones }

// Offers returns the offers of the region by type.
func (w *World) Offers() map[string]catalog.Offer { return w.region.Offers }

// Type returns the properties of a type that is offered in the region.
func (w *World) Type(name string) (*catalog.Type, bool) {
	if _, ok := w.region.Offers[name]; !ok {
		return nil, false
	}
	return w.cfg.Catalog.Type(name)
}

// Types returns the properties of all types that are offered in the region, sorted by name.
func (w *World) Types() []*catalog.Type {
	var out []*catalog.Type
	for i := range w.cfg.Catalog.Types {
		t := &w.cfg.Catalog.Types[i]
		if _, ok := w.region.Offers[t.Name]; ok {
			out = append(out, t)
		}
	}
	return out
}

// NewID returns an identifier such as lt-0123456789abcdef0.
func (w *World) NewID(prefix string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newID(prefix)
}

func (w *World) newID(prefix string) string {
	return fmt.Sprintf("%s-0%016x", prefix, w.rng.Uint64())
}

// zoneID returns the id of the zone with the name, "" if there is none.
func (w *World) zoneID(name string) string {
	for _, z := range w.region.Zones {
		if z.Name == name {
			return z.ID
		}
	}
	return ""
}

// AnyType returns the properties of a type, even if it is not offered in the region.
func (w *World) AnyType(name string) (*catalog.Type, bool) { return w.cfg.Catalog.Type(name) }
