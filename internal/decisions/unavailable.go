package decisions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// UnavailableKey is the key of the offerings that cannot be launched now, as JSON of an Unavailable.
	UnavailableKey = "unavailable"
	// maxUnavailable bounds the names of instance types in an Unavailable, in bytes.
	maxUnavailable = 128 << 10
)

// Unavailable are the offerings that cannot be launched now: the cloud has no capacity, a quota is used up, or no
// NodePool can use them.
type Unavailable struct {
	// Groups are in the order of capacity type, zone and quota.
	Groups []UnavailableGroup `json:"groups"`
	// Omitted is the number of offerings that were left out to bound the length.
	Omitted int `json:"omitted,omitempty"`
}

// An UnavailableGroup has the unavailable offerings with the same capacity type, zone and Quota.
type UnavailableGroup struct {
	CapacityType string `json:"capacityType"`
	Zone         string `json:"zone"`
	// Quota is the quota that is used up, empty if the offerings are unavailable for another reason.
	Quota string `json:"quota,omitempty"`
	// Types are names of instance types, in alphabetical order.
	Types []string `json:"types"`
}

// NewUnavailable returns the unavailable offerings of the types, which are by NodePool. An offering counts if it is
// unavailable in each NodePool whose types have it. Offerings of capacity reservations do not count, because their
// reservations say how many instances are left. Offerings without a price do not count either, because a NodeOverlay may
// give them one.
func NewUnavailable(types map[string][]*model.InstanceType) Unavailable {
	found, usable := map[offeringKey]string{}, map[offeringKey]bool{}
	for _, list := range types {
		for _, t := range list {
			for i := range t.Offerings {
				o := &t.Offerings[i]
				key := offeringKey{o.CapacityType, o.Zone, t.Name}
				switch {
				case o.ReservationID != "" || o.Unpriced:
				case o.Available:
					usable[key] = true
				default:
					found[key] = max(found[key], o.Quota)
				}
			}
		}
	}
	maps.DeleteFunc(found, func(key offeringKey, _ string) bool { return usable[key] })
	keys := slices.SortedFunc(maps.Keys(found), func(a, b offeringKey) int {
		return cmp.Or(cmp.Compare(a.capacityType, b.capacityType), cmp.Compare(a.zone, b.zone), cmp.Compare(found[a], found[b]),
			cmp.Compare(a.typeName, b.typeName))
	})
	out, size := Unavailable{Groups: []UnavailableGroup{}}, 0
	for i, key := range keys {
		if size += len(key.typeName) + len(`"",`); size > maxUnavailable {
			out.Omitted = len(keys) - i
			break
		}
		last := len(out.Groups) - 1
		if last < 0 || out.Groups[last].CapacityType != key.capacityType || out.Groups[last].Zone != key.zone || out.Groups[last].Quota != found[key] {
			out.Groups = append(out.Groups, UnavailableGroup{CapacityType: key.capacityType, Zone: key.zone, Quota: found[key]})
			last++
		}
		out.Groups[last].Types = append(out.Groups[last].Types, key.typeName)
	}
	return out
}

// An offeringKey names an offering that is not of a capacity reservation.
type offeringKey struct{ capacityType, zone, typeName string }

// Encode returns u as JSON.
func (u Unavailable) Encode() string {
	data, err := json.Marshal(u)
	if err != nil {
		panic(fmt.Sprintf("encode unavailable offerings: %v", err)) // texts and numbers can be encoded
	}
	return string(data)
}

// DecodeUnavailable returns the offerings of a text that Encode made. It ignores unknown fields, so that it can read the
// text of a newer controller. The empty text has no offerings.
func DecodeUnavailable(text string) (u Unavailable, err error) {
	if text == "" {
		return u, nil
	}
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		return Unavailable{}, fmt.Errorf("decode %s: %w", UnavailableKey, err)
	}
	return u, nil
}

// Apply returns the types, which are by NodePool, with the offerings of u as unavailable. It does not change the given
// types, and returns the same map if u is empty. Offerings of capacity reservations stay as they are.
func (u Unavailable) Apply(types map[string][]*model.InstanceType) map[string][]*model.InstanceType {
	if len(u.Groups) == 0 {
		return types
	}
	quotas := map[offeringKey]string{}
	for _, g := range u.Groups {
		for _, name := range g.Types {
			quotas[offeringKey{g.CapacityType, g.Zone, name}] = g.Quota
		}
	}
	changed := map[*model.InstanceType]*model.InstanceType{} // NodePools may share types
	apply := func(t *model.InstanceType) *model.InstanceType {
		if known := changed[t]; known != nil {
			return known
		}
		own := t
		for i, o := range t.Offerings {
			quota, ok := quotas[offeringKey{o.CapacityType, o.Zone, t.Name}]
			if !ok || !o.Available || o.ReservationID != "" {
				continue
			}
			if own == t {
				clone := *t
				clone.Offerings = slices.Clone(t.Offerings)
				own = &clone
			}
			own.Offerings[i].Available, own.Offerings[i].Quota = false, quota
		}
		changed[t] = own
		return own
	}
	out := make(map[string][]*model.InstanceType, len(types))
	for pool, list := range types {
		own := make([]*model.InstanceType, len(list))
		for i, t := range list {
			own[i] = apply(t)
		}
		out[pool] = own
	}
	return out
}
