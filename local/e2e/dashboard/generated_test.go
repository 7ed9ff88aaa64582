package dashboard

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// assets is the directory of the committed files that the controller serves.
const assets = "../../../internal/dashboard/assets"

// A new build of the page equals the committed assets.
func TestAssets(t *testing.T) {
	prepare(t)
	built := t.TempDir()
	node(t, "build", "ASSETS="+built)
	files, err := os.ReadDir(built)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("the build gave no files")
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(built, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(filepath.Join(assets, f.Name()))
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what web gives: run make web and commit (%v)", f.Name(), err)
		}
	}
}

// The unit tests of the page, which need no browser, pass.
func TestUnits(t *testing.T) {
	prepare(t)
	node(t, "unit")
}

// The tests of the page in a browser pass with generated data. They cover every view, state, key and address. They need no
// cluster; make web-test runs them alone.
func TestPage(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: run make web-test, or set KARPENTER_LONG=1")
	}
	browser := prepare(t)
	node(t, "browser", "CHROMIUM="+browser)
}
