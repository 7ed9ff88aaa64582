package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// kindsAgain is the interval at which the API server is asked again for kinds that it does not serve.
const kindsAgain = 5 * time.Second

// A kindWait waits until the API server serves the kinds of all custom resources without which the program cannot run. A Deployment may
// start before the CustomResourceDefinitions are installed, for example if one tool applies both.
type kindWait struct {
	server discovery.ServerResourcesInterface
	kinds  []schema.GroupVersionKind
	clock  clock.Clock
	log    logr.Logger
	// lacking is the text about the missing kinds that /readyz returns.
	lacking atomic.Pointer[string]
}

// awaitKinds waits for NodePools, NodeClaims and the kinds of p. Simulations have no probes.
func awaitKinds(ctx context.Context, p Program) error {
	server, err := discovery.NewDiscoveryClientForConfig(p.Rest)
	if err != nil {
		return fmt.Errorf("make discovery client: %w", err)
	}
	kinds := []schema.GroupVersionKind{apiv1.GroupVersion.WithKind("NodePool"), apiv1.GroupVersion.WithKind("NodeClaim")}
	w := &kindWait{server: server, kinds: append(kinds, p.Kinds...), clock: p.Clock, log: p.Log}
	if p.Manager != nil {
		return w.wait(ctx, "")
	}
	return w.wait(ctx, address(p.Settings.HealthProbePort))
}

// wait returns when all kinds are served, when ctx is done, or when the API server does not answer: the manager reports that. Meanwhile,
// it serves the probes at address: the process is alive and not ready. An empty address serves none.
func (w *kindWait) wait(ctx context.Context, address string) error {
	lacking, err := w.missing()
	if err != nil || lacking == "" {
		return nil //nolint:nilerr // the manager meets the same error
	}
	text := lacking // the probes read it while lacking changes
	w.lacking.Store(&text)
	stop, err := w.serveProbes(address)
	if err != nil {
		return err
	}
	w.log.Error(errors.New(lacking), "waiting for CustomResourceDefinitions: install the chart karpenter-crd")
	for lacking != "" && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-w.clock.After(kindsAgain):
			if now, err := w.missing(); err == nil {
				lacking = now
				w.lacking.Store(&now)
			}
		}
	}
	if ctx.Err() == nil {
		w.log.Info("all CustomResourceDefinitions are installed")
	}
	return stop()
}

// missing returns a text that names the kinds that the API server does not serve, empty if it serves all.
func (w *kindWait) missing() (string, error) {
	var names []string
	for _, gvk := range w.kinds {
		list, err := w.server.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("list resources of %s: %w", gvk.GroupVersion(), err)
		}
		served := false
		if err == nil {
			for _, resource := range list.APIResources {
				served = served || resource.Kind == gvk.Kind
			}
		}
		if !served {
			names = append(names, gvk.Kind+" of "+gvk.GroupVersion().String())
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return "the API server does not serve " + strings.Join(names, ", "), nil
}

// serveProbes serves /healthz and /readyz until the returned function is called. The manager then serves them at the same address.
func (w *kindWait) serveProbes(address string) (stop func() error, err error) {
	if address == "" {
		return func() error { return nil }, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve probes: %w", err)
	}
	return w.serveProbesAt(listener), nil
}

// serveProbesAt is serveProbes for a listener, which the returned function closes.
func (w *kindWait) serveProbesAt(listener net.Listener) (stop func() error) {
	probes := &http.Server{Handler: w.probes(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- probes.Serve(listener) }()
	return func() error {
		err := probes.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		if err != nil {
			return fmt.Errorf("serve probes: %w", err)
		}
		return nil
	}
}

// probes returns the handler of /healthz, which succeeds, and /readyz, which fails.
func (w *kindWait) probes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", healthz.CheckHandler{Checker: healthz.Ping})
	mux.Handle("/readyz", healthz.CheckHandler{Checker: func(*http.Request) error { return errors.New(*w.lacking.Load()) }})
	return mux
}
