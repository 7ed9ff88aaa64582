package helm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	imagev1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/karpenter-go/karpenter/hack/manual"
	"github.com/karpenter-go/karpenter/local/chart"
)

// refName is the annotation in which an OCI layout stores the tag of an image.
const refName = "org.opencontainers.image.ref.name"

// The commands of the manual with helm and registries are run. Charts and images go to a registry of the test, whatever host a
// page names. Releases go to a cluster without CRDs of this project.
func TestManual(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("takes minutes: set KARPENTER_LONG=1")
	}
	pages, err := manual.Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t)
	e.furnish(t)
	ran := 0
	for _, page := range pages {
		steps := slices.DeleteFunc(page.Steps, func(s manual.Step) bool { return !s.Release })
		if len(steps) == 0 {
			continue
		}
		t.Run(filepath.Base(page.File), func(t *testing.T) {
			shell := e.reader(t)
			e.node(t)
			if filepath.Base(page.File) == "upgrade.md" {
				e.released(t)
			}
			for i := range steps {
				s := &steps[i]
				ran++
				out, err := shell.Run(t.Context(), s)
				if err != nil {
					t.Fatalf("%s\n%v\n%s", s.Command, err, out)
				}
				if diff := manual.Mismatch(s.Output, out, true); s.Output != nil && diff != "" {
					t.Errorf("%s prints something else:\n%s", s.Where(), diff)
				}
			}
			e.clean(t)
		})
	}
	if ran < 6 {
		t.Errorf("ran %d commands", ran)
	}
}

// reader returns a shell in a directory like a clone, with helm, skopeo and a built image, and with a cluster without this
// project's CRDs.
func (e *env) reader(t *testing.T) *manual.Shell {
	t.Helper()
	dir := t.TempDir()
	err := manual.Clone("../../..", dir)
	for _, version := range []string{"dev", "0.2.0"} {
		err = errors.Join(err, image(filepath.Join(dir, "dist", "image"), version))
	}
	self, link := os.Executable()
	err = errors.Join(err, link)
	if _, missing := os.Lstat(filepath.Join(e.bin, "skopeo")); missing != nil {
		err = errors.Join(err, os.Symlink(self, filepath.Join(e.bin, "skopeo")))
	}
	if err != nil {
		t.Fatal(err)
	}
	e.clean(t)
	env := append(slices.Clone(e.vars), "PATH="+e.bin+":"+os.Getenv("PATH"), registryOfTest+"="+e.host())
	return &manual.Shell{Dir: dir, State: t.TempDir(), Env: env}
}

// host returns the host and port of the registry.
func (e *env) host() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(e.registry, "oci://"), "/")
	return host
}

// image adds an image of two architectures to an OCI layout, tagged with its version, as make image does.
func image(dir, version string) error {
	var index imagev1.ImageIndex
	index, err := random.Index(64, 1, 2)
	if err != nil {
		return err
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		if path, err = layout.Write(dir, mutate.IndexMediaType(index, "application/vnd.oci.image.index.v1+json")); err != nil {
			return err
		}
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: version}))
}

// released installs release 0.1.0 in the cluster, and pushes 0.2.0 to the registry.
func (e *env) released(t *testing.T) {
	t.Helper()
	old := t.TempDir()
	for _, c := range []string{"karpenter-crd", "karpenter"} {
		archive, err := chart.Pack("../../../charts/"+c, "0.1.0", old)
		if err != nil {
			t.Fatal(err)
		}
		e.helm(t, "install", c, archive, "--namespace", "kube-system", "--set", map[string]string{
			"karpenter": "settings.clusterName=demo", "karpenter-crd": "global.a=b"}[c])
		e.helm(t, "push", filepath.Join(e.charts, c+"-0.2.0.tgz"), e.registry, "--plain-http")
	}
}

// clean uninstalls every release and removes this project's CRDs.
func (e *env) clean(t *testing.T) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(e.helm(t, "list", "--all-namespaces", "--no-headers")), "\n") {
		if f := strings.Fields(line); len(f) > 1 {
			e.helm(t, "uninstall", f[0], "--namespace", f[1], patiently)
		}
	}
	kinds, err := e.kubectl(t, "", "get", "crds", "-o", "name")
	if err != nil {
		t.Fatalf("%v\n%s", err, kinds)
	}
	for _, kind := range strings.Fields(kinds) {
		if !strings.Contains(kind, "karpenter") && !strings.Contains(kind, "capacitybuffer") {
			continue
		}
		if out, err := e.kubectl(t, "", "delete", kind, "--wait", "--ignore-not-found"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// registryOfTest is the environment variable with the address of the registry that replaces those on the pages.
const registryOfTest = "KARPENTER_TEST_REGISTRY"

var inRegistry = regexp.MustCompile(`^(oci|docker)://([a-z0-9.-]+\.[a-z]+)/`)

// here replaces registries in arguments by that of the test, and reports whether there was one.
func here(args []string) (changed []string, found bool) {
	for _, a := range args {
		if m := inRegistry.FindString(a); m != "" && os.Getenv(registryOfTest) != "" {
			scheme, _, _ := strings.Cut(m, "/")
			a, found = scheme+"//"+os.Getenv(registryOfTest)+"/"+strings.TrimPrefix(a, m), true
		}
		changed = append(changed, a)
	}
	return changed, found
}

var toRegistry = regexp.MustCompile(`^docker://(\S+:\S+)$`)

// skopeo copies an image with all its architectures from an OCI layout to a registry. It supports no other form of the command.
func skopeo(args []string) error {
	args, _ = here(args)
	if len(args) != 4 || args[0] != "copy" || args[1] != "--all" {
		return fmt.Errorf("want copy --all oci:DIR:TAG docker://REGISTRY/NAME:TAG, have %q", args)
	}
	from, to := strings.Split(args[2], ":"), toRegistry.FindStringSubmatch(args[3])
	if len(from) != 3 || from[0] != "oci" || to == nil {
		return fmt.Errorf("want oci:DIR:TAG and docker://REGISTRY/NAME:TAG, have %q", args[2:])
	}
	target, err := name.ParseReference(to[1], name.StrictValidation, name.Insecure)
	if err != nil {
		return err
	}
	all, err := layout.ImageIndexFromPath(from[1])
	if err != nil {
		return err
	}
	list, err := all.IndexManifest()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list.Manifests, func(d imagev1.Descriptor) bool { return d.Annotations[refName] == from[2] })
	if at < 0 {
		return fmt.Errorf("%s has no image tagged %s", from[1], from[2])
	}
	index, err := all.ImageIndex(list.Manifests[at].Digest)
	if err != nil {
		return err
	}
	return remote.WriteIndex(target, index, remote.WithContext(context.Background()))
}
