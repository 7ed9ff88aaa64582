package kubeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// line is one event of a watch, for comparisons.
type line struct {
	kind, name, version string
	initial             bool // the bookmark that ends initial events
}

// drain takes all events of a watch.
func drain(t *testing.T, w *Watch) []line {
	t.Helper()
	var out []line
	for data := w.Next(); data != nil; data = w.Next() {
		var e struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, line{e.Type, e.Object.Name, e.Object.ResourceVersion, e.Object.Annotations[metav1.InitialEventsAnnotationKey] == "true"})
	}
	return out
}

// watch begins a watch of the pods of the default namespace.
func (f *fixture) watch(query url.Values) Response {
	query.Set("watch", "true")
	return f.server.Serve(&Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default/pods", Query: query})
}

func kinds(lines []line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.kind+" "+l.name)
	}
	return out
}

func TestWatchFromAVersion(t *testing.T) {
	f := newFixture(t)
	a, b := pod("a", "", nil), pod("b", "", nil)
	f.create(a)
	version := a.ResourceVersion
	f.create(b)
	b.Labels = map[string]string{"x": "y"}
	f.must(f.client.Update(t.Context(), b))
	f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other-kind"}})
	other := pod("other-namespace", "", nil)
	other.Namespace = "other"
	f.create(other)
	w := f.watch(url.Values{"resourceVersion": {version}}).Watch
	f.must(f.client.Delete(t.Context(), a))
	got := drain(t, w)
	if want := []string{"ADDED b", "MODIFIED b", "DELETED a"}; !slices.Equal(kinds(got), want) {
		t.Errorf("events are %v, want %v", kinds(got), want)
	}
	for i := 1; i < len(got); i++ {
		if number(t, got[i].version) <= number(t, got[i-1].version) {
			t.Errorf("versions do not rise: %v", got)
		}
	}
	w.Close()
	f.create(pod("c", "", nil))
	if w.Pending() != 0 || !w.Closed() {
		t.Error("a closed watch has events")
	}
}

func number(t *testing.T, version string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A watch with a selector shows objects that begin or cease to match as added and deleted.
func TestWatchWithSelector(t *testing.T) {
	f := newFixture(t)
	w := f.watch(url.Values{"labelSelector": {"app=x"}}).Watch
	p := pod("a", "", nil)
	f.create(p)
	for _, labels := range []map[string]string{{"app": "x"}, {"app": "x", "b": "c"}, {"app": "y"}} {
		p.Labels = labels
		f.must(f.client.Update(t.Context(), p))
	}
	got := drain(t, w)
	if want := []string{"ADDED a", "MODIFIED a", "DELETED a"}; !slices.Equal(kinds(got), want) {
		t.Fatalf("events are %v, want %v", kinds(got), want)
	}
	if got[2].version != p.ResourceVersion {
		t.Errorf("the event has version %s, that of the change is %s", got[2].version, p.ResourceVersion)
	}
}

func TestWatchTooOld(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "", nil)
	f.create(p)
	first := p.ResourceVersion
	for i := range 30 { // the history of the fixture is 20
		p.Labels = map[string]string{"n": fmt.Sprint(i)}
		f.must(f.client.Update(t.Context(), p))
	}
	if r := f.watch(url.Values{"resourceVersion": {first}}); r.Code != http.StatusGone || r.Watch != nil {
		t.Errorf("the code is %d", r.Code)
	}
	r := f.watch(url.Values{"resourceVersion": {p.ResourceVersion}})
	if r.Watch == nil || r.Watch.Pending() != 0 {
		t.Errorf("the code of a watch from now is %d", r.Code)
	}
	oldest := strconv.FormatUint(number(t, p.ResourceVersion)-20, 10)
	if r := f.watch(url.Values{"resourceVersion": {oldest}}); r.Watch == nil || r.Watch.Pending() != 20 {
		t.Errorf("the code of a watch over the whole history is %d", r.Code)
	}
}

func TestInitialEvents(t *testing.T) {
	f := newFixture(t)
	f.create(pod("b", "", nil), pod("a", "", nil))
	w := f.watch(url.Values{"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"}}).Watch
	got := drain(t, w)
	if want := []string{"ADDED a", "ADDED b", "BOOKMARK "}; !slices.Equal(kinds(got), want) || !got[2].initial {
		t.Errorf("events are %v, want %v", got, want)
	}
	f.create(pod("c", "", nil))
	w.Bookmark()
	got = drain(t, w)
	if want := []string{"ADDED c", "BOOKMARK "}; !slices.Equal(kinds(got), want) || got[1].initial || got[1].version != got[0].version {
		t.Errorf("events are %v, want %v", got, want)
	}
	silent := f.watch(url.Values{"resourceVersion": {got[1].version}}).Watch
	silent.Bookmark()
	if silent.Pending() != 0 {
		t.Error("a client that wants no bookmarks gets one")
	}
}

// streaming carries out requests of several goroutines, and keeps watches open.
type streaming struct {
	mu   sync.Mutex
	more *sync.Cond
	f    *fixture
	// watches are those that are open.
	watches []*stream
}

func newStreaming(f *fixture) *streaming {
	s := &streaming{f: f}
	s.more = sync.NewCond(&s.mu)
	return s
}

