package cluster

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// Delays of new pods of a Job after failures.
const (
	firstBackoff = 10 * time.Second
	lastBackoff  = 10 * time.Minute
)

// failures has the number of pods of a Job that have failed since a pod last succeeded, and the time of the last failure.
type failures struct {
	count int
	last  time.Time
}

// backoff returns when a Job may create pods again.
func (f failures) backoff() time.Time {
	if f.count == 0 {
		return time.Time{}
	}
	return f.last.Add(min(firstBackoff<<min(f.count-1, 10), lastBackoff))
}

// job creates pods until enough have succeeded or too many have failed.
func (w *Workloads) job(now time.Time, r ref) (time.Time, error) {
	job, ok := kubeapi.Find[*batchv1.Job](w.c.server, r.namespace, r.name)
	if !ok || job.DeletionTimestamp != nil {
		return time.Time{}, w.releaseOrphans(r)
	}
	job = job.DeepCopy()
	if job.Status.StartTime == nil {
		at := seconds(now)
		job.Status.StartTime = &at
	}
	if err := w.countEnded(now, job); err != nil {
		return time.Time{}, err
	}
	if done := finishedAt(job); !done.IsZero() {
		return w.expire(now, job, done)
	}
	running := slices.DeleteFunc(children[*corev1.Pod](w.c, job.UID), func(p *corev1.Pod) bool { return !active(p) })
	next, err := w.advance(now, job, running)
	if err != nil {
		return time.Time{}, err
	}
	w.jobStatus(job)
	_, err = kubeapi.UpdateStatus(w.c.server, job)
	return next, err
}

// tracked reports whether the pod is not counted yet in the status of its Job.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// release removes the finalizer by which a Job keeps a pod until it is counted.
func (w *Workloads) release(pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == batchv1.JobTrackingFinalizer })
	_, err := kubeapi.Update(w.c.server, pod)
	return err
}

// releaseOrphans releases the pods of a Job that does not exist any more.
func (w *Workloads) releaseOrphans(r ref) error {
	for _, pod := range kubeapi.List[*corev1.Pod](w.c.server) {
		owner := metav1.GetControllerOf(pod)
		if pod.Namespace != r.namespace || owner == nil || owner.Kind != r.kind || owner.Name != r.name || !tracked(pod) {
			continue
		}
		if err := w.release(pod); err != nil {
			return err
		}
	}
	return nil
}

// countEnded adds ended pods to the status of their Job and releases them. The status is written first.
func (w *Workloads) countEnded(now time.Time, job *batchv1.Job) error {
	var ended []*corev1.Pod
	f := w.failures[job.UID]
	for _, pod := range children[*corev1.Pod](w.c, job.UID) {
		switch {
		case !tracked(pod):
			continue
		case pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil:
			job.Status.Succeeded++
			f = failures{}
		case terminal(pod), pod.DeletionTimestamp != nil && pod.Spec.NodeName == "":
			job.Status.Failed++
			f = failures{f.count + 1, now}
		default:
			continue
		}
		ended = append(ended, pod)
	}
	w.failures[job.UID] = f
	if len(ended) == 0 {
		return nil
	}
	stored, err := kubeapi.UpdateStatus(w.c.server, job.DeepCopy())
	if err != nil {
		return err
	}
	job.ResourceVersion = stored.ResourceVersion
	for _, pod := range ended {
		if err := w.release(pod); err != nil {
			return err
		}
	}
	return nil
}

// finishedAt returns when a Job completed or failed, the zero time if it has not.
func finishedAt(job *batchv1.Job) time.Time {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// expire deletes a finished Job when its time to live is over.
func (w *Workloads) expire(now time.Time, job *batchv1.Job, done time.Time) (time.Time, error) {
	w.jobStatus(job)
	if _, err := kubeapi.UpdateStatus(w.c.server, job); err != nil || job.Spec.TTLSecondsAfterFinished == nil {
		return time.Time{}, err
	}
	if at := done.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second); now.Before(at) {
		return at, nil
	}
	delete(w.failures, job.UID)
	return time.Time{}, kubeapi.Delete(w.c.server, job)
}

// advance creates or deletes pods of a Job, or finishes it.
func (w *Workloads) advance(now time.Time, job *batchv1.Job, running []*corev1.Pod) (time.Time, error) {
	limit, parallelism := int32(6), replicasOf(job.Spec.Parallelism)
	if l := job.Spec.BackoffLimit; l != nil {
		limit = *l
	}
	want, complete := parallelism, job.Status.Succeeded > 0 && len(running) == 0
	if n := job.Spec.Completions; n != nil {
		want, complete = min(parallelism, *n-job.Status.Succeeded), job.Status.Succeeded >= *n
	} else if job.Status.Succeeded > 0 {
		want = 0 // a Job without completions creates no more pods once one has succeeded
	}
	var deadline time.Time
	if s := job.Spec.ActiveDeadlineSeconds; s != nil {
		deadline = job.Status.StartTime.Add(time.Duration(*s) * time.Second)
	}
	switch {
	case complete:
		at := seconds(now)
		job.Status.CompletionTime = &at
		finish(job, batchv1.JobComplete, batchv1.JobReasonCompletionsReached, now)
		return time.Time{}, nil
	case job.Status.Failed > limit:
		finish(job, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, now)
		want = 0
	case !deadline.IsZero() && !now.Before(deadline):
		finish(job, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, now)
		want = 0
	case job.Spec.Suspend != nil && *job.Spec.Suspend:
		want = 0
	}
	if over := len(running) - int(want); over > 0 && (job.Spec.Completions != nil || job.Status.Succeeded == 0) {
		w.rank(running)
		for _, pod := range running[:over] {
			if err := w.delete(pod); err != nil {
				return time.Time{}, err
			}
		}
	}
	if at := w.failures[job.UID].backoff(); now.Before(at) {
		return earliest(at, deadline), nil
	}
	for range int(want) - len(running) {
		if err := w.create(jobPod(job)); err != nil {
			return time.Time{}, err
		}
	}
	return deadline, nil
}

// finish adds the condition that ends a Job.
func finish(job *batchv1.Job, kind batchv1.JobConditionType, reason string, now time.Time) {
	job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: seconds(now), LastProbeTime: seconds(now),
	})
}

// jobPod returns a new pod of a Job.
func jobPod(job *batchv1.Job) *corev1.Pod {
	pod := newPod(job, &job.Spec.Template)
	setLabel(pod, batchv1.JobNameLabel, job.Name)
	setLabel(pod, batchv1.ControllerUidLabel, string(job.UID))
	pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return pod
}

// jobStatus counts the pods of a Job that have not ended.
func (w *Workloads) jobStatus(job *batchv1.Job) {
	s := &job.Status
	ready, terminating := int32(0), int32(0)
	s.Active = 0
	for _, pod := range children[*corev1.Pod](w.c, job.UID) {
		switch {
		case terminal(pod):
		case pod.DeletionTimestamp != nil:
			terminating++
		default:
			s.Active++
			if ok, _ := podReady(pod); ok {
				ready++
			}
		}
	}
	s.Ready, s.Terminating = &ready, &terminating
}
