package random

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

var (
	seeds = flag.Int("seeds", 0, "how many random clusters to check (0: as many as the test says)")
	from  = flag.Uint64("from", 1, "the first of them")
	seed  = flag.Uint64("seed", 0, "check only the random cluster of this seed")
	file  = flag.String("cluster", "", "check only the cluster of this scenario or YAML file, as a failure prints it")
	keep  = flag.String("keep", "", "put the small cluster of each failure into this folder, as a scenario")
)

// A Breach is a violation of a Law by one cluster.
type Breach struct {
	// Rule is a short name of the property that is violated. Breaches with the same Rule count as the same mistake.
	Rule string
	// Detail describes the violation.
	Detail string
}

// A Law is a property that must hold for each cluster. It returns nil if it holds. It may change the cluster, which is
// a copy.
type Law func(*scenario.Cluster) *Breach

// Check tests the law on the clusters of the seeds from 1 to count. The flags of this package select other seeds, or a
// cluster in a file. For each violated rule it reports the number of violations and one cluster, which is shrunk. A
// cluster in a file is not shrunk.
func Check(t *testing.T, count int, law Law) {
	t.Helper()
	if *file != "" {
		checkFile(t, *file, law)
		return
	}
	if *seeds > 0 {
		count = *seeds
	}
	first, last := *from, *from+uint64(count)-1
	if *seed > 0 {
		first, last = *seed, *seed
	}
	broken := map[string][]uint64{}
	var rules []string
	for n := first; n <= last; n++ {
		b := judge(law, Cluster(n))
		if b == nil {
			continue
		}
		if len(broken[b.Rule]) == 0 {
			rules = append(rules, b.Rule)
		}
		broken[b.Rule] = append(broken[b.Rule], n)
	}
	for _, rule := range rules {
		t.Error(report(law, rule, broken[rule]))
	}
}

// checkFile tests the law on the cluster in the file, without shrinking it.
func checkFile(t *testing.T, name string, law Law) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var c scenario.Cluster
	if _, section, ok := strings.Cut(string(text), "-- cluster.yaml --\n"); ok {
		section, _, _ = strings.Cut(section, "-- want --\n")
		text = []byte(section)
	}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if b := judge(law, &c); b != nil {
		t.Errorf("%s: %s", b.Rule, b.Detail)
	}
}

// judge runs the law on a copy of c, so that the law cannot change c. A panic of the law is a Breach. It is also a
// Breach if treeOf and clusterOf do not make a copy.
func judge(law Law, c *scenario.Cluster) (b *Breach) {
	own, ok := clusterOf(treeOf(c))
	if !ok {
		return &Breach{Rule: "generator", Detail: "the cluster does not survive being written down"}
	}
	defer func() {
		if r := recover(); r != nil {
			b = &Breach{Rule: fmt.Sprintf("panic: %.60v", r), Detail: fmt.Sprintf("%v\n%s", r, debug.Stack())}
		}
	}()
	return law(own)
}

// report shrinks the smallest of the clusters that violate the rule and returns a description of it. With the flag -keep, it also
// writes the cluster to a file.
func report(law Law, rule string, seeds []uint64) string {
	size := func(n uint64) int { return len(Text(Cluster(n))) }
	smallest := slices.MinFunc(seeds, func(a, b uint64) int { return size(a) - size(b) })
	small := Shrink(Cluster(smallest), func(c *scenario.Cluster) bool {
		b := judge(law, c)
		return b != nil && b.Rule == rule
	})
	shown := make([]string, 0, 10)
	for _, n := range seeds[:min(10, len(seeds))] {
		shown = append(shown, fmt.Sprint(n))
	}
	b := judge(law, small)
	if *keep != "" {
		name := fmt.Sprintf("%s_%d.txtar", strings.NewReplacer(" ", "_", ":", "", ",", "").Replace(rule), smallest)
		text := fmt.Sprintf("%s: %s\n-- cluster.yaml --\n%s-- want --\n", rule, b.Detail, Text(small))
		if err := os.WriteFile(filepath.Join(*keep, name), []byte(text), 0o644); err != nil {
			return fmt.Sprintf("keep the cluster of seed %d: %v", smallest, err)
		}
	}
	return fmt.Sprintf("%s: broken by %d clusters, of seeds %s\nseed %d, made small:\n%s\n-- cluster.yaml --\n%s",
		rule, len(seeds), strings.Join(shown, ", "), smallest, b.Detail, Text(small))
}
