package sim

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/admission"
	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

const (
	region      = "us-east-1"
	clusterName = "sim"
)

// Start is when every simulation begins.
var Start = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// Options say what a World has.
type Options struct {
	Seed uint64
	// Args are flags of the operator beside those that the simulation sets.
	Args []string
	// LogLevel is that of the operator's logs, and Log takes them; nil drops them.
	LogLevel string
	Log      io.Writer
	// Trace takes the writes and calls as text if it is not nil.
	Trace io.Writer
	// Sells are patterns of the instance types that EC2 sells.
	Sells []string
}

// A World is a cluster and an account with the operator in it. It must be made and used inside a testing/synctest bubble.
type World struct {
	Options  Options
	Server   *kubeapi.Server
	Emulator *awsemu.Emulator
	// Client reads and writes without delay or faults.
	Client client.Client

	driver   *Driver
	faults   *faults
	trace    *Trace
	replicas map[string]*replica
	dead     []*replica
	actors   []*actorState
}

// actorState is when an actor is called next.
type actorState struct {
	Actor
	due     time.Time // zero: not scheduled
	started bool
}

// quietErrors takes the delay out of client-go's handling of errors. It lasts from the last error of the process until now,
// which may be an error in another bubble, months away.
var quietErrors sync.Once

// New makes a world without workloads and starts nothing.
func New(o Options) (*World, error) {
	quietErrors.Do(func() { utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] })
	time.Sleep(time.Until(Start))
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes kinds: %w", err)
	}
	o.Args = append([]string{
		"--cluster-name=" + clusterName, "--cluster-ca-bundle=Q0E=", "--cluster-endpoint=https://api.sim:6443",
		"--interruption-queue=" + clusterName, "--leader-election-namespace=kube-system",
	}, o.Args...)
	driver := NewDriver(o.Seed)
	w := &World{
		Options: o, driver: driver, faults: &faults{driver: driver}, trace: newTrace(), replicas: map[string]*replica{},
	}
	w.trace.Out = o.Trace
	if err := w.serve(scheme); err != nil {
		return nil, err
	}
	var err error
	w.Emulator, err = awsemu.New(awsemu.Config{
		Seed: o.Seed, Region: region, Sells: o.Sells, Queue: clusterName,
		Cluster: awsemu.Cluster{Name: clusterName, Endpoint: "https://api.sim:6443", CA: "Q0E="},
	})
	if err != nil {
		return nil, fmt.Errorf("make account: %w", err)
	}
	machines, err := w.machines()
	if err != nil {
		return nil, err
	}
	w.Add(machines)
	return w, nil
}

// serve makes the API server.
func (w *World) serve(scheme *runtime.Scheme) error {
	checker, err := admission.New()
	if err != nil {
		return fmt.Errorf("read CRDs: %w", err)
	}
	w.Server = kubeapi.New(kubeapi.Config{
		Scheme: scheme, Now: time.Now, Seed: w.Options.Seed, Admission: checker, Kinds: append(kubeapi.BuiltIn(), ownKinds()...),
	})
	w.Server.OnWrite(func(before, after client.Object) { w.changed() })
	if w.Client, err = w.Server.Client(); err != nil {
		return err
	}
	return w.Client.Create(context.Background(), &corev1.Service{
		ObjectMeta: objectMeta("kube-system", "kube-dns"), Spec: corev1.ServiceSpec{ClusterIP: "10.100.0.10"},
	})
}

// ownKinds are the kinds of our CRDs.
func ownKinds() []kubeapi.Kind {
	own := func(k kubeapi.Kind) kubeapi.Kind {
		k.Status, k.Generation, k.Custom = true, true, true
		return k
	}
	return []kubeapi.Kind{
		own(kubeapi.Kind{GroupVersionKind: apiv1.GroupVersion.WithKind("NodePool"), Plural: "nodepools"}),
		own(kubeapi.Kind{GroupVersionKind: apiv1.GroupVersion.WithKind("NodeClaim"), Plural: "nodeclaims"}),
		own(kubeapi.Kind{GroupVersionKind: awsv1.GroupVersion.WithKind("EC2NodeClass"), Plural: "ec2nodeclasses"}),
		own(kubeapi.Kind{GroupVersionKind: overlayv1alpha1.GroupVersion.WithKind("NodeOverlay"), Plural: "nodeoverlays"}),
		own(kubeapi.Kind{
			GroupVersionKind: autoscalingv1beta1.GroupVersion.WithKind("CapacityBuffer"), Plural: "capacitybuffers", Namespaced: true,
		}),
	}
}

// machines returns the actor that boots instances.
func (w *World) machines() (Actor, error) {
	client, err := kubernetes.NewForConfig(w.Server.RestConfig(nil))
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &machines{emulator: w.Emulator, runner: w.Emulator.Machines(machine.Config{Client: client})}, nil
}

// machines boots the instances of the account.
type machines struct {
	emulator *awsemu.Emulator
	runner   *machine.Runner
}

func (m *machines) Name() string { return "machines" }

func (m *machines) Step(time.Time) (time.Time, error) {
	next := m.runner.Step(context.Background())
	if due := m.emulator.Settle(); !due.IsZero() && (next.IsZero() || due.Before(next)) {
		next = due
	}
	return next, nil
}

// Add adds an actor.
func (w *World) Add(a Actor) { w.actors = append(w.actors, &actorState{Actor: a}) }

// changed lets all actors look at the objects soon.
func (w *World) changed() {
	for _, a := range w.actors {
		if a.due.IsZero() || a.due.After(time.Now().Add(reaction)) {
			w.schedule(a, time.Now().Add(w.driver.Dice(a.Name()).Between(5*time.Millisecond, reaction)))
		}
	}
}

// reaction is how long actors take to see a change, at most.
const reaction = 50 * time.Millisecond

// schedule lets an actor step at a time, or earlier if that is planned.
func (w *World) schedule(a *actorState, at time.Time) {
	if !a.due.IsZero() && !at.Before(a.due) {
		return
	}
	a.due = at
	w.driver.At(at, func() {
		if a.due != at {
			return
		}
		a.due = time.Time{}
		next, err := a.Step(time.Now())
		if err != nil {
			panic(fmt.Sprintf("actor %s: %v", a.Name(), err))
		}
		if !next.IsZero() {
			w.schedule(a, next)
		}
	})
}

// Run lets the world go on for a while.
func (w *World) Run(d time.Duration) {
	w.changed()
	w.driver.Run(time.Now().Add(d), func() bool { return true })
}

// Close ends all replicas.
func (w *World) Close() {
	for _, r := range w.replicas {
		w.kill(r)
	}
	w.driver.Run(time.Now().Add(grace), func() bool { return true })
}

// logs returns where a replica logs to.
func (w *World) logs(string) io.Writer {
	if w.Options.Log == nil {
		return io.Discard
	}
	return w.Options.Log
}
