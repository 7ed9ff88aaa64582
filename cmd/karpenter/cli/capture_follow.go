package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A follower writes a line for the creation and a line for the end of each pod. The lines are events of an audit log,
// with the fields that the command backtest reads. Pods that exist at the beginning count as created at that time.
type follower struct {
	pods  client.WithWatch
	clock clock.PassiveClock
	out   io.Writer
	// alive are the pods whose creation was written, and whose end was not written yet.
	alive map[types.UID]*corev1.Pod
	// failed is the error of a line that could not be written, which ends the capture.
	failed error
}

// again is the delay after which a follower lists all pods again, if a watch has failed or has ended.
const again = 5 * time.Second

// follow writes events until ctx is cancelled. It returns an error if the first attempt finds no pods and fails, or
// if a line cannot be written. Other errors are passed to tell, and follow then lists the pods again, which shows the
// pods that were created or deleted in the meantime.
func (f *follower) follow(ctx context.Context, tell func(error)) error {
	for begun := false; ; {
		err := f.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case f.failed != nil:
			return f.failed
		case err != nil && !begun && len(f.alive) == 0:
			return coded{exitUnreachable, err}
		case err != nil:
			tell(err)
		}
		begun = true
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// round lists the pods and watches them until the watch ends, and writes what changes.
func (f *follower) round(ctx context.Context) error {
	var list corev1.PodList
	if err := f.pods.List(ctx, &list); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if err := f.sync(list.Items); err != nil {
		return err
	}
	w, err := f.pods.Watch(ctx, &corev1.PodList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		switch {
		case e.Type == watch.Error:
			return nil // for example, the resource version expired; the next round lists again
		case !ok:
			continue
		case e.Type == watch.Deleted:
			err = f.end(pod)
		default:
			err = f.see(pod)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sync writes the pods that have ended or are new since the last list.
func (f *follower) sync(pods []corev1.Pod) error {
	there := make(map[types.UID]bool, len(pods))
	for i := range pods {
		there[pods[i].UID] = true
	}
	var gone []*corev1.Pod
	for uid, pod := range f.alive {
		if !there[uid] {
			gone = append(gone, pod)
		}
	}
	slices.SortFunc(gone, func(a, b *corev1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	for _, pod := range gone {
		if err := f.end(pod); err != nil {
			return err
		}
	}
	for i := range pods {
		if err := f.see(&pods[i]); err != nil {
			return err
		}
	}
	return nil
}

// see writes the creation of a new pod, and the end of a pod that has finished. A pod that was finished when it was first
// seen is ignored.
func (f *follower) see(pod *corev1.Pod) error {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case finished && f.alive[pod.UID] != nil:
		return f.end(pod)
	case finished || f.alive[pod.UID] != nil:
		return nil
	}
	f.alive[pod.UID] = pod
	return f.write("create", pod)
}

// end writes the end of a pod whose creation was written. It ignores other pods.
func (f *follower) end(pod *corev1.Pod) error {
	if f.alive[pod.UID] == nil {
		return nil
	}
	delete(f.alive, pod.UID)
	return f.write("delete", pod)
}

// A followed is an event of audit.k8s.io/v1 with the fields that backtest reads.
type followed struct {
	Kind           string           `json:"kind"`
	APIVersion     string           `json:"apiVersion"`
	Stage          string           `json:"stage"`
	Verb           string           `json:"verb"`
	ObjectRef      followedRef      `json:"objectRef"`
	ResponseStatus metav1.Status    `json:"responseStatus"`
	ResponseObject *corev1.Pod      `json:"responseObject,omitempty"`
	StageTimestamp metav1.MicroTime `json:"stageTimestamp"`
}

// A followedRef names the pod of an event.
type followedRef struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (f *follower) write(verb string, pod *corev1.Pod) error {
	e := followed{
		Kind: "Event", APIVersion: "audit.k8s.io/v1", Stage: "ResponseComplete", Verb: verb,
		StageTimestamp: metav1.NewMicroTime(f.clock.Now().UTC()), ResponseStatus: metav1.Status{Code: 200},
	}
	e.ObjectRef = followedRef{"pods", pod.Namespace, pod.Name}
	if verb == "create" {
		e.ResponseObject = pod.DeepCopy()
		e.ResponseObject.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		redact(e.ResponseObject)
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = f.out.Write(append(line, '\n'))
	}
	if err != nil {
		f.failed = fmt.Errorf("write pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return f.failed
}
