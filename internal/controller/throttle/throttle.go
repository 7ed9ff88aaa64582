package throttle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// MapName is the name of the ConfigMap.
const MapName = "karpenter-throttle"

// every is the interval at which the ConfigMap is read.
const every = 5 * time.Second

// A Throttle has the current Limits and counts actions. A nil Throttle has no limits.
type Throttle struct {
	// Settings are the limits from the settings of the process. The ConfigMap overrides them.
	Settings Limits
	// Reader reads the ConfigMap from the API server. It has no cache, because a cache would watch all ConfigMaps. Namespace is
	// the namespace of the ConfigMap. If it is empty, no ConfigMap is read.
	Reader    client.Reader
	Namespace string
	Metrics   *telemetry.Metrics
	// Wake is called when the limits have changed; may be nil.
	Wake func()

	mu    sync.Mutex // guards now and done
	now   *Limits    // nil until the ConfigMap was read
	done  [kinds]Tally
	told  string // the last logged error about the ConfigMap
	quiet bool   // true when it was logged that Karpenter may not read the ConfigMap; false again after the next read
	known bool   // true when a read of the ConfigMap has succeeded, or found that it does not exist
}

// Known reports whether the ConfigMap was read, or none is configured. Until then, controllers make no decisions.
func (b *Throttle) Known() bool {
	if b == nil || b.Namespace == "" {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now != nil
}

// Limits returns the current limits. Until the ConfigMap was read for the first time, launches and disruption are
// paused, because the ConfigMap may pause them.
func (b *Throttle) Limits() Limits {
	if b == nil {
		return Limits{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.now != nil:
		return *b.now
	case b.Namespace == "":
		return b.Settings
	}
	return Limits{PauseLaunches: true, PauseDisruption: true}
}

// Name returns the controller's name.
func (b *Throttle) Name() string { return "throttle" }

// Register adds the controller to mgr.
func (b *Throttle) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(b.Name()).WatchesRawSource(singleton.Source()).Complete(b)
}

// Reconcile reads the ConfigMap. If the read fails, the limits do not change. If no read has succeeded since the start because
// Karpenter may not read the ConfigMap, Settings apply.
func (b *Throttle) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var data map[string]string
	if b.Namespace != "" {
		var stored corev1.ConfigMap
		err := b.Reader.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: MapName}, &stored)
		switch {
		case apierrors.IsForbidden(err):
			b.tellForbidden(ctx, err)
			if b.known {
				return ctrl.Result{RequeueAfter: every}, nil
			}
		case client.IgnoreNotFound(err) != nil:
			return ctrl.Result{}, fmt.Errorf("read ConfigMap %s/%s: %w", b.Namespace, MapName, err)
		default:
			b.known, b.quiet = true, false
		}
		data = stored.Data
	}
	next, err := b.Settings.With(data)
	b.tellWrong(ctx, err)
	b.set(ctx, next)
	return ctrl.Result{RequeueAfter: every}, nil
}

// set makes next the current limits. If they have changed, it sets the metrics, logs the change and calls Wake.
func (b *Throttle) set(ctx context.Context, next Limits) {
	b.mu.Lock()
	before := b.now
	b.now = &next
	b.mu.Unlock()
	if before != nil && *before == next {
		return
	}
	for kind, paused := range map[string]bool{"launches": next.PauseLaunches, "disruption": next.PauseDisruption} {
		value := 0.0
		if paused {
			value = 1
		}
		b.Metrics.Throttle.Paused.WithLabelValues(kind).Set(value)
	}
	if before != nil || next != b.Settings {
		ctrl.LoggerFrom(ctx).Info("changed pauses and rate limits", "ConfigMap", b.ref(),
			KeyPauseLaunches, next.PauseLaunches, KeyPauseDisruption, next.PauseDisruption, KeyMaxLaunches, next.MaxLaunches,
			KeyMaxReplacements, next.MaxReplacements, KeyMaxDisruptions, next.MaxDisruptions)
	}
	if b.Wake != nil {
		b.Wake()
	}
}

// ref names the ConfigMap in log lines.
func (b *Throttle) ref() klog.ObjectRef { return klog.KRef(b.Namespace, MapName) }

// tellWrong logs an error in the ConfigMap once.
func (b *Throttle) tellWrong(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if text != b.told && err != nil {
		ctrl.LoggerFrom(ctx).Error(errors.New(text), "invalid values in ConfigMap", "ConfigMap", b.ref())
	}
	b.told = text
}

// tellForbidden logs once that Karpenter may not read the ConfigMap, and which limits apply instead of its own.
func (b *Throttle) tellForbidden(ctx context.Context, err error) {
	if b.quiet {
		return
	}
	b.quiet = true
	if b.known {
		ctrl.LoggerFrom(ctx).Error(err, "no longer authorized to read ConfigMap: its last pauses and rate limits apply until a restart"+
			" (chart value extraPermissions.throttle)", "ConfigMap", b.ref())
		return
	}
	ctrl.LoggerFrom(ctx).Info("not authorized to read ConfigMap: pauses and rate limits in it are not applied (chart value extraPermissions.throttle)",
		"ConfigMap", b.ref())
}
