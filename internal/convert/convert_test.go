package convert

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the want sections of the goldens")

// goldens returns the archives under testdata. Each has a description, the input old*.yaml, and the outputs new.yaml
// and warnings.
func goldens(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d goldens: %v", len(files), err)
	}
	all := map[string]*txtar.Archive{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = archive
	}
	return all
}

// inputs returns the files of an archive that are converted.
func inputs(archive *txtar.Archive) []File {
	var list []File
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "old") {
			list = append(list, File{f.Name, f.Data})
		}
	}
	return list
}

func TestGoldens(t *testing.T) {
	for file, archive := range goldens(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if strings.TrimSpace(string(archive.Comment)) == "" {
				t.Error("it does not say what it shows")
			}
			r, err := Convert(inputs(archive), Options{})
			out, warnings := string(r.Text()), ""
			for _, w := range r.Warnings {
				warnings += w.String() + "\n"
			}
			if err != nil {
				warnings = "error: " + err.Error() + "\n"
			}
			got := &txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "old") {
					got.Files = append(got.Files, f)
				}
			}
			got.Files = append(got.Files, txtar.File{Name: "new.yaml", Data: []byte(out)}, txtar.File{Name: "warnings", Data: []byte(warnings)})
			text := txtar.Format(got)
			if bytes.Equal(text, txtar.Format(archive)) {
				return
			}
			if !*update {
				t.Fatalf("(-want +got, go test -update rewrites %s)\n%s", file, cmp.Diff(string(txtar.Format(archive)), string(text)))
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A second conversion does not change the output of the first. The API server accepts the output, unless there is an
// invalid warning.
func TestConvertingTwiceIsConvertingOnce(t *testing.T) {
	for file, archive := range goldens(t) {
		once, err := Convert(inputs(archive), Options{})
		if err != nil {
			continue
		}
		refused := false
		for _, w := range once.Warnings {
			refused = refused || w.Invalid
		}
		twice, err := Convert([]File{{"new.yaml", once.Text()}}, Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if diff := cmp.Diff(string(once.Text()), string(twice.Text())); diff != "" || twice.Converted != 0 {
			t.Errorf("%s: converted %d documents again (-once +twice):\n%s", file, twice.Converted, diff)
		}
		for _, w := range twice.Warnings {
			if w.Invalid && !refused {
				t.Errorf("%s: %s", file, w)
			}
		}
	}
}

// A template expression in a comment of the input is in no other place of the output than in this comment. Whole lines of
// comments are inserted everywhere, also into user data.
func TestCommentedExpressionsStayComments(t *testing.T) {
	all := goldens(t)
	rng, kept := rand.New(rand.NewPCG(5, 6)), 0
	for _, file := range slices.Sorted(maps.Keys(all)) {
		for _, in := range inputs(all[file]) {
			lines := strings.Split(string(in.Data), "\n")
			for i := range 3 {
				at := rng.IntN(len(lines))
				comment := fmt.Sprintf("%s#${COMMENTED_%d}", indentOf(lines[at]), i)
				lines = slices.Insert(lines, at, comment)
			}
			r, err := Convert([]File{{in.Name, []byte(strings.Join(lines, "\n"))}}, Options{Unchecked: true})
			if err != nil || r.Converted == 0 {
				continue
			}
			out := string(r.Text())
			kept += strings.Count(out, "#${COMMENTED_")
			if strings.Count(out, "${COMMENTED_") != strings.Count(out, "#${COMMENTED_") {
				t.Errorf("%s: an expression was commented out and is not:\n%s", file, out)
			}
		}
	}
	if kept < 50 {
		t.Errorf("%d comments are in the output, want at least 50", kept)
	}
}

// Convert returns a result or an error for any input, and it can convert its own output.
func FuzzConvert(f *testing.F) {
	for _, archive := range goldens(f) {
		for _, in := range inputs(archive) {
			f.Add(in.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := Convert([]File{{"fuzz.yaml", data}}, Options{Unchecked: true})
		if err != nil || once.Converted == 0 {
			return
		}
		if _, err := Convert([]File{{"again.yaml", once.Text()}}, Options{Unchecked: true}); err != nil && !strings.Contains(err.Error(), "template") {
			t.Errorf("made what it cannot read: %v\n%s", err, once.Text())
		}
	})
}

// Manifests with lines removed, swapped or mistyped are converted or refused without a panic. The result can be read and
// needs no further conversion.
func TestDamaged(t *testing.T) {
	all := goldens(t)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, in := range inputs(all[file]) {
			for range 100 {
				damaged := damage(rng, strings.Split(string(in.Data), "\n"))
				once, err := Convert([]File{{in.Name, []byte(damaged)}}, Options{Unchecked: true})
				if err != nil || once.Converted == 0 {
					continue
				}
				twice, err := Convert([]File{{in.Name, once.Text()}}, Options{Unchecked: true})
				if err != nil && !strings.Contains(err.Error(), "template") {
					t.Fatalf("%s: made what it cannot read: %v\n%s\nof\n%s", file, err, once.Text(), damaged)
				}
				if err == nil && twice.Converted != 0 {
					t.Fatalf("%s: converted again:\n%s\nof\n%s", file, once.Text(), damaged)
				}
			}
		}
	}
}

// Limits that are nested twice by mistake are moved to spec.limits. A second conversion does not change the result.
func TestLimitsNestedTwice(t *testing.T) {
	old := "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {limits: {resources: {resources: {cpu: 5}}}}\n"
	once, err := Convert([]File{{"old.yaml", []byte(old)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Convert([]File{{"new.yaml", once.Text()}}, Options{})
	if err != nil || twice.Converted != 0 || strings.Contains(string(once.Text()), "resources") {
		t.Errorf("made %s\nof which %d are converted again: %v", once.Text(), twice.Converted, err)
	}
}

// damage changes lines in the ways in which files are damaged by mistake.
func damage(rng *rand.Rand, lines []string) string {
	for range 1 + rng.IntN(4) {
		i, j := rng.IntN(len(lines)), rng.IntN(len(lines))
		switch rng.IntN(6) {
		case 0: // a line is removed
			lines = slices.Delete(slices.Clone(lines), i, i+1)
			if len(lines) == 0 {
				return ""
			}
		case 1: // two lines are swapped
			lines = slices.Clone(lines)
			lines[i], lines[j] = lines[j], lines[i]
		case 2: // a line is indented
			lines = slices.Clone(lines)
			lines[i] = "  " + lines[i]
		case 3: // a value is removed
			key, _, _ := strings.Cut(lines[i], ":")
			lines = slices.Clone(lines)
			lines[i] = key + ":"
		case 4: // a value is replaced
			key, _, _ := strings.Cut(lines[i], ":")
			lines = slices.Clone(lines)
			lines[i] = key + ": " + []string{"[]", "{}", "5", "~", "[a, {b: c}]", "${X}", "{{ .Y }}", "'", "&x 1", "*x"}[rng.IntN(10)]
		case 5: // a line is duplicated
			lines = slices.Insert(slices.Clone(lines), i, lines[j])
		}
	}
	return strings.Join(lines, "\n")
}
