// Package costledger stores the ledger of costs in the ConfigMap karpenter-cost in the controller's namespace, and reads it at the
// start. The command karpenter cost reads the ConfigMap.
//
// Its state is whether the ConfigMap was read, what was stored last, and whether a missing permission was logged. If it is
// lost, the ConfigMap is read and written once more.
package costledger

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/singleton"
)

// The ledger is stored after saveEvery, or after lookEvery if the price per hour has changed.
const (
	saveEvery = time.Minute
	lookEvery = 10 * time.Second
)

// A Controller stores the ledger.
type Controller struct {
	Ledger *ledger.Ledger
	// Client writes the ConfigMap. Reader reads it from the API server, because a cache would watch all ConfigMaps.
	Client client.Client
	Reader client.Reader
	// Namespace is the namespace of the controller. If it is empty, nothing is stored.
	Namespace string

	restored, told bool
	// saved is the time up to which the stored ledger counts costs. total is the price per hour in it.
	saved time.Time
	total cost.Micros
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "cost.ledger" }

// Reconcile restores the ledger in its first run, and stores it in later runs. It is repeated after lookEvery, or after
// saveEvery if a permission is missing. Without a Namespace it only begins the ledger.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if c.Namespace == "" {
		c.Ledger.Begin()
		return ctrl.Result{}, nil
	}
	until, total := c.Ledger.Charged()
	if c.restored && total == c.total && until.Sub(c.saved) < saveEvery {
		return ctrl.Result{RequeueAfter: lookEvery}, nil
	}
	var stored corev1.ConfigMap
	err := c.Reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ledger.MapName}, &stored)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return c.refused(ctx, fmt.Errorf("read ledger: %w", err))
	}
	if !c.restored {
		c.restore(ctx, stored.BinaryData[ledger.MapKey])
		return ctrl.Result{RequeueAfter: lookEvery}, nil
	}
	if until.IsZero() {
		return ctrl.Result{RequeueAfter: lookEvery}, nil
	}
	saved := c.Ledger.Save()
	text, err := saved.Encode()
	if err != nil {
		return ctrl.Result{}, err
	}
	if missing {
		err = c.Client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: ledger.MapName}, BinaryData: map[string][]byte{ledger.MapKey: text},
		})
	} else {
		stored.BinaryData = map[string][]byte{ledger.MapKey: text}
		err = c.Client.Update(ctx, &stored)
	}
	if err != nil {
		return c.refused(ctx, fmt.Errorf("store ledger: %w", err))
	}
	c.saved, c.total = until, total
	return ctrl.Result{RequeueAfter: lookEvery}, nil
}

// restore passes the stored data to the ledger and begins it. If the data cannot be decoded, they are ignored, and the next
// Reconcile overwrites them.
func (c *Controller) restore(ctx context.Context, data []byte) {
	c.restored = true
	defer c.Ledger.Begin()
	if len(data) == 0 {
		return
	}
	saved, err := ledger.Decode(data)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "ignored unreadable cost ledger", "ConfigMap", klog.KRef(c.Namespace, ledger.MapName))
		return
	}
	c.Ledger.Restore(saved)
}

// refused returns err, but nil if a permission is missing. The missing permission is logged once. The ledger is then in
// memory only, until a later attempt to store it succeeds.
func (c *Controller) refused(ctx context.Context, err error) (ctrl.Result, error) {
	if !apierrors.IsForbidden(err) {
		return ctrl.Result{}, err
	}
	c.Ledger.Begin()
	if !c.told {
		c.told = true
		ctrl.LoggerFrom(ctx).Info("not authorized for ConfigMap: costs are lost on restart, karpenter cost has no history (chart value extraPermissions.configMaps)",
			"ConfigMap", klog.KRef(c.Namespace, ledger.MapName))
	}
	return ctrl.Result{RequeueAfter: saveEvery}, nil
}

// Register adds the controller to the manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).Complete(c)
}
