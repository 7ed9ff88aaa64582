package apitest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/api/apitest"
)

func TestMerge(t *testing.T) {
	base := map[string]any{"a": map[string]any{"b": 1.0, "c": "x"}, "list": []any{"p", "q"}}
	got := apitest.Merge(base, map[string]any{
		"a": map[string]any{"b": nil, "d": 0.5}, "list": []any{map[string]any{"n": 2.0}}, "new": map[string]any{"e": true, "f": nil},
	})
	want := map[string]any{
		"a": map[string]any{"c": "x", "d": 0.5}, "list": []any{map[string]any{"n": int64(2)}}, "new": map[string]any{"e": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"b": 1.0, "c": "x"}, base["a"]); diff != "" {
		t.Errorf("the base changed: %s", diff)
	}
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	cases, err := apitest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 200 {
		t.Errorf("read %d cases, want at least 200", len(cases))
	}
	names, objects := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Errorf("two cases are called %q", c.Name)
		}
		names[c.Name] = true
		id := c.Object.GetKind() + "/" + c.Object.GetName()
		if objects[id] {
			t.Errorf("two objects are called %q", id)
		}
		objects[id] = true
		if c.Old != nil && c.Old.GetName() != c.Object.GetName() {
			t.Errorf("%s: the update renames the object", c.Name)
		}
		if c.WantErr == "" {
			t.Errorf("%s: says nothing of what is wanted", c.Name)
		}
	}
}
