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

// maxRequest is the largest request read, in bytes; EC2's own limit is less.
const maxRequest = 4 << 20

// Config describes the emulated account. The zero value works.
type Config struct {
	Clock  clock.Clock // default: the real one
	Seed   uint64
	Region string // default us-east-1
	// Like is the region of the catalogue that Region is like, for one that
	// the catalogue does not have, such as cn-north-1.
	Like    string
	Account string // default 123456789012
	Cluster Cluster
	Queue   string   // name of the interruption queue; default: the cluster's name
	Roles   []string // IAM roles that exist; default KarpenterNodeRole-<cluster>
	Sells   []string // patterns of the instance types on sale; default all
	Timing  Timing
	// Throttle is "ec2" for the limits that EC2 documents for each of its
	// APIs, empty for none. Steering may set it, and more.
	Throttle string
}

// Cluster is the EKS cluster of the account.
type Cluster struct {
	Name        string // default "emulated"
	Endpoint    string // URL of the API server
	CA          string // base64 of the PEM bundle
	Version     string // default 1.36
	ServiceCIDR string // default 10.100.0.0/16, with IPv6 fd30:1c53:5f8a::/108
	// IPv6 makes it a cluster of that family: pods, services and nodes have
	// IPv6 addresses, and so do the subnets.
	IPv6 bool
	// AccessMode is how the cluster lets nodes in: API, CONFIG_MAP or
	// API_AND_CONFIG_MAP, the default. AccessRoles are the roles that have an
	// access entry; default all roles of the account. Where the mode is API,
	// machines of other roles do not join.
	AccessMode  string
	AccessRoles []string
}

// Timing has the durations of emulated processes. Zero stands for the default; a negative value for no delay.
type Timing struct {
	Pending    time.Duration // pending -> running, default 1s
	Shutdown   time.Duration // shutting-down -> terminated, default 2s
	Terminated time.Duration // terminated instances stay visible, default 1h
	Hidden     time.Duration // new things stay invisible, default at once
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
		&c.Timing.Pending: time.Second, &c.Timing.Shutdown: 2 * time.Second,
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

// New makes an emulator. It starts no server: see Run, or use it as the handler of a test server.
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
		PendingFor: cfg.Timing.Pending, ShuttingFor: cfg.Timing.Shutdown,
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

// ServeHTTP answers AWS requests, and below /_emulator/ control requests and
// those that instances make to their metadata service.
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
		// The client has closed the connection: send no answer.
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
	code   string // of an error, for the record
	header map[string]string
	body   []byte
}

// A handler does one operation. The value it returns is encoded by its
// service's protocol.
type handler func(r *request) (any, *wire.Error)

// A service is a table of operations behind one protocol.
type service struct {
	protocol protocol
	actions  map[string]handler
}

// buildServices returns every service by its signing name.
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
