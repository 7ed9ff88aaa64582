package require_test

import (
	"fmt"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

func ExampleRequirement_Intersect() {
	pool := require.New("generation", require.Gt, "5")
	pod := require.New("generation", require.In, "4", "6", "7")
	fmt.Println(pool)
	fmt.Println(pool.Intersect(pod))
	fmt.Println(pool.Intersect(require.New("generation", require.NotIn, "7")))
	// Output:
	// generation >= 6
	// generation in [6, 7]
	// generation >= 6 and not in [7]
}

func ExampleSet_Compatible() {
	pool := require.FromSpec([]apiv1.NodeSelectorRequirementWithMinValues{
		{Key: "kubernetes.io/arch", Operator: require.In, Values: []string{"amd64"}},
	})
	wellKnown := func(key string) bool { return key == "topology.kubernetes.io/zone" }

	for _, selector := range []map[string]string{
		{"kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "a"},
		{"kubernetes.io/arch": "arm64"},
		{"kubernetes.io/arhc": "amd64"},
	} {
		conflict, ok := pool.Compatible(require.FromLabels(selector), wellKnown)
		if ok {
			fmt.Println("compatible")
			continue
		}
		fmt.Println(conflict.WithHint(pool.Keys()...))
	}
	// Output:
	// compatible
	// requires kubernetes.io/arch in [arm64], but the NodePool has kubernetes.io/arch in [amd64]
	// requires label kubernetes.io/arhc in [amd64], which no node of the NodePool has (similar key: kubernetes.io/arch)
}

func ExampleSet_And() {
	pool := require.NewSet(require.New("zone", require.In, "a", "b", "c"))
	pod := require.FromLabels(map[string]string{"zone": "b", "team": "web"})
	both := pool.And(pod)
	fmt.Println(both)
	fmt.Println(both.Labels())
	// Output:
	// team in [web]; zone in [b]
	// map[team:web zone:b]
}

func ExampleRequirement_Any() {
	fmt.Println(require.New("size", require.In, "large", "small").Any())
	fmt.Println(require.New("generation", require.Gt, "5").Any())
	fmt.Println(require.New("gpu", require.DoesNotExist).Any())
	// Output:
	// large true
	// 6 true
	//  false
}
