package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// AnnotationLaunch is the annotation with the Record of a claim.
const AnnotationLaunch = instances.TagLaunch

// A Record describes a fleet call. It is stored on each claim of the call before the call is made.
type Record struct {
	// Token is the client token of the call, and the value of TagLaunch on the instances.
	Token string `json:"token"`
	// Count is the requested number of instances.
	Count int `json:"count"`
	// Attempt counts the calls made for these claims, from 1.
	Attempt int `json:"attempt"`
	// Params is a hash of all other parameters of the call.
	Params string `json:"params"`
	// Time is when the record was created, or when the call was repeated last.
	Time time.Time `json:"time"`
	// Source is the node class as it was read for the call. It is zero in records of earlier versions.
	Source Source `json:"source,omitzero"`
}

// A Source is what a NodeClaim states about the node class from which its instance was launched.
type Source struct {
	// Hash is the hash of the node class, and HashVersion the version of the hash.
	Hash        string `json:"hash"`
	HashVersion string `json:"hashVersion"`
	// Profile is the instance profile.
	Profile string `json:"profile"`
}

// newRecord returns the record of a call for the claims with these UIDs.
func newRecord(uids []types.UID, attempt int, params string, now time.Time) Record {
	sorted := slices.Clone(uids)
	slices.Sort(sorted)
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n%s\n", attempt, params)
	for _, u := range sorted {
		fmt.Fprintf(sum, "%s\n", u)
	}
	return Record{
		Token: hex.EncodeToString(sum.Sum(nil))[:40], Count: len(uids), Attempt: attempt, Params: params,
		Time: timeOfRecord(now),
	}
}

// timeOfRecord returns the time in the form in which it is stored.
func timeOfRecord(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// String returns the value of the annotation.
func (r Record) String() string {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("encode launch record %#v: %v", r, err)) // cannot happen: all fields can be encoded
	}
	return string(raw)
}

// RecordOf returns the record of a claim, and false if there is none or it cannot be parsed.
func RecordOf(claim *apiv1.NodeClaim) (Record, bool) {
	var r Record
	text, ok := claim.Annotations[AnnotationLaunch]
	if !ok || json.Unmarshal([]byte(text), &r) != nil || r.Token == "" {
		return Record{}, false
	}
	return r, true
}

// A callClaim is a claim with the token of a fleet call, and the instance that it already has.
type callClaim struct {
	UID      types.UID
	Instance string // empty if none is known yet
}

// claimsOf returns those of the claims whose record has the token.
func claimsOf(token string, claims []apiv1.NodeClaim) []callClaim {
	var out []callClaim
	for i := range claims {
		r, ok := RecordOf(&claims[i])
		if !ok || r.Token != token {
			continue
		}
		_, id, _ := instances.ParseProviderID(claims[i].Status.ProviderID)
		out = append(out, callClaim{UID: claims[i].UID, Instance: id})
	}
	return out
}

// assign assigns the instances of one call to the claims with its token. Claims that have an instance keep it. The other
// claims, in order of their UIDs, get the other instances in order of their IDs. If there are more claims or more instances,
// the last ones are not assigned.
func assign(claims []callClaim, ids []string) map[types.UID]string {
	free := map[string]bool{}
	for _, id := range ids {
		free[id] = true
	}
	out := map[types.UID]string{}
	var waiting []types.UID
	for _, c := range claims {
		if c.Instance == "" {
			waiting = append(waiting, c.UID)
			continue
		}
		out[c.UID] = c.Instance
		delete(free, c.Instance)
	}
	slices.Sort(waiting)
	left := slices.Sorted(maps.Keys(free))
	for n, uid := range waiting[:min(len(waiting), len(left))] {
		out[uid] = left[n]
	}
	return out
}
