package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bind serves the subresource binding: it puts the pod on the node that the request names.
func (s *Server) bind(t target, r *Request) (int, []byte, error) {
	e, err := t.table.get(t.key)
	if err != nil {
		return 0, nil, err
	}
	var b corev1.Binding
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return 0, nil, apierrors.NewBadRequest(err.Error())
	}
	pod := e.object.DeepCopyObject().(*corev1.Pod)
	if pod.DeletionTimestamp != nil || pod.Spec.NodeName != "" {
		return 0, nil, apierrors.NewConflict(t.table.kind.Resource().GroupResource(), pod.Name, fmt.Errorf("pod %s is being deleted or already assigned to node %q", pod.Name, pod.Spec.NodeName))
	}
	pod.Spec.NodeName = b.Target.Name
	pod.Status.NominatedNodeName = ""
	now := s.time()
	setPodCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now})
	t.table.store(t.key, pod)
	return success(http.StatusCreated)
}

// setPodCondition replaces the condition of the same type, or adds it.
func setPodCondition(pod *corev1.Pod, c corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == c.Type {
			pod.Status.Conditions[i] = c
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}

// evict deletes a pod if the PodDisruptionBudgets that select it allow it.
func (s *Server) evict(t target, r *Request) (int, []byte, error) {
	e, err := t.table.get(t.key)
	if err != nil {
		return 0, nil, err
	}
	var eviction policyv1.Eviction
	if err := json.Unmarshal(r.Body, &eviction); err != nil {
		return 0, nil, apierrors.NewBadRequest(err.Error())
	}
	options := metav1.DeleteOptions{}
	if eviction.DeleteOptions != nil {
		options = *eviction.DeleteOptions
	}
	pod := e.object.(*corev1.Pod)
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != pod.UID {
		return 0, nil, apierrors.NewConflict(t.table.kind.Resource().GroupResource(), pod.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s)", *p.UID, pod.UID))
	}
	if len(options.DryRun) > 0 || dryRun(r) {
		return success(http.StatusCreated)
	}
	if guarded(pod) {
		if err := s.charge(pod); err != nil {
			return 0, nil, err
		}
	}
	if e = t.table.objects[t.key]; e != nil {
		if _, err := s.delete(t.table, t.key, e, options); err != nil {
			return 0, nil, err
		}
	}
	return success(http.StatusCreated)
}

// guarded reports whether PodDisruptionBudgets count for the eviction of a pod.
func guarded(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return false
	}
	return pod.DeletionTimestamp == nil
}

// charge takes one disruption from the budget that selects a pod. It takes none for a pod that is not ready and that the
// policy for unhealthy pods exempts. It returns the error 429 if there is none left, and 500 if more than one budget
// selects the pod.
func (s *Server) charge(pod *corev1.Pod) error {
	var budgets []*policyv1.PodDisruptionBudget
	for _, b := range List[*policyv1.PodDisruptionBudget](s) {
		sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if b.Namespace == pod.Namespace && err == nil && sel.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, b)
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	if len(budgets) > 1 {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	b := budgets[0].DeepCopy()
	if !ready(pod) {
		policy := policyv1.IfHealthyBudget
		if b.Spec.UnhealthyPodEvictionPolicy != nil {
			policy = *b.Spec.UnhealthyPodEvictionPolicy
		}
		if policy == policyv1.AlwaysAllow || b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			return nil
		}
	}
	if b.Status.ObservedGeneration < b.Generation || b.Status.DisruptionsAllowed <= 0 {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    policyv1.DisruptionBudgetCause,
			Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy),
		})
		return err
	}
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[pod.Name] = s.time()
	t := s.kinds[policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")]
	t.store(key{b.Namespace, b.Name}, b)
	return nil
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// success is the answer to subresources that return no object.
func success(code int) (int, []byte, error) {
	body, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
	return code, body, err
}

// defaults sets those fields of new objects that kube-apiserver and its admission plugins set and controllers read.
func (s *Server) defaults(o client.Object) {
	switch o := o.(type) {
	case *corev1.Pod:
		s.podDefaults(o)
	case *corev1.PersistentVolumeClaim:
		if o.Status.Phase == "" {
			o.Status.Phase = corev1.ClaimPending
		}
	case *corev1.PersistentVolume:
		if o.Status.Phase == "" {
			o.Status.Phase = corev1.VolumeAvailable
		}
	case *corev1.Namespace:
		o.Labels = with(o.Labels, corev1.LabelMetadataName, o.Name)
		o.Status.Phase = corev1.NamespaceActive
	}
}

func with(m map[string]string, k, v string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[k] = v
	return m
}

// notReadyFor is how long, in seconds, a pod tolerates that its node is not ready or unreachable, unless it has tolerations
// for that.
var notReadyFor = int64(300)

func (s *Server) podDefaults(pod *corev1.Pod) {
	spec := &pod.Spec
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	if spec.TerminationGracePeriodSeconds == nil {
		grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
		spec.TerminationGracePeriodSeconds = &grace
	}
	for i := range spec.Containers {
		r := &spec.Containers[i].Resources
		for name, q := range r.Limits {
			if _, ok := r.Requests[name]; !ok {
				if r.Requests == nil {
					r.Requests = corev1.ResourceList{}
				}
				r.Requests[name] = q
			}
		}
	}
	if class, ok := Find[*schedulingv1.PriorityClass](s, "", spec.PriorityClassName); ok {
		spec.Priority, spec.PreemptionPolicy = &class.Value, class.PreemptionPolicy
	} else if spec.Priority == nil {
		zero := int32(0)
		spec.Priority = &zero
	}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if !tolerates(spec.Tolerations, taint) {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &notReadyFor,
			})
		}
	}
}

// tolerates reports whether one of the tolerations is for a NoExecute taint with a key.
func tolerates(all []corev1.Toleration, taint string) bool {
	for _, t := range all {
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

// time returns the server's time in whole seconds, as objects carry it.
func (s *Server) time() metav1.Time { return metav1.NewTime(s.cfg.Now().Truncate(time.Second)) }

func seconds(n int64) time.Duration { return time.Duration(min(n, 1<<32)) * time.Second }

// letters are the characters that suffixes of generated names may have.
const letters = "bcdfghjklmnpqrstvwxz2456789"

// suffix returns the end of a generated name.
func (e *etcd) suffix() string {
	b := make([]byte, 5)
	for i := range b {
		b[i] = letters[e.names.IntN(len(letters))]
	}
	return string(b)
}

// uid returns the uid of a new object.
func (e *etcd) uid() string {
	a, b := e.names.Uint64(), e.names.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}
