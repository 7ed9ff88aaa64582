package backtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// An auditEvent has the fields of an event of audit.k8s.io/v1 that are read.
type auditEvent struct {
	// Message has the whole event as text, if a log service has wrapped it.
	Message string `json:"message"`

	Kind      string `json:"kind"`
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	ObjectRef *struct {
		Resource, Namespace, Name, Subresource string
	} `json:"objectRef"`
	ResponseStatus *struct {
		Code int32 `json:"code"`
	} `json:"responseStatus"`
	RequestObject  json.RawMessage  `json:"requestObject"`
	ResponseObject json.RawMessage  `json:"responseObject"`
	StageTimestamp metav1.MicroTime `json:"stageTimestamp"`
}

// auditReader is the state of reading an audit log.
type auditReader struct {
	in     *lines
	bad    *mistakes
	shapes map[string]int32
	// live has, by the keys of pods, the indexes in trace.Pods of the pods that have not ended.
	live  map[string]int
	seen  map[string]bool // keys of the pods that were added or have ended
	trace Trace

	first, last                            int64
	events, bare, daemons, volumes, unread int
}

func newAuditReader(in *lines, bad *mistakes) *auditReader {
	return &auditReader{in: in, bad: bad, shapes: map[string]int32{}, live: map[string]int{}, seen: map[string]bool{}, first: never}
}

// readAudit reads an audit log. A pod exists from its creation until it is deleted or evicted or has finished. If the
// creation of a pod is not in the log, the pod exists from the first line of the log on. Such a pod is known only if a
// later event has it as an object.
func readAudit(in *lines, bad *mistakes) (*Trace, error) {
	r := newAuditReader(in, bad)
	if err := in.each(bad, r.line); err != nil {
		return nil, err
	}
	r.finish()
	return &r.trace, nil
}

func (r *auditReader) line(line []byte) {
	var e auditEvent
	if err := json.Unmarshal(line, &e); err != nil {
		r.bad.add(r.in.number, "event", "%v; give one JSON event in each line", err)
		return
	}
	if e.Message != "" && e.Kind == "" {
		inner := e.Message
		if e = (auditEvent{}); json.Unmarshal([]byte(inner), &e) != nil {
			r.unread++ // a line of another log in the same export
			return
		}
	}
	if e.Kind != "Event" || e.ObjectRef == nil || e.ObjectRef.Resource != "pods" || e.Stage != "ResponseComplete" ||
		e.ResponseStatus == nil || e.ResponseStatus.Code/100 != 2 {
		r.unread++
		return
	}
	at := e.StageTimestamp.UnixMilli()
	if e.StageTimestamp.IsZero() || at < 0 || at > lastTime {
		r.bad.add(r.in.number, "stageTimestamp", "is missing or out of range; give a time such as 2026-01-05T12:00:00.000000Z")
		return
	}
	r.first, r.last = min(r.first, at), max(r.last, at)
	r.events++
	r.apply(&e, at)
}

// apply applies an event about pods.
func (r *auditReader) apply(e *auditEvent, at int64) {
	switch ref := e.ObjectRef; {
	case e.Verb == "create" && ref.Subresource == "":
		if p := podOf(e.ResponseObject, e.RequestObject); p != nil {
			r.begin(p, ref.Namespace, at)
		} else {
			r.bare++
		}
	case e.Verb == "create" && ref.Subresource == "eviction":
		r.end(ref.Namespace, ref.Name, at, nil)
	case e.Verb == "delete":
		r.end(ref.Namespace, ref.Name, at, podOf(e.ResponseObject))
	case e.Verb == "deletecollection":
		var list corev1.PodList
		if json.Unmarshal(e.ResponseObject, &list) == nil {
			for i := range list.Items {
				r.end(list.Items[i].Namespace, list.Items[i].Name, at, &list.Items[i])
			}
		}
	case (e.Verb == "patch" || e.Verb == "update") && ref.Subresource == "status":
		p := podOf(e.ResponseObject, e.RequestObject)
		if p != nil && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed) {
			r.end(ref.Namespace, ref.Name, at, p)
		}
	}
}

// podOf returns the first of the objects that is a pod, nil if none is.
func podOf(objects ...json.RawMessage) *corev1.Pod {
	for _, raw := range objects {
		var p corev1.Pod
		if len(raw) == 0 || json.Unmarshal(raw, &p) != nil || p.Kind != "" && p.Kind != "Pod" {
			continue
		}
		return &p
	}
	return nil
}

