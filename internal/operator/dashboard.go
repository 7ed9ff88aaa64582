package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/dashboard"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/observe/inputs"
	"github.com/karpenter-go/karpenter/internal/operator/guard"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// serveDashboard adds the dashboard to the manager, if it is on. Every replica serves it.
func (b base) serveDashboard(mgr ctrl.Manager, p Program) error {
	s := p.Settings
	if s.DashboardPort == 0 {
		return nil
	}
	var protect func(http.Handler) http.Handler
	if s.DashboardAuthentication {
		g, err := guard.New(mgr.GetConfig(), mgr.GetHTTPClient(), p.Clock)
		if err != nil {
			return fmt.Errorf("protect the dashboard: %w", err)
		}
		g.Refuse, g.Prefix = dashboard.Refuse, dashboard.RBACPrefix
		protect = g.Protect
	}
	cloud := b.offers("dashboard")
	var last inputs.LastTypes
	o := dashboard.Options{
		Cluster: b.cluster,
		WithTypes: func(ctx context.Context, s *model.Snapshot) *model.Snapshot {
			return inputs.WithInstanceTypes(ctx, b.Clock, cloud, &last, s)
		},
		TypesOf: func(ctx context.Context, pool *apiv1.NodePool) ([]*model.InstanceType, error) {
			return cloud.InstanceTypes(ctx, pool)
		},
		Claims:    func(ctx context.Context) (view.Claims, error) { return claimsOf(ctx, b.Live) },
		Decisions: b.log, Latest: b.latest, Costs: b.costs, Pack: b.packing(), Disrupt: b.disruptOptions(), Clock: p.Clock, Log: p.Log.WithName("dashboard"), Metrics: b.metrics.Dashboard,
		Spread: func(ctx context.Context) func(*model.Pod) []corev1.TopologySpreadConstraint { return b.spread.Of(ctx) },
		Leader: func() bool {
			select {
			case <-mgr.Elected():
				return true
			default:
				return false
			}
		},
		LeaderName: func(ctx context.Context) (string, error) {
			if s.DisableLeaderElection {
				return "", nil
			}
			return leaderOf(ctx, b.Live, s.LeaseNamespace(), s.LeaderElectionName)
		},
		Info: view.Info{Cluster: p.ClusterName, Version: p.Version.Number, DryRun: s.Mode == settings.ModeDryRun},
	}
	o.Disrupt.Repair = nil // repair policies contain state of the controller and must not be shared
	server, err := dashboard.New(o, protect)
	if err != nil {
		return fmt.Errorf("make dashboard: %w", err)
	}
	address := net.JoinHostPort(s.DashboardBindAddress, strconv.Itoa(s.DashboardPort))
	if err := mgr.Add(&dashboardServer{server, address}); err != nil {
		return fmt.Errorf("add dashboard: %w", err)
	}
	p.Log.Info("serving the dashboard", "url", "http://"+address+"/")
	return nil
}

// A dashboardServer is the dashboard as a part of a manager.
type dashboardServer struct {
	*dashboard.Server
	address string
}

// NeedLeaderElection returns false: a replica that is not the leader serves the dashboard as well.
func (*dashboardServer) NeedLeaderElection() bool { return false }

// Start serves until the context is done.
func (d *dashboardServer) Start(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", d.address)
	if err != nil {
		return fmt.Errorf("serve the dashboard: %w", err)
	}
	web := &http.Server{
		Handler: d.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	runErr := d.Run(ctx)
	closeErr := web.Close()
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the dashboard: %w", err)
	}
	return errors.Join(runErr, closeErr)
}

// claimsOf reads the ResourceClaims and their templates. They are not watched, because only the dashboard needs them, and
// only while pods refer to ResourceClaims.
func claimsOf(ctx context.Context, live client.Reader) (view.Claims, error) {
	var claims resourcev1.ResourceClaimList
	if err := live.List(ctx, &claims); err != nil {
		return view.Claims{}, fmt.Errorf("list ResourceClaims: %w", err)
	}
	var templates resourcev1.ResourceClaimTemplateList
	if err := live.List(ctx, &templates); err != nil {
		return view.Claims{}, fmt.Errorf("list ResourceClaimTemplates: %w", err)
	}
	return view.NewClaims(claims.Items, templates.Items), nil
}

// leaderOf returns the name of the pod that has the lease, empty if none has it.
func leaderOf(ctx context.Context, live client.Reader, namespace, name string) (string, error) {
	var lease coordinationv1.Lease
	if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &lease); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("get Lease %s/%s: %w", namespace, name, err)
	}
	// The identity of a replica is its hostname, "_" and a random part. In a pod, the hostname is the name of the pod.
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	return pod, nil
}
