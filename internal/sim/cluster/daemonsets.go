package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// daemons is one DaemonSet and its pods by node.
type daemons struct {
	w    *Workloads
	set  *appsv1.DaemonSet
	hash string
	pods map[string][]*corev1.Pod
}

// daemonSet keeps one pod of a DaemonSet on each node whose labels and taints allow it.
func (w *Workloads) daemonSet(now time.Time, r ref) (time.Time, error) {
	set, ok := kubeapi.Find[*appsv1.DaemonSet](w.c.server, r.namespace, r.name)
	if !ok || set.DeletionTimestamp != nil {
		return time.Time{}, nil
	}
	hash, err := hashOf(&set.Spec.Template)
	if err != nil {
		return time.Time{}, err
	}
	d := daemons{w: w, set: set, hash: hash}
	d.group()
	fake := newPod(set, &set.Spec.Template)
	tolerateNodeTaints(&fake.Spec)
	affinity := nodeaffinity.GetRequiredNodeAffinity(fake)
	wanted := map[string]bool{}
	for _, node := range kubeapi.List[*corev1.Node](w.c.server) {
		matches, err := affinity.Match(node)
		if err != nil {
			matches = false
		}
		untolerated := func(effects ...corev1.TaintEffect) bool {
			_, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, fake.Spec.Tolerations,
				func(t *corev1.Taint) bool { return slices.Contains(effects, t.Effect) }, false)
			return found
		}
		wanted[node.Name] = matches && !untolerated(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
		if err := d.place(node.Name, wanted[node.Name], matches && !untolerated(corev1.TaintEffectNoExecute)); err != nil {
			return time.Time{}, err
		}
	}
	if err := d.dropUnbound(wanted); err != nil {
		return time.Time{}, err
	}
	d.group()
	if err := d.update(now, wanted); err != nil {
		return time.Time{}, err
	}
	d.group()
	return d.status(now, wanted)
}

// group reads the pods of the set by the node that they are bound to or made for.
func (d *daemons) group() {
	d.pods = map[string][]*corev1.Pod{}
	for _, pod := range children[*corev1.Pod](d.w.c, d.set.UID) {
		node := TargetNode(pod)
		d.pods[node] = append(d.pods[node], pod)
	}
}

// TargetNode returns the node that a pod of a DaemonSet is bound to, or made for.
func TargetNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, f := range term.MatchFields {
				if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
					return f.Values[0]
				}
			}
		}
	}
	return ""
}

// place creates the pod of a node if it has none and run is true. Otherwise it deletes pods: those that have ended, all but
// one of several, and all if remain is false.
func (d *daemons) place(node string, run, remain bool) error {
	pods := d.pods[node]
	if len(pods) == 0 {
		if !run {
			return nil
		}
		return d.w.create(d.podFor(node))
	}
	running := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	slices.SortStableFunc(running, func(a, b *corev1.Pod) int {
		return cmp.Or(falseFirst(a.Spec.NodeName == "", b.Spec.NodeName == ""), a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time))
	})
	kept := 0
	for _, pod := range running {
		if remain && !terminal(pod) && kept == 0 {
			kept++
			continue
		}
		if err := d.w.delete(pod); err != nil {
			return err
		}
	}
	return nil
}

// podFor returns a new pod for a node.
func (d *daemons) podFor(node string) *corev1.Pod {
	pod := newPod(d.set, &d.set.Spec.Template)
	setLabel(pod, appsv1.ControllerRevisionHashLabelKey, d.hash)
	pod.Spec.Affinity = onNode(pod.Spec.Affinity, node)
	tolerateNodeTaints(&pod.Spec)
	return pod
}

// onNode returns the affinity a, restricted to the node with the name.
func onNode(a *corev1.Affinity, node string) *corev1.Affinity {
	fields := []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}
	if a == nil {
		a = &corev1.Affinity{}
	}
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range required.NodeSelectorTerms {
		required.NodeSelectorTerms[i].MatchFields = fields
	}
	a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	return a
}

// tolerateNodeTaints adds the tolerations that the DaemonSet controller adds to its pods.
func tolerateNodeTaints(spec *corev1.PodSpec) {
	add := func(key string, effect corev1.TaintEffect) {
		t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
		if !slices.ContainsFunc(spec.Tolerations, func(o corev1.Toleration) bool { return o.MatchToleration(&t) }) {
			spec.Tolerations = append(spec.Tolerations, t)
		}
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if spec.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
}

// dropUnbound deletes pods that are not bound and whose node does not exist.
func (d *daemons) dropUnbound(nodes map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(d.pods)) {
		if _, exists := nodes[name]; exists {
			continue
		}
		for _, pod := range d.pods[name] {
			if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
				continue
			}
			if err := d.w.delete(pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// update deletes pods of an older template, at most maxUnavailable at a time. place creates their replacements.
func (d *daemons) update(now time.Time, wanted map[string]bool) error {
	if d.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return nil
	}
	desired := int32(0)
	for _, run := range wanted {
		if run {
			desired++
		}
	}
	var limit *intstr.IntOrString
	if rolling := d.set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		limit = rolling.MaxUnavailable
	}
	allowed, err := scaled(limit, intstr.FromInt32(1), desired, true)
	if err != nil {
		return err
	}
	var old []*corev1.Pod
	for _, node := range slices.Sorted(maps.Keys(wanted)) {
		if !wanted[node] {
			continue
		}
		up := false
		for _, pod := range d.pods[node] {
			if pod.DeletionTimestamp != nil {
				continue
			}
			ok, _ := available(pod, d.set.Spec.MinReadySeconds, now)
			switch stale := pod.Labels[appsv1.ControllerRevisionHashLabelKey] != d.hash; {
			case stale && !ok: // maxUnavailable does not limit the deletion of unavailable pods
				if err := d.w.delete(pod); err != nil {
					return err
				}
			case stale:
				old = append(old, pod)
			}
			up = up || ok
		}
		if !up {
			allowed--
		}
	}
	for _, pod := range old[:max(0, min(int(allowed), len(old)))] {
		if err := d.w.delete(pod); err != nil {
			return err
		}
	}
	return nil
}

// status writes the status of the set.
func (d *daemons) status(now time.Time, wanted map[string]bool) (time.Time, error) {
	s := appsv1.DaemonSetStatus{ObservedGeneration: d.set.Generation}
	var next time.Time
	for _, node := range slices.Sorted(maps.Keys(wanted)) {
		pods := slices.DeleteFunc(slices.Clone(d.pods[node]), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
		if !wanted[node] {
			if len(pods) > 0 {
				s.NumberMisscheduled++
			}
			continue
		}
		s.DesiredNumberScheduled++
		if len(pods) == 0 {
			continue
		}
		n := count(pods[:1], d.set.Spec.MinReadySeconds, now)
		next = earliest(next, n.next)
		s.CurrentNumberScheduled++
		s.NumberReady += n.ready
		s.NumberAvailable += n.available
		if pods[0].Labels[appsv1.ControllerRevisionHashLabelKey] == d.hash {
			s.UpdatedNumberScheduled++
		}
	}
	s.NumberUnavailable = s.DesiredNumberScheduled - s.NumberAvailable
	set := d.set.DeepCopy()
	set.Status = s
	_, err := kubeapi.UpdateStatus(d.w.c.server, set)
	return next, err
}
