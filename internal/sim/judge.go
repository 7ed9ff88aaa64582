package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// The invariants. docs/reliability.md states each in one sentence.
const (
	rulePodsRun    = "pods-run"
	ruleOrphan     = "no-orphan-instance"
	ruleOnce       = "launched-once"
	ruleStrangers  = "only-own-instances"
	ruleBudget     = "budgets"
	ruleEviction   = "evictions-are-allowed"
	ruleLimits     = "limits"
	ruleQuiet      = "settled-is-quiet"
	ruleNoPanic    = "no-internal-error"
	ruleFinalizers = "instances-end-before-claims"
)

const (
	// sweep is how long garbage may stay: the interval of the collections, the age below which they leave things alone, and
	// the delays of calls.
	sweep = 4 * time.Minute
	// recovery is how long the operator has after the last fault until all pods run.
	recovery = 10 * time.Minute
	// settled is how long after the last fault nothing may move any more. Consolidation waits for consolidateAfter, and checks
	// every candidate once more.
	settled = 25 * time.Minute
	// pace is how often the judge looks at the whole world.
	pace = 10 * time.Second
)

// judge checks the invariants.
type judge struct {
	world      *World
	mu         sync.Mutex // guards errors, which goroutines of the operator add to
	errors     []string
	violations []Violation
	began      time.Time

	// since is when each thing that may not last was first seen, by rule and name.
	since map[string]time.Time
	// strangers are instances that are not the operator's.
	strangers []string
	// marked are the nodes that are disrupted voluntarily, with the reason.
	marked map[string]string
	// launches and terminations count instances, disruptions nodes. ended has the ids of instances that were counted.
	launches, terminations, disruptions int
	ended                               map[string]bool
}

func newJudge(w *World) *judge {
	return &judge{world: w, began: time.Now(), since: map[string]time.Time{}, marked: map[string]string{}, ended: map[string]bool{}}
}

