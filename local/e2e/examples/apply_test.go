package examples

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/objects"
)

// root is the directory with one directory for each example.
const root = "../../../examples"

// A stage is one example that is applied to the cluster.
type stage struct {
	*place
	t       *testing.T
	objects []*unstructured.Unstructured
	pools   []string
}

// apply applies an example, and removes it when the test ends. The names of the local cluster replace those in the example.
// swaps are further replacements that a reader would make, such as for an image: old and new text in turn.
func (p *place) apply(t *testing.T, name string, swaps ...string) *stage {
	t.Helper()
	s := &stage{place: p, t: t}
	t.Cleanup(s.strike)
	files, err := filepath.Glob(filepath.Join(root, name, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests of %s: %v", name, err)
	}
	own := strings.NewReplacer(append([]string{
		"KarpenterNodeRole-demo", "KarpenterNodeRole-" + cluster.Name, "karpenter.sh/discovery: demo", "karpenter.sh/discovery: " + cluster.Name,
	}, swaps...)...)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(own.Replace(string(text)), "\n---\n") {
			o := &unstructured.Unstructured{}
			asJSON, err := yaml.YAMLToJSON([]byte(document))
			if err == nil {
				err = o.UnmarshalJSON(asJSON) // this keeps whole numbers as integers
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			s.objects = append(s.objects, o)
		}
	}
	for _, o := range s.objects {
		if o.GetKind() == "NodePool" {
			s.pools = append(s.pools, o.GetName())
		}
		if err := objects.Apply(t.Context(), p, o); err != nil {
			t.Fatal(err)
		}
	}
	s.ready()
	return s
}

// ready waits until all pools and classes are ready.
func (s *stage) ready() {
	s.t.Helper()
	s.Poll(s.t, func(ctx context.Context) string {
		var pools apiv1.NodePoolList
		var classes awsv1.EC2NodeClassList
		if err := s.List(ctx, &pools); err != nil {
			return err.Error()
		}
		if err := s.List(ctx, &classes); err != nil {
			return err.Error()
		}
		for i := range classes.Items {
			if c := &classes.Items[i]; !condition.Ready(c) {
				return fmt.Sprintf("class %s is not ready: %v", c.Name, c.Status.Conditions)
			}
		}
		for i := range pools.Items {
			if pool := &pools.Items[i]; !condition.Ready(pool) {
				return fmt.Sprintf("pool %s is not ready: %v", pool.Name, pool.Status.Conditions)
			}
		}
		return ""
	})
}

// replicas returns the number of pods in the example.
func (s *stage) replicas() (n int) {
	s.t.Helper()
	for _, o := range s.objects {
		field := map[string]string{"Deployment": "replicas", "StatefulSet": "replicas", "Job": "parallelism"}[o.GetKind()]
		if field == "" {
			continue
		}
		count, found, err := unstructured.NestedInt64(o.Object, "spec", field)
		if err != nil {
			s.t.Fatal(err)
		}
		if !found {
			count = 1
		}
		n += int(count)
	}
	return n
}

// A landing is a pod with the node on which it runs.
type landing struct {
	pod  corev1.Pod
	node corev1.Node
}

// run waits until all pods of the example run, or have completed, on initialized nodes. It returns the pods with their nodes.
func (s *stage) run() (out []landing) {
	s.t.Helper()
	want := s.replicas()
	s.Poll(s.t, func(ctx context.Context) string {
		out = nil
		var pods corev1.PodList
		if err := s.List(ctx, &pods, client.InNamespace("default")); err != nil {
			return err.Error()
		}
		for _, pod := range pods.Items {
			// Pods of Jobs may have completed already.
			if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodSucceeded {
				return fmt.Sprintf("pod %s is %s: %v", pod.Name, pod.Status.Phase, pod.Status.Conditions)
			}
			l := landing{pod: pod}
			if err := s.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &l.node); err != nil {
				return err.Error()
			}
			if l.node.Labels[apiv1.NodeInitializedLabelKey] != "true" {
				return fmt.Sprintf("node %s is not initialized: %v", l.node.Name, l.node.Spec.Taints)
			}
			out = append(out, l)
		}
		if len(out) != want {
			return fmt.Sprintf("%d pods run, want %d", len(out), want)
		}
		return ""
	})
	return out
}

// nodes returns the nodes of the pods, each once.
func nodes(landed []landing) []corev1.Node {
	byName := map[string]corev1.Node{}
	var out []corev1.Node
	for _, l := range landed {
		if _, known := byName[l.node.Name]; !known {
			out = append(out, l.node)
		}
		byName[l.node.Name] = l.node
	}
	slices.SortFunc(out, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// strike deletes the example and waits until all its objects are gone.
func (s *stage) strike() {
	ctx := context.WithoutCancel(s.t.Context())
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	for _, o := range slices.Backward(s.objects) {
		if o.GetKind() == "EC2NodeClass" {
			continue // deleted last, because claims need it
		}
		if err := s.Delete(ctx, o, background); err != nil && !apierrors.IsNotFound(err) {
			s.t.Errorf("delete %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	here := client.InNamespace("default")
	for _, kind := range []client.Object{&appsv1.Deployment{}, &batchv1.Job{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
		if err := s.DeleteAllOf(ctx, kind, here, background); err != nil {
			s.t.Errorf("delete every %T: %v", kind, err)
		}
	}
	s.gone(&corev1.PodList{}, here)
	s.gone(&apiv1.NodeClaimList{})
	s.gone(&corev1.NodeList{})
	for _, o := range s.objects {
		if o.GetKind() == "EC2NodeClass" {
			if err := s.Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
				s.t.Errorf("delete class %s: %v", o.GetName(), err)
			}
		}
	}
	s.gone(&awsv1.EC2NodeClassList{})
	s.gone(&apiv1.NodePoolList{})
}

// gone waits until there are no objects of a kind.
func (s *stage) gone(list client.ObjectList, opts ...client.ListOption) {
	s.t.Helper()
	s.Poll(s.t, func(ctx context.Context) string {
		l := &unstructured.UnstructuredList{}
		gvk, err := s.GroupVersionKindFor(list)
		if err != nil {
			return err.Error()
		}
		l.SetGroupVersionKind(gvk)
		if err := s.List(ctx, l, opts...); err != nil {
			return err.Error()
		}
		var names []string
		for _, o := range l.Items {
			names = append(names, o.GetName())
		}
		if len(names) == 0 {
			return ""
		}
		return fmt.Sprintf("%s are left: %v", gvk.Kind, names)
	})
}
