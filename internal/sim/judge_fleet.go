package sim

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/launch"
)

// fleetRules are about instances and the claims that they were launched for.
type fleetRules struct {
	*judge
	// launches and terminations count instances. known has the ids that are counted as launched, ended those that are counted
	// as terminated.
	launches, terminations int
	known, ended           map[string]bool
	// carriers[token] has the UIDs of all claims that ever had the launch token, also of deleted claims. A launch token makes
	// the launch for a claim idempotent. living has the UIDs of the claims that exist. lost has the claims with a
	// token that a fault removed without regard to their finalizers: the id of the instance that each left, empty if that is not known.
	carriers map[string]map[types.UID]bool
	living   map[types.UID]bool
	lost     map[types.UID]string
}

func newFleetRules(j *judge) fleetRules {
	return fleetRules{
		judge: j, known: map[string]bool{}, ended: map[string]bool{}, carriers: map[string]map[types.UID]bool{},
		living: map[types.UID]bool{}, lost: map[types.UID]string{},
	}
}

// idOf returns the id of the instance of a claim, empty if it has none.
func idOf(c *apiv1.NodeClaim) string {
	return c.Status.ProviderID[strings.LastIndex(c.Status.ProviderID, "/")+1:]
}

// idsOf returns the ids of the instances in the parameters of a call.
func idsOf(body []byte) (ids []string) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(form)) {
		if strings.HasPrefix(key, "InstanceId.") {
			ids = append(ids, form.Get(key))
		}
	}
	return ids
}

// written records the launch token of a claim that is written, and checks the instances of a claim that is removed.
func (f *fleetRules) written(before, after client.Object) {
	switch c := after.(type) {
	case *apiv1.NodeClaim:
		f.living[c.UID] = true
		if r, ok := launch.RecordOf(c); ok {
			if f.carriers[r.Token] == nil {
				f.carriers[r.Token] = map[types.UID]bool{}
			}
			f.carriers[r.Token][c.UID] = true
		}
	case nil:
		if c, ok := before.(*apiv1.NodeClaim); ok {
			f.gone(c)
		}
	}
}

// gone checks that the instance of a claim ended before the claim was removed. It also counts the instances of the launch, because
// the status of a claim may lack its instance: each claim that exists may have one. So may each lost claim, whose removal no
// finalizer delayed. Garbage collection ends the instance of a lost claim, which ruleOrphan checks.
func (f *fleetRules) gone(c *apiv1.NodeClaim) {
	delete(f.living, c.UID)
	r, launched := launch.RecordOf(c)
	if f.writer() == "" { // a user or a fault removed it
		if launched {
			f.lost[c.UID] = f.left(c, r.Token)
		}
		return
	}
	for id, i := range f.world.account.instances() {
		if exists(i) && id == idOf(c) {
			f.violate(ruleFinalizers, "claim %s is gone, and its instance %s is %s", c.Name, id, i.State)
		}
	}
	if !launched {
		return
	}
	group := f.groupOf(r.Token)
	ids, living, lost := f.existing(group), 0, 0
	for uid := range f.claimsOf(group) {
		id, isLost := f.lost[uid]
		switch {
		case f.living[uid]:
			living++
		case isLost && (id == "" || slices.Contains(ids, id)):
			lost++
		}
	}
	if len(ids) > living+lost {
		f.violate(ruleFinalizers, "claim %s is gone, and the instances %v that were launched for it, %d others and %d lost ones exist",
			c.Name, ids, living, lost)
	}
}

// left returns the id of the instance that a lost claim leaves without a claim. It is empty if the status of the claim, or that of
// another claim of the same launch, lacks the instance. In the second case that claim may get the instance of the lost one.
func (f *fleetRules) left(c *apiv1.NodeClaim, token string) string {
	claims := f.claimsOf(f.groupOf(token))
	for _, other := range kubeapi.List[*apiv1.NodeClaim](f.world.platform.server) {
		if claims[other.UID] && idOf(other) == "" {
			return ""
		}
	}
	return idOf(c)
}

// groupOf returns all tokens that are connected by claims that carried several of them.
func (f *fleetRules) groupOf(token string) map[string]bool {
	group := map[string]bool{token: true}
	for grown := true; grown; {
		grown = false
		claims := f.claimsOf(group)
		for t, uids := range f.carriers {
			if group[t] {
				continue
			}
			for uid := range uids {
				if claims[uid] {
					group[t], grown = true, true
				}
			}
		}
	}
	return group
}

// claimsOf returns the claims that ever carried one of the tokens.
func (f *fleetRules) claimsOf(tokens map[string]bool) map[types.UID]bool {
	out := map[types.UID]bool{}
	for t := range tokens {
		maps.Copy(out, f.carriers[t])
	}
	return out
}