// violate notes a violation.
func (j *judge) violate(rule, format string, args ...any) {
	j.violations = append(j.violations, Violation{At: time.Since(j.began), Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// start makes the judge look at the world again and again until end.
func (j *judge) start(end time.Time) {
	var look func()
	look = func() {
		if len(j.violations) > 0 {
			return
		}
		j.look()
		if time.Now().Add(pace).Before(end) {
			j.world.driver.After(pace, look)
		}
	}
	j.world.driver.After(pace, look)
}

// calm returns for how long no fault has been active.
func (j *judge) calm() time.Duration {
	if len(j.world.starting) > 0 || len(j.world.replicas) == 0 {
		return 0
	}
	return time.Since(j.world.disturbed)
}

// lasts notes that something holds now, and returns for how long it has held without any fault.
func (j *judge) lasts(rule, name string, seen map[string]bool) time.Duration {
	k := rule + " " + name
	seen[k] = true
	if j.since[k].IsZero() {
		j.since[k] = time.Now()
	}
	return min(time.Since(j.since[k]), j.calm())
}

// look checks what can be seen at any time.
func (j *judge) look() {
	j.mu.Lock()
	for _, e := range j.errors {
		j.violate(ruleNoPanic, "%s", e)
	}
	j.errors = nil
	j.mu.Unlock()
	seen := map[string]bool{}
	instances := j.world.Emulator.Instances()
	j.lookAtInstances(instances, seen)
	j.lookAtPods(seen)
	for k := range j.since {
		if !seen[k] {
			delete(j.since, k)
		}
	}
}

func alive(i control.Instance) bool { return i.State == "pending" || i.State == "running" }

// lookAtInstances checks that every instance has a claim and no claim has two.
func (j *judge) lookAtInstances(instances []control.Instance, seen map[string]bool) {
	claimed := map[string]bool{} // ids of instances
	for _, c := range kubeapi.List[*apiv1.NodeClaim](j.world.Server) {
		claimed[c.Status.ProviderID[strings.LastIndex(c.Status.ProviderID, "/")+1:]] = true
	}
	byClaim := map[string][]string{}
	states := map[string]string{}
	for _, i := range instances {
		states[i.ID] = i.State
		if slices.Contains(j.strangers, i.ID) {
			continue
		}
		name := i.Tags["karpenter.sh/nodeclaim"]
		if !alive(i) {
			if !j.ended[i.ID] {
				j.ended[i.ID] = true
				j.terminations++
			}
			continue
		}
		if !j.ended["launched "+i.ID] {
			j.ended["launched "+i.ID] = true
			j.launches++
		}
		byClaim[name] = append(byClaim[name], i.ID)
		if !claimed[i.ID] && j.lasts(ruleOrphan, i.ID, seen) > sweep {
			j.violate(ruleOrphan, "instance %s (tags %v) has had no claim for %s", i.ID, i.Tags, sweep)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byClaim)) {
		if ids := byClaim[name]; name != "" && len(ids) > 1 && j.lasts(ruleOnce, name, seen) > sweep {
			j.violate(ruleOnce, "claim %s has instances %v", name, ids)
		}
	}
	for _, id := range j.strangers {
		if states[id] != "running" && states[id] != "pending" {
			j.violate(ruleStrangers, "instance %s, which is not the operator's, is %q", id, states[id])
		}
	}
}

// lookAtPods checks that all pods run some time after the last fault.
func (j *judge) lookAtPods(seen map[string]bool) {
	if j.calm() < recovery {
		return
	}
	for _, p := range kubeapi.List[*corev1.Pod](j.world.Server) {
		if p.Annotations[expectPending] != "" || p.Spec.NodeName != "" && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodPending {
			continue
		}
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if p.DeletionTimestamp != nil && j.world.dark[p.Spec.NodeName] && !j.leaving(p.Spec.NodeName) {
			continue // its kubelet is silent, and without node repair nothing ends it
		}
		if j.lasts(rulePodsRun, p.Namespace+"/"+p.Name+" "+string(p.UID), seen) > recovery {
			j.violate(rulePodsRun, "pod %s/%s is %s on node %q, deletion %v: %s", p.Namespace, p.Name, p.Status.Phase, p.Spec.NodeName, p.DeletionTimestamp, scheduled(p))
		}
	}
}

// leaving reports whether the claim of a node is being deleted.
func (j *judge) leaving(node string) bool {
	c := j.claimOf(node)
	return c == nil || c.DeletionTimestamp != nil
}

// expectPending is the annotation of pods that no node can run.
const expectPending = "sim/expect-pending"

func scheduled(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Message
		}
	}
	return ""
}

// call checks a call of a replica before it is carried out.
func (j *judge) call(l *link, q *kubeapi.Request) {
	parts := strings.Split(strings.Trim(q.Path, "/"), "/")
	if len(parts) < 6 || parts[4] != "pods" {
		return
	}
	pod, ok := kubeapi.Find[*corev1.Pod](j.world.Server, parts[3], parts[5])
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	evicts := len(parts) == 7 && parts[6] == "eviction"
	deletes := q.Method == http.MethodDelete
	if !evicts && !deletes {
		return
	}
	deadline, hasDeadline := j.deadline(pod.Spec.NodeName)
	grace := time.Duration(awssdk.ToInt64(pod.Spec.TerminationGracePeriodSeconds)) * time.Second
	due := hasDeadline && !time.Now().Add(grace).Before(deadline.Add(-2*time.Second))
	switch {
	case due:
	case deletes && pod.DeletionTimestamp == nil && !j.lost(pod.Spec.NodeName):
		j.violate(ruleEviction, "%s deletes pod %s, which bypasses PodDisruptionBudgets, and its node %s has no deadline that is near", l.name, pod.Name, pod.Spec.NodeName)
	case evicts && pod.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true":
		j.violate(ruleEviction, "%s evicts pod %s of node %s, which has the annotation %s", l.name, pod.Name, pod.Spec.NodeName, apiv1.DoNotDisruptAnnotationKey)
	}
}

// claimOf returns the claim of a node.
func (j *judge) claimOf(node string) *apiv1.NodeClaim {
	for _, c := range kubeapi.List[*apiv1.NodeClaim](j.world.Server) {
		if c.Status.NodeName == node {
			return c
		}
	}
	return nil
}

// deadline returns when a node's drain ends by force.
func (j *judge) deadline(node string) (time.Time, bool) {
	c := j.claimOf(node)
	if c == nil {
		return time.Time{}, false
	}
	if t, err := time.Parse(time.RFC3339, c.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]); err == nil {
		return t, true
	}
	grace, began := c.Spec.TerminationGracePeriod, c.DeletionTimestamp
	if n, ok := kubeapi.Find[*corev1.Node](j.world.Server, "", node); ok && began == nil {
		began = n.DeletionTimestamp
	}
	if grace == nil || began == nil {
		return time.Time{}, false
	}
	return began.Add(grace.Duration), true
}

