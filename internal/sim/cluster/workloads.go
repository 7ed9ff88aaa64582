package cluster

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// Workloads does what the controllers of workloads in kube-controller-manager do.
type Workloads struct {
	*Actor
	c *Cluster
	// budgets are the selectors of PodDisruptionBudgets.
	budgets map[ref]labels.Selector
	// daemons are the DaemonSets.
	daemons map[ref]bool
	// failures are the recent failures of each Job, by its UID.
	failures map[types.UID]failures
}

func newWorkloads(c *Cluster) *Workloads {
	w := &Workloads{
		Actor: newActor("workloads", c), c: c, budgets: map[ref]labels.Selector{}, daemons: map[ref]bool{}, failures: map[types.UID]failures{},
	}
	w.reconcilers = map[string]reconcile{
		"Deployment": w.deployment, "ReplicaSet": w.replicaSet, "StatefulSet": w.statefulSet, "DaemonSet": w.daemonSet, "Job": w.job,
		"PodDisruptionBudget": w.budget,
	}
	return w
}

// observe marks the objects that a change concerns besides the changed object itself.
func (w *Workloads) observe(before, after client.Object) {
	o := after
	if o == nil {
		o = before
	}
	for _, version := range []client.Object{before, after} {
		if version == nil {
			continue
		}
		if owner := metav1.GetControllerOf(version); owner != nil {
			w.changed(owner.Kind, version.GetNamespace(), owner.Name)
			if set, ok := w.c.objects[ref{owner.Kind, version.GetNamespace(), owner.Name}].(*appsv1.ReplicaSet); ok && after == nil {
				w.ownerOf(set) // the Deployment may wait until the pods of older ReplicaSets are gone
			}
		}
		if pod, ok := version.(*corev1.Pod); ok {
			w.budgetsOf(pod.Namespace, labels.Set(pod.Labels))
		}
	}
	r := ref{kindOf(o), o.GetNamespace(), o.GetName()}
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		delete(w.budgets, r)
		if s, err := metav1.LabelSelectorAsSelector(o.Spec.Selector); err == nil && after != nil {
			w.budgets[r] = s
		}
	case *appsv1.DaemonSet:
		delete(w.daemons, r)
		if after != nil {
			w.daemons[r] = true
		}
	case *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet:
		if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() {
			w.budgetsOf(o.GetNamespace(), nil)
		}
	case *corev1.Node:
		old, _ := before.(*corev1.Node)
		if old == nil || after == nil || !maps.Equal(old.Labels, o.Labels) || !slices.EqualFunc(old.Spec.Taints, o.Spec.Taints, sameTaint) {
			for r := range w.daemons {
				w.dirty[r] = true
			}
		}
	}
}

// ownerOf marks the controller of an object for the next Step.
func (w *Workloads) ownerOf(o client.Object) {
	if owner := metav1.GetControllerOf(o); owner != nil {
		w.changed(owner.Kind, o.GetNamespace(), owner.Name)
	}
}

// budgetsOf marks the PodDisruptionBudgets of a namespace that select a pod with labels, or all if they are nil.
func (w *Workloads) budgetsOf(namespace string, pod labels.Labels) {
	for r, s := range w.budgets {
		if r.namespace == namespace && (pod == nil || s.Matches(pod)) {
			w.dirty[r] = true
		}
	}
}

// newPod returns a pod of a workload.
func newPod(owner client.Object, template *corev1.PodTemplateSpec) *corev1.Pod {
	t := template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: owner.GetName() + "-", Namespace: owner.GetNamespace(), Labels: t.Labels, Annotations: t.Annotations,
			Finalizers: t.Finalizers, OwnerReferences: controlledBy(owner),
		},
		Spec: t.Spec,
	}
}

// controlledBy returns the reference of an object to its controller.
func controlledBy(owner client.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GetObjectKind().GroupVersionKind())}
}

// create adds a pod.
func (w *Workloads) create(pod *corev1.Pod) error {
	_, err := kubeapi.Create(w.c.server, pod)
	return err
}

// delete deletes a pod with its grace period.
func (w *Workloads) delete(pod *corev1.Pod) error { return kubeapi.Delete(w.c.server, pod) }

// hashOf returns a short name of a pod template. Equal templates have equal names.
func hashOf(template *corev1.PodTemplateSpec) (string, error) {
	data, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("encode the template: %w", err)
	}
	h := fnv.New32a()
	h.Write(data)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}

// setLabel sets a label of an object.
func setLabel(o metav1.Object, key, value string) {
	m := maps.Clone(o.GetLabels())
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	o.SetLabels(m)
}

// available reports whether a pod has been ready for minReadySeconds. at is when it has been or will have been. It is zero if
// the pod is not ready.
func available(pod *corev1.Pod, minReadySeconds int32, now time.Time) (ok bool, at time.Time) {
	isReady, since := podReady(pod)
	if !isReady {
		return false, time.Time{}
	}
	at = since.Add(time.Duration(minReadySeconds) * time.Second)
	return minReadySeconds == 0 || !now.Before(at), at
}

// tally is how many pods of a workload there are.
type tally struct {
	total, ready, available int32
	next                    time.Time // when the next pod becomes available, zero for never
}

// count counts pods.
func count(pods []*corev1.Pod, minReadySeconds int32, now time.Time) tally {
	t := tally{total: int32(len(pods))}
	for _, pod := range pods {
		if ok, _ := podReady(pod); ok {
			t.ready++
		}
		if ok, at := available(pod, minReadySeconds, now); ok {
			t.available++
		} else {
			t.next = earliest(t.next, at)
		}
	}
	return t
}

// replicasOf returns a number of replicas, 1 if it is not set.
func replicasOf(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// scaled returns a number or percentage of a total; def if it is not set.
func scaled(v *intstr.IntOrString, def intstr.IntOrString, total int32, roundUp bool) (int32, error) {
	if v == nil {
		v = &def
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, int(total), roundUp)
	if err != nil {
		return 0, fmt.Errorf("scale %s: %w", v.String(), err)
	}
	return int32(n), nil
}
