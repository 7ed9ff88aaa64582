package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// What the manual shows as shell (```sh) runs as it stands, in one directory with the examples, block after block of a page.
// What needs a cluster or an account is shown as a console session (```console) and not run here.
func TestManual(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md")
	where, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.Symlink(where, filepath.Join(dir, "examples")); err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			blocks++
			cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", block[1]) // karpenter is this test, by TestMain
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", page, err, block[1], out)
			}
		}
	}
	if blocks < 8 {
		t.Errorf("found %d blocks of shell", blocks)
	}
}
