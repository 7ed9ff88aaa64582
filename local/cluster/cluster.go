package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/local/state"
)

// A Cluster is a handle for one state directory. All, some or none of its parts may run.
type Cluster struct {
	dir     state.Dir
	binary  string // karpenter-local, which runs the parts
	options Options
	clock   clock.Clock
	out     io.Writer
	state   *state.State
	http    *http.Client // trusts the cluster's authority
	begun   time.Time
	killed  sync.Map // names of parts that Kill ends
}

// Options are how to start a cluster. Dir and Binary must be set.
type Options struct {
	Dir    string
	Binary string // path of karpenter-local
	// A line for each step is written to Out; nil for no output.
	Out io.Writer
	// Settings are stored and used again by the next start.
	state.Settings
	// Ports are required ports, by purpose. Others are chosen randomly.
	Ports map[string]int
	// Controller is the path of the controller's binary; empty to leave the
	// controller out.
	Controller string
	// Scheduler is the path of a kube-scheduler to run instead of the one in Binary, such as that of another version of
	// Kubernetes; empty for the one in Binary.
	Scheduler string
	// Arguments are more arguments of parts, by part, for this start alone. They come last, so they override other
	// arguments.
	Arguments map[string][]string
	// ClusterAPI is the directory of the CRDs of Cluster API, for its provider.
	ClusterAPI string
	// Management is the kubeconfig of the management cluster of Cluster API, if it is another cluster: the controller uses it,
	// and this cluster has no part clusterapi. Workload is the kubeconfig of the cluster that the machines join, if it is
	// another cluster. Both are for this start alone.
	Management, Workload string
	// Chart is the directory of the Helm chart with the rights of the controller.
	Chart string
	// Values are values of the chart, for this start alone: the controller gets the rights and the environment that the
	// chart renders with them. The settings of the cluster (provider, feature gates, dashboard, names, ports and
	// endpoints) override them. With nil, the rights are those of the chart's defaults, and the chart's environment is
	// not used.
	Values map[string]any
	// DieWithParent stops the cluster when the calling process ends, even by a crash.
	DieWithParent bool
	// OnEnd, if not nil, is called when a part that this process has started ends, with its name and how it ended. It
	// is not called for a part that Kill ends.
	OnEnd func(part string, how error)
	// Patience is the maximum time until a part is healthy; default two minutes.
	Patience time.Duration
}

// Open returns the handle to the cluster of o.Dir. It changes nothing.
func Open(o Options) (*Cluster, error) {
	dir, err := state.At(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	c := &Cluster{dir: dir, binary: o.Binary, options: o, clock: clock.RealClock{}, out: o.Out}
	c.begun = c.clock.Now()
	if c.state, err = dir.Load(); err != nil {
		return nil, err
	}
	return c, nil
}

// Dir returns the directory of the cluster's files.
func (c *Cluster) Dir() state.Dir { return c.dir }

// Endpoint returns the URL of the API server.
func (c *Cluster) Endpoint() string { return "https://" + c.state.Address("kube-apiserver") }

// Dashboard returns the URL of the controller's dashboard.
func (c *Cluster) Dashboard() string { return "http://" + c.state.Address("karpenter-dashboard") + "/" }

// HasDashboard reports whether a controller of this cluster serves the dashboard.
func (c *Cluster) HasDashboard() bool { return c.state.Settings.Dashboard != "false" }

// ErrNone means that there is no cluster in the directory.
var ErrNone = errors.New("no cluster here: start one with up")

// RESTConfig returns the administrator's client configuration, without client-side rate limits.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	if !c.dir.Exists() {
		return nil, fmt.Errorf("open %s: %w", c.dir, ErrNone)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.dir.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// trust creates the HTTP client for health checks, which trusts the authority in bundle.
func (c *Cluster) trust(bundle string) error {
	ca, err := os.ReadFile(bundle)
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	c.http = &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	return nil
}

// lock waits until no other command changes the cluster, for at most Options.Patience.
func (c *Cluster) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	return c.dir.Lock(ctx)
}

// step prints a message with the time since Open.
func (c *Cluster) step(format string, args ...any) {
	elapsed := c.clock.Since(c.begun).Seconds()
	fmt.Fprintf(c.out, "%6.1fs  %s\n", elapsed, fmt.Sprintf(format, args...))
}
