package dashboard

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// assets are what the controller serves. They are committed.
const assets = "../../../internal/dashboard/assets"

// A build of the page gives the committed assets.
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

// The parts of the page that need no browser.
func TestUnits(t *testing.T) {
	prepare(t)
	node(t, "unit")
}

// Every view, state, key and address of the page, with generated data.
func TestPage(t *testing.T) {
	browser := prepare(t)
	node(t, "browser", "CHROMIUM="+browser)
}
