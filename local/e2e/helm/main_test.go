package helm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	helmcmd "helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"

	"github.com/karpenter-go/karpenter/local/chart"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
)

var binaries = flag.String("binaries", "../../../bin", "where karpenter-local and karpenter are")

// patience bounds the wait for one condition. The tests do not check speed.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "helm":
		os.Exit(helm(os.Args[1:]))
	case "skopeo":
		if err := skopeo(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "skopeo:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn) // Helm logs the link between the charts
	if testing.Short() {
		fmt.Println("short: no cluster, no end-to-end tests")
		return
	}
	os.Exit(m.Run())
}

// helm runs the real Helm. It replaces any registry by that of the test, which has no certificate.
func helm(args []string) int {
	args, found := here(args)
	if found {
		args = append(args, "--plain-http")
	}
	kube.ManagedFieldsManager = "helm"
	command, err := helmcmd.NewRootCmd(os.Stdout, args, helmcmd.SetupLogging)
	if err == nil {
		command.SetArgs(args)
		err = command.Execute()
	}
	if err != nil {
		return 1
	}
	return 0
}

// An env is a cluster without a controller, a registry, and the settings for using Helm with them.
type env struct {
	*rig.Place
	// charts is the directory with the archives of both charts, in the versions 0.2.0 and 0.3.0.
	charts string
	// registry is the address of the charts in a registry, as oci://HOST/charts.
	registry string
	// vars is the environment of helm. The program helm is this test binary.
	vars []string
	bin  string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{charts: t.TempDir(), bin: t.TempDir()}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(e.bin, "helm"))
	}
	for _, version := range []string{"0.2.0", "0.3.0"} {
		for _, name := range []string{"karpenter", "karpenter-crd"} {
			_, packing := chart.Pack("../../../charts/"+name, version, e.charts)
			err = errors.Join(err, packing)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	e.registry = "oci://" + strings.TrimPrefix(server.URL, "http://") + "/charts"
	e.start(t)
	home := t.TempDir()
	e.vars = append(os.Environ(), "KUBECONFIG="+e.Cluster.Dir().Kubeconfig(), "HELM_CACHE_HOME="+home+"/cache",
		"HELM_CONFIG_HOME="+home+"/config", "HELM_DATA_HOME="+home+"/data")
	return e
}

// start starts the cluster, with two nodes for the controller.
func (e *env) start(t *testing.T) {
	t.Helper()
	r := rig.Rig{Binaries: *binaries, Bare: true, Patience: patience}
	c, err := r.Open(filepath.Join(t.TempDir(), "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e.Place, err = r.Place(c); err != nil {
		t.Fatal(err)
	}
}

// command returns a program that is stopped when the test ends.
func (e *env) command(t *testing.T, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = e.vars
	return cmd
}

// try runs helm and returns its output.
func (e *env) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := e.command(t, filepath.Join(e.bin, "helm"), args...).CombinedOutput()
	return string(out), err
}

// helm runs helm and ends the test if it fails.
func (e *env) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := e.try(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// kubectl runs kubectl with input.
func (e *env) kubectl(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	return e.Local(t, input, append([]string{"kubectl"}, args...)...)
}
