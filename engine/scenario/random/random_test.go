package random_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
)

// The text of a cluster can be parsed, and the text of the parsed cluster is the same.
func TestTextComesBack(t *testing.T) {
	for seed := range uint64(50) {
		text := random.Text(random.Cluster(seed))
		var c scenario.Cluster
		if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if again := random.Text(&c); again != text {
			t.Fatalf("seed %d comes back as\n%s\nnot as\n%s", seed, again, text)
		}
	}
}

// Each feature that kube-scheduler considers occurs in some cluster, and a Snapshot can be built from every cluster.
func TestEverythingOccurs(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(300) {
		c := random.Cluster(seed)
		if _, err := c.Snapshot(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all.WriteString(random.Text(c))
	}
	for _, word := range []string{
		"nodeSelector:", "requiredDuringScheduling", "preferredDuringScheduling", "tolerations:", "startupTaints:",
		"minDomains:", "matchLabelKeys:", "mismatchLabelKeys:", "nodeAffinityPolicy: Honor", "nodeAffinityPolicy: Ignore",
		"nodeTaintsPolicy: Honor", "ScheduleAnyway", "podAffinity:", "podAntiAffinity:", "namespaceSelector: {}",
		"namespaces:", "hostPort:", "hostIP:", "priority:", "initContainers:", "restartPolicy: Always", "overhead:",
		"hugepages-2Mi", "nvidia.com/gpu", "operator: Gt", "operator: Lte", "operator: DoesNotExist", "minValues:",
		"limits:", "weight:", "reserved:", "claims:", "starting: true", "deleting: true", "cordoned: true",
		"persistentVolumeClaim:", "storage:", "attach:", "PreferNoSchedule", "NoExecute", "daemons:", "ephemeral:", "defaultSpread:", "services:", "link:", "promise:", "terminating: true",
		"topologyKey: kubernetes.io/hostname", "topologyKey: karpenter.sh/capacity-type", "topologyKey: " + random.Rack,
	} {
		if !strings.Contains(all.String(), word) {
			t.Errorf("no cluster has %q", word)
		}
	}
}

// A cluster is shrunk to the parts without which the law is not violated.
func TestShrink(t *testing.T) {
	broken := func(c *scenario.Cluster) bool {
		for _, p := range c.Pods {
			if p.Count > 1 && len(p.Spec.Tolerations) > 0 {
				return true
			}
		}
		return false
	}
	for seed := range uint64(100) {
		c := random.Cluster(seed)
		if !broken(c) {
			continue
		}
		small := random.Shrink(c, broken)
		if !broken(small) {
			t.Fatalf("seed %d: the law holds for\n%s", seed, random.Text(small))
		}
		if text := random.Text(small); strings.Count(text, "\n") > 9 {
			t.Errorf("seed %d is not small:\n%s", seed, text)
		}
	}
}
