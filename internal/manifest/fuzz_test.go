package manifest

import (
	"bytes"
	"encoding/json"
	"testing"
)

// JSON is split at the same positions at which a decoder splits it. Malformed input gives an error, and no panic.
func FuzzCut(f *testing.F) {
	for _, seed := range []string{`[{"a": "]"}, 1, "x\\\""]`, `[]`, `[[{}],`, `{"a":[1,{"b":null}],"c":"\u007d"}`, `["\`, `[1 2]`, `{"a" 1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var items []json.RawMessage
		var fields map[string]json.RawMessage
		got := [][]byte{}
		err := eachItem(data, func(_ int, item []byte) { got = append(got, item) })
		if json.Unmarshal(data, &items) == nil && items != nil {
			if err != nil || len(got) != len(items) {
				t.Fatalf("cut %q into %q, %v", data, got, err)
			}
			for i := range items {
				if string(items[i]) != string(got[i]) {
					t.Fatalf("item %d is %q, want %q", i, got[i], items[i])
				}
			}
		}
		seen := map[string]bool{}
		err = eachField(data, func(key string, value []byte) bool { seen[key] = json.Valid(value); return true })
		if json.Unmarshal(data, &fields) == nil && fields != nil && (err != nil || len(seen) > len(fields)) {
			t.Fatalf("cut %q into %v, %v", data, seen, err)
		}
	})
}

// FuzzRead reads manifests of any form: YAML and JSON, several documents, lists. Reading gives objects or errors, and
// the same ones when it is repeated.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "---\n---\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resources: {requests: {cpu: 10P}}}]}",
		"apiVersion: v1\nkind: List\nitems: [null, {apiVersion: v1, kind: Pod, metadata: {name: a}}]", `[{"apiVersion":"v1","kind":"Pod"}]`,
		"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {disruption: {budgets: [{nodes: 10%, schedule: '61 * * * *'}]}}",
		"kind: &a [*a, *a]", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: -1}", "\xff\xfe\x00k", "a: !!binary x",
		"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec: {kubelet: {maxPods: x}, userData: 7}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() (*Set, error) {
			return Read(t.Context(), []string{Stdin}, Options{Stdin: bytes.NewReader(data)})
		}
		one, err := read()
		two, again := read()
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("errors are\n%v\nand\n%v", err, again)
		}
		if err == nil && len(Of[Object](one)) != len(Of[Object](two)) {
			t.Errorf("%d objects, then %d", len(Of[Object](one)), len(Of[Object](two)))
		}
	})
}
