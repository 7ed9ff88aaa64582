package offline

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/karpenter-go/karpenter/internal/manifest"
)

// A workload is an object that manages a number of pods, such as a ReplicaSet.
type workload struct {
	object   manifest.Object
	kind     string
	template *corev1.PodTemplateSpec
	selector *metav1.LabelSelector
	// want is the desired number of pods.
	want int
	// names returns the name of the pod number i, from 0, and its labels in addition to those of the template.
	names func(i int) (name string, labels map[string]string)
	// owner is the controller reference of the pods.
	owner metav1.OwnerReference
	// claims are the PersistentVolumeClaims that are created for each pod.
	claims []corev1.PersistentVolumeClaim
	// fixed is true if the pods have fixed numbers, as in a StatefulSet. Then a pod is added for each missing number.
	fixed bool
}

// roster finds the pods of the input that belong to workloads.
type roster struct {
	// byOwner are pods by namespace, kind and name of their controller. Pods of a Deployment are also found by its name.
	byOwner map[string][]*corev1.Pod
	// orphans are the pods without a controller, by namespace.
	orphans map[string][]*corev1.Pod
	taken   map[*corev1.Pod]bool
	names   map[string]bool
}

func newRoster(pods []*corev1.Pod) *roster {
	r := &roster{
		byOwner: map[string][]*corev1.Pod{}, orphans: map[string][]*corev1.Pod{}, taken: map[*corev1.Pod]bool{},
		names: make(map[string]bool, len(pods)),
	}
	for _, p := range pods {
		r.names[p.Namespace+"/"+p.Name] = true
		ref := metav1.GetControllerOfNoCopy(p)
		if ref == nil {
			r.orphans[p.Namespace] = append(r.orphans[p.Namespace], p)
			continue
		}
		r.byOwner[ownerKey(p.Namespace, ref.Kind, ref.Name)] = append(r.byOwner[ownerKey(p.Namespace, ref.Kind, ref.Name)], p)
		if deployment, ok := deploymentOf(p, ref); ok {
			key := ownerKey(p.Namespace, "Deployment", deployment)
			r.byOwner[key] = append(r.byOwner[key], p)
		}
	}
	return r
}

func ownerKey(namespace, kind, name string) string { return namespace + "/" + kind + "/" + name }