// lost reports whether a node's instance does not run any more.
func (j *judge) lost(node string) bool {
	for _, i := range j.world.Emulator.Instances() {
		if i.Node == node && i.State == "running" {
			return false
		}
	}
	return true
}

// written checks a change of an object.
func (j *judge) written(before, after client.Object) {
	switch o := after.(type) {
	case *corev1.Node:
		j.nodeWritten(before, o)
	case *apiv1.NodeClaim:
		j.claimWritten(before, o)
	case nil:
		if c, ok := before.(*apiv1.NodeClaim); ok {
			j.claimGone(c)
		}
		if n, ok := before.(*corev1.Node); ok {
			delete(j.marked, n.Name)
		}
	}
	if j.world.writer != "" && after != nil && j.world.faults.quiet() && j.calm() > settled && !j.expires() {
		switch after.(type) {
		case *corev1.Event, *corev1.ConfigMap:
		default:
			if !lease(after) {
				j.violate(ruleQuiet, "%s writes %T %s, %s after the last event", j.world.writer, after, after.GetName(), j.calm().Round(time.Second))
			}
		}
	}
}

// expires reports whether nodes of a pool expire within a simulation. Such a world never settles.
func (j *judge) expires() bool {
	return slices.ContainsFunc(kubeapi.List[*apiv1.NodePool](j.world.Server), func(p *apiv1.NodePool) bool {
		d := p.Spec.Template.Spec.ExpireAfter.Duration
		return d != nil && *d < 24*time.Hour
	})
}

// nodeWritten checks the budgets when a node is marked for disruption.
func (j *judge) nodeWritten(before client.Object, n *corev1.Node) {
	was, _ := before.(*corev1.Node)
	if !hasTaint(n, apiv1.DisruptedTaintKey) {
		delete(j.marked, n.Name)
		return
	}
	if was != nil && hasTaint(was, apiv1.DisruptedTaintKey) || j.world.writer == "" {
		return
	}
	c := j.claimOf(n.Name)
	if c == nil || c.DeletionTimestamp != nil {
		return // not voluntary, or decided before
	}
	reason := ""
	for _, cond := range c.Status.Conditions {
		if cond.Type == apiv1.ConditionTypeDisruptionReason && cond.Status == "True" {
			reason = cond.Reason
		}
	}
	j.marked[n.Name] = reason
	j.disruptions++
	if voluntary[reason] {
		j.checkBudget(n, c, reason)
	}
}

// voluntary are the reasons that budgets bound.
var voluntary = map[string]bool{"Underutilized": true, "Empty": true, "Drifted": true, "Unhealthy": true}

func hasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// checkBudget checks that no more nodes of a pool are marked than its budgets allow.
func (j *judge) checkBudget(n *corev1.Node, c *apiv1.NodeClaim, reason string) {
	name := c.Labels[apiv1.NodePoolLabelKey]
	pool, ok := kubeapi.Find[*apiv1.NodePool](j.world.Server, "", name)
	if !ok {
		return
	}
	total, marked := 0, 0
	for _, o := range kubeapi.List[*apiv1.NodeClaim](j.world.Server) {
		// A node whose instance is being terminated does not count any more, as upstream has it.
		if o.Labels[apiv1.NodePoolLabelKey] != name || condition.IsTrue(o, apiv1.ConditionTypeInstanceTerminating) {
			continue
		}
		total++
		if voluntary[j.marked[o.Status.NodeName]] {
			marked++
		}
	}
	for _, b := range pool.Spec.Disruption.Budgets {
		if b.Schedule != nil || len(b.Reasons) > 0 && !slices.Contains(b.Reasons, apiv1.DisruptionReason(reason)) {
			continue
		}
		if most := allowed(b.Nodes, total); marked > most {
			j.violate(ruleBudget, "node %s is disrupted (%s), the %dth of pool %s with %d nodes, and a budget is %s", n.Name, reason, marked, name, total, b.Nodes)
		}
	}
}

// allowed returns how many nodes a budget allows. Percentages are rounded up.
func allowed(nodes string, total int) int {
	var n int
	if text, ok := strings.CutSuffix(nodes, "%"); ok {
		fmt.Sscan(text, &n)
		return (total*n + 99) / 100
	}
	fmt.Sscan(nodes, &n)
	return n
}

