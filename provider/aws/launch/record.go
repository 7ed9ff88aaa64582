package launch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// A Carrier is a claim with the token of a call, and the instance that it already has.
type Carrier struct {
	UID      types.UID
	Instance string // empty if none is known yet
}

// Carriers returns the claims whose record has the token.
func Carriers(token string, claims []apiv1.NodeClaim) []Carrier {
	var out []Carrier
	for i := range claims {
		r, ok := RecordOf(&claims[i])
		if !ok || r.Token != token {
			continue
		}
		_, id, _ := instances.ParseProviderID(claims[i].Status.ProviderID)
		out = append(out, Carrier{UID: claims[i].UID, Instance: id})
	}
	return out
}

// Assign assigns the instances of one call to the claims with its token. Claims that have an instance keep it. The other
// claims, in order of their UIDs, get the other instances in order of their IDs. If there are more claims or more instances,
// the last ones are not assigned.
func Assign(carriers []Carrier, ids []string) map[types.UID]string {
	free := map[string]bool{}
	for _, id := range ids {
		free[id] = true
	}
	out := map[types.UID]string{}
	var waiting []types.UID
	for _, c := range carriers {
		if c.Instance == "" {
			waiting = append(waiting, c.UID)
			continue
		}
		out[c.UID] = c.Instance
		delete(free, c.Instance)
	}
	slices.SortFunc(waiting, func(a, b types.UID) int { return cmp.Compare(a, b) })
	left := make([]string, 0, len(free))
	for id := range free {
		left = append(left, id)
	}
	slices.Sort(left)
	for n, uid := range waiting {
		if n < len(left) {
			out[uid] = left[n]
		}
	}
	return out
}
