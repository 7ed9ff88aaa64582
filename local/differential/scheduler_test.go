package differential

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
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

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// ofNode are the plugins that depend only on a pod and a node, in the scheduler's order. ofCluster are plugins that depend on
// all nodes, and ofStorage those that depend on volumes.
var (
	ofNode = []string{
		names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit,
	}
	ofStorage = []string{names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone}
	ofCluster = []string{names.PodTopologySpread, names.InterPodAffinity}
)

// A scheduler runs the filter plugins of kube-scheduler on nodes and pods that the test sets.
type scheduler struct {
	ctx   context.Context
	stop  context.CancelFunc
	fwk   framework.Framework
	view  *view
	disks *storage
	// plan is the snapshot from which plans are made.
	plan  *model.Snapshot
	nodes []*corev1.Node
	pods  []*corev1.Pod
	// tight are the nodes with a DaemonSet pod for which the capacity is not sufficient.
	tight map[string]bool
}

// view is the snapshot that the plugins see. Only the snapshot in it changes.
type view struct{ *cache.Snapshot }

var once sync.Once

// newScheduler starts the plugins for the cluster c, whose objects are d. stop must be called.
func newScheduler(c *scenario.Cluster, d *model.Delta, plan *model.Snapshot) (*scheduler, error) {
	once.Do(metrics.Register)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	s := &scheduler{ctx: ctx, stop: stop, view: &view{cache.NewEmptySnapshot()}, plan: plan, tight: map[string]bool{}}
	settings, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("read the scheduler's defaults: %w", err)
	}
	for _, p := range settings.Profiles[0].PluginConfig {
		if args, ok := p.Args.(*config.PodTopologySpreadArgs); ok {
			args.DefaultingType, args.DefaultConstraints = config.ListDefaulting, c.Spread
		}
	}
	enabled := append(slices.Clone(ofNode), ofCluster...)
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	enabled = append(enabled, ofStorage...)
	profile := config.KubeSchedulerProfile{
		SchedulerName: "test", Plugins: &config.Plugins{}, PluginConfig: settings.Profiles[0].PluginConfig,
	}
	for _, name := range append(enabled, names.PrioritySort, names.DefaultBinder) {
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: name, Weight: 1})
	}
	s.fwk, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		runtime.WithClientSet(client), runtime.WithInformerFactory(factory), runtime.WithSnapshotSharedLister(s.view),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
	)
	if err != nil {
		stop()
		return nil, fmt.Errorf("start the plugins: %w", err)
	}
	if s.disks, err = newStorage(factory, d); err != nil {
		stop()
		return nil, err
	}
	for _, o := range c.ServiceObjects() {
		if err := factory.Core().V1().Services().Informer().GetStore().Add(o); err != nil {
			stop()
			return nil, fmt.Errorf("add service: %w", err)
		}
	}
	return s, nil
}

// set replaces all nodes and pods. Every pod must have a node.
func (s *scheduler) set(nodes []*corev1.Node, pods []*corev1.Pod) {
	s.nodes, s.pods = slices.Clone(nodes), slices.Clone(pods)
	s.disks.tell(nodes, s.plan)
	s.refresh()
}

// restart sets the cluster of the world before its pods arrive, with all volumes in their initial state.
func (s *scheduler) restart(w *world) error {
	s.set(w.nodes, w.pods)
	if err := s.disks.reset(); err != nil {
		return err
	}
	s.tight = map[string]bool{}
	w.complete = s.employ(w.daemons)
	return nil
}

// employ binds DaemonSet pods to their nodes, except those that the plugins refuse. all is false if there is such a pod.
func (s *scheduler) employ(daemons []*corev1.Pod) (all bool) {
	all = true
	for _, p := range daemons {
		r := s.judge(p, p.Spec.NodeName)
		if r != nil && r.plugin == names.NodeResourcesFit {
			s.tight[p.Spec.NodeName] = true
			r = s.judgeWithRoom(p)
		}
		if r != nil && (slices.Contains(ofCluster, r.plugin) || r.plugin == names.NodePorts) {
			all = false
			continue
		}
		s.pods = append(s.pods, p)
		s.refresh()
	}
	return all
}

