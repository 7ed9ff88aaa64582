package backtest

import corev1 "k8s.io/api/core/v1"

// AtOnce returns a trace of pods that all exist at the same time and do not end, such as those of a capture of one moment. They
// exist from the newest creationTimestamp on, or from 1970 if no pod has one. Left out are pods that are being deleted, pods of
// DaemonSets and static pods.
func AtOnce(pods []*corev1.Pod) *Trace {
	r := newAuditReader(nil, nil)
	at := int64(0)
	for _, p := range pods {
		if p.DeletionTimestamp != nil || !r.counts(p) {
			continue
		}
		if t := p.CreationTimestamp; !t.IsZero() && t.UnixMilli() <= lastTime {
			at = max(at, t.UnixMilli())
		}
		r.trace.Pods = append(r.trace.Pods, Pod{Shape: r.shape(p), Deleted: never})
	}
	for i := range r.trace.Pods {
		r.trace.Pods[i].Created = at
	}
	r.warn()
	return &r.trace
}
