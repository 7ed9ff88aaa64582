package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-go/karpenter/local/state"
)

// ProviderName is the name of the provider in another process as a part.
const ProviderName = "provider"

// DefaultRemote is the provider that is served with --provider remote.
const DefaultRemote = providerAWS

// longestSocket is the longest path of a socket in Linux.
const longestSocket = 107

// providerNames returns the providers of the controller.
func (c *Cluster) providerNames() []string { return strings.Split(c.state.Settings.Provider, ",") }

// clouds returns the providers whose clouds are simulated: those of the controller, and the one that a part serves.
func (c *Cluster) clouds() []string {
	if c.serves() {
		return append(c.providerNames(), c.state.Settings.Remote)
	}
	return c.providerNames()
}

// serves reports whether a part serves a provider to the controller.
func (c *Cluster) serves() bool {
	return slices.Contains(c.providerNames(), providerRemote) && slices.Contains(providersHere, c.state.Settings.Remote)
}

// providerAddress returns the address of the provider in another process, empty if there is none.
func (c *Cluster) providerAddress() string {
	switch {
	case c.serves():
		return "unix://" + c.dir.Data("provider.sock")
	case slices.Contains(c.providerNames(), providerRemote):
		return c.state.Settings.Remote
	}
	return ""
}

// checkRemote returns an error if Remote is set without the provider remote, if it is neither a provider that a part can
// serve nor an address, or if the path of the socket is too long.
func (c *Cluster) checkRemote(s state.Settings) error {
	if !slices.Contains(strings.Split(s.Provider, ","), providerRemote) {
		if s.Remote != "" {
			return fmt.Errorf("--remote is only for --provider %s", providerRemote)
		}
		return nil
	}
	remote := cmp.Or(s.Remote, DefaultRemote)
	if slices.Contains(providersHere, remote) {
		if path := c.dir.Data("provider.sock"); len(path) > longestSocket {
			return fmt.Errorf("path of the socket %s has more than %d bytes: use a --dir with a shorter path", path, longestSocket)
		}
		return nil
	}
	if !strings.HasPrefix(remote, "unix:///") && !strings.Contains(remote, ":") {
		return fmt.Errorf("--remote is %q, want %s, or an address such as unix:///tmp/toy.sock", remote, strings.Join(providersHere, ", "))
	}
	return nil
}

// nodeClassValues returns the value of the chart for the node classes of a provider with an address.
func nodeClassValues(list string) ([]any, error) {
	var out []any
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		resource, group, found := strings.Cut(strings.TrimSpace(item), ".")
		if !found || resource == "" {
			return nil, fmt.Errorf("--node-classes is %q, want RESOURCE.GROUP such as toynodeclasses.toy.example.com", item)
		}
		out = append(out, map[string]any{"group": group, "resource": resource})
	}
	return out, nil
}

// provider returns the spec of the provider in another process. It has the rights of the controller.
func (c *Cluster) provider(s *state.State) spec {
	env := []string{
		"KUBECONFIG=" + c.dir.ControllerKubeconfig(), "SYSTEM_NAMESPACE=" + Namespace, "DISABLE_LEADER_ELECTION=true",
		"HEALTH_PROBE_PORT=" + strconv.Itoa(s.Ports["provider-health"]), "METRICS_PORT=0",
	}
	return spec{
		name: ProviderName, binary: c.options.Controller, purposes: []string{"provider-health"},
		health: "http://" + s.Address("provider-health") + "/readyz",
		args:   []string{"provider", "serve", "--provider=" + s.Settings.Remote, "--listen=" + c.providerAddress()},
		env:    append(env, c.cloudEnv()...),
	}
}

// cloudEnv returns the environment of the program that has the provider of the emulated AWS.
func (c *Cluster) cloudEnv() []string {
	if !c.emulates() {
		return nil
	}
	return append(c.awsEnv(), "CLUSTER_NAME="+Name, "CLUSTER_ENDPOINT="+c.Endpoint(), "INTERRUPTION_QUEUE="+Name)
}
