package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/pki"
)

// An instance whose user data has a wrong cluster, authority or network never becomes a node. Its console shows the reason.
func TestUntruthfulUserDataNeverJoins(t *testing.T) {
	t.Parallel()
	stranger, err := pki.Open(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(shared.Cluster.Dir().PKI(), "ca.crt")
	for _, c := range []struct{ name, old, new, say string }{
		{"name", "name: " + cluster.Name, "name: elsewhere", `cluster name is "elsewhere"`},
		{"authority", encoded(t, ours), encoded(t, stranger.Bundle()), "certificate signed by unknown authority"},
		{"network", cluster.ServiceCIDR, "172.31.0.0/16", `service CIDR is "172.31.0.0/16"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			truth, err := base64.StdEncoding.DecodeString(userData(t, cluster.Name))
			if err != nil {
				t.Fatal(err)
			}
			lie := strings.Replace(string(truth), c.old, c.new, 1)
			if lie == string(truth) {
				t.Fatalf("user data does not say %q", c.old)
			}
			wantRefused(t, launch(t, base64.StdEncoding.EncodeToString([]byte(lie))), c.say)
		})
	}
}

// wantRefused waits until the console of an instance shows the reason why it does not join, and checks that it has no node.
func wantRefused(t *testing.T, id, reason string) {
	t.Helper()
	s := &scene{Env: shared, t: t}
	var refused control.Instance
	s.poll(func() string {
		instances, err := s.Steer().Instances(t.Context())
		if err != nil {
			return err.Error()
		}
		for _, i := range instances {
			if i.ID == id && strings.Contains(strings.Join(i.Console, "\n"), reason) {
				refused = i
				return ""
			}
		}
		return fmt.Sprintf("the console of %s does not say %q: %+v", id, reason, instances)
	})
	if refused.State != "running" {
		t.Errorf("the instance is %s, want it running for nothing", refused.State)
	}
	var nodes corev1.NodeList
	s.list(&nodes)
	for _, n := range nodes.Items {
		if n.Name == refused.Node || strings.HasSuffix(n.Spec.ProviderID, id) {
			t.Errorf("instance %s became node %s", id, n.Name)
		}
	}
	if out, err := s.Run(t, "aws", "instances", "-o", "json"); err != nil || !strings.Contains(out, strings.ReplaceAll(reason, `"`, `\"`)) {
		t.Errorf("aws instances (%v) does not say %q:\n%s", err, reason, out)
	}
}

// encoded returns a file in the encoding of user data.
func encoded(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}
