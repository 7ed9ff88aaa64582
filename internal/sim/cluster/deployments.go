package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// revision is the annotation that numbers the ReplicaSets of a Deployment.
const revision = "deployment.kubernetes.io/revision"

// deployment scales the ReplicaSets of a Deployment towards its template and number of replicas.
func (w *Workloads) deployment(_ time.Time, r ref) (time.Time, error) {
	d, ok := kubeapi.Find[*appsv1.Deployment](w.c.server, r.namespace, r.name)
	if !ok || d.DeletionTimestamp != nil {
		return time.Time{}, nil
	}
	sets := children[*appsv1.ReplicaSet](w.c, d.UID)
	for _, set := range sets {
		if set.Status.ObservedGeneration < set.Generation || set.DeletionTimestamp != nil {
			return time.Time{}, nil // the next change of the ReplicaSet calls this function again
		}
	}
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	i := slices.IndexFunc(sets, func(s *appsv1.ReplicaSet) bool { return sameTemplate(s, d) })
	if i < 0 && (d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || !w.anyPods(sets)) {
		return time.Time{}, w.newReplicaSet(d, sets)
	}
	var current *appsv1.ReplicaSet
	old := slices.Clone(sets)
	if i >= 0 {
		current, old = sets[i], slices.Delete(old, i, i+1)
	}
	var err error
	if !d.Spec.Paused {
		if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
			err = w.recreate(d, current, old)
		} else {
			err = w.roll(d, current, old)
		}
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Time{}, w.deploymentStatus(d, current, sets)
}

