package scheduler

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// leftOut are the default plugins that a Scheduler does not run.
var leftOut = []string{names.DefaultPreemption, names.DynamicResources}

// profile has the plugins of kube-scheduler, and the client, cache and informers that the plugins read.
type profile struct {
	framework framework.Framework
	client    kubernetes.Interface
	// cache follows the API server; snapshot is the copy of cache that the plugins read during an attempt.
	cache    cache.Cache
	snapshot *cache.Snapshot
	// informers are never started. The plugins read their stores, which Scheduler.observe fills.
	informers informers.SharedInformerFactory
	hints     []hint
}

// A hint decides whether a pod that a plugin rejected may be schedulable after an event.
type hint struct {
	plugin string
	event  fwk.ClusterEvent
	fn     fwk.QueueingHintFn
}

// quiet returns the context of all calls of the plugins. It discards their log messages.
func quiet() context.Context { return klog.NewContext(context.Background(), klog.Logger{}) }

// newProfile makes the default profile of kube-scheduler without the plugins in leftOut. Its client sends requests to server.
// The plugins ask nominator which pods are nominated to a node.
func newProfile(server *kubeapi.Server, nominator fwk.PodNominator) (*profile, error) {
	metrics.Register() // only the first call in a process has an effect
	client, err := kubernetes.NewForConfig(server.RestConfig(nil))
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	// The framework and the cache start goroutines that publish metrics until their context is done. Here it is done from the
	// start.
	ended, end := context.WithCancel(quiet())
	end()
	p := &profile{
		client: client, cache: cache.New(ended, nil, false), snapshot: cache.NewEmptySnapshot(),
		informers: informers.NewSharedInformerFactory(client, 0),
	}
	settings, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("read defaults: %w", err)
	}
	enabled := &settings.Profiles[0].Plugins.MultiPoint
	enabled.Enabled = slices.DeleteFunc(enabled.Enabled, func(p config.Plugin) bool { return slices.Contains(leftOut, p.Name) })
	p.framework, err = runtime.NewFramework(ended, plugins.NewInTreeRegistry(), &settings.Profiles[0],
		runtime.WithClientSet(client), runtime.WithInformerFactory(p.informers), runtime.WithSnapshotSharedLister(p.snapshot),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(p.informers.Storage().V1().CSINodes().Lister())),
		runtime.WithPodNominator(nominator), runtime.WithParallelism(1),
	)
	if err != nil {
		return nil, fmt.Errorf("make plugins: %w", err)
	}
	for _, e := range p.framework.EnqueueExtensions() {
		events, err := e.EventsToRegister(quiet())
		if err != nil {
			return nil, fmt.Errorf("events of %s: %w", e.Name(), err)
		}
		for _, event := range events {
			p.hints = append(p.hints, hint{plugin: e.Name(), event: event.Event, fn: event.QueueingHintFn})
		}
	}
	return p, nil
}