// deploymentOf returns the name of the Deployment of the ReplicaSet that owns p: the name of the ReplicaSet without
// the template hash. It returns false if the owner is no ReplicaSet, or its name has no hash. If p has no label with
// the hash, deploymentOf judges by the characters of the name.
func deploymentOf(p *corev1.Pod, ref *metav1.OwnerReference) (string, bool) {
	if ref.Kind != "ReplicaSet" {
		return "", false
	}
	i := strings.LastIndexByte(ref.Name, '-')
	if i <= 0 {
		return "", false
	}
	hash := ref.Name[i+1:]
	if given := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; given != "" {
		return ref.Name[:i], given == hash
	}
	return ref.Name[:i], hash != "" && strings.Trim(hash, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// of returns the pods of w: those that it controls, and those without a controller that it would adopt.
func (r *roster) of(w workload) []*corev1.Pod {
	namespace := w.object.GetNamespace()
	var out []*corev1.Pod
	for _, p := range r.byOwner[ownerKey(namespace, w.kind, w.object.GetName())] {
		if !r.taken[p] {
			r.taken[p] = true
			out = append(out, p)
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(w.selector)
	if err != nil || selector.Empty() {
		return out
	}
	for _, p := range r.orphans[namespace] {
		if !r.taken[p] && selector.Matches(labels.Set(p.Labels)) {
			r.taken[p] = true
			out = append(out, p)
		}
	}
	return out
}

// mostMade bounds how many pods or nodes are created for one object, so that a typing error in a number does not
// exhaust memory.
const mostMade = 1_000_000

// expand returns the pods that the workloads of the input lack. given are the pods of the input.
func (a *assembly) expand(given []*corev1.Pod) []*corev1.Pod {
	r := newRoster(given)
	var out []*corev1.Pod
	for _, w := range a.workloads() {
		if f := faults(&w.template.Spec, "spec.template.spec"); len(f) > 0 {
			for _, one := range f {
				a.errs = append(a.errs, a.set.Error(w.object, w.kind, one[0], one[1]))
			}
			continue
		}
		if w.want > mostMade {
			a.errs = append(a.errs, a.set.Error(w.object, w.kind, "spec", fmt.Sprintf("needs %d pods, at most %d are simulated", w.want, mostMade)))
			continue
		}
		if a.most > 0 && len(out)+w.want > a.most {
			a.errs = append(a.errs, a.set.Error(w.object, w.kind, "spec", fmt.Sprintf("all workloads together may have %d pods here", a.most)))
			continue
		}
		a.limits.admit(&w.template.Spec, w.object.GetNamespace())
		out = append(out, a.missing(w, r)...)
	}
	return out
}

// missing returns the new pods that w needs in addition to its existing ones.
func (a *assembly) missing(w workload, r *roster) []*corev1.Pod {
	there := map[string]bool{}
	have := 0
	for _, p := range r.of(w) {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && (p.DeletionTimestamp == nil || w.fixed) {
			there[p.Name] = true
			have++
		}
	}
	var out []*corev1.Pod
	for i := 0; have < w.want; i++ {
		name, more := w.names(i)
		if there[name] {
			continue
		}
		for n := 0; !w.fixed && r.names[w.object.GetNamespace()+"/"+name]; n++ {
			name = fmt.Sprintf("%s-%d", w.object.GetName(), w.want+i+n)
		}
		r.names[w.object.GetNamespace()+"/"+name] = true
		p := w.pod(name, more)
		a.claim(w, p)
		out = append(out, p)
		have++
	}
	return out
}

// pod returns the pod of w with the name. more are labels in addition to those of the template. All pods of w share
// the spec of the template; claim gives a pod its own list of volumes.
func (w workload) pod(name string, more map[string]string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.object.GetNamespace(), UID: types.UID(w.object.GetNamespace() + "/" + name),
			Labels: w.template.Labels, Annotations: w.template.Annotations,
			OwnerReferences: []metav1.OwnerReference{w.owner},
		},
		Spec: w.template.Spec,
	}
	if len(more) > 0 {
		p.Labels = maps.Clone(more)
		maps.Copy(p.Labels, w.template.Labels)
	}
	return p
}

// claim adds the volumes of one pod of a StatefulSet, and their PersistentVolumeClaims unless they exist.
func (a *assembly) claim(w workload, p *corev1.Pod) {
	if len(w.claims) == 0 {
		return
	}
	p.Spec.Volumes = slices.Clone(p.Spec.Volumes)
	for i := range w.claims {
		t := &w.claims[i]
		name := t.Name + "-" + p.Name
		volume := corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}}
		p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == t.Name })
		p.Spec.Volumes = append(p.Spec.Volumes, volume)
		if a.claims[p.Namespace+"/"+name] {
			continue
		}
		c := t.DeepCopy()
		c.Name, c.Namespace = name, p.Namespace
		a.furnishClaim(c)
		a.Delta.VolumeClaims = append(a.Delta.VolumeClaims, c)
	}
}

// workloads returns all workloads. Deployments come before ReplicaSets, and ReplicaSets of these Deployments are left
// out, so that pods of a Deployment are assigned to the Deployment.
func (a *assembly) workloads() []workload {
	var out []workload
	deployments := map[string]bool{}
	for _, o := range manifest.Of[*appsv1.Deployment](a.set) {
		deployments[o.Namespace+"/"+o.Name] = true
		out = append(out, deployment(o))
	}
	for _, o := range manifest.Of[*appsv1.ReplicaSet](a.set) {
		ref := metav1.GetControllerOfNoCopy(o)
		if ref == nil || ref.Kind != "Deployment" || !deployments[o.Namespace+"/"+ref.Name] {
			out = append(out, replicaSet(o))
		}
	}
	for _, o := range manifest.Of[*appsv1.StatefulSet](a.set) {
		out = append(out, statefulSet(o))
	}
	for _, o := range manifest.Of[*batchv1.Job](a.set) {
		out = append(out, job(o))
	}
	return out
}

