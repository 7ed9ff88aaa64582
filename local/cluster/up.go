package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/local/process"
)

// Up starts the parts that do not run, and returns when all are healthy. After an error, the parts that were started
// keep running, so that they can be inspected.
func (c *Cluster) Up(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.dir.Create(); err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if c.state, err = c.dir.Load(); err != nil {
		return err
	}
	k, err := c.prepare()
	if err != nil {
		return err
	}
	if err := c.startWatchdog(); err != nil {
		return err
	}
	for _, stage := range c.controlPlane(c.state, k) {
		if err := c.startAll(ctx, stage); err != nil {
			return err
		}
	}
	if err := c.furnish(ctx); err != nil {
		return err
	}
	for _, stage := range c.machines(c.state) {
		if err := c.startAll(ctx, stage); err != nil {
			return err
		}
	}
	if err := c.startController(ctx, k); err != nil {
		return err
	}
	c.step("ready; kubeconfig is %s", c.dir.Kubeconfig())
	if c.options.Controller != "" {
		c.tellDashboard()
	}
	return nil
}

// tellDashboard prints the address of the dashboard, if there is one, as a line that scripts read.
func (c *Cluster) tellDashboard() {
	if c.HasDashboard() {
		fmt.Fprintf(c.out, "dashboard %s\n", c.Dashboard())
	}
}

// An OptionError is the error of an option with a value that does not exist.
type OptionError struct{ error }

// checkNames returns an OptionError if an option has the name of a provider or port that does not exist.
func (c *Cluster) checkNames() error {
	for _, p := range strings.Split(c.options.Provider, ",") {
		if c.options.Provider != "" && !slices.Contains(providers, p) {
			return OptionError{fmt.Errorf("--provider has %q, want %s, or several separated by commas", p, strings.Join(providers, ", "))}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.options.Ports)) {
		if !slices.Contains(purposes, name) {
			return OptionError{fmt.Errorf("--port: there is no port %q, use one of %s", name, strings.Join(purposes, ", "))}
		}
	}
	return nil
}

// check returns an error for options that would cause a failure later.
func (c *Cluster) check() error {
	if err := c.checkNames(); err != nil {
		return err
	}
	if _, err := nodeClassValues(c.options.NodeClasses); err != nil {
		return err
	}
	if err := c.checkRemote(c.options.Settings); err != nil && !c.dir.Exists() { // a cluster keeps its settings
		return err
	}
	for what, path := range map[string]string{
		"karpenter-local": c.binary, "the controller": c.options.Controller, "the scheduler": c.options.Scheduler,
	} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return fmt.Errorf("find %s: there is no program at %s: run make build", what, path)
		}
	}
	return nil
}

// prepare chooses ports and settings, and writes keys and configuration files.
func (c *Cluster) prepare() (keys, error) {
	if err := c.state.AssignPorts(purposes, c.options.Ports); err != nil {
		return keys{}, err
	}
	c.keepSettings()
	if err := c.dir.Save(c.state); err != nil {
		return keys{}, err
	}
	k, err := c.ensureKeys()
	if err != nil {
		return keys{}, err
	}
	if err := c.trust(k.authority.Bundle()); err != nil {
		return keys{}, err
	}
	if c.emulates() {
		err = c.writeAWSEnv()
	}
	return k, errors.Join(err, c.writeSchedulerConfig())
}

// Default settings of a cluster.
const (
	DefaultNodesBoot = 3 * time.Second
	DefaultProvider  = providerAWS
)

// The providers of the controller. For AWS, a part emulates the cloud. kwok needs no cloud.
const (
	providerAWS  = "aws"
	providerKWOK = "kwok"
	// providerClusterAPI has simulated machines of Cluster API.
	providerClusterAPI = "clusterapi"
	// providerRemote is a provider in another process: one of the others, or one with an address.
	providerRemote = "remote"
)

var (
	providersHere = []string{providerAWS, providerClusterAPI, providerKWOK}
	providers     = append(slices.Clone(providersHere), providerRemote)
)

// keepSettings uses the settings of the first start, because running parts were started with them.
func (c *Cluster) keepSettings() {
	want, have := c.options.Settings, &c.state.Settings
	keep := func(name, wanted, fallback string, kept *string) {
		switch {
		case *kept == "":
			*kept = cmp.Or(wanted, fallback)
		case wanted != "" && wanted != *kept:
			c.step("this cluster was made with %s %s and keeps it; run down to change it", name, *kept)
		}
	}
	keep("--nodes-boot", want.NodesBoot, DefaultNodesBoot.String(), &have.NodesBoot)
	keep("--provider", want.Provider, DefaultProvider, &have.Provider)
	if slices.Contains(c.providerNames(), providerRemote) {
		keep("--remote", want.Remote, DefaultRemote, &have.Remote)
		keep("--node-classes", want.NodeClasses, "", &have.NodeClasses)
	} else if want.Remote != "" {
		c.step("--remote is ignored: this cluster was made with --provider %s", have.Provider)
	}
	keep("--feature-gates", want.FeatureGates, "", &have.FeatureGates)
	keep("--dashboard", want.Dashboard, "true", &have.Dashboard)
}

// startWatchdog starts the process that stops the cluster when this one ends. It reads from a pipe, whose other end the
// operating system closes when this process ends.
func (c *Cluster) startWatchdog() error {
	if !c.options.DieWithParent || c.state.Parts["watchdog"].Alive() {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer read.Close()
	watchdogs = append(watchdogs, write)
	child, err := process.Start(process.Program{
		Binary: c.binary, Args: []string{"watchdog", "--dir=" + string(c.dir)},
		Log: c.dir.Log("watchdog"), Stdin: read,
	})
	if err != nil {
		return err
	}
	return c.remember("watchdog", child.ID)
}

// watchdogs has the write ends of the pipes, so that they stay open until the process ends. Without a reference, the
// garbage collector would close them.
var watchdogs []*os.File

// remember stores the process of a part.
func (c *Cluster) remember(part string, id process.ID) error {
	c.state.Parts[part] = id
	return c.dir.Save(c.state)
}
