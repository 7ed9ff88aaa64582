package cluster

import (
	"fmt"
	"os"
	"strings"

	"github.com/karpenter-go/karpenter/local/state"
)

const (
	// Region is where the emulated account is.
	Region = "us-east-1"
	// kubernetesVersion is what the API server says it is.
	kubernetesVersion = "v1.36.3"
)

// emulates reports whether the cluster has an emulated AWS.
func (c *Cluster) emulates() bool { return c.state.Settings.Provider != providerKWOK }

// Emulator is the URL of the emulated AWS.
func (c *Cluster) Emulator() string { return "http://" + c.state.Address("awsemu") }

// awsEnv is the environment that leads AWS clients to the emulator and to
// nothing else: whatever account the user has is shut out.
func (c *Cluster) awsEnv() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + c.Emulator(),
		"AWS_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
		"AWS_SESSION_TOKEN=",
		"AWS_PROFILE=",
		"AWS_CONFIG_FILE=" + os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// writeAWSEnv writes the environment for others to use.
func (c *Cluster) writeAWSEnv() error {
	text := strings.Join(c.awsEnv(), "\n") + "\n"
	if err := os.WriteFile(c.dir.AWSEnv(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write aws.env: %w", err)
	}
	return nil
}

// emulator describes the emulated AWS as a part. Its instances join the
// cluster as nodes.
func (c *Cluster) emulator(s *state.State, k keys) spec {
	return spec{
		name: "awsemu", purposes: []string{"awsemu"}, binary: c.binary,
		health: "http://" + s.Address("awsemu") + "/_emulator/health",
		args: []string{
			"awsemu",
			"--address=" + s.Address("awsemu"),
			"--region=" + Region,
			"--kubeconfig=" + c.dir.KubeconfigOf("awsemu"),
			"--cluster-name=" + Name,
			"--cluster-endpoint=" + c.Endpoint(),
			"--cluster-ca=" + k.authority.Bundle(),
			"--cluster-version=" + minorVersion(kubernetesVersion),
			"--service-cidr=" + ServiceCIDR,
			"--nodes-boot=" + s.Settings.NodesBoot,
		},
	}
}

// minorVersion is "1.36" of "v1.36.3", which is how EKS names versions.
func minorVersion(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}