// judgeWithRoom runs the plugins for a DaemonSet pod on its node, as if the node had unlimited capacity. That corresponds to
// kubelet, which evicts pods in favour of critical DaemonSet pods.
func (s *scheduler) judgeWithRoom(p *corev1.Pod) *refusal {
	var there []*corev1.Pod
	for _, o := range s.pods {
		if o.Spec.NodeName == p.Spec.NodeName {
			there = append(there, o)
		}
	}
	info := framework.NewNodeInfo(there...)
	for _, n := range s.nodes {
		if n.Name == p.Spec.NodeName {
			roomy := n.DeepCopy()
			for name := range roomy.Status.Allocatable {
				roomy.Status.Allocatable[name] = *resource.NewQuantity(1<<50, resource.DecimalSI)
			}
			info.SetNode(roomy)
		}
	}
	return s.judgeInfo(p, info)
}

func (s *scheduler) refresh() { s.view.Snapshot = cache.NewSnapshot(s.pods, s.nodes) }

// bind binds the pod to the node, and provisions its volumes in the zone of the node.
func (s *scheduler) bind(p *corev1.Pod, node string) error {
	bound := p.DeepCopy()
	bound.Spec.NodeName = node
	s.pods = append(s.pods, bound)
	s.refresh()
	info, err := s.view.NodeInfos().Get(node)
	if err != nil {
		return fmt.Errorf("look up node: %w", err)
	}
	return s.disks.provision(bound, info.Node())
}

// mark returns a function that restores the current pods and volumes.
func (s *scheduler) mark() (undo func() error) {
	pods, disks := s.pods, s.disks.mark()
	return func() error {
		s.pods = pods[:len(pods):len(pods)]
		s.refresh()
		return disks()
	}
}

// A refusal is the reason why the plugins refuse a node for a pod.
type refusal struct {
	plugin string
	reason string
}

func (r *refusal) String() string { return r.plugin + ": " + r.reason }

// ofNodeAlone reports whether the refusal depends only on the pod and the node, not on the rest of the cluster.
func (r *refusal) ofNodeAlone() bool { return slices.Contains(ofNode, r.plugin) }

// judge returns nil if the plugins accept the pod on the node.
func (s *scheduler) judge(p *corev1.Pod, node string) *refusal {
	info, err := s.view.NodeInfos().Get(node)
	if err != nil {
		return &refusal{plugin: "test", reason: err.Error()}
	}
	return s.judgeInfo(p, info)
}

func (s *scheduler) judgeInfo(p *corev1.Pod, info fwk.NodeInfo) *refusal {
	state := framework.NewCycleState()
	only, status, _ := s.fwk.RunPreFilterPlugins(s.ctx, state, p)
	if !status.IsSuccess() {
		return &refusal{plugin: status.Plugin(), reason: "before any node: " + strings.Join(status.Reasons(), ", ")}
	}
	if !only.AllNodes() && !only.NodeNames.Has(info.Node().Name) {
		return &refusal{plugin: names.NodeAffinity, reason: "before any node: only some nodes are considered"}
	}
	if status := s.fwk.RunFilterPlugins(s.ctx, state, p, info); !status.IsSuccess() {
		return &refusal{plugin: status.Plugin(), reason: strings.Join(status.Reasons(), ", ")}
	}
	return nil
}

// alone runs the plugins for a node that is not part of the cluster. If they accept it, spread and affinity may still exclude
// it, because they depend on the domains that the node adds to the cluster.
func (s *scheduler) alone(p *corev1.Pod, node *corev1.Node, residents []*corev1.Pod) *refusal {
	info := framework.NewNodeInfo(residents...)
	info.SetNode(node)
	return s.judgeInfo(p, info)
}
