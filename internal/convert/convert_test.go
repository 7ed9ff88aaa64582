package convert

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the want sections of the goldens")

// goldens returns the archives under testdata: prose, old*.yaml in, new.yaml and warnings out.
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

// What came out needs no conversion any more: it comes out again byte for byte, and the API server accepts it unless a
// warning said otherwise.
func TestConvertingTwiceIsConvertingOnce(t *testing.T) {
	for file, archive := range goldens(t) {
		once, err := Convert(inputs(archive), Options{})
		if err != nil {
			continue
		}
		refused := false
		for _, w := range once.Warnings {
			refused = refused || strings.Contains(w.Text, "will refuse")
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
			if strings.Contains(w.Text, "will refuse") && !refused {
				t.Errorf("%s: %s", file, w)
			}
		}
	}
}

// Whatever it is given, Convert answers, and what it makes it can read again.
func FuzzConvert(f *testing.F) {
	for _, archive := range goldens(f) {
		for _, in := range inputs(archive) {
			f.Add(in.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := Convert([]File{{"fuzz.yaml", data}}, Options{})
		if err != nil || once.Converted == 0 {
			return
		}
		if _, err := Convert([]File{{"again.yaml", once.Text()}}, Options{}); err != nil && !strings.Contains(err.Error(), "template") {
			t.Errorf("made what it cannot read: %v\n%s", err, once.Text())
		}
	})
}