// begin adds a pod to the trace, created at the time at. It skips pods that are not replayed (see counts). If a pod with the same
// key is still live, that one ends at the same time.
func (r *auditReader) begin(p *corev1.Pod, namespace string, at int64) {
	if p.Namespace == "" {
		p.Namespace = namespace
	}
	if !r.counts(p) {
		return
	}
	key := p.Namespace + "/" + p.Name
	if i, ok := r.live[key]; ok { // the log lacks the deletion of the earlier pod
		r.trace.Pods[i].Deleted = at
	}
	r.live[key], r.seen[key] = len(r.trace.Pods), true
	r.trace.Pods = append(r.trace.Pods, Pod{Shape: r.shape(p), Created: at, Deleted: never})
}

// end records the end of a pod. p is the pod if the event has it as an object, otherwise nil. If the log has no creation of
// the pod, end adds p to the trace as a pod that exists since the first event so far, or ignores the event if p is nil, has
// no containers, or has ended already.
func (r *auditReader) end(namespace, name string, at int64, p *corev1.Pod) {
	key := namespace + "/" + name
	i, ok := r.live[key]
	if !ok {
		if p == nil || len(p.Spec.Containers) == 0 || r.seen[key] {
			return // the pod is not known, or has ended already
		}
		p.Namespace = namespace
		r.seen[key] = true
		if r.counts(p) {
			r.trace.Pods = append(r.trace.Pods, Pod{Shape: r.shape(p), Created: r.first, Deleted: at})
		}
		return
	}
	r.trace.Pods[i].Deleted = max(at, r.trace.Pods[i].Created)
	delete(r.live, key)
}

// counts reports whether the pod is replayed. Pods of DaemonSets and static pods are not, because they run on their node
// only. Pods without containers are not either.
func (r *auditReader) counts(p *corev1.Pod) bool {
	m := model.NewPod(p)
	if m.Daemon() || m.Mirror() {
		r.daemons++
		return false
	}
	return len(p.Spec.Containers) > 0
}

// shape returns the index of the pod's shape, and adds the shape if it is new.
func (r *auditReader) shape(p *corev1.Pod) int32 {
	t := r.template(p)
	text, err := json.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("encode a pod that was decoded: %v", err))
	}
	if n, ok := r.shapes[string(text)]; ok {
		return n
	}
	n := int32(len(r.trace.Shapes))
	r.shapes[string(text)] = n
	s := Shape{Template: t, Share: 1000}
	gpus := model.NewPod(t).Requests[gpuResource]
	s.GPUs = gpus
	r.trace.Shapes = append(r.trace.Shapes, s)
	return n
}

// template returns the parts of the pod on which decisions depend. It omits the name, the node, the images and the status.
func (r *auditReader) template(p *corev1.Pod) *corev1.Pod {
	t := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Labels: p.Labels, OwnerReferences: p.OwnerReferences}}
	for k, v := range p.Annotations {
		if strings.Contains(k, "karpenter.sh/") || strings.HasPrefix(k, "controller.kubernetes.io/") || strings.HasPrefix(k, "cluster-autoscaler.kubernetes.io/") {
			if t.Annotations == nil {
				t.Annotations = map[string]string{}
			}
			t.Annotations[k] = v
		}
	}
	t.Spec = *p.Spec.DeepCopy()
	t.Spec.NodeName, t.Spec.ServiceAccountName, t.Spec.DeprecatedServiceAccount = "", "", ""
	t.Spec.EphemeralContainers, t.Spec.ImagePullSecrets, t.Spec.HostAliases = nil, nil, nil
	for _, list := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range list {
			c := &list[i]
			*c = corev1.Container{Name: c.Name, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
		}
	}
	if slices.ContainsFunc(t.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		r.volumes++
	}
	t.Spec.Volumes = nil
	t.Spec.SchedulingGates = nil // the log does not say when they were removed
	model.RequestLimits(&t.Spec)
	return t
}

// warn adds the warnings about pods that were left out, or whose replay is incomplete, to the trace.
func (r *auditReader) warn() {
	warn := func(n int, format string) {
		if n > 0 {
			r.trace.Warnings = append(r.trace.Warnings, fmt.Sprintf(format, units.Grouped(n)))
		}
	}
	warn(r.bare, "%s creations of pods without an object, which need an audit policy of level Request or RequestResponse, were left out")
	warn(r.daemons, "%s pods of DaemonSets and static pods were left out; give the DaemonSets with -f")
	warn(r.volumes, "%s pods have persistent volumes, whose zones are not replayed")
}

// finish adds the warnings and the period of the log to the trace.
func (r *auditReader) finish() {
	r.warn()
	if r.events == 0 {
		r.trace.Warnings = append(r.trace.Warnings, fmt.Sprintf("no completed request for pods in %s", units.Counted(r.unread, "line")))
	}
	for i := range r.trace.Pods {
		r.trace.Pods[i].Created = max(r.trace.Pods[i].Created, r.first)
	}
	if r.events > 0 {
		r.trace.logged = [2]time.Time{time.UnixMilli(r.first), time.UnixMilli(r.last)}
	}
}
