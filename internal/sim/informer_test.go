package sim

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	framework "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A handler gets the objects that exist in the order of their names, whatever order the store has. Later changes come in one step of
// the driver, in the order of types and names. Changes of one object keep their order.
func TestInformersReportInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := NewDriver(1)
		n := &notifier{driver: d, replica: "r"}
		pods, nodes := framework.NewFakeControllerSource(), framework.NewFakeControllerSource()
		for _, name := range []string{"d", "b", "a", "c"} {
			pods.Add(pod(name, ""))
		}
		nodes.Add(node("n"))
		var got []string
		report := func() cache.ResourceEventHandlerFuncs {
			return cache.ResourceEventHandlerFuncs{
				AddFunc: func(o any) { got = append(got, "add "+nameOf(o)) },
				UpdateFunc: func(_, o any) {
					got = append(got, "update "+nameOf(o)+" to "+o.(metav1.Object).GetLabels()["v"])
				},
				DeleteFunc: func(o any) { got = append(got, "delete "+nameOf(o)) },
			}
		}
		registrations := make([]cache.ResourceEventHandlerRegistration, 2)
		for i, lw := range []cache.ListerWatcher{pods, nodes} {
			informer := n.informer(lw, []client.Object{&corev1.Pod{}, &corev1.Node{}}[i], 0, cache.Indexers{})
			go informer.RunWithContext(ctx)
			synctest.Wait()
			r, err := informer.AddEventHandlerWithOptions(report(), cache.HandlerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			registrations[i] = r
		}
		synctest.Wait()
		if len(got) > 0 {
			t.Errorf("%v is reported before HasSynced", got)
		}
		for _, r := range registrations {
			if !r.HasSynced() {
				t.Error("a handler is not synced")
			}
		}
		if want := []string{"add a", "add b", "add c", "add d", "add n"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		got = nil
		pods.Modify(pod("c", "1"))
		pods.Modify(pod("b", "1"))
		pods.Delete(pod("a", ""))
		pods.Modify(pod("b", "2"))
		nodes.Modify(node("n"))
		d.Run(time.Now().Add(time.Second), func() bool { return true })
		want := []string{"update n to ", "delete a", "update b to 1", "update b to 2", "update c to 1"}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		cancel()
		synctest.Wait()
		pods.Shutdown()
		nodes.Shutdown()
	})
}

func nameOf(o any) string { return o.(metav1.Object).GetName() }

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"v": version}}}
}

func node(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
