package manifest

import (
	"encoding/json"
	"testing"
)

// Whatever is cut, is cut where a JSON decoder would cut it, and nothing makes the cutting fail in another way than by an
// error.
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