// claimWritten checks the limits of the pool when a claim has launched.
func (j *judge) claimWritten(before client.Object, c *apiv1.NodeClaim) {
	was, _ := before.(*apiv1.NodeClaim)
	if was != nil && len(was.Status.Capacity) > 0 || len(c.Status.Capacity) == 0 {
		return
	}
	name := c.Labels[apiv1.NodePoolLabelKey]
	pool, ok := kubeapi.Find[*apiv1.NodePool](j.world.Server, "", name)
	if !ok {
		return
	}
	for key, limit := range pool.Spec.Limits {
		var sum resource.Quantity
		for _, o := range kubeapi.List[*apiv1.NodeClaim](j.world.Server) {
			if o.Name == c.Name || o.Labels[apiv1.NodePoolLabelKey] != name {
				continue
			}
			sum.Add(o.Status.Capacity[key])
		}
		sum.Add(c.Status.Capacity[key])
		if sum.Cmp(limit) > 0 {
			j.violate(ruleLimits, "pool %s has %s of %s with claim %s, and its limit is %s", name, sum.String(), key, c.Name, limit.String())
		}
	}
}

// claimGone checks that the instance of a claim ended before the claim went.
func (j *judge) claimGone(c *apiv1.NodeClaim) {
	for _, i := range j.world.Emulator.Instances() {
		if alive(i) && c.Status.ProviderID != "" && strings.HasSuffix(c.Status.ProviderID, "/"+i.ID) {
			j.violate(ruleFinalizers, "claim %s is gone, and its instance %s is %s", c.Name, i.ID, i.State)
		}
	}
}

func lease(o client.Object) bool { return o.GetObjectKind().GroupVersionKind().Kind == "Lease" }

// internalErrors are texts of log lines that tell of a defect.
var internalErrors = []string{"panic", "failed verification", "internal error:"}

// logged reads a line of a replica's log. It may be called from any goroutine.
func (j *judge) logged(who string, line []byte) {
	if !bytes.Contains(line, []byte(`"level":"ERROR"`)) {
		return
	}
	for _, text := range internalErrors {
		if bytes.Contains(line, []byte(text)) {
			var m map[string]any
			detail := string(line)
			if json.Unmarshal(line, &m) == nil {
				detail = fmt.Sprint(m["message"], ": ", m["error"])
			}
			j.mu.Lock()
			j.errors = append(j.errors, who+" logs "+detail)
			j.mu.Unlock()
			return
		}
	}
}

// placeStrangers launches instances that are not the operator's: one without tags, and one of another cluster.
func (j *judge) placeStrangers() error {
	ctx := context.Background()
	images, err := j.world.account.DescribeImages(ctx, &ec2.DescribeImagesInput{
		Owners: []string{"amazon"}, Filters: []ec2types.Filter{{Name: awssdk.String("architecture"), Values: []string{"x86_64"}}},
	})
	if err != nil || len(images.Images) == 0 {
		return fmt.Errorf("list images: %d found, %w", len(images.Images), err)
	}
	subnets, err := j.world.account.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("availability-zone"), Values: []string{"us-east-1a"}}},
	})
	if err != nil || len(subnets.Subnets) == 0 {
		return fmt.Errorf("list subnets: %d found, %w", len(subnets.Subnets), err)
	}
	for _, tags := range [][]ec2types.Tag{nil, {
		{Key: awssdk.String("karpenter.sh/nodepool"), Value: awssdk.String("default")},
		{Key: awssdk.String("karpenter.sh/nodeclaim"), Value: awssdk.String("default-other")},
		{Key: awssdk.String("eks:eks-cluster-name"), Value: awssdk.String("other")},
		{Key: awssdk.String("kubernetes.io/cluster/other"), Value: awssdk.String("owned")},
	}} {
		in := &ec2.RunInstancesInput{
			ImageId: images.Images[0].ImageId, InstanceType: "m5.large", MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
			SubnetId: subnets.Subnets[0].SubnetId,
		}
		if tags != nil {
			in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: tags}}
		}
		out, err := j.world.account.RunInstances(ctx, in)
		if err != nil {
			return fmt.Errorf("launch an instance that is not the operator's: %w", err)
		}
		j.strangers = append(j.strangers, awssdk.ToString(out.Instances[0].InstanceId))
	}
	return nil
}
