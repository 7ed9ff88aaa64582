package cluster

import (
	"slices"

	"github.com/karpenter-go/karpenter/local/state"
)

// A spec describes how to run one part and how to check its health.
type spec struct {
	name   string
	binary string
	args   []string
	env    []string
	// purposes are the names of the ports on which the part listens; see state.State.
	purposes []string
	// health is a URL that returns status 200 when the part is healthy.
	health string
}

// with returns the stages with additional arguments for their parts.
func with(stages [][]spec, arguments map[string][]string) [][]spec {
	for _, stage := range stages {
		for i := range stage {
			stage[i].args = append(stage[i].args, arguments[stage[i].name]...)
		}
	}
	return stages
}

// purposes lists the names of all ports of a cluster.
var purposes = []string{
	"etcd", "etcd-peer", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok",
	"awsemu", "clusterapi", "karpenter-metrics", "karpenter-health", "karpenter-dashboard", "provider-health",
}

// controlPlane returns the specs of the control plane in stages. The parts of one stage start together.
func (c *Cluster) controlPlane(s *state.State, k keys) [][]spec {
	last := []spec{c.scheduler(s, k), c.controllerManager(s, k), c.hollowKubelet(s)}
	if c.emulates() {
		last = append(last, c.emulator(s, k))
	}
	return with([][]spec{{c.etcd(s)}, {c.apiServer(s, k)}, last}, c.options.Arguments)
}

// known returns the specs of the parts that must be healthy for the cluster to be ready.
func (c *Cluster) known(s *state.State, k keys) [][]spec {
	stages := append(c.controlPlane(s, k), c.machines(s)...)
	if _, started := s.Parts[ProviderName]; started {
		stages = append(stages, []spec{c.provider(s)})
	}
	if _, started := s.Parts[ControllerName]; started {
		stages = append(stages, []spec{c.controller(s)})
	}
	return stages
}

// hasMachines reports whether the cluster has Cluster API and its machines.
func (c *Cluster) hasMachines() bool {
	return slices.Contains(c.clouds(), providerClusterAPI) && c.options.Management == ""
}

// machines returns the specs of the parts that create machines. They need the CRDs of Cluster API.
func (c *Cluster) machines(s *state.State) [][]spec {
	if !c.hasMachines() {
		return nil
	}
	return with([][]spec{{c.clusterAPI(s)}}, c.options.Arguments)
}

func (c *Cluster) etcd(s *state.State) spec {
	return spec{
		name: "etcd", purposes: []string{"etcd", "etcd-peer"}, binary: c.binary,
		health: "http://" + s.Address("etcd") + "/health",
		args: []string{
			"etcd",
			"--data-dir=" + c.dir.Data("etcd"),
			"--client-url=http://" + s.Address("etcd"),
			"--peer-url=http://" + s.Address("etcd-peer"),
		},
	}
}

func (c *Cluster) apiServer(s *state.State, k keys) spec {
	return spec{
		name: "kube-apiserver", purposes: []string{"kube-apiserver"}, binary: c.binary,
		health: "https://" + s.Address("kube-apiserver") + "/readyz",
		args: slices.Concat([]string{"kube-apiserver"}, serving(s, "kube-apiserver", k), []string{
			// Only loopback is served, so no endpoint is published for the service default/kubernetes.
			"--advertise-address=127.0.0.1",
			"--endpoint-reconciler-type=none",
			"--etcd-servers=http://" + s.Address("etcd"),
			"--client-ca-file=" + k.authority.Bundle(),
			// No certificate with this name is issued. Other parts read these settings, and log errors without them.
			"--requestheader-client-ca-file=" + k.authority.Bundle(),
			"--requestheader-allowed-names=front-proxy",
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--authorization-mode=Node,RBAC",
			"--allow-privileged=true",
			"--service-cluster-ip-range=" + ServiceCIDR,
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-signing-key-file=" + k.tokens.Key,
			"--service-account-key-file=" + k.tokens.Cert,
			// One client may use the whole machine. The default limits are for API servers with many users.
			"--max-requests-inflight=2000",
			"--max-mutating-requests-inflight=1000",
			"--profiling=false",
		}),
	}
}

func (c *Cluster) scheduler(s *state.State, k keys) spec {
	const name = "kube-scheduler"
	kubeconfig := c.dir.KubeconfigOf(name)
	binary, subcommand := c.binary, []string{name}
	if c.options.Scheduler != "" {
		binary, subcommand = c.options.Scheduler, nil
	}
	return spec{
		name: name, purposes: []string{name}, binary: binary,
		health: "https://" + s.Address(name) + "/healthz",
		args: slices.Concat(subcommand, serving(s, name, k), []string{
			"--config=" + c.dir.SchedulerConfig(),
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
		}),
	}
}

func (c *Cluster) controllerManager(s *state.State, k keys) spec {
	const name = "kube-controller-manager"
	kubeconfig := c.dir.KubeconfigOf(name)
	return spec{
		name: name, purposes: []string{name}, binary: c.binary,
		health: "https://" + s.Address(name) + "/healthz",
		args: slices.Concat([]string{name}, serving(s, name, k), []string{
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--leader-elect=false",
			"--use-service-account-credentials=true",
			"--service-account-private-key-file=" + k.tokens.Key,
			"--root-ca-file=" + k.authority.Bundle(),
			"--cluster-signing-cert-file=" + k.authority.Bundle(),
			"--cluster-signing-key-file=" + k.authority.KeyFile(),
			"--service-cluster-ip-range=" + ServiceCIDR,
			"--flex-volume-plugin-dir=" + c.dir.Data("flexvolume"),
			// At the default of 20 requests per second, the creation of a thousand pods takes a minute, which would
			// distort measurements of Karpenter.
			"--kube-api-qps=2000",
			"--kube-api-burst=4000",
			"--concurrent-replicaset-syncs=20",
			"--concurrent-deployment-syncs=20",
			"--profiling=false",
		}),
	}
}

func (c *Cluster) hollowKubelet(s *state.State) spec {
	return spec{
		name: "kwok", purposes: []string{"kwok"}, binary: c.binary,
		health: "http://" + s.Address("kwok") + "/healthz",
		args: []string{
			"kwok",
			"--kubeconfig=" + c.dir.KubeconfigOf("kwok"),
			"--health-address=" + s.Address("kwok"),
		},
	}
}

func (c *Cluster) clusterAPI(s *state.State) spec {
	const name = "clusterapi"
	var more []string
	if c.options.Workload != "" {
		more = append(more, "--workload-kubeconfig="+c.options.Workload)
	}
	return spec{
		name: name, purposes: []string{name}, binary: c.binary,
		health: "http://" + s.Address(name) + "/healthz",
		args: append([]string{
			name,
			"--kubeconfig=" + c.dir.KubeconfigOf(name),
			"--health-address=" + s.Address(name),
			"--nodes-boot=" + s.Settings.NodesBoot,
		}, more...),
	}
}