func revisionOf(set *appsv1.ReplicaSet) int64 {
	n, err := strconv.ParseInt(set.Annotations[revision], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// sameTemplate reports whether a ReplicaSet has the template of its Deployment.
func sameTemplate(set *appsv1.ReplicaSet, d *appsv1.Deployment) bool {
	t := set.Spec.Template.DeepCopy()
	delete(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(t, &d.Spec.Template)
}

// anyPods reports whether ReplicaSets have pods, those that are being deleted included.
func (w *Workloads) anyPods(sets []*appsv1.ReplicaSet) bool {
	return slices.ContainsFunc(sets, func(s *appsv1.ReplicaSet) bool {
		return slices.ContainsFunc(children[*corev1.Pod](w.c, s.UID), func(p *corev1.Pod) bool { return !terminal(p) })
	})
}

// newReplicaSet creates the ReplicaSet for the template of a Deployment, without pods.
func (w *Workloads) newReplicaSet(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	hash, err := hashOf(&d.Spec.Template)
	if err != nil {
		return err
	}
	last := int64(0)
	for _, s := range sets {
		last = max(last, revisionOf(s))
	}
	replicas := int32(0)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name + "-" + hash, Namespace: d.Namespace, Labels: maps.Clone(d.Spec.Template.Labels), OwnerReferences: controlledBy(d),
			Annotations: map[string]string{revision: strconv.FormatInt(last+1, 10)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, MinReadySeconds: d.Spec.MinReadySeconds, Selector: d.Spec.Selector.DeepCopy(), Template: *d.Spec.Template.DeepCopy(),
		},
	}
	setLabel(set, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	setLabel(&set.Spec.Template, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	if set.Spec.Selector == nil {
		set.Spec.Selector = &metav1.LabelSelector{}
	}
	if set.Spec.Selector.MatchLabels == nil {
		set.Spec.Selector.MatchLabels = map[string]string{}
	}
	set.Spec.Selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	_, err = kubeapi.Create(w.c.server, set)
	return err
}

// scale sets the replicas of a ReplicaSet.
func (w *Workloads) scale(set *appsv1.ReplicaSet, replicas int32) error {
	if replicasOf(set.Spec.Replicas) == replicas {
		return nil
	}
	set = set.DeepCopy()
	set.Spec.Replicas = &replicas
	_, err := kubeapi.Update(w.c.server, set)
	return err
}

// recreate removes all old pods, and then scales the current ReplicaSet, which is nil if it does not exist yet.
func (w *Workloads) recreate(d *appsv1.Deployment, current *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	for _, set := range old {
		if err := w.scale(set, 0); err != nil {
			return err
		}
	}
	if current == nil || w.anyPods(old) {
		return nil
	}
	return w.scale(current, replicasOf(d.Spec.Replicas))
}

// roll makes one step of a rolling update: it adds pods of the current template up to maxSurge, or removes old pods as far as
// maxUnavailable allows.
func (w *Workloads) roll(d *appsv1.Deployment, current *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	replicas := replicasOf(d.Spec.Replicas)
	surge, unavailable, err := margins(d, replicas)
	if err != nil {
		return err
	}
	total, totalAvailable := int32(0), int32(0)
	for _, set := range append([]*appsv1.ReplicaSet{current}, old...) {
		total += replicasOf(set.Spec.Replicas)
		totalAvailable += set.Status.AvailableReplicas
	}
	mine := replicasOf(current.Spec.Replicas)
	switch {
	case mine > replicas:
		return w.scale(current, replicas)
	case mine < replicas && total < replicas+surge:
		return w.scale(current, mine+min(replicas+surge-total, replicas-mine))
	}
	least := replicas - unavailable
	unhealthy := total - least - (mine - current.Status.AvailableReplicas) // how many unavailable old pods may be removed
	healthy := totalAvailable - least                                      // how many available old pods may be removed
	if unhealthy <= 0 {
		return nil
	}
	for _, set := range old {
		size := replicasOf(set.Spec.Replicas)
		n := min(unhealthy, size-set.Status.AvailableReplicas)
		m := min(max(0, healthy), size-n)
		unhealthy, healthy = unhealthy-n, healthy-m
		if err := w.scale(set, size-n-m); err != nil {
			return err
		}
	}
	return w.forget(d, old)
}

// margins returns maxSurge and maxUnavailable of a rolling update as numbers of pods: how many pods more than the replicas
// may exist, and how many fewer may be available.
func margins(d *appsv1.Deployment, replicas int32) (surge, unavailable int32, err error) {
	rolling := d.Spec.Strategy.RollingUpdate
	if rolling == nil {
		rolling = &appsv1.RollingUpdateDeployment{}
	}
	quarter := intstr.FromString("25%")
	if surge, err = scaled(rolling.MaxSurge, quarter, replicas, true); err != nil {
		return 0, 0, err
	}
	if unavailable, err = scaled(rolling.MaxUnavailable, quarter, replicas, false); err != nil {
		return 0, 0, err
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, replicas), nil
}

// forget deletes the oldest ReplicaSets without pods, so that at most revisionHistoryLimit of them remain.
func (w *Workloads) forget(d *appsv1.Deployment, old []*appsv1.ReplicaSet) error {
	limit := 10
	if l := d.Spec.RevisionHistoryLimit; l != nil {
		limit = int(*l)
	}
	empty := slices.DeleteFunc(slices.Clone(old), func(s *appsv1.ReplicaSet) bool { return replicasOf(s.Spec.Replicas) > 0 || s.Status.Replicas > 0 })
	for len(empty) > limit {
		if err := kubeapi.Delete(w.c.server, empty[0]); err != nil {
			return err
		}
		empty = empty[1:]
	}
	return nil
}

// deploymentStatus writes the status of a Deployment.
func (w *Workloads) deploymentStatus(d *appsv1.Deployment, current *appsv1.ReplicaSet, sets []*appsv1.ReplicaSet) error {
	s := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Conditions: d.Status.Conditions}
	for _, set := range sets {
		s.Replicas += set.Status.Replicas
		s.ReadyReplicas += set.Status.ReadyReplicas
		s.AvailableReplicas += set.Status.AvailableReplicas
	}
	if current != nil {
		s.UpdatedReplicas = current.Status.Replicas
	}
	s.UnavailableReplicas = max(0, replicasOf(d.Spec.Replicas)-s.AvailableReplicas)
	d = d.DeepCopy()
	d.Status = s
	_, err := kubeapi.UpdateStatus(w.c.server, d)
	return err
}