// controlledBy returns the reference that a pod has to its controller.
func controlledBy(apiVersion, kind string, o metav1.Object) metav1.OwnerReference {
	yes := true
	uid := o.GetUID()
	if uid == "" {
		uid = types.UID(kind + "/" + o.GetNamespace() + "/" + o.GetName())
	}
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: uid, Controller: &yes}
}

func numbered(name string) func(int) (string, map[string]string) {
	return func(i int) (string, map[string]string) { return fmt.Sprintf("%s-%d", name, i), nil }
}

func deployment(o *appsv1.Deployment) workload {
	set := replicaSetOf(o)
	labels := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: templateHash(&o.Spec.Template)}
	return workload{
		object: o, kind: "Deployment", template: &o.Spec.Template, selector: o.Spec.Selector, want: count(o.Spec.Replicas),
		names: func(i int) (string, map[string]string) { return fmt.Sprintf("%s-%d", o.Name, i), labels },
		owner: controlledBy("apps/v1", "ReplicaSet", set),
	}
}

// replicaSetOf returns the name, namespace and selector of the ReplicaSet that the Deployment would create for its
// template.
func replicaSetOf(o *appsv1.Deployment) *appsv1.ReplicaSet {
	hash := templateHash(&o.Spec.Template)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: o.Name + "-" + hash, Namespace: o.Namespace}}
	if set.Spec.Selector = o.Spec.Selector.DeepCopy(); set.Spec.Selector != nil {
		set.Spec.Selector = metav1.AddLabelToSelector(set.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	}
	return set
}

func replicaSet(o *appsv1.ReplicaSet) workload {
	return workload{
		object: o, kind: "ReplicaSet", template: &o.Spec.Template, selector: o.Spec.Selector, want: count(o.Spec.Replicas),
		names: numbered(o.Name), owner: controlledBy("apps/v1", "ReplicaSet", o),
	}
}

func statefulSet(o *appsv1.StatefulSet) workload {
	first := 0
	if o.Spec.Ordinals != nil {
		first = int(o.Spec.Ordinals.Start)
	}
	return workload{
		object: o, kind: "StatefulSet", template: &o.Spec.Template, selector: o.Spec.Selector, want: count(o.Spec.Replicas),
		names: func(i int) (string, map[string]string) {
			name := fmt.Sprintf("%s-%d", o.Name, first+i)
			return name, map[string]string{
				appsv1.StatefulSetPodNameLabel: name, appsv1.PodIndexLabel: fmt.Sprint(first + i),
			}
		},
		owner: controlledBy("apps/v1", "StatefulSet", o), claims: o.Spec.VolumeClaimTemplates, fixed: true,
	}
}

// job returns the workload of a Job: as many pods as may run at once, and no more than are still to complete. A finished or
// suspended Job wants none.
func job(o *batchv1.Job) workload {
	want := count(o.Spec.Parallelism)
	if o.Spec.Completions != nil {
		want = min(want, max(int(*o.Spec.Completions)-int(o.Status.Succeeded), 0))
	}
	done := slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	if done || o.Spec.Suspend != nil && *o.Spec.Suspend {
		want = 0
	}
	labels := map[string]string{batchv1.JobNameLabel: o.Name}
	return workload{
		object: o, kind: "Job", template: &o.Spec.Template, selector: o.Spec.Selector, want: want,
		names: func(i int) (string, map[string]string) { return fmt.Sprintf("%s-%d", o.Name, i), labels },
		owner: controlledBy("batch/v1", "Job", o),
	}
}

// count returns the number of pods in a field: 1 if it is missing, 0 if it is negative.
func count(n *int32) int {
	if n == nil {
		return 1
	}
	return max(int(*n), 0)
}

// templateHash returns a hash in place of the one that the Deployment controller computes from a template.
func templateHash(t *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(t)
	if err != nil {
		text = []byte(t.Name) // encoding a template never fails
	}
	h := fnv.New32a()
	_, _ = h.Write(text) // never fails
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}
