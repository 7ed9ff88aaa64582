package sim

import (
	"fmt"
	"io"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// Start is the virtual time at which every simulation begins.
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

// A World is a cluster and an account with the operator in it. It must be made and used inside a testing/synctest bubble.
// Each part changes its own state only:
//
//   - platform has the API server and everything in the cluster that is not under test;
//   - account has the emulated cloud;
//   - processes has the replicas of the operator;
//   - faults decides what happens to their calls;
//   - judge checks the invariants.
type World struct {
	options   Options
	scenario  *Scenario
	driver    *Driver
	trace     *Trace
	faults    *faults
	judge     *judge
	platform  *platform
	account   *account
	processes *processes
}

// quietErrors removes all but the first error handler of client-go, once for the process. The removed handlers delay errors
// that follow each other. They compute the delay from the time of the last error in the process. That error may have been
// in another simulation, whose virtual time differs by months.
var quietErrors sync.Once

// newWorld makes the world of a scenario and applies its file cluster.yaml, if it has one.
func newWorld(sc *Scenario, o Options) (*World, error) {
	if _, _, err := settingsOf(sc.Flags); err != nil {
		return nil, err
	}
	quietErrors.Do(func() { utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] })
	time.Sleep(time.Until(Start))
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes kinds: %w", err)
	}
	driver := NewDriver(sc.Seed)
	driver.reseed()
	w := &World{options: o, scenario: sc, driver: driver, faults: newFaults(driver), trace: newTrace(o.Trace)}
	w.judge = newJudge(w)
	w.processes = newProcesses(w)
	var err error
	if w.platform, err = newPlatform(w, scheme); err != nil {
		return nil, err
	}
	if w.account, err = newAccount(w); err != nil {
		return nil, err
	}
	if err := w.platform.run(sc.Seed, o.Scheduler); err != nil {
		return nil, err
	}
	if text, ok := sc.file("cluster.yaml"); ok {
		if err := w.platform.apply(text); err != nil {
			return nil, err
		}
	}
	return w, nil
}
