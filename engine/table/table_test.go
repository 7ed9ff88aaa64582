package table

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A table has the same content as a map after any edits, earlier tables do not change, and differing tells all changes.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table[int]
		content := map[string]int{}
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			before, was, by := table, maps.Clone(content), new(Token)
			for range rapid.IntRange(0, 300).Draw(t, "changes") {
				key := strconv.Itoa(rapid.IntRange(0, 400).Draw(t, "key"))
				if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
					table.Remove(by, key)
					delete(content, key)
					continue
				}
				v := rapid.IntRange(0, 3).Draw(t, "value")
				old, ok := table.Set(by, key, v)
				if want, known := content[key]; old != want || ok != known {
					t.Fatalf("set returned %v, %v, want %v, %v", old, ok, want, known)
				}
				content[key] = v
			}
			wantTable(t, table, content)
			wantTable(t, before, was)
			wantDifference(t, table, before, content, was)
		}
	})
}

func wantTable(t *rapid.T, table Table[int], content map[string]int) {
	t.Helper()
	if got := maps.Collect(table.Each()); !maps.Equal(got, content) || table.Len() != len(content) {
		t.Fatalf("the table with size %d is %v, want %v", table.Len(), got, content)
	}
	var values []int
	for _, key := range slices.Sorted(maps.Keys(content)) {
		values = append(values, content[key])
		if v, ok := table.Get(key); !ok || v != content[key] {
			t.Fatalf("%s is %v, %v", key, v, ok)
		}
	}
	if got := table.Values(); !slices.Equal(got, values) {
		t.Fatalf("values %v, want %v", got, values)
	}
	if _, ok := table.Get("none"); ok {
		t.Fatal("a key that was never set is there")
	}
}

// wantDifference checks that the table differs from the one before as their contents do.
func wantDifference(t *rapid.T, table, before Table[int], content, was map[string]int) {
	t.Helper()
	now, then := maps.Clone(content), maps.Clone(was)
	shared := func(m, other map[string]int) {
		maps.DeleteFunc(m, func(key string, v int) bool {
			w, ok := other[key]
			return ok && v == w
		})
	}
	shared(now, was)
	shared(then, content)
	for key, v := range table.Unshared(before) {
		if content[key] != v {
			t.Fatalf("%s is told to be %d", key, v)
		}
		delete(now, key)
	}
	for key, v := range before.Unshared(table) {
		if was[key] != v {
			t.Fatalf("%s is told to have been %d", key, v)
		}
		delete(then, key)
	}
	if len(now)+len(then) > 0 {
		t.Fatalf("not told: %v, before %v", now, then)
	}
}

// Keys with equal hashes share a bucket of any size.
func TestTableWithEqualHashes(t *testing.T) {
	var root *part[int]
	by := new(Token)
	const many = 3 * bucketSize
	for i := range many {
		root, _, _ = root.set(by, entry[int]{hash: 7, key: strconv.Itoa(i), value: i}, 0)
	}
	if all := maps.Collect(Table[int]{root: root}.Each()); len(all) != many {
		t.Fatalf("%d entries, want %d", len(all), many)
	}
	for i := range many {
		root = root.remove(by, 7, strconv.Itoa(i), 0)
	}
	if root != nil {
		t.Fatalf("left: %v", maps.Collect(Table[int]{root: root}.Each()))
	}
}
