package awsemu

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/internal/awsemu/authz"
	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// maxRequest is the maximum size of a request in bytes. EC2's own limit is lower.
const maxRequest = 4 << 20

// Config describes the emulated account. The zero value works.
type Config struct {
	Clock  clock.Clock // default: the real clock
	Seed   uint64
	Region string // default us-east-1
	// Like is the region of the catalogue with the types, zones and prices of Region. It is needed if the catalogue lacks Region,
	// as with cn-north-1.
	Like    string
	Account string // default 123456789012
	Cluster Cluster
	Queue   string   // name of the interruption queue; default: the cluster's name
	Roles   []string // IAM roles that exist; default KarpenterNodeRole-<cluster>
	Sells   []string // patterns of the offered instance types; default all
	Timing  Timing
	// Throttle is "ec2" for the limits that EC2 documents for its APIs, empty for none. The control interface may change it and
	// add limits.
	Throttle string
}

// Cluster is the EKS cluster of the account.
type Cluster struct {
	Name        string // default "emulated"
	Endpoint    string // URL of the API server
	CA          string // base64 of the PEM bundle
	Version     string // default 1.36
	ServiceCIDR string // default 10.100.0.0/16, with IPv6 fd30:1c53:5f8a::/108
	// IPv6 makes it an IPv6 cluster: pods, services, nodes and subnets have IPv6 addresses.
	IPv6 bool
	// AccessMode is the authentication mode of nodes: API, CONFIG_MAP or API_AND_CONFIG_MAP, the default. AccessRoles are the
	// roles with an access entry; default all roles of the account. With mode API, machines of other roles do not join.
	AccessMode  string
	AccessRoles []string
}

// Timing has the durations of emulated processes. Zero stands for the default, and a negative value for no delay.
type Timing struct {
	Pending    time.Duration // pending -> running, default 1s
	Stopping   time.Duration // stopping -> stopped, default 10s
	Shutdown   time.Duration // shutting-down -> terminated, default 2s
	Terminated time.Duration // for how long terminated instances remain visible, default 1h
	Hidden     time.Duration // for how long new objects are invisible, default 0
}

// withDefaults returns c with its zero fields set.
func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&c.Region, "us-east-1")
	set(&c.Account, "123456789012")
	set(&c.Cluster.Name, "emulated")
	set(&c.Cluster.Version, "1.36")
	if c.Cluster.IPv6 {
		set(&c.Cluster.ServiceCIDR, "fd30:1c53:5f8a::/108")
	}
	set(&c.Cluster.ServiceCIDR, "10.100.0.0/16")
	set(&c.Cluster.AccessMode, accessByBoth)
	set(&c.Queue, c.Cluster.Name)
	if c.Roles == nil {
		c.Roles = []string{"KarpenterNodeRole-" + c.Cluster.Name}
	}
	if c.Cluster.AccessRoles == nil {
		c.Cluster.AccessRoles = c.Roles
	}
	for field, value := range map[*time.Duration]time.Duration{
		&c.Timing.Pending: time.Second, &c.Timing.Stopping: 10 * time.Second, &c.Timing.Shutdown: 2 * time.Second,
		&c.Timing.Terminated: time.Hour, &c.Timing.Hidden: 0,
	} {
		if *field == 0 {
			*field = value
		}
		*field = max(0, *field)
	}
	return c
}

// An Emulator is one AWS account in one region, as an HTTP handler.
type Emulator struct {
	cfg      Config
	world    *world.World
	queues   *queues
	faults   *faults
	calls    *calls
	replays  *replays
	boots    *boots
	policy   atomic.Pointer[authz.Policy] // nil: everything is allowed
	services map[string]service
	control  http.Handler
}

// New returns an emulator. It starts no server: use Run, or pass the emulator as the handler to a test server.
func New(cfg Config) (*Emulator, error) {
	cfg = cfg.withDefaults()
	table, err := catalog.Load()
	if err != nil {
		return nil, fmt.Errorf("load catalog: %w", err)
	}
	e := &Emulator{
		cfg: cfg, queues: newQueues(cfg.Clock), faults: newFaults(cfg.Clock),
		calls: &calls{}, replays: &replays{}, boots: &boots{},
	}
	if cfg.Throttle != "" && cfg.Throttle != throttleEC2 {
		return nil, fmt.Errorf("throttle %q: want %q, or nothing", cfg.Throttle, throttleEC2)
	}
	e.faults.document(cfg.Throttle == throttleEC2)
	e.queues.create(cfg.Queue)
	e.world, err = world.New(world.Config{
		Clock: cfg.Clock, Seed: cfg.Seed, Region: cfg.Region, Like: cfg.Like, Account: cfg.Account, IPv6: cfg.Cluster.IPv6,
		Cluster: cfg.Cluster.Name, Roles: cfg.Roles, Catalog: table, Sells: cfg.Sells,
		PendingFor: cfg.Timing.Pending, StoppingFor: cfg.Timing.Stopping, ShuttingFor: cfg.Timing.Shutdown,
		TerminatedFor: cfg.Timing.Terminated, HiddenFor: cfg.Timing.Hidden,
		Deliver: func(body string) { e.queues.send(cfg.Queue, body) },
	})
	if err != nil {
		return nil, fmt.Errorf("build account: %w", err)
	}
	e.services = e.buildServices()
	e.control = e.buildControl()
	return e, nil
}

// Reset restores the initial state of the account.
func (e *Emulator) Reset() {
	e.faults.clear("*")
	e.faults.document(e.cfg.Throttle == throttleEC2)
	e.policy.Store(nil)
	e.boots.clear()
	e.replays.reset()
	e.queues.reset()
	e.queues.create(e.cfg.Queue)
	e.world.Reset()
	e.calls.reset()
}

// ServeHTTP serves AWS requests. Below /_emulator/ it serves control requests and the metadata services of instances.
func (e *Emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, metadataPrefix); ok {
		e.serveMetadata(w, r, rest)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/_emulator/") {
		e.control.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "request too large", http.StatusRequestEntityTooLarge)
		return
	}
	req := e.identify(r, body)
	record := e.calls.begin(req, e.cfg.Clock.Now())
	a, served := e.answer(r.Context(), req)
	if !served {
		// The client has closed the connection, so there is no response.
		e.calls.end(record, 499, "ClientDisconnected")
		return
	}
	e.calls.end(record, a.status, a.code)
	pace(r.Context(), a)
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a write fails only if the client has disconnected
}

// An answer is an HTTP response.
type answer struct {
	status int
	code   string // error code, which is written to the record of the call; empty without an error
	header map[string]string
	body   []byte
}

// A handler executes one operation. The protocol of its service encodes the result.
type handler func(r *request) (any, *wire.Error)

// A service has its operations by name, and their protocol.
type service struct {
	protocol protocol
	actions  map[string]handler
}

// buildServices returns all services by their signing names.
func (e *Emulator) buildServices() map[string]service {
	return map[string]service{
		"ec2":     {ec2Query{}, e.ec2Actions()},
		"iam":     {awsQuery{"https://iam.amazonaws.com/doc/2010-05-08/"}, e.iamActions()},
		"sts":     {awsQuery{"https://sts.amazonaws.com/doc/2011-06-15/"}, e.stsActions()},
		"ssm":     {awsJSON{"1.1"}, e.ssmActions()},
		"pricing": {awsJSON{"1.1"}, e.pricingActions()},
		"sqs":     {awsJSON{"1.0"}, e.sqsActions()},
		"eks":     {restJSON{}, e.eksActions()},
		"arc":     {restJSON{}, e.arcActions()},
	}
}
