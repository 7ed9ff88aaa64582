package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds all builds together. They take a quarter of an hour on two free cores, and longer on a busy machine.
const patience = 45 * time.Minute

// The image of this source is built twice, from two copies of the source, the second time with an empty build cache. Both
// builds have the same digest, for all architectures. Each image has a static program of its architecture that runs, and its
// SBOM lists the modules that are linked into the program.
func TestBuild(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("set KARPENTER_LONG=1 to compile for both architectures, twice: a quarter of an hour")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out := t.TempDir()
	here, elsewhere := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "elsewhere")
	sources(t, "../..", here)
	if err := os.CopyFS(elsewhere, os.DirFS(here)); err != nil {
		t.Fatal(err)
	}
	in := func(dir, name, cache string) string {
		t.Chdir(dir)
		if cache != "" {
			t.Setenv("GOCACHE", cache)
		}
		if err := run(ctx, origin{version: "1.2.3", commit: "abc", architectures: []string{"amd64", "arm64"}}, nil, filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, name, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := in(here, "first", "")
	if second := in(elsewhere, "second", t.TempDir()); second != first {
		t.Errorf("two builds differ:\n%s\n%s", first, second)
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		inspect(t, filepath.Join(out, "first"), arch, machine)
	}
}

// sources copies the files that git tracks, and the new files that it does not ignore.
func sources(t *testing.T, from, to string) {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", from, "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSpace(string(list)), "\n") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			continue // deleted, or a link to a directory, which is not a source
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inspect checks the image of an architecture.
func inspect(t *testing.T, dir, arch string, machine elf.Machine) {
	binary, labels := programOf(t, dir, arch)
	if labels["org.opencontainers.image.version"] != "1.2.3" || labels["org.opencontainers.image.revision"] != "abc" ||
		labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
		t.Errorf("%s: labels %v", arch, labels)
	}
	f, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := f.ImportedLibraries(); f.Machine != machine || err != nil || len(libraries) > 0 || static(binary) != nil {
		t.Errorf("%s: a program for %s that needs %v (%v)", arch, f.Machine, libraries, err)
	}
	if arch == "amd64" {
		program := filepath.Join(t.TempDir(), "karpenter")
		if err := os.WriteFile(program, binary, 0o755); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput(); err != nil || !strings.Contains(string(said), "1.2.3") {
			t.Errorf("karpenter version: %v\n%s", err, said)
		}
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "karpenter-1.2.3-linux-"+arch+".spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append(info.Deps, &info.Main) {
		if !strings.Contains(string(text), "pkg:golang/"+want.Path+"@") {
			t.Errorf("%s: the bill lacks %s", arch, want.Path)
		}
	}
	if len(info.Deps) < 50 {
		t.Errorf("%s: %d modules are linked", arch, len(info.Deps))
	}
}

// programOf returns the program of an architecture and the labels of its image.
func programOf(t *testing.T, dir, arch string) ([]byte, map[string]string) {
	t.Helper()
	var outer, index manifests
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &outer); err != nil {
		t.Fatal(err)
	}
	read(t, dir, outer.Manifests[0], &index)
	for _, d := range index.Manifests {
		if d.Platform["architecture"] != arch {
			continue
		}
		var m struct {
			Config descriptor   `json:"config"`
			Layers []descriptor `json:"layers"`
		}
		var config struct {
			Architecture string
			Config       struct{ Labels map[string]string }
		}
		read(t, dir, d, &m)
		read(t, dir, m.Config, &config)
		if config.Architecture != arch {
			t.Errorf("the image for %s says %s", arch, config.Architecture)
		}
		files, _ := unpack(t, read(t, dir, m.Layers[0], nil))
		return files["karpenter"], config.Config.Labels
	}
	t.Fatalf("no image for %s", arch)
	return nil, nil
}
