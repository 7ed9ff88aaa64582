package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/local/state"
)

const (
	// Region is the region of the emulated AWS.
	Region = "us-east-1"
	// kubernetesVersion is the version of the API server.
	kubernetesVersion = "v1.36.3"
)

// emulates reports whether the cluster has an emulated AWS.
func (c *Cluster) emulates() bool { return slices.Contains(c.clouds(), providerAWS) }

// Emulator is the URL of the emulated AWS.
func (c *Cluster) Emulator() string { return "http://" + c.state.Address("awsemu") }

// awsEnv returns environment variables by which AWS clients use only the emulator, and not an account of the user.
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

// writeAWSEnv writes awsEnv to a file for users.
func (c *Cluster) writeAWSEnv() error {
	text := strings.Join(c.awsEnv(), "\n") + "\n"
	if err := os.WriteFile(c.dir.AWSEnv(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write aws.env: %w", err)
	}
	return nil
}

// emulator returns the spec of the emulated AWS. Its instances join the cluster as nodes.
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

// minorVersion returns "1.36" for "v1.36.3", the format of versions in EKS.
func minorVersion(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}
