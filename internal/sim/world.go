package sim

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
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
	"github.com/karpenter-go/karpenter/internal/sim/cluster"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

const (
	region      = "us-east-1"
	clusterName = "sim"
	endpoint    = "https://api.sim:6443"
)

// Start is when every simulation begins.
var Start = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// Options say how a scenario is played.
type Options struct {
	// Scheduler makes the scheduler of the cluster.
	Scheduler func(server *kubeapi.Server, seed uint64) (Actor, error)
	// Log takes the logs of the operator; nil drops them. LogLevel is debug, info or error.
	Log      io.Writer
	LogLevel string
	// Trace takes the writes and calls as text if it is not nil.
	Trace io.Writer
}

// sells are the instance types that EC2 sells in simulations. Few keep them fast.
var sells = []string{"m5.*", "c5.*", "r5.*", "m6g.*", "t3.*"}

// A World is a cluster and an account with the operator in it. It must be made and used inside a testing/synctest bubble.
type World struct {
	Server   *kubeapi.Server
	Emulator *awsemu.Emulator
	// Client reads and writes without delay or faults.
	Client client.Client

	options  Options
	scenario *Scenario
	cluster  *cluster.Cluster
	account  *ec2.Client
	driver   *Driver
	faults   *faults
	trace    *Trace
	judge    *judge
	actors   []*actorState
	// replicas are those that run, starting those that will, by name.
	replicas map[string]*replica
	starting map[string]bool
	// dark are the nodes whose kubelet was killed.
	dark    map[string]bool
	closing bool
	// writer is the replica whose call the API server carries out now.
	writer string
	// disturbed is when the last event is over, or when it happened.
	disturbed time.Time
}

// actorState is when an actor is called next.
type actorState struct {
	Actor
	due time.Time // zero: not scheduled
}

// quietErrors takes the delay out of client-go's handling of errors. It lasts from the last error of the process until now,
// which may be an error in another bubble, months away.
var quietErrors sync.Once

// newWorld makes the world of a scenario and applies its first file.
func newWorld(sc *Scenario, o Options) (*World, error) {
	quietErrors.Do(func() { utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] })
	time.Sleep(time.Until(Start))
	utilrand.Seed(int64(sc.Seed))
	//lint:ignore SA1019 the libraries' jitter comes from this source
	rand.Seed(int64(sc.Seed))
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes kinds: %w", err)
	}
	driver := NewDriver(sc.Seed)
	w := &World{
		options: o, scenario: sc, driver: driver, faults: &faults{driver: driver, struck: map[string]int{}}, trace: newTrace(),
		replicas: map[string]*replica{}, starting: map[string]bool{}, dark: map[string]bool{}, disturbed: time.Now(),
	}
	w.trace.out = o.Trace
	w.judge = newJudge(w)
	if err := w.serve(scheme); err != nil {
		return nil, err
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	w.cluster = cluster.New(w.Server, cluster.Options{Seed: sc.Seed})
	for _, a := range w.cluster.Actors() {
		w.add(a)
	}
	scheduler, err := o.Scheduler(w.Server, sc.Seed)
	if err != nil {
		return nil, fmt.Errorf("make scheduler: %w", err)
	}
	w.add(scheduler)
	if text, ok := sc.file("cluster.yaml"); ok {
		if err := w.apply(text); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// open makes the account, with instances in it that are not the operator's.
func (w *World) open() error {
	var err error
	w.Emulator, err = awsemu.New(awsemu.Config{
		Seed: w.scenario.Seed, Region: region, Sells: sells, Queue: clusterName,
		Cluster: awsemu.Cluster{Name: clusterName, Endpoint: endpoint, CA: "Q0E="},
	})
	if err != nil {
		return fmt.Errorf("make account: %w", err)
	}
	machines, err := w.machines()
	if err != nil {
		return err
	}
	w.add(machines)
	w.account = ec2.New(ec2.Options{
		Region: region, BaseEndpoint: awssdk.String("http://aws.sim"), HTTPClient: &http.Client{Transport: inProcess{w.Emulator}},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	return w.judge.placeStrangers()
}

// terminate ends an instance without the operator's knowledge.
func (w *World) terminate(id string) error {
	_, err := w.account.TerminateInstances(context.Background(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		return fmt.Errorf("terminate %s: %w", id, err)
	}
	return nil
}

// serve makes the API server.
func (w *World) serve(scheme *runtime.Scheme) error {
	checker, err := admission.New()
	if err != nil {
		return fmt.Errorf("read CRDs: %w", err)
	}
	w.Server = kubeapi.New(kubeapi.Config{
		Scheme: scheme, Now: time.Now, Seed: w.scenario.Seed, Admission: checker, Kinds: append(kubeapi.BuiltIn(), ownKinds()...),
	})
	w.Server.OnWrite(func(before, after client.Object) {
		w.changed()
		w.judge.written(before, after)
	})
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

// add adds an actor.
func (w *World) add(a Actor) { w.actors = append(w.actors, &actorState{Actor: a}) }

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
			w.judge.violate("simulation", "actor %s: %v", a.Name(), err)
			return
		}
		if !next.IsZero() {
			w.schedule(a, next)
		}
	})
}

// logs returns where a replica logs to.
func (w *World) logs(name string) io.Writer { return &logs{world: w, name: name} }

// logs passes the lines of a replica on, and lets the judge read them.
type logs struct {
	world *World
	name  string
}

// Write takes one line.
func (l *logs) Write(line []byte) (int, error) {
	l.world.judge.logged(l.name, line)
	if l.world.options.Log != nil {
		return l.world.options.Log.Write(line)
	}
	return len(line), nil
}