// RoundTrip implements http.RoundTripper.
func (s *streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := ReadRequest(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := s.f.server.Serve(q)
	if resp.Watch == nil {
		return HTTP(r, resp, nil, s.f.now), nil
	}
	resp.Watch.Ready = s.more.Broadcast
	body := &stream{owner: s, watch: resp.Watch}
	s.watches = append(s.watches, body)
	context.AfterFunc(r.Context(), func() { _ = body.Close() })
	return HTTP(r, resp, body, s.f.now), nil
}

// cut ends all watches, as a restart of an API server does, and returns how many there were.
func (s *streaming) cut() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.watches {
		if !w.watch.Closed() {
			w.watch.Close()
			n++
		}
	}
	s.watches = nil
	s.more.Broadcast()
	return n
}

// stream is the body of a watch.
type stream struct {
	owner *streaming
	watch *Watch
	rest  []byte
}

func (s *stream) Read(p []byte) (int, error) {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	for len(s.rest) == 0 {
		if s.rest = s.watch.Next(); s.rest != nil {
			break
		}
		if s.watch.Closed() {
			return 0, io.EOF
		}
		s.owner.more.Wait()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *stream) Close() error {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	s.watch.Close()
	s.owner.more.Broadcast()
	return nil
}

// An informer of client-go follows the server, and catches up after its watch was cut.
func TestInformer(t *testing.T) {
	f := newFixture(t)
	s := newStreaming(f)
	clients, err := kubernetes.NewForConfig(f.server.RestConfig(s))
	f.must(err)
	pods := clients.CoreV1().Pods("default")
	add := func(name string) {
		if _, err := pods.Create(t.Context(), pod(name, "", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	add("a")
	factory := informers.NewSharedInformerFactory(clients, 0)
	informer := factory.Core().V1().Pods().Informer()
	seen := make(chan string, 100)
	tell := func(kind string) func(any) {
		return func(o any) {
			if p, ok := o.(*corev1.Pod); ok {
				seen <- kind + " " + p.Name
			}
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell("add"), DeleteFunc: tell("delete"), UpdateFunc: func(_, o any) { tell("update")(o) },
	})
	f.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := func(event string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != event {
				t.Fatalf("the informer sees %q, want %q", got, event)
			}
		case <-ctx.Done():
			t.Fatalf("the informer does not see %q", event)
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	want("add a")
	add("b")
	want("add b")
	changed := pod("b", "", map[string]string{"x": "y"})
	if _, err := pods.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want("update b")
	if n := s.cut(); n == 0 {
		t.Fatal("the informer has no watch")
	}
	f.must(pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	want("delete a")
}

// A watch of client-go sees changes, and is refused for a version that is too old.
func TestClientWatch(t *testing.T) {
	f := newFixture(t)
	clients, err := kubernetes.NewForConfig(f.server.RestConfig(newStreaming(f)))
	f.must(err)
	pods := clients.CoreV1().Pods("default")
	p, err := pods.Create(t.Context(), pod("a", "", nil), metav1.CreateOptions{})
	f.must(err)
	from := metav1.ListOptions{ResourceVersion: p.ResourceVersion}
	w, err := pods.Watch(t.Context(), from)
	f.must(err)
	f.must(pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	if e := <-w.ResultChan(); e.Type != watch.Deleted || e.Object.(*corev1.Pod).UID != p.UID {
		t.Errorf("the event is %v", e)
	}
	w.Stop()
	for range 15 { // two changes each, and the history of the fixture is 20
		if _, err := pods.Create(t.Context(), pod("b", "", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.must(pods.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	}
	if _, err := pods.Watch(t.Context(), from); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from a version that is too old: %v", err)
	}
}

func TestDiscovery(t *testing.T) {
	f := newFixture(t)
	clients, err := kubernetes.NewForConfig(f.server.RestConfig(nil))
	f.must(err)
	v, err := clients.Discovery().ServerVersion()
	f.must(err)
	if v.GitVersion != Version {
		t.Errorf("the version is %s", v.GitVersion)
	}
	_, lists, err := clients.Discovery().ServerGroupsAndResources()
	f.must(err)
	found := map[string]bool{}
	for _, l := range lists {
		for _, r := range l.APIResources {
			found[l.GroupVersion+" "+r.Name] = true
		}
	}
	for _, want := range []string{
		"v1 pods", "v1 pods/eviction", "v1 nodes/status", "apps/v1 deployments", "karpenter.sh/v1 nodeclaims/status", "policy/v1 poddisruptionbudgets",
		"authorization.k8s.io/v1 selfsubjectaccessreviews",
	} {
		if !found[want] {
			t.Errorf("discovery does not list %s", want)
		}
	}
	review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
	f.must(err)
	if !review.Status.Allowed {
		t.Error("an access review was refused")
	}
	for _, path := range []string{"/", "/api/v2/pods", "/apis/none/v1/things", "/api/v1/pods/a/b/c/d"} {
		if r := f.server.Serve(&Request{Method: http.MethodGet, Path: path}); r.Code != http.StatusNotFound {
			t.Errorf("GET %s has code %d", path, r.Code)
		}
	}
}
