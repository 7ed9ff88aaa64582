package operator

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A kindServer is an API server that serves a number of kinds, or that does not answer.
type kindServer struct {
	discovery.ServerResourcesInterface
	kinds []schema.GroupVersionKind
	err   error
}

func (s *kindServer) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: version}
	for _, gvk := range s.kinds {
		if gvk.GroupVersion().String() == version {
			list.APIResources = append(list.APIResources, metav1.APIResource{Kind: gvk.Kind})
		}
	}
	if len(list.APIResources) == 0 && s.err == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, version)
	}
	return list, s.err
}

var (
	poolKind  = apiv1.GroupVersion.WithKind("NodePool")
	claimKind = apiv1.GroupVersion.WithKind("NodeClaim")
	classKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "NodeClass"}
)

// A steppedClock calls step at each wait, which then ends at once.
type steppedClock struct {
	clock.RealClock
	step func(time.Duration)
}

func (c steppedClock) After(d time.Duration) <-chan time.Time {
	c.step(d)
	ended := make(chan time.Time, 1)
	ended <- time.Time{}
	return ended
}

// The program waits for CustomResourceDefinitions, one after another and during an outage, says so once, and is alive and not ready.
func TestKindsAreAwaited(t *testing.T) {
	steps := []struct {
		kinds []schema.GroupVersionKind
		err   error
		want  string // what /readyz says before the step
	}{
		{kinds: []schema.GroupVersionKind{poolKind}, want: "NodePool of karpenter.sh/v1, NodeClaim of karpenter.sh/v1, NodeClass of example.com/v1"},
		{err: errors.New("connection refused"), want: "NodeClaim of karpenter.sh/v1, NodeClass of example.com/v1"},
		{kinds: []schema.GroupVersionKind{poolKind, claimKind}, want: "NodeClaim of karpenter.sh/v1, NodeClass of example.com/v1"},
		{kinds: []schema.GroupVersionKind{poolKind, claimKind, classKind}, want: "NodeClass of example.com/v1"},
	}
	var lines []string
	server := &kindServer{}
	w := &kindWait{
		server: server, kinds: []schema.GroupVersionKind{poolKind, claimKind, classKind},
		log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}),
	}
	next := 0
	w.clock = steppedClock{step: func(d time.Duration) {
		step := steps[next]
		next++
		want := "internal server error: the API server does not serve " + step.want + "\n"
		if code, text := probe(w, "/readyz"); code != http.StatusInternalServerError || text != want {
			t.Errorf("step %d: /readyz is %d %q, want %q", next, code, text, want)
		}
		if code, _ := probe(w, "/healthz"); code != http.StatusOK {
			t.Errorf("step %d: /healthz is %d", next, code)
		}
		if len(lines) != 1 || d != kindsAgain {
			t.Errorf("step %d: log %q, wait %v", next, lines, d)
		}
		server.kinds, server.err = step.kinds, step.err
	}}
	if err := w.wait(t.Context(), ""); err != nil || next != len(steps) {
		t.Errorf("ended with %v after %d steps, want %d", err, next, len(steps))
	}
}

// The probes are served while kinds are awaited. The listener is closed after that, so that the manager can use its address.
func TestProbesWhileKindsAreAwaited(t *testing.T) {
	w := &kindWait{}
	text := "NodePool is missing"
	w.lacking.Store(&text)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := w.serveProbesAt(listener)
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError} {
		answer, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s is %d, want %d", path, answer.StatusCode, want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener gives %v after the wait, want %v", err, net.ErrClosed)
	}
}

func probe(w *kindWait, path string) (code int, text string) {
	r := httptest.NewRecorder()
	w.probes().ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
	return r.Code, r.Body.String()
}

// There is no wait if all kinds are served, if the API server does not answer, or if the program is to end.
func TestKindsAreNotAwaited(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for name, tt := range map[string]struct {
		ctx    context.Context
		server *kindServer
	}{
		"all served": {t.Context(), &kindServer{kinds: []schema.GroupVersionKind{poolKind, claimKind}}},
		"no answer":  {t.Context(), &kindServer{err: errors.New("connection refused")}},
		"ended":      {ended, &kindServer{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &kindWait{server: tt.server, kinds: []schema.GroupVersionKind{poolKind, claimKind}, clock: clock.RealClock{}, log: logr.Discard()}
			if err := w.wait(tt.ctx, "127.0.0.1:0"); err != nil {
				t.Error(err)
			}
		})
	}
}
