package steer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/steer"
)

// Many pods on one node are not nominated, unless they could take what daemons will need; those on other nodes always are.
func TestSole(t *testing.T) {
	for _, tt := range []struct {
		name string
		// crowd pods were planned onto the large node, others onto the small one, which holds two.
		crowd, others int
		// daemon, if not empty, is what a daemon wants on every node; now is how old the nodes are.
		daemon string
		now    time.Duration
		// change sees the pods, those on the large node first.
		change func([]*corev1.Pod)
		want   map[string]int
	}{
		{name: "a crowd", crowd: 100, others: 2, want: map[string]int{"small": 2}},
		{name: "few", crowd: 99, others: 2, want: map[string]int{"large": 99, "small": 2}},
		{name: "room left over elsewhere is theirs", crowd: 100, others: 1, want: map[string]int{"small": 1}},
		{name: "room elsewhere that daemons will need", crowd: 100, others: 1, daemon: "500m",
			want: map[string]int{"large": 100, "small": 1}},
		{name: "too large for the room of daemons", crowd: 100, others: 1, daemon: "500m", change: func(pods []*corev1.Pod) {
			for _, p := range pods[:60] {
				ask(p, "2")
			}
		}, want: map[string]int{"large": 40, "small": 1}},
		{name: "daemons are there by now", crowd: 100, others: 1, daemon: "500m", now: time.Hour, want: map[string]int{"small": 1}},
		{name: "nobody else", crowd: 100, want: map[string]int{}},
		{name: "more important than the others", crowd: 100, others: 2, change: func(pods []*corev1.Pod) {
			rank := int32(5)
			pods[7].Spec.Priority = &rank
		}, want: map[string]int{"large": 1, "small": 2}},
		{name: "less important than the others", crowd: 100, others: 2, change: func(pods []*corev1.Pod) {
			rank := int32(5)
			pods[100].Spec.Priority, pods[101].Spec.Priority = &rank, &rank
		}, want: map[string]int{"small": 2}},
		{name: "nominated elsewhere before", crowd: 101, others: 2, change: func(pods []*corev1.Pod) {
			pods[0] = pod(pods[0].Name, "gone", steer.Writer)
		}, want: map[string]int{"large": 1, "small": 2}},
		{name: "nominated there before", crowd: 101, others: 2, change: func(pods []*corev1.Pod) {
			pods[0] = pod(pods[0].Name, "large", steer.Writer)
		}, want: map[string]int{"small": 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, promises := model.Delta{}, map[string]string{}
			for i := range tt.crowd + tt.others {
				p := pod(fmt.Sprintf("p%03d", i), "", "")
				d.Pods = append(d.Pods, p)
				promises["d/"+p.Name] = "claim-large"
				if i >= tt.crowd {
					promises["d/"+p.Name] = "claim-small"
				}
			}
			if tt.change != nil {
				tt.change(d.Pods)
			}
			small, smallClaim := node("small", true)
			large, largeClaim := node("large", true)
			size := large.Status.Allocatable // the claim's, too
			size[corev1.ResourceCPU], size[corev1.ResourcePods] = resource.MustParse("200"), resource.MustParse("500")
			d.Nodes, d.Claims = []*corev1.Node{small, large}, []*apiv1.NodeClaim{smallClaim, largeClaim}
			for _, n := range d.Nodes {
				n.CreationTimestamp = metav1.NewTime(born)
			}
			if tt.daemon != "" {
				d.Daemons = []*appsv1.DaemonSet{daemon(tt.daemon)}
			}
			s := model.Compile(d).WithPromises(promises).At(born.Add(tt.now))
			joined := append(steer.Join(s, smallClaim, small), steer.Join(s, largeClaim, large)...)
			check(t, "joining", joined, tt.want)
			for _, n := range d.Nodes {
				n.Labels[apiv1.NodeRegisteredLabelKey] = "true"
			}
			check(t, "open", steer.Next(model.Compile(d).WithPromises(promises).At(born.Add(tt.now)), true, nil), tt.want)
		})
	}
}

// born is when the nodes came.
var born = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// daemon wants so many cores on every node.
func daemon(cores string) *appsv1.DaemonSet {
	o := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "agent", UID: "agent"}}
	o.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)},
	}}}
	return o
}

// ask sets how many cores the pod wants.
func ask(p *corev1.Pod, cores string) {
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cores)
}

func check(t *testing.T, when string, got []steer.Nomination, want map[string]int) {
	t.Helper()
	count := map[string]int{}
	for _, n := range got {
		count[n.Node]++
	}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		var pods []string
		for _, n := range got {
			pods = append(pods, n.Pod.Object.Name+"="+n.Node)
		}
		t.Errorf("%s: nominated %v, want %v: %s", when, count, want, strings.Join(pods, " "))
	}
}