// existing returns the instances of the tokens that are neither being terminated nor terminated, in the order of their ids.
func (f *fleetRules) existing(tokens map[string]bool) (ids []string) {
	for id, i := range f.world.account.instances() {
		if exists(i) && tokens[i.Tags[instances.TagLaunch]] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// look checks that every instance has a claim and no claim has two, and that claims describe their instances.
func (f *fleetRules) look() {
	f.count()
	all := f.world.account.instances()
	claims := map[string]*apiv1.NodeClaim{} // by id of the instance
	for _, c := range kubeapi.List[*apiv1.NodeClaim](f.world.platform.server) {
		if id := idOf(c); id != "" {
			claims[id] = c
			if i, ok := all[id]; ok {
				f.described(c, i)
				f.tagged(c, i)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		i := all[id]
		if exists(i) && claims[id] == nil && !f.kept(i) && f.lasts(ruleOrphan, id) > periodicBound {
			f.violate(ruleOrphan, "instance %s (tags %v) has had no claim for %s", id, i.Tags, periodicBound)
		}
		f.notice(i, claims[id])
	}
	f.lookAtStrangers()
}

// kept reports whether the node of an instance is Ready and has pods, also terminating ones, apart from DaemonSet pods and static
// pods, or is being deleted and has volumes. Such an instance is not ended without a claim.
func (f *fleetRules) kept(i control.Instance) bool {
	server := f.world.platform.server
	n, ok := kubeapi.Find[*corev1.Node](server, "", i.Node)
	if !ok || !nodeReady(n) {
		return false
	}
	ofNode := func(a *storagev1.VolumeAttachment) bool { return a.Spec.NodeName == n.Name }
	if n.DeletionTimestamp != nil && slices.ContainsFunc(kubeapi.List[*storagev1.VolumeAttachment](server), ofNode) {
		return true
	}
	return slices.ContainsFunc(kubeapi.List[*corev1.Pod](server), func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return p.Spec.NodeName == n.Name && !ended(p) &&
			(owner == nil || owner.Kind != "DaemonSet" && owner.Kind != "Node")
	})
}

func (f *fleetRules) lookAtStrangers() {
	states := map[string]string{}
	for _, i := range f.world.account.emulator.Instances() {
		states[i.ID] = i.State
	}
	for _, id := range f.world.account.strangers {
		if states[id] != "running" && states[id] != "pending" {
			f.violate(ruleStrangers, "instance %s, which is not the operator's, is %q", id, states[id])
		}
	}
	if len(f.world.account.emulator.Profiles(strangeProfiles)) == 0 {
		f.violate(ruleStrangers, "the instance profile of another cluster is gone")
	}
}

// count counts launches and terminations, and checks that no more instances run than claims were launched.
func (f *fleetRules) count() {
	tokens := map[string]bool{}
	for id, i := range f.world.account.instances() {
		if !exists(i) {
			if !f.ended[id] {
				f.ended[id] = true
				f.terminations++
			}
			continue
		}
		if !f.known[id] {
			f.known[id] = true
			f.launches++
			f.instances.launched(id)
			tokens[i.Tags[instances.TagLaunch]] = true
		}
	}
	for _, token := range slices.Sorted(maps.Keys(tokens)) {
		group := f.groupOf(token)
		if ids, claims := f.existing(group), f.claimsOf(group); len(ids) > len(claims) {
			f.violate(ruleOnce, "instances %v run at the same time, and were launched for %d claims", ids, len(claims))
		}
	}
}

// described checks that the labels of a claim and of its node match the type, zone and capacity type of its instance.
func (f *fleetRules) described(c *apiv1.NodeClaim, i control.Instance) {
	want := map[string]string{
		corev1.LabelInstanceTypeStable: i.Type, corev1.LabelTopologyZone: i.Zone, apiv1.CapacityTypeLabelKey: i.Capacity,
	}
	if c.DeletionTimestamp != nil && c.Labels[corev1.LabelInstanceTypeStable] == "" {
		return // the instance of a claim that was deleted before its launch was known
	}
	check := func(kind, name string, labels map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if key == apiv1.CapacityTypeLabelKey && labels[key] == apiv1.CapacityTypeReserved && f.lasts(ruleDescribed, kind+" "+name) < periodicBound {
				continue // its reservation may just have ended
			}
			if labels[key] != want[key] {
				f.violate(ruleDescribed, "%s %s has %s=%s, and its instance %s has %s", kind, name, key, labels[key], i.ID, want[key])
			}
		}
	}
	check("claim", c.Name, c.Labels)
	n, ok := kubeapi.Find[*corev1.Node](f.world.platform.server, "", i.Node)
	if !ok {
		return
	}
	if n.Labels[apiv1.NodeRegisteredLabelKey] == "true" {
		if _, labelled := n.Labels[awsv1.LabelPlacementGroupPartition]; labelled && i.Partition > 0 {
			want[awsv1.LabelPlacementGroupPartition] = strconv.Itoa(i.Partition)
		}
		check("node", n.Name, n.Labels)
		if c.Status.NodeName != n.Name && c.DeletionTimestamp == nil && f.lasts(ruleDescribed, c.Name) > periodicBound {
			f.violate(ruleDescribed, "claim %s names the node %q, and its instance is node %s", c.Name, c.Status.NodeName, n.Name)
		}
		if of, has := c.Status.Capacity.Pods(), n.Status.Capacity.Pods(); !of.IsZero() && !has.IsZero() && of.Cmp(*has) != 0 {
			f.violate(ruleDescribed, "claim %s has room for %s pods, and its node %s for %s", c.Name, of, n.Name, has)
		}
		f.reserves(c, n)
	}
}

// tagged checks that an instance gets a tag with the name of its claim once its node is known.
func (f *fleetRules) tagged(c *apiv1.NodeClaim, i control.Instance) {
	if c.Status.NodeName == "" || c.DeletionTimestamp != nil || !alive(i) || i.Tags[awsv1.TagNodeClaim] == c.Name {
		return
	}
	if f.lasts(ruleTagged, c.Name) > periodicBound {
		f.violate(ruleTagged, "instance %s of claim %s has the tags %v", i.ID, c.Name, i.Tags)
	}
}

// sameReserve is how much the reserved memory of a NodeClaim and of its node may differ. Some reserves are a share of the memory, which a
// NodeClaim estimates.
const sameReserve = 128 << 20

// reserves checks that as much CPU and memory are reserved on a node as its claim says. The reserve is the capacity that is not allocatable.
func (f *fleetRules) reserves(c *apiv1.NodeClaim, n *corev1.Node) {
	of := func(capacity, allocatable corev1.ResourceList, r corev1.ResourceName) int64 {
		all, free := capacity[r], allocatable[r]
		return all.MilliValue() - free.MilliValue()
	}
	if c.Status.Capacity.Cpu().IsZero() || n.Status.Capacity.Cpu().IsZero() {
		return
	}
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		claim, node := of(c.Status.Capacity, c.Status.Allocatable, r), of(n.Status.Capacity, n.Status.Allocatable, r)
		apart := max(claim-node, node-claim)
		if r == corev1.ResourceCPU && apart > 0 || apart > 1000*sameReserve {
			f.violate(ruleDescribed, "of the %s of claim %s %dm are reserved, and of that of its node %s %dm", r, c.Name, claim, n.Name, node)
		}
	}
}

// followed is how long the operator may take until it deletes a claim because of a notice of the cloud.
const followed = 90 * time.Second

// kept is how long the queue keeps a message.
const kept = 5 * time.Minute

// notice checks that the claim of an instance that the cloud will end is deleted in time. It does not check if a fault left too little
// time to read the message from the queue.
func (f *fleetRules) notice(i control.Instance, c *apiv1.NodeClaim) {
	at, ok := f.world.account.noticed[i.ID]
	if !ok || c == nil || !exists(i) || c.DeletionTimestamp != nil {
		return
	}
	if f.world.faults.hampered.Sub(at) >= kept-followed {
		return
	}
	if passed := time.Since(at); min(passed, f.unhampered()) > followed {
		f.violate(ruleNotices, "the cloud ends instance %s of claim %s, which it said %s ago, and the claim is not being deleted", i.ID, c.Name, passed.Round(time.Second))
	}
}

// ends checks a termination before it is carried out: no claim needs the instance any more, and its node is drained. An instance that no
// claim has in its status may be that of any claim of its launch.
func (f *fleetRules) ends(who, id string) {
	i, ok := f.world.account.instances()[id]
	if !ok || !exists(i) {
		return
	}
	token := i.Tags[instances.TagLaunch]
	waiting := map[types.UID]bool{}
	recorded := false // by a claim that is being deleted
	for _, c := range kubeapi.List[*apiv1.NodeClaim](f.world.platform.server) {
		if idOf(c) == id && c.DeletionTimestamp == nil && !f.nodeDeleting(c) {
			f.violate(ruleEnds, "%s ends instance %s, and its claim %s is not being deleted", who, id, c.Name)
			return
		}
		recorded = recorded || idOf(c) == id
		if r, ok := launch.RecordOf(c); ok && r.Token == token && c.DeletionTimestamp == nil {
			waiting[c.UID] = true
		}
	}
	if ids := f.existing(map[string]bool{token: true}); !recorded && token != "" && len(ids) <= len(waiting) {
		f.violate(ruleEnds, "%s ends instance %s, one of %d that were launched for %d claims that are not being deleted", who, id, len(ids), len(waiting))
		return
	}
	f.drains.end(who, i)
}

// nodeDeleting reports whether the node of a claim is being deleted.
func (f *fleetRules) nodeDeleting(c *apiv1.NodeClaim) bool {
	n, ok := kubeapi.Find[*corev1.Node](f.world.platform.server, "", c.Status.NodeName)
	return ok && n.DeletionTimestamp != nil
}
