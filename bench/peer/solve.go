package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	fakecloud "sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	provisioning "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// An output is a plan in the format of package result.
type output struct {
	Engine    string   `json:"engine"`
	Pods      int      `json:"pods"`
	Seconds   float64  `json:"seconds"`
	CPU       float64  `json:"cpuSeconds"`
	Allocated uint64   `json:"allocatedBytes"`
	Nodes     []node   `json:"nodes"`
	Unplaced  []string `json:"unplaced"`
	Reasons   []string `json:"reasons"`
}

type node struct {
	Options       []string `json:"options"`
	Zones         []string `json:"zones"`
	CapacityTypes []string `json:"capacityTypes"`
	Pods          []string `json:"pods"`
}

// solve makes a plan from decoded objects, as the provisioner does when a batch of pods is complete.
func (in *input) solve(ignorePreferences bool) (*output, error) {
	ctx, err := settings()
	if err != nil {
		return nil, err
	}
	opts := []provisioning.Options{provisioning.NumConcurrentReconciles(runtime.GOMAXPROCS(0))}
	if ignorePreferences {
		opts = append(opts, provisioning.IgnorePreferences)
	}
	pool := pool()
	pools := []*karpenterv1.NodePool{pool}
	types := map[string][]*cloudprovider.InstanceType{pool.Name: in.types}
	client, cloud, clk := fakeclient.NewFakeClient(), fakecloud.NewCloudProvider(), &clock.RealClock{}
	cloud.InstanceTypes = in.types
	cluster := state.NewCluster(clk, client, cloud)

	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := cpuSeconds(), time.Now()
	topology, err := provisioning.NewTopology(ctx, client, cluster, nil, pools, types, in.pods, opts...)
	if err != nil {
		return nil, fmt.Errorf("read topology: %w", err)
	}
	scheduler := provisioning.NewScheduler(ctx, client, pools, cluster, nil, topology, types, in.daemons,
		events.NewRecorder(&record.FakeRecorder{}), clk, nil, nil, opts...)
	results, err := scheduler.Solve(ctx, in.pods)
	if err != nil {
		return nil, fmt.Errorf("solve: %w", err)
	}
	seconds, cpu := time.Since(began).Seconds(), cpuSeconds()-cpu
	runtime.ReadMemStats(&after)

	out := &output{
		Engine: "upstream", Pods: len(in.pods), Seconds: seconds, CPU: cpu, Allocated: after.TotalAlloc - before.TotalAlloc,
		Nodes: []node{}, Unplaced: []string{},
	}
	for _, claim := range results.NewNodeClaims {
		out.Nodes = append(out.Nodes, in.node(claim))
	}
	for pod, err := range results.PodErrors {
		out.Unplaced = append(out.Unplaced, key(pod))
		out.Reasons = append(out.Reasons, key(pod)+": "+err.Error())
	}
	return out, nil
}

// cpuSeconds returns the CPU time that this process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // cannot happen for this process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// node returns the options that the claim allows.
func (in *input) node(claim *provisioning.NodeClaim) node {
	var n node
	for _, t := range claim.InstanceTypeOptions {
		n.Options = append(n.Options, t.Name)
	}
	for _, zone := range in.zones {
		if claim.Requirements.Get(corev1.LabelTopologyZone).Has(zone) {
			n.Zones = append(n.Zones, zone)
		}
	}
	for _, capacityType := range in.capacityTypes {
		if claim.Requirements.Get(karpenterv1.CapacityTypeLabelKey).Has(capacityType) {
			n.CapacityTypes = append(n.CapacityTypes, capacityType)
		}
	}
	for _, p := range claim.Pods {
		n.Pods = append(n.Pods, key(p))
	}
	return n
}

func key(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// settings returns a context with the default settings of upstream's controller.
func settings() (context.Context, error) {
	o := &options.Options{}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	o.AddFlags(flags)
	if err := o.Parse(flags); err != nil {
		return nil, fmt.Errorf("read upstream's settings: %w", err)
	}
	return injection.WithControllerName(options.ToContext(context.Background(), o), "provisioner"), nil
}

// pool returns an on-demand pool without limits.
func pool() *karpenterv1.NodePool {
	return &karpenterv1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid-default"},
		Spec: karpenterv1.NodePoolSpec{Template: karpenterv1.NodeClaimTemplate{Spec: karpenterv1.NodeClaimTemplateSpec{
			NodeClassRef: &karpenterv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"},
			Requirements: []karpenterv1.NodeSelectorRequirementWithMinValues{{
				Key: karpenterv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{karpenterv1.CapacityTypeOnDemand},
			}},
		}}},
	}
}
