package decisionlog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/singleton"
)

// Intervals of the Publisher.
const (
	// writeEvery is the minimum time between two writes. After a write of more than writeEvery × writeRate bytes, the time is longer.
	writeEvery = 3 * time.Second
	// writeRate bounds what is written, in bytes per second over time. Each write stores the whole text anew, in etcd too, although
	// only the newest episodes differ. With MaxStored bytes, one write in 16 seconds is left.
	writeRate = 16 << 10
	// sweepEvery is the interval of reading the NodeClaims of open episodes, in case a watch event was missed.
	sweepEvery = time.Minute
)

// A Publisher writes the newest episodes, the settings and the unavailable offerings to the ConfigMap decisions.MapName. When it
// starts, it adds the episodes in that ConfigMap to the log.
type Publisher struct {
	// Client writes the ConfigMap and reads NodeClaims from its cache. Live reads the ConfigMap without a cache, because a cache
	// would watch all ConfigMaps.
	Client client.Client
	Live   client.Reader
	Clock  clock.PassiveClock
	Log    *decisions.Log
	// Namespace is the namespace of the ConfigMap. If it is empty, nothing is published.
	Namespace string
	// Settings are written to the ConfigMap beside the decisions, for commands that decide as the controller does. If they are
	// empty, they are omitted.
	Settings string
	// Cloud lists the instance types. Their unavailable offerings are written to the ConfigMap, for commands that do not
	// know which capacity the cloud has now. If it is nil, they are omitted.
	Cloud cloud.Provider

	restored, forbidden bool
	stored              bool   // true when Settings were written
	unavailable         string // the unavailable offerings at the last write
	written             uint64 // version of the log at the last write
	wrote, swept        time.Time
	size                int    // bytes of episodes and unavailable offerings in the last write
	told                string // the last logged error of the log's output
}

// Name is the controller's name in logs and metrics.
func (c *Publisher) Name() string { return "decisionlog.publisher" }

// Register adds the controller to mgr.
func (c *Publisher) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			c.Log.OnChange(func() { queue.Add(singleton.Request()) })
			return nil
		})).
		Complete(c)
}

// Reconcile writes the log if it has changed, and the settings at the start. Once per sweepEvery it records the effects on the
// NodeClaims of open episodes, and writes the unavailable offerings if they have changed.
func (c *Publisher) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := c.Clock.Now()
	c.tellFailed(ctx)
	if !c.restored {
		if err := c.restore(ctx); err != nil {
			return ctrl.Result{}, err
		}
		c.restored, c.swept = true, now
	}
	sweep := now.Sub(c.swept) >= sweepEvery
	if sweep {
		c.swept = now
		for _, name := range c.Log.OpenClaims() {
			if err := look(ctx, c.Client, c.Log, now, name); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	again := ctrl.Result{RequeueAfter: sweepEvery}
	if c.Namespace == "" || c.forbidden || c.Log.Version() == c.written && (c.stored || c.Settings == "") && !sweep {
		return again, nil
	}
	if wait := c.wrote.Add(writeInterval(c.size)).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	unavailable, err := c.listUnavailable(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if sweep && c.Log.Version() == c.written && c.stored && unavailable == c.unavailable {
		return again, nil
	}
	c.wrote = now
	text, version := c.Log.Encode()
	c.size = len(text) + len(unavailable)
	if err := c.write(ctx, text, unavailable); err != nil {
		if apierrors.IsForbidden(err) {
			c.tellForbidden(ctx, err)
			return again, nil
		}
		return ctrl.Result{}, fmt.Errorf("write ConfigMap %s/%s: %w", c.Namespace, decisions.MapName, err)
	}
	c.written, c.stored, c.unavailable = version, true, unavailable
	return again, nil
}

// writeInterval returns the minimum time between a write of size bytes and the next one.
func writeInterval(size int) time.Duration {
	return max(writeEvery, time.Duration(size)*time.Second/writeRate)
}

// listUnavailable returns the unavailable offerings of the NodePools as text. A NodePool whose types cannot be listed is
// left out.
func (c *Publisher) listUnavailable(ctx context.Context) (string, error) {
	if c.Cloud == nil {
		return "", nil
	}
	var pools apiv1.NodePoolList
	if err := c.Client.List(ctx, &pools); err != nil {
		return "", fmt.Errorf("list NodePools: %w", err)
	}
	types := map[string][]*model.InstanceType{}
	for i := range pools.Items {
		p := &pools.Items[i]
		if !c.Cloud.Facts().Manages(p.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		if list, err := c.Cloud.InstanceTypes(ctx, p); err == nil {
			types[p.Name] = list
		}
	}
	return decisions.NewUnavailable(types).Encode(), nil
}

// restore adds the episodes in the ConfigMap to the log. A ConfigMap that does not exist, may not be read or cannot be decoded is
// treated as empty. Any other error is returned.
func (c *Publisher) restore(ctx context.Context) error {
	if c.Namespace == "" {
		return nil
	}
	var stored corev1.ConfigMap
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: decisions.MapName}, &stored)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		c.tellForbidden(ctx, err)
		return nil
	case err != nil:
		return fmt.Errorf("read ConfigMap %s/%s: %w", c.Namespace, decisions.MapName, err)
	}
	episodes, err := decisions.Decode(stored.Data[decisions.MapKey])
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("invalid decision log of an earlier process replaced", "ConfigMap", c.ref(), "error", err.Error())
		return nil
	}
	c.Log.Restore(episodes)
	return nil
}

// write stores the text of the log, the settings and the unavailable offerings in the ConfigMap. It creates the ConfigMap
// if it does not exist.
func (c *Publisher) write(ctx context.Context, text, unavailable string) error {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: decisions.MapName}}
	data := map[string]string{decisions.MapKey: text}
	if c.Settings != "" {
		data[decisions.SettingsKey] = c.Settings
	}
	if unavailable != "" {
		data[decisions.UnavailableKey] = unavailable
	}
	// The patch is written out, because client.MergeFrom would encode and decode the text several times to compute it.
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	err = c.Client.Patch(ctx, m.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) {
		m.Data = data
		return c.Client.Create(ctx, m)
	}
	return err
}

func (c *Publisher) ref() klog.ObjectRef { return klog.KRef(c.Namespace, decisions.MapName) }

// tellForbidden logs once that the log is not published, because Karpenter may not read or write the ConfigMap.
func (c *Publisher) tellForbidden(ctx context.Context, err error) {
	if !c.forbidden {
		c.forbidden = true
		ctrl.LoggerFrom(ctx).Info("not authorized to read and write ConfigMap: karpenter timeline and top show no decisions (chart value extraPermissions.configMaps)",
			"ConfigMap", c.ref(), "error", err.Error())
	}
}

// tellFailed logs each new error of the output of --decision-log.
func (c *Publisher) tellFailed(ctx context.Context) {
	text := ""
	if err := c.Log.Err(); err != nil {
		text = err.Error()
		if text != c.told {
			ctrl.LoggerFrom(ctx).Error(err, "failed to write the decision log")
		}
	}
	c.told = text
}
