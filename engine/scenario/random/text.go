package random

import (
	"encoding/json"
	"fmt"
	"reflect"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

// Text returns c as the section cluster.yaml of a scenario, without empty fields.
func Text(c *scenario.Cluster) string {
	out, err := yaml.Marshal(treeOf(c))
	if err != nil {
		panic(fmt.Sprintf("plain values do not marshal: %v", err))
	}
	return string(out)
}

// treeOf returns c as maps, lists and scalars.
func treeOf(c *scenario.Cluster) any {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("scenario does not marshal: %v", err))
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(fmt.Sprintf("scenario does not come back: %v", err))
	}
	if c.Now.IsZero() {
		delete(tree, "now")
	}
	for i, p := range c.Pools {
		dropZero(tree["pools"], i, "disruption", p.Disruption)
	}
	for i, n := range c.Nodes {
		dropZero(tree["nodes"], i, "life", n.Life)
	}
	pruned, _ := prune(tree, "")
	return pruned
}

// dropZero removes a field of the i-th element if its value v is zero. omitempty does not do that for a struct.
func dropZero(list any, i int, key string, v any) {
	if reflect.ValueOf(v).IsZero() {
		delete(list.([]any)[i].(map[string]any), key)
	}
}

// clusterOf is the reverse of treeOf. It returns false if the tree is not a valid cluster.
func clusterOf(tree any) (*scenario.Cluster, bool) {
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, false
	}
	c := &scenario.Cluster{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, false
	}
	return c, true
}

// meaningful are keys whose empty value differs from a missing one: an empty selector selects everything, a missing one
// nothing.
var meaningful = map[string]bool{"labelSelector": true, "namespaceSelector": true}

// prune removes nulls and empty collections below v, except those of meaningful keys. It returns false if v is then
// empty or null itself.
func prune(v any, key string) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		out := map[string]any{}
		for k, child := range v {
			if kept, ok := prune(child, k); ok {
				out[k] = kept
			}
		}
		return out, len(out) > 0 || meaningful[key]
	case []any:
		var out []any
		for _, child := range v {
			if kept, ok := prune(child, ""); ok {
				out = append(out, kept)
			}
		}
		return out, len(out) > 0
	}
	return v, true
}
